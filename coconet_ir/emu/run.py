"""One run of a job under one schedule: threads are resumed until all have ended, or something is wrong."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coconet_ir.emu import hangs
from coconet_ir.emu.blocks import WARP, Block, Grid
from coconet_ir.emu.clocks import Clock, join
from coconet_ir.emu.code.layout import (
    EPOCH_BITS,
    FUEL,
    RECORD,
    SITE_BITS,
    THREAD_SHIFT,
    Op,
    Order,
    Scope,
    State,
)
from coconet_ir.emu.findings import Finding, Kind, Where
from coconet_ir.emu.ranks import Stream
from coconet_ir.emu.strong import Access, Strong
from coconet_ir.emu.waiting import Waiting

if TYPE_CHECKING:
    from coconet_ir.emu.machine import Emulator
    from coconet_ir.emu.schedule import Schedule

Ids = npt.NDArray[np.int64]
_EPOCH = (1 << EPOCH_BITS) - 1


class Run:
    """The state of a run. What is ready is a list of things to do, of which the schedule picks one after the other."""

    def __init__(self, emulator: Emulator, schedule: Schedule, seed: int):
        self.emulator, self.schedule, self.seed = emulator, schedule, seed
        self.space, self.granule = emulator.space, emulator.space.granule
        self.records, self.handles = emulator.records, emulator.handles
        self.findings: list[Finding] = []
        count = emulator.threads
        self.epochs = np.ones(count, np.int32)
        first = np.zeros(count, np.int32)
        first[: len(emulator.job.ranks)] = 1  # what the buffers begin with
        start = Clock(first, {})
        self.clocks: list[Clock] = [start] * count
        self.blocks: list[Block | None] = [None] * count
        """The block of each slot now."""
        self.past: list[Block] = []
        """All blocks that began."""
        self.strong = Strong(self)
        self.waiting = Waiting(self)
        self.time = 0
        """Virtual nanoseconds."""
        self._same: tuple[Access, Access, int, int] | None = None
        """A store where another lane has stored at the same instruction, and the value that was there."""
        self._reader_rows: list[npt.NDArray[np.uint64]] = []
        self._prepare(start)
        self.streams = [Stream(self, rank, start) for rank in range(len(emulator.job.ranks))]
        self.ready: list[Any] = list(self.streams)
        self._held: list[Any] = []
        self._resume = emulator.code.call("resume")
        self._one = np.zeros(1, np.int64)

    def _prepare(self, start: Clock) -> None:
        self.space.reset()
        records = self.records
        records[:] = 0
        self.handles[:] = 0
        slots = np.arange(len(records), dtype=np.uint64)
        records["self"] = slots << np.uint64(THREAD_SHIFT) | np.uint64(1 << SITE_BITS)
        records["row"] = start.address
        records["shadow"] = self.space.shadow.ctypes.data
        records["space"] = self.space.bytes.ctypes.data
        records["limit"] = self.space.limit
        records["local"] = self.space.local + slots * np.uint64(self.space.local_stride)

    # The loop

    def go(self) -> None:
        """Run to the end, or to the first finding."""
        while not self.findings:
            if not self.ready:
                if self._held:
                    self.ready, self._held = self._held, []
                    self.schedule.let_go()
                elif not self.waiting.wake_idle():
                    break
                continue
            index = self.schedule.pick(len(self.ready))
            ready = self.ready
            ready[index], ready[-1] = ready[-1], ready[index]
            item = ready.pop()
            if self._is_held(item):
                self._held.append(item)
            elif isinstance(item, int):
                self._step(item)
            elif isinstance(item, np.ndarray):
                self.advance(item)
            else:
                item.go()
        if not self.findings and any(not stream.done for stream in self.streams):
            self.report_hang()

    def _is_held(self, item: Any) -> bool:
        count = len(self.streams)
        if isinstance(item, int | np.ndarray):
            slot = int(item if isinstance(item, int) else item[0])
            block = self.blocks[slot]
            assert block is not None
            return self.schedule.holds(count, block.rank, block.number, slot)
        return self.schedule.holds(count, item.rank, -1, -1)

    def advance(self, slots: Ids) -> None:
        """Resume threads of one block until each must wait or the schedule must decide."""
        block = self.blocks[int(slots[0])]
        assert block is not None
        while len(slots):
            self._resume(
                self.handles.ctypes.data,
                self.records.ctypes.data,
                RECORD.itemsize,
                slots.ctypes.data,
                len(slots),
            )
            self._check_same()
            if self.findings:
                return
            slots = self._sort(block, slots)

    def _sort(self, block: Block, slots: Ids) -> Ids:
        """See why threads are suspended; which of them may go on at once."""
        ops = self.records["op"][slots]
        again: list[Ids] = []
        for op in [ops[0]] if (ops == ops[0]).all() else np.unique(ops):
            these = slots[ops == op]
            match op:
                case Op.EXIT:
                    block.leave(these)
                case Op.BARRIER:
                    block.meet(these)
                case Op.WARP:
                    again.append(block.exchange(these))
                case Op.ACTIVE:
                    again.append(block.count_active(these))
                case _:
                    self.ready += these.tolist()
            if self.findings:
                break
        if block.resumable:
            again += block.resumable
            block.resumable = []
        return np.concatenate(again) if again else slots[:0]

    def _step(self, slot: int) -> None:
        """Do what a thread asked for and resume it."""
        record = self.records[slot]
        match int(record["op"]):
            case Op.LOAD:
                goes_on = self._load(slot, record)
            case Op.STORE:
                goes_on = self._store(slot, record)
            case Op.ATOMIC:
                goes_on = self._atomic(slot, record)
            case Op.FENCE:
                word = int(record["values"][0])
                self.strong.fence(slot, Order(word & 7), Scope(word >> 4))
                goes_on = True
            case Op.YIELD:
                record["fuel"] = FUEL
                goes_on = self.waiting.take_turn(slot)
            case Op.CLOCK:
                goes_on = self.waiting.read_clock(slot, record)
            case Op.RELEASE_DEPENDENTS:
                self.grid(slot).release_dependents(slot)
                goes_on = True
            case Op.AWAIT_GRID:
                goes_on = self.grid(slot).wait_for_previous(slot)
            case _:
                self.report("invalid", "the kernel traps", [self.where(slot, int(record["site"]))])
                goes_on = False
        if goes_on and not self.findings:
            self._one[0] = slot
            self.advance(self._one)

    # Strong accesses

    def _load(self, slot: int, record: Any) -> bool:
        word, offset, site = int(record["values"][0]), int(record["offset"]), int(record["site"])
        order, scope = Order(word & 7), Scope(word >> 4 & 3)
        size, count = word >> 8 & 0xFF, word >> 16 & 0xFF
        if not self.is_sound(slot, record, size * count, site, False):
            return False
        found: list[Any] = []
        for index in range(count):
            location = self.strong.location(slot, offset + index * size, size, site, False)
            if location is None:
                return False
            found.append(location)
        chosen = self.waiting.choose(slot, site, found)
        if chosen is None:  # nothing has changed since it looked last: it waits
            return False
        for index, (location, message) in enumerate(zip(found, chosen, strict=True)):
            value = self.strong.read(location, slot, site, order, scope, message)
            if value is None:
                return False
            record["values"][index] = value
        return True

    def _store(self, slot: int, record: Any) -> bool:
        word, offset, site = int(record["values"][0]), int(record["offset"]), int(record["site"])
        order, scope = Order(word & 7), Scope(word >> 4 & 3)
        size, count = word >> 8 & 0xFF, word >> 16 & 0xFF
        if not self.is_sound(slot, record, size * count, site, True):
            return False
        for index in range(count):
            location = self.strong.location(slot, offset + index * size, size, site, True)
            if location is None:
                return False
            if self.emulator.updates(site) and not self._is_kept(location, slot, site):
                return False
            value = int(record["operands"][index]) & (1 << 8 * size) - 1
            if not self.strong.write(location, slot, site, order, scope, value):
                return False
            self.waiting.wake(location)
        return True

    def _is_kept(self, location: Any, slot: int, site: int) -> bool:
        """Whether a store of what was computed from a location's value overwrites no other thread's store."""
        seen = self.strong.newer(location, slot)
        for message in location.messages[seen + 1 :]:
            if message.access.slot != slot:
                self.report_lost(slot, site, message.access, location.offset)
                return False
        return True

    def _atomic(self, slot: int, record: Any) -> bool:
        word, offset, site = int(record["values"][0]), int(record["offset"]), int(record["site"])
        size = word >> 8 & 0xFF
        if not self.is_sound(slot, record, size, site, True):
            return False
        location = self.strong.location(slot, offset, size, site, True)
        if location is None:
            return False
        if not self.waiting.may_update(slot, site, location):
            return False
        type = self.emulator.code.sites[site].instruction.modifiers[-1]
        mask = (1 << 8 * size) - 1
        new, other = (int(x) & mask for x in record["operands"][:2])
        before = location.changes
        old = self.strong.atomic(location, slot, site, word, type, new, other)
        if old is None:
            return False
        if location.changes != before:
            self.waiting.wake(location)
        record["values"][0] = old
        return True

    def is_sound(self, slot: int, record: Any, bytes: int, site: int, write: bool) -> bool:
        """Whether an access is aligned and inside of memory."""
        offset, address = int(record["offset"]), int(record["address"])
        if address % bytes:
            self.report_misaligned(slot, offset, bytes, site, write)
            return False
        if offset >= self.space.limit:
            self.report_outside(slot, offset, bytes, site, write)
            return False
        return True

    # Weak accesses, where the inline check is not enough

    def on_access(self, me: int, offset: int, bytes: int, site: int, kind: int) -> int:
        """Decide about a weak access: 0 if it may go on. `kind` is 0 for a load, 1 for a store, 2 for `ld.nc`."""
        slot = (me - self.records.ctypes.data) // RECORD.itemsize
        try:
            return 0 if self._may_access(slot, offset & (1 << 64) - 1, bytes, site, kind) else 1
        except Exception as error:  # a callback must not raise
            self.findings.append(Finding("invalid", f"internal error: {error!r}"))
            return 1

    def _may_access(self, slot: int, offset: int, bytes: int, site: int, kind: int) -> bool:
        write = kind == 1
        address = int(self.records[slot]["address"])
        if slot >= len(self.streams) and address % bytes:
            self.report_misaligned(slot, offset, bytes, site, write)
            return False
        if offset >= self.space.limit:
            self.report_outside(slot, offset, bytes, site, write)
            return False
        number = offset // self.granule
        state = self.state(number)
        if state & State.UNALLOCATED:
            self.report_outside(slot, offset, bytes, site, write)
            return False
        if state & State.UNWRITTEN:
            self.report_unwritten(slot, offset, bytes, site)
            return False
        if state & State.STRONG:
            return self.strong.weak_access(slot, offset, site, write)
        others = [self.writer(number), *(self.readers(number) if write else ())]
        me = self.access(slot, site)
        for other in others:
            before = other.slot == slot or self.clocks[slot].knows(other.slot, other.epoch)
            if kind == 2 or not (before or (write and self._is_same_store(me, other))):
                self.report_race("data race", me, other, offset)
                return False
        self._check_same()
        self._same = (me, others[0], offset, self.read_memory(offset, self.granule))
        self.set_state(number, 0, me)
        return True

    def _is_same_store(self, me: Access, other: Access) -> bool:
        """Whether lanes of one warp store at one instruction: then only values that differ are a race."""
        block = self.blocks[me.slot]
        return (
            me.site == other.site
            and block is not None
            and block.did(other.slot, other.epoch)
            and (me.slot - block.first) // WARP == (other.slot - block.first) // WARP
        )

    def _check_same(self) -> None:
        """Report the last store of that kind if it has changed the value."""
        if self._same is not None:
            me, other, offset, value = self._same
            self._same = None
            if self.read_memory(offset, self.granule) != value:
                self.report_race("data race", me, other, offset)

    def new_readers(self) -> int:
        """The address of a row for readers of a granule."""
        self._reader_rows.append(np.zeros(self.emulator.threads, np.uint64))
        return self._reader_rows[-1].ctypes.data

    # Shadow

    def state(self, granule: int) -> int:
        """The flags of a granule, 0 for ordinary memory."""
        return int(self.space.shadow[granule, 3]) & 7

    def set_state(self, granule: int, state: int, writer: Access | None = None) -> None:
        """Set the flags of a granule, and who wrote it last."""
        cell = self.space.shadow[granule]
        cell[3] = state
        if writer is not None:
            cell[0] = writer.slot << THREAD_SHIFT | writer.epoch << SITE_BITS | writer.site
            cell[1] = cell[2] = 0

    def writer(self, granule: int) -> Access:
        """Who wrote ordinary memory last."""
        return _access(int(self.space.shadow[granule, 0]))

    def readers(self, granule: int) -> list[Access]:
        """Who has read ordinary memory since."""
        cell = self.space.shadow[granule]
        words = [int(cell[1]), int(cell[2])]
        if int(cell[3]) > 7:
            row = (ctypes.c_uint64 * self.emulator.threads).from_address(int(cell[3]))
            words += list(row)
        return [_access(word) for word in words if word]

    def read_memory(self, offset: int, bytes: int) -> int:
        """A value in memory."""
        return int.from_bytes(self.space.bytes[offset : offset + bytes].tobytes(), "little")

    def write_memory(self, offset: int, bytes: int, value: int) -> None:
        """Store a value into memory."""
        data = np.frombuffer(value.to_bytes(bytes, "little"), np.uint8)
        self.space.bytes[offset : offset + bytes] = data

    # Threads

    def rank_of(self, slot: int) -> int:
        """The rank of a slot."""
        block = self.blocks[slot]
        return slot if block is None else block.rank

    def block_of(self, slot: int) -> Block | None:
        """The block of a slot; None for a host."""
        return self.blocks[slot]

    def grid(self, slot: int) -> Grid:
        """The launch that a thread belongs to."""
        block = self.blocks[slot]
        assert block is not None
        return block.grid

    def epoch(self, slot: int) -> int:
        """The epoch of a slot."""
        return int(self.epochs[slot])

    def next_epoch(self, slot: int) -> None:
        """What a slot does from here on is not known to whom it told of itself."""
        self.epochs[slot] += 1
        self.records["self"][slot] += np.uint64(1 << SITE_BITS)

    def next_epochs(self, slots: Any) -> None:
        """The same for many."""
        self.epochs[slots] += 1
        self.records["self"][slots] += np.uint64(1 << SITE_BITS)

    def set_clock(self, slot: int, clock: Clock) -> None:
        """A thread knows more."""
        self.clocks[slot] = clock
        self.records["row"][slot] = clock.address

    def set_clocks(self, slots: Ids, clock: Clock) -> None:
        """Threads know the same."""
        for slot in slots.tolist():
            self.clocks[slot] = clock
        self.records["row"][slots] = clock.address

    def meet(self, slots: Ids) -> Clock:
        """What threads know together after a barrier, and their next epochs."""
        clock = join([self.clocks[slot] for slot in slots.tolist()], slots, self.epochs[slots])
        self.next_epochs(slots)
        return clock

    def access(self, slot: int, site: int, scope: Scope | None = None) -> Access:
        """What a slot does now."""
        return Access(slot, int(self.epochs[slot]), site, scope)

    # Findings

    def where(self, slot: int, site: int, epoch: int | None = None) -> Where:
        """Who did something, and at which instruction."""
        block = self.blocks[slot]
        if epoch is not None:
            block = next((b for b in reversed(self.past) if b.did(slot, epoch)), None)
        if block is None:
            rank = slot if slot < len(self.streams) else 0
            return self.streams[rank].where()
        return block.where(slot, self.emulator.code.sites[site])

    def report(
        self,
        kind: Kind,
        message: str,
        places: list[Where],
        offset: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Add a finding."""
        buffer, behind = (None, 0) if offset is None else self.space.name(offset)
        self.findings.append(
            Finding(kind, message, tuple(places), buffer, behind, notes, self.seed)
        )

    def report_race(self, kind: Kind, me: Access, other: Access, offset: int) -> None:
        """Two accesses of which neither came before the other."""
        first, second = (
            self.where(me.slot, me.site),
            self.where(other.slot, other.site, other.epoch),
        )
        name, behind = self.space.name(offset)
        self.report(
            kind,
            f"{hangs.who(first)} and {hangs.who(second)} access byte {behind} of {name}, and nothing orders them",
            [first, second],
            offset,
            self.strong_notes(me, other),
        )

    def strong_notes(self, me: Access, other: Access) -> tuple[str, ...]:
        """What is missing between two accesses."""
        if me.scope is not None and other.scope is not None:
            return ("both are strong, but a scope does not include the other thread",)
        return ()

    def report_lost(self, slot: int, site: int, other: Access, offset: int) -> None:
        """A store overwrites another one that the value does not know of."""
        first, second = self.where(slot, site), self.where(other.slot, other.site, other.epoch)
        name, behind = self.space.name(offset)
        self.report(
            "lost update",
            f"{hangs.who(first)} stores what it computed from an older value of byte {behind} of {name}: "
            f"the store of {hangs.who(second)} is lost",
            [first, second],
            offset,
        )

    def report_outside(self, slot: int, offset: int, bytes: int, site: int, write: bool) -> None:
        """An access outside of all buffers."""
        where = self.where(slot, site)
        if offset >= self.space.limit:
            address = int(self.records[slot]["address"])
            text = f"address 0x{address:x}, which is in no buffer"
        else:
            name, behind = self.space.name(offset)
            text = f"{bytes} bytes at byte {behind} of {name}, which has {self.space.size(offset)}"
        self.report(
            "out of bounds",
            f"{hangs.who(where)} {'stores into' if write else 'loads'} {text}",
            [where],
            offset if offset < self.space.limit else None,
        )

    def report_misaligned(self, slot: int, offset: int, bytes: int, site: int, write: bool) -> None:
        """An access at an address that is no multiple of its size."""
        where, address = self.where(slot, site), int(self.records[slot]["address"])
        self.report(
            "misaligned access",
            f"{hangs.who(where)} {'stores' if write else 'loads'} {bytes} bytes at address 0x{address:x}",
            [where],
            offset if offset < self.space.limit else None,
        )

    def report_unwritten(self, slot: int, offset: int, bytes: int, site: int) -> None:
        """A load of what nobody has written."""
        where = self.where(slot, site)
        name, behind = self.space.name(offset)
        self.report(
            "uninitialised read",
            f"{hangs.who(where)} loads byte {behind} of {name}, which nobody has written",
            [where],
            offset,
        )

    def report_hang(self) -> None:
        """Nobody can go on."""
        places, notes = hangs.explain(self)
        self.report("hang", "no thread can go on", places, None, notes)


def _access(word: int) -> Access:
    return Access(
        word >> THREAD_SHIFT, word >> SITE_BITS & _EPOCH, word & (1 << SITE_BITS) - 1, None
    )
