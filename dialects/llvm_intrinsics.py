"""The functions of upstream MLIR's `llvm` (as of release 22) that PTX has instructions for: `llvm.intr.sqrt` and alike.

Those that LLVM has no instruction for end its process, so they are not here: exp, exp10, log, log2, log10, pow, and all
but the exact functions on f64. PTX's approximations have their own intrinsics, such as
`llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"`.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from typing_extensions import TypeVar
from xdsl.dialects.builtin import BoolAttr
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from coconet_ir.dialects.llvm_arith import NO_FLAGS, FloatBinary, FloatUnary, IntegerBinary
from coconet_ir.dialects.llvm_types import FLOAT, INTEGER, WithBool, define, fill, with_bool

_CALL = "`(` operands `)` attr-dict `:` functional-type(operands, results)"

_OpT = TypeVar("_OpT", bound=IRDLOperation)


def _define(base: type[_OpT], name: str, types: str, doc: str) -> type[_OpT]:
    values = ", ".join(f"%{letter}" for letter, _ in zip("abc", types.split(", "), strict=False))
    result = types.partition(",")[0]
    text = f"llvm.intr.{name}({values}) : ({types}) -> {result}"
    return define(base, f"llvm.intr.{name}", f"`{text}`: {doc}")


class FloatFunction(FloatUnary, abc.ABC):
    """A function of one float."""

    assembly_format = _CALL


class FloatFunction2(FloatBinary, abc.ABC):
    """A function of two floats."""

    assembly_format = _CALL


class FloatFunction3(IRDLOperation, abc.ABC):
    """A function of three floats."""

    T: ClassVar = VarConstraint("T", FLOAT)

    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    res = result_def(T)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _CALL

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        flags: FastMathAttr = NO_FLAGS,
    ):
        fill(self, (a, b, c), a.type, {"fastmathFlags": flags})


def _float(name: str, doc: str) -> type[FloatFunction]:
    return _define(FloatFunction, name, "f32", doc)


def _float2(name: str, doc: str) -> type[FloatFunction2]:
    return _define(FloatFunction2, name, "f32, f32", doc)


def _float3(name: str, doc: str) -> type[FloatFunction3]:
    return _define(FloatFunction3, name, "f32, f32, f32", doc)


FAbsOp = _float("fabs", "the magnitude.")
SqrtOp = _float("sqrt", "the square root; exactly rounded without `afn`.")
FloorOp = _float("floor", "the largest whole number that is not larger.")
CeilOp = _float("ceil", "the smallest whole number that is not smaller.")
FTruncOp = _float("trunc", "the nearest whole number towards 0.")
RintOp = _float("rint", "the nearest whole number, even in the middle.")
NearbyintOp = _float("nearbyint", "as rint: devices raise no exceptions.")
RoundEvenOp = _float("roundeven", "as rint.")
RoundOp = _float("round", "the nearest whole number, away from 0 in the middle.")
Exp2Op = _float("exp2", "2 to this power, always approximate (PTX `ex2.approx`); not for f64.")
SinOp = _float("sin", "the sine, only with `afn` (PTX `sin.approx`); not for f64.")
CosOp = _float("cos", "the cosine, only with `afn` (PTX `cos.approx`); not for f64.")
TanhOp = _float("tanh", "tanh, only with `afn` (PTX `tanh.approx`); not for f64.")

CopySignOp = _float2("copysign", "the first with the sign of the second.")
MaxNumOp = _float2("maxnum", "the larger; the number if one is NaN.")
MinNumOp = _float2("minnum", "the smaller; the number if one is NaN.")
MaximumOp = _float2("maximum", "the larger, -0 below 0; NaN if one is NaN.")
MinimumOp = _float2("minimum", "the smaller, -0 below 0; NaN if one is NaN.")

FMAOp = _float3("fma", "%a * %b + %c, rounded once.")
FMulAddOp = _float3("fmuladd", "%a * %b + %c; on devices rounded once, as fma.")


class IntegerFunction(IRDLOperation, abc.ABC):
    """A function of one integer."""

    T: ClassVar = VarConstraint("T", INTEGER)

    arg = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = _CALL

    def __init__(self, arg: SSAValue | Operation):
        super().__init__(operands=(arg,), result_types=(SSAValue.get(arg).type,))


class IntegerFunction2(IntegerBinary, abc.ABC):
    """A function of two integers."""

    assembly_format = _CALL


class FunnelShift(IRDLOperation, abc.ABC):
    """A shift of two integers side by side."""

    T: ClassVar = VarConstraint("T", INTEGER)

    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = _CALL

    def __init__(self, a: SSAValue | Operation, b: SSAValue | Operation, c: SSAValue | Operation):
        super().__init__(operands=(a, b, c), result_types=(SSAValue.get(a).type,))


def _integer2(name: str, doc: str) -> type[IntegerFunction2]:
    return _define(IntegerFunction2, name, "i32, i32", doc)


CtPopOp = _define(IntegerFunction, "ctpop", "i32", "how many bits are set.")
BitReverseOp = _define(IntegerFunction, "bitreverse", "i32", "the bits in reverse order.")
SMaxOp = _integer2("smax", "the larger of signed integers.")
SMinOp = _integer2("smin", "the smaller of signed integers.")
UMaxOp = _integer2("umax", "the larger of unsigned integers.")
UMinOp = _integer2("umin", "the smaller of unsigned integers.")
FShlOp = _define(FunnelShift, "fshl", "i32, i32, i32", "the high half of %a:%b << %c.")
FShrOp = _define(FunnelShift, "fshr", "i32, i32, i32", "the low half of %a:%b >> %c.")


class _Partial(IRDLOperation, abc.ABC):
    """A function of one integer that may be undefined at one value. Upstream has no custom form for these."""

    FLAG: ClassVar[str]
    T: ClassVar = VarConstraint("T", INTEGER)

    operand = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, *, poison: bool = False):
        super().__init__(
            operands=(operand,),
            result_types=(SSAValue.get(operand).type,),
            properties={self.FLAG: BoolAttr.from_bool(poison)},
        )


@irdl_op_definition
class AbsOp(_Partial):
    """`"llvm.intr.abs"(%a) <{is_int_min_poison = false}> : (i32) -> i32`: the magnitude."""

    name = "llvm.intr.abs"
    FLAG: ClassVar[str] = "is_int_min_poison"
    poison = prop_def(BoolAttr, prop_name=FLAG)


@irdl_op_definition
class CountLeadingZerosOp(_Partial):
    """`"llvm.intr.ctlz"(%a) <{is_zero_poison = false}> : (i32) -> i32`: zeros above the highest bit set."""

    name = "llvm.intr.ctlz"
    FLAG: ClassVar[str] = "is_zero_poison"
    poison = prop_def(BoolAttr, prop_name=FLAG)


@irdl_op_definition
class CountTrailingZerosOp(_Partial):
    """`"llvm.intr.cttz"(%a) <{is_zero_poison = false}> : (i32) -> i32`: zeros below the lowest bit set."""

    name = "llvm.intr.cttz"
    FLAG: ClassVar[str] = "is_zero_poison"
    poison = prop_def(BoolAttr, prop_name=FLAG)


@irdl_op_definition
class UAddWithOverflowOp(IRDLOperation):
    """`"llvm.intr.uadd.with.overflow"(%a, %b) : (i32, i32) -> !llvm.struct<(i32, i1)>`: the sum and its carry."""

    name = "llvm.intr.uadd.with.overflow"
    T: ClassVar = VarConstraint("T", INTEGER)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(WithBool("T"))

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=(lhs, rhs), result_types=(with_bool(SSAValue.get(lhs).type),))


INTRINSICS: tuple[type[Operation], ...] = (
    AbsOp,
    BitReverseOp,
    CeilOp,
    CopySignOp,
    CosOp,
    CountLeadingZerosOp,
    CountTrailingZerosOp,
    CtPopOp,
    Exp2Op,
    FAbsOp,
    FloorOp,
    FMAOp,
    FMulAddOp,
    FShlOp,
    FShrOp,
    FTruncOp,
    MaximumOp,
    MaxNumOp,
    MinimumOp,
    MinNumOp,
    NearbyintOp,
    RintOp,
    RoundEvenOp,
    RoundOp,
    SinOp,
    SMaxOp,
    SMinOp,
    SqrtOp,
    TanhOp,
    UAddWithOverflowOp,
    UMaxOp,
    UMinOp,
)
