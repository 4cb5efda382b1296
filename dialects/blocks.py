"""Operations of the `comp` dialect on one rank's block of a tensor, which are told where the block lies.

What they compute depends on the place of each element in the global tensor (design, section 5, dropout and segments).
They stand where layouts are gone: in the program of one rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.rules import OneRank, rank_of
from coconet_ir.dialects.attributes import KindAttr, sizes_of
from coconet_ir.dialects.checks import check_dropout, check_offsets, check_precision
from coconet_ir.dialects.elements import require_same_elements
from coconet_ir.dialects.syntax import KindWord


@irdl_op_definition
class DropoutBlockOp(IRDLOperation):
    """`comp.dropout` of a block: `at` its first element, `of` the global sizes, one index a dimension.

    `coordinate` tells ranks with values of their own apart; ranks that hold parts of one tensor have the same.
    """

    name = "comp.dropout_block"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    seed = operand_def(i64)
    starts = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    coordinate = operand_def(IndexType)
    p = prop_def(FloatAttr)
    id = prop_def(IntegerAttr.constr(i64))
    output = result_def(T)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure(), OneRank())
    assembly_format = (
        "$input `,` $seed `at` ` ` `[` $starts `]` `of` ` ` `[` $sizes `]` `coordinate` $coordinate "
        "attr-dict `:` type($input)"
    )

    def __init__(
        self,
        input: SSAValue,
        seed: SSAValue,
        starts: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        coordinate: SSAValue,
        p: FloatAttr,
        id: IntegerAttr,
    ):
        super().__init__(
            operands=[input, seed, starts, sizes, coordinate],
            properties={"p": p, "id": id},
            result_types=[input.type],
        )

    def verify_(self) -> None:
        check_dropout(self.input, self.p, self.id)
        rank = rank_of(self.input.type)
        for word, given in (("at", self.starts), ("of", self.sizes)):
            if len(given) != rank:
                raise VerifyException(
                    f"`{word}` must have {rank} numbers, one a dimension, not {len(given)}"
                )


@irdl_op_definition
class SegmentReduceBlockOp(IRDLOperation):
    """`comp.segment_reduce` of a block that starts `at` an element of the flat tensor; offsets count from its start."""

    name = "comp.segment_reduce_block"
    kind = prop_def(KindAttr)
    input = operand_def(TensorType)
    offsets = operand_def(TensorType)
    start = operand_def(IndexType)
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (KindWord,)
    traits = traits_def(Pure(), OneRank())
    assembly_format = (
        "custom<KindWord>($kind) $input `,` $offsets `at` $start attr-dict `:` type($input) `,` type($offsets) "
        "`->` type($output)"
    )

    def __init__(
        self,
        input: SSAValue,
        offsets: SSAValue,
        start: SSAValue,
        kind: Kind,
        accumulate: Attribute | None,
        type: Attribute,
    ):
        super().__init__(
            operands=[input, offsets, start],
            properties={"kind": KindAttr(kind), "accumulate": accumulate},
            result_types=[type],
        )

    def verify_(self) -> None:
        _require_flat(self.input, self.offsets, self.output)
        if self.kind.data is Kind.AVG:
            raise VerifyException("avg exists on collectives only: sum and divide")
        check_precision(self.input, self.output, self.kind.data, self.accumulate)
        check_offsets(self.offsets, self.output)


@irdl_op_definition
class SegmentBroadcastBlockOp(IRDLOperation):
    """`comp.segment_broadcast` for a block `at` an element of the flat tensor; `[%size]` if that is not static."""

    name = "comp.segment_broadcast_block"
    input = operand_def(TensorType)
    offsets = operand_def(TensorType)
    start = operand_def(IndexType)
    size = var_operand_def(IndexType)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OneRank())
    assembly_format = (
        "$input `,` $offsets `at` $start `size` ` ` `[` $size `]` attr-dict `:` type($input) `,` type($offsets) `->` "
        "type($output)"
    )

    def __init__(
        self,
        input: SSAValue,
        offsets: SSAValue,
        start: SSAValue,
        size: Sequence[SSAValue],
        type: Attribute,
    ):
        super().__init__(operands=[input, offsets, start, size], result_types=[type])

    def verify_(self) -> None:
        _require_flat(self.input, self.offsets, self.output)
        require_same_elements(self.input, self.output)
        check_offsets(self.offsets, self.input)
        wanted = sizes_of(self.output.type).count(DYNAMIC_INDEX)
        if len(self.size) != wanted:
            raise VerifyException(
                f"the result has {wanted} dimension(s) of unknown size, but {len(self.size)} size(s) are given"
            )


def _require_flat(*values: SSAValue) -> None:
    for value in values:
        if (rank := rank_of(value.type)) != 1:
            raise VerifyException(f"its tensors must have one dimension, not {rank}")
