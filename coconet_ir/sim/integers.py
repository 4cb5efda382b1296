"""Elementwise integer arithmetic: two's complement, defined where upstream's `arith` leaves it open.

Division by zero is refused. A shift by the width or more shifts everything out. `i1` is a one-bit
number: true is 1 unsigned and -1 signed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coconet_ir.sim.elements import I1, Array, DType, numpy_knows, round_to, unsigned

Function = Callable[..., Array]


class ArithmeticRefused(Exception):
    """An operation whose result the IR does not define, such as a division by zero."""


def signed_operation(function: Function) -> Function:
    """`function` of signed arrays of equal type, also on `i1`."""

    def call(*operands: Array) -> Array:
        if operands[0].dtype != I1:
            return function(*operands)
        return to_bit(function(*(as_signed(x) for x in operands)))

    return call


def unsigned_operation(function: Function) -> Function:
    """`function` of unsigned arrays of equal type, on arrays of the signed type or of `i1`."""

    def call(*operands: Array) -> Array:
        result = np.asarray(function(*(as_unsigned(x) for x in operands)))
        return to_bit(result) if operands[0].dtype == I1 else result.view(operands[0].dtype)

    return call


def as_signed(x: Array) -> Array:
    """Signed integers, `i1` as 0 and -1."""
    return -x.astype(np.int8) if x.dtype == I1 else x


def as_unsigned(x: Array) -> Array:
    """The bits as unsigned integers."""
    x = np.asarray(x)
    return x.view(unsigned(x.dtype))


def to_bit(x: Array) -> Array:
    """The lowest bit as `i1`."""
    return np.asarray((x & 1).astype(np.bool_) if x.dtype != I1 else x)


def _nonzero(y: Array) -> None:
    if not np.all(y):
        raise ArithmeticRefused("divides by zero")


def divide(x: Array, y: Array) -> Array:
    """The quotient toward zero; the least number divided by -1 wraps to itself."""
    _nonzero(y)
    return np.floor_divide(x - np.fmod(x, y), y)


def remainder(x: Array, y: Array) -> Array:
    """The remainder of `divide`, with the sign of `x`."""
    _nonzero(y)
    return np.fmod(x, y)


def floor_divide(x: Array, y: Array) -> Array:
    """The quotient toward minus infinity."""
    _nonzero(y)
    return np.floor_divide(x, y)


def ceil_divide(x: Array, y: Array) -> Array:
    """The quotient toward plus infinity."""
    quotient = floor_divide(x, y)
    return quotient + (x != quotient * y).astype(quotient.dtype)


def shift_left(x: Array, y: Array) -> Array:
    """`x` times two to the unsigned `y`; zero when `y` is the width or more."""
    inside, amount = _amount(x, y)
    return np.where(inside, np.left_shift(x, amount), x.dtype.type(0))


def shift_right(x: Array, y: Array) -> Array:
    """`x` moved right by the unsigned `y`, filled with its sign (signed types) or zeros."""
    inside, amount = _amount(x, y)
    width = x.dtype.type(8 * x.dtype.itemsize - 1)
    gone = np.right_shift(x, width) if x.dtype.kind == "i" else x.dtype.type(0)
    return np.where(inside, np.right_shift(x, amount), gone)


def _amount(x: Array, y: Array) -> tuple[Array, Array]:
    inside = as_unsigned(y) < 8 * x.dtype.itemsize
    return inside, np.where(inside, y, y.dtype.type(0))


def power(x: Array, y: Array) -> Array:
    """`x` to the `y`, wrapping; a negative exponent gives the integer part of the true power."""
    if np.any((x == 0) & (y < 0)):
        raise ArithmeticRefused("raises zero to a negative power")
    exponent, base = np.maximum(y, y.dtype.type(0)), np.array(x)
    result = np.ones_like(base)
    while np.any(exponent):
        result = np.where(exponent & 1, result * base, result)
        base, exponent = base * base, exponent >> 1
    odd = np.where(y & 1, x, np.ones_like(x))
    return np.where(y < 0, np.where(np.abs(x) == 1, odd, x.dtype.type(0)), result)


def high_product(x: Array, y: Array) -> Array:
    """The upper half of the product of double width. Takes unsigned numbers."""
    half = x.dtype.type(4 * x.dtype.itemsize)
    low = x.dtype.type((1 << int(half)) - 1)
    x_high, x_low, y_high, y_low = x >> half, x & low, y >> half, y & low
    middle = x_high * y_low + ((x_low * y_low) >> half)
    carry = ((middle & low) + x_low * y_high) >> half
    return x_high * y_high + (middle >> half) + carry


def signed_high_product(x: Array, y: Array) -> Array:
    """The upper half of the product of double width."""
    high = high_product(as_unsigned(x), as_unsigned(y)).view(x.dtype)
    zero = x.dtype.type(0)
    return high - np.where(x < 0, y, zero) - np.where(y < 0, x, zero)


def leading_zeros(x: Array) -> Array:
    """The number of zero bits above the highest one; the width for zero. Takes unsigned numbers."""
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < 8 * x.dtype.itemsize:
            x = x | (x >> x.dtype.type(shift))
    return np.bitwise_count(~x).astype(x.dtype)


def trailing_zeros(x: Array) -> Array:
    """The number of zero bits below the lowest one; the width for zero. Takes unsigned numbers."""
    return np.bitwise_count(~x & (x - x.dtype.type(1))).astype(x.dtype)


def population(x: Array) -> Array:
    """The number of one bits. Takes unsigned numbers."""
    return np.bitwise_count(x).astype(x.dtype)


def from_float(x: Array, dtype: DType, *, unsigned_result: bool) -> Array:
    """Doubles toward zero; out of range the nearest number of the type, NaN gives 0."""
    width = 1 if dtype == I1 else 8 * dtype.itemsize
    low = 0.0 if unsigned_result else -(2.0 ** (width - 1))
    high = 2.0**width if unsigned_result else 2.0 ** (width - 1)
    kind = np.dtype(np.uint64 if unsigned_result else np.int64)
    whole = np.trunc(np.where(np.isnan(x), 0.0, x))
    inside = (whole >= low) & (whole < high)
    edge = np.where(whole < low, kind.type(int(low)), kind.type(int(high) - 1))
    result = np.where(inside, np.where(inside, whole, 0.0).astype(kind), edge)
    return to_bit(result) if dtype == I1 else result.astype(unsigned(dtype)).view(dtype)


def to_float(x: Array, dtype: DType) -> Array:
    """Integers (signed or unsigned NumPy types) in a float type, rounded once."""
    if numpy_knows(dtype):
        return x.astype(dtype)
    if x.dtype.itemsize == 8:  # of large numbers, whether the low 12 bits are zero decides
        low, half, bound = (np.asarray(number, x.dtype) for number in (0xFFF, 0x800, 1 << 52))
        sticky = (x & ~low) | np.where(x & low, half, np.zeros_like(half))
        large = (x > bound) | (x < -bound) if x.dtype.kind == "i" else x > bound
        x = np.where(large, sticky, x)
    return round_to(x.astype(np.float64), dtype)
