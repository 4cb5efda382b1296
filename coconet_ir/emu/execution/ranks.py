"""The streams of ranks: their steps in order, and what the host does itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coconet_ir.emu.execution import host
from coconet_ir.emu.execution.blocks import Grid
from coconet_ir.emu.execution.streams import before
from coconet_ir.emu.memory.clocks import Clock, join
from coconet_ir.emu.reports.findings import Where
from coconet_ir.runtime.steps import Clear, Collective, Copy, Launch, Matmul, Place, Step
from coconet_ir.sim.elements import Array

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run


class Stream:
    """What one rank does. Its host is the thread of the slot with the rank's number."""

    def __init__(self, run: Run, rank: int, start: Clock):
        self.run, self.rank, self.start = run, rank, start
        self.steps = run.emulator.job.ranks[rank].steps
        self.next = 0
        """The number of the step that has not begun."""
        self.grids: list[Grid] = []
        """Launches that have begun and not ended, and the one before."""
        self.ends: dict[int, Clock] = {}
        """What is known behind steps, by their numbers."""
        self._did: dict[int, int] = {}
        """The steps that the host did itself, by their epochs."""
        self._last: Grid | None = None
        """The launch that began last, if no other step came behind it."""
        total = run.emulator.resident
        first = sum(total[:rank])
        self._places = list(range(first, first + total[rank]))[::-1]
        self.arrived = False
        """Whether it waits in a collective."""

    @property
    def done(self) -> bool:
        """Whether all steps have ended."""
        return self.next == len(self.steps) and not self.grids

    def where(self, epoch: int | None = None) -> Where:
        """The host at its step, or at that of an epoch."""
        number = min(self.next, len(self.steps) - 1)
        if epoch is not None:
            number = self._did.get(epoch, number)
        label = self.run.emulator.job.labels.get(number) or _describe(self.steps[number])
        return Where(self.rank, None, number, text=label)

    # Blocks

    def has_room(self, grid: Grid) -> bool:
        """Whether another block of a launch may begin."""
        return sum(g.resident for g in self.grids) < grid.most and bool(self._places)

    def take_place(self) -> int:
        """A place for a block."""
        return self._places.pop()

    def free_place(self, place: int) -> None:
        """The block of a place has ended."""
        self._places.append(place)

    # Steps

    def go(self) -> None:
        """Go on as far as possible."""
        for grid in [grid for grid in self.grids if grid.done]:
            self.ends[grid.number] = grid.end
            self.grids.remove(grid)
            for other in self.grids:
                if other.before is grid:
                    self.run.ready += other.blocked
                    other.blocked = []
        if self.next == len(self.steps) or self.arrived:
            return
        step = self.steps[self.next]
        if isinstance(step, Launch):
            self._launch(step)
        elif not self.grids:
            if isinstance(step, Collective):
                self.arrived = True
                self._meet(step)
            else:
                self._do(step)

    def _known(self, number: int) -> Clock:
        """What is known before a step."""
        return join([self.start, *(self.ends[one] for one in before(self.steps, number))])

    def _launch(self, step: Launch) -> None:
        before = self._last if step.dependent else None
        if before is None:
            if self.grids:
                return
            start = self._known(self.next)
        else:  # it knows what the launch before knew at its start, whether that one has ended or not
            if len(self.grids) > 1 or not before.may_dependents_begin:
                return
            start = before.start
        grid = Grid(self, self.next, step, start, before)
        self._last = grid
        self.next += 1
        self.grids.append(grid)
        grid.go()
        self.run.ready.append(self)

    def _finish(self, clock: Clock) -> None:
        """End a step that the host does itself."""
        slot = self.rank
        epoch = int(self.run.epochs[slot])
        self._did[epoch] = self.next
        self.ends[self.next] = clock.with_slot(slot, epoch)
        self.run.next_epoch(slot)
        self.next += 1
        self._last = None
        self.arrived = False
        self.run.ready.append(self)

    def _do(self, step: Copy | Clear | Matmul) -> None:
        clock = self._known(self.next)
        self.run.set_clock(self.rank, clock)
        given = self._load(step)
        if given is not None:
            self._store(step, host.local(step, given))
            self._finish(clock)

    # Memory

    def _load(self, step: host.HostStep) -> list[Array] | None:
        """What a step of the host reads; None after a finding."""
        found: list[Array] = []
        for place, count in host.reads(step):
            start = self._check("range_load", place, count)
            if start is None:
                return None
            found.append(self.run.space.bytes[start : start + count].copy())
        return found

    def _store(self, step: host.HostStep, result: Array) -> None:
        """What a step of the host stores."""
        place, count = host.writes(step)
        start = self._check("range_store", place, count)
        if start is not None:
            data = np.frombuffer(result.tobytes(), np.uint8)
            self.run.space.bytes[start : start + count] = data

    def _check(self, kind: str, place: Place, count: int) -> int | None:
        run = self.run
        whose = self.rank if place.rank is None else place.rank
        region = run.space.buffers[whose][place.owner]
        start = region.offset + place.offset
        if place.offset + count > region.bytes:
            run.reports.add(
                "out of bounds",
                f"rank {self.rank} uses bytes {place.offset} to {place.offset + count} of {region.name}, which has "
                f"{region.bytes}",
                [self.where()],
                region.offset + max(place.offset, region.bytes),
            )
            return None
        me = run.records.ctypes.data + self.rank * run.records.itemsize
        good = run.emulator.code.call(kind)(me, start, start + count, 0)
        return start if good else None

    # Collectives

    def _meet(self, step: Collective) -> None:
        """Wait for all of the group; the last one does what all of them do."""
        group = [self.run.streams[rank] for rank in step.ranks]
        steps = [s.steps[s.next] if s.arrived else None for s in group]
        if not all(isinstance(s, Collective) and s.ranks == step.ranks for s in steps):
            return
        found = [s for s in steps if isinstance(s, Collective)]
        if len({replace(s, source=step.source, target=step.target) for s in found}) > 1:
            calls = "; ".join(
                f"rank {r}: {_describe(s)}" for r, s in zip(step.ranks, found, strict=True)
            )
            self.run.reports.add(
                "invalid", f"ranks call different collectives: {calls}", [self.where()]
            )
            return
        before = [stream._known(stream.next) for stream in group]
        given: list[Array] = []
        for stream, one, clock in zip(group, found, before, strict=True):
            self.run.set_clock(stream.rank, clock)
            if (data := stream._load(one)) is None:
                return
            given += data
        results = host.collective(found[0], given)
        epochs = [int(self.run.epochs[stream.rank]) for stream in group]
        for number, stream in enumerate(group):
            givers = host.feeds(step)[number]
            told = [before[g].with_slot(group[g].rank, epochs[g]) for g in givers]
            clock = join([before[number], *told])
            self.run.set_clock(stream.rank, clock)
            stream._store(found[number], results[number])
            if self.run.findings:
                return
            stream._finish(clock)


def _describe(step: Step) -> str:
    match step:
        case Launch():
            return f"launch of {step.kernel}"
        case Collective():
            return f"{step.kind} of {step.count} {step.element} among {len(step.ranks)} ranks"
        case Copy():
            return f"copy of {step.bytes} bytes"
        case Clear():
            return f"clear of {step.bytes} bytes"
        case Matmul():
            return f"matmul {step.m} x {step.k} x {step.n}"
