"""Logic, shifts and instructions on bits against PTX's own descriptions, bit by bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]


def words(n: int, count: int = 400) -> list[int]:
    """Edges and random numbers of all sizes."""
    top = 1 << n - 1
    generator = np.random.default_rng(n)
    random = zip(
        generator.integers(0, (1 << 64) - 1, count, np.uint64),
        generator.integers(0, n, count),
        strict=True,
    )
    edges = [0, 1, 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1, 0xAA, 0x5555]
    return edges + [int(x) >> 64 - n + int(s) for x, s in random]


def array(values: list[int], n: int) -> Array:
    return np.array([value & (1 << n) - 1 for value in values], f"u{n // 8}")


def amounts(count: int) -> list[int]:
    """Shift amounts and places, also far beyond a width."""
    edges = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xFFFFFFFF]
    random = [int(x) for x in np.random.default_rng(count).integers(0, 70, count)]
    return (edges * (count // len(edges) + 1))[: count // 2] + random[: count - count // 2]


@pytest.mark.parametrize("type", ["b16", "b32", "b64"])
def test_logic(type: str, evaluate: Evaluate) -> None:
    n = int(type[1:])
    a = array(words(n), n)
    b = a[::-1].copy()
    for name, want in {"and": a & b, "or": a | b, "xor": a ^ b}.items():
        np.testing.assert_array_equal(evaluate(f"{name}.{type} r, a, b;", r=type, a=a, b=b), want)
    np.testing.assert_array_equal(evaluate(f"not.{type} r, a;", r=type, a=a), ~a)
    np.testing.assert_array_equal(evaluate(f"cnot.{type} r, a;", r=type, a=a), a == 0)


def test_logic_of_predicates(evaluate: Evaluate) -> None:
    p, q = (np.array(x) for x in ([True, True, False, False], [True, False, True, False]))
    for name, want in {"and": p & q, "or": p | q, "xor": p ^ q}.items():
        got = evaluate(f"{name}.pred r, p, q;", r="pred", p=p, q=q)
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(evaluate("not.pred r, p;", r="pred", p=p), ~p)


def test_lop3_is_its_table(evaluate: Evaluate) -> None:
    a = array(words(32), 32)
    b, c = a[::-1].copy(), np.roll(a, 7)
    q = a % 3 == 0
    for table in (0, 1, 0x80, 0xE8, 0x96, 0x1B, 0xCA, 0xFF):
        want = np.zeros_like(a)
        for bit in range(32):
            index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
            want |= (table >> index & 1).astype(np.uint32) << bit
        got = evaluate(f"lop3.b32 r, a, b, c, {table};", r="b32", a=a, b=b, c=c)
        np.testing.assert_array_equal(got, want, hex(table))
        sources = {"a": a, "b": b, "c": c, "q": q}
        got, p = evaluate(f"lop3.or.b32 r|p, a, b, c, {table}, q;", r="b32", p="pred", **sources)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(p, (want != 0) | q)
        p = evaluate(f"lop3.and.b32 _|p, a, b, c, {table}, q;", p="pred", **sources)
        np.testing.assert_array_equal(p, (want != 0) & q)


@pytest.mark.parametrize("n", [16, 32, 64])
def test_shifts(n: int, evaluate: Evaluate) -> None:
    values = words(n)
    by = amounts(len(values))
    a, b = array(values, n), array(by, 32)
    mask = (1 << n) - 1
    signed = [x - (1 << n) if x >> n - 1 else x for x in values]
    cases = {
        f"shl.b{n}": [x << min(s, n) & mask for x, s in zip(values, by, strict=True)],
        f"shr.b{n}": [x >> min(s, n) for x, s in zip(values, by, strict=True)],
        f"shr.u{n}": [x >> min(s, n) for x, s in zip(values, by, strict=True)],
        f"shr.s{n}": [x >> min(s, n) & mask for x, s in zip(signed, by, strict=True)],
    }
    for name, want in cases.items():
        got = evaluate(f"{name} r, a, b;", r=f"b{n}", a=a, b=b)
        np.testing.assert_array_equal(got, array(want, n), name)


def test_funnel_shifts(evaluate: Evaluate) -> None:
    values = words(32)
    by = amounts(len(values))
    a, b, c = array(values, 32), array(values[::-1], 32), array(by, 32)
    both = [x | y << 32 for x, y in zip(values, values[::-1], strict=True)]
    for mode in ("clamp", "wrap"):
        n = [min(s, 32) if mode == "clamp" else s & 31 for s in by]
        left = [x << s >> 32 for x, s in zip(both, n, strict=True)]
        right = [x >> s for x, s in zip(both, n, strict=True)]
        for name, want in {"l": left, "r": right}.items():
            got = evaluate(f"shf.{name}.{mode}.b32 r, a, b, c;", r="b32", a=a, b=b, c=c)
            np.testing.assert_array_equal(got, array(want, 32), f"{name}.{mode}")


@pytest.mark.parametrize("n", [32, 64])
def test_counts(n: int, evaluate: Evaluate) -> None:
    values = words(n)
    a = array(values, n)
    signed = [x ^ (1 << n) - 1 if x >> n - 1 else x for x in values]
    none = 0xFFFFFFFF
    cases = {
        f"popc.b{n}": [x.bit_count() for x in values],
        f"clz.b{n}": [n - x.bit_length() for x in values],
        f"bfind.u{n}": [x.bit_length() - 1 & none for x in values],
        f"bfind.s{n}": [x.bit_length() - 1 & none for x in signed],
        f"bfind.shiftamt.u{n}": [n - x.bit_length() if x else none for x in values],
        f"bfind.shiftamt.s{n}": [n - x.bit_length() if x else none for x in signed],
    }
    for name, want in cases.items():
        got = evaluate(f"{name} r, a;", r="b32", a=a)
        np.testing.assert_array_equal(got, array(want, 32), name)
    got = evaluate(f"brev.b{n} r, a;", r=f"b{n}", a=a)
    np.testing.assert_array_equal(got, array([int(f"{x:0{n}b}"[::-1], 2) for x in values], n))


def fns(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    place, count = base, abs(offset) - 1
    while 0 <= place < 32:
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
        place += 1 if offset > 0 else -1
    return 0xFFFFFFFF


def test_the_nth_set_bit(evaluate: Evaluate) -> None:
    rows = [
        (mask, base, offset)
        for mask in [0xAAAAAAAA, *words(32, 60)]
        for base in (0, 2, 3, 17, 31)
        for offset in (0, 1, -1, 2, -2, 5, -7, 40, -40, -(1 << 31))
    ]
    mask, base, offset = (array([row[k] for row in rows], 32) for k in range(3))
    got = evaluate("fns.b32 r, a, b, c;", r="b32", a=mask, b=base, c=offset)
    np.testing.assert_array_equal(got, array([fns(*row) for row in rows], 32))


def extract(type: str, a: int, b: int, c: int) -> int:
    msb = int(type[1:]) - 1
    place, length = b & 0xFF, c & 0xFF
    sign = 0 if type[0] == "u" or length == 0 else a >> min(place + length - 1, msb) & 1
    result = 0
    for i in range(msb + 1):
        bit = a >> place + i & 1 if i < length and place + i <= msb else sign
        result |= bit << i
    return result


def insert(n: int, a: int, b: int, c: int, d: int) -> int:
    place, length = c & 0xFF, d & 0xFF
    for i in range(length):
        if place + i < n:
            b = b & ~(1 << place + i) | (a >> i & 1) << place + i
    return b


@pytest.mark.parametrize("n", [32, 64])
def test_bit_fields(n: int, evaluate: Evaluate) -> None:
    values = words(n, 300)
    place = amounts(len(values))
    length = [int(x) for x in np.random.default_rng(9).permutation(amounts(len(values)))]
    rows = list(zip(values, values[::-1], place, length, strict=True))
    a, b = array(values, n), array(values[::-1], n)
    c, d = array(place, 32), array(length, 32)
    for type in (f"u{n}", f"s{n}"):
        got = evaluate(f"bfe.{type} r, a, c, d;", r=f"b{n}", a=a, c=c, d=d)
        want = [extract(type, x, s, m) for x, _, s, m in rows]
        np.testing.assert_array_equal(got, array(want, n), type)
    got = evaluate(f"bfi.b{n} r, a, b, c, d;", r=f"b{n}", a=a, b=b, c=c, d=d)
    np.testing.assert_array_equal(got, array([insert(n, *row) for row in rows], n))


def test_extension_from_any_width(evaluate: Evaluate) -> None:
    values = words(32)
    by = amounts(len(values))
    a, b = array(values, 32), array(by, 32)
    for mode, type in itertools.product(("clamp", "wrap"), ("u32", "s32")):
        want: list[int] = []
        for x, s in zip(values, by, strict=True):
            n = min(s, 32) if mode == "clamp" else s & 31
            low = x & (1 << n) - 1
            want.append(low - (1 << n) if type == "s32" and n and low >> n - 1 else low)
        got = evaluate(f"szext.{mode}.{type} r, a, b;", r="b32", a=a, b=b)
        np.testing.assert_array_equal(got, array(want, 32), f"{mode}.{type}")
    assert evaluate("szext.wrap.u32 r, a, 0;", r="b32", a=np.array([0xFFFFFFFF], np.uint32))[0] == 0


def test_masks(evaluate: Evaluate) -> None:
    places = amounts(300)
    widths = [int(x) for x in np.random.default_rng(4).permutation(amounts(300))]
    a, b = array(places, 32), array(widths, 32)
    for mode in ("clamp", "wrap"):
        want: list[int] = []
        for p, n in zip(places, widths, strict=True):
            if mode == "wrap":
                p, n = p & 31, n & 31
            want.append(((1 << min(n, 32)) - 1) << min(p, 32) & 0xFFFFFFFF)
        got = evaluate(f"bmsk.{mode}.b32 r, a, b;", r="b32", a=a, b=b)
        np.testing.assert_array_equal(got, array(want, 32), mode)
    assert evaluate("bmsk.wrap.b32 r, a, 2;", r="b32", a=np.array([1], np.uint32))[0] == 6


def permute(mode: str, a: int, b: int, c: int) -> int:
    source = [(a | b << 32) >> 8 * k & 0xFF for k in range(8)]
    k = c & 3
    chosen = {
        "": [c >> 4 * i & 15 for i in range(4)],
        ".f4e": [k, k + 1, k + 2, k + 3],
        ".b4e": [k, k - 1 & 7, k - 2 & 7, k - 3 & 7],
        ".rc8": [k] * 4,
        ".ecl": [max(i, k) for i in range(4)],
        ".ecr": [min(i, k) for i in range(4)],
        ".rc16": [2 * (k & 1), 2 * (k & 1) + 1] * 2,
    }[mode]
    parts = [0xFF * (source[i & 7] >> 7) if i & 8 else source[i] for i in chosen]
    return sum(part << 8 * i for i, part in enumerate(parts))


def test_permutations_of_bytes(evaluate: Evaluate) -> None:
    values = words(32)
    choices = [int(x) for x in np.random.default_rng(6).integers(0, 1 << 32, len(values))]
    rows = list(zip(values, values[::-1], choices, strict=True))
    a, b, c = (array([row[k] for row in rows], 32) for k in range(3))
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        got = evaluate(f"prmt.b32{mode} r, a, b, c;", r="b32", a=a, b=b, c=c)
        np.testing.assert_array_equal(got, array([permute(mode, *row) for row in rows], 32), mode)


def test_moves(evaluate: Evaluate) -> None:
    a, b, c, d = (array(words(16)[k:] + words(16)[:k], 16) for k in range(4))
    whole = evaluate("mov.b64 r, {a, b, c, d};", r="b64", a=a, b=b, c=c, d=d)
    parts = [x.astype(np.uint64) << np.uint64(16 * k) for k, x in enumerate((a, b, c, d))]
    np.testing.assert_array_equal(whole, parts[0] | parts[1] | parts[2] | parts[3])
    got = evaluate("mov.b64 {p, q, r, s}, a;", p="b16", q="b16", r="b16", s="b16", a=whole)
    for part, want in zip(got, (a, b, c, d), strict=True):
        np.testing.assert_array_equal(part, want)
    high = evaluate("mov.b64 {_, r}, a;", r="b32", a=whole)
    np.testing.assert_array_equal(high, whole >> np.uint64(32))
    pair = evaluate(
        ".reg .b128 t;\nmov.b128 t, {a, b};\nmov.b128 {_, r}, t;", r="b64", a=whole, b=~whole
    )
    np.testing.assert_array_equal(pair, ~whole)
    same = evaluate("mov.u32 r, a;", r="b32", a=high)
    np.testing.assert_array_equal(same, high)
    one = evaluate("mov.f32 r, 0f3F800000;\nmov.b32 s, a;", r="b32", s="b32", a=high)[0]
    np.testing.assert_array_equal(one, np.full_like(high, 0x3F800000))


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("lop3.b32 d, a, b, c, a", "no table of 8 bits"),
        ("lop3.b32 d, a, b, c, 256", "no table of 8 bits"),
        ("lop3.or.b32 d, a, b, c, 1, p", "two results"),
        ("shf.l.b32 d, a, b, c", ".clamp or .wrap"),
        ("shf.clamp.b32 d, a, b, c", ".l or .r"),
        ("szext.s32 d, a, b", ".clamp or .wrap"),
        ("prmt.b64 d, a, b, c", "not .b32"),
        ("shl.s32 d, a, b", "does not have"),
        ("mov.u32 d, {a, b}", "has a vector of 2 for .u32"),
        ("mov.b32 {a, b, c}, d", "has a vector of 3 for .b32"),
        ("clz.b16 d, a", "does not have"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
