"""Powers of f64 by f64: `y * log2(x)` is computed to 2**-68 of itself.

The methods are those of Muller and others, "Handbook of Floating-Point Arithmetic"; the polynomials are minimax, by the
exchange algorithm of Remez.
"""

from __future__ import annotations

from coconet_ir.lowering.device import doubles
from coconet_ir.lowering.device.exponentials import INFINITY, NAN, clamped, nearest, scaled
from coconet_ir.lowering.device.number import Number
from coconet_ir.lowering.device.pairs import Pair, exact_product, fast_sum, product, quotient

# 2 artanh(s) / ln(2) / s, by s**2: three coefficients in two parts each, then one polynomial for what is behind them,
# where (1 + s) / (1 - s) is between the roots of 1/2 and 2
_LOG2 = (
    (2.8853900817779268, 4.0710547481862066e-17),
    (0.9617966939259756, 5.0577616648125907e-17),
    (0.5770780163555853, 5.2551030481378675e-17),
)
_LOG2_REST = (
    0.17183874976540825, 0.1685795998072359, 0.19239438665239111, 0.2219524705075705,
    0.2623081953599902, 0.3205988979434798, 0.4121985831111985,
)  # fmt: skip

# (2**r - 1 - r ln(2)) / r**2 where |r| <= 1/2
_EXP2 = (
    2.5740311839021966e-11, 4.4562108186315124e-10, 7.054889527499512e-09, 1.0178054608238851e-07,
    1.321548682889669e-06, 1.5252733846968394e-05, 0.00015403530393347486, 0.0013333558146401876,
    0.00961812910762849, 0.05550410866482164, 0.24022650695910072,
)  # fmt: skip

_LEAST, _MOST = -1100.0, 1100.0
"""Bounds beyond which a power of 2 is 0 or infinite."""


def power(x: Number, y: Number) -> Number:
    """`x` to the `y`; within 1 ulp."""
    size = x.magnitude()
    value = _power_of_two(_exponent(size, y))
    endless = size.equals(INFINITY)
    grows = ~((y > 0.0) ^ endless)
    value = (size.equals(0.0) | endless).choose(
        grows.choose(x.code.number(INFINITY, x.type), 0.0), value
    )
    value = doubles.of_signed_base(value, x, y).otherwise_at([(x.is_nan() | y.is_nan(), NAN)])
    return (x.equals(1.0) | y.equals(0.0)).choose(1.0, value)


def _exponent(size: Number, y: Number) -> Pair:
    """`y * log2(size)`, within bounds, of a number that is positive and finite."""
    high, low = _logarithm(size)
    y = clamped(y, -(2.0**65), 2.0**65)  # the least logarithm but 0 is 2**-53
    whole, error = exact_product(y, high)
    beyond = whole.magnitude() > _MOST
    return Pair(clamped(whole, _LEAST, _MOST), beyond.choose(0.0, y.fma(low, error)))


def _logarithm(x: Number) -> Pair:
    """The logarithm to base 2 of a positive number, to 2**-68 of itself."""
    k, f = doubles.split(x)
    s = quotient(Pair(f, x.code.number(0.0, x.type)), fast_sum(2.0, f))
    z = product(s, s)
    factor, low = _LOG2[-1]
    total = fast_sum(factor, z.high * z.high.polynomial(*_LOG2_REST), low)
    for factor, low in reversed(_LOG2[:-1]):
        part = product(z, total)
        total = fast_sum(factor, part.high, part.low + low)
    part = fast_sum(*product(s, total))
    return fast_sum(k, part.high, part.low)


def _power_of_two(exponent: Pair) -> Number:
    """2 to a power between bounds."""
    count, n = nearest(exponent.high, 1.0)
    r, low = fast_sum(exponent.high - n, exponent.low)
    linear = exact_product(r, doubles.LN_2)
    rest = linear.low + r.fma(doubles.LN_2_LOW, low * doubles.LN_2)
    high, low = fast_sum(1.0, linear.high, rest)
    return scaled(high + (r * r).fma(r.polynomial(*_EXP2), low), count)
