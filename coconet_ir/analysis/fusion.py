"""What may stand in one `coll.fused` (design, section 6, fuse).

A fused operation is one kernel: it may begin with one reduction over ranks and end with gathers, or send its result
with a permute, or stand between two all_to_alls; all ranks meet before and after, and at the all_reduces of small
values between. Nobody else runs in between, so what it overwrites must not be read by another rank meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.in_place import Members, check_in_place, ranks_meet
from coconet_ir.analysis.memory import data_uses, source
from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.attributes import axes_text
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    BroadcastOp,
    PermuteOp,
    ReduceOp,
    ReduceScatterOp,
)
from coconet_ir.dialects.comp import Conv2dOp, MatmulOp, UpdateOp
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import label_of


def check_fused(ops: Sequence[Operation]) -> None:
    """Raise `Refused` unless the operations, in their order, can be one fused operation."""
    for op in ops:
        _check_member(op)
    collectives = [op for op in ops if isinstance(op, CollectiveOp)]
    inside = frozenset(ops)
    _check_axes(collectives)
    _check_places(collectives, inside)
    for op in ops:
        if isinstance(op, UpdateOp):
            check_in_place(op, inside)


def _check_member(op: Operation) -> None:
    label = label_of(op)
    if isinstance(op, RegionOp):
        raise Refused(
            Reason.NESTED_REGION,
            f"'{label}' is a {op.name}, and a fused operation holds no regions: inline it first",
        )
    if op.has_trait(IsTerminator):
        raise Refused(Reason.NOT_FUSABLE, f"'{label}' ends the function")
    if isinstance(op, MatmulOp | Conv2dOp):
        raise Refused(
            Reason.NOT_FUSABLE,
            f"'{label}' is a kernel of its own; leave it outside, and overlap it with what reads it",
        )
    if isinstance(op, ReduceOp | BroadcastOp):
        raise Refused(
            Reason.NOT_FUSABLE,
            f"'{label}' works with one rank alone; split into reduce_scatter and all_gather instead",
        )
    if rule_of(op) is None:
        raise Refused(Reason.NO_RULE, f"'{label}' ({op.name}) states no dimension rule")


def _check_axes(collectives: Sequence[CollectiveOp]) -> None:
    for op in collectives:
        first = collectives[0]
        if op.axes != first.axes:
            raise Refused(
                Reason.SEVERAL_AXES,
                f"'{label_of(first)}' works over {axes_text(first.axes.data)} and '{label_of(op)}' over "
                f"{axes_text(op.axes.data)}; one fused operation has one list of axes",
            )


def _check_places(collectives: Sequence[CollectiveOp], inside: Members) -> None:
    """Raise `Refused` for a collective that neither begins nor ends the operation, nor reduces a small value."""
    begins: list[CollectiveOp] = []
    ends: list[CollectiveOp] = []
    for op in collectives:
        first, last = source(op.input) not in inside, not _is_read(op.output, inside)
        if isinstance(op, AllReduceOp) and ranks_meet(op, inside):
            continue
        if isinstance(op, AllReduceOp | ReduceScatterOp) and first:
            begins.append(op)
        elif isinstance(op, AllGatherOp) and last:
            ends.append(op)
        elif isinstance(op, PermuteOp | AllToAllOp) and (first or last):
            (ends if last else begins).append(op)
        else:
            raise _misplaced(op)
    if len(begins) > 1:
        raise Refused(
            Reason.COLLECTIVE_ORDER,
            f"'{label_of(begins[0])}' and '{label_of(begins[1])}' both bring something in; one fused operation "
            "begins with one collective",
        )
    sends = [op for op in (*begins, *ends) if isinstance(op, PermuteOp | AllToAllOp)]
    others = [op for op in (*begins, *ends) if op not in sends]
    if sends and others:
        raise Refused(
            Reason.COLLECTIVE_ORDER,
            f"'{label_of(sends[0])}' and '{label_of(others[0])}' belong to two kinds of kernel: one that sends "
            "to chosen ranks, and one that reduces and gathers; fuse the computation with one of them",
        )
    permutes = any(isinstance(op, PermuteOp) for op in sends)
    extra = sends[1:] if permutes or not begins else sends[2:]
    if extra:
        raise Refused(
            Reason.COLLECTIVE_ORDER,
            f"'{label_of(sends[0])}' and '{label_of(extra[0])}' both send; one fused operation has one permute, or "
            "one all_to_all at either end",
        )


def _misplaced(op: CollectiveOp) -> Refused:
    if isinstance(op, AllReduceOp | ReduceScatterOp):
        why = (
            "reduces what is computed inside; only the all_reduce of a reduction's result may, so begin the fused "
            "operation with it"
        )
    elif isinstance(op, AllGatherOp):
        why = "is read inside; a fused operation ends with its gathers, so leave the readers out"
    else:
        why = "is fed and read inside; it can be the first or the last of a fused operation"
    return Refused(Reason.COLLECTIVE_ORDER, f"'{label_of(op)}' {why}")


def _is_read(value: SSAValue, inside: Members) -> bool:
    """Whether a member computes with the data of a value, not only stores it; also with what the update gives."""
    return any(
        not isinstance(op, UpdateOp) or _is_read(op.output, inside)
        for op, _ in data_uses(value)
        if op in inside
    )
