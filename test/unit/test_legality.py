"""The tables of docs/legality.md are true: their programs are rewritten, or refused with the code of the row."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir import api
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context
from coconet_ir.passes import get_all_passes
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Reason, Remark
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.compare import EXACT_TOLERANCE
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.sizes import Sizes
from coconet_ir.tools.pipeline import parse_passes

sys.path.insert(0, str(Path(__file__).parent / "passes"))
legality: Any = importlib.import_module("legality_pairs")
del sys.path[0]

ROWS: list[Any] = list(legality.rows())
LEGAL = [row for row in ROWS if row.legal]
REFUSED = [row for row in ROWS if row.refused]
RANKS = (1, 2, 3, 5)
APPLY = re.compile(r"^// apply: (.*)(?:\nfunc\.func @(\w+))?", re.MULTILINE)


def label(row: Any) -> str:
    return f"{row.rewrite}, {row.name}"


@cache
def programs(path: Path) -> tuple[ModuleOp, dict[str, str]]:
    """The module in a file, and the pass that each of its functions names."""
    text = path.read_text()
    applied = {name: spec for spec, name in APPLY.findall(text)}
    module = Program.parse(text, path.name).module
    return module, {name: applied.get(name, applied[""]) for name in functions(module)}


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def alone(path: Path, name: str) -> tuple[FuncOp, str]:
    """A copy of one function, in a module with all but the other functions, and its pass."""
    module, passes = programs(path)
    kept = [op for op in module.ops if not isinstance(op, FuncOp) or op.sym_name.data == name]
    return functions(ModuleOp([op.clone() for op in kept]))[name], passes[name]


def rewrite(func: FuncOp, spec: str) -> list[Remark]:
    """Apply one pass to the module of a function, check what comes out, and return what the pass remarks."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    (one,) = parse_passes(spec, get_all_passes())
    with api.collect() as remarks:
        one.apply(make_context(), module)
    check(module)
    return remarks


def state(func: FuncOp) -> dict[Operation, Any]:
    """Where each operation stands and the types that it reads and makes."""
    types = [(op, [value.type for value in (*op.operands, *op.results)]) for op in func.walk()]
    return {op: (op.parent, func.function_type if op is func else of) for op, of in types}


def odd(func: FuncOp) -> dict[str, list[int | None]]:
    """Shapes of the arguments: sizes that nothing fixes are odd, each another."""
    sizes, size = Sizes(func), 7
    found: dict[str, list[int | None]] = {}
    for name, arg in argument_names(func).items():
        for dim in range(rank := rank_of(arg.type) or 0):
            if sizes.size_of((arg, dim)) is None:
                sizes.give(name, [size if d == dim else None for d in range(rank)])
                size += 2
        if rank:
            found[name] = [sizes.size_of((arg, dim)) for dim in range(rank)]
    return found


@pytest.mark.parametrize("row", LEGAL, ids=label)
def test_legal(row: Any) -> None:
    before, _ = alone(row.programs, row.legal)
    after, spec = alone(row.programs, row.legal)
    old = state(after)
    remarks = rewrite(after, spec)
    assert remarks
    for remark in remarks:
        assert remark.applied, remark.message
        assert remark.rewrite == row.rewrite.split()[0]
    new = state(after)
    changed = {op.name for op in old if old[op] != new.get(op)}
    for name in row.operations:
        if name == legality.ARGUMENT:
            assert remarks[0].operation in argument_names(after)
        elif row.rewrite == "slice":  # what it slices stays as it is
            assert name in {op.name for op in old}
        else:
            assert name in changed
    if row.rewrite == "infer":
        return  # it does not run before
    used = [axis for axis in ("dp", "tp") if re.search(rf"\b{axis}\b", str(before))]
    for ranks in RANKS:
        mesh = {"dp": 1, "tp": 1} | dict.fromkeys(used, ranks)
        inputs = generate(before, bind_mesh(before, mesh), {}, odd(before), 0)
        exact = row.reassociates
        first, second = (run(func, mesh, inputs, exact=exact) for func in (before, after))
        differences = api.compare(first, second)
        assert differences
        for difference in differences:
            assert difference.within(EXACT_TOLERANCE if exact else None), (ranks, difference)


@pytest.mark.parametrize("row", REFUSED, ids=label)
def test_refused(row: Any) -> None:
    func, spec = alone(row.programs, row.refused)
    if row.reason == "error":
        with pytest.raises(IRError):
            rewrite(func, spec)
        return
    text = str(func)
    (remark,) = rewrite(func, spec)
    assert remark.reason == row.reason, remark.message
    assert remark.rewrite == row.rewrite.split()[0]
    assert str(func) == text


def test_rows_and_programs_belong_together() -> None:
    expected: dict[Path, list[str]] = {}
    for row in ROWS:
        names = [name for name in (row.legal, row.refused) if name]
        assert names, row
        assert (row.refused is None) == row.condition.startswith("always"), row
        expected.setdefault(row.programs, []).extend(names)
    found = {path: sorted(programs(path)[1]) for path in legality.DOCS.glob("legality/*.mlir")}
    assert found == {path: sorted(names) for path, names in expected.items()}


def sections(document: Path) -> dict[str, str]:
    """The text of each section of a document about a pass."""
    found = re.split(r"^## (?=coconet-)", document.read_text(), flags=re.MULTILINE)[1:]
    return dict(section.split("\n", 1) for section in found)


def test_every_pass_has_a_section() -> None:
    assert list(sections(legality.DOCUMENT)) == list(get_all_passes())


def test_rewrites_explain_the_same_refusals() -> None:
    explained = {
        (name.removeprefix("coconet-"), reason)
        for name, text in sections(legality.DOCS / "rewrites.md").items()
        for reason in re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)
    }
    refused = {(row.rewrite.split()[0], row.reason) for row in REFUSED if row.reason != "error"}
    assert explained == refused


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_refuses_something(reason: Reason) -> None:
    assert reason in {row.reason for row in ROWS}


def test_pairs() -> None:
    pairs = legality.legal_pairs()
    assert {("split axes", "coll.all_reduce"), ("reorder all_gather", "arith.addf")} <= pairs
    assert ("slice-state", "argument") in pairs
    assert ("fuse", "comp.matmul") not in pairs
