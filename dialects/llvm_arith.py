"""Arithmetic of upstream MLIR's `llvm` (as of release 22) on integers, floats and vectors of them.

Rounding is to nearest even; an operation may be approximate or combined with others only where its fast-math flags say
so, and a sum of a product becomes one `fma` only where the program says `llvm.intr.fma` or `contract`.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32, i64
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.elementwise import BoolsLike, with_element
from coconet_ir.dialects.llvm_types import (
    COMPARABLE,
    FLOAT,
    INTEGER,
    VALUE,
    Keyword,
    Overflow,
    check_word,
    define,
    fill,
    lane,
    number_of,
)

NO_FLAGS = FastMathAttr(None)
"""No fast-math flag: as IEEE 754 says, and nothing is contracted."""

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    "_false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
    "une", "uno", "_true",
)  # fmt: skip

_NUMBERS = [IntegerAttr(number, i64) for number in range(len(FLOAT_PREDICATES))]
"""The numbers of predicates as attributes."""


class IntegerBinary(IRDLOperation, abc.ABC):
    """Two integers of one type give a third."""

    T: ClassVar = VarConstraint("T", INTEGER)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($res)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        fill(self, (lhs, rhs), lhs.type)


class Wrapping(IntegerBinary, abc.ABC):
    """An operation that may promise not to wrap, as in `overflow<nsw>`."""

    overflow_flags = prop_def(
        IntegerAttr, prop_name="overflowFlags", default_value=IntegerAttr(0, i32)
    )

    custom_directives = (Overflow,)
    assembly_format = "$lhs `,` $rhs custom<Overflow>($overflowFlags) attr-dict `:` type($res)"

    def verify_(self) -> None:
        check_overflow(self.overflow_flags)


def check_overflow(flags: IntegerAttr) -> None:
    """Raise unless the flags are a sum of 1 for nsw and 2 for nuw, as i32."""
    if flags.type != i32 or not 0 <= number_of(flags) < 4:
        raise VerifyException(f"overflow flags are an i32 from 0 to 3, not {flags}")


class Exact(IntegerBinary, abc.ABC):
    """An operation that may promise to lose no bits, as in `exact`."""

    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")

    assembly_format = "(`exact` $isExact^)? $lhs `,` $rhs attr-dict `:` type($res)"


class Division(Exact, abc.ABC):
    """A division, which is undefined for some operands."""

    traits = traits_def(NoMemoryEffect())


class Remainder(IntegerBinary, abc.ABC):
    """A remainder, which is undefined for some operands."""

    traits = traits_def(NoMemoryEffect())


AddOp = define(Wrapping, "llvm.add", "`llvm.add %a, %b : i32`: their sum.")
SubOp = define(Wrapping, "llvm.sub", "`llvm.sub %a, %b : i32`: their difference.")
MulOp = define(Wrapping, "llvm.mul", "`llvm.mul %a, %b : i32`: their product.")
ShlOp = define(
    Wrapping, "llvm.shl", "`llvm.shl %a, %n : i32`: shift to the left by less than the width."
)
UDivOp = define(
    Division, "llvm.udiv", "`llvm.udiv %a, %b : i32`: the quotient of unsigned integers."
)
SDivOp = define(Division, "llvm.sdiv", "`llvm.sdiv %a, %b : i32`: the quotient, rounded towards 0.")
LShrOp = define(Exact, "llvm.lshr", "`llvm.lshr %a, %n : i32`: shift to the right, zeros come in.")
AShrOp = define(
    Exact, "llvm.ashr", "`llvm.ashr %a, %n : i32`: shift to the right, the sign comes in."
)
URemOp = define(Remainder, "llvm.urem", "`llvm.urem %a, %b : i32`: the remainder of `udiv`.")
SRemOp = define(Remainder, "llvm.srem", "`llvm.srem %a, %b : i32`: the remainder of `sdiv`.")
AndOp = define(IntegerBinary, "llvm.and", "`llvm.and %a, %b : i32`: bits that are set in both.")
XOrOp = define(IntegerBinary, "llvm.xor", "`llvm.xor %a, %b : i32`: bits that are set in one.")


@irdl_op_definition
class OrOp(IntegerBinary):
    """`llvm.or %a, %b : i32`: bits set in either; `disjoint` promises that none is set in both."""

    name = "llvm.or"

    is_disjoint = opt_prop_def(UnitAttr, prop_name="isDisjoint")

    assembly_format = "(`disjoint` $isDisjoint^)? $lhs `,` $rhs attr-dict `:` type($res)"


class FloatBinary(IRDLOperation, abc.ABC):
    """Two floats of one type give a third."""

    T: ClassVar = VarConstraint("T", FLOAT)

    lhs = operand_def(T)
    rhs = operand_def(T)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    res = result_def(T)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($res)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, flags: FastMathAttr = NO_FLAGS):
        fill(self, (lhs, rhs), lhs.type, {"fastmathFlags": flags})


FAddOp = define(FloatBinary, "llvm.fadd", "`llvm.fadd %a, %b : f32`: their sum (PTX `add.rn`).")
FSubOp = define(
    FloatBinary, "llvm.fsub", "`llvm.fsub %a, %b : f32`: their difference (PTX `sub.rn`)."
)
FMulOp = define(FloatBinary, "llvm.fmul", "`llvm.fmul %a, %b : f32`: their product (PTX `mul.rn`).")
FDivOp = define(
    FloatBinary, "llvm.fdiv", "`llvm.fdiv %a, %b : f32`: their quotient (PTX `div.rn`)."
)


class FloatUnary(IRDLOperation, abc.ABC):
    """A float gives another of its type."""

    T: ClassVar = VarConstraint("T", FLOAT)

    arg = operand_def(T)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    res = result_def(T)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$arg attr-dict `:` type($res)"

    def __init__(self, arg: SSAValue, flags: FastMathAttr = NO_FLAGS):
        fill(self, (arg,), arg.type, {"fastmathFlags": flags})


FNegOp = define(FloatUnary, "llvm.fneg", "`llvm.fneg %a : f32`: the sign flipped, of NaN too.")


@irdl_custom_directive
class IntegerPredicate(Keyword):
    """`"slt"`."""

    WORDS: ClassVar[tuple[str, ...]] = INTEGER_PREDICATES
    QUOTED: ClassVar[bool] = True
    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.predicate.set(state, self.parse_word(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_word(printer, state, self.predicate.get(op))


@irdl_custom_directive
class FloatPredicate(Keyword):
    """`"olt"`."""

    WORDS: ClassVar[tuple[str, ...]] = FLOAT_PREDICATES
    QUOTED: ClassVar[bool] = True
    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.predicate.set(state, self.parse_word(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_word(printer, state, self.predicate.get(op))


@irdl_op_definition
class ICmpOp(IRDLOperation):
    """`llvm.icmp "slt" %a, %b : i32`: compare integers or pointers."""

    name = "llvm.icmp"
    T: ClassVar = VarConstraint("T", COMPARABLE)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(BoolsLike("T"))

    traits = traits_def(Pure())

    custom_directives = (IntegerPredicate,)
    assembly_format = "custom<IntegerPredicate>($predicate) $lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        number = _NUMBERS[INTEGER_PREDICATES.index(predicate)]
        type = with_element(lhs.type, i1)
        fill(self, (lhs, rhs), type, {"predicate": number})

    def verify_(self) -> None:
        check_word(self.predicate, INTEGER_PREDICATES, "predicate")


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`llvm.fcmp "olt" %a, %b : f32`: compare floats; with NaN `o..` is false, `u..` true."""

    name = "llvm.fcmp"
    T: ClassVar = VarConstraint("T", FLOAT)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    res = result_def(BoolsLike("T"))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (FloatPredicate,)
    assembly_format = "custom<FloatPredicate>($predicate) $lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(
        self,
        predicate: str,
        lhs: SSAValue,
        rhs: SSAValue,
        flags: FastMathAttr = NO_FLAGS,
    ):
        number = _NUMBERS[FLOAT_PREDICATES.index(predicate)]
        type = with_element(lhs.type, i1)
        fill(self, (lhs, rhs), type, {"predicate": number, "fastmathFlags": flags})

    def verify_(self) -> None:
        check_word(self.predicate, FLOAT_PREDICATES, "predicate")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`llvm.select %c, %a, %b : i1, f32`: by one i1, or lane by lane."""

    name = "llvm.select"
    T: ClassVar = VarConstraint("T", VALUE)

    cond = operand_def()
    lhs = operand_def(T)
    rhs = operand_def(T)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    res = result_def(T)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue):
        fill(self, (cond, lhs, rhs), lhs.type)

    def verify_(self) -> None:
        cond, result = self.cond.type, self.res.type
        lanes = lane(result) != result and with_element(result, i1)
        if cond not in (i1, lanes):
            raise VerifyException(f"expected i1 or i1 in the shape of {result}, but got {cond}")


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """`llvm.freeze %a : f32`: the value, or any fixed one if it is poison or undefined."""

    name = "llvm.freeze"
    T: ClassVar = VarConstraint("T", VALUE)

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$val attr-dict `:` type($val)"

    def __init__(self, val: SSAValue | Operation):
        super().__init__(operands=(val,), result_types=(SSAValue.get(val).type,))


ARITHMETIC: tuple[type[Operation], ...] = (
    AShrOp,
    AddOp,
    AndOp,
    FAddOp,
    FCmpOp,
    FDivOp,
    FMulOp,
    FNegOp,
    FSubOp,
    FreezeOp,
    ICmpOp,
    LShrOp,
    MulOp,
    OrOp,
    SDivOp,
    SRemOp,
    SelectOp,
    ShlOp,
    SubOp,
    UDivOp,
    URemOp,
    XOrOp,
)
