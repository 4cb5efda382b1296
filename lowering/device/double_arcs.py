"""The inverses of trigonometric and of hyperbolic functions, of f64.

Each is within 1 unit of the last place (ulp) of the true result, as test/unit/lowering/test_lower_mathematics.py
measures, but for angles of `atan2` that are subnormal. The polynomials are minimax, by the exchange algorithm of Remez.
"""

from __future__ import annotations

from coconet_ir.lowering.device import double_angles, doubles
from coconet_ir.lowering.device.exponentials import INFINITY, NAN
from coconet_ir.lowering.device.number import Number
from coconet_ir.lowering.device.pairs import (
    Pair,
    exact_product,
    exact_sum,
    fast_sum,
    quotient,
    root,
)

HALF_PI, HALF_PI_LOW, _ = double_angles.HALF_PI

_ARC_OF_HALF = (0.4636476090008061, 2.2698777452961687e-17)
"""The angle whose tangent is 1/2."""

# (atan(x) - x) / x**3, by x**2, where |x| <= 1/4
_ATAN = (
    -0.04000012132562202, 0.05724866148944114, -0.06655519925839565, 0.07691827172676485,
    -0.09090896263053817, 0.11111110903700767, -0.14285714283814138, 0.19999999999991458,
    -0.3333333333333332,
)  # fmt: skip

# (asin(x) - x) / x**3, (asinh(x) - x) / x**3, (atanh(x) - x) / x**3, by x**2, where |x| <= 1/2
_ASIN = (
    0.032674817840627, -0.02107362533020664, 0.021760645450202412, 0.0036843274033800445,
    0.010786157960342699, 0.011397847795279744, 0.013980951989954492, 0.017351600937017448,
    0.022372215610281056, 0.030381942685491936, 0.044642857175079674, 0.07499999999970308,
    0.16666666666666763,
)  # fmt: skip
_ASINH = (
    0.0017197727364958125, -0.004750036863834303, 0.007467248532539202, -0.009534760018623654,
    0.011513130380852568, -0.013960255082688748, 0.017352389321690042, -0.02237213851890321,
    0.030381943723248202, -0.044642857128001354, 0.07499999999984627, -0.1666666666666661,
)  # fmt: skip
_ATANH = (
    0.24116385485204464, -0.1962284531633913, 0.17506235551140617, -0.005407966119126234,
    0.059591736360716, 0.05057368364367771, 0.059075345582958634, 0.06664475350628599,
    0.07692441312721947, 0.09090903551516485, 0.11111111259389524, 0.14285714283364873,
    0.20000000000018794, 0.3333333333333328,
)  # fmt: skip


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y): that at the longer leg, turned and reflected; 1.5 ulp where it is subnormal."""
    a, b = y.magnitude(), x.magnitude()
    swap = a > b
    negative = x.as_bits() < 0
    near, angle = _arc(*_legs(swap.choose(b, a), swap.choose(a, b)))
    # Half a turn, a quarter or nothing; the angle is taken off where one of both holds.
    off = swap ^ negative
    quarters = swap.choose(1.0, negative.choose(2.0, x.code.number(0.0, x.type)))
    base, low = quarters * HALF_PI, quarters * HALF_PI_LOW
    near, angle = (
        Pair(off.choose(-part.high, part.high), off.choose(-part.low, part.low))
        for part in (near, angle)
    )
    start = fast_sum(base, near.high, low + near.low)
    value = fast_sum(start.high, angle.high, start.low + angle.low).total()
    undefined = y.is_nan() | x.is_nan()
    return undefined.choose(x + y, value.signed_as(y))


def _legs(low: Number, high: Number) -> tuple[Number, Number]:
    """Two legs of the same quotient, the second of a size whose reciprocal is normal."""
    endless = high.equals(INFINITY)
    low = endless.choose(low.equals(INFINITY).choose(1.0, low * 0.0), low)
    high = (endless | high.equals(0.0)).choose(1.0, high)
    large, small = high > 2.0**900, high < 2.0**-900
    scale = large.choose(2.0**-120, small.choose(2.0**120, low.code.number(1.0, low.type)))
    return low * scale, high * scale


def _arc(low: Number, high: Number) -> tuple[Pair, Pair]:
    """The angle whose tangent is the quotient, at most 1, as that of the nearest of 0, 1/2 and 1, and what is left."""
    half, one = low >= high * 0.25, low >= high * 0.6875
    zero = low.code.number(0.0, low.type)
    near = one.choose(1.0, half.choose(0.5, zero))
    whole, rest = (
        one.choose(quarter * 0.5, half.choose(arc, zero))
        for quarter, arc in zip((HALF_PI, HALF_PI_LOW), _ARC_OF_HALF, strict=True)
    )
    # tan(a - b) = (tan(a) - tan(b)) / (1 + tan(a) * tan(b)); the difference is exact
    difference = Pair(near.fma(-high, low), zero)
    t, error = quotient(difference, fast_sum(high, near * low))
    z = t * t
    return Pair(whole, rest), Pair(t, (t * z).fma(z.polynomial(*_ATAN), error))


def atan(x: Number) -> Number:
    """The angle of this tangent."""
    return atan2(x, x.code.number(1.0, x.type))


def _arc_of_sine(x: Number) -> tuple[Number, Pair]:
    """Whether a sine is more than 1/2 in size, and its angle, or else half the angle of its cosine."""
    size = x.magnitude()
    large = size > 0.5
    half = (1.0 - size) * 0.5
    leg = root(Pair(half, x.code.number(0.0, x.type)))
    u, low = large.choose(leg.high, size), large.choose(leg.low, 0.0)
    z = large.choose(half, size * size)
    return large, Pair(u, (u * z).fma(z.polynomial(*_ASIN), low))


def _quarter_less(angle: Pair, quarters: float) -> Number:
    """Quarters of a turn less an angle."""
    high, low = (-part for part in angle)
    return fast_sum(quarters * HALF_PI, high, low + quarters * HALF_PI_LOW).total()


def asin(x: Number) -> Number:
    """The angle of this sine."""
    large, (high, low) = _arc_of_sine(x)
    beyond = _quarter_less(Pair(high + high, low + low), 1.0)
    return large.choose(beyond, high + low).signed_as(x)


def acos(x: Number) -> Number:
    """The angle of this cosine."""
    large, (high, low) = _arc_of_sine(x)
    twice = Pair(high + high, low + low)
    negative = x < 0.0
    beyond = negative.choose(_quarter_less(twice, 2.0), twice.total())
    signed = Pair(negative.choose(-high, high), negative.choose(-low, low))
    return large.choose(beyond, _quarter_less(signed, 1.0))


def _by_logarithm(size: Number, one: float) -> Number:
    """log(x + sqrt(x * x + 1)), or with -1."""
    square, error = exact_product(size, size)
    sum, lost = exact_sum(square, size.code.number(one, size.type))
    leg = root(Pair(sum, lost + error))
    near = exact_sum(leg.high, size)
    large = size > 2.0**30  # where the sum is 2 x
    high = large.choose(size, near.high)
    low = large.choose(0.0, near.low + leg.low)
    twos = large.choose(size.code.number(1.0, size.type), 0.0)
    return size.equals(INFINITY).choose(size, doubles.log_of_sum(high, low, twos))


def asinh(x: Number) -> Number:
    """The inverse hyperbolic sine."""
    size = x.magnitude()
    z = x * x
    small = (size * z).fma(z.polynomial(*_ASINH), size)
    return (size < 0.5).choose(small, _by_logarithm(size, 1.0)).signed_as(x)


def acosh(x: Number) -> Number:
    """The inverse hyperbolic cosine."""
    return (x < 1.0).choose(NAN, _by_logarithm(x, -1.0))


def atanh(x: Number) -> Number:
    """The inverse hyperbolic tangent."""
    size = x.magnitude()
    z = x * x
    small = (size * z).fma(z.polynomial(*_ATANH), size)
    inside = (size < 1.0).choose(size, 0.5)
    one = x.code.number(1.0, x.type)
    ratio = quotient(fast_sum(one, inside), Pair(1.0 - inside, x.code.number(0.0, x.type)))
    large = doubles.log_of_sum(*ratio, 0.0) * 0.5
    value = (size < 0.5).choose(small, large)
    return value.otherwise_at([(size.equals(1.0), INFINITY), (~(size <= 1.0), NAN)]).signed_as(x)
