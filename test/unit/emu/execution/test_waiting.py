"""Threads that wait: for memory, for time, or for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]
ZERO = np.zeros(1, np.uint32)


@pytest.mark.parametrize("clock", ["%globaltimer", "%clock64", "%clock"])
def test_a_delay_passes(run: Run, clock: str) -> None:
    """A loop until the clock has moved by a million."""
    bits, letter = (32, "r") if clock == "%clock" else (64, "l")
    body = f"""mov.u{bits} %{letter}5, {clock};
LOOP:
mov.u{bits} %{letter}6, {clock};
sub.u{bits} %{letter}7, %{letter}6, %{letter}5;
setp.lt.u{bits} %p0, %{letter}7, 1000000;
@%p0 bra LOOP;
mul.wide.u32 %l0, %tid, 4;
add.u64 %l0, %x, %l0;
st.global.u32 [%l0], 1;"""
    for seed in range(3):
        assert run(body, {"x": 160}, block=40, seed=seed).array("x").tolist() == [1] * 40


POLL = """mov.u64 %l5, %globaltimer;
LOOP:
{sleep}
ld.acquire.sys.global.u32 %r0, [%y];
setp.ne.u32 %p0, %r0, 0;
@%p0 bra DONE;
mov.u64 %l6, %globaltimer;
sub.u64 %l7, %l6, %l5;
setp.lt.u64 %p1, %l7, 1000;
@%p1 bra LOOP;
trap; // late
DONE:
st.global.u32 [%x], %r0;"""


@pytest.mark.parametrize("sleep", ["", "nanosleep.u32 100;"])
def test_a_time_out_is_not_taken_while_others_can_run(machine: Any, sleep: str) -> None:
    """The other one computes for long before it signals."""
    body = f"""setp.eq.u32 %p0, %tid, 0;
@%p0 bra FIRST;
mov.u32 %r3, 0;
WORK:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p0, %r3, 30000;
@%p0 bra WORK;
st.release.sys.global.u32 [%y], %r3;
ret;
FIRST:
{POLL.format(sleep=sleep)}"""
    found = machine(body, {"x": 4, "y": ZERO}, block=2)
    for seed in range(6):
        assert found.run(seed).array("x")[0] == 30000


def test_a_time_out_that_would_be_taken_is_the_hang(run: Run) -> None:
    ran = run(POLL.format(sleep=""), {"x": 4, "y": ZERO})
    assert ran.finding.kind == "hang"
    assert any("byte 0 of y of rank 0" in note for note in ran.finding.notes)


@pytest.mark.parametrize("turns", [1, 30])
def test_a_wait_that_gives_up_by_counting(run: Run, turns: int) -> None:
    body = f"""mov.u32 %r3, 0;
LOOP:
ld.acquire.gpu.global.u32 %r0, [%y];
setp.ne.u32 %p0, %r0, 0;
@%p0 bra DONE;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p0, %r3, {turns};
@%p0 bra LOOP;
DONE:
st.global.u32 [%x], %r3;"""
    assert run(body, {"x": 4, "y": ZERO}).array("x")[0] == turns


def test_a_wait_for_any_of_two(machine: Any) -> None:
    """One of the flags is never set."""
    body = """setp.eq.u32 %p0, %tid, 0;
@!%p0 st.release.gpu.global.u32 [%y+4], 3;
@!%p0 ret;
LOOP:
ld.acquire.gpu.global.u32 %r0, [%y];
ld.acquire.gpu.global.u32 %r1, [%y+4];
or.b32 %r0, %r0, %r1;
setp.eq.u32 %p0, %r0, 0;
@%p0 bra LOOP;
st.global.u32 [%x], %r0;"""
    found = machine(body, {"x": 4, "y": np.zeros(2, np.uint32)}, block=2)
    for seed in range(10):
        assert found.run(seed).array("x")[0] == 3


def test_threads_that_take_turns(machine: Any) -> None:
    """A token goes round, several times."""
    body = """mov.u32 %r3, 0;
ROUND:
mad.lo.u32 %r4, %r3, 5, %tid;
WAIT:
ld.acquire.gpu.global.u32 %r0, [%y];
setp.ne.u32 %p0, %r0, %r4;
@%p0 bra WAIT;
ld.global.u32 %r1, [%x];
mad.lo.u32 %r1, %r1, 3, %tid;
st.global.u32 [%x], %r1;
add.u32 %r4, %r4, 1;
st.release.gpu.global.u32 [%y], %r4;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p0, %r3, 4;
@%p0 bra ROUND;"""
    want = 0
    for turn in range(20):
        want = (want * 3 + turn % 5) % 2**32
    found = machine(body, {"x": ZERO, "y": ZERO}, block=5)
    for seed in range(8):
        assert found.run(seed).array("x")[0] == want


@pytest.mark.parametrize(
    "body", ["LOOP:\nbra LOOP; // A", "LOOP:\nnanosleep.u32 5;\nbra.uni LOOP; // A"]
)
def test_a_loop_without_end(run: Run, body: str) -> None:
    ran = run(body, {"x": 4}, block=2)
    assert (ran.finding.kind, ran.finding.message) == ("hang", "a loop does not end")
    assert ran.finding.places[0].line == ran.line("A")


def test_a_weak_wait_is_a_race_and_not_a_loop_without_end(machine: Any) -> None:
    body = """setp.eq.u32 %p0, %tid, 0;
@%p0 bra LOOP;
st.global.u32 [%x], 1; // write
ret;
LOOP:
ld.global.u32 %r0, [%x]; // read
setp.eq.u32 %p0, %r0, 0;
@%p0 bra LOOP;"""
    found = machine(body, {"x": ZERO}, block=2)
    for seed in range(5):
        ran = found.run(seed)
        assert ran.finding.kind == "data race"
        assert {place.line for place in ran.finding.places} == {ran.line("write"), ran.line("read")}


def test_long_loops_end(run: Run) -> None:
    """Of all threads, with more turns than a thread may take before others run."""
    body = """mov.u32 %r3, 0;
LOOP:
mad.lo.u32 %r3, %r3, 1, 1;
setp.lt.u32 %p0, %r3, 200000;
@%p0 bra LOOP;
mul.wide.u32 %l0, %tid, 4;
add.u64 %l0, %x, %l0;
st.global.u32 [%l0], %r3;"""
    assert run(body, {"x": 16}, block=4, seed=1).array("x").tolist() == [200000] * 4


def test_a_flag_that_is_looked_at_for_each_element(run: Run) -> None:
    """A wait that is left and begun again is none, however often: nothing new is needed."""
    body = """mov.u32 %r1, 0;
EACH:
WAIT:
ld.acquire.sys.global.u32 %r0, [%y];
setp.eq.u32 %p0, %r0, 0;
@%p0 bra WAIT;
add.u32 %r1, %r1, %r0;
setp.lt.u32 %p1, %r1, 900;
@%p1 bra EACH;
st.global.u32 [%x], %r1;"""
    assert run(body, {"x": 4, "y": np.full(1, 3, np.uint32)}).array("x").tolist() == [900]


def test_flags_that_one_instruction_looks_at(run: Run) -> None:
    """A loop over two flags, of which nobody raises the second."""
    body = """AGAIN:
mov.u32 %r1, 0;
mov.u32 %r2, 0;
mov.u64 %l0, %y;
NEXT:
ld.acquire.sys.global.u32 %r0, [%l0];
add.u32 %r1, %r1, %r0;
add.u64 %l0, %l0, 4;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p0, %r2, 2;
@%p0 bra NEXT;
setp.lt.u32 %p0, %r1, 2;
@%p0 bra AGAIN;"""
    assert run(body, {"x": 4, "y": np.array([1, 0], np.uint32)}).finding.kind == "hang"
    assert run(body, {"x": 4, "y": np.array([1, 1], np.uint32)}).findings == ()
