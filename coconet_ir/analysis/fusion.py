"""What may stand in one `coll.fused` (design, section 6, fuse).

A fused operation is one kernel: it may begin with one reduction over ranks and end with gathers, or send its result
with a permute, or stand between two all_to_alls; all ranks meet before and after, and at the all_reduces of small
values between. Nobody else runs in between, so what it overwrites must not be read by another rank meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.dist import Cut
from coconet_ir.analysis.memory import VIEWS, data_uses
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.dialects.attributes import axes_text, dist_of
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    BroadcastOp,
    PermuteOp,
    ReduceOp,
    ReduceScatterOp,
)
from coconet_ir.dialects.comp import (
    Conv2dOp,
    MatmulOp,
    ReductionOp,
    ScaleOp,
    SegmentReduceOp,
    UpdateOp,
)
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import label_of

Members: TypeAlias = Collection[Operation]


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
            _check_in_place(op, inside)


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
        if isinstance(op, AllReduceOp) and (_is_small(op) or _is_reduced(op.input, inside)):
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


def _is_read(value: SSAValue, inside: Members) -> bool:
    """Whether a member computes with the data of a value, not only stores it; also with what the update gives."""
    return any(
        not isinstance(op, UpdateOp) or _is_read(op.output, inside)
        for op, _ in data_uses(value)
        if op in inside
    )


def _is_small(op: AllReduceOp) -> bool:
    return rank_of(op.input.type) == 0 or isinstance(source(op.input), SegmentReduceOp)


def _is_reduced(value: SSAValue, inside: Members) -> bool:
    """Whether a value is, but for scaling and views, the result of a reduction among the members."""
    op = source(value)
    while op in inside and isinstance(op, ScaleOp):
        op = source(op.operands[0])
    return op in inside and isinstance(op, ReductionOp | SegmentReduceOp)


def _check_in_place(update: UpdateOp, inside: Members) -> None:
    """Raise `Refused` when a member might read the target of an update after it has been overwritten."""
    owned = _owned(update, inside)

    def meets(op: Operation) -> bool:
        """Whether an operation is over only when every read that it can come from is.

        All ranks meet at an all_reduce of a small or reduced value. If the rank alone stores into its memory, a
        reduction to one number, or to one a segment, will do, which is there when all its threads are done.
        """
        if isinstance(op, AllReduceOp):
            return _is_small(op) or _is_reduced(op.input, inside)
        alone = owned == dist_of(update.target.type).cuts
        whole = bool(op.results) and all(rank_of(r.type) == 0 for r in op.results)
        return alone and (whole or isinstance(op, SegmentReduceOp))

    for reader, index in data_uses(update.target):
        if reader not in inside:
            continue
        if not _reads_own(update, reader, index, owned):
            if _waits_for_all_reads(reader, update, inside, meets):
                continue
            raise _overtaken(update, reader)
        if (moves := moved_on_the_way(reader, update, inside, meets)) is not None:
            raise _overtaken(update, moves)


def _overtaken(update: UpdateOp, reader: Operation) -> Refused:
    return Refused(
        Reason.IN_PLACE,
        f"'{label_of(update)}' stores into an argument that '{label_of(reader)}' reads other than element by "
        "element on the slice that a rank owns: another rank or thread may have overwritten it by then; let "
        "it run before, outside",
    )


def _owned(update: UpdateOp, inside: Members) -> tuple[Cut, ...] | None:
    """The cuts of the part of the target that a rank stores itself; None if peers may store into any of it."""
    stored = source(update.value)
    if not isinstance(stored, CollectiveOp) or stored not in inside:
        return dist_of(update.target.type).cuts
    if isinstance(stored, ReduceScatterOp):
        return dist_of(update.target.type).cuts
    if isinstance(stored, AllGatherOp) and stored.output is update.value:
        return dist_of(stored.input.type).cuts
    return None


def is_part_of(value: SSAValue, target: SSAValue) -> bool:
    """Whether a value is elements of the target, each at its own place; a region may have handed it on."""
    while isinstance(value, OpResult):
        if isinstance(value.op, SliceOp | RelaxOp):
            value = value.op.input
        elif isinstance(value.op, RegionOp):
            value = value.op.yielded[value.index]
        else:
            break
    return value is target


def _reads_own(
    update: UpdateOp, reader: Operation, index: int, owned: tuple[Cut, ...] | None
) -> bool:
    """Whether a reader works element by element on what the same rank stores."""
    own = (
        is_part_of(reader.operands[index], update.target)
        and dist_of(reader.operands[index].type).cuts == owned
    )
    return own and is_elementwise(reader, index)


def is_elementwise(op: Operation, index: int) -> bool:
    """Whether each element of every result needs only the same element of operand `index`."""
    rule = rule_of(op)
    if rule is None or rule.transition is not None:
        return False
    shape = rule.operands[index]
    plain = shape is not None and all(len(names) == 1 for names in shape)
    names = [names[0] for names in shape or ()]
    parallel = len(set(names)) == len(names) and not any(name in rule.role for name in names)
    return (
        plain
        and parallel
        and bool(rule.results)
        and all(result == shape for result in rule.results)
    )


def moved_on_the_way(
    reader: Operation,
    update: UpdateOp,
    inside: Members,
    meets: Callable[[Operation], bool] = lambda op: False,
) -> Operation | None:
    """A member that brings what a reader makes of one element of the target to the store of another, or None.

    Where all have met (`meets`) every element has been read.
    """
    pending, seen = [reader], {reader}
    while pending:
        for result in pending.pop().results:
            for use in result.uses:
                op = use.operation
                if op not in inside or op in seen or op is update or meets(op):
                    continue
                if not (
                    is_elementwise(op, use.index)
                    or isinstance(op, UpdateOp | RelaxOp | AllGatherOp)
                ):
                    if update in _reached(op, inside, meets):
                        return op
                    continue
                seen.add(op)
                pending.append(op)
    return None


def _waits_for_all_reads(
    reader: Operation, update: UpdateOp, inside: Members, meets: Callable[[Operation], bool]
) -> bool:
    """Whether what a reader makes reaches the update, and only where every read it can come from is over."""
    past = _reached(reader, inside, lambda op: False)
    return update in past and update not in _reached(reader, inside, meets)


def _reached(
    start: Operation, inside: Members, stops: Callable[[Operation], bool]
) -> set[Operation]:
    """The members that wait for `start`, itself included, but not beyond those at which it stops."""
    reached: set[Operation] = {start}
    pending = [start]
    while pending:
        op = pending.pop()
        if stops(op):
            continue
        for result in op.results:
            for use in result.uses:
                reader = use.operation
                if reader in inside and reader not in reached:
                    reached.add(reader)
                    pending.append(reader)
    return reached
