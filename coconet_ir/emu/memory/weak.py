"""Weak accesses where the inline check (`code/native.py`) is not enough, and the shadow of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from coconet_ir.emu.code.layout import FLAGS, RECORD, STATE, WARP, State
from coconet_ir.emu.memory.access import Access, unpack

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run

_CONSTANT = 2


class Weak:
    """The weak accesses of a run."""

    def __init__(self, run: Run):
        self.run = run
        self.error: Exception | None = None
        """What was raised while native code ran."""
        self._shadow = run.space.shadow
        self._records = run.records.ctypes.data
        self._same: list[tuple[Access, Access, int, int]] = []
        """Granules of one store where another lane has stored at the same instruction, and the values there."""
        self._tables: dict[int, npt.NDArray[np.uint64]] = {}
        """Of readers, by granule."""
        self._before: npt.NDArray[np.uint64] | None = None

    def on_access(self, me: int, offset: int, bytes: int, site: int, kind: int) -> int:
        """Decide about a weak access: 0 if it may go on. `kind` is 0 for a load, 1 for a store, 2 for `ld.nc`."""
        slot = (me - self._records) // RECORD.itemsize
        try:
            return 0 if self._may_access(slot, offset & (1 << 64) - 1, bytes, site, kind) else 1
        except Exception as error:  # native code cannot hand it on
            self.error = error
            return 1

    def _may_access(self, slot: int, offset: int, bytes: int, site: int, kind: int) -> bool:
        run, write = self.run, kind == 1
        me = run.access(slot, site)
        if slot >= len(run.streams) and int(run.records["address"][slot]) % bytes:
            return run.reports.misaligned(me, offset, bytes, write)
        number = offset // run.granule
        state = self.state(number) if offset < run.space.limit else State.UNALLOCATED
        if state & State.UNALLOCATED:
            return run.reports.outside(me, offset, bytes, write)
        if state & State.UNWRITTEN:
            return run.reports.unwritten(me, offset)
        if state & State.STRONG:
            return run.strong.weak_access(me, offset, bytes, write, kind == _CONSTANT)
        others = [self.writer(number), *(self.readers(number) if write else ())]
        for other in others:
            if kind == _CONSTANT or not (
                run.comes_before(other, slot) or (write and self._is_same_store(me, other))
            ):
                return run.reports.race("data race", me, other, offset)
        if self._same and (self._same[0][0] != me or self._same[-1][2] + run.granule != offset):
            self.check_same()
            if run.findings:
                return False
        self._same.append((me, others[0], offset, self.read(offset, run.granule)))
        self.set_state(number, 0, me)
        return True

    def _is_same_store(self, me: Access, other: Access) -> bool:
        """Whether lanes of one warp store at one instruction: then only values that differ are a race."""
        block = self.run.blocks[me.slot]
        return (
            me.site == other.site
            and block is not None
            and block.did(other.slot, other.epoch)
            and (me.slot - block.first) // WARP == (other.slot - block.first) // WARP
        )

    def check_same(self) -> None:
        """Report the last store of that kind if it has changed a value. Raises what was raised in a callback."""
        if self.error is not None:
            raise self.error
        same, self._same = self._same, []
        for me, other, offset, value in same:
            if self.read(offset, self.run.granule) != value:
                self.run.reports.race("data race", me, other, offset)
                break

    def on_many_readers(self, granule: int, size: int) -> int:
        """Make a table for the readers of a granule (`code/native.py`); 0 if that fails."""
        try:
            return self._new_table(granule, size).ctypes.data
        except Exception as error:
            self.error = error
            return 0

    def _new_table(self, granule: int, size: int) -> npt.NDArray[np.uint64]:
        self._before = self._tables.get(granule)  # what is in it is moved
        table = self._tables[granule] = np.zeros(2 + size, np.uint64)
        table[0] = size - 1
        return table

    # Shadow and memory

    def state(self, granule: int) -> int:
        """The flags of a granule, 0 for ordinary memory."""
        return int(self._shadow[granule, STATE]) & FLAGS

    def set_state(self, granule: int, state: int, writer: Access | None = None) -> None:
        """Set the flags of a granule, and who wrote it last."""
        cell = self._shadow[granule]
        cell[STATE] = state
        if writer is not None:
            cell[0] = writer.word
            cell[1:STATE] = 0

    def writer(self, granule: int) -> Access:
        """Who wrote ordinary memory last."""
        return unpack(int(self._shadow[granule, 0]))

    def readers(self, granule: int) -> list[Access]:
        """Who has read ordinary memory since."""
        _, *words, state = self._shadow[granule].tolist()
        if state > FLAGS:
            words += self._tables[granule][2:].tolist()
        return [unpack(word) for word in words if word]

    def add_readers(self, granule: int, readers: Sequence[Access]) -> None:
        """Say who has read ordinary memory that was written by `set_state`."""
        if not readers:
            return
        latest: dict[int, int] = {}
        for access in readers:
            latest[access.slot] = max(latest.get(access.slot, 0), access.word)
        size = 1 << (2 * len(latest)).bit_length()
        table = self._new_table(granule, size)
        table[1] = len(latest)
        for slot, word in latest.items():
            index = slot
            while table[2 + index % size]:
                index += 1
            table[2 + index % size] = word
        self._shadow[granule, STATE] = table.ctypes.data

    def read(self, offset: int, bytes: int) -> int:
        """A value in memory."""
        return int.from_bytes(self.run.space.bytes[offset : offset + bytes].tobytes(), "little")

    def write(self, offset: int, bytes: int, value: int) -> None:
        """Store a value into memory."""
        data = np.frombuffer(value.to_bytes(bytes, "little"), np.uint8)
        self.run.space.bytes[offset : offset + bytes] = data
