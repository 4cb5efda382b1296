"""f16, bf16 and pairs of them against exact arithmetic that is rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]
Numbers = Callable[..., tuple[Array, ...]]
Exact = Callable[..., Array]

FORMATS = {"f16": (5, 10), "bf16": (8, 7)}
ALL = np.arange(1 << 16, dtype=np.uint16)
NAN = 0x7FFF


def one_nan(type: str, bits: Array) -> Array:
    """Bits, with the canonical NaN for every NaN."""
    infinity = 0x7C00 if type == "f16" else 0x7F80
    return np.where(bits & np.uint16(NAN) > infinity, np.uint16(NAN), bits)


def flush(type: str, bits: Array) -> Array:
    """Numbers without subnormal ones."""
    small = bits & np.uint16(NAN) < 1 << FORMATS[type][1]
    return np.where(small, bits & np.uint16(0x8000), bits)


def numbers_of(type: str, numbers: Numbers, count: int) -> list[Array]:
    """Edges, random numbers, and triples whose product and addend nearly tie."""
    columns = numbers(16, count, 3001)
    if type == "f16":
        return list(columns)
    generator = np.random.default_rng(count)
    wide = generator.integers(0, 1 << 16, (2001, count), np.uint64).astype(np.uint16)
    return [np.concatenate([columns[k], wide[:, k]]) for k in range(count)]


@pytest.mark.parametrize("type", FORMATS)
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_arithmetic_is_rounded_once(
    type: str, operation: str, evaluate: Evaluate, numbers: Numbers, exact: Exact
) -> None:
    count = 3 if operation == "fma" else 2
    columns = numbers_of(type, numbers, count)
    sources = dict(zip("abc", columns, strict=False))
    got = evaluate(f"{operation}.rn.{type} d, {', '.join(sources)};", d="b16", **sources)
    want = exact(operation, "rn", *FORMATS[type], *columns)
    np.testing.assert_array_equal(got, want)
    if operation != "fma":
        plain = evaluate(f"{operation}.{type} d, a, b;", d="b16", **sources)
        np.testing.assert_array_equal(plain, want)


@pytest.mark.parametrize("type", FORMATS)
def test_fused_products_that_nearly_tie(type: str, evaluate: Evaluate, exact: Exact) -> None:
    """An addend far below half a unit of the product decides; a double would not see it."""
    one = 0x3C00 if type == "f16" else 0x3F80
    mantissa = FORMATS[type][1]
    generator = np.random.default_rng(5)
    a = (one + generator.integers(0, 1 << mantissa, 6001)).astype(np.uint16)
    b = (one + generator.integers(0, 1 << mantissa, 6001)).astype(np.uint16)
    c = generator.integers(0, one // 3, 6001).astype(np.uint16)
    c |= (generator.integers(0, 2, 6001) << 15).astype(np.uint16)
    a[::3] = one + 1
    b[::3] = one + (1 << mantissa - 1)  # (1 + u) x 1.5 ties
    got = evaluate(f"fma.rn.{type} d, a, b, c;", d="b16", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, exact("fma", "rn", *FORMATS[type], a, b, c))
    swapped = evaluate(f"fma.rn.{type} d, a, b, c;", d="b16", a=a, b=c, c=b)
    np.testing.assert_array_equal(swapped, exact("fma", "rn", *FORMATS[type], a, c, b))


@pytest.mark.parametrize("type", FORMATS)
def test_pairs_are_two_numbers(type: str, evaluate: Evaluate, numbers: Numbers) -> None:
    columns = numbers_of(type, numbers, 3)
    pairs = [column.astype(np.uint32) | column[::-1].astype(np.uint32) << 16 for column in columns]
    cases = {
        "add.rn": 2, "sub.rn": 2, "mul.rn": 2, "fma.rn": 3, "fma.rn.relu": 3, "neg": 1, "abs": 1,
        "min": 2, "max.NaN": 2, "max.xorsign.abs": 2, "tanh.approx": 1,
    }  # fmt: skip
    for name, count in cases.items():
        names = ", ".join("abc"[:count])
        single = dict(zip("abc", columns[:count], strict=False))
        double = dict(zip("abc", pairs[:count], strict=False))
        one = evaluate(f"{name}.{type} d, {names};", d="b16", **single).astype(np.uint32)
        two = evaluate(f"{name}.{type}x2 d, {names};", d="b32", **double)
        np.testing.assert_array_equal(two, one | one[::-1] << 16, name)


NEARLY_NORMAL = {
    "mul": (
        (0x0400, 0x3BFF, 0),
        (0x0400, 0xBBFF, 0x8000),
        (0x0408, 0x3BF0, 0x0400),
        (0x8408, 0x3BF0, 0x8400),
    ),
    "fma": (
        (0x0400, 0x8FFF, 0x0400, 0),
        (0x8800, 0x37FF, 0x0000, 0x8000),
        (0x8400, 0x0400, 0x0400, 0x0400),
    ),
}
"""Operands whose exact result is a little below the least normal f16, and the result by .rn.ftz."""


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_f16_flushes_and_saturates(
    operation: str, evaluate: Evaluate, numbers: Numbers, exact: Exact
) -> None:
    count = 3 if operation == "fma" else 2
    near = np.array(NEARLY_NORMAL.get(operation, ((0,) * (count + 1),)), np.uint16)
    columns = [
        np.concatenate([column[::3], near[:, k]])
        for k, column in enumerate(numbers_of("f16", numbers, count))
    ]
    sources = dict(zip("abc", columns, strict=False))
    names = ", ".join(sources)
    got = evaluate(f"{operation}.rn.ftz.f16 d, {names};", d="b16", **sources)
    given = [flush("f16", column) for column in columns]
    want = exact(operation, "rn", 5, 10, *given)
    wide = exact(operation, "rn", 5, 10, *given, wider=3)
    tiny = wide & np.uint64((1 << 18) - 1) < (127 - 14) << 10
    np.testing.assert_array_equal(got, np.where(tiny, want & 0x8000, want))
    np.testing.assert_array_equal(got[-len(near) :], near[:, -1])

    got = evaluate(f"{operation}.rn.sat.f16 d, {names};", d="b16", **sources)
    plain = exact(operation, "rn", 5, 10, *columns).view(np.float16)
    want = np.where(np.isnan(plain), 0, np.clip(plain, 0, 1)).astype(np.float16) + np.float16(0)
    np.testing.assert_array_equal(got, want.view(np.uint16))


@pytest.mark.parametrize("type", FORMATS)
def test_relu_takes_negative_results_to_zero(
    type: str, evaluate: Evaluate, numbers: Numbers, exact: Exact
) -> None:
    columns = [column[::3] for column in numbers_of(type, numbers, 3)]
    sources = dict(zip("abc", columns, strict=True))
    got = evaluate(f"fma.rn.relu.{type} d, a, b, c;", d="b16", **sources)
    want = exact("fma", "rn", *FORMATS[type], *columns)
    np.testing.assert_array_equal(got, np.where(want >> 15 == 1, 0, want))


@pytest.mark.parametrize("type", FORMATS)
def test_signs(type: str, evaluate: Evaluate) -> None:
    """Every NaN becomes the canonical one."""
    got = evaluate(f"neg.{type} d, a;", d="b16", a=ALL)
    np.testing.assert_array_equal(got, one_nan(type, ALL ^ 0x8000))
    got = evaluate(f"abs.{type} d, a;", d="b16", a=ALL)
    np.testing.assert_array_equal(got, one_nan(type, ALL & 0x7FFF))


def test_signs_of_flushed_numbers(evaluate: Evaluate) -> None:
    flushed = flush("f16", ALL)
    got = evaluate("neg.ftz.f16 d, a;", d="b16", a=ALL)
    np.testing.assert_array_equal(got, one_nan("f16", flushed ^ 0x8000))
    got = evaluate("abs.ftz.f16 d, a;", d="b16", a=ALL)
    np.testing.assert_array_equal(got, one_nan("f16", flushed & 0x7FFF))


@pytest.mark.parametrize("type", FORMATS)
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_extremes(type: str, opcode: str, evaluate: Evaluate, numbers: Numbers) -> None:
    """As PTX's description says it, by keys that order numbers as their values do, with -0 below +0."""
    a, b = numbers_of(type, numbers, 2)

    def key(bits: Array) -> Array:
        size = (bits & NAN).astype(np.int32)
        return np.where(bits >> 15 == 1, -1 - size, size)

    def choose(x: Array, y: Array, propagate: bool) -> Array:
        first = key(x) < key(y) if opcode == "min" else key(x) > key(y)
        nans = [one_nan(type, column) == NAN for column in (x, y)]
        result = np.where(first, x, y)
        if propagate:
            return np.where(nans[0] | nans[1], NAN, result)
        return one_nan(type, np.where(nans[0], y, np.where(nans[1], x, result)))

    for nan, propagate in (("", False), (".NaN", True)):
        got = evaluate(f"{opcode}{nan}.{type} d, a, b;", d="b16", a=a, b=b)
        np.testing.assert_array_equal(got, choose(a, b, propagate))
    got = evaluate(f"{opcode}.xorsign.abs.{type} d, a, b;", d="b16", a=a, b=b)
    want = choose(a & NAN, b & NAN, False)
    np.testing.assert_array_equal(got, np.where(want == NAN, NAN, want | ((a ^ b) & 0x8000)))
    if type == "f16":
        got = evaluate(f"{opcode}.ftz.f16 d, a, b;", d="b16", a=a, b=b)
        np.testing.assert_array_equal(got, choose(flush(type, a), flush(type, b), False))


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("fma.f16 d, a, b, c", "does not say how it rounds"),
        ("fma.rn.oob.f16 d, a, b, c", ".oob"),
        ("add.rn.ftz.bf16 d, a, b", ".ftz"),
        ("add.rz.f16 d, a, b", ".rz"),
        ("fma.rn.sat.relu.f16 d, a, b, c", ".relu"),
        ("min.xorsign.f16 d, a, b", "without .abs"),
        ("div.rn.f16 d, a, b", "does not have"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
