"""Scalars and vectors of elements: their types, numbers of a type, and conversions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.vector import BroadcastOp, ExtractOp, InsertOp
from xdsl.ir import Attribute, SSAValue

from coconet_ir.dialects.arith import ExtFOp, ExtSIOp, TruncFOp, TruncIOp
from coconet_ir.dialects.elements import is_float
from coconet_ir.dialects.elementwise import element, with_element
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.nodes import ConstantAttr


def width_of(value: SSAValue) -> int | None:
    """The elements of a vector, None for a scalar."""
    if value.type.__class__ is not VectorType:
        return None
    (width,) = cast(VectorType[Attribute], value.type).get_shape()
    return width


def element_of(value: SSAValue) -> Attribute:
    """The type of a scalar, or of the elements of a vector."""
    return element(value.type)


def number_of(type: Attribute, number: float) -> ConstantAttr:
    """A number of a type."""
    if isinstance(type, AnyFloat):
        return FloatAttr(number, type)
    return IntegerAttr(int(number), cast(IntegerType | IndexType, type))


def wide(code: Code, value: SSAValue, width: int | None) -> SSAValue:
    """A vector of `width` times a scalar; the value itself if it is a vector, or if the width is None."""
    if width is None or width_of(value) is not None:
        return value
    return code.put(BroadcastOp(value, VectorType(value.type, [width])))


def packed(code: Code, values: Iterable[SSAValue]) -> SSAValue:
    """A vector of scalars."""
    first, *rest = values
    vector = wide(code, first, len(rest) + 1)
    for lane, value in enumerate(rest, 1):
        vector = code.put(InsertOp(value, vector, [lane]))
    return vector


def lanes(code: Code, value: SSAValue) -> list[SSAValue]:
    """The elements of a vector; a scalar is its own."""
    if (width := width_of(value)) is None:
        return [value]
    type = element_of(value)
    return [code.put(ExtractOp(value, [lane], type)) for lane in range(width)]


def like(code: Code, value: SSAValue, number: float) -> SSAValue:
    """A number in the type of a value."""
    return wide(code, code.constant(number_of(element_of(value), number)), width_of(value))


def convert(code: Code, value: SSAValue, to: Attribute) -> SSAValue:
    """Elements in another type of their class: floats rounded once, integers by their sign."""
    have = element_of(value)
    if have == to:
        return value
    type, wider = with_element(value.type, to), bits(to) > bits(have)
    if is_float(to):
        return code.put(ExtFOp(value, type) if wider else TruncFOp(value, type))
    return code.put(ExtSIOp(value, type) if wider else TruncIOp(value, type))
