"""Whose memory a value is, and who reads the memory of an argument: what an update must not overtake."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.coll import AllGatherOp, BroadcastOp
from coconet_ir.dialects.comp import ReshapeOp, TransposeOp, UpdateOp, is_target
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.regions import RegionOp, YieldOp

VIEWS = (SliceOp, RelaxOp, ReshapeOp, TransposeOp)
"""Operations whose result is the memory of their operand, seen in another way."""

_PASSED_ON = (*VIEWS, AllGatherOp, BroadcastOp)


def memory_of(value: SSAValue) -> SSAValue:
    """What a value is before gathers and broadcasts: an argument whose memory it would read, or the value itself."""
    while isinstance(value, OpResult):
        if isinstance(value.op, UpdateOp):
            value = value.op.value
        elif isinstance(value.op, _PASSED_ON):
            value = value.op.operands[0]
        elif isinstance(value.op, RegionOp):
            value = value.op.yielded[value.index]
        else:
            break
    return value


def is_updated(value: SSAValue) -> bool:
    """Whether a value is, before gathers and broadcasts, the memory of an argument that is updated."""
    return any(is_target(use.operation, use.index) for use in memory_of(value).uses)


def is_read(op: Operation, index: int) -> bool:
    """Whether an operation reads the data of an operand.

    `tensor.dim` and others that need the shape alone do not, nor does an update read its target.
    """
    rule = rule_of(op)
    return not (is_target(op, index) or (rule is not None and index in rule.shape_only))


def reads(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The uses that read the data of a value: operation and index of the operand."""
    return ((use.operation, use.index) for use in value.uses if is_read(use.operation, use.index))


def source(value: SSAValue) -> Operation | None:
    """The operation that computes what a value is a view of, or is stored by an update; None for an argument."""
    while isinstance(value, OpResult):
        if isinstance(value.op, UpdateOp):
            value = value.op.value
        elif isinstance(value.op, VIEWS):
            value = value.op.operands[0]
        else:
            return value.op
    return None


def data_uses(target: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The reads of an argument, also through views of it: operation and index of the operand.

    Views themselves are none, nor is a region that yields the value, whose result is read instead.
    """
    for op, index in reads(target):
        if isinstance(op, VIEWS):
            yield from data_uses(op.results[0])
        elif isinstance(op, YieldOp) and isinstance(region := op.parent_op(), RegionOp):
            yield from data_uses(region.outputs[index])
        else:
            yield op, index
