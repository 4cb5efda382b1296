"""The memory of all ranks: one array of bytes with its shadow, and the names of what lies where."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from os import sysconf
from typing import Any

import numpy as np
import numpy.typing as npt

from coconet_ir.emu.code.compile import GAP, Code
from coconet_ir.emu.code.layout import GLOBAL, SITE_BITS, STATE, THREAD_SHIFT, WORDS, State
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job, Memory
from coconet_ir.emu.ptx.syntax import Float, Integer, Symbol, Variable, width
from coconet_ir.runtime.steps import Place

ALIGNMENT = 256
"""Bytes that a buffer is aligned to."""

POISON = 0xA5
"""What bytes hold that nobody has written: an output that is left out is no number that a test expects."""


@dataclass(frozen=True)
class Region:
    """A buffer in the space."""

    name: str
    offset: int
    bytes: int


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


class Space:
    """All memory of a job. `slots` are of threads; slot r is the host of rank r."""

    def __init__(self, job: Job, code: Code, blocks: int, shared: int, slots: int, local: int):
        """`blocks` is how many blocks with `shared` bytes are there at once; `local` are the bytes of a thread.

        Raises `MemoryError` for more than this machine has.
        """
        self._job, self._code = job, code
        self.granule = code.granule
        self.regions: list[Region] = []
        self.buffers: list[dict[int, Region]] = [{} for _ in job.ranks]
        """The regions of ranks' buffers by their owners."""
        self.variables: list[int] = []
        """Where the variables of the module lie, for each rank."""
        at = GAP
        for number, rank in enumerate(job.ranks):
            for owner, memory in rank.memory.items():
                region = Region(f"{memory.name} of rank {number}", at, memory.bytes)
                self.buffers[number][owner] = region
                self.regions.append(region)
                at = _aligned(at + memory.bytes + GAP)
            self.variables.append(at)
            for name, place in code.variables.places.items():
                size = code.module.variables[name].bytes
                self.regions.append(Region(f"{name} of rank {number}", at + place, size))
            at = _aligned(at + code.variables.bytes + GAP)
        self.shared = at
        """Where shared memory begins."""
        self.shared_stride = _aligned(shared + GAP) if shared else 0
        self.limit = at + blocks * self.shared_stride
        self.local = _aligned(self.limit + GAP)
        self.local_stride = -(-local // 16) * 16
        total = self.local + slots * self.local_stride
        cells = (self.limit + GAP) // self.granule * WORDS
        if 2 * (total + 8 * cells) > sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE"):
            raise MemoryError
        self.bytes = _array(total, np.uint8)
        self.shadow = _array(cells, np.uint64).reshape(-1, WORDS)
        self._offsets = [region.offset for region in self.regions]
        self.first_bytes = np.full(total, POISON, np.uint8)
        """What a run begins with."""
        self._first_shadow = np.zeros_like(self.shadow)
        self._first_shadow[:, STATE] = State.UNALLOCATED
        self._fill()

    def reset(self) -> None:
        """As it is before a run."""
        np.copyto(self.bytes, self.first_bytes)
        np.copyto(self.shadow, self._first_shadow)

    def _fill(self) -> None:
        for number, rank in enumerate(self._job.ranks):
            for owner, memory in rank.memory.items():
                self._place(number, self.buffers[number][owner], self._content(number, memory))
            for name, place in self._code.variables.places.items():
                variable = self._code.module.variables[name]
                region = Region(name, self.variables[number] + place, variable.bytes)
                self._place(number, region, self._initial(number, variable))

    def _place(self, rank: int, region: Region, content: bytes | None) -> None:
        first = region.offset // self.granule
        end = (region.offset + region.bytes) // self.granule
        self._first_shadow[first:end, STATE] = State.UNWRITTEN if content is None else 0
        if content is not None:
            self._first_shadow[first:end, 0] = rank << THREAD_SHIFT | 1 << SITE_BITS
            data = np.frombuffer(content, np.uint8)
            self.first_bytes[region.offset : region.offset + len(data)] = data

    def _content(self, rank: int, memory: Memory) -> bytes | None:
        if not memory.pointers:
            return memory.content
        addresses = [self.address(rank, place) for place in memory.pointers]
        return np.array(addresses, np.uint64).tobytes()

    def _initial(self, rank: int, variable: Variable) -> bytes:
        size = width(variable.type) // 8
        found = bytearray()
        for item in variable.initial:
            match item:
                case Integer(value) | Float(value, _):
                    found += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
                case Symbol(name, offset, byte):
                    if name not in self._code.variables.places:
                        raise Refused(
                            f"{variable.name} begins with the address of {name}, which is no variable",
                            0,
                        )
                    start = self.variables[rank] + self._code.variables.places[name]
                    address = GLOBAL + start + offset
                    address = address if byte is None else address >> 8 * byte & 0xFF
                    found += (address & (1 << 8 * size) - 1).to_bytes(size, "little")
        return bytes(found).ljust(variable.bytes, b"\0")

    def address(self, rank: int, place: Place) -> int:
        """The address of a place that a rank names."""
        owned = self.buffers[rank if place.rank is None else place.rank]
        return GLOBAL + owned[place.owner].offset + place.offset

    def global_address(self, offset: int) -> int:
        """The address of an offset."""
        return GLOBAL + offset

    def place_shared(self, index: int, bytes: int) -> tuple[int, range]:
        """Make the shared memory of a block that becomes resident, as its place is `index`; where it is, and its
        granules."""
        start = self.shared + index * self.shared_stride
        granules = range(start // self.granule, (start + self.shared_stride) // self.granule)
        cells = self.shadow[granules.start : granules.stop]
        cells[:] = 0
        cells[:, STATE] = State.UNALLOCATED
        cells[: -(-bytes // self.granule), STATE] = State.UNWRITTEN
        self.bytes[start : start + self.shared_stride] = POISON
        return start, granules

    def name(self, offset: int) -> tuple[str, int]:
        """What lies at an offset or, outside of everything, what lies before it; and bytes behind its beginning."""
        if self.shared <= offset < self.limit:
            return "shared memory", (offset - self.shared) % self.shared_stride
        number = bisect_right(self._offsets, offset) - 1
        if number < 0 or offset >= self.limit:
            return "no buffer", offset
        region = self.regions[number]
        return region.name, offset - region.offset

    def size(self, offset: int) -> int:
        """The bytes of what `name` names."""
        number = bisect_right(self._offsets, offset) - 1
        return self.regions[number].bytes if 0 <= number and offset < self.shared else 0


def _array(count: int, dtype: Any) -> npt.NDArray[Any]:
    """An array whose memory is aligned to `ALIGNMENT` bytes."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(count * size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * size].view(dtype)
