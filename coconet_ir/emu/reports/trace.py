"""What the threads of a run did to order each other, in the order in which they did it.

A run that found a race is run again with a trace, from which `explain.py` says what is missing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from coconet_ir.emu.code.layout import Order
from coconet_ir.emu.memory.access import Access

if TYPE_CHECKING:
    from coconet_ir.emu.execution.blocks import Block
    from coconet_ir.emu.execution.run import Run
    from coconet_ir.emu.memory.clocks import Clock
    from coconet_ir.emu.memory.strong import Location, Message, Release


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A strong access, a fence, or a barrier or the like, by which a thread gets to know of others."""

    number: int
    kind: Literal["read", "write", "fence", "meeting"]
    access: Access
    """Each event has an epoch of its own: its thread's accesses before it have none that is later."""
    clock: Clock
    """What the thread knew behind it."""
    order: int = 0
    location: Location | None = None
    index: int = 0
    """Of the message that is read or written."""
    message: Message | None = None
    release: Release | None = None
    """What it told."""

    @property
    def slot(self) -> int:
        """Whose it is."""
        return self.access.slot

    @property
    def scope(self) -> int:
        """Of a strong access or a fence."""
        assert self.access.scope is not None
        return self.access.scope


class Trace:
    """The events of a run."""

    def __init__(self, run: Run):
        self.run = run
        self.events: list[Event] = []
        self.of: dict[int, list[Event]] = {}
        """By slot."""
        self.writes: dict[tuple[Location, int], Event] = {}
        """By location and message."""
        self.tellers: dict[int, Event] = {}
        """By the identity of what they told."""
        self._blocks: dict[int, list[Block]] = {}

    def read(
        self, me: Access, order: int, location: Location, index: int, message: Message
    ) -> None:
        """A strong read that may be part of an acquire pattern."""
        self._add("read", me, order, location, index, message)

    def write(self, me: Access, order: int, location: Location, message: Message) -> None:
        """A strong write, the newest of its location."""
        told = location.released[me.slot] if order & Order.RELEASE else None
        event = self._add("write", me, order, location, location.last, message, told)
        self.writes[location, location.last] = event

    def fence(self, me: Access, order: int, told: Release | None) -> None:
        """A fence."""
        self._add("fence", me, order, release=told)

    def meeting(self, slots: Iterable[int]) -> None:
        """Threads know more by something else: their start, a barrier, a launch that has ended."""
        run = self.run
        for slot in slots:
            site = int(run.records["site"][slot])
            self._add("meeting", run.access(slot, site))

    def _add(
        self,
        kind: Literal["read", "write", "fence", "meeting"],
        me: Access,
        order: int = 0,
        location: Location | None = None,
        index: int = 0,
        message: Message | None = None,
        release: Release | None = None,
    ) -> Event:
        clock = self.run.clocks[me.slot]
        event = Event(len(self.events), kind, me, clock, order, location, index, message, release)
        self.events.append(event)
        self.of.setdefault(me.slot, []).append(event)
        if release is not None:
            self.tellers[id(release)] = event
        self.run.next_epoch(me.slot)
        return event

    # What is asked

    def clock_at(self, access: Access) -> Clock:
        """What a thread knew when it did something."""
        events = self.of.get(access.slot, [])
        number = bisect_left(events, access.epoch, key=lambda one: one.access.epoch)
        return events[number - 1].clock if number else self.run.clocks[access.slot]

    def block_of(self, access: Access) -> Block | None:
        """The block of an access; None for a host."""
        if not self._blocks:
            for block in reversed(self.run.past):
                for slot in block.slots.tolist():
                    self._blocks.setdefault(slot, []).append(block)
        blocks = self._blocks.get(access.slot, ())
        return next((one for one in blocks if one.did(access.slot, access.epoch)), None)

    def of_block(self, block: Block) -> Iterator[Event]:
        """What the threads of a block did."""
        for slot in block.slots.tolist():
            yield from (one for one in self.of[slot] if block.did(slot, one.access.epoch))

    def last_fence(self, event: Event) -> Event | None:
        """The last fence of a thread before an event."""
        before = (one for one in reversed(self.of[event.slot]) if one.number < event.number)
        return next((one for one in before if one.kind == "fence"), None)

    def behind(self, event: Event) -> Iterator[Event]:
        """What its thread did behind an event."""
        events = self.of[event.slot]
        first = bisect_right(events, event.access.epoch, key=lambda one: one.access.epoch)
        return islice(events, first, None)
