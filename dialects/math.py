"""Upstream MLIR's `math` (as of release 22) on scalars, vectors and tensors with layouts.

xDSL's operations, its `fpowi` replaced by one that compares its two shapes, and the tests that xDSL
lacks: `isnan`, `isinf`, `isfinite`, `isnormal` give i1 in the shape and encoding of their operand.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import i1
from xdsl.ir import Dialect, Operation, SSAValue
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
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.elementwise import (
    FLOAT,
    INTEGER_OR_INDEX,
    NO_FASTMATH,
    BoolsLike,
    element,
    pointwise_rule,
    same_frame,
    with_element,
)


class _Test(IRDLOperation, abc.ABC):
    """What floats are, element by element, as i1."""

    T: ClassVar = VarConstraint("T", FLOAT)

    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(BoolsLike("T"))

    # Upstream has no `fastmath<..>` here: flags stand in the attribute dictionary.
    assembly_format = "$operand attr-dict `:` type($operand)"

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, operand: SSAValue | Operation, fastmath: FastMathFlagsAttr = NO_FASTMATH):
        super().__init__(
            operands=(operand,),
            result_types=(with_element(SSAValue.get(operand).type, i1),),
            properties={"fastmath": fastmath},
        )


@irdl_op_definition
class IsNaNOp(_Test):
    """`math.isnan %a : tensor<4xf32>`: whether it is not a number."""

    name = "math.isnan"

    traits = traits_def(Pure())


@irdl_op_definition
class IsInfOp(_Test):
    """`math.isinf %a : tensor<4xf32>`: whether it is an infinity of either sign."""

    name = "math.isinf"

    traits = traits_def(Pure())


@irdl_op_definition
class IsFiniteOp(_Test):
    """`math.isfinite %a : tensor<4xf32>`: whether it is neither an infinity nor NaN."""

    name = "math.isfinite"

    traits = traits_def(Pure())


@irdl_op_definition
class IsNormalOp(_Test):
    """`math.isnormal %a : tensor<4xf32>`: whether it is neither 0, subnormal, infinite nor NaN."""

    name = "math.isnormal"

    traits = traits_def(Pure())


@irdl_op_definition
class FPowIOp(IRDLOperation):
    """`math.fpowi %a, %n : tensor<4xf32>, tensor<4xi32>`: floats to integer powers."""

    name = "math.fpowi"
    T: ClassVar = VarConstraint("T", FLOAT)

    lhs = operand_def(T)
    rhs = operand_def(INTEGER_OR_INDEX)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        fastmath: FastMathFlagsAttr = NO_FASTMATH,
    ):
        super().__init__(
            operands=(lhs, rhs),
            result_types=(SSAValue.get(lhs).type,),
            properties={"fastmath": fastmath},
        )

    def verify_(self) -> None:
        base, power = self.lhs.type, self.rhs.type
        if not same_frame(base, power):
            raise VerifyException(
                f"expected the power {with_element(base, element(power))}, in the shape and layout "
                f"of the base {base}, but got {power}"
            )


_OURS: tuple[type[Operation], ...] = (FPowIOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp)


def _operations() -> list[type[Operation]]:
    ours = {operation.name for operation in _OURS}
    for operation in (*math.Math.operations, *_OURS):
        # No function of this dialect is linear. Those that ours replace are for plain xdsl-opt.
        operation.traits.add_trait(pointwise_rule())
    return [*(op for op in math.Math.operations if op.name not in ours), *_OURS]


Math = Dialect("math", _operations())
"""`math` with dimension rules, which it adds to xDSL's own classes, for the whole process."""
