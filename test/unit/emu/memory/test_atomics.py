"""Read-modify-write operations, in kernels, against what they are to compute; and what makes them a race."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.emu.memory.atomics import apply

Run = Callable[..., Any]
DTYPES: dict[str, Any] = {
    "u32": np.uint32,
    "u64": np.uint64,
    "s32": np.int32,
    "s64": np.int64,
    "b16": np.uint16,
    "b32": np.uint32,
    "b64": np.uint64,
}


def wanted(operation: str, old: int, new: int, other: int, low: int, high: int) -> int:
    """In integers of any size; `low` and `high` are those of the type."""
    match operation:
        case "and":
            return old & new
        case "or":
            return old | new
        case "xor":
            return old ^ new
        case "exch":
            return new
        case "cas":
            return other if old == new else old
        case "add":
            return (old + new - low) % (high - low + 1) + low
        case "min":
            return min(old, new)
        case "max":
            return max(old, new)
        case "inc":
            return 0 if old >= new else old + 1
        case _:
            return new if old == 0 or old > new else old - 1


OPERATIONS = [
    *((name, type) for name in ("and", "or", "xor", "exch", "cas") for type in ("b32", "b64")),
    ("cas", "b16"),
    *(("add", type) for type in ("u32", "s32", "u64")),
    *((name, type) for name in ("min", "max") for type in ("u32", "s32", "u64", "s64")),
    ("inc", "u32"),
    ("dec", "u32"),
]


@pytest.mark.parametrize(("operation", "type"), OPERATIONS)
def test_integers(run: Run, operation: str, type: str) -> None:
    """`atom` gives what was there; `red` does the same without it."""
    dtype = DTYPES[type]
    info, bits = np.iinfo(dtype), int(type[1:])
    edges = [int(info.min), int(info.max), 0, 1, 2, 7, int(info.max) - 1]
    random = np.random.default_rng(len(operation) + bits)
    triples: list[tuple[int, int, int]] = [(a, b, 5) for a in edges for b in edges]
    triples += [(one, one, 9) for one in edges]
    numbers = random.integers(info.min, info.max, (8, 3), dtype, endpoint=True).tolist()
    triples += [(a, b, c) for a, b, c in numbers]
    x = np.array(triples, dtype)
    n = len(triples)
    letter, size = {16: "h", 32: "r", 64: "l"}[bits], bits // 8
    more = f", %{letter}3" if operation == "cas" else ""
    load = "".join(f"ld.global.b{bits} %{letter}{k + 1}, [%l10+{k * size}];\n" for k in range(3))
    body = f"""mul.wide.u32 %l9, %tid, {3 * size};
add.u64 %l10, %x, %l9;
mul.wide.u32 %l9, %tid, {size};
add.u64 %l11, %out, %l9;
{load}
st.global.b{bits} [%l11], %{letter}1;
atom.global.{operation}.{type} %{letter}4, [%l11], %{letter}2{more};
st.global.b{bits} [%l11+{n * size}], %{letter}4;
"""
    if operation not in ("exch", "cas"):
        body += f"""add.u64 %l11, %l11, {2 * n * size};
st.global.b{bits} [%l11], %{letter}1;
red.relaxed.sys.global.{operation}.{type} [%l11], %{letter}2;"""
    found = run(body, {"x": x, "out": 3 * n * size}, block=n).array("out", dtype).reshape(3, n)
    want = [wanted(operation, *one, int(info.min), int(info.max)) for one in triples]
    assert found[0].tolist() == want
    assert found[1].tolist() == x[:, 0].tolist()
    if operation not in ("exch", "cas"):
        assert found[2].tolist() == want


FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize("type", FLOATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sums_of_floats(type: str, data: st.DataObject) -> None:
    """Rounded once: the exact sum of two small ones fits f64; of two f64 it is Python's."""
    dtype = np.dtype(FLOATS[type])
    bits = 8 * dtype.itemsize
    raw = st.integers(0, (1 << bits) - 1)
    a, b = data.draw(raw), data.draw(raw)
    x, y = (float(np.array([one], f"u{dtype.itemsize}").view(dtype)[0]) for one in (a, b))
    found = np.array([apply("add", type, bits, a, b, 0)], f"u{dtype.itemsize}").view(dtype)[0]
    with np.errstate(all="ignore"):
        want = np.array([x + y]).astype(dtype)[0]
    if type in ("f16", "bf16") and abs(x) > 2.0**40 * abs(y) > 0:
        return  # the sum in f64 is rounded too
    assert found == want or (np.isnan(found) and np.isnan(want))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_packed_sums(run: Run, kind: str) -> None:
    x = np.array([1.5, -2.0, 3.25, 100.0], FLOATS[kind])
    body = f"""ld.global.u32 %r0, [%x+4];
atom.global.add.noftz.{kind}x2 %r1, [%x], %r0;
red.global.add.noftz.{kind}x2 [%x], %r0;"""
    found = run(body, {"x": x}).array("x", FLOATS[kind])
    assert found.astype(np.float64).tolist() == [8.0, 198.0, 3.25, 100.0]


@pytest.mark.parametrize("space", ["global", "shared", ""])
def test_all_threads_add(machine: Any, space: str) -> None:
    """Every sum is there once."""
    where = "s" if space == "shared" else "%x"
    at = ".global" if space == "" else f".{space}"
    body = f""".shared .u32 s;
setp.eq.u32 %p0, %tid, 0;
@%p0 st{at}.u32 [{where}], 100;
bar.sync 0;
atom{"." + space if space else ""}.add.u32 %r0, [{where}], 1;
mul.wide.u32 %l0, %tid, 4;
add.u64 %l0, %y, %l0;
st.global.u32 [%l0], %r0;"""
    found = machine(body, {"x": 4, "y": 160}, block=40)
    orders: set[tuple[int, ...]] = set()
    for seed in range(6):
        got = found.run(seed).array("y").tolist()
        orders.add(tuple(got))
        assert sorted(got) == list(range(100, 140))
    assert len(orders) > 2


LOCK = """LOOP:
{acquire}
setp.ne.u32 %p0, %r0, 0;
@%p0 bra LOOP;
{fence}
ld.global.u32 %r1, [%x];
add.u32 %r1, %r1, %tid;
st.global.u32 [%x], %r1;
{release}"""
ACQUIRES = {
    "cas": "atom.acquire.gpu.global.cas.b32 %r0, [%y], 0, 1;",
    "exch": "atom.acquire.gpu.global.exch.b32 %r0, [%y], 1;",
    "relaxed": "atom.relaxed.gpu.global.cas.b32 %r0, [%y], 0, 1;",
}
RELEASE = "st.release.gpu.global.u32 [%y], 0;"


@pytest.mark.parametrize(
    ("acquire", "fence", "release", "works"),
    [
        ("cas", "", RELEASE, True),
        ("exch", "", RELEASE, True),
        ("cas", "", "atom.release.gpu.global.exch.b32 %r0, [%y], 0;", True),
        ("relaxed", "fence.acq_rel.gpu;", "membar.gl;\nst.relaxed.gpu.global.u32 [%y], 0;", True),
        ("relaxed", "", RELEASE, False),
        ("cas", "", "st.relaxed.gpu.global.u32 [%y], 0;", False),
    ],
)
@pytest.mark.parametrize("shape", [{"block": 6}, {"grid": 6}])
def test_locks(
    machine: Any, *, acquire: str, fence: str, release: str, works: bool, shape: Any
) -> None:
    body = LOCK.format(acquire=ACQUIRES[acquire], fence=fence, release=release)
    if "grid" in shape:
        body = body.replace("%tid;", "%block;")
    found = machine(body, {"x": np.zeros(1, np.uint32), "y": np.zeros(1, np.uint32)}, **shape)
    for seed in range(8):
        ran = found.run(seed)
        if works:
            assert ran.array("x")[0] == 15
        else:
            assert ran.finding.kind == "data race"


def test_a_lock_that_is_never_free(machine: Any) -> None:
    body = LOCK.format(acquire=ACQUIRES["cas"], fence="", release="")
    found = machine(body, {"x": np.zeros(1, np.uint32), "y": np.zeros(1, np.uint32)}, block=3)
    assert {one.kind for one in found.findings(5)} == {"hang"}


def test_tickets(machine: Any) -> None:
    """Each thread draws a number and waits for its turn."""
    body = """atom.relaxed.gpu.global.add.u32 %r0, [%y], 1;
WAIT:
ld.acquire.gpu.global.u32 %r1, [%y+4];
setp.ne.u32 %p0, %r1, %r0;
@%p0 bra WAIT;
mul.wide.u32 %l0, %r0, 4;
add.u64 %l0, %x, %l0;
st.global.u32 [%l0], %block;
ld.global.u32 %r2, [%x+32];
add.u32 %r2, %r2, %r0;
st.global.u32 [%x+32], %r2;
red.release.gpu.global.add.u32 [%y+4], 1;"""
    found = machine(body, {"x": np.zeros(9, np.uint32), "y": np.zeros(2, np.uint32)}, grid=8)
    for seed in range(8):
        got = found.run(seed).array("x").tolist()
        assert sorted(got[:8]) == list(range(8))
        assert got[8] == 28
