"""What the operations of one rank's program say about sizes: which are equal, and which an operand gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, TensorType
from xdsl.dialects.memref import ViewOp
from xdsl.dialects.tensor import CastOp, EmptyOp, ExtractSliceOp, SplatOp
from xdsl.ir import Operation, SSAValue

from coconet_ir.analysis.notation import Rule, Shape
from coconet_ir.analysis.rules import pointwise, rank_of, rule_of
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.blocks import DropoutBlockOp, SegmentBroadcastBlockOp
from coconet_ir.dialects.nccl import (
    AlikeOp,
    AllGatherOp,
    CallOp,
    CopyOp,
    PackOp,
    PadOp,
    ReduceScatterOp,
    UnpackOp,
)
from coconet_ir.lowering.kernels import cuts


def rule_on_rank(op: Operation) -> Rule | None:
    """The rule of an operation, also of those that stand only in one rank's program: it says which sizes are equal."""
    match op:
        case DropoutBlockOp() | CastOp() | AlikeOp():
            return pointwise(op)
        case CopyOp():
            return cuts.rule(op)
        case AllGatherOp() | ReduceScatterOp():
            return _blocks_rule(op)
        case ToTensorOp():
            shape = _names(op.tensor)
            return Rule((shape,), (shape,))
        case MaterializeInDestinationOp():
            shape = _names(op.source)
            return Rule((shape, shape), ())
        case _:
            return rule_of(op)


def _names(tensor: SSAValue) -> Shape:
    return tuple((f"d{i}",) for i in range(rank_of(tensor.type) or 0))


def _blocks_rule(op: CallOp) -> Rule:
    block = _names(op.input if isinstance(op, AllGatherOp) else op.output)
    blocks = (("blocks",), *block)
    if isinstance(op, AllGatherOp):
        return Rule((block,), (blocks,))
    return Rule((blocks,), (block,))


def given_sizes(op: Operation) -> Iterator[tuple[int, SSAValue]]:
    """The dimensions of an operation's result that operands give, and these."""
    match op:
        case SplatOp(dynamicSizes=sizes) | EmptyOp(dynamic_sizes=sizes):
            yield from _open_dims(op, sizes)
        case ExtractSliceOp(sizes=sizes) | SegmentBroadcastBlockOp(size=sizes):
            yield from _open_dims(op, sizes)
        case ViewOp():
            yield from _open_dims(op, op.sizes)
        case PadOp() | UnpackOp():
            if sizes_of(op.output.type)[op.dim.value.data] == DYNAMIC_INDEX:
                yield op.dim.value.data, op.size
        case PackOp():
            yield op.dim.value.data + 1, op.sizes[-1]
            if len(op.counts) == 1:
                yield 0, op.counts[0]
        case _:
            pass


def _open_dims(op: Operation, sizes: Sequence[SSAValue]) -> Iterator[tuple[int, SSAValue]]:
    type = op.results[0].type
    shape = type.get_shape() if isinstance(type, TensorType | MemRefType) else ()
    dims = [dim for dim, size in enumerate(shape) if size == DYNAMIC_INDEX]
    yield from zip(dims, sizes, strict=False)
