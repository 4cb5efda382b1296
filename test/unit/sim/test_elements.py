"""Rounding between element types, against enumeration of every value of the narrow type."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coconet_ir.sim.elements import (
    BF16,
    ELEMENTS,
    F16,
    F32,
    F64,
    FLOATS,
    default_accumulate,
    highest,
    is_float,
    lowest,
    poison,
    round_to,
    same_bits,
    unsigned,
)

NARROW = ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E5M2FNUZ", "f8E4M3FNUZ"]


def _values(name: str) -> list[tuple[Fraction, int]]:
    """Finite values of a type in order, with the evenness of their bits (0 is even)."""
    dtype = FLOATS[name]
    bits = np.arange(1 << (8 * dtype.itemsize), dtype=unsigned(dtype))
    with np.errstate(all="ignore"):
        wide = bits.view(dtype).astype(F32).astype(F64)
    table = {
        Fraction(v): int(b) & 1
        for v, b in zip(wide.tolist(), bits, strict=True)
        if math.isfinite(v)
    }
    return sorted(table.items())


TABLES = {name: _values(name) for name in NARROW}


def _reference(x: float, name: str) -> float | None:
    """The value of the type nearest to `x`, ties to even; None when that is out of range."""
    table = TABLES[name]
    exact = Fraction(x)
    at = bisect.bisect_left(table, (exact, 0))
    if at == len(table) or (at == 0 and table[0][0] != exact):
        edge = table[-1] if at else table[0]
        step = abs(edge[0] - table[-2 if at else 1][0])
        over = abs(exact - edge[0])
        inside = over < step / 2 or (over == step / 2 and edge[1] == 0)
        return float(edge[0]) if inside else None
    if table[at][0] == exact:
        return x
    low, high = table[at - 1], table[at]
    down, up = exact - low[0], high[0] - exact
    if down == up:
        return float(low[0] if low[1] == 0 else high[0])
    return float(low[0] if down < up else high[0])


@st.composite
def _hard_doubles(draw: st.DrawFn) -> tuple[str, float]:
    """A type and a double near one of its values, near a tie, or anywhere."""
    name = draw(st.sampled_from(NARROW))
    table = TABLES[name]
    at = draw(st.integers(0, len(table) - 2))
    low, high = float(table[at][0]), float(table[at + 1][0])
    x = draw(st.sampled_from([low, (low + high) / 2, high, 2 * float(table[-1][0]), 1e-300]))
    for _ in range(draw(st.integers(0, 2))):
        x = math.nextafter(x, draw(st.sampled_from([-math.inf, math.inf])))
    return name, x + draw(st.sampled_from([0.0, 0.0, 2.0**-40 * abs(x)]))


@given(_hard_doubles(), st.sampled_from(["f64", "f32"]))
def test_rounding_is_to_nearest_even(case: tuple[str, float], source: str) -> None:
    name, x = case
    with np.errstate(over="ignore"):
        value = np.array([x], F64).astype(FLOATS[source])
    if np.isinf(value[0]):
        return
    got = float(round_to(value, FLOATS[name]).astype(F32)[0])
    want = _reference(float(value[0]), name)
    assert not math.isfinite(got) if want is None else got == want


def test_f64_is_rounded_once() -> None:
    tie = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-4 + 2.0**-40])
    assert float(round_to(tie, BF16)[0]) == 1 + 2.0**-7
    assert float(round_to(tie, FLOATS["f8E4M3FN"])[1]) == 1.125
    huge = round_to(np.array([1e300, -1e300, 5e-324, np.inf, np.nan]), BF16).astype(F32)
    assert huge.tolist()[:4] == [np.inf, -np.inf, 0.0, np.inf]
    assert np.isnan(huge[4])


def test_out_of_range_is_infinite_or_nan() -> None:
    assert np.isnan(round_to(np.array([1e6, -1e6], F32), FLOATS["f8E4M3FN"]).astype(F32)).all()
    assert np.isinf(round_to(np.array([1e6, -1e6], F32), FLOATS["f8E5M2"]).astype(F32)).all()
    assert np.isinf(round_to(np.array([1e6, -1e6], F64), F16)).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_limits_and_poison(name: str) -> None:
    dtype = ELEMENTS[name]
    assert lowest(dtype).dtype == highest(dtype).dtype == dtype
    if name == "f8E8M0FNU":  # has neither sign nor zero
        return
    low, high = lowest(dtype).astype(F64), highest(dtype).astype(F64)
    assert (low > high) if name == "i1" else (low < high)
    undefined = poison((2, 3), dtype)
    assert undefined.shape == (2, 3)
    assert np.isnan(undefined).all() if is_float(dtype) else (undefined != 0).all()


def test_default_accumulate() -> None:
    short = {name for name, dtype in ELEMENTS.items() if default_accumulate(dtype) != dtype}
    assert short == set(FLOATS) - {"f64", "f32"}
    assert default_accumulate(BF16) == F32


def test_same_bits() -> None:
    x = np.array([0.0, 1.0, np.nan], F32)
    other_nan = np.array([0, 0x3F800000, 0xFFC00001], np.uint32).view(F32)
    assert same_bits(x, other_nan)
    assert not same_bits(x, np.array([-0.0, 1.0, np.nan], F32))
    assert not same_bits(x, x[:2])
    assert not same_bits(x, x.astype(F64))
    assert same_bits(np.array(1, BF16), np.array(1, BF16))
    assert same_bits(np.arange(6)[::2], np.array([0, 2, 4]))
