"""Upstream MLIR's `tensor` (as of release 22) on tensors with layouts.

xDSL's operations, its `extract` replaced by one that counts its indices. `splat`, `dim` and
`extract` state dimension rules; the others do not and belong to other levels.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from xdsl.dialects import tensor
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.notation import Rule, Whole
from coconet_ir.analysis.rules import HasRule, rank_of
from coconet_ir.dialects.elementwise import element, pointwise_rule


@irdl_op_definition
class ExtractOp(IRDLOperation):
    """`tensor.extract %t[%i, %j] : tensor<4x?xf32>`: one element of a replicated tensor."""

    name = "tensor.extract"
    E: ClassVar = VarConstraint("E", AnyAttr())

    tensor = operand_def(TensorType.constr(E))
    indices = var_operand_def(IndexType)
    result = result_def(E)

    traits = traits_def(Pure())

    assembly_format = "$tensor `[` $indices `]` attr-dict `:` type($tensor)"

    def __init__(self, tensor: SSAValue, *indices: SSAValue | Operation):
        super().__init__(operands=(tensor, indices), result_types=(element(tensor.type),))

    def verify_(self) -> None:
        rank, count = rank_of(self.tensor.type), len(self.indices)
        if count != rank:
            raise VerifyException(f"expected {rank} indices, one a dimension, but got {count}")


def _dim_rule(op: Operation) -> Rule:
    return _whole_rule(rank_of(op.operands[0].type), len(op.operands) - 1, True)


def _extract_rule(op: Operation) -> Rule:
    return _whole_rule(rank_of(op.operands[0].type), len(op.operands) - 1, False)


@cache
def _whole_rule(rank: int | None, scalars: int, shape_only: bool) -> Rule:
    """From a whole tensor and some scalars to a scalar."""
    names = [f"d{i}" for i in range(rank or 0)]
    shape = None if rank is None else tuple((name,) for name in names)
    return Rule(
        (shape, *(None,) * scalars),
        (None,),
        tuple((name, Whole()) for name in names),
        shape_only=frozenset({0} if shape_only else ()),
    )


def _operations() -> list[type[Operation]]:
    tensor.SplatOp.traits.add_trait(pointwise_rule())
    tensor.DimOp.traits.add_trait(HasRule(_dim_rule, by_types=True))
    for extract in (ExtractOp, tensor.ExtractOp):  # xDSL's is for plain xdsl-opt
        extract.traits.add_trait(HasRule(_extract_rule, by_types=True))
    upstream = [op for op in tensor.Tensor.operations if op.name != ExtractOp.name]
    return [*upstream, ExtractOp]


Tensor = Dialect("tensor", _operations(), [*tensor.Tensor.attributes])
"""`tensor` with dimension rules, which it adds to xDSL's own classes, for the whole process."""
