"""Conversions between integers and floats of upstream MLIR's `llvm` (as of release 22), lane by lane."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
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

from coconet_ir.dialects.elementwise import same_frame, width
from coconet_ir.dialects.llvm_arith import check_overflow
from coconet_ir.dialects.llvm_types import (
    BITS,
    FLOAT,
    INTEGER,
    Overflow,
    define,
    fill,
    lane,
    vector_lanes,
)


class Cast(IRDLOperation, abc.ABC):
    """A conversion, lane by lane."""

    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue, result_type: Attribute):
        fill(self, (arg,), result_type)

    def verify_(self) -> None:
        source, target = self.arg.type, self.res.type
        if not same_frame(source, target):
            raise VerifyException(f"{source} and {target} differ in their number of lanes")
        self.check_lanes(lane(source), lane(target))

    def check_lanes(self, source: Attribute, target: Attribute) -> None:
        """Raise unless a `source` can become a `target`."""


class _IntegerCast(Cast, abc.ABC):
    arg = operand_def(INTEGER)
    res = result_def(INTEGER)


class IntegerWidening(_IntegerCast, abc.ABC):
    """An integer gets more bits."""

    def check_lanes(self, source: Attribute, target: Attribute) -> None:
        _check_wider(target, source)


class FloatWidening(Cast, abc.ABC):
    """A float gets more bits; exact."""

    arg = operand_def(FLOAT)
    res = result_def(FLOAT)

    def check_lanes(self, source: Attribute, target: Attribute) -> None:
        _check_wider(target, source)


class FloatNarrowing(FloatWidening, abc.ABC):
    """A float gets fewer bits; rounded to nearest even."""

    def check_lanes(self, source: Attribute, target: Attribute) -> None:
        _check_wider(source, target)


class FloatToInteger(Cast, abc.ABC):
    """A float to an integer, rounded towards 0; poison where that does not fit."""

    arg = operand_def(FLOAT)
    res = result_def(INTEGER)


class IntegerToFloat(Cast, abc.ABC):
    """An integer to a float, rounded to nearest even."""

    arg = operand_def(INTEGER)
    res = result_def(FLOAT)


def _check_wider(wide: Attribute, narrow: Attribute) -> None:
    if width(wide) <= width(narrow):
        raise VerifyException(f"{wide} is not wider than {narrow}")


class NonNegative(IRDLOperation, abc.ABC):
    """A conversion that may promise that its operand is not negative: `nneg`."""

    non_neg = opt_prop_def(UnitAttr, prop_name="nonNeg")

    assembly_format = "(`nneg` $nonNeg^)? $arg attr-dict `:` type($arg) `to` type($res)"


class NonNegativeWidening(NonNegative, IntegerWidening, abc.ABC):
    """An integer that may be known not to be negative gets more bits."""


class NonNegativeToFloat(NonNegative, IntegerToFloat, abc.ABC):
    """An integer that may be known not to be negative to a float."""


SExtOp = define(
    IntegerWidening, "llvm.sext", "`llvm.sext %a : i8 to i32`: more bits, copies of the sign."
)
ZExtOp = define(
    NonNegativeWidening, "llvm.zext", "`llvm.zext nneg %a : i8 to i32`: more bits, zeros."
)
SIToFPOp = define(
    IntegerToFloat, "llvm.sitofp", "`llvm.sitofp %a : i32 to f32`: a signed integer to a float."
)
UIToFPOp = define(
    NonNegativeToFloat, "llvm.uitofp", "`llvm.uitofp nneg %a : i32 to f32`: an unsigned integer."
)
FPToSIOp = define(
    FloatToInteger, "llvm.fptosi", "`llvm.fptosi %a : f32 to i32`: a float to a signed integer."
)
FPToUIOp = define(
    FloatToInteger, "llvm.fptoui", "`llvm.fptoui %a : f32 to i32`: a float to an unsigned integer."
)
FPExtOp = define(
    FloatWidening, "llvm.fpext", "`llvm.fpext %a : f16 to f32`: the same number with more bits."
)
FPTruncOp = define(
    FloatNarrowing, "llvm.fptrunc", "`llvm.fptrunc %a : f32 to f16`: rounded to fewer bits."
)


@irdl_op_definition
class TruncOp(_IntegerCast):
    """`llvm.trunc %a overflow<nuw> : i32 to i8`: the low bits of an integer."""

    name = "llvm.trunc"

    overflow_flags = prop_def(
        IntegerAttr, prop_name="overflowFlags", default_value=IntegerAttr(0, i32)
    )

    custom_directives = (Overflow,)
    assembly_format = (
        "$arg custom<Overflow>($overflowFlags) attr-dict `:` type($arg) `to` type($res)"
    )

    def check_lanes(self, source: Attribute, target: Attribute) -> None:
        _check_wider(source, target)
        check_overflow(self.overflow_flags)


@irdl_op_definition
class BitcastOp(Cast):
    """`llvm.bitcast %a : vector<2xf16> to i32`: the same bits as another type of equal size."""

    name = "llvm.bitcast"

    arg = operand_def(BITS)
    res = result_def(BITS)

    def verify_(self) -> None:
        source, target = self.arg.type, self.res.type
        if _bits(source) != _bits(target):
            raise VerifyException(f"{source} and {target} have different numbers of bits")


def _bits(type: Attribute) -> int:
    element, count = vector_lanes(type)
    return count * width(element)


CASTS: tuple[type[Operation], ...] = (
    BitcastOp,
    FPExtOp,
    FPToSIOp,
    FPToUIOp,
    FPTruncOp,
    SExtOp,
    SIToFPOp,
    TruncOp,
    UIToFPOp,
    ZExtOp,
)
