"""Functions of f64, and those of f32 that go through f64: sequences of exact operations, the same bits everywhere.

Each formula says how far its result is from the true one, in units of its last place (ulp) where the true result is
normal, as measured by test/unit/lowering/test_lower_mathematics.py. Methods are those of fdlibm (Sun, 1993) and of
Muller and others, "Handbook of Floating-Point Arithmetic"; the polynomials are minimax, by the exchange algorithm of
Remez.
"""

from __future__ import annotations

from math import factorial

from xdsl.dialects.builtin import f64

from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.dialects import llvm_intrinsics as intrinsics
from coconet_ir.lowering.device.exponentials import (
    INFINITY,
    NAN,
    Constants,
    Exponentials,
    clamped,
    logarithm_edges,
)
from coconet_ir.lowering.device.number import Number

LOG2_E, LOG2_E_LOW = 1.4426950408889634, 2.0355273740931033e-17
LN_2, LN_2_LOW = 0.6931471805599453, 2.3190468138462996e-17
LOG10_2, LOG10_2_LOW = 0.3010299956639812, -2.8037281277851704e-18
LOG10_E, LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17

EXPONENTIALS = Exponentials(
    log2_e=LOG2_E,
    ln_2=(LN_2, LN_2_LOW),
    exp_terms=(
        2.0826538100065184e-09, 2.511214451506713e-08, 2.7557582789711164e-07, 2.7557234558735055e-06,
        2.4801586924611755e-05, 0.00019841269896680975, 0.0013888888889117261, 0.008333333333316918,
        0.04166666666666609, 0.16666666666666682, 0.5,
    ),
    exp2_terms=(
        2.5625404582521282e-11, 4.4565705120258354e-10, 7.054974490909185e-09, 1.0178051941964211e-07,
        1.3215486594875149e-06, 1.525273385431819e-05, 0.0001540353039364077, 0.001333355814639269,
        0.00961812910762833, 0.05550410866482169, 0.24022650695910072, 0.6931471805599453,
    ),
    bounds=(-746.0, 710.0),
    bounds_of_two=(-1076.0, 1025.0),
    tiny=2.0**-54,
)  # fmt: skip
expm1, exp2 = EXPONENTIALS.expm1, EXPONENTIALS.exp2

# (sinh(x) - x) / x**3, by x**2, where |x| <= 1: the series of Taylor, to 2**-65
_SINH = tuple(1 / factorial(n) for n in range(19, 2, -2))

# erf(x) / x - 1, by x**2, where |x| <= 7/8, and -log((1 - erf(x)) / (1 - erf(1))) / (x - 1), by x - 1, where
# 7/8 <= x <= 6
_ERF = (
    -8.669741859108362e-10, 1.4124237930949308e-08, -1.6289508346470796e-07, 1.6456634926008232e-06,
    -1.492538894686259e-05, 0.00012055324633295944, -0.0008548326847576386, 0.0052239776230904224,
    -0.026866170644945564, 0.11283791670954368, -0.3761263890318374, 0.1283791670955126,
)  # fmt: skip
_ERF_TAIL = (
    2.1442190568183168e-13, -6.462884596160967e-12, 9.104256582166513e-11, -7.974106898904069e-10,
    4.852118387600481e-09, -2.1459153392407398e-08, 6.786761608293755e-08, -1.2614799917087825e-07,
    -1.0392178630774265e-07, 2.0197160411954177e-06, -9.577946035059998e-06, 2.714132930101334e-05,
    -2.6270414420808516e-05, -0.00023732470743208486, 0.0019779030223919546, -0.010033825434427877,
    0.04156109804651433, 0.8431072563584865, 2.6389675142347913,
)  # fmt: skip
_BEYOND_ERF_OF_1 = 0.15729920705028513

# (2 artanh(s) - 2 s) / s**3, by s**2, where (1 + s) / (1 - s) is between the roots of 1/2 and 2
_LOG = (
    0.14799068577991117, 0.1531375545881059, 0.18183575179622938, 0.2222219837815537,
    0.28571428744145005, 0.3999999999940747, 0.6666666666666735,
)  # fmt: skip


def _logarithm(x: Number, f: Number) -> tuple[Number, Number]:
    """log(1 + f) as a sum of two, the first of which is `f` less half of its square."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    first = f - half
    rest = (f - first) - half
    return first, s.fma(half + z * z.polynomial(*_LOG), rest)


def split(x: Number) -> tuple[Number, Number]:
    """A positive number as 2**k (1 + f), k as a float; 1 + f is between the roots of 1/2 and 2."""
    tiny = x < 2.0**-1022
    k, f = _split(tiny.choose(x * 2.0**54, x))
    return tiny.choose(k - 54.0, k), f


def _split(x: Number) -> tuple[Number, Number]:
    """What `split` gives, of a normal number."""
    raw = x.as_bits()
    exponent = (raw - 0x3FE6A09E667F3BCD) & ~((1 << 52) - 1)
    mantissa = (raw - exponent).as_float(f64)
    return exponent.shift_signed(52).cast(casts.SIToFPOp, f64), mantissa - 1.0


def _logarithm_of(x: Number, base_2: Constants, scale: Constants | None) -> Number:
    """A logarithm: that of 2, in two parts, and that of e, where it is not 1."""
    k, f = split(x)
    first, rest = _logarithm(x, f)
    if scale is not None:
        high, low = scale
        product = first * high
        rest = (first.fma(high, -product)) + first.fma(low, rest * high)
        first = product
    return logarithm_edges(x, _with_twos(k, base_2, first, rest))


def _with_twos(k: Number, base_2: Constants, first: Number, rest: Number) -> Number:
    """A logarithm in two parts, and `k` times that of 2."""
    whole = k * base_2[0]
    total = whole + first
    # Of two numbers, the second less than the first or the first 0, the sum and its error (Dekker).
    error = (whole - total) + first + (k.fma(base_2[0], -whole) + k * base_2[1])
    return total + (rest + error)


def log_of_sum(x: Number, low: Number, twos: Number | float) -> Number:
    """The natural logarithm of `(x + low) * 2**twos`, of a normal number and a far smaller one."""
    k, f = _split(x)
    first, rest = _logarithm(x, f)
    return _with_twos(k + twos, (LN_2, LN_2_LOW), first, rest + low / x)


def log(x: Number) -> Number:
    """The natural logarithm; within 1 ulp."""
    return _logarithm_of(x, (LN_2, LN_2_LOW), None)


def log2(x: Number) -> Number:
    """The logarithm to base 2; within 1 ulp."""
    return _logarithm_of(x, (1.0, 0.0), (LOG2_E, LOG2_E_LOW))


def log10(x: Number) -> Number:
    """The logarithm to base 10; within 1 ulp."""
    return _logarithm_of(x, (LOG10_2, LOG10_2_LOW), (LOG10_E, LOG10_E_LOW))


def log1p(x: Number) -> Number:
    """The natural logarithm of 1 and this; within 1 ulp."""
    u = x + 1.0
    k, f = _split(u)
    # What rounding 1 + x lost, by u; where k is 0 nothing is, as f is x itself.
    lost = (x > 1.0).choose(1.0 - (u - x), x - (u - 1.0)) / u
    near = k.equals(0.0)
    f, lost = near.choose(x, f), near.choose(0.0, lost)
    first, rest = _logarithm(x, f)
    whole = k * LN_2
    total = whole + first
    error = (whole - total) + first + (k.fma(LN_2, -whole) + k.fma(LN_2_LOW, lost))
    value = logarithm_edges(u, total + (rest + error))
    return (x.magnitude() < 2.0**-54).choose(x, value)


def sinh(x: Number) -> Number:
    """The hyperbolic sine; within 2 ulp."""
    size, square = x.magnitude(), x * x
    half = EXPONENTIALS.half_exp(size)
    large = half - 0.25 / half
    small = (size * square).fma(square.polynomial(*_SINH), size)
    return (size < 1.0).choose(small, large).signed_as(x)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine; within 2 ulp."""
    half = EXPONENTIALS.half_exp(x.magnitude())
    return half + 0.25 / half


def tanh(x: Number) -> Number:
    """The hyperbolic tangent; within 2 ulp."""
    t = expm1(clamped(x.magnitude() * 2.0, 0.0, 100.0))
    total = t + 2.0
    lost = t - (total - 2.0)
    quotient = t / total
    error = quotient.fma(-total, t) - quotient * lost
    return (quotient + error / total).signed_as(x)


def erf(x: Number) -> Number:
    """The error function; within 1 ulp."""
    size, square = x.magnitude(), x * x
    small = square.polynomial(*_ERF).fma(x, x)
    beyond = clamped(size, 0.0, 6.0) - 1.0
    tail = EXPONENTIALS.exp(-(beyond * beyond.polynomial(*_ERF_TAIL)))
    large = tail.fma(-_BEYOND_ERF_OF_1, 1.0)
    return (size > 0.875).choose(large.signed_as(x), small)


def cbrt(x: Number) -> Number:
    """The cube root; within 1 ulp."""
    size = x.magnitude()
    tiny = size < 2.0**-1022
    a = tiny.choose(size * 2.0**54, size)
    # A third of the exponent, and a line through the mantissas: within 6 % (Kahan).
    third = _third(a.as_bits()) + 0x2A9F7893782DA1CE
    root = third.as_float(f64)
    for _ in range(4):
        square = root * root
        step = root.fma(square, -a) / (square * 3.0)
        root = root - step
    root = tiny.choose(root * 2.0**-18, root)
    edge = size.equals(0.0) | ~(size < INFINITY)
    return edge.choose(x, root.signed_as(x))


def _third(raw: Number) -> Number:
    """A third of a positive integer: of its upper half, which is enough for a first guess."""
    return ((raw >> 32) * 0x55555556 >> 32) << 32


def remainder(x: Number, y: Number) -> Number:
    """What is left of `x` by division rounded towards 0, exactly, where both come from f32.

    Their quotient is less than 2**277: ten steps take off what is 28 bits of it, each exactly, as a remainder has no
    more bits than f32, and a quotient no more than 29. A step's quotient may be one too large, the last one too small.
    """
    size, divisor = x.magnitude(), y.magnitude()
    inverse, rest = 1.0 / divisor, size
    for step in range(252, -1, -28):
        part = divisor * 2.0**step
        quotient = (rest * 2.0**-step * inverse).function(intrinsics.FTruncOp)
        rest = quotient.fma(-part, rest)
        rest = (rest < 0.0).choose(rest + part, rest)
    rest = (rest >= divisor).choose(rest - divisor, rest)
    whole = divisor.equals(INFINITY) & (size < INFINITY)
    return whole.choose(x, rest.signed_as(x))


def power(x: Number, y: Number) -> Number:
    """`x` to the `y`, where both come from f32: to 2**-40, so that rounding to f32 is within 1 ulp of that."""
    size = x.magnitude()
    logarithm = log2(size)
    exponent = logarithm * y
    one = logarithm.equals(0.0) | y.equals(0.0)
    value = exp2(one.choose(0.0, exponent))
    return of_signed_base(value, x, y)


def of_signed_base(value: Number, x: Number, y: Number) -> Number:
    """`x` to the `y`, of what the size of `x` is to the `y`."""
    whole = y.function(intrinsics.FTruncOp).equals(y)
    half = y * 0.5
    odd = whole & half.function(intrinsics.FTruncOp).differs(half)
    negative = x.as_bits() < 0
    value = (odd & negative).choose(-value, value)
    undefined = (x < 0.0) & (x > -INFINITY) & ~whole
    return undefined.choose(NAN, value)
