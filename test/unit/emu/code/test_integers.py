"""Integer arithmetic against Python's integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]
Function = Callable[[int], int] | Callable[[int, int], int] | Callable[[int, int, int], int]

TYPES = [f"{kind}{bits}" for kind in "su" for bits in (16, 32, 64)]


def signed(bits: int, n: int) -> int:
    return bits - (1 << n) if bits >> n - 1 & 1 else bits


def read(bits: int, type: str) -> int:
    """The number of a type that bits are."""
    return signed(bits, int(type[1:])) if type[0] == "s" else bits


def limits(type: str) -> tuple[int, int]:
    n = int(type[1:])
    return (-(1 << n - 1), (1 << n - 1) - 1) if type[0] == "s" else (0, (1 << n) - 1)


def rows(n: int, count: int) -> list[tuple[int, ...]]:
    """Bits: all combinations of edges, and random ones of all sizes."""
    top = 1 << n - 1
    edges = [
        0,
        1,
        2,
        3,
        7,
        top - 1,
        top,
        top + 1,
        2 * top - 2,
        2 * top - 1,
        (1 << n // 2) + 1,
        0xFF,
    ]
    if count > 2:
        edges = [*edges[::2], 1, top]
    generator = np.random.default_rng(n * count)
    random = [
        tuple(int(x) >> 64 - n + int(s) for x, s in zip(bits, shifts, strict=True))
        for bits, shifts in zip(
            generator.integers(0, (1 << 64) - 1, (700, count), np.uint64),
            generator.integers(0, n, (700, count)),
            strict=True,
        )
    ]
    return [*itertools.product(edges, repeat=count), *random]


def columns(table: list[tuple[int, ...]], sizes: list[int]) -> dict[str, Array]:
    return {
        "abcd"[k]: np.array([row[k] & (1 << n) - 1 for row in table], f"u{n // 8}")
        for k, n in enumerate(sizes)
    }


class Check(Protocol):
    def __call__(
        self, name: str, type: str, count: int, function: Function, wide: int = 0
    ) -> None: ...


@pytest.fixture(scope="session")
def check(evaluate: Evaluate) -> Check:
    """Compare an instruction on all rows with a function on numbers."""

    def run(name: str, type: str, count: int, function: Function, wide: int = 0) -> None:
        n = int(type[1:])
        table = rows(n, count)
        sources = columns(table, [n, n, wide or n][:count])
        size = wide or n
        operands = ", ".join(sources)
        got = evaluate(f"{name}.{type} r, {operands};", r=f"b{size}", **sources)
        want = [
            cast(Any, function)(*(read(int(x), f"{type[0]}{x.dtype.itemsize * 8}") for x in row))
            for row in zip(*sources.values(), strict=True)
        ]
        bits = np.array([value & (1 << size) - 1 for value in want], f"u{size // 8}")
        np.testing.assert_array_equal(got, bits, name)

    return run


def clamp(value: int, type: str) -> int:
    return min(max(value, limits(type)[0]), limits(type)[1])


def quotient(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return -1 if b == 0 else a - b * quotient(a, b)


@pytest.mark.parametrize("type", TYPES)
def test_arithmetic(type: str, check: Check) -> None:
    n = int(type[1:])
    check("add", type, 2, lambda a, b: a + b)
    check("sub", type, 2, lambda a, b: a - b)
    check("mul.lo", type, 2, lambda a, b: a * b)
    check("mul.hi", type, 2, lambda a, b: a * b >> n)
    check("mad.lo", type, 3, lambda a, b, c: a * b + c)
    check("mad.hi", type, 3, lambda a, b, c: (a * b >> n) + c)
    check("div", type, 2, quotient)
    check("rem", type, 2, remainder)
    check("min", type, 2, min)
    check("max", type, 2, max)
    check("sad", type, 3, lambda a, b, c: abs(a - b) + c)
    if n < 64:
        check("mul.wide", type, 2, lambda a, b: a * b, wide=2 * n)
        check("mad.wide", type, 3, lambda a, b, c: a * b + c, wide=2 * n)
    if type[0] == "s":
        check("neg", type, 1, lambda a: -a)
        check("abs", type, 1, abs)


def test_saturation_and_relu(check: Check) -> None:
    check("add.sat", "s32", 2, lambda a, b: clamp(a + b, "s32"))
    check("sub.sat", "s32", 2, lambda a, b: clamp(a - b, "s32"))
    check("mad.hi.sat", "s32", 3, lambda a, b, c: clamp((a * b >> 32) + c, "s32"))
    check("min.relu", "s32", 2, lambda a, b: max(min(a, b), 0))
    check("max.relu", "s32", 2, lambda a, b: max(a, b, 0))


@pytest.mark.parametrize("type", ["s32", "u32"])
def test_24_bits(type: str, check: Check) -> None:
    def product(a: int, b: int) -> int:
        low = [x & 0xFFFFFF for x in (a, b)]
        x, y = (signed(v, 24) for v in low) if type == "s32" else low
        return x * y

    def high(a: int, b: int) -> int:
        return signed(product(a, b) >> 16 & 0xFFFFFFFF, 32)

    check("mul24.lo", type, 2, product)
    check("mul24.hi", type, 2, high)
    check("mad24.lo", type, 3, lambda a, b, c: product(a, b) + c)
    check("mad24.hi", type, 3, lambda a, b, c: high(a, b) + c)
    if type == "s32":
        check("mad24.hi.sat", type, 3, lambda a, b, c: clamp(high(a, b) + c, type))


@pytest.mark.parametrize("n", [32, 64])
def test_carries_reach_the_next_word(n: int, evaluate: Evaluate) -> None:
    table = [tuple(row) + tuple(row[::-1]) for row in rows(n, 2)]
    sources = columns(table, [n, n, n, n])
    b = f"b{n}"
    whole = [(a | c << n, x | d << n) for a, x, c, d in table]
    for what, sign in (("add", 1), ("sub", -1)):
        body = f"""{what}.cc.u{n} lo, a, b;
                   {what}c.cc.u{n} hi, c, d;
                   {what}c.u{n} top, 0, 0;"""
        lo, hi, top = evaluate(body, lo=b, hi=b, top=b, **sources)
        want = [x + sign * y for x, y in whole]
        for k, part in enumerate((lo, hi, top)):
            bits = np.array([w >> k * n & (1 << n) - 1 for w in want], part.dtype)
            np.testing.assert_array_equal(part, bits, what)


@pytest.mark.parametrize("n", [32, 64])
def test_products_with_carries(n: int, evaluate: Evaluate) -> None:
    """a x b + (d:c), as a 128-bit or 64-bit sum with a carry out."""
    table = [tuple(row) + tuple(row[::-1]) for row in rows(n, 2)]
    sources = columns(table, [n, n, n, n])
    b = f"b{n}"
    body = f"""mad.lo.cc.u{n} lo, a, b, c;
               madc.hi.cc.u{n} hi, a, b, d;
               addc.u{n} top, 0, 0;"""
    lo, hi, top = evaluate(body, lo=b, hi=b, top=b, **sources)
    want = [x * y + (c | d << n) for x, y, c, d in table]
    for k, part in enumerate((lo, hi, top)):
        bits = np.array([w >> k * n & (1 << n) - 1 for w in want], part.dtype)
        np.testing.assert_array_equal(part, bits)


@pytest.mark.parametrize("n", [32, 64])
def test_a_borrow_is_a_carry_of_one(n: int, evaluate: Evaluate) -> None:
    """PTX says that CC.CF is the borrow, so that `addc` adds it and `subc` takes a carry away."""
    table = [tuple(row) + tuple(row[::-1]) for row in rows(n, 2)]
    sources = columns(table, [n, n, n, n])
    b = f"b{n}"
    borrows = [int(x < y) for x, y, _, _ in table]
    carries = [x + y >> n for x, y, _, _ in table]
    for first, second, flags, sign in (("sub", "addc", borrows, 1), ("add", "subc", carries, -1)):
        body = f"{first}.cc.u{n} lo, a, b;\n{second}.u{n} hi, c, d;"
        _, hi = evaluate(body, lo=b, hi=b, **sources)
        want = [
            z + sign * (w + flag) & (1 << n) - 1
            for (_, _, z, w), flag in zip(table, flags, strict=True)
        ]
        np.testing.assert_array_equal(hi, np.array(want, hi.dtype), first)


def test_without_cc_the_carry_stays(evaluate: Evaluate) -> None:
    body = """add.cc.u32 r, a, a;
              addc.u32 r, a, a;
              mad.hi.u32 s, a, a, a;
              addc.u32 s, 0, 0;"""
    a = np.array([0x80000000, 1], np.uint32)
    _, carry = evaluate(body, r="b32", s="b32", a=a)
    np.testing.assert_array_equal(carry, [1, 0])


@pytest.mark.parametrize("type", ["s16x2", "u16x2"])
def test_pairs(type: str, evaluate: Evaluate) -> None:
    table = rows(16, 2)
    a, b = (np.array([row[k] for row in table], np.uint16) for k in range(2))
    pairs = [x.astype(np.uint32) | x[::-1].astype(np.uint32) << 16 for x in (a, b)]
    x, y = (column.view(np.int16) if type == "s16x2" else column for column in (a, b))
    zero = np.int16(0)
    cases: dict[str, Array] = {"add": x + y, "min": np.minimum(x, y), "max": np.maximum(x, y)}
    if type == "s16x2":
        cases["min.relu"] = np.maximum(np.minimum(x, y), zero)
        cases["max.relu"] = np.maximum(np.maximum(x, y), zero)
    for name, one in cases.items():
        got = evaluate(f"{name}.{type} r, a, b;", r="b32", a=pairs[0], b=pairs[1])
        bits = one.view(np.uint16).astype(np.uint32)
        np.testing.assert_array_equal(got, bits | bits[::-1] << 16, name)


def test_dot_products(evaluate: Evaluate) -> None:
    table = rows(32, 3)
    sources = columns(table, [32, 32, 32])

    def parts(bits: int, size: int, type: str) -> list[int]:
        count = 32 // size
        fields = [bits >> size * k & (1 << size) - 1 for k in range(count)]
        return [signed(x, size) if type == "s32" else x for x in fields]

    for s, t in itertools.product(("u32", "s32"), repeat=2):
        for name, size, first in (("dp4a", 8, 0), ("dp2a.lo", 16, 0), ("dp2a.hi", 16, 2)):
            got = evaluate(f"{name}.{s}.{t} r, a, b, c;", r="b32", **sources)
            want = [
                c
                + sum(
                    x * y for x, y in zip(parts(a, size, s), parts(b, 8, t)[first:], strict=False)
                )
                for a, b, c in table
            ]
            bits = np.array([w & 0xFFFFFFFF for w in want], np.uint32)
            np.testing.assert_array_equal(got, bits, f"{name}.{s}.{t}")


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("mul.s32 d, a, b", "which part of the product"),
        ("mul.wide.u64 d, a, b", "which part of the product"),
        ("add.sat.u32 d, a, b", ".sat"),
        ("add.cc.u16 d, a, b", ".cc"),
        ("mad.wide.cc.u32 d, a, b, c", ".cc with .wide"),
        ("mul24.s32 d, a, b", ".lo or .hi"),
        ("neg.u32 d, a", "does not have"),
        ("dp4a.u32.b32 d, a, b, c", "not .u32 or .s32"),
        ("dp2a.u32.u32 d, a, b, c", ".lo or .hi"),
        ("div.s32 d, a", "has 2 operands"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
