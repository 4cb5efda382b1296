"""What is wrong with small kernels: the kind, where in memory, who, and at which lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.reports.findings import Finding, Where
from coconet_ir.runtime.steps import Collective, Copy, Launch, Place, Step

Run = Callable[..., Any]
ZERO = np.zeros(1, np.uint32)


def who(where: Where) -> tuple[int, int, int, int]:
    """Rank, block, thread and line."""
    return where.rank, where.block[0], where.thread[0], where.line


def check(ran: Any, kind: str, where: str | None, *places: tuple[int, int, int, str]) -> Finding:
    """Compare a finding: `x of rank 0+4` is where; places are in any order."""
    found = ran.finding
    assert found.kind == kind
    assert (found.buffer and f"{found.buffer}+{found.offset}") == where
    want = {(rank, block, thread, ran.line(mark)) for rank, block, thread, mark in places}
    assert {who(place) for place in found.places} == want
    return found


# Races

ONLY = "setp.eq.u32 %p0, {who}, {first};\nsetp.eq.u32 %p1, {who}, {second};\n"
WRITE = "st{how}.global.u32 [%x+4], {value}; // {mark}"
READ = "ld{how}.global.u32 %r0, [%x+4]; // {mark}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WRITE.format(how="", value=1, mark="A"), WRITE.format(how="", value=2, mark="B")),
        (WRITE.format(how="", value=1, mark="A"), WRITE.format(how="", value=1, mark="B")),
        (WRITE.format(how="", value=1, mark="A"), READ.format(how="", mark="B")),
        (READ.format(how="", mark="A"), WRITE.format(how="", value=2, mark="B")),
        (READ.format(how="", mark="A"), WRITE.format(how=".volatile", value=2, mark="B")),
        (WRITE.format(how="", value=1, mark="A"), READ.format(how=".acquire.sys", mark="B")),
        (WRITE.format(how=".release.sys", value=1, mark="A"), READ.format(how="", mark="B")),
        (READ.format(how=".relaxed.gpu", mark="A"), WRITE.format(how="", value=2, mark="B")),
        ("atom.global.add.u32 %r0, [%x+4], 1; // A", READ.format(how="", mark="B")),
        (WRITE.format(how="", value=1, mark="A"), "red.global.or.b32 [%x+4], 1; // B"),
    ],
)
@pytest.mark.parametrize("place", ["lanes", "warps", "blocks"])
def test_race(machine: Any, first: str, second: str, place: str) -> None:
    """Two threads, in every order."""
    one, other = (33, 64) if place == "warps" else (2, 3)
    register = "%block" if place == "blocks" else "%tid"
    body = ONLY.format(who=register, first=one, second=other) + f"@%p0 {first}\n@%p1 {second}"
    shape = {"grid": 4} if place == "blocks" else {"block": 96}
    found = machine(body, {"x": np.zeros(4, np.uint32)}, **shape)
    a, b = ((one, 0), (other, 0)) if place == "blocks" else ((0, one), (0, other))
    for seed in range(4):
        check(found.run(seed), "data race", "x of rank 0+4", (0, *a, "A"), (0, *b, "B"))


@pytest.mark.parametrize("order", ["A B", "B A"])
def test_the_later_access_comes_first(run: Run, order: str) -> None:
    first, second = order.split()
    body = (
        "setp.eq.u32 %p0, %tid, 0;\n@!%p0 bra OTHER;\n"
        f"st.global.u32 [%x], 1; // {first}\nret;\nOTHER:\nld.global.u32 %r0, [%x]; // {second}"
    )
    ran = run(body, {"x": ZERO}, block=2)
    assert [place.line for place in ran.finding.places] == [ran.line(second), ran.line(first)]


def test_race_between_ranks(machine: Any) -> None:
    body = """setp.eq.u32 %p0, %rank, 1;
ld.global.u64 %l0, [%xs+16];
@%p0 st.global.u32 [%l0+8], 1; // write
setp.eq.u32 %p0, %rank, 2;
@%p0 ld.global.u32 %r0, [%x+8]; // read"""
    found = machine(body, {"x": np.zeros(4, np.uint32)}, ranks=3)
    for seed in range(4):
        places = (1, 0, 0, "write"), (2, 0, 0, "read")
        check(found.run(seed), "data race", "x of rank 2+8", *places)


TWO = {"k": "st.global.u32 [%x], 1; // k", "m": "ld.global.u32 %r0, [%x]; // m"}


def test_kernels_that_do_not_wait(run: Run) -> None:
    def beside(launch: Launch) -> Sequence[Step]:
        return (launch, replace(launch, kernel="m"))

    def behind(launch: Launch) -> Sequence[Step]:
        return (launch, replace(launch, kernel="m", after=(0,)))

    ran = run(TWO, {"x": ZERO}, steps=beside)
    check(ran, "data race", "x of rank 0+0", (0, 0, 0, "k"), (0, 0, 0, "m"))
    assert {place.step for place in ran.finding.places} == {0, 1}
    assert run(TWO, {"x": ZERO}, steps=behind).findings == ()


def test_steps_of_the_host_wait_and_are_waited_for(run: Run) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, Copy(Place(0), Place(1), 4), replace(launch, kernel="m"))

    bodies = {
        "k": "st.global.u32 [%x], 6;",
        "m": "ld.global.u32 %r0, [%y];\nst.global.u32 [%x], %r0;",
    }
    for seed in range(3):
        ran = run(bodies, {"x": 4, "y": 4}, steps=steps, seed=seed)
        assert (ran.array("x")[0], ran.array("y")[0]) == (6, 6)


def test_a_peer_writes_what_the_host_copies(machine: Any) -> None:
    body = (
        "ld.global.u64 %l0, [%xs];\nsetp.eq.u32 %p0, %rank, 1;\n@%p0 st.global.u32 [%l0], 1; // A"
    )

    def steps(launch: Launch) -> Sequence[Step]:
        copies = (Copy(Place(0), Place(1), 8),) if launch.arguments[-1] == bytes(4) else ()
        return (*copies, launch)

    found = machine(body, {"x": np.zeros(2, np.uint32), "y": 8}, ranks=2, steps=steps)
    for seed in range(5):
        ran = found.run(seed)
        assert (ran.finding.kind, ran.finding.buffer) == ("data race", "x of rank 0")
        lines = {place.line for place in ran.finding.places}
        assert lines == {0, ran.line("A")}  # the host has no line
        assert any(place.text == "copy of 8 bytes" for place in ran.finding.places)


@pytest.mark.parametrize("readers", [1, 4, 5, 6, 17, 40, 150])
@pytest.mark.parametrize("last", range(3))
def test_all_readers_are_known(machine: Any, readers: int, last: int) -> None:
    """Threads read; one of them meets the writer in a barrier, or all do, or all but one."""
    meets = {0: "setp.eq.u32 %p1, %tid, 0;", 1: "setp.ge.u32 %p1, %tid, 0;"}.get(
        last, "setp.ne.u32 %p1, %tid, 0;"
    )
    body = f"""setp.eq.u32 %p0, %tid, {readers};
@%p0 bra WRITER;
ld.global.u32 %r0, [%x]; // read
{meets}
@%p1 atom.release.gpu.global.add.u32 %r1, [%y], 1;
ret;
WRITER:
ld.acquire.gpu.global.u32 %r1, [%y];
setp.lt.u32 %p2, %r1, {(1, readers, readers - 1)[last]};
@%p2 bra WRITER;
st.global.u32 [%x], 1; // write"""
    found = machine(body, {"x": ZERO, "y": ZERO}, block=readers + 1)
    for seed in range(3):
        ran = found.run(seed)
        if last == 1 or (last == 0 and readers == 1):
            assert ran.findings == ()
        else:
            assert ran.finding.kind == "data race"
            assert {p.line for p in ran.finding.places} == {ran.line("read"), ran.line("write")}
            reader = next(p for p in ran.finding.places if p.line == ran.line("read"))
            assert (reader.thread[0] == 0) == (last == 2)


@pytest.mark.parametrize("late", [0, 3, 4, 12, 16, 19])
def test_a_reader_of_many(machine: Any, late: int) -> None:
    """One thread of each of 20 blocks of 32 reads; one of them says so before it does, the others behind it."""
    body = f"""setp.ne.u32 %p0, %tid, 7;
@%p0 exit;
setp.eq.u32 %p1, %block, 20;
@%p1 bra WRITER;
setp.eq.u32 %p1, %block, {late};
@%p1 red.release.gpu.global.add.u32 [%y], 1;
ld.global.u32 %r0, [%x]; // read
@!%p1 red.release.gpu.global.add.u32 [%y], 1;
ret;
WRITER:
ld.acquire.gpu.global.u32 %r1, [%y];
setp.lt.u32 %p2, %r1, 20;
@%p2 bra WRITER;
st.global.u32 [%x], 1; // write"""
    found = machine(body, {"x": ZERO, "y": ZERO}, grid=21, block=32)
    for seed in range(4):
        places = (0, late, 7, "read"), (0, 20, 7, "write")
        check(found.run(seed), "data race", "x of rank 0+0", *places)


@pytest.mark.parametrize(
    ("store", "races"),
    [
        ("st.global.u32 [%x], 7;", False),
        ("st.global.u32 [%x], %tid;", True),
        ("st.global.v2.u32 [%x], {7, 8};", False),
        ("st.global.v2.u32 [%x], {7, %tid};", True),
        ("st.global.v2.u32 [%x], {%tid, 8};", True),
        ("cvt.u64.u32 %l0, %tid;\nst.global.u64 [%x], %l0;", True),
        ("shl.b32 %r0, %tid, 16;\nst.global.u32 [%x], %r0;", True),
    ],
)
@pytest.mark.parametrize("narrow", ["", "ld.global.u8 %r7, [%y];"])
def test_lanes_that_store_the_same(run: Run, store: str, races: bool, narrow: str) -> None:
    body = f"{narrow}\n{store} // A"
    ran = run(body, {"x": 8, "y": ZERO}, block=32)
    assert [one.kind for one in ran.findings] == ["data race"] * races
    if races:
        assert {place.line for place in ran.finding.places} == {ran.line("A")}


def test_warps_that_store_the_same(run: Run) -> None:
    ran = run("st.global.u32 [%x], 7; // A", {"x": 4}, block=64)
    check(ran, "data race", "x of rank 0+0", (0, 0, 31, "A"), (0, 0, 32, "A"))


@pytest.mark.parametrize(
    ("store", "load"),
    [
        ("relaxed.sys.global.u32", "relaxed.sys.global.u8"),
        ("volatile.global.u16", "volatile.global.u32"),
    ],
)
def test_mixed_sizes(machine: Any, store: str, load: str) -> None:
    body = f"""setp.eq.u32 %p0, %tid, 0;
@%p0 st.{store} [%x+4], {"%h0" if "16" in store else "1"}; // store
@!%p0 ld.{load} %r0, [%x+4]; // load"""
    found = machine(body, {"x": np.zeros(2, np.uint32)}, block=2)
    for seed in range(3):
        places = (0, 0, 0, "store"), (0, 0, 1, "load")
        check(found.run(seed), "mixed-size race", "x of rank 0+4", *places)


BYTES = """ld.global.u64 %l0, [%xs];
cvt.u64.u32 %l1, %rank;
add.u64 %l0, %l0, %l1;
st.volatile.global.u8 [%l0], 1; // store
"""


def test_bytes_of_a_word(machine: Any) -> None:
    """Stores of its bytes are no conflict; each is one with a load of the word."""
    buffers = {"x": np.zeros(1, np.uint32)}
    apart = machine(BYTES, buffers, ranks=3)
    found = machine(
        f"{BYTES}ld.global.u64 %l0, [%xs];\nld.volatile.global.u32 %r0, [%l0]; // load", buffers, ranks=3
    )  # fmt: skip
    storers: set[int] = set()
    for seed in range(30):
        assert apart.run(seed).findings == ()
        ran = found.run(seed)
        store, load = sorted(ran.finding.places, key=lambda place: place.line)
        places = (store.rank, 0, 0, "store"), (load.rank, 0, 0, "load")
        check(ran, "mixed-size race", f"x of rank 0+{store.rank}", *places)
        assert store.rank != load.rank
        storers.add(store.rank)
    assert storers == {0, 1, 2}


def test_bytes_keep_their_writers(machine: Any) -> None:
    """When strong accesses to a word have been among weak ones to its bytes."""
    body = """setp.eq.u32 %p0, %tid, 0;
setp.eq.u32 %p1, %tid, 32;
setp.eq.u32 %p2, %tid, 64;
@%p0 st.global.u8 [%x], 1;
@%p1 st.global.u8 [%x+1], 1; // store
setp.lt.u32 %p3, %tid, 64;
@%p3 bar.sync 1, 64;
@%p0 ld.volatile.global.u32 %r0, [%x];
@%p0 ld.volatile.global.u8 %r0, [%x];
@%p2 ld.global.u8 %r0, [%x+1]; // load"""
    found = machine(body, {"x": np.zeros(1, np.uint32)}, block=96)
    for seed in range(8):
        places = (0, 0, 32, "store"), (0, 0, 64, "load")
        check(found.run(seed), "data race", "x of rank 0+1", *places)


# Constant loads


@pytest.mark.parametrize(
    "write", ["st.global.u32 [%x], 1; // write", "atom.global.add.u32 %r0, [%x], 1; // write",
              "st.release.gpu.global.u32 [%x], 1; // write"]
)  # fmt: skip
def test_constant_load_of_what_the_kernel_stores(run: Run, write: str) -> None:
    body = f"{write}\nld.global.nc.u32 %r0, [%x]; // read"
    check(
        run(body, {"x": ZERO}), "data race", "x of rank 0+0", (0, 0, 0, "write"), (0, 0, 0, "read")
    )


@pytest.mark.parametrize("write", ["st.global.u32 [%x], 5;", "atom.global.add.u32 %r0, [%x], 5;"])
def test_constant_load_of_what_a_kernel_before_stored(run: Run, write: str) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, replace(launch, kernel="m", after=(0,)))

    bodies = {"k": write, "m": "ld.global.nc.u32 %r0, [%x];\nst.global.u32 [%y], %r0;"}
    assert run(bodies, {"x": ZERO, "y": 4}, steps=steps).array("y")[0] == 5


# Reads of what nobody has written


@pytest.mark.parametrize(
    "load",
    ["ld.global.u32 %r0", "ld.global.nc.u32 %r0", "ld.volatile.global.u32 %r0",
     "atom.global.add.u32 %r0", "ld.u32 %r0"],
)  # fmt: skip
def test_uninitialised(run: Run, load: str) -> None:
    more = ", 1" if load.startswith("atom") else ""
    ran = run(f"st.global.u32 [%x+4], 1;\n{load}, [%x+8]{more}; // A", {"x": 16})
    check(ran, "uninitialised read", "x of rank 0+8", (0, 0, 0, "A"))


def test_uninitialised_half(run: Run) -> None:
    """Of a vector the part that is missing; of an element that was written in part too."""
    ran = run(
        "st.global.u32 [%x+8], 1;\nld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x]; // A", {"x": 16}
    )
    check(ran, "uninitialised read", "x of rank 0+0", (0, 0, 0, "A"))
    ran = run(
        "st.global.u64 [%x], 1;\nld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x]; // A", {"x": 16}
    )
    check(ran, "uninitialised read", "x of rank 0+8", (0, 0, 0, "A"))
    ran = run("st.global.u8 [%x], 1;\nld.global.u32 %r0, [%x]; // A", {"x": 16})
    check(ran, "uninitialised read", "x of rank 0+1", (0, 0, 0, "A"))


def test_uninitialised_shared(machine: Any) -> None:
    """What the block had that was there before is gone."""
    body = """.shared .u32 s[4];
setp.eq.u32 %p0, %block, 1;
@%p0 bra READ;
st.shared.u32 [s+8], 1;
ret;
READ:
{}, [s+8]; // A"""
    for load in ("ld.shared.u32 %r0", "ld.acquire.cta.shared.u32 %r0"):
        found = machine(body.format(load), {"x": 4}, grid=2, sms=1)
        for seed in range(4):
            check(found.run(seed), "uninitialised read", "shared memory+8", (0, 1, 0, "A"))


def test_uninitialised_by_the_host(run: Run) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, Copy(Place(0), Place(1), 7))

    ran = run("st.global.u32 [%x], 1;\nst.global.u16 [%x+4], %h0;", {"x": 7, "y": 8}, steps=steps)
    assert (ran.finding.kind, ran.finding.offset) == ("uninitialised read", 6)
    assert ran.finding.places[0].text == "copy of 7 bytes"


# Out of bounds


@pytest.mark.parametrize(
    ("access", "buffer", "offset"),
    [
        ("ld.global.u32 %r0, [%y+16]", "y of rank 0", 16),
        ("st.global.u32 [%y+16], 1", "y of rank 0", 16),
        ("st.global.u32 [%y+-4], 1", "x of rank 0", 508),
        ("ld.global.v2.u32 {%r0, %r1}, [%y+16]", "y of rank 0", 16),
        ("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x+16]", "x of rank 0", 16),
        ("atom.global.add.u32 %r0, [%y+24], 1", "y of rank 0", 24),
        ("ld.acquire.gpu.global.u32 %r0, [%y+16]", "y of rank 0", 16),
        ("st.relaxed.gpu.global.u32 [%y+16], 1", "y of rank 0", 16),
        ("ld.u32 %r0, [%y+16]", "y of rank 0", 16),
        ("ld.global.nc.u32 %r0, [%y+16]", "y of rank 0", 16),
    ],
)
def test_outside(run: Run, access: str, buffer: str, offset: int) -> None:
    ran = run(f"{access}; // A", {"x": np.zeros(4, np.uint32), "y": np.zeros(4, np.uint32)})
    found = check(ran, "out of bounds", f"{buffer}+{offset}", (0, 0, 0, "A"))
    assert "which has 16" in found.message


@pytest.mark.parametrize(
    "address", [0, 8, 1 << 40, (1 << 64) - 16, 0x7FFF_0000_0000, 0x6FFF_FFFF_FFF0]
)
@pytest.mark.parametrize(
    "access",
    ["ld.global.u32 %r0, [%l0]", "st.u32 [%l0], 1", "atom.add.u32 %r0, [%l0], 1",
     "ld.relaxed.gpu.u32 %r0, [%l0]"],
)  # fmt: skip
def test_wild(run: Run, access: str, address: int) -> None:
    ran = run(f"mov.u64 %l0, {address};\n{access}; // A", {"x": ZERO})
    found = check(ran, "out of bounds", None, (0, 0, 0, "A"))
    assert f"address 0x{address:x}," in found.message


def test_outside_of_a_peer(run: Run) -> None:
    body = (
        "ld.global.u64 %l0, [%xs];\nsetp.eq.u32 %p0, %rank, 1;\n@%p0 st.global.u32 [%l0+4], 1; // A"
    )
    ran = run(body, {"x": ZERO}, ranks=2)
    check(ran, "out of bounds", "x of rank 0+4", (1, 0, 0, "A"))


@pytest.mark.parametrize(("bytes", "last"), [(5, 4), (6, 4), (7, 6), (4, 3)])
def test_the_end_of_odd_buffers(run: Run, bytes: int, last: int) -> None:
    size = bytes - last
    for at, outside in ((last, False), (last + size, True)):
        ran = run(
            f"st.global.u{8 * size} [%x+{at}], {'%h0' if size == 2 else '%r0'}; // A", {"x": bytes}
        )
        assert [one.kind for one in ran.findings] == ["out of bounds"] * outside
    ran = run("st.global.u32 [%x+4], 1; // A", {"x": bytes})
    assert ran.finding.kind == "out of bounds"


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 9])
def test_copies_of_odd_sizes(run: Run, count: int) -> None:
    """What is copied arrives, and is checked to its last byte."""
    x = np.arange(1, 17, dtype=np.uint8)

    def steps(launch: Launch) -> Sequence[Step]:
        return (Copy(Place(0), Place(1), count), launch)

    body = "st.global.u32 [%y+12], 0;"
    found = run(body, {"x": x, "y": 16}, steps=steps).array("y", np.uint8)
    assert found[:count].tolist() == x[:count].tolist()
    ran = run(body, {"x": x[: count - 1], "y": 16}, steps=steps)
    assert (ran.finding.kind, ran.finding.buffer) == ("out of bounds", "x of rank 0")
    read = f"ld.global.u{8 if count % 2 else 16} %h0, [%y+{count}]; // A"
    if count % 4:
        ran = run(read, {"x": x, "y": 16}, steps=steps)
        assert (ran.finding.kind, ran.finding.offset) == ("uninitialised read", count)


@pytest.mark.parametrize(
    ("access", "declared", "dynamic"),
    [
        ("ld.shared.u32 %r0, [s+16]", 16, 0),
        ("st.shared.u32 [%r1+16], 1", 16, 0),
        ("st.shared.u32 [%r1+-4], 1", 16, 0),
        ("st.shared.u16 [d+6], %h0", 0, 6),
        ("st.shared.v2.u32 [d+8], {1, 2}", 0, 12),
        ("atom.shared.add.u32 %r0, [s+4096], 1", 16, 8),
        ("ld.volatile.shared.u32 %r0, [d]", 0, 0),
        ("st.u32 [%l0+16], 1", 16, 0),
    ],
)
def test_outside_of_shared(run: Run, access: str, declared: int, dynamic: int) -> None:
    own = f".shared .align 16 .b8 s[{declared}];\nmov.u32 %r1, s;\n" if declared else ""
    generic = "mov.u64 %l0, s;\ncvta.shared.u64 %l0, %l0;\n" if declared else ""
    module = ".extern .shared .align 16 .b8 d[];\n"
    ran = run(f"{own}{generic}{access}; // A", {"x": 4}, module=module, shared=dynamic, grid=2)
    assert ran.finding.kind == "out of bounds"
    assert {place.line for place in ran.finding.places} == {ran.line("A")}


def test_inside_of_dynamic_shared(run: Run) -> None:
    module = ".extern .shared .align 16 .b8 d[];\n"
    body = "st.shared.u16 [d+6], %h0;\nst.shared.v2.u32 [d+8], {1, 2};"
    assert run(body, {"x": 4}, module=module, shared=16).findings == ()


@pytest.mark.parametrize("access", ["st.local.u32 [a+8], 1", "ld.local.u32 %r0, [a+-4]", "st.u32 [%l0+8], 1",
                                    "st.volatile.u32 [%l0+8], 1"])  # fmt: skip
def test_outside_of_local(run: Run, access: str) -> None:
    body = f".local .align 8 .b8 a[8];\nmov.u64 %l0, a;\ncvta.local.u64 %l0, %l0;\n{access}; // A"
    ran = run(body, {"x": 4}, block=3)
    assert ran.finding.kind == "out of bounds"
    assert {place.line for place in ran.finding.places} == {ran.line("A")}


# Alignment


@pytest.mark.parametrize(
    ("access", "offset"),
    [
        ("ld.global.u32 %r0, [%x+2]", 2),
        ("st.global.u16 [%x+1], %h0", 1),
        ("ld.global.v2.u32 {%r0, %r1}, [%x+4]", 4),
        ("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x+8]", 8),
        ("st.global.v2.u64 [%x+8], {%l0, %l1}", 8),
        ("ld.relaxed.gpu.global.u32 %r0, [%x+2]", 2),
        ("ld.volatile.global.v2.u32 {%r0, %r1}, [%x+4]", 4),
        ("atom.global.add.u64 %l0, [%x+4], 1", 4),
        ("ld.global.nc.u64 %l0, [%x+4]", 4),
        ("ld.u64 %l0, [%x+4]", 4),
    ],
)
def test_misaligned(run: Run, access: str, offset: int) -> None:
    ran = run(f"{access}; // A", {"x": np.zeros(16, np.uint32)})
    check(ran, "misaligned access", f"x of rank 0+{offset}", (0, 0, 0, "A"))


@pytest.mark.parametrize(
    "access",
    ["st.shared.u32 [s+2], 1", "st.local.u64 [a+4], %l0", "ld.volatile.shared.u32 %r0, [s+1]"],
)
def test_misaligned_elsewhere(run: Run, access: str) -> None:
    body = f".shared .align 16 .b8 s[64];\n.local .align 16 .b8 a[64];\n{access}; // A"
    ran = run(body, {"x": 4})
    assert (ran.finding.kind, ran.finding.places[0].line) == ("misaligned access", ran.line("A"))


# What else is invalid


def test_trap(run: Run) -> None:
    ran = run("setp.eq.u32 %p0, %tid, 2;\n@%p0 trap; // A", {"x": 4}, block=4)
    found = check(ran, "invalid", None, (0, 0, 2, "A"))
    assert found.message == "the kernel traps"


def test_cooperative_launch_that_does_not_fit(run: Run) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        return (replace(launch, cooperative=True),)

    assert run("ret;", {"x": 4}, grid=6, sms=6, steps=steps).findings == ()
    ran = run("ret;", {"x": 4}, grid=7, sms=6, steps=steps)
    assert ran.finding.kind == "invalid"
    assert "cooperatively with 7 blocks, but a device has 6" in ran.finding.message


# Hangs

WAIT = """LOOP:
ld.acquire.sys.global.u32 %r0, [%x];
setp.eq.u32 %p1, %r0, 0;
@%p1 bra LOOP;"""


@pytest.mark.parametrize("seed", range(3))
def test_a_flag_that_nobody_sets(run: Run, seed: int) -> None:
    ran = run(WAIT.replace("[%x];", "[%x]; // A"), {"x": ZERO}, block=3, seed=seed)
    assert (ran.finding.kind, len(ran.finding.places)) == ("hang", 1)
    assert ran.finding.places[0].line == ran.line("A")
    assert (
        "and 2 more wait for another value at byte 0 of x of rank 0 than 0x0"
        in ran.finding.notes[0]
    )


def test_a_block_that_is_not_resident(machine: Any) -> None:
    body = (
        f"setp.eq.u32 %p0, %block, 2;\n@%p0 st.release.gpu.global.u32 [%x], 1;\n@%p0 ret;\n{WAIT}"
    )
    few, enough = (machine(body, {"x": ZERO}, grid=3, sms=sms) for sms in (2, 3))
    assert enough.findings(10) == []
    found = few.findings(10)
    assert {one.kind for one in found} == {"hang"}
    assert any(
        "1 blocks of k on rank 0 have not begun: 2 are resident" in " ".join(one.notes)
        for one in found
    )


def test_ranks_that_wait_for_each_other(machine: Any) -> None:
    body = f"{WAIT}\nxor.b32 %r1, %rank, 1;\nmul.wide.u32 %l0, %r1, 8;\nadd.u64 %l0, %xs, %l0;\n"
    body += "ld.global.u64 %l0, [%l0];\nst.release.sys.global.u32 [%l0], 1;"
    for one in machine(body, {"x": ZERO}, ranks=2).findings(3):
        assert (one.kind, {place.rank for place in one.places}) == ("hang", {0, 1})


def test_a_collective_that_one_rank_does_not_call(machine: Any) -> None:
    call = Collective("all_reduce", (0, 1), Place(0), Place(1), 4, "f32", "sum")

    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, *([call] if launch.arguments[-1] == bytes(4) else []))

    buffers = {"x": np.zeros(4, np.float32), "y": 16}
    (found,) = machine("ret;", buffers, ranks=2, steps=steps).findings(1)
    assert (found.kind, found.places[0].rank, found.places[0].step) == ("hang", 0, 1)
    assert found.places[0].text == "all_reduce of 4 f32 among 2 ranks"


def test_collectives_that_differ(machine: Any) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        count = 4 if launch.arguments[-1] == bytes(4) else 2
        return (launch, Collective("all_reduce", (0, 1), Place(0), Place(1), count, "f32", "sum"))

    buffers = {"x": np.zeros(4, np.float32), "y": 16}
    (found,) = machine("ret;", buffers, ranks=2, steps=steps).findings(1)
    assert found.kind == "invalid"
    assert "rank 0: all_reduce of 4 f32 among 2 ranks; rank 1: all_reduce of 2 f32" in found.message
