"""Arguments kept in slices: the same results, the right arguments, and no others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from coconet_ir import api
from coconet_ir.analysis.verifier import RESLICED
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.frontend import check
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_argument
from coconet_ir.passes.slice_state import slice_state
from coconet_ir.passes.split import split
from coconet_ir.program import Program
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.tools.opt import main
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
RANKS = (1, 2, 3, 5, 7, 8)
SIZES = (0, 1, 7, 23)


def check_same(
    baseline: FuncOp, func: FuncOp, mesh: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> None:
    """Both compute the same bits of everything, on inputs that differ from rank to rank."""
    inputs = generate(baseline, bind_mesh(baseline, mesh), {}, shapes, 3)
    rows = api.compare(run(baseline, mesh, inputs), run(func, mesh, inputs))
    assert rows
    assert all(row.equal and row.problem is None for row in rows), (mesh, shapes, rows)


def layouts(func: FuncOp) -> dict[str, str]:
    """The layouts of the tensors among the arguments that have one."""
    args = argument_names(func)
    return {name: str(dist) for name, arg in args.items() if (dist := dist_of(arg.type))}


def resliced(func: FuncOp) -> dict[str, Attribute]:
    """The types that arguments had before."""
    marks = func.arg_attrs or ()
    names = zip(argument_names(func), marks, strict=bool(marks))
    return {name: mark.data[RESLICED] for name, mark in names if RESLICED in mark.data}


# Whole schedules


def test_state_of_adam_is_kept_in_slices() -> None:
    baseline = Program.load(str(EXAMPLES / "adam.mlir")).function()
    module = Program.load(str(EXAMPLES / "adam.mlir")).module
    adam = Program(module).function()
    before = {name: arg.type for name, arg in argument_names(adam).items()}
    split(adam, "avg")
    reorder(adam, "avg_ag")
    remarks = slice_state(adam)
    check(module)
    assert [(r.operation, r.applied) for r in remarks] == [("w", True), ("m", True), ("v", True)]
    assert set(remarks[1].removed) == {"m_slice", "mnew_ag"}
    cut = "<dp = sliced(0)>"
    assert layouts(adam) == {"grad": "<dp = local>", "w": cut, "m": cut, "v": cut}
    assert resliced(adam) == {name: before[name] for name in "wmv"}
    assert [op.name for op in adam.walk() if op.name.startswith("coll.")] == [
        "coll.reduce_scatter",
        "coll.all_gather",
    ]
    again = Program.parse(print_module(module)).function()
    for ranks in RANKS:
        for size in SIZES:
            check_same(baseline, again, {"dp": ranks}, {"w": (size,)})


def test_state_is_cut_by_both_axes() -> None:
    baseline = Program.load(str(EXAMPLES / "two_axes.mlir")).function()
    module = Program.load(str(EXAMPLES / "two_axes.mlir")).module
    func = Program(module).function()
    split(func, "avg")
    reorder(func, "avg_ag")
    assert all(remark.applied for remark in slice_state(func))
    check(module)
    assert layouts(func) == {
        "grad": "<dp = local, tp = sliced(1)>",
        "w": "<tp = sliced(1)>",
        "m": "<dp = sliced(0), tp = sliced(1)>",
        "v": "<dp = sliced(0), tp = sliced(1)>",
    }
    assert {dist_of(type) for type in resliced(func).values()} == {
        dist_of(argument_names(baseline)["m"].type)
    }
    for ranks in RANKS:
        for dp in {1, 2, ranks}:
            if ranks % dp == 0:
                for size in SIZES:
                    check_same(baseline, func, {"dp": dp, "tp": ranks // dp}, {"w": (size, 5)})


SHARDED = """
layout.mesh @mesh(dp = 4)
!p = tensor<?x?xf32>
!b = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!l = tensor<?x?xf32, #layout.dist<dp = local>>
func.func @f(%x: !b, %p: !p, %grad: !l, %lr: f32) -> !b {
  %twice = comp.scale %p by %lr : !p
  %y = comp.matmul %x, %twice : (!b, !p) -> !b
  %g = coll.all_reduce avg %grad over [dp] : !l -> !p
  %step = comp.scale %g by %lr : !p
  %new = arith.subf %p, %step : !p
  %stored = comp.update %p, %new : !p
  func.return %y : !b
}
"""


@pytest.mark.parametrize("first", [True, False])
def test_sharded_parameters(first: bool) -> None:
    """The argument is kept in slices, and the matmul reads a gather of what is computed from its slice."""
    baseline, module = Program.parse(SHARDED).function(), Program.parse(SHARDED).module
    func = Program(module).function()
    if first:
        assert slice_argument(func, "p", ("dp",)).applied
    split(func, "g", dim=0)
    assert reorder(func, "g_ag", ops=("step", "new")).applied
    if not first:
        assert not slice_state(func, ("p",))[0].applied
        assert slice_argument(func, "p", ("dp",)).applied
    moved = reorder(func, "p_ag", ops=("twice",))
    assert moved.applied
    (remark,) = slice_state(func, ("p",))
    assert remark.applied
    check(module)
    assert layouts(func)["p"] == "<dp = sliced(0)>"
    gathers = [op for op in func.walk() if op.name == "coll.all_gather"]
    assert [op.results[0].name_hint for op in gathers] == ["twice_ag"]
    for ranks in RANKS:
        for size in SIZES:
            check_same(baseline, func, {"dp": ranks}, {"x": (5, size), "p": (size, 3)})


# Programs that mix all kinds of readers and updates


@dataclass(frozen=True)
class Piece:
    """Lines that read or store an argument $m, in names that end in $i, and give the value %o$i.

    They want it in the layout `wants`, `!r` or `!c`, or `whole`; empty for any.
    """

    text: str
    wants: str
    gives: str = ""


ROWS = "%r$i = layout.slice $m over [dp] dim 0 : !x -> !r\n"
COLUMNS = "%c$i = layout.slice $m over [dp] dim 1 : !x -> !c\n"
READERS = {
    "rows": Piece(ROWS + "%o$i = arith.addf %r$i, %g : !r", "!r", "!r"),
    "columns": Piece(COLUMNS + "%o$i = arith.addf %c$i, %h : !c", "!c", "!c"),
    "cut further": Piece(
        ROWS
        + "%f$i = layout.slice %r$i over [tp] dim 0 : !r -> !f\n%o$i = arith.addf %f$i, %f$i : !f",
        "!r",
        "!f",
    ),
    "rows in a region": Piece(
        ROWS + "%o$i = coll.fused {\n%s = arith.mulf %r$i, %g : !r\ncoll.yield %s : !r\n}",
        "!r",
        "!r",
    ),
    "gathered": Piece(ROWS + "%o$i = coll.all_gather %r$i over [dp] : !r -> !x", "!r", "!x"),
    "size": Piece("%o$i = tensor.dim $m, %zero : !x", "", "index"),
    "like": Piece("%o$i = comp.broadcast %one dims [] like $m : tensor<f32>, !x -> !x", "", "!x"),
    "whole": Piece("%o$i = arith.mulf $m, %w : !x", "whole", "!x"),
    "view": Piece(
        "%t$i = comp.transpose $m perm [1, 0] : !x -> !x\n%o$i = arith.addf %t$i, %t$i : !x",
        "whole",
        "!x",
    ),
    "whole in a region": Piece(
        "%o$i = coll.fused {\n%s = arith.mulf $m, %w : !x\ncoll.yield %s : !x\n}", "whole", "!x"
    ),
    "slice in a region": Piece(
        "%o$i = coll.fused {\n%s = layout.slice $m over [dp] dim 0 : !x -> !r\n"
        "%p = arith.addf %s, %g : !r\ncoll.yield %p : !r\n}",
        "whole",
        "!r",
    ),
}
"""Readers of the argument, and of its update's result."""

NEW = "%n = arith.addf %g, %g : !r\n"
GATHER = "%all = coll.all_gather %n over [dp] : !r -> !x\n"
STORE = "%u = comp.update $m, %all : !x\n"
OVERWRITE = "%old = comp.update %q, %g : !r\n"
UPDATES = {
    "nothing": Piece("", ""),
    "rows": Piece(NEW + GATHER + STORE, "!r"),
    "columns": Piece(
        "%n = arith.addf %h, %h : !c\n%all = coll.all_gather %n over [dp] : !c -> !x\n" + STORE,
        "!c",
    ),
    "its own slice": Piece(ROWS + GATHER.replace("%n", "%r$i") + STORE, "!r"),
    "a gather that is read": Piece(
        NEW + GATHER + STORE + "%o$i = arith.addf %all, %w : !x", "!r", "!x"
    ),
    "a gather of which the size is read": Piece(
        NEW + GATHER + STORE + "%o$i = tensor.dim %all, %zero : !x", "!r", "index"
    ),
    "an argument": Piece(GATHER.replace("%n", "%q") + STORE + OVERWRITE, "!r"),
    "an overwritten argument": Piece(GATHER.replace("%n", "%q") + OVERWRITE + STORE, "whole"),
    "a view of an overwritten argument": Piece(
        "%n = coll.fused {\n%t = comp.transpose %k perm [1, 0] : !c -> !r\ncoll.yield %t : !r\n}\n"
        + GATHER
        + "%old = comp.update %k, %h : !c\n"
        + STORE,
        "whole",
    ),
    "a copy of an overwritten argument": Piece(
        "%copy = coll.all_gather %q over [dp] : !r -> !x\n%n = layout.slice %copy over [dp] dim 0 : !x -> !r\n"
        + GATHER
        + OVERWRITE
        + STORE,
        "!r",
    ),
    "what is no gather": Piece("%all = arith.addf %w, %w : !x\n" + STORE, "whole"),
    "in a region": Piece(
        NEW + GATHER + "%u = coll.fused {\n%s = comp.update $m, %all : !x\ncoll.yield %s : !x\n}",
        "whole",
    ),
    "a gather in a region": Piece(
        "%all = coll.fused over [dp] {\n%s = coll.all_gather %g over [dp] : !r -> !x\n"
        "coll.yield %s : !x\n}\n" + STORE,
        "whole",
    ),
}
"""What is stored into the argument, which gives %u."""

HEAD = """layout.mesh @mesh(dp = 2, tp = 2)
!x = tensor<?x?xf32>
!r = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!c = tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
!f = tensor<?x?xf32, #layout.dist<[dp, tp] = sliced(0)>>
func.func @f(%m: !x, %w: !x, %g: !r, %h: !c, %q: !r, %k: !c, %one: tensor<f32>)"""


def random_program(rng: random.Random) -> tuple[str, set[str]]:
    """A program with some readers of %m, perhaps an update and readers of its result, and what they want of %m."""
    fitting = rng.choice(("!r", "!r", "!c", None, None))  # at random nearly all are refused
    readers = [p for p in READERS.values() if fitting is None or p.wants in ("", fitting)]
    free = fitting is None or rng.random() < 0.3
    updates = [p for p in UPDATES.values() if free or p.wants in ("", fitting)]
    update = rng.choice(updates)
    pieces = [(rng.choice(readers), "%m") for _ in range(rng.randint(0, 3))]
    pieces.append((update, "%m"))
    last = "%m"
    if update.text:
        last = "%u"
        pieces += [(rng.choice(readers), "%u") for _ in range(rng.randint(0, 2))]
    wants = {piece.wants for piece, _ in pieces if piece.wants}
    text = ["%zero = arith.constant 0 : index"]
    text += [Template(p.text).substitute(m=m, i=f"x{i}") for i, (p, m) in enumerate(pieces)]
    given = {f"%ox{i}": piece.gives for i, (piece, _) in enumerate(pieces) if piece.gives}
    if fitting is None and rng.random() < 0.2:
        given[last] = "!x"
        wants.add("whole")
    types = ", ".join(given.values())
    end = f"func.return {', '.join(given)} : {types}" if given else "func.return"
    return "\n".join([f"{HEAD} -> ({types}) {{", *text, end, "}"]), wants


def test_exactly_the_arguments_that_can_be_are_kept_in_slices() -> None:
    rng = random.Random(7)
    reasons = Counter[str]()
    for _ in range(150):
        text, wants = random_program(rng)
        baseline, module = Program.parse(text).function(), Program.parse(text).module
        func = Program(module).function()
        (remark,) = slice_state(func, ("m",))
        assert remark.applied == (wants in ({"!r"}, {"!c"})), (text, remark)
        reasons[remark.reason or f"applied {wants}"] += 1
        if not remark.applied:
            assert print_module(module) == print_module(Program.parse(text).module)
            continue
        check(module)
        printed = print_module(module)
        assert print_module(Program.parse(printed).module) == printed
        assert layouts(func)["m"] == ("<dp = sliced(0)>" if wants == {"!r"} else "<dp = sliced(1)>")
        assert resliced(func) == {"m": argument_names(baseline)["m"].type}
        shape = (rng.choice(SIZES), rng.choice((0, 1, 3, 5)))
        transposed = " perm " in text  # then the two sizes are equal
        mesh = {"dp": rng.choice(RANKS), "tp": rng.choice((1, 2, 3))}
        check_same(baseline, func, mesh, {"m": (shape[0],) * 2 if transposed else shape})
    assert reasons["applied {'!r'}"] > 50
    expected = {"read-whole", "stored-whole", "several-layouts", "nested-region", "update-order"}
    assert {*expected, "applied {'!c'}", "not-sliced"} <= set(reasons), reasons


# Names and options

TEXT = """layout.mesh @mesh(dp = 2, tp = 2)
!x = tensor<?xf32>
!s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
func.func @first(%m: !x {coconet.state}, %g: !s, %lr: f32) {
  %all = coll.all_gather %g over [dp] : !s -> !x
  %new = comp.update %m, %all : !x
  func.return
}
func.func @second(%m: !x, %other: !x) -> !x {
  %sum = arith.addf %m, %other : !x
  func.return %sum : !x
}
"""

ERRORS = {
    "coconet-slice-state{args=n}": (
        "p.mlir:1:1: error: 'builtin.module' op has no argument named 'n' (args=n); there are: g, lr, m, other"
    ),
    "coconet-slice-state{args=other func=first}": "has no argument named 'other' (args=other); there are: g, lr, m",
    "coconet-slice-state{args=m,all}": (
        "has 'all' (args=all) as an operation, not as an argument; there are: g, lr, m, other"
    ),
    "coconet-slice-state{args=m,m}": "is given 'm' twice (args=m,m)",
    "coconet-slice-state{args=lr}": (
        "p.mlir:4:1: error: 'func.func' op takes %lr as a scalar, which cannot be kept in slices"
    ),
    "coconet-slice-state{func=second}": "has no argument marked coconet.state: mark one, or name it with args=",
    "coconet-slice-state{func=third}": "has no function named 'third'; there are: first, second",
    "coconet-slice-state{args=m require=true}": (
        "p.mlir:9:1: error: 'func.func' op slice-state declined [read-whole]: 'sum' reads %m whole"
    ),
    "coconet-slice{over=tp}": "error: pass 'coconet-slice' takes either op= or arg=",
    "coconet-slice{op=all arg=m over=tp}": "error: pass 'coconet-slice' takes either op= or arg=",
    "coconet-slice{arg=n over=tp}": "has no argument named 'n' (arg=n); there are: g, lr, m, other",
    "coconet-slice{arg=sum over=tp}": "has 'sum' (arg=sum) as an operation, not as an argument",
    "coconet-slice{arg=lr over=tp}": "takes %lr as a scalar, which cannot be sliced",
    "coconet-slice{arg=m over=tp dim=1}": "dim=1 is out of range: %m has 1 dimension(s)",
    "coconet-slice{arg=m over=tp unit=0}": "unit=0 is out of range: a unit is at least 1 element",
    "coconet-slice{arg=m over=tp,tp}": "over=tp,tp names an axis twice",
    "coconet-slice{arg=m over=pp}": "cannot be sliced over 'pp': the mesh has dp, tp",
    "coconet-slice{arg=g over=dp require=true}": (
        "p.mlir:4:1: error: 'func.func' op slice declined [not-replicated]: it is sliced(0) on axis 'dp'"
    ),
}


@pytest.mark.parametrize("pipeline", ERRORS)
def test_options_that_fit_nothing(
    pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    assert main([str(path), "-p", pipeline]) == 1
    assert ERRORS[pipeline] in capsys.readouterr().err


def test_every_function_that_has_the_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    assert main([str(path), "--remarks", "-p", "coconet-slice-state{args=m}"]) == 0
    assert capsys.readouterr().err == (
        "p.mlir:4:18: remark: slice-state 'm': applied: %m is now kept as <dp = sliced(0)>: each rank holds 1/dp of "
        "what it held; all_gather 'all' is gone\n"
        "p.mlir:9:19: remark: slice-state 'm': declined [read-whole]: 'sum' reads %m whole: let it run on slices "
        "(coconet-reorder), or read a gathered copy (coconet-slice)\n"
    ).replace("p.mlir", str(path))


def test_python_functions_do_what_the_passes_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = Program.parse(TEXT).module
    first = Program(module).function("first")
    slice_argument(first, "m", ("tp",), unit=4)
    slice_argument(first, "g", ("tp",))
    assert [remark.operation for remark in slice_state(first)] == ["m"]
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    pipeline = (
        "coconet-slice{arg=m over=tp unit=4 func=first},coconet-slice{arg=g over=tp},"
        "coconet-slice-state{func=first}"
    )
    assert main([str(path), "-p", pipeline]) == 0
    assert capsys.readouterr().out == print_module(module)


NAMES = """
layout.mesh @mesh(dp = 2)
!x = tensor<?xf32>
!s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
func.func @f(%a-b: !x, %m_1: !x, %m_2: !x, %0: !x) -> (!s, !s, !s, !s) {
  %x = layout.slice %a-b over [dp] dim 0 : !x -> !s
  %y = layout.slice %m_1 over [dp] dim 0 : !x -> !s
  %z = layout.slice %m_2 over [dp] dim 0 : !x -> !s
  %t = layout.slice %0 over [dp] dim 0 : !x -> !s
  func.return %x, %y, %z, %t : !s, !s, !s, !s
}
"""


def test_arguments_go_by_the_names_that_inputs_have() -> None:
    """Of two with one name the second is counted; one without a name goes by its place."""
    module = Program.parse(NAMES).module
    func = Program(module).function()
    names = ("a-b", "m", "m_1", "arg3")
    remarks = slice_state(func, names)
    assert [(remark.operation, remark.applied) for remark in remarks] == [(n, True) for n in names]
    assert set(resliced(func)) == set(names)
    assert set(generate(func, bind_mesh(func, {"dp": 3}), {}, {}, 0)) == set(names)
    printed = print_module(module)
    again = Program.parse(printed).module
    assert print_module(again) == printed
    assert set(resliced(Program(again).function())) == set(names)
