"""Powers of e and of 2, and what functions of f32 and of f64 share: one formula for both, each with its constants."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64

from coconet_ir.lowering.device.number import Number

INFINITY, NAN = float("inf"), float("nan")

MANTISSA = {32: 23, 64: 52}
"""The bits of a float behind the leading one, by all of its bits."""

BIAS = {32: 127, 64: 1023}
"""What is added to an exponent to make it positive."""

Constants = tuple[float, float]
"""A constant rounded to a float, and what that leaves; or two bounds."""


def clamped(x: Number, low: float, high: float) -> Number:
    """A float between bounds; NaN stays."""
    return x.otherwise_at([(x < low, low), (x > high, high)])


def nearest(x: Number, factor: Number | float) -> tuple[Number, Number]:
    """The nearest whole number to `x * factor`, as an integer and as a float; NaN gives any integer, and NaN.

    Adding 1.5 times a power of two leaves it in the last bits.
    """
    magic = 1.5 * 2.0 ** MANTISSA[x.bits]
    shifted = x.fma(factor, magic)
    return shifted.as_bits() - x.code.number(magic, x.type).as_bits(), shifted - magic


def power_of_two(exponent: Number) -> Number:
    """2 to a whole power of normal size."""
    bits = exponent.bits
    return ((exponent + BIAS[bits]) << MANTISSA[bits]).as_float(f32 if bits == 32 else f64)


def scaled(x: Number, exponent: Number) -> Number:
    """`x` times 2 to a whole power, in two steps: the first is exact, so that the result is rounded once."""
    half = exponent.shift_signed(1)
    return x * power_of_two(half) * power_of_two(exponent - half)


def logarithm_edges(x: Number, value: Number) -> Number:
    """A logarithm, where the number is not positive, not finite or no number too."""
    return value.otherwise_at(
        [(x.equals(INFINITY), INFINITY), (x.equals(0.0), -INFINITY), (~(x >= 0.0), NAN)]
    )


def reciprocal_root(x: Number) -> Number:
    """The reciprocal of the square root; within 2 ulp."""
    return 1.0 / x.root()


@dataclass(frozen=True)
class Exponentials:
    """The exponential functions of a type: its constants, and bounds beyond which results are 0 or infinite."""

    log2_e: float
    ln_2: Constants
    exp_terms: tuple[float, ...]
    """The polynomial for (e**r - 1 - r) / r**2 where |r| <= ln(2) / 2, the highest power first."""
    exp2_terms: tuple[float, ...]
    """The polynomial for (2**r - 1) / r where |r| <= 1/2."""
    bounds: Constants
    """Of a power of e."""
    bounds_of_two: Constants
    tiny: float
    """Where e**x - 1 is x, but for its rounding."""

    def exp(self, x: Number) -> Number:
        """e to this power; within 1.1 ulp."""
        exponent, beyond = self._reduced(clamped(x, *self.bounds))
        return scaled(beyond + 1.0, exponent)

    def half_exp(self, x: Number) -> Number:
        """Half of e to this power, which is not negative: infinite later than the whole."""
        exponent, beyond = self._reduced(clamped(x, 0.0, self.bounds[1] + 2.0))
        return scaled(beyond + 1.0, exponent - 1)

    def exp2(self, x: Number) -> Number:
        """2 to this power; within 1 ulp."""
        x = clamped(x, *self.bounds_of_two)
        exponent, n = nearest(x, 1.0)
        r = x - n
        return scaled(r.polynomial(*self.exp2_terms).fma(r, 1.0), exponent)

    def expm1(self, x: Number) -> Number:
        """e to this power, less 1; within 2 ulp."""
        exponent, beyond = self._reduced(clamped(x, -40.0, self.bounds[1]))
        half = power_of_two(
            exponent - 1
        )  # of 2 to the power, which is infinite earlier than the result
        value = beyond.fma(half, half - 0.5)
        value = exponent.equals(0).choose(beyond, value + value)
        return (x.magnitude() < self.tiny).choose(x, value)

    def _reduced(self, x: Number) -> tuple[Number, Number]:
        """A whole number n and `e**r - 1`, where x is n * ln(2) + r."""
        exponent, n = nearest(x, self.log2_e)
        high, low = self.ln_2
        r = n.fma(-low, n.fma(-high, x))
        return exponent, (r * r).fma(r.polynomial(*self.exp_terms), r)
