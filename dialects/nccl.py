"""The `nccl` dialect: the collectives of one rank's program, as the library has them, and the copies that they need.

Where blocks of a dimension are exchanged, the library takes equal blocks, one behind the other. So `pack` puts the
blocks of a dimension in front, as a dimension of their own, `unpack` undoes that, and `pad` makes one such block; what
is short ends in zeros. These three are kernels of ours; everything else is a call.

A call is made by all ranks of a group: those that agree on all axes but the ones listed, ordered by these, outer
first. All make the same calls in one order. A reduction adds, in any order, in the type of its elements.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.rules import OneRank
from coconet_ir.dialects.attributes import AxesAttr, KindAttr, sizes_of
from coconet_ir.dialects.calls import CALLS, IntoOp, check_kind, check_roots
from coconet_ir.dialects.coll import Route, check_routes, routes_of
from coconet_ir.dialects.elements import element_of, require_same_elements
from coconet_ir.dialects.syntax import KindWord, Over, Roots, integers


def in_front(type: Attribute) -> Attribute:
    """The tensor type of a number of blocks of this type, which is not static: their dimension stands in front."""
    return TensorType(element_of(type), [DYNAMIC_INDEX, *sizes_of(type)])


def _with_open_dim(type: Attribute, dim: int) -> Attribute:
    sizes = list(sizes_of(type))
    sizes[dim] = DYNAMIC_INDEX
    return TensorType(element_of(type), sizes)


class CallOp(IRDLOperation, ABC):
    """What the calls share: the axes along which ranks meet."""

    axes = prop_def(AxesAttr)
    input = operand_def(TensorType)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OneRank())


class AlikeOp(CallOp, ABC):
    """A call whose result has the type of its operand."""

    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    output = result_def(T)


@irdl_op_definition
class AllReduceOp(AlikeOp):
    """Every rank gets the reduction of all tensors."""

    name = "nccl.all_reduce"
    kind = prop_def(KindAttr)
    custom_directives = (KindWord, Over)
    assembly_format = (
        "custom<KindWord>($kind) $input custom<Over>($axes) attr-dict `:` type($input)"
    )

    def __init__(self, input: SSAValue, kind: Kind, axes: Sequence[str]):
        super().__init__(
            operands=[input],
            properties={"kind": KindAttr(kind), "axes": AxesAttr(tuple(axes))},
            result_types=[input.type],
        )

    def verify_(self) -> None:
        check_kind(element_of(self.input.type), self.kind)


@irdl_op_definition
class ReduceOp(AlikeOp):
    """The root gets the reduction of all tensors; what the others get is undefined."""

    name = "nccl.reduce"
    kind = prop_def(KindAttr)
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (KindWord, Over, Roots)
    assembly_format = (
        "custom<KindWord>($kind) $input custom<Over>($axes) custom<Roots>($roots) attr-dict `:` "
        "type($input)"
    )

    def __init__(self, input: SSAValue, kind: Kind, axes: Sequence[str], roots: Sequence[int]):
        super().__init__(
            operands=[input],
            properties={
                "kind": KindAttr(kind),
                "axes": AxesAttr(tuple(axes)),
                "roots": integers(roots),
            },
            result_types=[input.type],
        )

    def verify_(self) -> None:
        check_kind(element_of(self.input.type), self.kind)
        check_roots(self.axes, self.roots)


@irdl_op_definition
class BroadcastOp(AlikeOp):
    """Every rank gets the root's tensor."""

    name = "nccl.broadcast"
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (Over, Roots)
    assembly_format = "$input custom<Over>($axes) custom<Roots>($roots) attr-dict `:` type($input)"

    def __init__(self, input: SSAValue, axes: Sequence[str], roots: Sequence[int]):
        super().__init__(
            operands=[input],
            properties={"axes": AxesAttr(tuple(axes)), "roots": integers(roots)},
            result_types=[input.type],
        )

    def verify_(self) -> None:
        check_roots(self.axes, self.roots)


@irdl_op_definition
class PermuteOp(AlikeOp):
    """Ranks along one axis send to one another: a cyclic shift, or pairs (from, to) and zeros where nothing arrives."""

    name = "nccl.permute"
    shift = opt_prop_def(IntegerAttr.constr(i64))
    pairs = opt_prop_def(ArrayAttr.constr(DenseArrayBase.constr(i64)))
    custom_directives = (Over, Route)
    assembly_format = (
        "$input custom<Over>($axes) custom<Route>($shift, $pairs) attr-dict `:` type($input)"
    )

    def __init__(
        self,
        input: SSAValue,
        axes: Sequence[str],
        shift: Attribute | None = None,
        pairs: Attribute | None = None,
    ):
        super().__init__(
            operands=[input],
            properties={"axes": AxesAttr(tuple(axes)), "shift": shift, "pairs": pairs},
            result_types=[input.type],
        )

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]:
        """The pairs (from, to); empty for a shift."""
        return routes_of(self.pairs)

    def verify_(self) -> None:
        if len(self.axes.data) != 1:
            raise VerifyException("a permute works over one axis")
        check_routes(self.shift, self.pairs)


@irdl_op_definition
class AllToAllOp(AlikeOp):
    """Block i of each rank's tensor goes to rank i; blocks arrive in the order of the ranks that sent them."""

    name = "nccl.all_to_all"
    custom_directives = (Over,)
    assembly_format = "$input custom<Over>($axes) attr-dict `:` type($input)"

    def __init__(self, input: SSAValue, axes: Sequence[str]):
        super().__init__(
            operands=[input],
            properties={"axes": AxesAttr(tuple(axes))},
            result_types=[input.type],
        )

    def verify_(self) -> None:
        if not sizes_of(self.input.type):
            raise VerifyException("its operand has no dimension in front that counts blocks")


@irdl_op_definition
class AllGatherOp(CallOp):
    """Every rank gets the tensors of all ranks, which are equal in shape, as blocks behind one another."""

    name = "nccl.all_gather"
    custom_directives = (Over,)
    assembly_format = "$input custom<Over>($axes) attr-dict `:` type($input) `->` type($output)"

    def __init__(self, input: SSAValue, axes: Sequence[str]):
        super().__init__(
            operands=[input],
            properties={"axes": AxesAttr(tuple(axes))},
            result_types=[in_front(input.type)],
        )

    def verify_(self) -> None:
        _check_blocks(self.output, self.input, "its result")


@irdl_op_definition
class ReduceScatterOp(CallOp):
    """Rank i gets the reduction of all ranks' blocks i."""

    name = "nccl.reduce_scatter"
    kind = prop_def(KindAttr)
    custom_directives = (KindWord, Over)
    assembly_format = (
        "custom<KindWord>($kind) $input custom<Over>($axes) attr-dict `:` type($input) `->` "
        "type($output)"
    )

    def __init__(self, input: SSAValue, kind: Kind, axes: Sequence[str]):
        super().__init__(
            operands=[input],
            properties={"kind": KindAttr(kind), "axes": AxesAttr(tuple(axes))},
            result_types=[TensorType(element_of(input.type), sizes_of(input.type)[1:])],
        )

    def verify_(self) -> None:
        check_kind(element_of(self.input.type), self.kind)
        _check_blocks(self.input, self.output, "its operand")


def _check_blocks(blocks: SSAValue, block: SSAValue, which: str) -> None:
    """Raise `VerifyException` unless `blocks` are any number of tensors like `block`, one behind the other."""
    require_same_elements(blocks, block)
    have, one = sizes_of(blocks.type), sizes_of(block.type)
    if have[1:] != one or len(have) != len(one) + 1 or have[0] != DYNAMIC_INDEX:
        raise VerifyException(f"{which} must be {in_front(block.type)}, not {blocks.type}")


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends a group; its operands are the results of the group."""

    name = "nccl.yield"
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(GroupOp), Pure()))


@irdl_op_definition
class GroupOp(IRDLOperation):
    """Calls that are launched as one; none uses the result of another."""

    name = "nccl.group"
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect(), OneRank())

    def __init__(self, calls: Sequence[Operation]):
        """A group of calls that stand nowhere yet; its results are theirs, in order."""
        values = [result for call in calls for result in call.results]
        super().__init__(
            regions=[Region(Block([*calls, YieldOp(*values)]))],
            result_types=[[value.type for value in values]],
        )

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        position = parser.pos
        region = parser.parse_region()
        last = region.blocks[0].last_op if len(region.blocks) == 1 else None
        if not isinstance(last, YieldOp):
            parser.raise_error("expected one block that ends in nccl.yield", position)
        attributes = parser.parse_optional_attr_dict()
        types = [value.type for value in last.arguments]
        return cls.create(attributes=attributes, regions=[region], result_types=types)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        *calls, last = self.body.block.ops or (None,)
        if not isinstance(last, YieldOp) or self.body.block.args:
            raise VerifyException("its body takes no arguments and ends in nccl.yield")
        if last.operand_types != self.result_types:
            raise VerifyException("its results differ in type from what its nccl.yield gives")
        for call in calls:
            if not isinstance(call, CallOp | IntoOp):
                raise VerifyException(f"holds '{call.name}': a group holds calls alone")
            stored = [other.output for other in calls if isinstance(other, IntoOp)]
            if call.input.owner in calls or (
                call.input in stored and call.output is not call.input
            ):
                raise VerifyException(
                    "holds a call that uses the result of another: what one launch does cannot depend on itself"
                )


class CopyOp(IRDLOperation, ABC):
    """What the copies share: dimension `dim` of a tensor, and that dimension in blocks."""

    input = operand_def(TensorType)
    dim = prop_def(IntegerAttr.constr(i64))
    output = result_def(TensorType)
    traits = traits_def(Pure(), OneRank())

    def _check(self, tensor: SSAValue, blocks: SSAValue, front: int) -> None:
        """Raise `VerifyException` unless `blocks` has `front` dimensions more in front, and `dim` in another size."""
        require_same_elements(self.input, self.output)
        dim, have, cut = self.dim.value.data, sizes_of(tensor.type), sizes_of(blocks.type)
        if not 0 <= dim < len(have):
            raise VerifyException(
                f"dim {dim} is out of range: the tensor has {len(have)} dimension(s)"
            )
        wanted = list(have)
        wanted[dim] = DYNAMIC_INDEX
        if [DYNAMIC_INDEX] * front + wanted != list(cut):
            expected = TensorType(element_of(tensor.type), [DYNAMIC_INDEX] * front + wanted)
            raise VerifyException(f"the blocks of {tensor.type} must be {expected}")


@irdl_op_definition
class PadOp(CopyOp):
    """Zeros behind dimension `dim`, so that it has `to` elements."""

    name = "nccl.pad"
    input = operand_def(TensorType)
    size = operand_def(IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$input `dim` $dim `to` $size attr-dict `:` type($input) `->` type($output)"

    def __init__(self, input: SSAValue, dim: int, size: SSAValue):
        super().__init__(
            operands=[input, size],
            properties={"dim": IntegerAttr(dim, i64)},
            result_types=[_with_open_dim(input.type, dim)],
        )

    def verify_(self) -> None:
        self._check(self.input, self.output, 0)


class CutOp(CopyOp, ABC):
    """What pack and unpack share: how a dimension is cut, level by level.

    At each level, outer first, a block of the level above (at first the dimension) is cut into `counts` blocks of
    `sizes` elements; together they may reach past its end, where nothing is.
    """

    input = operand_def(TensorType)
    counts = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)

    def _check_levels(self) -> None:
        if len(self.counts) != len(self.sizes) or not self.counts:
            raise VerifyException(
                "each level needs a number of blocks and the elements of a block, but there are "
                f"{len(self.counts)} and {len(self.sizes)}"
            )


@irdl_op_definition
class PackOp(CutOp):
    """The blocks of dimension `dim`, counted by a dimension in front; what is short ends in zeros."""

    name = "nccl.pack"
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$input `dim` $dim `blocks` ` ` `[` $counts `]` `of` ` ` `[` $sizes `]` attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def __init__(
        self, input: SSAValue, dim: int, counts: Sequence[SSAValue], sizes: Sequence[SSAValue]
    ):
        super().__init__(
            operands=[input, counts, sizes],
            properties={"dim": IntegerAttr(dim, i64)},
            result_types=[in_front(_with_open_dim(input.type, dim))],
        )

    def verify_(self) -> None:
        self._check_levels()
        self._check(self.input, self.output, 1)


@irdl_op_definition
class UnpackOp(CutOp):
    """The blocks of dimension `dim` behind one another, up to `to` elements."""

    name = "nccl.unpack"
    input = operand_def(TensorType)
    counts = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    size = operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$input `dim` $dim `blocks` ` ` `[` $counts `]` `of` ` ` `[` $sizes `]` `to` $size attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def __init__(
        self,
        input: SSAValue,
        dim: int,
        counts: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        size: SSAValue,
        type: Attribute,
    ):
        super().__init__(
            operands=[input, counts, sizes, size],
            properties={"dim": IntegerAttr(dim, i64)},
            result_types=[type],
        )

    def verify_(self) -> None:
        self._check_levels()
        self._check(self.output, self.input, 1)


Nccl = Dialect(
    "nccl",
    [
        AllReduceOp,
        ReduceOp,
        BroadcastOp,
        PermuteOp,
        AllToAllOp,
        AllGatherOp,
        ReduceScatterOp,
        *CALLS,
        GroupOp,
        YieldOp,
        PadOp,
        PackOp,
        UnpackOp,
    ],
)
