"""Functions of f32 that kernels use most: sequences of exact operations on f32, the same bits everywhere.

Each formula says how far its result is from the true one at most, in units of its last place (ulp), subnormal results
included; this was measured over all numbers, and test/unit/lowering/test_lower_mathematics.py measures some. The
polynomials are minimax, by the exchange algorithm of Remez, their coefficients rounded to f32.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.lowering.device.exponentials import Exponentials, clamped, logarithm_edges
from coconet_ir.lowering.device.number import Number

LOG2_E, LOG2_E_LOW = 1.4426950216293335, 1.925963033500011e-08
LN_2, LN_2_LOW = 0.6931471824645996, -1.9046542121259336e-09

_TWO_THIRDS = 0x3F2AAAAB
"""The bits of 2/3."""

_EXPONENT = ~((1 << 23) - 1)
"""The bits above the mantissa."""

EXPONENTIALS = Exponentials(
    log2_e=LOG2_E,
    ln_2=(LN_2, LN_2_LOW),
    exp_terms=(
        0.0013813161058351398, 0.008369418792426586, 0.04166845604777336, 0.16666515171527863,
        0.4999999403953552,
    ),
    exp2_terms=(
        0.0001535336341476068, 0.0013398873852565885, 0.00961843691766262, 0.055503323674201965,
        0.24022647738456726, 0.6931471824645996,
    ),
    bounds=(-104.0, 89.0),
    bounds_of_two=(-151.0, 129.0),
    tiny=2.0**-25,
)  # fmt: skip
exp = EXPONENTIALS.exp

# (log(1 + f) - f + f**2 / 2) / f**3 where |f| <= 1/3
_LOG = (
    0.12007146328687668, -0.1284506618976593, 0.10754237323999405, -0.12195776402950287,
    0.14304456114768982, -0.1667957901954651, 0.1999959796667099, -0.24999819695949554,
    0.3333333432674408,
)  # fmt: skip

# (tanh(x) - x) / x**3, by x**2, where |x| < 9/16
_TANH = (
    -0.006167532876133919, 0.0209996048361063, -0.05383577570319176, 0.13332439959049225,
    -0.3333331346511841,
)  # fmt: skip

# erf(x) / x - 1, by x**2, where |x| <= 1, and -log(1 - erf(x)) where 0.95 <= x <= 4
_ERF = (
    7.889127300586551e-05, -0.0008020843961276114, 0.005189535673707724, -0.026854444295167923,
    0.11283600330352783, -0.3761262595653534, 0.12837916612625122,
)  # fmt: skip
_ERF_TAIL = (
    -9.572850103722885e-07, 1.5341545804403722e-05, -8.538713154848665e-05, -1.4063553862797562e-05,
    0.003129872726276517, -0.023440618067979813, 0.10651641339063644, 0.6345119476318359,
    1.1290754079818726, -0.00010247795580653474,
)  # fmt: skip


def _logarithm(f: Number) -> Number:
    """log(1 + f) where |f| <= 1/3."""
    return f.polynomial(*_LOG).fma(f, -0.5).fma(f * f, f)


def _split(x: Number) -> tuple[Number, Number]:
    """A positive number as 2**k (1 + f), k as a float; |f| <= 1/3."""
    tiny = x < 2.0**-126
    raw = tiny.choose(x * 2.0**23, x).as_bits()
    exponent = (raw - _TWO_THIRDS) & _EXPONENT
    k = exponent.shift_signed(23).cast(casts.SIToFPOp, f32)
    return tiny.choose(k - 23.0, k), (raw - exponent).as_float(f32) - 1.0


def log(x: Number) -> Number:
    """The natural logarithm; within 1 ulp."""
    k, f = _split(x)
    return logarithm_edges(x, k.fma(LN_2, _logarithm(f)))


def log2(x: Number) -> Number:
    """The logarithm to base 2; within 2 ulp."""
    k, f = _split(x)
    part = _logarithm(f)
    return logarithm_edges(x, part.fma(LOG2_E, part.fma(LOG2_E_LOW, k)))


def log1p(x: Number) -> Number:
    """The natural logarithm of 1 and this; within 2 ulp."""
    u = x + 1.0
    exponent = (u.as_bits() - _TWO_THIRDS) & _EXPONENT
    k = exponent.shift_signed(23).cast(casts.SIToFPOp, f32)
    shrunk = (x.as_bits() - exponent).as_float(f32)  # x / 2**k
    four = (x.code.number(0x40800000, exponent.type) - exponent).as_float(f32)  # 4 / 2**k
    f = shrunk + four.fma(0.25, -1.0)
    value = logarithm_edges(u, k.fma(LN_2, _logarithm(f)))
    return (x.magnitude() < 2.0**-25).choose(x, value)


def tanh(x: Number) -> Number:
    """The hyperbolic tangent; within 2 ulp."""
    size = x.magnitude()
    square = x * x
    small = (x * square).fma(square.polynomial(*_TANH), x)
    large = 1.0 - 2.0 / (exp(size + size) + 1.0)
    return (size < 0.5625).choose(small, large).signed_as(x)


def erf(x: Number) -> Number:
    """The error function; within 2 ulp."""
    size = x.magnitude()
    square = x * x
    small = square.polynomial(*_ERF).fma(x, x)
    large = 1.0 - exp(-clamped(size, 0.0, 4.0).polynomial(*_ERF_TAIL))
    return (size > 1.0).choose(large.signed_as(x), small)
