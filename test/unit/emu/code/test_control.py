"""Branches, ends, and code that nothing reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coconet_ir.emu.code.table import Refused

Run = Callable[..., Any]
OUT = "mul.wide.u32 %l0, %tid, 4;\nadd.u64 %l0, %x, %l0;\nst.global.u32 [%l0], 0;\n"
STORE = "st.global.u32 [%l0], %r0;"


def stored(run: Run, body: str, threads: int) -> list[int]:
    """What each thread stores of `%r0`, and 0 if it does not get there."""
    return run(OUT + body, {"x": 4 * threads}, block=threads).array("x").tolist()


@pytest.mark.parametrize("guard", ["@%p0", "@!%p0"])
@pytest.mark.parametrize("what", ["ret", "exit", "bra.uni END"])
def test_guarded_ends(run: Run, guard: str, what: str) -> None:
    body = f"mov.u32 %r0, 5;\nsetp.lt.u32 %p0, %tid, 3;\n{guard} {what};\n{STORE}\nEND:"
    assert stored(run, body, 7) == [5 if (n < 3) != (guard == "@%p0") else 0 for n in range(7)]


@pytest.mark.parametrize("guard", ["", "@%p0 ", "@!%p0 "])
def test_branches_by_tables(run: Run, guard: str) -> None:
    body = f"""mov.u32 %r0, 9;
setp.ne.u32 %p0, %tid, 2;
and.b32 %r1, %tid, 3;
TABLE: .branchtargets A, B, C, A;
{guard}brx.idx %r1, TABLE;
mov.u32 %r0, 40;
bra C;
A:
add.u32 %r0, %r0, 1;
B:
add.u32 %r0, %r0, 10;
C:
{STORE}"""
    by_table = [20, 19, 9, 20]
    goes = {"": range(8), "@%p0 ": {*range(8)} - {2}, "@!%p0 ": {2}}[guard]
    assert stored(run, body, 8) == [by_table[n & 3] if n in goes else 40 for n in range(8)]


def test_an_index_beyond_the_table(run: Run) -> None:
    ran = run("TABLE: .branchtargets A;\nbrx.idx %tid, TABLE; // B\nA:", {"x": 4}, block=2)
    assert (ran.finding.kind, ran.finding.places[0].line) == ("invalid", ran.line("B"))


def test_labels_one_after_the_other_and_code_that_nothing_reaches(run: Run) -> None:
    body = f"""mov.u32 %r0, 1;
bra LAST;
FIRST:
SECOND:
add.u32 %r0, %r0, 2;
{STORE}
ret;
mov.u32 %r0, 77;
{STORE}
trap;
mov.u32 %r0, 78;
@%p0 bra NEVER;
NEVER:
exit;
LAST:
setp.eq.u32 %p0, %tid, 0;
@%p0 bra FIRST;
bra SECOND;"""
    assert stored(run, body, 3) == [3, 3, 3]


def test_loops_in_loops_and_guarded_instructions(run: Run) -> None:
    body = f"""mov.u32 %r0, 0;
mov.u32 %r1, 0;
OUTER:
mov.u32 %r2, 0;
INNER:
and.b32 %r3, %r2, 1;
setp.eq.u32 %p1, %r3, 0;
@%p1 add.u32 %r0, %r0, 1;
@!%p1 add.u32 %r0, %r0, 100;
add.u32 %r2, %r2, 1;
setp.le.u32 %p0, %r2, %r1;
@%p0 bra INNER;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p0, %r1, %tid;
@%p0 bra OUTER;
{STORE}"""
    want = [
        sum(100 if k & 1 else 1 for j in range(max(n, 1)) for k in range(j + 1)) for n in range(9)
    ]
    assert stored(run, body, 9) == want


def test_scopes_hide_registers_and_labels(run: Run) -> None:
    body = f"""mov.u32 %r0, 1;
{{
.reg .u32 %r0;
mov.u32 %r0, 50;
bra L;
mov.u32 %r0, 60;
L:
}}
bra L;
mov.u32 %r0, 70;
L:
{STORE}"""
    assert stored(run, body, 2) == [1, 1]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("bra;", "operands"),
        ("bra %r0;", "no label"),
        ("TABLE: .branchtargets A;\nbrx.idx %r0;\nA:", "operands"),
        ("brx.idx %r0, A;\nA:", "no table"),
    ],
)
def test_what_is_refused(machine: Any, code: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        machine(code, {"x": 4})
