"""The remainder of f64, exactly: the mantissa of the dividend times a power of two, modulo that of the divisor."""

from __future__ import annotations

from xdsl.dialects.builtin import f64

from coconet_ir.lowering.device.exponentials import INFINITY, NAN, nearest, power_of_two, scaled
from coconet_ir.lowering.device.number import Number
from coconet_ir.lowering.device.pairs import exact_product

_STEPS = 5
"""The powers of two are less than 2**2098: that of 2**65 at most, squared so many times."""


def remainder(x: Number, y: Number) -> Number:
    """What is left of `x` by division rounded towards 0."""
    a, above = _parts(x.magnitude())
    b, below = _parts(y.magnitude())
    modulo = _Modulus(b)
    shift = above - below
    value = modulo.product(modulo.reduced(a), modulo.power_of_two(shift))
    value = scaled((value < 0.0).choose(value + b, value), below)
    value = (x.magnitude() < y.magnitude()).choose(x.magnitude(), value).signed_as(x)
    undefined = ~(x.magnitude() < INFINITY) | y.is_nan() | y.equals(0.0)
    return undefined.choose(NAN, value)


def _parts(size: Number) -> tuple[Number, Number]:
    """A positive number as a whole number of 53 bits, as a float, and a power of two."""
    tiny = size < 2.0**-1022
    raw = tiny.choose(size * 2.0**54, size).as_bits()
    fraction = raw & ((1 << 52) - 1)
    exponent = (raw >> 52) - 1075
    return (fraction | (1075 << 52)).as_float(f64), tiny.choose(exponent - 54, exponent)


class _Modulus:
    """Whole numbers of at most 54 bits, modulo one of 53; what is reduced is at most half of that in size."""

    def __init__(self, divisor: Number):
        self.divisor, self.inverse = divisor, 1.0 / divisor

    def reduced(self, x: Number) -> Number:
        """A whole number, less so many times the divisor as is nearest: exact, as the result has no more bits."""
        _, count = nearest(x, self.inverse)
        return count.fma(-self.divisor, x)

    def product(self, x: Number, y: Number, twice: Number | float = 1.0) -> Number:
        """The product of two reduced numbers, reduced; or twice that, if `twice` is 2.

        Rounded, it is at most 2**51 divisors, to which the nearest number of them is found within 3/4; what rounding
        lost is at most 1/4 of a divisor. So each step is exact.
        """
        high, low = exact_product(x, y)
        return self.reduced((self.reduced(high) + low) * twice)

    def power_of_two(self, exponent: Number) -> Number:
        """2 to a power from 0 to 2097."""
        value = self.reduced(power_of_two(exponent >> _STEPS))
        for step in reversed(range(_STEPS)):
            bit = (exponent >> step) & 1
            value = self.product(value, value, power_of_two(bit))
        return value
