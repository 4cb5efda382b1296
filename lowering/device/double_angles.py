"""The sine, cosine and tangent of f64.

Each is within 1 unit of the last place (ulp) of the true result, of angles of all sizes, as
test/unit/lowering/test_lower_mathematics.py measures. The polynomials are minimax, by the exchange algorithm of Remez.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import f64, i64

from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.lowering.device import arithmetic
from coconet_ir.lowering.device.exponentials import INFINITY, NAN, nearest
from coconet_ir.lowering.device.number import Number
from coconet_ir.lowering.device.pairs import (
    Pair,
    exact_product,
    exact_sum,
    fast_sum,
    product,
    quotient,
)

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
TWO_OVER_PI = 0.6366197723675814

_FAR = 2.0**30
"""From here on three parts of pi are not enough to take off quarters of a turn."""

# Of 2 / pi: 64 zeros before the point, then 1216 bits behind it.
_WORDS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip

# (sin(x) - x) / x**3 and (cos(x) - 1 + x**2 / 2) / x**4, by x**2, where |x| <= pi / 4
_SIN = (
    1.589681213441803e-10, -2.505075841660372e-08, 2.7557313694007596e-06, -0.00019841269829814522,
    0.008333333333322424, -0.16666666666666632,
)  # fmt: skip
_COS = (
    -1.1359622166482995e-11, 2.087572271539869e-09, -2.7557314347658017e-07, 2.4801587289463604e-05,
    -0.001388888888887409, 0.0416666666666666,
)  # fmt: skip


def _turn(x: Number) -> tuple[Number, Pair]:
    """How many quarters of a turn an angle is, an integer whose last two bits count, and the rest of the angle.

    Cody and Waite: quarters, pi / 2 in three parts each, are taken off.
    """
    count, quarters = nearest(x, TWO_OVER_PI)
    first, second, third = HALF_PI
    part = exact_product(quarters, second)
    rest, lost = exact_sum(quarters.fma(-first, x), -part.high)
    near = fast_sum(rest, quarters.fma(-third, lost - part.low))
    far = x.magnitude() >= _FAR

    def turn() -> tuple[Number, ...]:
        count, rest = _far_turn(x)
        return count, *rest

    count, high, low = x.code.where(far, turn, (count, *near))
    return count, Pair(high, low)


def _far_turn(x: Number) -> tuple[Number, Pair]:
    """What `_turn` gives, of a large angle.

    Payne and Hanek: the mantissa is multiplied by the 192 bits of 2 / pi that matter for its exponent. Those before
    them give multiples of 4; what those behind them would give is less than 2**-137, and no float is nearer than
    2**-62 to a quarter.
    """
    raw = x.magnitude().as_bits()
    mantissa = (raw & ((1 << 52) - 1)) | (1 << 52)
    first, second, third = _window((raw >> 52) - 1013)
    low, carried = arithmetic.product(mantissa, second, signed=False)
    middle = low + arithmetic.product(mantissa, third, signed=False)[1]
    carry = middle.below(low).zero_extended(i64)
    top = mantissa * first + carried + carry
    count = (top + (1 << 61)) >> 62  # to the nearest quarter
    high, low = (top << 2) | (middle >> 62), middle << 2
    sign = high.shift_signed(63)
    rest = _angle(high ^ sign, low ^ sign)
    flipped = (sign ^ x.as_bits()) & -(1 << 63)
    high, low = ((part.as_bits() ^ flipped).as_float(f64) for part in rest)
    return (x < 0.0).choose(-count, count), Pair(high, low)


def _window(start: Number) -> tuple[Number, Number, Number]:
    """The three words from a bit of `_WORDS` on."""
    words = [start.code.number(word - (word >> 63 << 64), start.type) for word in _WORDS]
    for step in (16, 8, 4, 2, 1):
        skip = (start & (64 * step)).differs(0)
        words = [
            skip.choose(words[i + step], word) if i + step < len(words) else word
            for i, word in enumerate(words[: 4 + step - 1])
        ]
    shift = start & 63
    back = 63 - shift
    first, second, third = (
        (word << shift) | (following >> 1 >> back) for word, following in pairwise(words)
    )
    return first, second, third


def _angle(high: Number, low: Number) -> Pair:
    """A part of a quarter, of 128 bits, as an angle."""
    parts = (high >> 11, ((high & 0x7FF) << 42) | (low >> 22), low & ((1 << 22) - 1))
    a, b, c = (
        part.cast(casts.SIToFPOp, f64) * 2.0**-behind
        for part, behind in zip(parts, (53, 106, 128), strict=True)
    )
    first, second, _ = HALF_PI
    half_pi = Pair(a.code.number(first, a.type), a.code.number(second, a.type))
    return fast_sum(*product(fast_sum(a, b, c), half_pi))


def _sin_cos(x: Number) -> tuple[Number, Pair, Pair]:
    """The quarters of a turn, and the sine and cosine of the rest."""
    count, (r, low) = _turn(x)
    z, lost = exact_product(r, r)
    sine = Pair(r, (r * z).fma(z.polynomial(*_SIN), (low * z).fma(-0.5, low)))
    small = (z * z).fma(z.polynomial(*_COS), r.fma(-low, lost * -0.5))
    return count, sine, fast_sum(1.0, z * -0.5, small)


def _quarter(count: Number, even: Pair, odd: Pair) -> Number:
    """One value in even quarters and another in odd ones, negative in the second half of a turn."""
    value = odd.where((count & 1).differs(0), even).total()
    return (count & 2).differs(0).choose(-value, value)


def _finite(x: Number, value: Number) -> Number:
    """A value where the angle is finite, else NaN."""
    return (x.magnitude() < INFINITY).choose(value, NAN)


def sin(x: Number) -> Number:
    """The sine."""
    count, sine, cosine = _sin_cos(x)
    return x.equals(0.0).choose(x, _finite(x, _quarter(count, sine, cosine)))


def cos(x: Number) -> Number:
    """The cosine."""
    count, sine, cosine = _sin_cos(x)
    return _finite(x, _quarter(count + 1, sine, cosine))


def tan(x: Number) -> Number:
    """The tangent."""
    count, sine, cosine = _sin_cos(x)
    sine, cosine = fast_sum(*sine), fast_sum(*cosine)
    odd = (count & 1).differs(0)
    minus = Pair(-cosine.high, -cosine.low)
    value = quotient(minus.where(odd, sine), sine.where(odd, cosine)).total()
    return (x.magnitude() < 2.0**-27).choose(x, _finite(x, value))
