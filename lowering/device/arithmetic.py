"""What the operations of `arith`, and the exact ones of `math`, become: formulas that give the bits of the simulator.

Where upstream leaves a result open, it is here as in the simulator: shifting by the width or more shifts everything
out, and the least number divided by -1 is itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import IntegerType

from coconet_ir.dialects import llvm_arith as arith
from coconet_ir.dialects import llvm_intrinsics as intrinsics
from coconet_ir.lowering.device import quotients
from coconet_ir.lowering.device.number import Number

Formula = Callable[..., Number]
"""From operands to the result, all integers, or all floats of one type."""


# Integers


def _guarded(y: Number) -> tuple[Number, Number]:
    """Whether a divisor is -1, and the divisor with 1 instead."""
    minus = y.equals(-1)
    return minus, minus.choose(1, y)


def divide(x: Number, y: Number) -> Number:
    """The quotient towards 0."""
    minus, divisor = _guarded(y)
    return minus.choose(-x, x.integer(arith.SDivOp, divisor))


def remainder(x: Number, y: Number) -> Number:
    """The remainder of `divide`, with the sign of `x`."""
    return x.integer(arith.SRemOp, _guarded(y)[1])


def _floor_divide(x: Number, y: Number) -> Number:
    quotient = divide(x, y)
    inexact = (quotient * y).differs(x)
    down = inexact & ((x ^ y) < 0)
    return quotient - down.zero_extended(_type(x))


def _ceil_divide(x: Number, y: Number) -> Number:
    quotient = divide(x, y)
    inexact = (quotient * y).differs(x)
    up = inexact & ((x ^ y) >= 0)
    return quotient + up.zero_extended(_type(x))


def _ceil_divide_unsigned(x: Number, y: Number) -> Number:
    quotient = x.integer(arith.UDivOp, y)
    inexact = (quotient * y).differs(x)
    return quotient + inexact.zero_extended(_type(x))


def _type(x: Number) -> IntegerType:
    return IntegerType(x.bits)


def _shift_left(x: Number, y: Number) -> Number:
    return y.below(x.bits).choose(x << y, 0)


def _shift_right(x: Number, y: Number) -> Number:
    return y.below(x.bits).choose(x >> y, 0)


def _shift_right_signed(x: Number, y: Number) -> Number:
    last = x.bits - 1
    return x.shift_signed(y.below(x.bits).choose(y, last))


def _integer(op: type[arith.IntegerBinary]) -> Formula:
    def formula(x: Number, y: Number) -> Number:
        return x.integer(op, y)

    return formula


def _magnitude(x: Number) -> Number:
    return x.put(intrinsics.AbsOp(x.value))


def _leading_zeros(x: Number) -> Number:
    return ~x if x.bits == 1 else x.put(intrinsics.CountLeadingZerosOp(x.value))


def _trailing_zeros(x: Number) -> Number:
    return ~x if x.bits == 1 else x.put(intrinsics.CountTrailingZerosOp(x.value))


def _population(x: Number) -> Number:
    return x.put(intrinsics.CtPopOp(x.value))


def _power(x: Number, y: Number) -> Number:
    """`x` to the `y`, wrapping, by squaring; a negative exponent gives the whole part of the true power."""
    one = x.code.number(1, x.type)
    result, base = one, x
    for bit in range(x.bits):
        result = (y & (1 << bit)).differs(0).choose(result * base, result)
        base = base * base
    odd = (y & 1).differs(0).choose(x, one)
    unit = x.equals(1) | x.equals(-1)
    return (y < 0).choose(unit.choose(odd, 0), result)


def product(x: Number, y: Number, *, signed: bool) -> tuple[Number, Number]:
    """The low and the high half of a product."""
    wide = IntegerType(2 * x.bits)
    a, b = ((n.sign_extended(wide) if signed else n.zero_extended(wide)) for n in (x, y))
    whole = a * b
    half = x.code.number(x.bits, x.type).zero_extended(wide)  # xDSL has no constant vectors of i128
    return whole.low_bits(_type(x)), (whole >> half).low_bits(_type(x))


def sum_and_carry(x: Number, y: Number) -> tuple[Number, Number]:
    """The sum of unsigned integers, and whether it wrapped."""
    total = x + y
    return total, total.below(x)


# Floats


def _float(op: type[arith.FloatBinary]) -> Formula:
    def formula(x: Number, y: Number) -> Number:
        return x.put(op(x.value, y.value))

    return formula


def _number(op: type[arith.FloatBinary]) -> Formula:
    """The extreme of two numbers, of which one may be NaN; LLVM's own leaves open which of -0 and +0 it is."""

    def formula(x: Number, y: Number) -> Number:
        return _float(op)(x, y).otherwise_at([(y.is_nan(), x), (x.is_nan(), y)])

    return formula


def _function(op: type[intrinsics.FloatFunction]) -> Formula:
    def formula(x: Number) -> Number:
        return x.function(op)

    return formula


def _copy_sign(x: Number, y: Number) -> Number:
    """`x` with the sign of `y`; a NaN counts as positive."""
    return y.is_nan().choose(x.magnitude(), x.signed_as(y))


INTEGERS: Mapping[str, Formula] = {
    "arith.addi": Number.__add__,
    "arith.subi": Number.__sub__,
    "arith.muli": Number.__mul__,
    "arith.divsi": divide,
    "arith.divui": _integer(arith.UDivOp),
    "arith.floordivsi": _floor_divide,
    "arith.ceildivsi": _ceil_divide,
    "arith.ceildivui": _ceil_divide_unsigned,
    "arith.remsi": remainder,
    "arith.remui": _integer(arith.URemOp),
    "arith.andi": Number.__and__,
    "arith.ori": Number.__or__,
    "arith.xori": Number.__xor__,
    "arith.shli": _shift_left,
    "arith.shrui": _shift_right,
    "arith.shrsi": _shift_right_signed,
    "arith.maxsi": _integer(intrinsics.SMaxOp),
    "arith.minsi": _integer(intrinsics.SMinOp),
    "arith.maxui": _integer(intrinsics.UMaxOp),
    "arith.minui": _integer(intrinsics.UMinOp),
    "math.absi": _magnitude,
    "math.ctlz": _leading_zeros,
    "math.cttz": _trailing_zeros,
    "math.ctpop": _population,
    "math.ipowi": _power,
}
"""Operations on integers of one type."""

EXACT: Mapping[str, Formula] = {
    "arith.addf": Number.__add__,
    "arith.subf": Number.__sub__,
    "arith.mulf": Number.__mul__,
    "arith.negf": Number.__neg__,
    "arith.maximumf": _float(intrinsics.MaximumOp),
    "arith.minimumf": _float(intrinsics.MinimumOp),
    "arith.maxnumf": _number(intrinsics.MaximumOp),
    "arith.minnumf": _number(intrinsics.MinimumOp),
    "math.absf": Number.magnitude,
    "math.ceil": _function(intrinsics.CeilOp),
    "math.copysign": _copy_sign,
    "math.floor": _function(intrinsics.FloorOp),
    "math.fma": Number.fma,
    "math.round": _function(intrinsics.RoundOp),
    "math.roundeven": _function(intrinsics.RoundEvenOp),
    "math.trunc": _function(intrinsics.FTruncOp),
}
"""Operations on floats that devices round once, in any type that they compute with."""

WIDENED: Mapping[str, Formula] = {
    "arith.divf": quotients.divide,
    "math.sqrt": Number.root,
}
"""Operations that f32 computes for floats of 16 bits, as if rounded once: it has more than twice as many."""
