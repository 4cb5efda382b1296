"""Strong accesses: each location has a history of messages, and what a thread may read depends on what it knows.

The model is PTX's (ISA, section 8), with the order in which the emulator executes strong writes as coherence order:
a read finds any message that is not older than what the thread knows; a release pattern puts clocks on messages, an
acquire pattern takes them; two accesses that conflict are ordered, or morally strong, or race.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from coconet_ir.emu.code.layout import Order, Scope, State
from coconet_ir.emu.memory.access import Access
from coconet_ir.emu.memory.atomics import OPERATIONS, apply
from coconet_ir.emu.memory.clocks import Clock, join

if TYPE_CHECKING:
    from coconet_ir.emu.execution.requests import Request
    from coconet_ir.emu.execution.run import Run


class Release(NamedTuple):
    """The first operation of a release pattern: what its thread knew, and whom it told."""

    slot: int
    scope: int
    clock: Clock
    epoch: int
    """Up to which the clock knows what the slot did."""


class Message(NamedTuple):
    """A write of a location."""

    value: int
    access: Access
    releases: tuple[Release, ...] = ()


@dataclass(eq=False, slots=True)
class Location:
    """Memory that strong accesses use, from the first one until a weak store takes it back."""

    offset: int
    bytes: int
    number: int
    """By which clocks know it."""
    first: int
    """The index of its first message: those of an earlier history at the same place are before."""
    messages: list[Message]
    weak_writers: list[tuple[int, Access]]
    """Who wrote which granule before there was a history; the first message is what they left."""
    weak_readers: list[tuple[int, Access]]
    reads: dict[tuple[int, int], Access] = field(default_factory=dict[tuple[int, int], Access])
    """The last strong read of each slot and scope: a narrow one races where a wide one does not."""
    released: dict[int, Release] = field(default_factory=dict[int, Release])
    """The last release operation of each slot: later writes of the slot go on with it."""
    checked: dict[int, int] = field(default_factory=dict[int, int])
    """How many weak accesses a slot's loads (2 x slot) and stores (2 x slot + 1) are known to be ordered behind."""
    narrow: bool = False
    """Whether the scope of some strong access is less than the system."""
    changes: int = 0
    """How often its value has changed."""

    @property
    def last(self) -> int:
        """The index of the newest message."""
        return self.first + len(self.messages) - 1

    def since(self, index: int) -> list[Message]:
        """The messages from an index on."""
        return self.messages[max(index - self.first, 0) :]


class Strong:
    """The strong accesses of a run."""

    def __init__(self, run: Run):
        self.run = run
        self.locations: dict[int, Location] = {}
        """By granule."""
        self._histories: dict[tuple[int, int], tuple[int, int]] = {}
        """The number of each location that there was, by offset and bytes, and the index of its next message."""
        self._fences: dict[int, dict[int, Release]] = {}
        """The last releasing fence of each slot, by its scope."""
        self._pending: dict[int, dict[tuple[int, int, int], tuple[Location, Release]]] = {}
        """What relaxed reads of each slot found and no acquire operation or fence has taken yet."""
        self._sequential: dict[tuple[int, int], Release] = {}
        """What `fence.sc` of a scope told, by scope and rank or block."""

    # Who is ordered with whom

    def reaches(self, scope: int, slot: int, other: int) -> bool:
        """Whether a scope of a slot includes another."""
        if scope == Scope.SYS or slot == other:
            return True
        if scope == Scope.GPU:
            return self.run.rank_of(slot) == self.run.rank_of(other)
        return self.run.blocks[slot] is self.run.blocks[other]

    def _agrees(self, access: Access, slot: int, scope: int) -> bool:
        """Whether a strong access and one of `slot` are morally strong: each scope includes the other thread."""
        return (
            access.scope is not None
            and self.reaches(access.scope, access.slot, slot)
            and self.reaches(scope, slot, access.slot)
        )

    # Locations

    def _granules(self, offset: int, bytes: int) -> range:
        """The granules that bytes lie in."""
        granule = self.run.granule
        return range(offset // granule, (offset + bytes - 1) // granule + 1)

    def _overlapping(self, offset: int, bytes: int) -> list[Location]:
        found = (self.locations.get(number) for number in self._granules(offset, bytes))
        return list(dict.fromkeys(one for one in found if one is not None))

    def location(
        self, slot: int, offset: int, bytes: int, site: int, *, read: bool, write: bool
    ) -> Location | None:
        """The location of an access that reads, writes or both; None after a finding."""
        found = self.locations.get(offset // self.run.granule)
        if found is None or found.offset != offset or found.bytes != bytes:
            for other in self._overlapping(offset, bytes):
                if other.offset == offset and other.bytes == bytes:
                    continue
                if (shown := self._unordered(other, slot, offset, bytes, write)) is not None:
                    self.run.reports.race("mixed-size race", self.run.access(slot, site), *shown)
                    return None
                self.retire(other)
            found = self._create(self.run.access(slot, site), offset, bytes, read, write)
        if found is not None and not self._check_weak(found, slot, site, write):
            return None
        return found

    def _unordered(
        self, location: Location, slot: int, offset: int, bytes: int, write: bool
    ) -> tuple[Access, int] | None:
        """An access that conflicts with one of these bytes by a slot, and did not come before it; and where.

        Messages up to the one that the slot has found came before it (8.9.5: observation order), and so did the
        atomic operations that wrote them.
        """
        granule, start = self.run.granule, max(offset, location.offset)
        newer = self.newer(location, slot)
        found = [(message.access, start) for message in location.since(newer + 1)]
        weak = [*location.weak_writers]
        if write:
            found += [(access, start) for access in location.reads.values()]
            weak += location.weak_readers
        found += [
            (access, max(number * granule, start))
            for number, access in weak
            if number * granule < offset + bytes and offset < (number + 1) * granule
        ]
        unknown = [one for one in found if not self.run.comes_before(one[0], slot)]
        if not unknown:
            return None
        known = location.messages[: newer + 1 - location.first]
        before = {message.access for message in known}
        return next((one for one in unknown if one[0] not in before), None)

    def _create(
        self, me: Access, offset: int, bytes: int, read: bool, write: bool
    ) -> Location | None:
        run = self.run
        writers: list[tuple[int, Access]] = []
        readers: list[tuple[int, Access]] = []
        for number in self._granules(offset, bytes):
            state = run.weak.state(number)
            if state & State.UNALLOCATED:
                run.reports.outside(me, offset, bytes, write)
                return None
            if state & State.UNWRITTEN:
                if read:
                    run.reports.unwritten(me, offset)
                    return None
            else:
                writers.append((number, run.weak.writer(number)))
                readers += ((number, one) for one in run.weak.readers(number))
            run.weak.set_state(number, State.STRONG)
        access = writers[0][1] if writers else me
        value = run.weak.read(offset, bytes)
        known, first = self._histories.setdefault((offset, bytes), (len(self._histories), 0))
        found = Location(offset, bytes, known, first, [Message(value, access)], writers, readers)
        for number in self._granules(offset, bytes):
            self.locations[number] = found
        return found

    def _check_weak(self, location: Location, slot: int, site: int, write: bool) -> bool:
        """Whether what weak accesses did came before a strong access."""
        key = slot * 2 + write
        stamp = len(location.weak_writers) + len(location.weak_readers)
        if location.checked.get(key) == stamp:
            return True
        weak = [*location.weak_writers, *(location.weak_readers if write else ())]
        for number, access in weak:
            if not self.run.comes_before(access, slot):
                me = self.run.access(slot, site)
                where = max(number * self.run.granule, location.offset)
                return self.run.reports.race("data race", me, access, where)
        location.checked[key] = stamp
        return True

    def retire(self, location: Location) -> None:
        """Take the history of a location away: memory holds its last value, and who has read it is known."""
        run = self.run
        granules = self._granules(location.offset, location.bytes)
        written = len(location.messages) > 1
        last = location.messages[-1].access
        writers = dict.fromkeys(granules, last) if written else dict(location.weak_writers)
        self._end_history(location)
        for number in granules:
            if self.locations.get(number) is location:
                del self.locations[number]
                run.weak.set_state(number, 0, writers.get(number, last))
                readers = [access for at, access in location.weak_readers if at == number]
                run.weak.add_readers(number, [*readers, *location.reads.values()])

    def weak_access(self, me: Access, offset: int, bytes: int, write: bool, constant: bool) -> bool:
        """Check a weak access from the first granule on that has a location; whether it may go on. `constant` ones
        find what was there when their kernel began."""
        run, granule = self.run, offset // self.run.granule
        location = self.locations[granule]
        if constant:
            start = run.grid_block(me.slot).grid.start
            writers = [access for number, access in location.weak_writers if number == granule]
            for access in (*writers, *(m.access for m in location.messages[1:])):
                if not start.knows(access.slot, access.epoch):
                    return run.reports.race("data race", me, access, location.offset)
        if (shown := self._unordered(location, me.slot, offset, bytes, write)) is not None:
            return run.reports.race("data race", me, *shown)
        if write:
            self.retire(location)
            end = min(offset + bytes, location.offset + location.bytes)
            for number in self._granules(offset, end - offset):
                run.weak.set_state(number, 0, me)
        else:
            location.weak_readers.append((granule, me))
        return True

    # Accesses

    def last(self, offset: int, bytes: int) -> int:
        """The index of the newest message at a place, also where there is no location yet."""
        location = self.locations.get(offset // self.run.granule)
        if location is not None and (location.offset, location.bytes) == (offset, bytes):
            return location.last
        return self._histories.get((offset, bytes), (0, 0))[1]

    def newer(self, location: Location, slot: int) -> int:
        """The oldest message that a slot may read."""
        return max(location.first, self.run.clocks[slot].oldest(location.number))

    def read(
        self, location: Location, slot: int, site: int, order: int, scope: int, index: int
    ) -> int | None:
        """Read a message; its value, None after a finding."""
        run = self.run
        me = run.access(slot, site, scope)
        oldest = self.newer(location, slot)
        location.narrow |= scope != Scope.SYS
        for message in location.since(oldest) if location.narrow else ():
            if not self._is_fine(message.access, slot, scope):
                run.reports.race("data race", me, message.access, location.offset)
                return None
        message = location.messages[index - location.first]
        location.reads[slot, scope] = me
        if index != oldest:
            run.set_clock(slot, run.clocks[slot].with_seen(location.number, index))
        if not run.emulator.is_reduction(site):  # which reads, but is no part of an acquire pattern
            self._take(location, slot, order, scope, message)
            if run.trace is not None:
                run.trace.read(me, order, location, index, message)
        return message.value

    def _is_fine(self, access: Access, slot: int, scope: int) -> bool:
        """Whether an earlier strong or weak access and a strong one of a slot do not race."""
        return self.run.comes_before(access, slot) or self._agrees(access, slot, scope)

    def _take(
        self, location: Location, slot: int, order: int, scope: int, message: Message
    ) -> None:
        """Learn what a message brings: now by an acquire operation, later by a fence."""
        clock = self.run.clocks[slot]
        for release in message.releases:
            if not clock.knows(release.slot, release.epoch):
                pending = self._pending.setdefault(slot, {})
                key = id(location), release.slot, release.scope
                if key not in pending or pending[key][1].epoch < release.epoch:
                    pending[key] = location, release
        if order & Order.ACQUIRE:
            self._acquire(slot, scope, location)

    def _acquire(self, slot: int, scope: int, location: Location | None) -> None:
        """Take the clocks that reads found, of one location or of all, from whom the scope includes."""
        pending = self._pending.get(slot)
        if not pending:
            return
        clocks: list[Clock] = []
        for key, (where, release) in list(pending.items()):
            if (
                (location is None or where is location)
                and self.reaches(scope, slot, release.slot)
                and self.reaches(release.scope, release.slot, slot)
            ):
                clocks.append(release.clock)
                del pending[key]
        if clocks:
            self.run.set_clock(slot, join((self.run.clocks[slot], *clocks)))

    def write(
        self,
        location: Location,
        slot: int,
        site: int,
        order: int,
        scope: int,
        value: int,
        heritage: tuple[Release, ...] = (),
    ) -> bool:
        """Append a message, unless there is a finding. `heritage`: releases that an atomic operation goes on with."""
        run = self.run
        me = run.access(slot, site, scope)
        location.narrow |= scope != Scope.SYS
        if location.narrow:
            written = [m.access for m in location.since(self.newer(location, slot))]
            for access in (*written, *location.reads.values()):
                if not self._is_fine(access, slot, scope):
                    return run.reports.race("data race", me, access, location.offset)
        fences = self._fences.get(slot)
        releases = [*heritage, *(fences.values() if fences else ())]
        if slot in location.released:
            releases.append(location.released[slot])
        if order & Order.RELEASE:
            mine = self._release(slot, scope)
            location.released[slot] = mine
            releases.append(mine)
        location.changes += value != location.messages[-1].value
        message = Message(value, me, _latest(releases))
        location.messages.append(message)
        run.set_clock(slot, run.clocks[slot].with_seen(location.number, location.last))
        run.weak.write(location.offset, location.bytes, value)
        if run.trace is not None:
            run.trace.write(me, order, location, message)
        return True

    def _release(self, slot: int, scope: int) -> Release:
        """What a slot knows and did so far, to be told."""
        run = self.run
        epoch = int(run.epochs[slot])
        clock = run.clocks[slot].with_slot(slot, epoch)
        run.next_epoch(slot)
        return Release(slot, scope, clock, epoch)

    def atomic(
        self, location: Location, request: Request, type: str, new: int, other: int
    ) -> int | None:
        """A read-modify-write operation on the newest message; the value before, None after a finding."""
        slot, site, order, scope = request.slot, request.site, request.order, request.scope
        message = location.messages[-1]
        operation = OPERATIONS[request.operation]
        old = self.read(location, slot, site, order, scope, location.last)
        if old is None:
            return None
        flush = location.offset < self.run.space.shared
        value = apply(operation, type, 8 * location.bytes, old, new, other, flush=flush)
        if operation == "cas" and value == old and old != new:  # it failed: nothing is written
            return old
        if not self.write(location, slot, site, order, scope, value, message.releases):
            return None
        return old

    def fence(self, slot: int, site: int, order: int, scope: int) -> None:
        """A fence: first it takes, then it tells."""
        me, release = self.run.access(slot, site, scope), None
        if order & Order.ACQUIRE:
            self._acquire(slot, scope, None)
        if order & Order.SC:
            self._take_sequential(slot, scope)
        if order & Order.RELEASE:
            release = self._release(slot, scope)
            held = self._fences.setdefault(slot, {})
            for narrower in [s for s in held if s <= scope]:
                del held[narrower]
            held[scope] = release
            if order & Order.SC:
                own = self._sequence_keys(slot, scope)[-1]
                before = self._sequential.get(own)
                clocks = [release.clock, *([before.clock] if before else [])]
                self._sequential[own] = Release(slot, scope, join(clocks), release.epoch)
        if self.run.trace is not None:
            self.run.trace.fence(me, order, release)

    def _sequence_keys(self, slot: int, scope: int) -> list[tuple[int, int]]:
        """The groups of fences that one of a slot is morally strong with, its own one last."""
        rank, block = self.run.rank_of(slot), id(self.run.blocks[slot])
        keys = {
            Scope.CTA: (Scope.CTA, block),
            Scope.GPU: (Scope.GPU, rank),
            Scope.SYS: (Scope.SYS, 0),
        }
        own = keys.pop(scope)
        return [*keys.values(), own]

    def _take_sequential(self, slot: int, scope: int) -> None:
        clocks = [
            told.clock
            for key in self._sequence_keys(slot, scope)
            if (told := self._sequential.get(key)) is not None
            and self.reaches(scope, slot, told.slot)
            and self.reaches(told.scope, told.slot, slot)
        ]
        if clocks:
            self.run.set_clock(slot, join((self.run.clocks[slot], *clocks)))

    def forget(self, slots: range, granules: range) -> None:
        """Slots have new threads, and granules nothing that was there."""
        for held in (self._fences, self._pending):
            for slot in [slot for slot in held if slot in slots]:
                del held[slot]
        for number in [number for number in self.locations if number in granules]:
            location = self.locations.pop(number)
            self._end_history(location)

    def _end_history(self, location: Location) -> None:
        """A later history at the same place goes on with the indices of messages."""
        self._histories[location.offset, location.bytes] = (location.number, location.last + 1)


def _latest(releases: Iterable[Release]) -> tuple[Release, ...]:
    """The last one of each slot and scope, which knows what those before it did."""
    found: dict[tuple[int, int], Release] = {}
    for one in releases:
        key = one.slot, one.scope
        if key not in found or found[key].epoch < one.epoch:
            found[key] = one
    return tuple(found.values())
