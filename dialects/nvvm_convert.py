"""Conversions of `nvvm` to and from pairs of narrow floats (PTX ISA, "Data Movement and Conversion Instructions: cvt").

A pair of f8 is an i16, whose high half is the first operand, or a `vector<2xi8>` of the same bits.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import (
    BoolAttr,
    Float8E4M3FNType,
    Float8E5M2Type,
    VectorType,
    bf16,
    f16,
    f32,
    i8,
    i16,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import Fits, define
from coconet_ir.dialects.nvvm_attributes import RoundingAttr, SaturationAttr

FALSE = BoolAttr.from_bool(False)
NO_ROUNDING = RoundingAttr("none")
NO_SATURATION = SaturationAttr("none")
F16_PAIR, BF16_PAIR, BYTES = VectorType(f16, [2]), VectorType(bf16, [2]), VectorType(i8, [2])
PAIR = Fits(lambda t: t in (i16, BYTES), "i16 or vector<2xi8>")
F8 = Fits(lambda t: isinstance(t, Float8E4M3FNType | Float8E5M2Type), "f8E4M3FN or f8E5M2")


@irdl_op_definition
class ConvertF32x2ToF8x2Op(IRDLOperation):
    """`nvvm.convert.f32x2.to.f8x2 %a, %b {rnd = …<rn>, sat = …<satfinite>} : i16 (f8E4M3FN)`: from sm_89 on."""

    name = "nvvm.convert.f32x2.to.f8x2"

    a = operand_def(f32)
    b = operand_def(f32)
    rnd = prop_def(RoundingAttr, default_value=NO_ROUNDING)
    sat = prop_def(SaturationAttr, default_value=NO_SATURATION)
    relu = prop_def(BoolAttr, default_value=FALSE)
    dst_type = prop_def(F8, prop_name="dstTy")
    dst = result_def(PAIR)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($dst) `(` $dstTy `)`"

    def __init__(
        self,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        dst_type: Attribute,
        result_type: Attribute = i16,
    ):
        super().__init__(
            operands=(a, b),
            properties={
                "rnd": RoundingAttr("rn"),
                "sat": SaturationAttr("satfinite"),
                "dstTy": dst_type,
            },
            result_types=(result_type,),
        )

    def verify_(self) -> None:
        if (self.rnd.data, self.sat.data) != ("rn", "satfinite"):
            raise VerifyException("f8 has rounding rn and saturation satfinite")


@irdl_op_definition
class ConvertF16x2ToF8x2Op(IRDLOperation):
    """`nvvm.convert.f16x2.to.f8x2 %a : vector<2xf16> -> i16 (f8E4M3FN)`: rounded to nearest even; from sm_89 on."""

    name = "nvvm.convert.f16x2.to.f8x2"

    a = operand_def(F16_PAIR)
    relu = prop_def(BoolAttr, default_value=FALSE)
    dst_type = prop_def(F8, prop_name="dstTy")
    dst = result_def(PAIR)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a attr-dict `:` type($a) `->` type($dst) `(` $dstTy `)`"

    def __init__(self, a: SSAValue | Operation, dst_type: Attribute, result_type: Attribute = i16):
        super().__init__(operands=(a,), properties={"dstTy": dst_type}, result_types=(result_type,))


@irdl_op_definition
class ConvertF8x2ToF16x2Op(IRDLOperation):
    """`nvvm.convert.f8x2.to.f16x2 %a : vector<2xi8> (f8E4M3FN) -> vector<2xf16>`: exact; from sm_89 on."""

    name = "nvvm.convert.f8x2.to.f16x2"

    src = operand_def(BYTES)
    relu = prop_def(BoolAttr, default_value=FALSE)
    src_type = prop_def(F8, prop_name="srcType")
    dst = result_def(F16_PAIR)

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `(` $srcType `)` `->` type($dst)"

    def __init__(self, src: SSAValue | Operation, src_type: Attribute):
        super().__init__(
            operands=(src,), properties={"srcType": src_type}, result_types=(F16_PAIR,)
        )


class Narrowing(IRDLOperation, abc.ABC):
    """Two f32 to a pair of 16 bits each, the first operand to the high half."""

    src_hi = operand_def(f32)
    src_lo = operand_def(f32)
    rnd = prop_def(RoundingAttr, default_value=NO_ROUNDING)
    sat = prop_def(SaturationAttr, default_value=NO_SATURATION)
    relu = prop_def(BoolAttr, default_value=FALSE)
    dst = result_def(Fits(lambda t: t in (F16_PAIR, BF16_PAIR), "a pair of f16 or bf16"))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src_hi `,` $src_lo attr-dict `:` type($dst)"

    def __init__(self, src_hi: SSAValue | Operation, src_lo: SSAValue | Operation, rnd: str = "rn"):
        pair = BF16_PAIR if self.name.endswith("bf16x2") else F16_PAIR
        super().__init__(
            operands=(src_hi, src_lo), properties={"rnd": RoundingAttr(rnd)}, result_types=(pair,)
        )

    def verify_(self) -> None:
        pair = BF16_PAIR if self.name.endswith("bf16x2") else F16_PAIR
        if self.dst.type != pair:
            raise VerifyException(f"expected the result {pair}, but it is {self.dst.type}")
        if self.rnd.data not in ("rn", "rz") or self.sat.data != "none":
            raise VerifyException("rounds rn or rz, without saturation")


ConvertF32x2ToF16x2Op = define(
    Narrowing,
    "nvvm.convert.f32x2.to.f16x2",
    "`nvvm.convert.f32x2.to.f16x2 %hi, %lo {rnd = …<rn>} : vector<2xf16>`: two at once.",
)
ConvertF32x2ToBF16x2Op = define(
    Narrowing,
    "nvvm.convert.f32x2.to.bf16x2",
    "`nvvm.convert.f32x2.to.bf16x2 %hi, %lo {rnd = …<rn>} : vector<2xbf16>`: two at once.",
)
CONVERSIONS: tuple[type[Operation], ...] = (
    ConvertF16x2ToF8x2Op,
    ConvertF32x2ToBF16x2Op,
    ConvertF32x2ToF8x2Op,
    ConvertF32x2ToF16x2Op,
    ConvertF8x2ToF16x2Op,
)
