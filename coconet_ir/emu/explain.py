"""What is missing between two accesses that race, from the trace of their run.

What is known of the earlier access, the *source*, went forward: to whom its thread told of it. What came before the
later one, the *target*, is known too: from whom its thread was told. A *link* is a message that goes from the one side
to the other and that was read; what it lacks is what is missing. Of all links that with the fewest gaps is explained; if
there is none, what was told last on each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coconet_ir.emu.access import Access
from coconet_ir.emu.code.layout import Order, Scope
from coconet_ir.emu.findings import Where, who

if TYPE_CHECKING:
    from coconet_ir.emu.blocks import Block
    from coconet_ir.emu.clocks import Clock
    from coconet_ir.emu.run import Run
    from coconet_ir.emu.strong import Location
    from coconet_ir.emu.trace import Event, Trace

_SCOPES = {Scope.CTA: "cta", Scope.GPU: "gpu", Scope.SYS: "sys"}
_BLOCK, _OLDER, _UNREAD = 1.5, 4.0, 8.0
"""How much it says against an explanation that a barrier is missing, that an older message was read, or none."""


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


def between_strong(run: Run, first: Access, second: Access) -> tuple[str, ...]:
    """Why two strong accesses are no pair that may meet: whose scope does not include the other."""
    return tuple(
        _too_narrow(run, run.reports.where(a.slot, a.site, a.epoch), a.scope, b.slot)
        for a, b in ((first, second), (second, first))
        if a.scope is not None and not run.strong.reaches(a.scope, a.slot, b.slot)
    )


def _too_narrow(run: Run, where: Where, scope: int, other: int) -> str:
    wide = "sys" if run.rank_of(other) != where.rank else "gpu"
    whom = f"rank {run.rank_of(other)}" if wide == "sys" else "other blocks"
    return f"the scope of {_at(where)} is .{_SCOPES[scope]}, which does not include {whom}: .{wide} is needed"


def _at(where: Where) -> str:
    """An instruction and where it is."""
    if where.kernel is None:
        return f"the {where.text}"
    return f"`{where.text}` at {where.location or f'line {where.line}'}"


class Explanation:
    """Explains a race; asked for when the run stands at the target."""

    def __init__(self, run: Run, trace: Trace, source: Access, target: Access):
        self.run, self.trace, self.source, self.target = run, trace, source, target
        self.clock: Clock = run.clocks[target.slot]
        self.from_block, self.to_block = trace.block_of(source), run.blocks[target.slot]
        self._mates: dict[int, Access | None] = {}

    def notes(self) -> tuple[str, ...]:
        """What is missing."""
        source, target = self.source, self.target
        if self._is_before(source):
            return (
                f"{self._named(target)} must find what was there when its kernel began: use an `ld` without .nc",
            )
        found: list[str] = []
        if (source.scope is None) != (target.scope is None):
            weak, strong = (source, target) if source.scope is None else (target, source)
            found.append(
                f"{self._named(weak)} is weak and {self._named(strong)} is strong: they may only meet if both are "
                "strong"
            )
        best = min(self._links(), key=lambda link: (link.gaps, -link.write.number), default=None)
        if self.from_block is not None and self.to_block is not None:
            near = self.from_block is self.to_block
            if near and (best is None or best.gaps > _BLOCK):
                return (*found, self._no_barrier(source, target))
            if self.from_block.grid is not self.to_block.grid and (
                self.from_block.rank == self.to_block.rank
            ):
                return (*found, self._launches(self.from_block, self.to_block))
        if best is None or best.gaps >= _UNREAD:
            return (*found, *self._apart(best))
        return (*found, *self._words(best))

    # Who knows

    def _knows(self, access: Access, clock: Clock) -> bool:
        """Whether the source came before something, whose thread knew `clock`."""
        if access.slot == self.source.slot:
            return access.epoch >= self.source.epoch
        return clock.knows(self.source.slot, self.source.epoch)

    def _is_before(self, access: Access) -> bool:
        """Whether something came before the target."""
        return access.slot == self.target.slot or self.clock.knows(access.slot, access.epoch)

    def _mate_that_knows(self, event: Event) -> Access | None:
        """What a thread of an event's block did when it knew of the source, with no barrier between that and the event."""
        block = self.trace.block_of(event.access)
        if block is None:
            return None
        if block is self.from_block:
            mate, clock = self.source, self.trace.clock_at(self.source)
        else:
            known = (
                one
                for slot in block.slots.tolist()
                for one in self.trace.of[slot]
                if block.did(slot, one.access.epoch) and self._knows(one.access, one.clock)
            )
            first = min(known, key=lambda one: one.number, default=None)
            if first is None:
                return None
            mate, clock = first.access, first.clock
        return None if clock.knows(event.slot, event.access.epoch) else mate

    def _mate_before_target(self, event: Event) -> Access | None:
        """What a thread of an event's block did before the target, with no barrier between the event and that."""
        block = self.trace.block_of(event.access)
        if block is None:
            return None
        if block is self.to_block:
            return self.target
        known = (
            one
            for slot in block.slots.tolist()
            for one in self.trace.of[slot]
            if block.did(slot, one.access.epoch) and self._is_before(one.access)
        )
        last = max(known, key=lambda one: one.number, default=None)
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
            if write in told:
                yield self._link(write, told[write], read, taken)
        for read, taken in last.values():
            assert read.location is not None
            for index in range(read.index + 1, read.location.last + 1):
                write = self.trace.writes.get((read.location, index))
                if write in told:
                    gaps = told[write].gaps + taken.gaps + _OLDER
                    yield _Link(write, told[write], read, taken, True, gaps)
        for write, end in told.items():
            yield _Link(write, end, gaps=_UNREAD + end.gaps)

    def _link(self, write: Event, told: _End, read: Event, taken: _End) -> _Link:
        gaps = told.gaps + taken.gaps + len(self._narrow(told, taken))
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
        events = self.trace.of[read.slot]
        return next(
            (
                one
                for one in events[events.index(read) + 1 :]
                if one.kind == "fence" and one.order & Order.ACQUIRE
            ),
            None,
        )

    def _narrow(self, told: _End, taken: _End) -> list[tuple[Event, int]]:
        """The operations whose scope does not include the other, and that one's slot."""
        pairs = ((told.event, taken.event.slot), (taken.event, told.event.slot))
        return [
            (event, other)
            for event, other in pairs
            if not self.run.strong.reaches(event.scope, event.slot, other)
        ]

    # Words

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
        slots = (first.slot, second.slot)
        warps = {(slot - block.first) // 32 for slot in slots} if block is not None else {}
        kind = "barrier" if len(warps) > 1 else "barrier (or bar.warp.sync)"
        return f"no {kind} of the block is between {_at(a)} ({who(a)}) and {_at(b)} ({who(b)})"

    def _words(self, link: _Link) -> Iterator[str]:
        read, told, taken = link.read, link.told, link.taken
        assert read is not None and taken is not None
        reader = self._where(read.access)
        if link.older:
            yield f"{who(reader)} read {self._found(read)} by {_at(reader)}"
            yield f"that is older: what tells of {self._named(self.source)} is {self._stored(link.write)}"
        else:
            yield f"{self._stored(link.write)}, and {who(reader)} read it by {_at(reader)}"
        scope = self._scope(link.write.slot, read.slot)
        if not told.orders:
            yield self._releases_nothing(link.write, scope)
        if not taken.orders:
            yield (
                f"{_at(reader)} does not acquire, and no fence follows in time: `fence.acq_rel.{scope}` behind it or "
                f"`ld.acquire.{scope}` is missing"
            )
        if told.mate is not None:
            yield self._no_barrier(told.mate, told.event.access)
        if taken.mate is not None:
            yield self._no_barrier(taken.event.access, taken.mate)
        if not link.older:
            for event, other in self._narrow(told, taken):
                yield _too_narrow(self.run, self._where(event.access), event.scope, other)

    def _releases_nothing(self, write: Event, scope: str) -> str:
        assert write.message is not None
        text = f"{self._named(write.access)} does not release what came before it"
        own = [
            one
            for told in write.message.releases
            if (one := self.trace.tellers[id(told)]).slot == write.slot
        ]
        if own:
            text = f"{text}, and {self._named(own[-1].access)} is too early"
        return f"{text}: `fence.acq_rel.{scope}` before it or `st.release.{scope}` is missing"

    def _stored(self, write: Event) -> str:
        """Who stored a message."""
        assert write.message is not None and write.location is not None
        where = self._where(write.access)
        name, behind = self.run.space.name(write.location.offset)
        return f"{who(where)} stored {write.message.value:#x} in byte {behind} of {name} by {_at(where)}"

    def _found(self, read: Event) -> str:
        """What a read found, and who had stored it."""
        assert read.message is not None and read.location is not None
        name, behind = self.run.space.name(read.location.offset)
        found = f"{read.message.value:#x} from byte {behind} of {name}"
        write = self.trace.writes.get((read.location, read.index))
        if write is None:
            return f"{found}, which was there before,"
        where = self._where(write.access)
        launch = f" in its step {where.step}" if where.kernel is not None else ""
        return f"{found}, stored by {who(where)}{launch},"

    def _apart(self, link: _Link | None) -> Iterator[str]:
        """That nothing leads from one side to the other: how far each goes."""
        source, target = self._where(self.source), self._where(self.target)
        if link is None:
            yield f"{who(source)} has told nobody of {_at(source)} yet"
        else:
            yield f"of {_at(source)} tells what {self._stored(link.write)}, which nobody has read who came before {_at(target)}"
            if not link.told.orders:
                yield self._releases_nothing(
                    link.write, self._scope(link.write.slot, self.target.slot)
                )
            if link.told.mate is not None:
                yield self._no_barrier(link.told.mate, link.told.event.access)
        last = self._last_taken()
        if last is None:
            yield f"{who(target)} has waited for nobody before {_at(target)}"
            return
        reader = self._where(last.access)
        yield f"the last that {who(target)} waited for: {who(reader)} read {self._found(last)} by {_at(reader)}"

    def _last_taken(self) -> Event | None:
        """The last read in the target's block that found what another block stored, before the target or by the same
        thread of those that signal; those that found what the source's block stored are preferred."""
        found: list[Event] = []
        for read in self.trace.events:
            if read.kind != "read" or read.location is None:
                continue
            if self.trace.block_of(read.access) is self.to_block:
                found.append(read)
        return found[-1] if found else None

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
