"""The tables of docs/schedules.md: what a rank sends and keeps, and the launches, of each example and its schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis.bytes import Term, show, total
from coconet_ir.analysis.shapes import Shapes
from coconet_ir.analysis.totals import totals
from coconet_ir.program import Program

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "schedules.md"
SIZES = {
    **{name: {"w": "N"} for name in ("sgd", "adam", "adam_f32", "lamb", "clip", "hierarchical")},
    "lamb_segments": {"w": "N", "wsq": "T"},
    "two_axes": {"w": "RC"},
    "buckets": {"up": "AB", "bias": "C", "down": "DE"},
    "attention": {"residual": "BSH"},
    "attention_full": {"residual": "BSH", "x": "BSK"},
    "mlp": {"residual": "BSH", "x": "BSK"},
    "pipeline": {"residual": "BSH"},
    "rmsnorm": {"stream": "BSH"},
    "moe": {"x": "GSK", "w_up": "EKF", "w_down": "EFH"},
}
"""What the document calls the dimensions of values, a letter each."""
OPTIMIZERS = ("sgd", "adam", "adam_f32", "two_axes", "clip", "lamb", "lamb_segments", "buckets")
"""The optimizers, whose schedules are named alike."""

Scheduled: TypeAlias = Callable[[str], Mapping[str, Program]]
Row: TypeAlias = tuple[str, str, str]
"""Bytes that a rank sends, bytes of state that it keeps, launches."""


@cache
def load(name: str) -> Program:
    return Program.load(str(ROOT / "examples" / f"{name}.mlir"))


@cache
def letters(name: str) -> dict[str, str]:
    """What the document calls sizes, by what terms call them."""
    func = load(name).function()
    shapes = Shapes(func)
    results = (result for op in func.walk() for result in op.results)
    return {
        shapes.label(place): letter
        for value in chain(func.body.block.args, results)
        for dim, letter in enumerate(SIZES[name].get(value.name_hint or "", ""))
        for place in shapes.extent((value, dim))[1]
    }


def called(name: str, terms: Iterable[Term]) -> list[Term]:
    """The terms with sizes as the document calls them."""
    known = letters(name)
    return total(replace(t, sizes=tuple(sorted(known[size] for size in t.sizes))) for t in terms)


def row(name: str, func: FuncOp) -> Row:
    """What the document says of an example, or of what a schedule makes of it."""
    found = totals(func, load(name).function())
    sent, state = (show(called(name, terms)) for terms in (found.sent, found.state))
    return sent, state, str(found.launches)


def shown(row: Row) -> str:
    """The cells of a row of the document."""
    sent, state, launches = row
    return f"`{sent}` | `{state}` | {launches}"


def documented(name: str) -> dict[str, str]:
    """The rows of the table that begins with the name of an example, by the name of the schedule."""
    head = f"| `{name}` | a rank sends | state it keeps | launches |\n|---|---|---|---|\n"
    _, found, table = DOCUMENT.read_text().partition(head)
    assert found, f"no table begins with `{name}`"
    rows, _, _ = table.partition("\n\n")
    cells = (line.strip("| ").partition(" | ") for line in rows.splitlines())
    return {schedule.strip("`"): rest for schedule, _, rest in cells}


@pytest.mark.parametrize("name", SIZES)
def test_the_document_has_what_programs_send_and_keep(name: str, scheduled: Scheduled) -> None:
    programs = {"baseline": load(name), **scheduled(name)}
    computed = {key: shown(row(name, program.function())) for key, program in programs.items()}
    assert documented(name) == computed


def test_every_example_has_a_table() -> None:
    assert SIZES.keys() == {path.stem for path in (ROOT / "examples").glob("*.mlir")}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("schedule", ["rs_opt_ag", "fuse_rs_opt_ag"])
def test_state_is_shared_among_ranks(name: str, schedule: str, scheduled: Scheduled) -> None:
    def state(program: Program) -> list[Term]:
        return called(name, totals(program.function(), load(name).function()).state)

    assert state(scheduled(name)["ar_opt"]) == state(load(name))
    shared = [replace(t, split=tuple(sorted((*t.split, "dp")))) for t in state(load(name))]
    assert state(scheduled(name)[schedule]) == total(shared)


@pytest.mark.parametrize("schedule", ["ar_c_p2p_ag", "rs_c_p2p_ag", "ol_rs_fuse_c_p2p_ag"])
def test_stages_send_a_share_of_the_bytes(schedule: str, scheduled: Scheduled) -> None:
    def to_the_next_stage(program: Program) -> list[Term]:
        terms = called("pipeline", totals(program.function(), load("pipeline").function()).sent)
        return [term for term in terms if not term.ring]

    (whole,) = to_the_next_stage(load("pipeline"))
    assert to_the_next_stage(scheduled("pipeline")[schedule]) == [replace(whole, split=("tp",))]
