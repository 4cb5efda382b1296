"""Barriers of a block: who waits for whom, what is wrong with them, and what they order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]

LANE = "mul.wide.u32 %l0, %tid, 4;\nadd.u64 %l1, %x, %l0;\n"
NEIGHBOUR = """mov.u32 %r1, %ntid.x;
add.u32 %r0, %tid, 1;
rem.u32 %r0, %r0, %r1;
mul.wide.u32 %l2, %r0, 4;
add.u64 %l2, %x, %l2;
"""
"""The address of the next thread's word."""


@pytest.mark.parametrize("threads", [1, 2, 31, 33, 64, 100])
@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "barrier.cta.sync 15;", "bar.sync %r3;", "bar.sync 0, %r4;"]
)
def test_all_meet(run: Run, threads: int, barrier: str) -> None:
    """Also where a count of whole warps is more than the threads that there are."""
    body = f"""{LANE}{NEIGHBOUR}
mov.u32 %r3, 7;
add.u32 %r4, %r1, 31;
and.b32 %r4, %r4, -32;
st.global.u32 [%l1], %tid;
{barrier}
ld.global.u32 %r5, [%l2];
{barrier}
st.global.u32 [%l1], %r5;"""
    for seed in range(3):
        found = run(body, {"x": 4 * threads}, block=threads, seed=seed).array("x")
        assert found.tolist() == np.roll(np.arange(threads), -1).tolist()


@pytest.mark.parametrize("gone", [0, 1])
def test_without_either_barrier_it_is_a_race(run: Run, gone: int) -> None:
    barriers = ["bar.sync 0;", "bar.sync 0;"]
    barriers[gone] = ""
    body = f"""{LANE}{NEIGHBOUR}
st.global.u32 [%l1], %tid; // first
{barriers[0]}
ld.global.u32 %r5, [%l2]; // read
{barriers[1]}
st.global.u32 [%l1], %r5; // second"""
    ran = run(body, {"x": np.zeros(64, np.uint32)}, block=64)
    other = ("first", "second")[gone]
    assert ran.finding.kind == "data race"
    assert {place.line for place in ran.finding.places} == {ran.line("read"), ran.line(other)}


def test_a_loop_of_barriers(run: Run) -> None:
    """Each turn all add their neighbour's."""
    body = f"""{LANE}{NEIGHBOUR}
mov.u32 %r6, 0;
LOOP:
ld.global.u32 %r4, [%l1];
ld.global.u32 %r5, [%l2];
add.u32 %r4, %r4, %r5;
bar.sync 0;
st.global.u32 [%l1], %r4;
bar.sync 0;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p0, %r6, 9;
@%p0 bra LOOP;"""
    x = np.random.default_rng(1).integers(0, 1000, 70, dtype=np.uint32)
    want = x.copy()
    for _ in range(9):
        want = want + np.roll(want, -1)
    for seed in range(3):
        assert run(body, {"x": x}, block=70, seed=seed).array("x").tolist() == want.tolist()


def test_several_at_once(run: Run) -> None:
    """Each warp has a barrier of its own with the one of the other block half."""
    body = f"""{LANE}
shr.u32 %r0, %tid, 5;
and.b32 %r1, %r0, 3;
add.u32 %r1, %r1, 3;
xor.b32 %r2, %tid, 128;
mul.wide.u32 %l2, %r2, 4;
add.u64 %l2, %x, %l2;
st.global.u32 [%l1], %tid;
bar.sync %r1, 64;
ld.global.u32 %r3, [%l2];
bar.sync %r1, 64;
st.global.u32 [%l1], %r3;"""
    for seed in range(5):
        found = run(body, {"x": 1024}, block=256, seed=seed).array("x")
        assert found.tolist() == (np.arange(256) ^ 128).tolist()


PRODUCE = """setp.lt.u32 %p0, %tid, 32;
@%p0 bra READ;
sub.u32 %r0, %tid, 32;
mul.wide.u32 %l0, %r0, 4;
add.u64 %l1, %x, %l0;
st.global.u32 [%l1], %r0; // write
{arrive}
ret;
READ:
{sync}
sub.u32 %r0, 31, %tid;
mul.wide.u32 %l0, %r0, 4;
add.u64 %l1, %x, %l0;
ld.global.u32 %r1, [%l1]; // read
mul.wide.u32 %l0, %tid, 4;
add.u64 %l1, %out, %l0;
st.global.u32 [%l1], %r1;"""


def test_arrive_does_not_wait_and_orders(run: Run) -> None:
    body = PRODUCE.format(arrive="bar.arrive 3, 64;", sync="bar.sync 3, 64;")
    for seed in range(5):
        found = run(body, {"x": 128, "out": 128}, block=64, seed=seed).array("out")
        assert found.tolist() == list(range(31, -1, -1))


def test_arrive_at_another_barrier(run: Run) -> None:
    body = PRODUCE.format(arrive="bar.arrive 4, 64;", sync="bar.sync 3, 64; // wait")
    ran = run(body, {"x": 128, "out": 128}, block=64)
    assert ran.finding.kind == "hang"
    assert {place.line for place in ran.finding.places} == {ran.line("wait")}
    assert any("32 in all, wait at barrier 3" in note for note in ran.finding.notes)


def test_what_comes_behind_an_arrival_is_not_ordered(run: Run) -> None:
    late = "bar.arrive 3, 64;\nst.global.u32 [%l1], 5; // late"
    body = PRODUCE.format(arrive=late, sync="bar.sync 3, 64;")
    ran = run(body, {"x": 128, "out": 128}, block=64)
    assert ran.finding.kind == "data race"
    assert {place.line for place in ran.finding.places} == {ran.line("late"), ran.line("read")}


@pytest.mark.parametrize("threads", [1, 40, 64])
def test_reductions(run: Run, threads: int) -> None:
    x = np.random.default_rng(threads).integers(0, 3, threads, dtype=np.uint32)
    for values in (x, np.zeros_like(x), np.ones_like(x)):
        body = f"""{LANE}
ld.global.u32 %r0, [%l1];
setp.ne.u32 %p0, %r0, 0;
bar.red.popc.u32 %r1, 0, %p0;
bar.red.popc.u32 %r2, 1, !%p0;
bar.red.and.pred %p1, 2, %p0;
barrier.cta.red.or.pred %p2, 3, 64, %p0;
selp.u32 %r3, 1000, 0, %p1;
selp.u32 %r4, 10000, 0, %p2;
shl.b32 %r2, %r2, 16;
add.u32 %r1, %r1, %r2;
add.u32 %r1, %r1, %r3;
add.u32 %r1, %r1, %r4;
st.global.u32 [%l1], %r1;"""
        if threads <= 32:
            body = body.replace("3, 64", "3, 32")
        found = run(body, {"x": values}, block=threads).array("x")
        count = int(np.count_nonzero(values))
        want = count + (threads - count << 16) + 1000 * (count == threads) + 10000 * (count > 0)
        assert found.tolist() == [want] * threads


def test_reductions_order(run: Run) -> None:
    body = f"""{LANE}{NEIGHBOUR}
st.global.u32 [%l1], %tid;
bar.red.or.pred %p0, 0, %p1;
ld.global.u32 %r5, [%l2];"""
    assert run(body, {"x": 256}, block=64).findings == ()


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "bar.sync 0, 64;", "bar.red.popc.u32 %r1, 0, %p1;"]
)
def test_threads_that_ended_are_not_waited_for(run: Run, barrier: str) -> None:
    """Every third thread ends first, in each warp."""
    body = f"""{LANE}
rem.u32 %r0, %tid, 3;
setp.eq.u32 %p0, %r0, 1;
@%p0 exit;
{barrier}
st.global.u32 [%l1], 1;"""
    for seed in range(3):
        x = np.zeros(64, np.uint32)
        found = run(body, {"x": x}, block=64, seed=seed).array("x")
        assert found.tolist() == [int(n % 3 != 1) for n in range(64)]


def test_a_warp_that_ended_does_not_count(run: Run) -> None:
    """Two warps are expected; of all threads the barrier waits for those that there are."""
    body = """setp.lt.u32 %p0, %tid, 32;
@%p0 exit;
bar.sync 0{}; // wait"""
    assert run(body.format(""), {"x": 4}, block=64).findings == ()
    ran = run(body.format(", 64"), {"x": 4}, block=64)
    assert (ran.finding.kind, ran.finding.places[0].line) == ("hang", ran.line("wait"))


def test_a_thread_that_does_not_come(run: Run) -> None:
    body = """setp.eq.u32 %p0, %tid, 40;
@%p0 bra OTHER;
bar.sync 0; // most
ret;
OTHER:
ld.relaxed.gpu.global.u32 %r0, [%x]; // one
setp.eq.u32 %p1, %r0, 0;
@%p1 bra OTHER;"""
    ran = run(body, {"x": np.zeros(1, np.uint32)}, block=64)
    assert ran.finding.kind == "hang"
    assert {place.line for place in ran.finding.places} == {ran.line("most"), ran.line("one")}
    assert any("63 in all" in note for note in ran.finding.notes)


@pytest.mark.parametrize(
    ("body", "threads", "message"),
    [
        ("bar.sync 16; // A", 32, "there is no barrier 16: a block has 16"),
        ("bar.sync 0, 32; // A", 64, "barrier 0 is for 32 threads, but 64 arrive"),
        (
            "mov.u32 %r0, 20;\nbar.sync 0, %r0; // A",
            32,
            "barrier 0 is for 20 threads, which are no whole warps",
        ),
        (
            "setp.lt.u32 %p0, %tid, 32;\n@%p0 bar.sync 2, 96; // A\n@!%p0 bar.sync 2;",
            64,
            "barrier 2 is for 96 threads and for 64 at once",
        ),
        (
            "setp.lt.u32 %p0, %tid, 32;\n@%p0 bar.sync 2; // A\n@!%p0 bar.red.popc.u32 %r0, 2, %p0;",
            64,
            "barrier 2 is of bar.red for some threads and not for others",
        ),
    ],
)
def test_what_is_wrong(run: Run, body: str, threads: int, message: str) -> None:
    ran = run(body, {"x": 4}, block=threads)
    assert (ran.finding.kind, ran.finding.message) == ("invalid", message)
    assert ran.finding.places[0].line == ran.line("A")


def test_barriers_of_other_blocks_are_others(run: Run) -> None:
    """Blocks meet at their own barriers: nothing orders one with another."""
    body = """setp.eq.u32 %p0, %block, 0;
setp.eq.and.u32 %p1, %tid, 0, %p0;
@%p1 st.global.u32 [%x], 1; // write
bar.sync 0;
@!%p0 ld.global.u32 %r0, [%x]; // read"""
    ran = run(body, {"x": np.zeros(1, np.uint32)}, block=32, grid=2)
    assert ran.finding.kind == "data race"
    assert {place.line for place in ran.finding.places} == {ran.line("write"), ran.line("read")}
