"""One run of a job under one schedule: threads are resumed until all have ended, or something is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from coconet_ir.emu.code.layout import RECORD, SITE_BITS, THREAD_SHIFT, Op
from coconet_ir.emu.execution.blocks import Block, Grid
from coconet_ir.emu.execution.ranks import Stream
from coconet_ir.emu.execution.requests import Requests
from coconet_ir.emu.execution.waiting import Waiting
from coconet_ir.emu.memory.access import Access
from coconet_ir.emu.memory.clocks import Clock, Row, join
from coconet_ir.emu.memory.strong import Strong
from coconet_ir.emu.memory.weak import Weak
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.emu.reports.recorder import Reports
from coconet_ir.emu.reports.trace import Trace

if TYPE_CHECKING:
    from coconet_ir.emu.machine import Emulator
    from coconet_ir.emu.schedules.schedule import Schedule

Ids: TypeAlias = npt.NDArray[np.int64]
Item: TypeAlias = int | Ids | Stream | Grid
"""What can go on: a thread with a request, threads of a block, a stream, a launch with blocks that have not begun."""

_TOGETHER = frozenset({Op.EXIT, Op.BARRIER, Op.WARP, Op.ACTIVE})
"""What threads of a block do together."""
_NEXT_EPOCH = np.uint64(1 << SITE_BITS)


class Run:
    """The state of a run. Of what is ready the schedule picks one after the other."""

    def __init__(self, emulator: Emulator, schedule: Schedule, traced: bool):
        self.emulator, self.schedule = emulator, schedule
        self.space, self.granule = emulator.space, emulator.space.granule
        self.records, self.handles = emulator.records, emulator.handles
        self.findings: list[Finding] = []
        count = emulator.threads
        self.epochs: Row = np.ones(count, np.int32)
        first = np.zeros(count, np.int32)
        first[: len(emulator.job.ranks)] = 1  # what the buffers begin with
        start = Clock(first, np.zeros(0, np.int32))
        self.clocks: list[Clock] = [start] * count
        self.blocks: list[Block | None] = [None] * count
        """The block of each slot now; None for a host."""
        self.past: list[Block] = []
        """All blocks that began."""
        self.reports = Reports(self)
        self.weak, self.strong = Weak(self), Strong(self)
        self.waiting = Waiting(self)
        self.requests = Requests(self)
        self.trace = Trace(self) if traced else None
        self.time = 0
        """Virtual nanoseconds."""
        self._prepare(start)
        self.streams = [Stream(self, rank, start) for rank in range(len(emulator.job.ranks))]
        self.ready: list[Item] = list(self.streams)
        self._held: list[Item] = []
        self._ops = self.records["op"]
        self._selves, self._rows = self.records["self"], self.records["row"]
        self._op, self._epoch = self._ops.data, self.epochs.data  # for one slot
        self._self, self._row = self._selves.data, self._rows.data
        self.next_epochs(np.arange(len(self.streams)))  # hosts do nothing in that of first contents
        self._resume = emulator.code.call("resume")
        self._places = self.handles.ctypes.data, self.records.ctypes.data, RECORD.itemsize
        self._one = np.zeros(1, np.int64)
        self._one_place = self._one.ctypes.data
        schedule.begin(self)

    def _prepare(self, start: Clock) -> None:
        self.space.reset()
        records = self.records
        records[:] = 0
        self.handles[:] = 0
        slots = np.arange(len(records), dtype=np.uint64)
        records["self"] = slots << np.uint64(THREAD_SHIFT) | _NEXT_EPOCH
        records["row"] = start.address
        records["shadow"] = self.space.shadow.ctypes.data
        records["space"] = self.space.bytes.ctypes.data
        records["limit"] = self.space.limit
        records["local"] = self.space.local + slots * np.uint64(self.space.local_stride)

    # The loop

    def go(self) -> None:
        """Run to the end, or to the first finding."""
        schedule = self.schedule
        while not self.findings:
            ready = self.ready
            if not ready:
                if self._held:
                    self.ready, self._held = self._held, []
                    schedule.let_go()
                elif not self.waiting.wake_idle():
                    break
                continue
            item = ready.pop(schedule.pick(ready))
            if schedule.is_holding and self._is_held(item):
                self._held.append(item)
            elif isinstance(item, int):
                if not self.requests.serve(item):
                    schedule.waits()
                elif not self.findings:
                    self._advance_one(item)
            elif isinstance(item, np.ndarray):
                self._advance(item)
            else:
                item.go()
        if not self.findings and any(not stream.done for stream in self.streams):
            self.reports.hang()

    def _is_held(self, item: Item) -> bool:
        if isinstance(item, int | np.ndarray):
            slot = int(item if isinstance(item, int) else item[0])
            block = self.grid_block(slot)
            return self.schedule.holds(block.rank, block.number, slot)
        return self.schedule.holds(item.rank, -1, -1)

    def _advance_one(self, slot: int) -> None:
        """Resume a thread until it must wait or the schedule must decide."""
        self._one[0] = slot
        self._resume(*self._places, self._one_place, 1)
        self.weak.check_same()
        if self.findings:
            return
        if self._op[slot] in _TOGETHER:
            rest = self._sort(self.grid_block(slot), np.array([slot]))
            if len(rest):
                self._advance(rest)
        else:
            self.ready.append(slot)

    def _advance(self, slots: Ids) -> None:
        """Resume threads of one block until each must wait or the schedule must decide."""
        block = self.grid_block(int(slots[0]))
        while len(slots):
            self._resume(*self._places, slots.ctypes.data, len(slots))
            self.weak.check_same()
            if self.findings:
                return
            slots = self._sort(block, slots)

    def _sort(self, block: Block, slots: Ids) -> Ids:
        """See why threads are suspended; which of them may go on at once."""
        again: list[Ids] = []
        if len(slots) == 1:
            ops, different = self._ops, [self._op[int(slots[0])]]
        else:
            ops = self._ops[slots]
            different = sorted(set(cast(list[int], ops.tolist())))
        for op in different:
            these = slots if len(different) == 1 else slots[ops == op]
            if op == Op.EXIT:
                block.leave(these)
            elif op == Op.BARRIER:
                block.meet(these)
            elif op == Op.WARP:
                again.append(block.exchange(these))
            elif op == Op.ACTIVE:
                again.append(block.count_active(these))
            else:
                self.ready += these.tolist()
            if self.findings:
                break
        if block.resumable:
            again += block.resumable
            block.resumable = []
        return np.concatenate(again) if again else slots[:0]

    # Threads

    def rank_of(self, slot: int) -> int:
        """The rank of a slot."""
        block = self.blocks[slot]
        return slot if block is None else block.rank

    def grid_block(self, slot: int) -> Block:
        """The block of a slot that is no host's."""
        block = self.blocks[slot]
        assert block is not None
        return block

    def next_epoch(self, slot: int) -> None:
        """What a slot does from here on is not known to whom it told of itself."""
        self._epoch[slot] += 1
        self._self[slot] += 1 << SITE_BITS

    def next_epochs(self, slots: Ids) -> None:
        """The same for many."""
        self.epochs[slots] += 1
        self._selves[slots] += _NEXT_EPOCH

    def set_clock(self, slot: int, clock: Clock) -> None:
        """A thread knows more."""
        if clock.row is not self.clocks[slot].row:
            self._row[slot] = clock.address
        self.clocks[slot] = clock

    def set_clocks(self, slots: Ids, clock: Clock) -> None:
        """Threads know the same."""
        for slot in slots.tolist():
            self.clocks[slot] = clock
        self._rows[slots] = clock.address

    def clocks_of(self, slots: Ids) -> set[Clock]:
        """What threads know, each clock once."""
        return {self.clocks[slot] for slot in cast(list[int], slots.tolist())}

    def meet(self, slots: Ids) -> Clock:
        """What threads know together after a barrier, and their next epochs."""
        clock = join(self.clocks_of(slots), slots, self.epochs[slots])
        self.next_epochs(slots)
        return clock

    def access(self, slot: int, site: int, scope: int | None = None) -> Access:
        """What a slot does now."""
        return Access(slot, self._epoch[slot], site, scope)

    def comes_before(self, access: Access, slot: int) -> bool:
        """Whether an access came before what a slot does now."""
        return access.slot == slot or self.clocks[slot].knows(access.slot, access.epoch)
