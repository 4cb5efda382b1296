"""Upstream MLIR's `gpu` (as of release 22): xDSL's operations, and the exchange within a warp that xDSL lacks."""

from __future__ import annotations

from enum import auto
from typing import ClassVar

from xdsl.dialects import gpu
from xdsl.dialects.builtin import AnyFloatConstr, SignlessIntegerConstraint, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.utils.str_enum import StrEnum


class ShuffleMode(StrEnum):
    """From which lane of the warp each lane takes a value."""

    Xor = auto()
    Up = auto()
    Down = auto()
    Idx = auto()


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode xor>`."""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value of another lane of the warp, and whether that lane exists."""

    name = "gpu.shuffle"
    T: ClassVar = VarConstraint("T", AnyFloatConstr | SignlessIntegerConstraint)
    value = operand_def(T)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    result = result_def(T)
    valid = result_def(i1)

    def __init__(self, value: SSAValue, offset: SSAValue, width: SSAValue, mode: ShuffleMode):
        super().__init__(
            operands=[value, offset, width],
            properties={"mode": ShuffleModeAttr(mode)},
            result_types=[value.type, i1],
        )


GPU = Dialect(
    "gpu",
    [*gpu.GPU.operations, ShuffleOp],
    [*gpu.GPU.attributes, ShuffleModeAttr],
)
"""`gpu` with the shuffle."""
