"""The conversions of `arith`, element by element, as upstream MLIR 22 writes them."""

from __future__ import annotations

import abc

from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.elementwise import (
    BITS,
    FLOAT,
    INTEGER,
    INTEGER_OR_INDEX,
    element,
    same_frame,
    width,
    with_element,
)

NO_OVERFLOW_FLAGS = IntegerOverflowAttr("none")


class Cast(IRDLOperation, abc.ABC):
    """A conversion, element by element; shape and encoding stay."""

    input = operand_def()
    result = result_def()

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=(input,), result_types=(result_type,))

    def verify_(self) -> None:
        source, target = self.input.type, self.result.type
        if not same_frame(source, target):
            raise VerifyException(
                f"expected the result {with_element(source, element(target))}, in the shape and "
                f"layout of the operand {source}, but got {target}"
            )
        if (problem := self.element_problem(element(source), element(target))) is not None:
            raise VerifyException(problem)

    def element_problem(self, source: Attribute, target: Attribute) -> str | None:
        """Why this conversion makes no element `target` of an element `source`, or None."""
        return None


class _Widening(Cast, abc.ABC):
    def element_problem(self, source: Attribute, target: Attribute) -> str | None:
        return None if width(target) > width(source) else f"{target} is not wider than {source}"


class _Narrowing(Cast, abc.ABC):
    def element_problem(self, source: Attribute, target: Attribute) -> str | None:
        return None if width(target) < width(source) else f"{target} is not narrower than {source}"


class _IndexCast(Cast, abc.ABC):
    input = operand_def(INTEGER_OR_INDEX)
    result = result_def(INTEGER_OR_INDEX)

    def element_problem(self, source: Attribute, target: Attribute) -> str | None:
        if isinstance(source, IndexType) != isinstance(target, IndexType):
            return None
        return f"one of operand and result must be index, but they are {source} and {target}"


@irdl_op_definition
class SIToFPOp(Cast):
    """`arith.sitofp %i : i32 to f32`: signed integers to floats, rounded to the nearest."""

    name = "arith.sitofp"

    input = operand_def(INTEGER)
    result = result_def(FLOAT)

    traits = traits_def(Pure())


@irdl_op_definition
class UIToFPOp(Cast):
    """`arith.uitofp %i : i32 to f32`: unsigned integers to floats, rounded to the nearest."""

    name = "arith.uitofp"

    input = operand_def(INTEGER)
    result = result_def(FLOAT)

    traits = traits_def(Pure())


@irdl_op_definition
class FPToSIOp(Cast):
    """`arith.fptosi %f : f32 to i32`: floats to signed integers, rounded towards 0."""

    name = "arith.fptosi"

    input = operand_def(FLOAT)
    result = result_def(INTEGER)

    traits = traits_def(Pure())


@irdl_op_definition
class FPToUIOp(Cast):
    """`arith.fptoui %f : f32 to i32`: floats to unsigned integers, rounded towards 0."""

    name = "arith.fptoui"

    input = operand_def(FLOAT)
    result = result_def(INTEGER)

    traits = traits_def(Pure())


@irdl_op_definition
class ExtSIOp(_Widening):
    """`arith.extsi %i : i8 to i32`: widen signed integers."""

    name = "arith.extsi"

    input = operand_def(INTEGER)
    result = result_def(INTEGER)

    traits = traits_def(Pure())


@irdl_op_definition
class ExtUIOp(_Widening):
    """`arith.extui %i : i8 to i32`: widen unsigned integers."""

    name = "arith.extui"

    input = operand_def(INTEGER)
    result = result_def(INTEGER)

    traits = traits_def(Pure())


@irdl_op_definition
class TruncIOp(_Narrowing):
    """`arith.trunci %i : i32 to i8`: keep the low bits of integers."""

    name = "arith.trunci"

    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    overflow_flags = prop_def(
        IntegerOverflowAttr, prop_name="overflowFlags", default_value=NO_OVERFLOW_FLAGS
    )

    traits = traits_def(Pure())

    assembly_format = (
        "$input (`overflow` `` $overflowFlags^)? attr-dict `:` type($input) `to` type($result)"
    )


@irdl_op_definition
class ExtFOp(_Widening):
    """`arith.extf %f : f16 to f32`: widen floats, exactly."""

    name = "arith.extf"

    input = operand_def(FLOAT)
    result = result_def(FLOAT)
    fastmath = opt_prop_def(FastMathFlagsAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"
    )


@irdl_op_definition
class TruncFOp(_Narrowing):
    """`arith.truncf %f : f32 to f16`: narrow floats, rounded to the nearest."""

    name = "arith.truncf"

    input = operand_def(FLOAT)
    result = result_def(FLOAT)
    fastmath = opt_prop_def(FastMathFlagsAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"
    )


@irdl_op_definition
class IndexCastOp(_IndexCast):
    """`arith.index_cast %i : i32 to index`: index to or from a signed integer."""

    name = "arith.index_cast"

    traits = traits_def(Pure())


@irdl_op_definition
class IndexCastUIOp(_IndexCast):
    """`arith.index_castui %i : i32 to index`: index to or from an unsigned integer."""

    name = "arith.index_castui"

    traits = traits_def(Pure())


@irdl_op_definition
class BitcastOp(Cast):
    """`arith.bitcast %f : f32 to i32`: the same bits as another type of equal width."""

    name = "arith.bitcast"

    input = operand_def(BITS)
    result = result_def(BITS)

    traits = traits_def(Pure())

    def element_problem(self, source: Attribute, target: Attribute) -> str | None:
        if width(source) == width(target):
            return None
        return f"{source} and {target} have different numbers of bits"
