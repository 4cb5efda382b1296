"""What threads of a warp do together, in kernels, against lanes that are computed one by one from PTX's pseudo code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FULL = 0xFFFFFFFF
UNDEFINED = 0xDEADBEEF
"""What the emulator gives where PTX says nothing."""

LANE = "mul.wide.u32 %l0, %tid, 4;\nadd.u64 %l1, %x, %l0;\nadd.u64 %l2, %out, %l0;\n"
"""Before what a lane does: the addresses of its word of `x` and of `out`, of two rows."""


def shuffled(
    mode: str, values: list[int], by: list[int], control: int, present: set[int]
) -> list[tuple[int, int]]:
    """Destination and predicate of each lane (PTX ISA, 9.7.9.6)."""
    found: list[tuple[int, int]] = []
    for lane in range(32):
        b, c, segment = by[lane] & 31, control & 31, control >> 8 & 31
        most = (lane & segment) | (c & ~segment)
        least = lane & segment
        match mode:
            case "up":
                source = lane - b
                holds = source >= most
            case "down":
                source = lane + b
                holds = source <= most
            case "bfly":
                source = lane ^ b
                holds = source <= most
            case _:
                source = least | (b & ~segment)
                holds = source <= most
        if not holds:
            source = lane
        found.append((values[source] if source in present else UNDEFINED, int(holds)))
    return found


MODES = ("up", "down", "bfly", "idx")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("segment", [0, 0b10000, 0b11000, 0b11100, 0b11110, 0b11111])
def test_shuffle(run: Callable[..., Any], mode: str, segment: int) -> None:
    """All clamps and distances: each warp of 32 has a clamp, each of 32 turns a distance."""
    random = np.random.default_rng(segment)
    x = random.integers(0, 2**32, 1024, dtype=np.uint32)
    body = f"""{LANE}
ld.global.u32 %r0, [%l1];
shr.u32 %r1, %tid, 5;
or.b32 %r1, %r1, {segment << 8};
mov.u32 %r2, 0;
LOOP:
shfl.sync.{mode}.b32 %r3|%p0, %r0, %r2, %r1, -1;
selp.u32 %r4, 1, 0, %p0;
st.global.u32 [%l2], %r3;
st.global.u32 [%l2+4096], %r4;
add.u64 %l2, %l2, 8192;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 32;
@%p1 bra LOOP;"""
    found = run(body, {"x": x, "out": 32 * 8192}, block=1024).array("out").reshape(32, 2, 32, 32)
    for by in range(32):
        for warp in range(32):
            values = x[32 * warp : 32 * warp + 32].tolist()
            want = shuffled(mode, values, [by] * 32, warp | segment << 8, set(range(32)))
            assert found[by, :, warp].T.tolist() == [list(one) for one in want]


@settings(max_examples=25, deadline=None)
@given(
    mode=st.sampled_from(MODES),
    mask=st.integers(1, FULL),
    control=st.integers(0, 0x1FFF),
    threads=st.integers(1, 40),
    by=st.lists(st.integers(0, FULL), min_size=32, max_size=32),
)
def test_shuffle_of_some(
    run: Callable[..., Any], mode: str, mask: int, control: int, threads: int, by: list[int]
) -> None:
    """Only lanes of the mask take part, of the last warp those that are there; each lane has its own distance."""
    body = f"""{LANE}
shl.b32 %r1, 1, %tid;
and.b32 %r1, %r1, {mask};
setp.eq.u32 %p1, %r1, 0;
setp.gt.or.u32 %p1, %tid, 31, %p1;
@%p1 exit;
ld.global.u32 %r2, [%l1];
add.u32 %r0, %tid, 100;
shfl.sync.{mode}.b32 %r3|%p0, %r0, %r2, {control}, {mask};
selp.u32 %r4, 1, 0, %p0;
st.global.u32 [%l2], %r3;
st.global.u32 [%l2+128], %r4;"""
    x, out = np.array(by, np.uint32), np.full((2, 32), 7, np.uint32)
    found = run(body, {"x": x, "out": out}, block=threads).array("out").reshape(2, 32)
    present = {n for n in range(min(threads, 32)) if mask >> n & 1}
    want = shuffled(mode, [n + 100 for n in range(32)], by, control, present)
    for lane in range(32):
        assert tuple(found[:, lane]) == (want[lane] if lane in present else (7, 7))


def lanes(flags: list[bool]) -> int:
    """Their mask."""
    return sum(1 << n for n, holds in enumerate(flags) if holds)


@settings(max_examples=25, deadline=None)
@given(
    mask=st.integers(1, FULL),
    threads=st.integers(1, 32),
    x=st.lists(
        st.sampled_from([0, 0, 1, 5, 2**31, FULL, 2**33, 2**33 + 5]), min_size=32, max_size=32
    ),
)
def test_votes_matches_and_reductions(
    run: Callable[..., Any], mask: int, threads: int, x: list[int]
) -> None:
    """Lanes that are not of the mask have ended."""
    steps = [f"vote.sync.ballot.b32 %r0, %p0, {mask};"]
    for mode in ("all", "any", "uni"):
        for sign in ("", "!"):
            steps.append(f"vote.sync.{mode}.pred %p2, {sign}%p0, {mask};\nselp.u32 %r0, 1, 0, %p2;")
    steps += [
        f"match.any.sync.b32 %r0, %r1, {mask};",
        f"match.any.sync.b64 %r0, %l3, {mask};",
        f"match.all.sync.b32 %r0|%p2, %r1, {mask};\nselp.u32 %r2, 1, 0, %p2;\nxor.b32 %r0, %r0, %r2;",
        f"match.all.sync.b64 %r0|%p2, %l3, {mask};",
        *(f"redux.sync.{name}.u32 %r0, %r1, {mask};" for name in ("add", "min", "max")),
        *(f"redux.sync.{name}.s32 %r0, %r1, {mask};" for name in ("add", "min", "max")),
        *(f"redux.sync.{name}.b32 %r0, %r1, {mask};" for name in ("and", "or", "xor")),
        f"elect.sync %r0|%p2, {mask};\nselp.u32 %r2, 64, 0, %p2;\nor.b32 %r0, %r0, %r2;",
        "activemask.b32 %r0;",
    ]
    body = f"""{LANE}
add.u64 %l1, %l1, %l0;
shl.b32 %r1, 1, %tid;
and.b32 %r1, %r1, {mask};
setp.eq.u32 %p1, %r1, 0;
@%p1 exit;
ld.global.u64 %l3, [%l1];
cvt.u32.u64 %r1, %l3;
setp.ne.u32 %p0, %r1, 0;
"""
    body += "\n".join(
        f"{step}\nst.global.u32 [%l2+{128 * n}], %r0;" for n, step in enumerate(steps)
    )
    given_x = np.array(x, np.uint64)
    out = np.full((len(steps), 32), 7, np.uint32)
    found = run(body, {"x": given_x, "out": out}, block=threads).array("out").reshape(-1, 32)
    present = [n for n in range(threads) if mask >> n & 1]
    here = lanes([n in present for n in range(32)])
    low = [v & FULL for v in x]
    signed = [v - 2**32 if v >> 31 else v for v in low]
    holds, some = [low[n] != 0 for n in present], [low[n] for n in present]
    some_signed = [signed[n] for n in present]
    total_xor = 0
    for v in some:
        total_xor ^= v
    for lane in range(32):
        if lane not in present:
            assert set(found[:, lane].tolist()) == {7}
            continue
        want = [
            lanes([n in present and low[n] != 0 for n in range(32)]),
            all(holds),
            not any(holds),
            any(holds),
            not all(holds),
            len(set(holds)) == 1,
            len(set(holds)) == 1,
            lanes([n in present and low[n] == low[lane] for n in range(32)]),
            lanes([n in present and x[n] == x[lane] for n in range(32)]),
            here ^ 1 if len(set(some)) == 1 else 0,
            here if len({x[n] for n in present}) == 1 else 0,
            sum(some) & FULL,
            min(some),
            max(some),
            sum(some) & FULL,
            min(some_signed) & FULL,
            max(some_signed) & FULL,
            int(np.bitwise_and.reduce(np.array(some, np.uint32))),
            int(np.bitwise_or.reduce(np.array(some, np.uint32))),
            total_xor,
            present[0] | (64 if lane == present[0] else 0),
            here,
        ]
        assert found[:, lane].tolist() == [int(one) for one in want]


def test_lanes_arrive_by_different_branches(run: Callable[..., Any]) -> None:
    """Odd and even lanes execute different instructions with the same mask, and with masks of their own."""
    body = f"""{LANE}
and.b32 %r0, %tid, 1;
setp.eq.u32 %p0, %r0, 0;
@%p0 bra EVEN;
shfl.sync.idx.b32 %r1, %tid, 1, 0x1f, 0xAAAAAAAA;
shfl.sync.bfly.b32 %r2, %tid, 1, 0x1f, -1;
bra.uni MET;
EVEN:
shfl.sync.bfly.b32 %r2, %tid, 1, 0x1f, -1;
shfl.sync.idx.b32 %r1, %tid, 30, 0x1f, 0x55555555;
MET:
bar.warp.sync -1;
st.global.u32 [%l2], %r1;
st.global.u32 [%l2+256], %r2;"""
    for seed in range(4):
        found = run(body, {"x": 4, "out": 512}, block=64, seed=seed).array("out").reshape(2, 64)
        lane = np.arange(64)
        assert found[0].tolist() == np.where(lane & 1, lane & 32 | 1, lane & 32 | 30).tolist()
        assert found[1].tolist() == (lane ^ 1).tolist()


def test_a_missing_lane(run: Callable[..., Any]) -> None:
    body = """setp.eq.u32 %p0, %tid, 5;
@%p0 bra MET;
shfl.sync.idx.b32 %r1, %tid, 0, 0x1f, -1; // others
bar.sync 0;
MET:
bar.sync 0; // five"""
    ran = run(body, {"x": 4}, block=32)
    assert ran.finding.kind == "hang"
    assert {place.line for place in ran.finding.places} == {ran.line("others"), ran.line("five")}
    assert any("0xffffffff" in note for note in ran.finding.notes)


def test_a_mask_without_the_lane_itself(run: Callable[..., Any]) -> None:
    ran = run("vote.sync.any.pred %p0, %p1, 0xFFFFFFF7; // A", {"x": 4}, block=32)
    (place,) = ran.finding.places
    assert (ran.finding.kind, place.line, place.thread) == ("invalid", ran.line("A"), (3, 0, 0))
    assert "0xfffffff7" in ran.finding.message


STORE_AND_READ = """mul.wide.u32 %l0, %tid, 4;
add.u64 %l1, %x, %l0;
xor.b32 %r0, %tid, 1;
mul.wide.u32 %l2, %r0, 4;
add.u64 %l2, %x, %l2;
st.global.u32 [%l1], %tid;
{}
ld.global.u32 %r1, [%l2];"""


@pytest.mark.parametrize(
    "between", ["shfl.sync.idx.b32 %r2, %tid, 0, 31, -1;", "vote.sync.ballot.b32 %r2, %p0, -1;", ""]
)
def test_only_a_warp_barrier_orders(run: Callable[..., Any], between: str) -> None:
    assert (
        run(STORE_AND_READ.format(between), {"x": np.zeros(32, np.uint32)}, block=32).finding.kind
        == "data race"
    )


def test_a_warp_barrier_orders_lanes_of_its_mask(run: Callable[..., Any]) -> None:
    pairs = "and.b32 %r3, %tid, 30;\nshl.b32 %r2, 3, %r3;\nbar.warp.sync %r2;"
    for barrier in ("bar.warp.sync -1;", pairs):
        assert run(STORE_AND_READ.format(barrier), {"x": 128}, block=32).findings == ()
