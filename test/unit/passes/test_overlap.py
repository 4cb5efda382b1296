"""Overlaps of the examples: the bits of the baseline on every number of ranks; and options that fit nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir import api
from coconet_ir.dialects.regions import OverlapOp
from coconet_ir.frontend import check
from coconet_ir.passes.fuse import fuse
from coconet_ir.passes.inline import inline_schedule
from coconet_ir.passes.overlap import overlap
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.split import split
from coconet_ir.program import Program
from coconet_ir.schedule.selection import name_of
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.elements import same_bits
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.tools.opt import main
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
MESHES = {
    "tp": [{"tp": n} for n in (1, 2, 3, 5, 7, 8)],
    "ep": [{"ep": n} for n in (1, 2, 3, 5, 7, 8)],
    "pp": [{"pp": n, "tp": m} for n, m in ((1, 1), (2, 1), (1, 3), (2, 5), (7, 1), (1, 8))],
}

SEQUENCE_PARALLEL = """\
layout.mesh @mesh(tp = 4)
!part = tensor<?x?x?xf32, #layout.dist<tp = sliced(1)>>
!whole = tensor<?x?x?xf32>
!hidden = tensor<?x?x?xf32, #layout.dist<tp = sliced(2)>>
!terms = tensor<?x?x?xf32, #layout.dist<tp = partial(sum)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!rows = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
func.func @f(%x: !part, %w_up: !columns, %w_down: !rows) -> !part {
  %x_ag = coll.all_gather %x over [tp] : !part -> !whole
  %up = comp.matmul %x_ag, %w_up : (!whole, !columns) -> !hidden
  %act = math.tanh %up : !hidden
  %down = comp.matmul %act, %w_down : (!hidden, !rows) -> !terms
  %y = coll.reduce_scatter sum %down over [tp] dim 1 : !terms -> !part
  func.return %y : !part
}
"""

Schedule = Callable[[FuncOp], list[api.Remark]]


def split_and_reorder(func: FuncOp) -> None:
    split(func, "sum", dim=1)
    reorder(func, "sum_ag")


def matmul_and_reduction(func: FuncOp) -> list[api.Remark]:
    split_and_reorder(func)
    return [overlap(func, ["mm", "sum_rs"], dim=1, chunks=8)]


def all_stages(func: FuncOp) -> list[api.Remark]:
    split_and_reorder(func)
    return [overlap(func, ["mm", "y_ag"], dim=1, between=True, named="all")]


def matmul_and_fused(func: FuncOp) -> list[api.Remark]:
    split_and_reorder(func)
    fused = fuse(func, ["sum_rs", "y_ag"], between=True, named="fused")
    return [fused, overlap(func, ["mm", "fused"], dim=1)]


def two_matmuls(func: FuncOp) -> list[api.Remark]:
    split_and_reorder(func)
    return [overlap(func, ["up", "sum_rs"], dim=1, between=True)]


def sequence_parallel(func: FuncOp) -> list[api.Remark]:
    return [
        overlap(func, ["x_ag", "up"], dim=1),
        overlap(func, ["down", "y"], dim=1, chunks=2),
    ]


def sent_on(func: FuncOp) -> list[api.Remark]:
    split_and_reorder(func)
    fused = fuse(func, ["bias_t", "next"], between=True, named="sent")
    return [fused, overlap(func, ["sum_rs", "sent", "next_ag"], dim=1)]


def experts(func: FuncOp) -> list[api.Remark]:
    return [overlap(func, ["slots", "y"], between=True)]


CASES: dict[str, tuple[str, str, Schedule, dict[str, tuple[int | None, ...]]]] = {
    "attention-rs": ("attention", "tp", matmul_and_reduction, {"residual": (2, 5, 3)}),
    "attention-all": ("attention", "tp", all_stages, {"residual": (2, 5, 3)}),
    "attention-fused": ("attention", "tp", matmul_and_fused, {"residual": (2, 5, 3)}),
    "mlp": ("mlp", "tp", two_matmuls, {"residual": (2, 5, 3)}),
    "pipeline": ("pipeline", "pp", sent_on, {"residual": (2, 5, 3)}),
    "sequence parallel": (SEQUENCE_PARALLEL, "tp", sequence_parallel, {"x": (2, 5, 3)}),
    "moe": ("moe", "ep", experts, {"x": (3, 4, 2), "dispatch": (3, 8, 4), "w_up": (2, 2, 3)}),
}


def load(source: str) -> FuncOp:
    """The function of an example, or of a program as text."""
    if "\n" in source:
        return Program.parse(source).function()
    return Program.load(str(EXAMPLES / f"{source}.mlir")).function()


def checked(func: FuncOp) -> str:
    """The text of a function's program, which is checked."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    check(module)
    return print_module(module)


@pytest.mark.parametrize("case", CASES)
def test_an_overlap_computes_the_same_bits(case: str) -> None:
    source, meshes, schedule, shapes = CASES[case]
    baseline, func = load(source), load(source)
    assert all(remark.applied for remark in schedule(func))
    assert "coll.overlap" in checked(func)
    for mesh in MESHES[meshes]:
        inputs = generate(baseline, bind_mesh(baseline, mesh), {}, shapes, 0)
        want, got = (run(f, mesh, inputs).outputs for f in (baseline, func))
        assert want.keys() == got.keys()
        for key, output in want.items():
            assert same_bits(output.array, got[key].array), (mesh, key)


def test_what_an_overlap_makes_is_selected_and_undone() -> None:
    func = load(SEQUENCE_PARALLEL)
    before = checked(func)
    first, second = sequence_parallel(func)
    for remark, name in ((first, "overlap_x_ag"), (second, "overlap_down")):
        (region,) = remark.made
        assert isinstance(region, OverlapOp)
        assert name_of(region) == name
    assert set(second.removed) == {"down", "y"}
    assert second.message == (
        "stages 'down' -> 'y' work at once, in 2 chunk(s) along dimension 1 of 'down'"
    )
    inline_schedule(func)
    assert checked(func) == before


ERRORS = {
    "coconet-overlap": "pass 'coconet-overlap' needs option 'ops'",
    "coconet-overlap{ops=down,z}": "has no operation named 'z' (ops=z); there are: act, down, up, x_ag, y",
    "coconet-overlap{ops=down,y dim=3}": (
        "p.mlir:12:3: error: 'comp.matmul' op makes 3 dimension(s) as the first stage of an overlap: dim=3 is out"
    ),
    "coconet-overlap{ops=down,y dim=-1}": "dim=-1 is out of range",
    "coconet-overlap{ops=down,y chunks=0}": (
        "p.mlir:12:3: error: 'comp.matmul' op chunks=0 is out of range: an overlap has at least 1 chunk"
    ),
    "coconet-overlap{ops=down,y named=act}": "is the name of something else in the function",
    "coconet-overlap{ops=down,y},coconet-overlap{ops=down,overlap_down}": "stands in a region",
    "coconet-overlap{ops=up,y require=true}": (
        "p.mlir:10:3: error: 'comp.matmul' op overlap declined [not-convex]: a path leaves the set"
    ),
}


@pytest.mark.parametrize("pipeline", ERRORS)
def test_options_that_fit_nothing(
    pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(SEQUENCE_PARALLEL)
    assert main([str(path), "-p", pipeline]) == 1
    assert ERRORS[pipeline] in capsys.readouterr().err


def test_the_pass_does_what_the_function_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    func = load(SEQUENCE_PARALLEL)
    overlap(func, ["up", "down"], dim=1, chunks=4, between=True, named="both")
    path = tmp_path / "p.mlir"
    path.write_text(SEQUENCE_PARALLEL)
    spec = "coconet-overlap{ops=up,down dim=1 chunks=4 between=true named=both}"
    assert main([str(path), "-p", spec]) == 0
    assert capsys.readouterr().out == checked(func)
