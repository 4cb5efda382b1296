"""Division of the lanes of a vector of f32 by one number: one reciprocal, and one branch for all lanes.

A division rounded once takes a branch a lane, for numbers that are very large or small; in a row these leave little
that runs at once.
"""

from __future__ import annotations

from functools import reduce

from xdsl.dialects.builtin import VectorType, f32, i32
from xdsl.ir import SSAValue

from coconet_ir.dialects.llvm_types import array_numbers
from coconet_ir.dialects.llvm_values import (
    ExtractElementOp,
    InsertElementOp,
    PoisonOp,
    ShuffleVectorOp,
)
from coconet_ir.lowering.device.number import Code, Number

_LARGE = 2.0**60
"""Quotients of numbers up to this, and of what they leave, neither overflow nor underflow."""


def spread(code: Code, value: SSAValue, lanes: int) -> SSAValue:
    """A vector with the same value in each lane."""
    blank = code.put(PoisonOp(VectorType(value.type, [lanes])))
    first = code.put(InsertElementOp(blank, value, code.constant(0, i32)))
    return code.put(ShuffleVectorOp(first, blank, [0] * lanes))


def _spread_from(value: SSAValue) -> SSAValue | None:
    """What `spread` has spread, None for another value."""
    op = value.owner
    if not isinstance(op, ShuffleVectorOp) or any(array_numbers(op.mask)):
        return None
    first = op.v1.owner
    return first.value if isinstance(first, InsertElementOp) else None


def divide(x: Number, y: Number) -> Number:
    """The quotient, rounded once."""
    one = _spread_from(y.value)
    if one is None or one.type != f32:
        return x / y
    divisor, lanes = Number(x.code, one), _lanes(x)
    moderate = _is_moderate(divisor) & _is_moderate(*lanes)
    quick = _by_reciprocal(x, divisor, y)
    return x.code.unless(moderate, quick, lambda: _one_by_one(lanes, x, divisor))


def _one_by_one(lanes: list[Number], x: Number, divisor: Number) -> Number:
    """Each lane divided; LLVM would compute one division of vectors before it knows whether it must."""
    for place, lane in enumerate(lanes):
        quotient, index = lane / divisor, x.code.constant(place, i32)
        x = x.put(InsertElementOp(x.value, quotient.value, index))
    return x


def _by_reciprocal(x: Number, divisor: Number, y: Number) -> Number:
    """`x / y` from 1 / y.

    The first correction leaves less than 1 ulp. After that the second one rounds as division does, because the
    reciprocal is rounded once: Markstein, "Computation of elementary functions on the IBM RISC System/6000
    processor", IBM Journal of Research and Development 34 (1990).
    """
    inverse = Number(x.code, spread(x.code, (1.0 / divisor).value, x.lanes))
    quotient = x * inverse
    for _ in range(2):
        rest = (-quotient).fma(y, x)
        quotient = rest.fma(inverse, quotient)
    return quotient


def _lanes(x: Number) -> list[Number]:
    code = x.code
    places = [code.constant(lane, i32) for lane in range(x.lanes)]
    return [x.put(ExtractElementOp(x.value, place)) for place in places]


def _is_moderate(*numbers: Number) -> Number:
    """Whether none is 0, NaN, very large or very small."""
    sizes = [number.magnitude() for number in numbers]
    low, high = reduce(Number.smaller, sizes), reduce(Number.larger, sizes)
    return (low >= 1 / _LARGE) & (high <= _LARGE)
