"""Threads that wait for memory: a loop that finds nothing new is blocked until there is something new.

A thread goes round in a loop when a strong read, at the same instruction, finds the same message of the same location
again. Then it waits for any of the locations that it read since it last found something new. When nobody else can go
on, it may look again (`Schedule.looks`), since it may have left the loop and come back, or count its turns; but not in
a loop that only waits (`polls.py`), where it would find the same. Virtual time moves on when all that is left waits for
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coconet_ir.emu.code.layout import FUEL, GROWTH

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run
    from coconet_ir.emu.memory.strong import Location

TURNS = 24
"""How often a loop without a strong access lets others run."""

LAST = 1 << 24
"""Its turns after that: nobody else has to do with it, and it does not end if it takes them all."""

LONGEST = 1 << 50
"""Virtual nanoseconds after which time stands still."""


class Waiting:
    """What threads of a run wait for."""

    def __init__(self, run: Run):
        self.run = run
        self.cycles: dict[int, dict[tuple[int, Location | None], int]] = {}
        """For each slot: at which instruction and of which location it read which message, since it last found
        something new; no location is time."""
        self.blocked: dict[int, bool] = {}
        """The slots that wait."""
        self._waiters: dict[Location, set[int]] = {}
        self._free: set[int] = set()
        """Those that may look again."""
        self._looks = 0
        self._turns: dict[int, int] = {}
        self._step = 1000

    def choose(self, slot: int, site: int, locations: list[Location]) -> list[int] | None:
        """Which messages a strong read finds; None to wait."""
        run, cycle = self.run, self.cycles.setdefault(slot, {})
        found: list[int] = []
        again, new = True, False
        for location in locations:
            oldest, last = run.strong.newer(location, slot), location.last
            before = cycle.get((site, location))
            same = before == oldest
            again &= same and last == oldest
            count = last - oldest + 1
            if same and count > 1:  # a loop finds what is newer some day
                oldest, count = oldest + 1, count - 1
            message = oldest + run.schedule.read(count)
            new |= before is not None and before != message
            found.append(message)
        if again and self._must_wait(slot):
            return None
        self._turns.pop(slot, None)
        if new:
            cycle.clear()
        for location, message in zip(locations, found, strict=True):
            cycle[site, location] = message
        return found

    def may_update(self, slot: int, site: int, location: Location) -> bool:
        """Whether a read-modify-write operation goes on: a loop of them waits for another value, not for a message."""
        cycle, now, key = self.cycles.setdefault(slot, {}), location.changes, (site, location)
        if cycle.get(key) == now and self._must_wait(slot):
            return False
        self._turns.pop(slot, None)
        if cycle.get(key, now) != now:
            cycle.clear()
        cycle[key] = now
        return True

    def _must_wait(self, slot: int) -> bool:
        """Block a thread that found nothing new, unless it may look again."""
        if slot in self._free:
            self._free.discard(slot)
            return False
        self.blocked[slot] = True
        for _, location in self.cycles[slot]:
            if location is not None:
                self._waiters.setdefault(location, set()).add(slot)
        return True

    def read_clock(self, slot: int, site: int) -> int | None:
        """The time; None to wait."""
        cycle, now = self.cycles.setdefault(slot, {}), self.run.time
        if cycle.get((site, None)) == now and self._must_wait(slot):
            return None
        cycle[site, None] = now
        return now

    def take_turn(self, slot: int, site: int) -> int | None:
        """A loop used up its fuel: how much more it gets, None if it does not go on."""
        turns = self._turns.get(slot, 0) + 1
        self._turns[slot] = turns
        if turns > TURNS + 1:
            where = self.run.reports.where(slot, site)
            self.run.reports.add("hang", "a loop does not end", [where])
            return None
        return LAST if turns > TURNS else FUEL << turns // GROWTH

    def wake(self, location: Location) -> None:
        """There is a new message."""
        self._looks = 0
        for slot in sorted(self._waiters.pop(location, ())):
            if self.blocked.pop(slot, False):
                self.run.ready.append(slot)

    def wake_idle(self) -> bool:
        """Nobody can go on: let those who wait look again, or time pass; whether anybody goes on."""
        timed = [slot for slot in self.blocked if self._waits_for_time(slot)]
        if timed and self.run.time < LONGEST:
            self.run.time += self._step
            self._step *= 2
            self._go(timed)
            return True
        slots = [slot for slot in self.blocked if not self._only_waits(slot)]
        if not slots or self._looks >= self.run.schedule.looks:
            return False
        self._looks += len(slots)
        self._go(slots)
        return True

    def _only_waits(self, slot: int) -> bool:
        """Whether a thread came round in a loop that does nothing but look: it would find the same."""
        records = self.run.records
        repeats = self.run.emulator.polls.get(int(records["site"][slot]))
        return repeats is not None and repeats == records["turn"][slot]

    def forget(self, slots: range) -> None:
        """Slots have new threads."""
        for held in (self.cycles, self._turns):
            for slot in [slot for slot in held if slot in slots]:
                del held[slot]

    def _waits_for_time(self, slot: int) -> bool:
        """Whether a thread waits for time alone."""
        return all(location is None for _, location in self.cycles[slot])

    def _go(self, slots: list[int]) -> None:
        self._free = set(slots)
        for slot in slots:
            self.blocked.pop(slot, None)
        self.run.ready += slots
