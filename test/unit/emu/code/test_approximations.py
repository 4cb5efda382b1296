"""Approximations: the values at special inputs that PTX states, and elsewhere the nearest to the exact function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.code.approximations import APPROXIMATIONS

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]
Numbers = Callable[..., tuple[Array, ...]]

pytestmark = pytest.mark.filterwarnings(
    "ignore:invalid value", "ignore:overflow", "ignore:divide by zero"
)

INF, NAN = math.inf, math.nan
SPECIAL: dict[str, tuple[tuple[float, float], ...]] = {
    "rcp": ((-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
    "sqrt": ((-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)),
    "rsqrt": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
    "sin": ((-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN)),
    "cos": ((-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)),
    "lg2": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, -INF), (INF, INF), (NAN, NAN)),
    "ex2": ((-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN)),
    "tanh": ((-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (1e-40, 1e-40)),
}
EXACT: dict[str, Callable[[Any], Any]] = {
    "rcp": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin,
    "cos": np.cos, "lg2": np.log2, "ex2": np.exp2, "tanh": np.tanh,
}  # fmt: skip
HALVES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def distance(type: Any, a: Array, b: Array) -> Array:
    """How many numbers of a float type lie between two; none between two NaNs."""
    n = np.dtype(type).itemsize
    sizes = [x.view(f"i{n}").astype(np.int64) & (1 << 8 * n - 1) - 1 for x in (a, b)]
    keys = [np.where(np.signbit(x), -s, s) for x, s in zip((a, b), sizes, strict=True)]
    return np.where(np.isnan(a) & np.isnan(b), 0, np.abs(keys[0] - keys[1]))


def flush(x: Array) -> Array:
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_inputs(name: str, evaluate: Evaluate) -> None:
    a, want = (np.array([pair[k] for pair in SPECIAL[name]], np.float32) for k in range(2))
    got = evaluate(f"{name}.approx.f32 d, a;", d="b32", a=a.view(np.uint32))
    bits = np.where(np.isnan(want), 0x7FFFFFFF, want.view(np.uint32))
    np.testing.assert_array_equal(got, bits)


@pytest.mark.parametrize("name", SPECIAL)
def test_f32_is_the_nearest_number(name: str, evaluate: Evaluate, numbers: Numbers) -> None:
    """NumPy's functions of double may differ in the last bit, so that a tie may fall the other way."""
    (a,) = numbers(32, 1, 20001)
    x = a.view(np.float32)
    x = np.where(np.abs(x) < 1e6, x, x / 2**100) if name in ("sin", "cos") else x
    a = x.view(np.uint32)
    got = evaluate(f"{name}.approx.f32 d, a;", d="b32", a=a).view(np.float32)
    want = EXACT[name](x.astype(np.float64)).astype(np.float32)
    apart = distance(np.float32, got, want)
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 2
    if name != "tanh":
        flushed = evaluate(f"{name}.approx.ftz.f32 d, a;", d="b32", a=a).view(np.float32)
        want = flush(EXACT[name](flush(x).astype(np.float64)).astype(np.float32))
        assert np.count_nonzero(distance(np.float32, flushed, want)) <= 2
        np.testing.assert_array_equal(
            np.signbit(flushed[flushed == 0]), np.signbit(want[flushed == 0])
        )


def test_quotients(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(32, 2)
    x, y = (column.view(np.float32).astype(np.float64) for column in (a, b))
    full = evaluate("div.full.f32 d, a, b;", d="b32", a=a, b=b).view(np.float32)
    want = (x / y).astype(np.float32)
    assert distance(np.float32, full, want).max() == 0
    approximate = evaluate("div.approx.f32 d, a, b;", d="b32", a=a, b=b).view(np.float32)
    zero = np.where(np.isinf(x), np.nan, np.copysign(0, x) * np.copysign(1, y)).astype(np.float32)
    large = (np.abs(y) > 2.0**126) & np.isfinite(y) & ~np.isnan(x)
    assert distance(np.float32, approximate, np.where(large, zero, want)).max() == 0
    flushed = evaluate("div.full.ftz.f32 d, a, b;", d="b32", a=a, b=b).view(np.float32)
    want = flush((flush(x) / flush(y)).astype(np.float32))
    assert distance(np.float32, flushed, want).max() == 0


@pytest.mark.parametrize("type", HALVES)
@pytest.mark.parametrize("name", ["ex2", "tanh"])
def test_halves(type: str, name: str, evaluate: Evaluate) -> None:
    """All numbers, alone and in pairs."""
    a = np.arange(1 << 16, dtype=np.uint16)
    ftz = ".ftz" if (name, type) == ("ex2", "bf16") else ""
    x = a.view(HALVES[type]).astype(np.float64)
    if ftz:
        x = flush(x)
    exact = EXACT[name](x)
    want: Array = exact.astype(np.float32).astype(HALVES[type])
    if ftz:
        small = np.abs(exact) < np.finfo(np.float32).tiny
        want = np.where(small, HALVES[type](0), want)
    bits = np.where(np.isnan(exact), np.uint16(0x7FFF), want.view(np.uint16))
    got = evaluate(f"{name}.approx{ftz}.{type} d, a;", d="b16", a=a)
    assert np.count_nonzero(got != bits) <= 3  # NumPy rounds twice
    assert np.abs(got.astype(int) - bits).max() <= 1
    pairs = a.astype(np.uint32) << 16 | a[::-1]
    two = evaluate(f"{name}.approx{ftz}.{type}x2 d, a;", d="b32", a=pairs)
    np.testing.assert_array_equal(two, got.astype(np.uint32) << 16 | got[::-1])


def test_gross_reciprocals(evaluate: Evaluate, numbers: Numbers) -> None:
    (a,) = numbers(64, 1)
    upper = a & np.uint64(0xFFFFFFFF << 32)
    x = upper.view(np.float64)
    tiny = np.finfo(np.float64).tiny
    x = np.where(np.abs(x) < tiny, np.copysign(0, x), x)
    for name in ("rcp", "rsqrt"):
        got = evaluate(f"{name}.approx.ftz.f64 d, a;", d="b64", a=a)
        exact: Array = EXACT[name](x)
        want: Array = np.where(np.abs(exact) < tiny, np.copysign(0, exact), exact)
        nan: Array = np.isnan(want)
        np.testing.assert_array_equal(got[nan], 0x7FFFFFFF00000000)
        assert not (got & np.uint64(0xFFFFFFFF)).any()
        number = got.view(np.float64)
        odd: Array = ~nan & (np.isinf(want) | (want == 0))
        np.testing.assert_array_equal(number[odd].view(np.uint64), want[odd].view(np.uint64))
        rest: Array = ~nan & ~odd
        assert (np.abs(number[rest] / want[rest] - 1) <= 2.0**-20).all()
    got = evaluate("rsqrt.approx.f64 d, a;", d="b64", a=a).view(np.float64)
    want = EXACT["rsqrt"](a.view(np.float64))
    assert distance(np.float64, got, want).max() <= 1


def test_each_function_has_its_distance(evaluate: Evaluate) -> None:
    for name in APPROXIMATIONS:
        type = name.rpartition(".")[2]
        name = name.replace("ex2.approx.bf16", "ex2.approx.ftz.bf16")
        bits = int(type.strip("bf"))
        a = np.zeros(1, f"u{bits // 8}")
        operands = "d, a, a" if name.startswith("div") else "d, a"
        assert evaluate(f"{name} {operands};", d=f"b{bits}", a=a).size == 1


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("sin.f32 d, a", "is not .approx"),
        ("ex2.f32 d, a", "is not .approx"),
        ("ex2.approx.bf16 d, a", "has no .ftz"),
        ("ex2.approx.ftz.f16 d, a", ".ftz"),
        ("tanh.approx.ftz.f32 d, a", ".ftz"),
        ("rcp.approx.f64 d, a", "has no .ftz"),
        ("sqrt.approx.f64 d, a", "no .approx"),
        ("sqrt.approx.ftz.f64 d, a", "no .approx"),
        ("div.approx.f64 d, a, b", "no .approx"),
        ("rsqrt.rn.f32 d, a", "is not .approx"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
