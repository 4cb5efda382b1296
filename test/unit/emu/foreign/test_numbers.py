"""Numbers by nvcc: f64 and i64, functions of libdevice, conversions, pairs of f16 and bf16."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

Array = np.ndarray[Any, Any]
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 0.5, 2.5, -3.5, 1e-310)


def rounded(value: Fraction, dtype: Any) -> float:
    """The nearest number of a type, of two the one whose last bit is 0."""
    near = np.asarray(float(value), dtype)
    if not np.isfinite(near.astype(np.float64)) or not near:
        return float(near)
    words = np.dtype(f"u{near.itemsize}")
    middle = int(near.view(words))
    bits = [one for one in (middle - 1, middle, middle + 1)]
    around = [float(np.asarray(one, words).view(dtype)) for one in bits]

    def distance(which: int) -> tuple[Fraction, int]:
        return abs(Fraction(around[which]) - value), bits[which] & 1

    finite = [which for which in range(3) if math.isfinite(around[which])]
    return around[min(finite, key=distance)]


def fused(x: Array, y: Array, z: Array) -> Array:
    """x y + z, rounded once."""

    def one(a: float, b: float, c: float) -> float:
        if not all(map(math.isfinite, (a, b, c))):
            return a * b + c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        return rounded(exact, x.dtype) if exact else a * b + c

    with np.errstate(all="ignore"):
        wide = (one.astype(np.float64).tolist() for one in (x, y, z))
        return np.array([one(*three) for three in zip(*wide, strict=True)]).astype(x.dtype)


def each(function: Callable[[float], float], values: Array) -> Array:
    """A function of `math`, NaN where it has no value."""

    def one(value: float) -> float:
        return function(value) if math.isfinite(value) else math.nan

    return np.array([one(value) for value in values.astype(np.float64).tolist()])


def functions(x: Array, y: Array, scale: float) -> list[tuple[Array, float]]:
    """What `doubles` and `singles` compute, from values in f64, each with how many steps it may be off.

    The steps are the largest errors that the CUDA programming guide states; 0 for what is rounded once.
    """
    a, b, positive = x.astype(np.float64), y.astype(np.float64), np.abs(x.astype(np.float64))
    large = (x * x.dtype.type(scale)).astype(np.float64)
    return [
        ((x / y), 0),
        (np.sqrt(np.abs(x)), 0),
        (1 / np.sqrt(positive), 2),
        (each(math.sin, a), 2),
        (np.exp(b), 2),
        (np.log(positive), 1),
        (fused(x, y, np.ones_like(x)), 0),
        (np.power(positive, b), 4),
        (np.floor(x), 0),
        (np.fmin(x, y), 0),
        (np.copysign(x, y), 0),
        (np.tanh(b), 2),
        (each(math.cos, large), 2),
        (np.rint(x), 0),
    ]


@pytest.mark.parametrize(
    ("kernel", "dtype", "scale"), [("doubles", "f8", 1e9), ("singles", "f4", 1e6)]
)
def test_functions(
    nvcc: Any, call: Any, random: np.random.Generator, kernel: str, dtype: str, scale: float
) -> None:
    """Of random and of special numbers. A step more for the reference, where it is in f64 too."""
    machine, n = nvcc("numbers"), 150
    x = random.standard_normal(n) * 2.0 ** random.integers(-10, 10, n)
    y = random.standard_normal(n) * 2.0 ** random.integers(-6, 5, n)
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).T
    x, y = np.concatenate([(x, y), pairs], axis=1).astype(dtype)
    out = machine.empty((14, x.size), dtype)
    machine.run([call(kernel, 3, 128, (x.size, x, y, out))])
    with np.errstate(all="ignore"):
        wanted = functions(x, y, scale)
    info = np.finfo(dtype)
    for row, (want, steps) in enumerate(wanted):
        more = steps + 1 if steps and dtype == "f8" else steps + 0.5 if steps else 0
        with np.errstate(over="ignore"):
            near = want.astype(dtype)
        want = np.where(np.isfinite(near), want, near) if steps else near
        np.testing.assert_allclose(
            out[row].astype(np.float64),
            want,
            rtol=more * float(info.eps),
            atol=more * float(info.smallest_subnormal),
            err_msg=f"row {row}",
        )


def test_integers_of_64_bits(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    machine, n = nvcc("numbers"), 120
    a = random.integers(-(2**63), 2**63, n) >> random.integers(0, 60, n)
    b = random.integers(-(2**63), 2**63, n) >> random.integers(0, 60, n)
    b[b == 0] = 1
    a[:3], b[:3] = (-(2**63), 2**63 - 1, 0), (3, -1, -(2**63))
    out = machine.empty((12, n), np.int64)
    machine.run([call("longs", 2, 64, (n, a, b, out))])
    for column, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        u, v = x % 2**64, y % 2**64
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        want = [
            *(quotient, x - quotient * y, u // v, u % v, x * y >> 64, u * v >> 64, x * y),
            *(
                64 - u.bit_length(),
                int(f"{u:064b}"[::-1], 2),
                min(x, y),
                x >> (y & 63),
                u >> (y & 63),
            ),
        ]
        assert [int(one) % 2**64 for one in out[:, column]] == [one % 2**64 for one in want]


def saturated(values: Array, bits: int, signed: bool, nan: int) -> list[int]:
    """As integers, the nearest where there is none."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)

    def one(value: float) -> int:
        if math.isnan(value):
            return nan
        return int(min(max(value, low), high)) if math.isfinite(value) else (low, high)[value > 0]

    return [one(value) for value in values.astype(np.float64).tolist()]


def towards_zero(values: Array, dtype: Any) -> Array:
    """The bits of floats of 16 bits, no number further from 0 than it was; infinity stays."""
    with np.errstate(over="ignore"):
        near = values.astype(dtype)
    bits = near.view(np.uint16)
    away = np.abs(near.astype(np.float64)) > np.abs(values.astype(np.float64))
    return np.where(away, bits - 1, bits)


def test_conversions(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """From f32, large, small and special, and from all f8."""
    machine, n = nvcc("numbers"), 600
    x = (random.standard_normal(n) * 2.0 ** random.integers(-30, 40, n)).astype(np.float32)
    x[: len(SPECIAL)] = SPECIAL
    x[20:30] = 65504, 65519, 65520, 448, 464, 465, 57344, 61440, 2**31, 3.4e38
    x[30:40] = 1.5, -2.5, 2.0**-25, 2.0**-24 * 1.5, 2.0**-17, 2.0**-10 * 1.5, 0.5, 255, -129, 2**32
    out = machine.empty((20, n), np.int32)
    machine.run([call("conversions", 5, 128, (n, x, out))], seeds=1)
    truncated = np.array(saturated(np.trunc(x), 32, True, 0))
    f8 = (np.arange(n) % 256).astype(np.uint8)
    with np.errstate(all="ignore"):
        words = np.arange(n, dtype=np.uint64) * 0x9E3779B9 % 2**32
        single = words.astype(np.float32)
        single = np.where(single > words, np.nextafter(single, np.float32(0)), single)
        want = [
            truncated,
            np.array(saturated(np.trunc(x), 32, False, 0)),
            np.array(saturated(np.rint(x), 32, True, 0)),
            np.array(saturated(np.floor(x), 32, True, 0)),
            np.array(saturated(np.ceil(x), 32, True, 0)),
            truncated.astype(np.int8),
            np.array(saturated(np.trunc(x * np.float32(8)), 64, True, -(2**63))),
            x.astype(np.float16).view(np.uint16),
            towards_zero(x, np.float16),
            x.astype(ml_dtypes.bfloat16).view(np.uint16),
            towards_zero(x, ml_dtypes.bfloat16),
            np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8),
            np.clip(x, -57344, 57344).astype(ml_dtypes.float8_e5m2).view(np.uint8),
            (x * np.float32(2)).view(np.int32),
            truncated.astype(np.float32).view(np.int32),
            single.view(np.int32),
            np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(np.float32).view(np.int32),
            truncated.astype(np.int16).astype(np.float16).view(np.uint16),
            f8.view(ml_dtypes.float8_e4m3fn).astype(np.float16).view(np.uint16),
            f8.view(ml_dtypes.float8_e5m2).astype(np.float16).view(np.uint16),
        ]
    undefined, nans = np.isnan(x), range(7, 14)
    for row, one in enumerate(want):
        found, wanted = out[row], np.asarray(one).astype(np.int64).astype(np.int32)
        if row in nans:
            found, wanted = found[~undefined], wanted[~undefined]
        if row >= 18:
            number = ~np.isnan(np.asarray(one).view(np.float16))
            found, wanted = found[number], wanted[number]
        if row == 16:
            found, wanted = found & 0x7FFFFFFF, wanted & 0x7FFFFFFF  # the sign of 0
        np.testing.assert_array_equal(found, wanted, f"row {row}")
    # PTX's NaN: all bits but the sign, of f8 too.
    canonical = out[:, undefined][nans, 0]
    assert canonical.tolist() == [*[0x7FFF] * 4, 0x7F, 0x7F, 0x7FFFFFFF]


def binary(operation: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """An operation in f64, rounded to the operands' type; f64 holds sums and products of the tests exactly enough."""
    return operation(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)


def same(found: Array, want: Array, row: str) -> None:
    """Equal numbers."""
    np.testing.assert_array_equal(found.astype(np.float64), want.astype(np.float64), row)


def test_pairs(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """Of f16 and bf16, with numbers below the normal ones and NaN."""
    machine, n = nvcc("numbers"), 90
    scale = 2.0 ** random.integers(-14, 4, (2, 2 * n))
    x, y = (random.standard_normal((2, 2 * n)) * scale).astype(np.float16)
    x[:4], y[1:6] = (math.nan, 0, -0.0, 65504), (math.nan, 1, 65504, -math.inf, 2.0**-24)
    u, v = x.astype(ml_dtypes.bfloat16), y.astype(ml_dtypes.bfloat16)
    out, more = machine.empty((11, 2 * n), x.dtype), machine.empty((7, 2 * n), u.dtype)
    machine.run([call("packed", 2, 64, (n, x, y, out, u, v, more))])
    with np.errstate(all="ignore"):
        relu = fused(x, y, y)
        want = [
            binary(np.add, x, y),
            binary(np.subtract, x, y),
            binary(np.multiply, x, y),
            fused(x, y, x),
            np.fmin(x, y),
            np.maximum(x, y),
            np.abs(x),
            -x,
            np.where(np.isnan(relu) | (relu > 0), relu, 0),
            x.reshape(-1, 2)[:, ::-1].reshape(-1),
            (x < y).astype(np.float16),
        ]
        other = [
            binary(np.add, u, v),
            binary(np.subtract, u, v),
            binary(np.multiply, u, v),
            fused(u, v, u),
            binary(np.fmin, u, v),
            binary(np.fmax, u, v),
            binary(lambda a, b: np.abs(a), u, v),
        ]
    for row, one in enumerate(want):
        same(out[row], np.asarray(one), f"row {row} of f16")
    for row, one in enumerate(other):
        same(more[row], np.asarray(one), f"row {row} of bf16")


def test_approximations(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """As near as the PTX ISA says: by relative error, then by absolute one."""
    machine, n = nvcc("numbers"), 200
    x = random.uniform(-3, 3, n).astype(np.float32)
    x[:2] = 1, -1
    half = random.uniform(-3, 3, 2 * n)
    f16, bf16 = half.astype(np.float16), half.astype(ml_dtypes.bfloat16)
    out = machine.empty((11, n), np.float32)
    results = [machine.empty((4, 2 * n), np.float16) for _ in range(2)]
    machine.run(
        [
            call("approximations", 2, 128, (n, x, pairs, out, more))
            for pairs, more in zip(
                (f16.view(np.uint32), bf16.view(np.uint32)), results, strict=True
            )
        ]
    )
    a = x.astype(np.float64)
    size = np.abs(a)
    wanted = [
        (np.exp2(a), 2**-22, 0),
        (np.log2(size), 2**-22, 2**-22),
        (1 / np.sqrt(size), 2**-22.9, 0),
        (1 / a, 2**-23, 0),
        (np.sqrt(size), 2**-23, 0),
        (np.tanh(a), 2**-10.98, 0),
        (np.sin(a), 0, 2**-20.5),
        (np.cos(a), 0, 2**-20.5),
        (a / np.float32(0.7), 2**-22, 0),
        (np.exp(a), 2**-20, 0),
        (np.log(size), 2**-21, 2**-21.41),
    ]
    for row, (want, relative, absolute) in enumerate(wanted):
        np.testing.assert_allclose(out[row], want, rtol=relative, atol=absolute, err_msg=f"{row}")
    of_f16 = results[0][:2].astype(np.float64)
    of_bf16 = results[1][2:].view(ml_dtypes.bfloat16).astype(np.float64)
    for found, given, exact, relative in (
        (of_f16[0], f16, np.exp2, 2**-9.9),
        (of_f16[1], f16, np.tanh, 2**-10.98),
        (of_bf16[0], bf16, np.exp2, 2**-7),
        (of_bf16[1], bf16, np.tanh, 2**-8),
    ):
        np.testing.assert_allclose(found, exact(given.astype(np.float64)), rtol=relative)
