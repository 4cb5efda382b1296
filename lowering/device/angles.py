"""Trigonometric functions of f32 and their inverses, by way of f64: each is within 1 ulp of the true result."""

from __future__ import annotations

from coconet_ir.lowering.device import doubles
from coconet_ir.lowering.device.exponentials import INFINITY, NAN
from coconet_ir.lowering.device.number import Number

HALF_PI = 1.5707963267948966

_CHUNKS = (10680707, 7228996, 1387004, 2578385, 16069853, 12639074, 9804092, 4427841, 16666979)
"""The first bits of 2 / pi behind the point, 24 in each."""

_WORD, _WINDOW = 24, 5
"""The bits of a chunk, and how many chunks matter for an angle."""

# (sin(x) - x) / x**3 and (cos(x) - 1 + x**2 / 2) / x**4, by x**2, where |x| <= pi / 4
_SIN = (
    -2.4761117726028775e-08, 2.7555350531511087e-06, -0.00019841263789765166, 0.00833333332521263,
    -0.16666666666631275,
)  # fmt: skip
_COS = (
    2.0647282242083977e-09, -2.7555560140902214e-07, 2.4801580933723915e-05, -0.0013888888878189369,
    0.04166666666660161,
)  # fmt: skip

# (atan(x) - x) / x**3, by x**2, where 0 <= x <= 1
_ATAN = (
    -0.00028548600717264794, 0.00228675520157539, -0.008602318247612397, 0.020548639156312,
    -0.035937636896484916, 0.050952550668717636, -0.06391490256958329, 0.0762317805678329,
    -0.09078917257354677, 0.11109754736409835, -0.1428562291104098, 0.1999999688019265,
    -0.3333333329596248,
)  # fmt: skip


def _turn(x: Number) -> tuple[Number, Number]:
    """How many quarters of a turn an angle is (modulo 4, as a whole float), and the rest of the angle.

    Payne and Hanek: x, of 24 bits, is multiplied by the 120 bits of 2 / pi that matter for its size. Those before them
    give multiples of 4; what those behind them would give is less than 2**-71.
    """
    size = x.magnitude()
    factors = [
        x.code.number(float(chunk) * 2.0 ** (-_WORD * (i + 1)), x.type)
        for i, chunk in enumerate(_CHUNKS)
    ]
    window = factors[:_WINDOW]
    for skipped in range(len(_CHUNKS) - _WINDOW):
        large = size >= 2.0 ** (49 + _WORD * skipped)
        window = [large.choose(factors[skipped + 1 + i], factor) for i, factor in enumerate(window)]
    first, second, third, *small = (_modulo_4(x * factor) for factor in window)
    quarters = _nearest((first + second) + third)
    rest = ((first - quarters) + second) + third
    for part in small:
        rest = rest + part
    return quarters, rest * HALF_PI


def _nearest(x: Number) -> Number:
    magic = 1.5 * 2.0**52
    return (x + magic) - magic


def _modulo_4(x: Number) -> Number:
    """What is left of a number of at most 48 bits less the nearest multiple of 4, exactly."""
    return x - _nearest(x * 0.25) * 4.0


def _sin_cos(x: Number) -> tuple[Number, Number, Number]:
    """The quarters of a turn, as an integer whose last two bits count, and the sine and cosine of the rest."""
    quarters, r = _turn(x)
    z = r * r
    sine = (r * z).fma(z.polynomial(*_SIN), r)
    cosine = (z * z).fma(z.polynomial(*_COS), z.fma(-0.5, 1.0))
    return (quarters + 1.5 * 2.0**52).as_bits(), sine, cosine


def _quarter(count: Number, even: Number, odd: Number) -> Number:
    """One value in even quarters and another in odd ones, negative in the second half of a turn."""
    value = (count & 1).differs(0).choose(odd, even)
    return (count & 2).differs(0).choose(-value, value)


def sin(x: Number) -> Number:
    """The sine."""
    count, sine, cosine = _sin_cos(x)
    return x.equals(0.0).choose(x, _quarter(count, sine, cosine))


def cos(x: Number) -> Number:
    """The cosine."""
    count, sine, cosine = _sin_cos(x)
    return _quarter(count + 1, sine, cosine)


def tan(x: Number) -> Number:
    """The tangent."""
    count, sine, cosine = _sin_cos(x)
    value = (count & 1).differs(0).choose(-(cosine / sine), sine / cosine)
    return x.equals(0.0).choose(x, value)


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    a, b = y.magnitude(), x.magnitude()
    swap = a > b
    low, high = swap.choose(b, a), swap.choose(a, b)
    both = low.equals(high)  # of 0 and of infinity there is no quotient
    t = both.choose(high.equals(0.0).choose(high, 1.0), low / high)
    z = t * t
    angle = (t * z).fma(z.polynomial(*_ATAN), t)
    angle = swap.choose(HALF_PI - angle, angle)
    negative = x.code.number(1.0, x.type).signed_as(x) < 0.0
    angle = negative.choose(2.0 * HALF_PI - angle, angle)
    undefined = y.is_nan() | x.is_nan()
    return undefined.choose(x + y, angle.signed_as(y))


def atan(x: Number) -> Number:
    """The angle of this tangent."""
    return atan2(x, x.code.number(1.0, x.type))


def _leg(x: Number) -> Number:
    """The other leg of a right triangle whose hypotenuse is 1."""
    return ((1.0 - x) * (x + 1.0)).root()


def asin(x: Number) -> Number:
    """The angle of this sine."""
    return atan2(x, _leg(x))


def acos(x: Number) -> Number:
    """The angle of this cosine."""
    return atan2(_leg(x), x)


def asinh(x: Number) -> Number:
    """The inverse hyperbolic sine."""
    size = x.magnitude()
    square = size * size
    value = doubles.log1p(size + square / ((square + 1.0).root() + 1.0))
    value = size.equals(INFINITY).choose(size, value)
    return value.signed_as(x)


def acosh(x: Number) -> Number:
    """The inverse hyperbolic cosine."""
    beyond = x - 1.0
    value = doubles.log1p(beyond + (beyond * (x + 1.0)).root())
    return (x < 1.0).choose(NAN, value)


def atanh(x: Number) -> Number:
    """The inverse hyperbolic tangent."""
    size = x.magnitude()
    value = doubles.log1p((size + size) / (1.0 - size)) * 0.5
    return value.signed_as(x)
