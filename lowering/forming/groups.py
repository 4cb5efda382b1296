"""Which operations of one rank's program can be one kernel.

A kernel runs over one space of elements and computes each element of what it computes once. It may reduce the space
over some dimensions, in several ways but over the same ones, and then also computes with what is left; where something
is left, the results can be used for the elements again. So each unit of a kernel stands at a *level*: it has an element
for each of the space, for each that is left, or for each segment.

What a kernel stores into an argument, it reads nowhere but at the same element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import combinations

from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.shapes import Extent
from coconet_ir.dialects.blocks import SegmentReduceBlockOp
from coconet_ir.dialects.comp import BroadcastOp, ReduceOp, UpdateOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.lowering.ranks.reads import Access, Read
from coconet_ir.lowering.ranks.shapes import RankShapes
from coconet_ir.schedule.selection import called, label_of

MOST_TENSORS = 128
"""How many tensors a kernel reads and updates at most: its arguments must fit where a launch puts them."""


class Apart(Exception):
    """Why operations cannot be one kernel."""


class Level(Enum):
    """What a unit of a kernel has an element for."""

    WHOLE = auto()
    """Each element of the space."""
    KEPT = auto()
    """Each that a reduction leaves."""
    SEGMENT = auto()
    """Each segment."""
    INNER = auto()
    """Each element of a space that another unit reads in another order."""


@dataclass(frozen=True)
class Segments:
    """What bounds segments, and how many there are."""

    offsets: SSAValue
    start: SSAValue
    count: Extent


@dataclass(frozen=True)
class Reduction:
    """The space that a kernel reduces, over which dimensions, and how much that leaves."""

    of: Operation
    shape: tuple[Extent, ...]
    whole: Extent
    dims: tuple[int, ...]
    kept: Extent
    segments: Segments | None = None

    def is_like(self, other: Reduction) -> bool:
        """Whether one kernel can reduce in both ways."""
        same_segments = None in (self.segments, other.segments) or self.segments == other.segments
        return (self.shape, self.dims) == (other.shape, other.dims) and same_segments


@dataclass(frozen=True)
class Reading:
    """How a source is read, and at which level."""

    access: Access
    spread: BroadcastOp | None
    level: Level


Readings = dict[SSAValue, dict[Reading, Operation]]
"""Sources, how each is read, and who reads it so."""


@dataclass(eq=False)
class Group:
    """Units that are one kernel."""

    whole: Extent
    """The elements of the space."""
    levels: dict[Operation, Level]
    reduction: Reduction | None = None
    reads: Readings = field(default_factory=Readings)
    """The sources from outside."""
    stores: dict[SSAValue, Level] = field(default_factory=dict[SSAValue, Level])
    """The arguments that it updates."""
    shared: set[SSAValue] = field(default_factory=set[SSAValue])
    """What is left of rows and used for their elements: all threads of a row compute it."""
    several: set[SSAValue] = field(default_factory=set[SSAValue])
    """The sources of that."""

    def may_store(self, source: SSAValue, level: Level) -> bool:
        """Whether a source can be overwritten at a level: no other thread reads what is overwritten."""
        readings = [r for r in self.reads.get(source, ()) if r.access is not Access.SHAPE]
        if level is Level.KEPT and source in self.several:
            return False
        return all(r.access is Access.SAME and r.level is level for r in readings)

    def results(self) -> Iterable[SSAValue]:
        """What it computes."""
        return (result for op in self.levels for result in op.results)

    def level_of(self, value: SSAValue) -> Level | None:
        """The level of what it computes, None for what comes from outside."""
        return self.levels.get(value.op) if isinstance(value, OpResult) else None


class Grouping:
    """Joins units to groups."""

    def __init__(
        self,
        shapes: RankShapes,
        reads: Mapping[Operation, Sequence[Read]],
        readers: Mapping[SSAValue, Sequence[Operation]],
    ):
        """`readers` has all that reads a source."""
        self._shapes, self._reads, self._readers = shapes, reads, readers

    def one(self, ops: Iterable[Operation]) -> Group:
        """The group of all these units, in order. Raises `Apart` if they cannot be one kernel."""
        groups: list[Group] = []
        for op in ops:
            makers = [g for g in groups if any(g.level_of(r.source) for r in self._reads[op])]
            group, joined = self._first_of([makers, *([maker] for maker in makers), []], op)
            groups = [other for other in groups if other not in joined] + [group]
        while len(groups) > 1:
            group, joined = self._first_of(combinations(groups, 2))
            groups = [group] + [other for other in groups if other not in joined]
        if not groups:
            raise Apart("nothing in it computes")
        return groups[0]

    def _first_of(
        self, choices: Iterable[Sequence[Group]], op: Operation | None = None
    ) -> tuple[Group, Sequence[Group]]:
        """The first of these that can be one group, with `op`, and that group. Raises `Apart` if none can."""
        why: Apart | None = None
        for parts in choices:
            try:
                return self.join(parts, op), parts
            except Apart as apart:
                why = why or apart
        raise why or Apart("there is nothing to join")

    def join(self, parts: Sequence[Group], op: Operation | None = None) -> Group:
        """The group of all units of the parts, and of `op`. Raises `Apart` if they cannot be one kernel.

        The parts must not be used afterwards.
        """
        return _Join(self, parts, op).group()

    # What a unit is

    def elements(self, op: Operation) -> Extent:
        """The number of elements that a unit computes."""
        value = op.value if isinstance(op, UpdateOp) else op.results[0]
        return self._shapes.elements(value)

    def reduction(self, op: Operation | None) -> Reduction | None:
        """How a unit reduces, None if it does not."""
        match op:
            case ReduceOp():
                dims, segments = op.reduced, None
                kept = self._shapes.elements(op.output)
            case SegmentReduceBlockOp():
                dims, kept = (0,), (1, ())
                segments = Segments(op.offsets, op.start, self._shapes.elements(op.output))
            case _:
                return None
        shape, whole = self._shapes.shape(op.input), self._shapes.elements(op.input)
        return Reduction(op, shape, whole, dims, kept, segments)

    def reads(self, op: Operation | None) -> Sequence[Read]:
        """What a unit reads."""
        return () if op is None else self._reads[op]

    def readers(self, value: SSAValue) -> Sequence[Operation]:
        """What reads a source."""
        return self._readers.get(value, ())

    def spreads(self, spread: BroadcastOp | None, reduction: Reduction) -> bool:
        """Whether a broadcast gives each element of the space what is left of its own row, while that is at hand."""
        kept = tuple(dim for dim in range(len(reduction.shape)) if dim not in reduction.dims)
        if spread is None or not kept:
            return False
        return numbers(spread.dims) == kept and self._shapes.shape(spread.output) == reduction.shape

    def text(self, extent: Extent) -> str:
        """A number of elements for messages."""
        return self._shapes.text(extent)


class _Join:
    """One attempt to make a group."""

    def __init__(self, grouping: Grouping, parts: Sequence[Group], op: Operation | None):
        self.grouping, self.parts, self.op = grouping, parts, op
        self.reads = grouping.reads(op)
        own = grouping.reduction(op)
        self.reduction = self._merged_reduction(own)
        self.inner = self._inner()
        self.whole = self._whole()
        self.shifts = {id(part): self._shift(part) for part in parts}
        self.at, self.level = self._levels_of(op, own)

    def group(self) -> Group:
        """The group. Raises `Apart`."""
        readings, stores = self._readings(), self._stores()
        for source, found in readings.items():
            if (level := self._level_of(source)) is not None:
                for reading, reader in found.items():
                    self._check_reading(source, level, reading, reader)
        outside = {s: found for s, found in readings.items() if self._level_of(s) is None}
        if len(outside) > MOST_TENSORS:
            raise Apart(f"a kernel reads at most {MOST_TENSORS} tensors")
        shared = self._shared(readings)
        several = self._sources_of(shared)
        group = Group(self.whole, {}, self.reduction, outside, stores, shared, several)
        for target, level in stores.items():
            if not group.may_store(target, level):
                raise Apart(
                    f"'{label_of(next(iter(outside[target].values())))}' reads %{called(target)} in other threads "
                    "than the one that would overwrite it"
                )
        group.levels = self._merged_levels()
        return group

    # Levels

    def _merged_reduction(self, own: Reduction | None) -> Reduction | None:
        found: Reduction | None = None
        for one in (*(part.reduction for part in self.parts), own):
            if one is not None and found is not None and not found.is_like(one):
                raise Apart(
                    f"'{label_of(one.of)}' reduces another tensor than '{label_of(found.of)}', or over other "
                    "dimensions, and a kernel reduces one shape"
                )
            if found is None:
                found = one
            elif one is not None and one.segments is not None:
                found = replace(found, segments=one.segments)
        return found

    def _inner(self) -> Group | None:
        """A part whose one result the unit alone reads, in another order: then the part computes in that order."""
        for part in self.parts:
            reads = [read for read in self.reads if part.level_of(read.source) is not None]
            if [read.access for read in reads] == [Access.MOVED]:
                if self._gives_only(part, reads[0].source):
                    return part
        return None

    def _gives_only(self, part: Group, value: SSAValue) -> bool:
        if part.reduction is not None or part.stores:
            return False
        return all(
            reader in part.levels or (result is value and reader is self.op)
            for result in part.results()
            for reader in self.grouping.readers(result)
        )

    def _whole(self) -> Extent:
        if self.reduction is not None:
            return self.reduction.whole
        return self.parts[0].whole if self.op is None else self.grouping.elements(self.op)

    def _shift(self, part: Group) -> Level | None:
        """The level at which all of a part stands in the group; None if its levels stay."""
        if part is self.inner:
            return Level.INNER
        if part.reduction is not None:
            return None
        level = self._level_with(part.whole, next(reversed(part.levels)))
        return None if level is Level.WHOLE else level

    def _level_with(self, elements: Extent, op: Operation) -> Level:
        """The level of this many elements. Raises `Apart` at `op` if there is none."""
        for level in (Level.WHOLE, Level.KEPT, Level.SEGMENT):
            if self._count(level) == elements:
                return level
        text = self.grouping.text
        raise Apart(
            f"'{label_of(op)}' has {text(elements)} element(s), and a kernel runs over one space of elements, "
            f"here {text(self.whole)}"
        )

    def _count(self, level: Level) -> Extent | None:
        """The elements of a level."""
        if level is Level.WHOLE or self.reduction is None:
            return self.whole if level is Level.WHOLE else None
        if level is Level.KEPT:
            return self.reduction.kept
        return None if self.reduction.segments is None else self.reduction.segments.count

    def _level_of(self, source: SSAValue) -> Level | None:
        """The level of a source in the group, None if it comes from outside."""
        for part in self.parts:
            if (level := part.level_of(source)) is not None:
                return self.shifts[id(part)] or level
        return None

    def _levels_of(self, op: Operation | None, own: Reduction | None) -> tuple[Level, Level]:
        """The levels at which the unit reads, and of what it computes."""
        if own is not None:
            return Level.WHOLE, Level.KEPT if own.segments is None else Level.SEGMENT
        level = Level.WHOLE if op is None else self._place(op)
        return level, level

    def _place(self, op: Operation) -> Level:
        """The level at which a unit that reduces nothing stands: that of what it reads, if the sizes fit."""
        elements = self.grouping.elements(op)
        for access in (Access.SAME, Access.SPREAD):
            for read in self.reads:
                if read.access is access and (level := self._level_of(read.source)) is not None:
                    place = level if access is Access.SAME else Level.WHOLE
                    if self._count(place) == elements:
                        return place
        return self._level_with(elements, op)

    def _merged_levels(self) -> dict[Operation, Level]:
        """The levels of all units; the largest part, if its levels stay, takes in the others."""
        stay = [part.levels for part in self.parts if self.shifts[id(part)] is None]
        merged = max(stay, key=len, default=dict[Operation, Level]())
        for part in self.parts:
            if part.levels is not merged:
                shift = self.shifts[id(part)]
                merged.update((op, shift or level) for op, level in part.levels.items())
        if self.op is not None:
            merged[self.op] = self.level
        return merged

    # What is read and stored

    def _readings(self) -> Readings:
        """All that the members read."""
        found = Readings()
        for part in self.parts:
            shift = self.shifts[id(part)]
            for source, readings in part.reads.items():
                for one, reader in readings.items():
                    moved = one if shift is None else replace(one, level=shift)
                    found.setdefault(source, {}).setdefault(moved, reader)
        for read in self.reads:
            if self.op is not None:
                reading = Reading(read.access, read.spread, self.at)
                found.setdefault(read.source, {}).setdefault(reading, self.op)
        return found

    def _stores(self) -> dict[SSAValue, Level]:
        """The arguments that are updated."""
        found: dict[SSAValue, Level] = {}
        for part in self.parts:
            shift = self.shifts[id(part)]
            found.update((target, shift or level) for target, level in part.stores.items())
        if isinstance(self.op, UpdateOp):
            found[self.op.target] = self.level
        return found

    def _shared(self, readings: Readings) -> set[SSAValue]:
        """What is left of rows and used for their elements."""
        found = set[SSAValue]().union(*(part.shared for part in self.parts))
        for source, how in readings.items():
            if self._level_of(source) is Level.KEPT:
                if any(reading.access is Access.SPREAD for reading in how):
                    found.add(source)
        return found

    def _sources_of(self, values: Iterable[SSAValue]) -> set[SSAValue]:
        """What comes from outside of that from which members compute these values."""
        found, pending = set[SSAValue](), list(values)
        seen = set(pending)
        while pending:
            value = pending.pop()
            if self._level_of(value) is None or not isinstance(value, OpResult):
                found.add(value)
                continue
            before = {read.source for read in self.grouping.reads(value.op)} - seen
            seen |= before
            pending += before
        return found

    def _check_reading(
        self, source: SSAValue, level: Level, reading: Reading, reader: Operation
    ) -> None:
        """Raise `Apart` if a unit needs what another thread computes, or what is not known yet."""
        if level is Level.INNER or self._is_there(level, reading):
            return
        needs = f"'{label_of(reader)}' needs"
        if level is not Level.WHOLE and reading.level is Level.WHOLE and not self._leaves_rows():
            raise Apart(
                f"{needs} '{called(source)}', which is reduced over everything: it is known only when its kernel has "
                "ended"
            )
        raise Apart(
            f"{needs} other elements of '{called(source)}' than its own, which other threads compute"
        )

    def _leaves_rows(self) -> bool:
        """Whether something is left of the space for each of several rows."""
        return self.reduction is not None and len(self.reduction.dims) < len(self.reduction.shape)

    def _is_there(self, level: Level, reading: Reading) -> bool:
        """Whether a unit has what the kernel computes at a level."""
        match reading.access:
            case Access.SHAPE:
                return True
            case Access.SAME:
                return level is reading.level
            case Access.SCALAR:
                return level is reading.level and self._count(level) == (1, ())
            case Access.SPREAD:
                return (
                    level is Level.KEPT
                    and reading.level is Level.WHOLE
                    and self.reduction is not None
                    and self.grouping.spreads(reading.spread, self.reduction)
                )
            case _:
                return False
