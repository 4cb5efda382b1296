"""f32 and f64 against exact arithmetic on fractions, and against NumPy."""

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

FORMATS = {"f32": (32, 8, 23), "f64": (64, 11, 52)}
COUNTS = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "sqrt": 1}
NAN = 0x7FFFFFFF


def one_nan(type: str, bits: Array) -> Array:
    """Bits, with the canonical NaN for every NaN."""
    float_type = {"f32": np.float32, "f64": np.float64}[type]
    canonical = (1 << FORMATS[type][0] - 1) - 1
    return np.where(np.isnan(bits.view(float_type)), bits.dtype.type(canonical), bits)


def flush(bits: Array) -> Array:
    """f32 numbers without subnormal ones."""
    small = bits & np.uint32(0x7FFFFFFF) < 0x00800000
    return np.where(small, bits & np.uint32(0x80000000), bits)


@pytest.mark.parametrize("type", FORMATS)
@pytest.mark.parametrize("operation", COUNTS)
def test_every_rounding_is_exact(
    type: str, operation: str, evaluate: Evaluate, numbers: Numbers, exact: Exact
) -> None:
    bits, exponent, mantissa = FORMATS[type]
    count = COUNTS[operation]
    columns = [column[::4] for column in numbers(bits, count, 4003 if type == "f32" else 1001)]
    names = "abc"[:count]
    sources = dict(zip(names, columns, strict=True))
    for mode in ("rn", "rz", "rm", "rp"):
        instruction = f"{operation}.{mode}.{type} d, {', '.join(names)};"
        got = evaluate(instruction, d=f"b{bits}", **sources)
        want = exact(operation, mode, exponent, mantissa, *columns)
        np.testing.assert_array_equal(one_nan(type, got), want, f"{operation}.{mode}")
        if type == "f32":
            np.testing.assert_array_equal(got, want)


def test_without_a_rounding_it_is_to_nearest(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(32, 2)
    for operation in ("add", "sub", "mul"):
        plain = evaluate(f"{operation}.f32 d, a, b;", d="b32", a=a, b=b)
        nearest = evaluate(f"{operation}.rn.f32 d, a, b;", d="b32", a=a, b=b)
        np.testing.assert_array_equal(plain, nearest)


def test_mad_is_fused(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b, c = numbers(64, 3)
    mad = evaluate("mad.rz.f64 d, a, b, c;", d="b64", a=a, b=b, c=c)
    fma = evaluate("fma.rz.f64 d, a, b, c;", d="b64", a=a, b=b, c=c)
    np.testing.assert_array_equal(mad, fma)


def test_reciprocals(evaluate: Evaluate, numbers: Numbers, exact: Exact) -> None:
    for type, (bits, exponent, mantissa) in FORMATS.items():
        (a,) = numbers(bits, 1, 501)
        one = np.full_like(a, np.array(1, f"f{bits // 8}").view(a.dtype))
        for mode in ("rn", "rp"):
            got = evaluate(f"rcp.{mode}.{type} d, a;", d=f"b{bits}", a=a)
            want = exact("div", mode, exponent, mantissa, one, a)
            np.testing.assert_array_equal(one_nan(type, got), want)


NEARLY_NORMAL = {
    "mul": (
        (0x00800000, 0x3F7FFFFF, 0),
        (0x3EFFFFFF, 0x81000000, 1 << 31),
        (0x00800400, 0x3F7FF800, 0x00800000),
        (0x80800400, 0x3F7FF800, 0x80800000),
    ),
    "div": ((0x00800000, 0x3F800001, 0),),
    "fma": (
        (0xBF7FFFFF, 0x80800000, 0x00000002, 0),
        (0x3F7FFFFF, 0x00800001, 0x81000000, 1 << 31),
        (0x00800000, 0xB3800000, 0x00800000, 0),
        (0x80800000, 0x29800000, 0x00800000, 0x00800000),
    ),
}
"""Operands whose exact result is a little below the least normal number, and the result by .rn.ftz."""


@pytest.mark.parametrize("operation", COUNTS)
def test_ftz_flushes_what_goes_in_and_what_is_tiny_after_rounding(
    operation: str, evaluate: Evaluate, numbers: Numbers, exact: Exact
) -> None:
    count = COUNTS[operation]
    near = np.array(NEARLY_NORMAL.get(operation, ((0,) * (count + 1),)), np.uint32)
    columns = [
        np.concatenate([column[::5], near[:, k]])
        for k, column in enumerate(numbers(32, count, 1001))
    ]
    names = "abc"[:count]
    given = [flush(column) for column in columns]
    least = (1023 - 126) << 23  # of f32, in a format whose exponent has three more bits
    for mode in ("rn", "rz", "rm", "rp"):
        instruction = f"{operation}.{mode}.ftz.f32 d, {', '.join(names)};"
        got = evaluate(instruction, d="b32", **dict(zip(names, columns, strict=True)))
        want = exact(operation, mode, 8, 23, *given)
        wide = exact(operation, mode, 8, 23, *given, wider=3)
        tiny = wide & np.uint64((1 << 34) - 1) < least
        np.testing.assert_array_equal(got, np.where(tiny, want & np.uint32(1 << 31), want), mode)
        if mode == "rn":
            np.testing.assert_array_equal(got[-len(near) :], near[:, -1])


def test_sat_clamps_and_takes_nan_to_zero(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b, c = numbers(32, 3)
    for operation in ("add", "sub", "mul", "fma"):
        sources = {"a": a, "b": b} if operation != "fma" else {"a": a, "b": b, "c": c}
        names = ", ".join(sources)
        plain = evaluate(f"{operation}.rn.f32 d, {names};", d="b32", **sources).view(np.float32)
        got = evaluate(f"{operation}.rn.sat.f32 d, {names};", d="b32", **sources)
        want = np.where(np.isnan(plain), 0, np.clip(plain, 0, 1)) + np.float32(0)
        np.testing.assert_array_equal(got, want.astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_pairs_are_two_numbers(operation: str, evaluate: Evaluate, numbers: Numbers) -> None:
    columns = numbers(32, 3, 501)[: COUNTS[operation]]
    pairs = [x.astype(np.uint64) | x[::-1].astype(np.uint64) << np.uint64(32) for x in columns]
    names = ", ".join("abc"[: len(columns)])
    for mode in ("rn", "rm.ftz"):
        single = dict(zip("abc", columns, strict=False))
        one = evaluate(f"{operation}.{mode}.f32 d, {names};", d="b32", **single).astype(np.uint64)
        double = dict(zip("abc", pairs, strict=False))
        two = evaluate(f"{operation}.{mode}.f32x2 d, {names};", d="b64", **double)
        np.testing.assert_array_equal(two, one | one[::-1] << np.uint64(32), mode)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_halves_in_operations_of_f32(type: str, evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(16, 2, 501)
    c = numbers(32, 1, a.size)[0][: a.size]
    sources = {"a": a, "b": b, "c": c}
    widen = f"cvt.f32.{type} x, a;\ncvt.f32.{type} y, b;\n"
    for name, operands in (("add", "x, c"), ("sub.rz", "x, c"), ("fma.rp.sat", "x, y, c")):
        halves = operands.replace("x", "a").replace("y", "b")
        got = evaluate(f"{name}.f32.{type} d, {halves};", d="b32", **sources)
        body = f".reg .b32 x, y;\n{widen}{name}.f32 d, {operands};"
        np.testing.assert_array_equal(got, evaluate(body, d="b32", **sources), name)


def test_signs(evaluate: Evaluate, numbers: Numbers) -> None:
    """Of f32 `neg` and `abs` give the canonical NaN for every NaN."""

    def canonical(type: str, bits: Array) -> Array:
        return one_nan(type, bits) if type == "f32" else bits

    for type, (bits, _, _) in FORMATS.items():
        a, b = numbers(bits, 2)
        top = a.dtype.type(1 << bits - 1)
        d = f"b{bits}"
        got = evaluate(f"neg.{type} d, a;", d=d, a=a)
        np.testing.assert_array_equal(got, canonical(type, a ^ top))
        got = evaluate(f"abs.{type} d, a;", d=d, a=a)
        np.testing.assert_array_equal(got, canonical(type, a & ~top))
        got = evaluate(f"copysign.{type} d, a, b;", d=d, a=a, b=b)
        np.testing.assert_array_equal(got, (a & top) | (b & ~top))
    (a,) = numbers(32, 1)
    top = np.uint32(1 << 31)
    got = evaluate("neg.ftz.f32 d, a;", d="b32", a=a)
    np.testing.assert_array_equal(got, one_nan("f32", flush(a) ^ top))
    got = evaluate("abs.ftz.f32 d, a;", d="b32", a=a)
    np.testing.assert_array_equal(got, one_nan("f32", flush(a) & ~top))


def extreme(opcode: str, a: float, b: float, propagate: bool) -> float:
    """As PTX's description says it."""
    if np.isnan(a) or np.isnan(b):
        return np.nan if propagate or (np.isnan(a) and np.isnan(b)) else (b if np.isnan(a) else a)
    below = a < b or (a == b and np.signbit(a) > np.signbit(b))
    return a if below == (opcode == "min") else b


@pytest.mark.parametrize("opcode", ["min", "max"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_extremes(opcode: str, evaluate: Evaluate, numbers: Numbers) -> None:
    for type, (bits, _, _) in FORMATS.items():
        a, b = numbers(bits, 2, 501)
        float_type = np.dtype(f"f{bits // 8}")
        x, y = a.view(float_type), b.view(float_type)
        for propagate in (False, True) if type == "f32" else (False,):
            nan = ".NaN" if propagate else ""
            got = evaluate(f"{opcode}{nan}.{type} d, a, b;", d=f"b{bits}", a=a, b=b)
            want = [extreme(opcode, p, q, propagate) for p, q in zip(x, y, strict=True)]
            want_bits = np.array(want, float_type).view(a.dtype)
            np.testing.assert_array_equal(one_nan(type, got), one_nan(type, want_bits))
            if type == "f32":
                np.testing.assert_array_equal(got, one_nan(type, want_bits))


@pytest.mark.parametrize("opcode", ["min", "max"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_extremes_of_magnitudes_and_of_three(
    opcode: str, evaluate: Evaluate, numbers: Numbers
) -> None:
    a, b = numbers(32, 2, 501)
    sizes = [(x & np.uint32(NAN)).view(np.float32) for x in (a, b)]
    got = evaluate(f"{opcode}.xorsign.abs.f32 d, a, b;", d="b32", a=a, b=b)
    want = [extreme(opcode, p, q, False) for p, q in zip(*sizes, strict=True)]
    want_bits = np.array(want, np.float32).view(np.uint32) | ((a ^ b) & np.uint32(1 << 31))
    np.testing.assert_array_equal(got, one_nan("f32", want_bits))

    three = numbers(32, 3, 501)
    x, y, z = (column.view(np.float32) for column in three)
    for nan, propagate in (("", False), (".NaN", True)):
        got = evaluate(
            f"{opcode}{nan}.f32 d, a, b, c;", d="b32", **dict(zip("abc", three, strict=True))
        )
        want = [
            extreme(opcode, extreme(opcode, p, q, propagate), r, propagate)
            for p, q, r in zip(x, y, z, strict=True)
        ]
        bits = np.array(want, np.float32).view(np.uint32)
        np.testing.assert_array_equal(got, one_nan("f32", bits))
    got = evaluate(f"{opcode}.abs.f32 d, a, b, c;", d="b32", **dict(zip("abc", three, strict=True)))
    tops = (column & np.uint32(NAN) for column in three)
    want = evaluate(f"{opcode}.f32 d, a, b, c;", d="b32", **dict(zip("abc", tops, strict=True)))
    np.testing.assert_array_equal(got, want)


def test_classes(evaluate: Evaluate, numbers: Numbers) -> None:
    for type, (bits, _, _) in FORMATS.items():
        (a,) = numbers(bits, 1)
        x = a.view(f"f{bits // 8}")
        small = (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)
        classes = {
            "finite": np.isfinite(x),
            "infinite": np.isinf(x),
            "number": ~np.isnan(x),
            "notanumber": np.isnan(x),
            "normal": np.isfinite(x) & ~small,
            "subnormal": small,
        }
        for name, want in classes.items():
            got = evaluate(f"testp.{name}.{type} p, a;", p="pred", a=a)
            np.testing.assert_array_equal(got, want, name)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("fma.f32 d, a, b, c", "does not say how it rounds"),
        ("sqrt.f32 d, a", "does not say how it rounds"),
        ("min.xorsign.f32 d, a, b", "without .abs"),
        ("min.abs.f32 d, a, b", ".abs"),
        ("min.xorsign.abs.f32 d, a, b, c", "xorsign"),
        ("testp.f32 p, a", "does not say what it tests"),
        ("add.rna.f32 d, a, b", ".rna"),
        ("add.rn.f32 d, a", "has 2 operands"),
        ("add.rn.sat.f32x2 d, a, b", ".sat"),
        ("mul.rn.f32.f16 d, a, b", ".f32"),
        ("fma.f32.bf16 d, a, b, c", "does not say how it rounds"),
        ("neg.e4m3 d, a", "does not have"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
