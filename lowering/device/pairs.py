"""Double-double arithmetic: a number as the sum of two floats, the second at most half a last place of the first.

The methods are those of Dekker (1971) and of Muller and others, "Handbook of Floating-Point Arithmetic".
"""

from __future__ import annotations

from typing import NamedTuple

from coconet_ir.lowering.device.number import Number


class Pair(NamedTuple):
    """The sum of two floats."""

    high: Number
    low: Number

    def total(self) -> Number:
        """The sum, rounded."""
        return self.high + self.low

    def where(self, condition: Number, other: Pair) -> Pair:
        """This pair, but another one where a condition does not hold."""
        return Pair(condition.choose(self.high, other.high), condition.choose(self.low, other.low))


def fast_sum(a: Number | float, b: Number, low: Number | float | None = None) -> Pair:
    """`a + b` exactly, where `a` is not less in size, or is 0; and `low` more, whose sum with the error is rounded."""
    total = b + a
    error = b - (total - a)
    return Pair(total, error if low is None else error + low)


def exact_sum(a: Number, b: Number) -> Pair:
    """`a + b` exactly."""
    total = a + b
    back = total - a
    return Pair(total, (a - (total - back)) + (b - back))


def exact_product(a: Number, b: Number | float) -> Pair:
    """`a * b` exactly, but where it underflows."""
    high = a * b
    return Pair(high, a.fma(b, -high))


def product(a: Pair, b: Pair) -> Pair:
    """The product of two pairs, to about 2**-102."""
    high, low = exact_product(a.high, b.high)
    return Pair(high, a.low.fma(b.high, a.high.fma(b.low, low)))


def quotient(a: Pair, b: Pair) -> Pair:
    """The quotient of two pairs, to about 2**-102, where nothing of it overflows."""
    inverse = 1.0 / b.high
    high = a.high * inverse
    rest = high.fma(-b.high, a.high) + high.fma(-b.low, a.low)
    return Pair(high, rest * inverse)


def root(a: Pair) -> Pair:
    """The square root of a pair, to about 2**-102; of 0 it is 0."""
    high = a.high.root()
    rest = high.fma(-high, a.high) + a.low
    return Pair(high, high.equals(0.0).choose(0.0, rest / (high + high)))
