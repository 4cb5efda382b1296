"""When a fused operation may store into an argument that it also reads (design, section 6, fuse).

Who stores an element of the target owns it. What a kernel does, where nothing makes it wait:

- The owner does all that is element by element at its element, reads before it stores, and sends at the end what it
  has made. What the store of an element waits for at that element is made once, by the owner; all others take that.
- Whatever else somebody needs of an element he may compute again, from memory, at any time: that a value is made of an
  element does not say that nobody reads the element any more.
- A reduction is done once, and over when all that it reduces has been read.

So what is made of the target is followed from each read. As long as it stays at its element it is the owner's; whatever
else reads it must be over before the store, and what is over is said by what the store waits for alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.dist import Cut
from coconet_ir.analysis.memory import data_uses, is_read, reads, source
from coconet_ir.analysis.notation import Reduction
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    PermuteOp,
    ReduceScatterOp,
)
from coconet_ir.dialects.comp import (
    ReductionOp,
    ScaleOp,
    SegmentBroadcastOp,
    SegmentReduceOp,
    UpdateOp,
)
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import label_of

Members = Collection[Operation]

_COPIES = (UpdateOp, RelaxOp, SliceOp)
"""Operations that compute nothing: their result is what they read, and may as well be read from there."""


class _Made(IntEnum):
    """What a value is, as to the memory of the target: that very memory; made of it; made of it and kept."""

    MEMORY = 0
    AGAIN = 1
    ONCE = 2


def check_in_place(update: UpdateOp, inside: Members) -> None:
    """Raise `Refused` when a member might read the target of an update after it has been overwritten."""
    store = _Store(update, inside)
    for reader, index in data_uses(update.target):
        if reader in inside and (late := store.late(reader, index)) is not None:
            raise Refused(
                Reason.IN_PLACE,
                f"'{label_of(update)}' stores into an argument that '{label_of(late)}' reads other than element by "
                "element on the slice that a rank owns: another rank or thread may have overwritten it by then; let "
                "it run before, outside",
            )


def ranks_meet(op: AllReduceOp, inside: Members) -> bool:
    """Whether an all_reduce is one of small values, at which all ranks meet in the middle of a kernel."""
    small = rank_of(op.input.type) == 0 or isinstance(source(op.input), SegmentReduceOp)
    return small or _is_reduced(op.input, inside)


def _is_reduced(value: SSAValue, inside: Members) -> bool:
    """Whether a value is, but for scaling and views, the result of a reduction among the members."""
    op = source(value)
    while op in inside and isinstance(op, ScaleOp):
        op = source(op.operands[0])
    return op in inside and isinstance(op, ReductionOp | SegmentReduceOp)


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


def stays(op: Operation, index: int) -> bool:
    """Whether what an operation makes of an element stays with the owner of the element."""
    return isinstance(op, _COPIES) or is_elementwise(op, index)


def waited_for(update: UpdateOp, inside: Members) -> set[Operation]:
    """The members whose results the stored value is made of."""
    found: set[Operation] = set()
    pending: list[SSAValue] = [update.value]
    while pending:
        if (op := pending.pop().owner) in inside and isinstance(op, Operation) and op not in found:
            found.add(op)
            pending += [value for i, value in enumerate(op.operands) if is_read(op, i)]
    return found


@dataclass(frozen=True, eq=False)
class _Store:
    """An update among the members of a fused operation, and what it waits for."""

    update: UpdateOp
    inside: Members

    @cached_property
    def owned(self) -> tuple[Cut, ...] | None:
        """The cuts of the part of the target that a rank stores itself; None if peers may store into any of it."""
        stored, target = source(self.update.value), dist_of(self.update.target.type).cuts
        if not isinstance(stored, CollectiveOp) or stored not in self.inside:
            return target
        if isinstance(stored, ReduceScatterOp):
            return target
        if isinstance(stored, AllGatherOp) and stored.output is self.update.value:
            return dist_of(stored.input.type).cuts
        return None

    @cached_property
    def alone(self) -> bool:
        """Whether the rank alone stores into its memory."""
        return self.owned == dist_of(self.update.target.type).cuts

    @cached_property
    def waits(self) -> set[Operation]:
        """The members that the store waits for."""
        return waited_for(self.update, self.inside)

    @cached_property
    def way(self) -> set[Operation]:
        """The members that the store of an element waits for at that very element."""
        return self._made_of(self.update.value)

    @cached_property
    def segments(self) -> set[Operation]:
        """The reductions of segments for which the store of each element waits as to its own segment."""
        return {
            op
            for back in self.way
            if self.alone and isinstance(back, SegmentBroadcastOp)
            for op in self._made_of(back.input)
            if isinstance(op, SegmentReduceOp) and op.offsets is back.offsets
        }

    def _made_of(self, value: SSAValue) -> set[Operation]:
        """The members whose results at each element a value needs at the same element, to the first that moves."""
        found: set[Operation] = set()
        pending = [value]
        while pending:
            op = pending.pop().owner
            if op in self.inside and isinstance(op, Operation) and op not in found:
                found.add(op)
                pending += [
                    operand
                    for i, operand in enumerate(op.operands)
                    if is_read(op, i) and (stays(op, i) or isinstance(op, AllGatherOp))
                ]
        return found

    def late(self, reader: Operation, index: int) -> Operation | None:
        """A member that may need an element of the target when it is overwritten, because of one read, or None."""
        operand = reader.operands[index]
        if not (
            is_part_of(operand, self.update.target) and dist_of(operand.type).cuts == self.owned
        ):
            return None if self._is_over(reader) else reader
        pending = [(reader, index, _Made.MEMORY)]
        seen = set(pending)
        while pending:
            op, index, made = pending.pop()
            if stays(op, index):
                if not isinstance(op, _COPIES):
                    made = max(made, _Made.ONCE if op in self.way else _Made.AGAIN)
                for user, at in self._uses(op):
                    if user in self.inside and (user, at, made) not in seen:
                        seen.add((user, at, made))
                        pending.append((user, at, made))
            elif not (self._is_own(op, index, made) or self._is_over(op)):
                return op
        return None

    def _is_own(self, op: Operation, index: int, made: _Made) -> bool:
        """Whether `op`, which moves what it reads, needs no element of memory that somebody may have overwritten."""
        if isinstance(op, AllGatherOp | PermuteOp | AllToAllOp):
            # The owner sends what it has made, but what lies in memory peers may fetch.
            return made > _Made.MEMORY
        if op in self.segments:
            return index == 0
        return made is _Made.ONCE and op not in self.waits

    def _is_over(self, start: Operation) -> bool:
        """Whether the store waits, on every way on from `start`, for something that needs all that is read there.

        One way past it is enough to compute `start` again later, be it to no store at all.
        """
        by_peers = isinstance(start, CollectiveOp)
        pending, seen = [start], {start}
        while pending:
            op = pending.pop()
            if self._meets(op, by_peers):
                continue
            users = {user for user, _ in self._uses(op)}
            if not users or _narrows(op) or any(user not in self.inside for user in users):
                return False
            pending += users - seen
            seen |= users
        return True

    def _meets(self, op: Operation, by_peers: bool) -> bool:
        """Whether the store waits for an operation that needs all elements: of all ranks, or of this one alone."""
        if op not in self.waits:
            return False
        if isinstance(op, AllReduceOp):
            return ranks_meet(op, self.inside)
        return self.alone and not by_peers and _is_total(op)

    def _uses(self, op: Operation) -> Iterator[tuple[Operation, int]]:
        return (use for result in op.results for use in reads(result))


def _is_total(op: Operation) -> bool:
    """Whether an operation reduces tensors to one number."""
    rule = rule_of(op)
    if rule is None or any(rank_of(result.type) != 0 for result in op.results):
        return False
    adds_up = isinstance(op, ReductionOp) or all(isinstance(r, Reduction) for _, r in rule.roles)
    return adds_up and bool(rule.data) and all(rank_of(op.operands[i].type) for i in rule.data)


def _narrows(op: Operation) -> bool:
    """Whether an operation passes on a part of what it reads, or stores it: what is behind it waits for no more."""
    return isinstance(op, UpdateOp | SliceOp) or (isinstance(op, ExtractOp) and bool(op.indices))


def moved_on_the_way(reader: Operation, update: UpdateOp, inside: Members) -> Operation | None:
    """A member that brings what a reader makes of one element of the target to the store of another, or None."""
    waits = waited_for(update, inside)
    pending, seen = [reader], {reader}
    while pending:
        for result in pending.pop().results:
            for op, index in reads(result):
                if op not in inside or op in seen or op is update:
                    continue
                seen.add(op)
                if stays(op, index) or isinstance(op, AllGatherOp):
                    pending.append(op)
                elif op in waits:
                    return op
    return None
