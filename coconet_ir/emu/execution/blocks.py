"""Launches that run, and their blocks: what threads of a block do together."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from coconet_ir.emu.code.layout import FUEL, RECORD, SPECIALS, WARP, Barrier, Warp
from coconet_ir.emu.code.thread import Site
from coconet_ir.emu.execution.exchange import exchange
from coconet_ir.emu.memory.clocks import Clock, join
from coconet_ir.emu.reports.findings import Triple, Where
from coconet_ir.runtime.steps import Launch, as_bytes

if TYPE_CHECKING:
    from coconet_ir.emu.execution.ranks import Stream

Ids = npt.NDArray[np.int64]
FULL = (1 << WARP) - 1
_OF_BLOCK = [SPECIALS.index(n) for n in ("%ctaid.x", "%ctaid.y", "%ctaid.z", "%smid")]
BARRIERS = 16
"""Barriers of a block."""


def _triple(number: int, shape: Triple) -> Triple:
    """The x, y and z of a number, x innermost."""
    return number % shape[0], number // shape[0] % shape[1], number // (shape[0] * shape[1])


class Grid:
    """A launch that has begun."""

    def __init__(
        self, stream: Stream, number: int, step: Launch, start: Clock, before: Grid | None
    ):
        """`before` is the launch that it may begin beside."""
        self.run = run = stream.run
        self.stream, self.number, self.step, self.start = stream, number, step, start
        self.rank = stream.rank
        self.kernel = run.emulator.code.kernels[step.kernel]
        self.first = run.emulator.slots[stream.rank].first[number]
        self.threads = prod(step.block)
        self.resident = 0
        self.unfinished = prod(step.grid)
        self.released = 0
        """Blocks that let dependents begin, or ended."""
        self.end = start
        """What is known behind the blocks that have ended."""
        self.most = run.emulator.most_blocks(self.kernel)
        room = self.most - sum(grid.resident for grid in stream.grids)
        self.pending = run.schedule.order(prod(step.grid), room)
        """The blocks that have not begun, in order."""
        self.blocked: list[int] = []
        """Slots that wait for the launch before."""
        self.before = before
        self.parameters = self._pack()
        self.specials = self._specials()
        if step.cooperative and self.unfinished > self.most:
            run.reports.add(
                "invalid",
                f"{step.kernel} is launched cooperatively with {self.unfinished} blocks, but a device has {self.most} "
                "at once",
                [stream.where()],
            )

    @property
    def done(self) -> bool:
        """Whether all blocks have ended."""
        return self.unfinished == 0

    def _pack(self) -> npt.NDArray[np.uint8]:
        layout = self.kernel.parameters
        found = np.zeros(layout.bytes + 16, np.uint8)
        space = self.run.space
        for parameter, given in zip(
            self.kernel.function.parameters, self.step.arguments, strict=True
        ):
            at = layout.places[parameter.name]
            data = as_bytes(given, lambda place: space.address(self.rank, place))
            found[at : at + len(data)] = np.frombuffer(data, np.uint8)
        return found

    def go(self) -> None:
        """Begin as many blocks as have room."""
        while self.pending and self.stream.has_room(self):
            self._begin(self.pending.pop(0))

    def _begin(self, number: int) -> None:
        run, count = self.run, self.threads
        first = self.first + number * count
        slots = np.arange(first, first + count)
        block = Block(self, number, first, count, self.stream.take_place())
        self.resident += 1
        run.blocks[first : first + count] = [block] * count
        run.past.append(block)
        run.next_epochs(slots)
        block.epochs = run.epochs[slots].copy()
        run.set_clocks(slots, self.start)
        if run.trace is not None:
            run.trace.meeting(slots.tolist())
        records = run.records[first : first + count]
        shared = self.kernel.shared + self.step.shared
        cleared = range(0)
        if shared:
            records["shared"], cleared = run.space.place_shared(block.place, shared)
        run.strong.forget(range(first, first + count), cleared)
        run.waiting.forget(range(first, first + count))
        records["shared_bytes"] = shared
        records["start"] = self.start.address
        records["variables"] = run.space.global_address(run.space.variables[self.rank])
        records["parameters"] = self.parameters.ctypes.data
        records["fuel"] = FUEL
        records["specials"] = self.specials
        for name, value in zip(_OF_BLOCK, (*block.index, block.place), strict=True):
            records["specials"][:, name] = value
        run.emulator.code.call("create")(
            self.kernel.address,
            run.handles.ctypes.data,
            run.records.ctypes.data,
            RECORD.itemsize,
            first,
            count,
        )
        run.ready.append(slots)

    def _specials(self) -> npt.NDArray[np.uint32]:
        """The special registers of the threads of a block, but for those of the block."""
        threads = np.arange(self.threads)
        x, y, z = self.step.block
        table = {
            "%tid.x": threads % x,
            "%tid.y": threads // x % y,
            "%tid.z": threads // (x * y),
            **dict(zip(("%ntid.x", "%ntid.y", "%ntid.z"), (x, y, z), strict=True)),
            **dict(zip(("%nctaid.x", "%nctaid.y", "%nctaid.z"), self.step.grid, strict=True)),
            "%laneid": threads % WARP,
            "%warpid": threads // WARP,
            "%nwarpid": -(-self.threads // WARP),
            "%nsmid": self.run.emulator.job.sms,
            "%gridid": self.number,
        }
        found = np.zeros((self.threads, len(SPECIALS)), np.uint32)
        for name, column in table.items():
            found[:, SPECIALS.index(name)] = column
        return found

    def block_ended(self, block: Block) -> None:
        """A block has ended: others may begin, and behind the last one the stream goes on."""
        run = self.run
        slots = block.slots
        self.end = join((self.end, join(run.clocks_of(slots), slots, run.epochs[slots])))
        run.set_clocks(slots, self.start)  # what they knew is in `end`, and takes memory
        run.emulator.code.call("destroy")(run.handles.ctypes.data, block.first, block.count)
        self.resident -= 1
        self.unfinished -= 1
        if not block.released:
            self.released += 1
        self.stream.free_place(block.place)
        waiting = {one for one in run.ready if isinstance(one, Grid)}
        run.ready += [grid for grid in self.stream.grids if grid.pending and grid not in waiting]
        if self.done or self.may_dependents_begin:
            run.ready.append(self.stream)

    # The launch after it

    @property
    def may_dependents_begin(self) -> bool:
        """Whether each block has let dependents begin, or ended."""
        return self.released == prod(self.step.grid)

    def release_dependents(self, block: Block) -> None:
        """`griddepcontrol.launch_dependents`: a block has done so when one of its threads has."""
        if not block.released:
            block.released = True
            self.released += 1
            if self.may_dependents_begin:
                self.run.ready.append(self.stream)

    def wait_for_previous(self, slot: int) -> bool:
        """`griddepcontrol.wait`; whether the thread goes on."""
        previous = self.before
        if previous is None:
            return True
        if not previous.done:
            self.blocked.append(slot)
            return False
        self.run.set_clock(slot, join((self.run.clocks[slot], previous.end)))
        if self.run.trace is not None:
            self.run.trace.meeting([slot])
        return True


@dataclass
class _Arrivals:
    """A barrier of a block, until all have arrived."""

    expected: int
    """How many threads it is for; 0 for all of the block."""
    reduces: bool
    """Whether it is that of `bar.red`."""
    waiting: list[Ids] = field(default_factory=list[Ids])
    passed: list[Ids] = field(default_factory=list[Ids])
    """Threads that arrived and do not wait."""
    arrived: list[Clock] = field(default_factory=list[Clock])
    """What those knew."""
    total: int = 0
    holds: list[bool] = field(default_factory=list[bool])


class Block:
    """A block of threads."""

    def __init__(self, grid: Grid, number: int, first: int, count: int, place: int):
        self.grid, self.run = grid, grid.run
        self.number, self.first, self.count, self.place = number, first, count, place
        self.index = _triple(number, grid.step.grid)
        self.rank = self.index[2] if grid.step.virtual else grid.rank
        self.slots: Ids = np.arange(first, first + count)
        self.epochs: Any = None
        """Of its threads, at its start."""
        self.alive = np.ones(count, np.bool_)
        self.living = count
        self.released = False
        self.resumable: list[Ids] = []
        """Threads that may go on at once."""
        self.barriers: dict[int, _Arrivals] = {}
        self.warps: dict[tuple[int, int, int], list[int]] = {}
        """Lanes that wait for others, by warp, what they do, and the lanes that take part."""

    def did(self, slot: int, epoch: int) -> bool:
        """Whether a slot's epoch may be of this block."""
        return self.first <= slot < self.first + self.count and (
            self.epochs[slot - self.first] <= epoch
        )

    def where(self, slot: int, site: Site) -> Where:
        """A thread at an instruction."""
        item = site.instruction
        return Where(
            self.rank,
            self.grid.step.kernel,
            self.grid.number,
            self.index,
            _triple(slot - self.first, self.grid.step.block),
            item.line,
            item.text,
            item.location,
        )

    # Ends

    def leave(self, slots: Ids) -> None:
        """Threads have ended: those that wait for all others may go on."""
        self.alive[slots - self.first] = False
        self.living -= len(slots)
        if not self.living:
            return self.grid.block_ended(self)
        for number in list(self.barriers):
            self._try(number)
        for key in list(self.warps):
            self._try_warp(key)

    # Barriers

    def meet(self, slots: Ids) -> None:
        """Threads arrive at barriers."""
        operands, kinds = self.run.records["operands"], self.run.records["values"]
        given, kind = operands[slots, :2], kinds[slots, 0]
        first = cast(list[int], given[0].tolist())
        alike = len(slots) == 1 or bool((given == given[0]).all())
        if alike and not np.count_nonzero(kind):  # all do `bar.sync` at one barrier
            number, count = first
            barrier = self._barrier(number, count, slots, False)
            if barrier is not None:
                barrier.total += len(slots)
                barrier.waiting.append(slots)
                self._try(number)
            return
        for number, count in np.unique(given, axis=0).tolist():
            all_of_it = slots[(given == (number, count)).all(axis=1)]
            reduce = kinds[all_of_it, 0] >= int(Barrier.REDUCE_AND)
            for reduces in (True, False):
                these = all_of_it[reduce == reduces]
                if len(these) and not self._arrive(number, count, these, reduces):
                    return

    def _arrive(self, number: int, count: int, slots: Ids, reduces: bool) -> bool:
        """Threads arrive at one barrier, not all in the same way; False after a finding."""
        barrier = self._barrier(number, count, slots, reduces)
        if barrier is None:
            return False
        operands, kinds = self.run.records["operands"], self.run.records["values"]
        barrier.total += len(slots)
        if reduces:
            barrier.holds += (operands[slots, 2] != 0).tolist()
        passes = kinds[slots, 0] == int(Barrier.ARRIVE)
        if passes.any():
            passed = slots[passes]
            barrier.arrived.append(self.run.meet(passed))
            barrier.passed.append(passed)
            self.resumable.append(passed)
        barrier.waiting.append(slots[~passes])
        self._try(number)
        return not self.run.findings

    def _barrier(self, number: int, count: int, slots: Ids, reduces: bool) -> _Arrivals | None:
        """A barrier for `count` threads, all of the block if 0; None after a finding."""
        text = ""
        if number >= BARRIERS:
            text = f"there is no barrier {number}: a block has {BARRIERS}"
        elif count % WARP:
            text = f"barrier {number} is for {count} threads, which are no whole warps"
        barrier = self.barriers.setdefault(number, _Arrivals(count, reduces))
        expected = barrier.expected or self.count
        if expected != (count or self.count):
            text = (
                f"barrier {number} is for {count or self.count} threads and for {expected} at once"
            )
        elif barrier.reduces != reduces:
            text = f"barrier {number} is of bar.red for some threads and not for others"
        if text:
            self._refuse(text, slots)
            return None
        return barrier

    def _total(self, barrier: _Arrivals) -> int:
        """How many threads have arrived: warps count as whole ones (PTX ISA, 9.7.13.1), without lanes that ended."""
        places = np.concatenate((*barrier.waiting, *barrier.passed)) - self.first
        there = np.zeros(-(-self.count // WARP) * WARP, np.bool_)
        there[: self.count] = self.alive
        there[places] = True
        gone = ~there.reshape(-1, WARP)[np.unique(places // WARP)]
        return len(places) + int(np.count_nonzero(gone))

    def _refuse(self, text: str, slots: Ids) -> None:
        run, slot = self.run, int(slots[0])
        where = run.reports.where(slot, int(run.records["site"][slot]))
        run.reports.add("invalid", text, [where])

    def _try(self, number: int) -> None:
        """Let a barrier's threads go on if all have arrived."""
        run, barrier = self.run, self.barriers[number]
        expected = barrier.expected or self.living
        total = self._total(barrier) if barrier.expected else barrier.total
        if total < expected:
            return
        slots = barrier.waiting[0]
        if len(barrier.waiting) > 1:
            slots = np.sort(np.concatenate(barrier.waiting))
        if total > expected:
            text = f"barrier {number} is for {expected} threads, but {total} arrive"
            return self._refuse(text, slots)
        del self.barriers[number]
        if not len(slots):
            return
        clocks = run.clocks_of(slots).union(barrier.arrived)
        clock = join(clocks, slots, run.epochs[slots])
        run.next_epochs(slots)
        run.set_clocks(slots, clock)
        if run.trace is not None:
            run.trace.meeting(slots.tolist())
        if barrier.holds:
            self._reduce(barrier, slots)
        run.ready.append(slots)

    def _reduce(self, barrier: _Arrivals, slots: Ids) -> None:
        """Give the results of `bar.red`."""
        values = self.run.records["values"]
        results = {
            Barrier.REDUCE_AND: all(barrier.holds),
            Barrier.REDUCE_OR: any(barrier.holds),
            Barrier.REDUCE_COUNT: sum(barrier.holds),
        }
        for kind, result in results.items():
            values[slots[values[slots, 0] == int(kind)], 0] = int(result)

    # Warps

    def exchange(self, slots: Ids) -> Ids:
        """Threads meet others of their warp; those that may go on."""
        records = self.run.records[slots]
        kinds, masks = records["values"][:, 0], records["operands"][:, 0]
        places = slots - self.first
        if not (len(slots) % WARP or (masks != FULL).any() or self.warps):
            warps = places.reshape(-1, WARP)
            whole = (warps[:, 0] % WARP == 0) & (np.diff(warps, axis=1) == 1).all(axis=1)
            if whole.all() and (kinds == kinds[0]).all():
                active = np.ones(warps.shape, np.bool_)
                self._exchange(Warp(int(kinds[0])), slots.reshape(-1, WARP), active)
                return slots
        before = len(self.resumable)
        keys: dict[tuple[int, int, int], None] = {}
        for slot, kind, mask in zip(slots.tolist(), kinds.tolist(), masks.tolist(), strict=True):
            place = slot - self.first
            if not mask >> place % WARP & 1:
                where = self.run.reports.where(slot, int(self.run.records["site"][slot]))
                text = f"the mask 0x{mask:08x} leaves out the thread itself"
                self.run.reports.add("invalid", text, [where])
                return slots[:0]
            key = (place // WARP, kind, mask)
            self.warps.setdefault(key, []).append(place % WARP)
            keys[key] = None
        for key in keys:
            self._try_warp(key)
        found = self.resumable[before:]
        del self.resumable[before:]
        return np.concatenate(found) if found else slots[:0]

    def _try_warp(self, key: tuple[int, int, int]) -> None:
        """Let lanes go on if all that take part are there."""
        warp, kind, mask = key
        base = warp * WARP
        size = min(WARP, self.count - base)
        lanes = self.warps[key]
        needed = [n for n in range(size) if mask >> n & 1 and self.alive[base + n]]
        if not set(needed) <= set(lanes):
            return
        del self.warps[key]
        slots = np.full((1, WARP), self.first + base)
        active = np.zeros((1, WARP), np.bool_)
        slots[0, lanes] += lanes
        active[0, lanes] = True
        self._exchange(Warp(kind), slots, active)
        self.resumable.append(self.first + base + np.sort(np.array(lanes)))

    def _exchange(self, kind: Warp, slots: Ids, active: npt.NDArray[np.bool_]) -> None:
        run = self.run
        if kind == Warp.SYNC:
            for row, present in zip(slots, active, strict=True):
                run.set_clocks(row[present], run.meet(row[present]))
                if run.trace is not None:
                    run.trace.meeting(row[present].tolist())
            return
        first, second = exchange(kind, run.records["operands"][slots][..., 1:4], active)
        run.records["values"][slots[active], 0] = first[active]
        run.records["values"][slots[active], 1] = second[active]

    def count_active(self, slots: Ids) -> Ids:
        """Give threads that stand at one `activemask` together the mask of those of their warp."""
        places = slots - self.first
        sites = self.run.records["site"][slots]
        keys = np.stack([places // WARP, sites.astype(np.int64)], axis=1)
        for key in np.unique(keys, axis=0):
            these = (keys == key).all(axis=1)
            mask = sum(1 << int(lane) for lane in places[these] % WARP)
            self.run.records["values"][slots[these], 0] = mask
        return slots
