"""Elementwise functions of f32 and f64 arrays whose result depends on the element alone.

NumPy's vector loops for exp, log, pow and the like may give an element other bits in another place,
for another stride or on another processor. What IEEE 754 does not fix is therefore computed in long
double, where NumPy calls the C library for each element, and rounded once. +, -, *, /, sqrt are exact
in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from coconet_ir.sim.elements import F64, Array

_CHUNK = 1 << 16
"""Elements that are computed in long double at once."""

Function = Callable[..., Array]


def precise(function: Callable[..., Any]) -> Function:
    """`function`, which takes long doubles, on arrays of equal type; one rounding to that type."""

    def call(*operands: Array) -> Array:
        result = np.empty(operands[0].shape, operands[0].dtype)
        flat = result.reshape(-1)
        rows = [np.ascontiguousarray(x).reshape(-1) for x in operands]
        for start in range(0, flat.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            flat[part] = function(*(row[part].astype(np.longdouble) for row in rows))
        return result

    return call


def by_element(function: Callable[[float], float]) -> Function:
    """A function of Python floats on arrays; computed in double and rounded once."""
    ufunc = np.frompyfunc(function, 1, 1)

    def call(x: Array) -> Array:
        return np.asarray(ufunc(np.asarray(x, F64)), F64).astype(x.dtype)

    return call


def maximum(a: Array, b: Array) -> Array:
    """The larger; NaN if either is NaN; -0 is less than +0."""
    return from_keys(np.maximum(to_keys(a, 1), to_keys(b, 1)), 1, a.dtype)


def minimum(a: Array, b: Array) -> Array:
    """The smaller; NaN if either is NaN; -0 is less than +0."""
    return from_keys(np.minimum(to_keys(a, -1), to_keys(b, -1)), -1, a.dtype)


def maxnum(a: Array, b: Array) -> Array:
    """The larger; the other one if one is NaN; -0 is less than +0."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, maximum(a, b)))


def minnum(a: Array, b: Array) -> Array:
    """The smaller; the other one if one is NaN; -0 is less than +0."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, minimum(a, b)))


def to_keys(x: Array, sign: int) -> Array:
    """f32 or f64 as integers in the same order, -0 below +0.

    NaN is the greatest (`sign` 1) or the least (-1). NumPy's own maximum leaves the sign of a zero
    to the processor's vector instruction.
    """
    integer = np.dtype(f"i{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(integer).reshape(x.shape)
    info = np.iinfo(integer)
    keys = bits ^ ((bits >> (info.bits - 1)) & info.max)
    nan = np.isnan(x)
    beyond = integer.type(info.max if sign > 0 else info.min)
    return np.where(nan, beyond, keys) if nan.any() else keys


def from_keys(keys: Array, sign: int, dtype: np.dtype[Any]) -> Array:
    """The floats of `to_keys`, with one NaN for all."""
    info = np.iinfo(keys.dtype)
    bits = np.asarray(keys ^ ((keys >> (info.bits - 1)) & info.max))
    nan = keys == (info.max if sign > 0 else info.min)
    values = bits.view(dtype)
    return np.where(nan, dtype.type(np.nan), values) if nan.any() else values


def copysign(x: Array, sign: Array) -> Array:
    """`x` with the sign of `sign`; a NaN counts as positive."""
    return np.copysign(x, np.where(np.isnan(sign), sign.dtype.type(1), sign))


def round_half_away(x: Array) -> Array:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    up = np.abs(x - whole) >= 0.5
    return np.copysign(whole + np.where(up, np.copysign(x.dtype.type(1), x), x.dtype.type(0)), x)


def fma_odd(a: Array, b: Array, c: Array) -> Array:
    """`a*b + c` of f32 operands as a double rounded to odd: rounding that rounds once."""
    product = a.astype(F64) * b.astype(F64)  # exact: 48 bits
    return _add_odd(product, c.astype(F64))


def fma(a: Array, b: Array, c: Array) -> Array:
    """`a*b + c` of doubles with one rounding (Boldo and Melquiond 2008; fractions near the limits)."""
    plain = np.asarray(a * b + c)
    # An infinite c outweighs a finite product, also one beyond the largest double.
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, plain)
    special = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    size_a, size_b = np.abs(a), np.abs(b)
    small, large = 2.0**-450, 2.0**450
    safe = (size_a >= small) & (size_a <= large) & (size_b >= small) & (size_b <= large)
    safe &= np.abs(c) <= 2.0**900
    high, low = _two_product(a, b)
    top, rest = _two_sum(c, low)
    value, error = _two_sum(high, top)
    result = np.asarray(np.where(special | ~safe, plain, value + _add_odd(rest, error)))
    hard = ~special & ~safe
    for where in zip(*np.nonzero(np.atleast_1d(hard)), strict=True):
        x, y, z = (float(np.atleast_1d(v)[where]) for v in (a, b, c))
        np.atleast_1d(result)[where] = _exact_fma(x, y, z)
    return result


def _exact_fma(x: float, y: float, z: float) -> float:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its exact error (Dekker)."""
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def _add_odd(a: Array, b: Array) -> Array:
    """`a + b` of doubles rounded to odd."""
    total, error = _two_sum(a, b)
    total, error = np.asarray(total), np.asarray(error)
    inexact = (error != 0) & np.isfinite(total)
    toward_zero = inexact & ((error > 0) != (total > 0))
    bits = total.view(np.uint64) - toward_zero.astype(np.uint64)
    return (bits | inexact.astype(np.uint64)).view(F64)


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


UNARY: dict[str, Function] = {
    "acos": precise(np.arccos),
    "acosh": precise(np.arccosh),
    "asin": precise(np.arcsin),
    "asinh": precise(np.arcsinh),
    "atan": precise(np.arctan),
    "atanh": precise(np.arctanh),
    "cbrt": precise(np.cbrt),
    "cos": precise(np.cos),
    "cosh": precise(np.cosh),
    "erf": by_element(math.erf),
    "erfc": by_element(math.erfc),
    "exp": precise(np.exp),
    "exp2": precise(np.exp2),
    "expm1": precise(np.expm1),
    "log": precise(np.log),
    "log10": precise(np.log10),
    "log1p": precise(np.log1p),
    "log2": precise(np.log2),
    "rsqrt": precise(_reciprocal_root),
    "sin": precise(np.sin),
    "sinh": precise(np.sinh),
    "tan": precise(np.tan),
    "tanh": precise(np.tanh),
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": round_half_away,
    "roundeven": np.rint,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
}
"""Functions of one float, by the name of the `math` operation."""

BINARY: dict[str, Function] = {
    "atan2": precise(np.arctan2),
    "copysign": copysign,
    "powf": precise(np.power),
}
"""Functions of two floats, by the name of the `math` operation."""
