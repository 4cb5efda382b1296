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


def reads(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The uses that read the data of a value: operation and index of the operand.

    `tensor.dim` and other uses of the shape alone do not read, nor does an update its target.
    """
    for use in value.uses:
        op, index = use.operation, use.index
        rule = rule_of(op)
        if not (is_target(op, index) or (rule is not None and index in rule.shape_only)):
            yield op, index


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
