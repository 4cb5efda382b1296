"""What is missing between two accesses that race, from the trace of their run.

What is known of the earlier access, the *source*, went forward: to whom its thread told of it. What came before the
later one, the *target*, is known too: from whom its thread was told. A *link* is a message that goes from the one side
to the other and that was read; what it lacks is what is missing. Of all links that with the fewest gaps is explained;
if there is none, what was told last on each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coconet_ir.emu.code.layout import WARP, Op, Order, Scope
from coconet_ir.emu.execution.blocks import Block
from coconet_ir.emu.memory.access import Access
from coconet_ir.emu.reports.findings import Kind, Where, who
from coconet_ir.emu.reports.updates import is_strong

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run
    from coconet_ir.emu.memory.clocks import Clock
    from coconet_ir.emu.memory.strong import Location
    from coconet_ir.emu.reports.trace import Event, Trace

_SCOPES = {Scope.CTA: "cta", Scope.GPU: "gpu", Scope.SYS: "sys"}
_SYNCHRONISES = (Op.LOAD, Op.STORE, Op.ATOMIC, Op.FENCE)
_OWN, _BLOCK, _OLDER, _UNREAD = 0.5, 1.5, 4.0, 8.0
"""How much it says against an explanation that a block told itself, that no barrier is between the two accesses, that
an older message was read, or none."""


@dataclass(frozen=True)
class _End:
    """One side of a link: where knowledge leaves the source's side, or comes to the target's."""

    event: Event
    """The release or acquire operation or fence; where there is none, the access."""
    orders: bool = True
    """Whether it is one."""
    mate: Access | None = None
    """What a thread of the same block did that no barrier puts before (or behind) it."""

    @property
    def gaps(self) -> float:
        """How much is missing."""
        return (not self.orders) + (0 if self.mate is None else 2)


@dataclass(frozen=True)
class _Link:
    """A message that should have told the target of the source, and the read that found it or another one."""

    write: Event
    told: _End
    read: Event | None = None
    taken: _End | None = None
    older: bool = False
    """Whether the read found an older message."""
    gaps: float = field(default=0.0, compare=False)


def are_too_narrow(kind: Kind, first: Access, second: Access) -> bool:
    """Whether a race is one of strong accesses of one size: then it is their scopes."""
    return kind == "data race" and first.scope is not None and second.scope is not None


def between_strong(run: Run, first: Access, second: Access) -> tuple[str, ...]:
    """Why two strong accesses are no pair that may meet: whose scope does not include the other."""
    return tuple(
        _too_narrow(run, run.reports.where(a.slot, a.site, a.epoch), a.scope, b.slot)
        for a, b in ((first, second), (second, first))
        if a.scope is not None and not run.strong.reaches(a.scope, a.slot, b.slot)
    )


def waited(run: Run, trace: Trace, target: Access) -> tuple[str, ...]:
    """What a thread that came too early waited for."""
    return tuple(Explanation(run, trace, target, target).waited())


def _too_narrow(run: Run, where: Where, scope: int, other: int) -> str:
    wide = "sys" if run.rank_of(other) != where.rank else "gpu"
    whom = f"rank {run.rank_of(other)}" if wide == "sys" else "other blocks"
    return f"the scope of {_at(where)} is .{_SCOPES[scope]}, which does not include {whom}: .{wide} is needed"


def _at(where: Where) -> str:
    """An instruction and where it is."""
    if where.kernel is None:
        return where.text
    place = f"line {where.line}" if where.location is None else where.location.outermost
    return f"`{where.text}` at {place}"


class Explanation:
    """Explains a race; asked for when the run stands at the target."""

    def __init__(self, run: Run, trace: Trace, source: Access, target: Access):
        self.run, self.trace, self.source, self.target = run, trace, source, target
        self.clock: Clock = trace.clock_at(target)
        self.from_block, self.to_block = trace.block_of(source), trace.block_of(target)
        self._first: dict[Block, Event | None] = {}
        self._last: dict[Block, Event | None] = {}

    def notes(self) -> tuple[str, ...]:
        """What is missing."""
        source, target = self.source, self.target
        if self.run.comes_before(source, target.slot):
            return (
                f"{self._named(target)} must find what was there when its kernel began: use an `ld` without .nc",
            )
        best = min(self._links(), key=lambda link: (link.gaps, -link.write.number), default=None)
        gaps = _UNREAD if best is None else best.gaps
        if self.from_block is not None and self.to_block is not None:
            near = self.from_block is self.to_block
            if near and gaps > _BLOCK:
                return (self._no_barrier(source, target),)
            same_rank = self.from_block.rank == self.to_block.rank
            if same_rank and self.from_block.grid is not self.to_block.grid and gaps > _BLOCK:
                return (self._launches(self.from_block, self.to_block),)
        if best is not None and gaps < _OLDER:
            return tuple(self._words(best))
        if self._is_strong(source) or self._is_strong(target):
            return (self._unlike(),)
        if best is not None and gaps < _UNREAD:
            return (*self._words(best), *self._turned())
        return (*self._apart(best), *self._turned())

    # Who knows

    def _knows(self, access: Access, clock: Clock) -> bool:
        """Whether the source came before something, whose thread knew `clock`."""
        if access.slot == self.source.slot:
            return access.epoch >= self.source.epoch
        return clock.knows(self.source.slot, self.source.epoch)

    def _is_before(self, access: Access) -> bool:
        """Whether something came before the target."""
        if access.slot == self.target.slot:
            return access.epoch < self.target.epoch
        return self.clock.knows(access.slot, access.epoch)

    def _mate_that_knows(self, event: Event) -> Access | None:
        """What a thread of an event's block did when it knew of the source; no barrier puts the event behind that."""
        block = self.trace.block_of(event.access)
        if block is None:
            return None
        if block is self.from_block:
            mate, clock = self.source, self.trace.clock_at(self.source)
        elif (first := self._first_to_know(block)) is not None:
            mate, clock = first.access, first.clock
        else:
            return None
        return None if clock.knows(event.slot, event.access.epoch) else mate

    def _first_to_know(self, block: Block) -> Event | None:
        """What a thread of a block did when it knew of the source, before all others."""
        if block not in self._first:
            known = (e for e in self.trace.of_block(block) if self._knows(e.access, e.clock))
            self._first[block] = min(known, key=lambda one: one.number, default=None)
        return self._first[block]

    def _mate_before_target(self, event: Event) -> Access | None:
        """What a thread of an event's block did before the target; no barrier puts the event before that."""
        block = self.trace.block_of(event.access)
        if block is None:
            return None
        if block is self.to_block:
            return self.target
        if block not in self._last:
            known = (e for e in self.trace.of_block(block) if self._is_before(e.access))
            self._last[block] = max(known, key=lambda one: one.number, default=None)
        last = self._last[block]
        if last is None or event.clock.knows(last.slot, last.access.epoch):
            return None
        return last.access

    # Links

    def _links(self) -> Iterator[_Link]:
        """All messages that could have told the target of the source."""
        told = {write: end for write in self.trace.writes.values() if (end := self._told(write))}
        last: dict[tuple[int, Location], tuple[Event, _End]] = {}
        for read in self.trace.events:
            if read.kind != "read" or read.location is None:
                continue
            taken = self._taken(read)
            if taken is None:
                continue
            last[read.slot, read.location] = (read, taken)
            write = self.trace.writes.get((read.location, read.index))
            if write is not None and write in told:
                yield self._link(write, told[write], read, taken)
        for (_, location), (read, taken) in last.items():
            for index in range(read.index + 1, location.last + 1):
                write = self.trace.writes.get((location, index))
                if write is not None and write in told:
                    gaps = told[write].gaps + taken.gaps + _OLDER
                    yield _Link(write, told[write], read, taken, True, gaps)
        for write, end in told.items():
            yield _Link(write, end, gaps=_UNREAD + end.gaps)

    def _link(self, write: Event, told: _End, read: Event, taken: _End) -> _Link:
        gaps = told.gaps + taken.gaps + len(self._narrow(told, taken))
        if self.trace.block_of(write.access) is self.trace.block_of(read.access):
            gaps += _OWN
        return _Link(write, told, read, taken, False, gaps)

    def _told(self, write: Event) -> _End | None:
        """How a message tells of the source, or nearly does."""
        assert write.message is not None
        tellers = [self.trace.tellers[id(one)] for one in write.message.releases]
        for one in tellers:
            if self._knows(one.access, one.clock):
                return _End(one)
        if self._knows(write.access, write.clock):
            return _End(write, orders=False)
        mate = self._mate_that_knows(write)
        if mate is None:
            return None
        own = [one for one in tellers if one.slot == write.slot]
        return _End(own[-1], mate=mate) if own else _End(write, False, mate)

    def _taken(self, read: Event) -> _End | None:
        """How the target's side learns from a message, or nearly does."""
        point = self._acquires(read)
        if point is not None and self._is_before(point.access):
            return _End(point)
        if self._is_before(read.access):
            return _End(read, orders=False)
        mate = self._mate_before_target(read)
        if mate is None:
            return None
        return _End(read, False, mate) if point is None else _End(point, mate=mate)

    def _acquires(self, read: Event) -> Event | None:
        """The operation or fence that takes what a read found."""
        if read.order & Order.ACQUIRE:
            return read
        fences = (one for one in self.trace.behind(read) if one.kind == "fence")
        return next((one for one in fences if one.order & Order.ACQUIRE), None)

    def _narrow(self, told: _End, taken: _End) -> list[tuple[Event, int]]:
        """The operations whose scope does not include the other, and that one's slot."""
        pairs = ((told.event, taken.event.slot), (taken.event, told.event.slot))
        return [
            (event, other)
            for event, other in pairs
            if not self.run.strong.reaches(event.scope, event.slot, other)
        ]

    # Words

    def _is_strong(self, access: Access) -> bool:
        """Whether an access is strong by its instruction."""
        return is_strong(self.run.emulator.code.sites[access.site].instruction)

    def _unlike(self) -> str:
        """That one access is strong and the other is not, or that they have different sizes."""
        first, second = self.source, self.target
        if self._is_strong(first) and self._is_strong(second):
            return (
                f"{self._named(first)} and {self._named(second)} have different sizes: what nothing orders must have "
                "one size"
            )
        weak, strong = (second, first) if self._is_strong(first) else (first, second)
        return (
            f"{self._named(weak)} is weak and {self._named(strong)} is strong: what nothing orders must be strong on "
            "both sides (`.relaxed`, `.volatile`, or an atomic operation)"
        )

    def _where(self, access: Access) -> Where:
        return self.run.reports.where(access.slot, access.site, access.epoch)

    def _named(self, access: Access) -> str:
        return _at(self._where(access))

    def _scope(self, one: int, other: int) -> str:
        """The least scope that includes two threads."""
        if self.run.rank_of(one) != self.run.rank_of(other):
            return "sys"
        return "cta" if self.run.blocks[one] is self.run.blocks[other] else "gpu"

    def _no_barrier(self, first: Access, second: Access) -> str:
        """That no barrier is between what threads of a block do."""
        a, b = self._where(first), self._where(second)
        block = self.trace.block_of(first)
        assert block is not None
        warps = {(access.slot - block.first) // WARP for access in (first, second)}
        kind = "barrier" if len(warps) > 1 else "barrier (or bar.warp.sync)"
        return f"no {kind} of the block is between {_at(a)} ({who(a)}) and {_at(b)} ({who(b)})"

    def _words(self, link: _Link) -> Iterator[str]:
        read, told, taken = link.read, link.told, link.taken
        assert read is not None
        assert taken is not None
        reader = self._where(read.access)
        if link.older:
            yield f"{who(reader)} read {self._found(read)} by {_at(reader)}"
            later = self._stored(link.write)
            yield f"that message is too old: the later one tells of {self._named(self.source)}: {later}"
        else:
            yield f"{self._stored(link.write)}, and {who(reader)} read it by {_at(reader)}"
        scope = self._scope(link.write.slot, read.slot)
        if not told.orders:
            yield self._releases_nothing(link.write, scope)
        if not taken.orders:
            yield self._acquires_nothing(read, scope)
        if told.mate is not None:
            yield self._no_barrier(told.mate, told.event.access)
        if taken.mate is not None:
            yield self._no_barrier(taken.event.access, taken.mate)
        if not link.older:
            for event, other in self._narrow(told, taken):
                yield _too_narrow(self.run, self._where(event.access), event.scope, other)

    def _releases_nothing(self, write: Event, scope: str) -> str:
        text = f"{self._named(write.access)} does not release what came before it"
        fence = self.trace.last_fence(write)
        if fence is not None and fence.release is None:
            text = f"{text}, nor does {self._named(fence.access)}"
        elif fence is not None:
            text = f"{text}, and {self._named(fence.access)} is too early"
        return f"{text}: `fence.acq_rel.{scope}` before it or `st.release.{scope}` is missing"

    def _acquires_nothing(self, read: Event, scope: str) -> str:
        text = f"{self._named(read.access)} does not acquire"
        behind = (one for one in self.trace.behind(read) if one.kind == "fence")
        fence = next((one for one in behind if self._is_before(one.access)), None)
        if fence is None:
            text = f"{text}, and no fence follows in time"
        else:
            text = f"{text}, nor does {self._named(fence.access)}"
        return f"{text}: `fence.acq_rel.{scope}` behind it or `ld.acquire.{scope}` is missing"

    def _stored(self, write: Event) -> str:
        """Who stored a message."""
        assert write.message is not None
        assert write.location is not None
        where = self._where(write.access)
        name, behind = self.run.space.name(write.location.offset)
        return f"{who(where)} stored {write.message.value:#x} in byte {behind} of {name} by {_at(where)}"

    def _found(self, read: Event) -> str:
        """What a read found, and who had stored it."""
        assert read.message is not None
        assert read.location is not None
        name, behind = self.run.space.name(read.location.offset)
        found = f"{read.message.value:#x} from byte {behind} of {name}"
        write = self.trace.writes.get((read.location, read.index))
        if write is None:
            return f"{found}, which was there before,"
        where = self._where(write.access)
        launch = ""
        if where.kernel is not None:
            launch = f" in {self.run.emulator.job.labels.get(where.step, f'step {where.step}')}"
        return f"{found}, stored by {who(where)}{launch},"

    def _apart(self, link: _Link | None) -> Iterator[str]:
        """That nothing leads from one side to the other: how far each goes."""
        source, target = self._where(self.source), self._where(self.target)
        if link is None:
            yield f"{who(source)} has told nobody of {_at(source)} yet"
        else:
            told = f"the message that tells of {_at(source)}: {self._stored(link.write)}"
            yield f"nothing before {_at(target)} has read {told}"
        yield from self.waited()

    def _turned(self) -> Iterator[str]:
        """What the source waited for: it may be that it should have come after the target."""
        yield f"or, if {self._named(self.source)} came too early:"
        yield from Explanation(self.run, self.trace, self.target, self.source).waited()

    def waited(self) -> Iterator[str]:
        """What the target's block read last before it."""
        target = self._where(self.target)
        reads = (
            (read, taken)
            for read in reversed(self.trace.events)
            if read.kind == "read"
            and self._is_beside_target(read.access)
            and not self._is_behind_target(read)
            and (taken := self._taken(read)) is not None
        )
        last = next(reads, None)
        if last is None:
            yield f"{who(target)} has waited for nothing before {_at(target)}"
        else:
            read, taken = last
            reader = self._where(read.access)
            yield f"what {who(target)} waited for last: {who(reader)} read {self._found(read)} by {_at(reader)}"
            if taken.mate is not None:
                yield self._no_barrier(taken.event.access, taken.mate)
        pending = self._pending()
        if pending is not None:
            yield f"{self._no_barrier(pending, self.target)}, and the former has still to be done"

    def _pending(self) -> Access | None:
        """What another thread of the target's block stands at, to wait or to tell, before and behind no barrier."""
        run, block = self.run, self.to_block
        if block is None or run.blocks[self.target.slot] is not block:
            return None
        for slot in block.slots.tolist():
            if slot == self.target.slot or int(run.records["op"][slot]) not in _SYNCHRONISES:
                continue
            if not run.comes_before(self.target, slot):
                return run.access(slot, int(run.records["site"][slot]))
        return None

    def _is_beside_target(self, access: Access) -> bool:
        """Whether the target's block did something; of a host any block of its rank."""
        block = self.trace.block_of(access)
        if self.to_block is None:
            return block is not None and block.rank == self.target.slot
        return block is self.to_block

    def _is_behind_target(self, event: Event) -> bool:
        if event.slot == self.target.slot:
            return event.access.epoch >= self.target.epoch
        return event.clock.knows(self.target.slot, self.target.epoch)

    def _launches(self, first: Block, second: Block) -> str:
        """That two launches of one rank are not ordered."""
        a, b = first.grid, second.grid
        text = (
            f"{b.step.kernel} (step {b.number}) does not wait for {a.step.kernel} (step {a.number})"
        )
        if b.step.dependent:
            return f"{text}: `griddepcontrol.wait` is missing before {self._named(self.target)}"
        if a.step.dependent:
            return f"{text}: `griddepcontrol.wait` is missing in {a.step.kernel}"
        return f"{text}: the launches are not ordered"
