"""Groups of collectives: the bits of the baseline on every number of ranks, random programs, and options."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.regions import GroupOp
from coconet_ir.frontend import check
from coconet_ir.passes.combine import combine, combine_all
from coconet_ir.passes.inline import inline_schedule
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.split import split
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Reason
from coconet_ir.schedule.selection import name_of
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.elements import same_bits
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.tools.opt import main
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
RANKS = (1, 2, 3, 5, 7, 8)

PROGRAM = """\
layout.mesh @mesh(tp = 4)
!l = tensor<?xf32, #layout.dist<tp = local>>
!x = tensor<?xf32>
func.func @f(%x: !l, %y: !l) -> (!x, !x) {
  %a = coll.all_reduce sum %x over [tp] : !l -> !x
  %b = coll.all_reduce sum %y over [tp] : !l -> !x
  %c = arith.addf %a, %b : !x
  func.return %a, %c : !x, !x
}
"""


def checked(func: FuncOp) -> str:
    """The text of a function's program, which is checked."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    check(module)
    return print_module(module)


def require_same(baseline: FuncOp, func: FuncOp, axis: str, size: int) -> None:
    """Both give the same bits, however many ranks there are."""
    first = baseline.body.block.args[0].name_hint
    assert first is not None
    for ranks in RANKS:
        inputs = generate(baseline, bind_mesh(baseline, {axis: ranks}), {}, {first: (size,)}, 0)
        want, got = (run(f, {axis: ranks}, inputs).outputs for f in (baseline, func))
        assert want.keys() == got.keys()
        for key, output in want.items():
            assert same_bits(output.array, got[key].array), (ranks, key)


@pytest.mark.parametrize(("name", "counts"), [("adam", [3]), ("lamb", [3, 2])])
def test_a_group_computes_the_same_bits(name: str, counts: list[int]) -> None:
    baseline, func = (Program.load(str(EXAMPLES / f"{name}.mlir")).function() for _ in range(2))
    for one in (baseline, func):
        split(one, "avg")
        reorder(one, "avg_ag")
    remarks = combine_all(func)
    checked(func)
    for remark, count in zip(remarks, counts, strict=True):
        (group,) = remark.made
        assert isinstance(group, GroupOp)
        assert len(group.body.block.ops) == count + 1
        assert remark.message.startswith(f"{count} launches of coll.all_")
    require_same(baseline, func, "dp", 11)


def random_program(rng: random.Random) -> str:
    """Permutes of two kinds and sums, each of values before it."""
    values, lines = ["x", "y"], list[str]()
    for index in range(rng.randint(2, 14)):
        name = f"v{index}"
        if rng.random() < 0.6:
            operand, shift = rng.choice(values), rng.choice((1, 2))
            lines.append(f"%{name} = coll.permute %{operand} over [tp] shift {shift} : !l -> !l")
        else:
            one, other = rng.choices(values, k=2)
            lines.append(f"%{name} = arith.addf %{one}, %{other} : !l")
        values.append(name)
    types = ", ".join(["!l"] * (len(values) - 2))
    results = ", ".join(f"%{name}" for name in values[2:])
    body = "\n".join(lines)
    return f"""layout.mesh @mesh(tp = 3)
!l = tensor<?xf32, #layout.dist<tp = local>>
func.func @f(%x: !l, %y: !l) -> ({types}) {{
{body}
func.return {results} : {types}
}}"""


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_combined_as_far_as_they_can_be(seed: int) -> None:
    text = random_program(random.Random(seed))
    baseline, func = (Program.parse(text).function() for _ in range(2))
    remarks = combine_all(func)
    checked(func)
    again = combine_all(func)
    assert [remark.reason for remark in again] == [Reason.NOTHING_TO_COMBINE]
    inputs = generate(baseline, bind_mesh(baseline, {"tp": 3}), {}, {"x": (5,)}, 0)
    want, got = (run(f, {"tp": 3}, inputs).outputs for f in (baseline, func))
    for key, output in want.items():
        assert same_bits(output.array, got[key].array), remarks
    inline_schedule(func)
    assert "coll.group" not in checked(func)


def test_what_combine_makes_is_selected() -> None:
    func = Program.parse(PROGRAM).function()
    remark = combine(func, ["b", "a"], named="sums")
    (group,) = remark.made
    assert name_of(group) == "sums"
    assert (remark.operation, set(remark.removed)) == ("a", {"a", "b"})
    assert remark.message == "2 launches of coll.all_reduce over [tp] are one, 'sums'"


ERRORS = {
    "coconet-combine{ops=a,c}": "p.mlir:7:3: error: 'arith.addf' op is no collective: only those are combined",
    "coconet-combine{ops=a}": (
        "p.mlir:5:3: error: 'coll.all_reduce' op is the only operation named: two or more are combined"
    ),
    "coconet-combine{ops=a,z}": "has no operation named 'z' (ops=z); there are: a, b, c",
    "coconet-combine{ops=a,b named=c}": "named=c is the name of something else in the function",
    "coconet-combine{named=c}": "'builtin.module' op named=c names one group: say with ops= what is in it",
    "coconet-combine,coconet-combine{require=true}": (
        "p.mlir:4:1: error: 'func.func' op combine declined [nothing-to-combine]: no two of its collectives"
    ),
    "coconet-combine{func=g}": "has no function named 'g'; there are: f",
}


@pytest.mark.parametrize("pipeline", ERRORS)
def test_options_that_fit_nothing(
    pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    assert main([str(path), "-p", pipeline]) == 1
    assert ERRORS[pipeline] in capsys.readouterr().err


def test_a_function_that_is_not_inferred() -> None:
    text = PROGRAM.replace("tensor<?xf32, #layout.dist<tp = local>>", "tensor<?xf32>").replace(
        "%x: !l", "%x: !l {layout.of = #layout.dist<tp = local>}"
    )
    func = Program.parse(text).function()
    with pytest.raises(IRError, match="is not inferred yet"):
        combine_all(func)
