"""What suspended threads ask for: strong accesses, fences, time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from coconet_ir.emu.code.layout import RECORD, Op, Scope, place
from coconet_ir.emu.memory.access import Access
from coconet_ir.emu.memory.strong import Location

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run

_FIRST = place("op") // 8
_SCOPES = (Scope.CTA, Scope.GPU, Scope.SYS)


class Request(NamedTuple):
    """What a thread asks for at an instruction."""

    slot: int
    site: int
    offset: int
    address: int
    order: int
    scope: int
    size: int
    """Bytes of each scalar that is accessed."""
    scalars: int
    operation: int
    """Of an atomic operation."""


class Requests:
    """Serves the threads of a run."""

    def __init__(self, run: Run):
        self.run = run
        self._words = run.records.view("u8").reshape(-1, RECORD.itemsize // 8)
        self._op = run.records["op"]
        self._values, self._operands = run.records["values"], run.records["operands"]
        self._serve = {
            Op.LOAD: self._load,
            Op.STORE: self._store,
            Op.ATOMIC: self._atomic,
            Op.FENCE: self._fence,
            Op.YIELD: self._take_turn,
            Op.CLOCK: self._read_clock,
            Op.RELEASE_DEPENDENTS: self._release_dependents,
            Op.AWAIT_GRID: self._await_grid,
            Op.TRAP: self._trap,
        }

    def serve(self, slot: int) -> bool:
        """Do what a thread asks for; whether it goes on at once."""
        op, request = self.peek(slot)
        return self._serve[op](request)

    def peek(self, slot: int) -> tuple[int, Request]:
        """What a thread asks for (`flags` of `code/memory.py`)."""
        what, offset, address, word = self._words[slot, _FIRST : _FIRST + 4].tolist()
        asked = (word & 7, word >> 4 & 3, word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24)
        return what & 0xFFFFFFFF, Request(slot, what >> 32, offset, address, *asked)

    # Strong accesses

    def _load(self, request: Request) -> bool:
        run, slot, site = self.run, request.slot, request.site
        if not self._is_sound(request, write=False):
            return False
        if self._is_local(request):
            for index in range(request.scalars):
                offset = request.offset + index * request.size
                self._values[slot, index] = run.weak.read(offset, request.size)
            return True
        found: list[Location] = []
        for index in range(request.scalars):
            offset = request.offset + index * request.size
            location = run.strong.location(slot, offset, request.size, site, read=True, write=False)
            if location is None:
                return False
            found.append(location)
        chosen = run.waiting.choose(slot, site, found)
        if chosen is None:  # nothing has changed since it looked last
            return False
        for index, (location, message) in enumerate(zip(found, chosen, strict=True)):
            value = run.strong.read(location, slot, site, request.order, request.scope, message)
            if value is None:
                return False
            self._values[slot, index] = value
        return True

    def _store(self, request: Request) -> bool:
        run, slot, site = self.run, request.slot, request.site
        if not self._is_sound(request, write=True):
            return False
        mask = (1 << 8 * request.size) - 1
        for index in range(request.scalars):
            offset = request.offset + index * request.size
            value = int(self._operands[slot, index]) & mask
            if self._is_local(request):
                run.weak.write(offset, request.size, value)
                continue
            location = run.strong.location(slot, offset, request.size, site, read=False, write=True)
            if location is None:
                return False
            if (lost := self._lost(location, slot, site)) is not None:
                run.reports.lost(run.access(slot, site), lost, location.offset)
                return False
            if not run.strong.write(location, slot, site, request.order, request.scope, value):
                return False
            run.waiting.wake(location)
        return True

    def _lost(self, location: Location, slot: int, site: int) -> Access | None:
        """Another thread's store that a store of what was computed from an older value of the location overwrites."""
        run = self.run
        if not (loads := run.emulator.updates(site)):
            return None
        block = run.grid_block(slot)
        reads = (location.reads.get((slot, scope)) for scope in _SCOPES)
        if not any(
            read is not None and read.site in loads and block.did(slot, read.epoch)
            for read in reads
        ):
            return None
        newer = location.since(run.strong.newer(location, slot) + 1)
        return next((one.access for one in newer if one.access.slot != slot), None)

    def _atomic(self, request: Request) -> bool:
        run, slot, site = self.run, request.slot, request.site
        if not self._is_sound(request, write=True):
            return False
        location = run.strong.location(
            slot, request.offset, request.size, site, read=True, write=True
        )
        if location is None or not run.waiting.may_update(slot, site, location):
            return False
        type = run.emulator.code.sites[site].instruction.modifiers[-1]
        mask = (1 << 8 * request.size) - 1
        new, other = (int(x) & mask for x in self._operands[slot, :2])
        before = location.changes
        old = run.strong.atomic(location, request, type, new, other)
        if old is None:
            return False
        if location.changes != before:
            run.waiting.wake(location)
        self._values[slot, 0] = old
        return True

    def _is_sound(self, request: Request, write: bool) -> bool:
        """Whether an access is aligned and inside of memory."""
        run, bytes = self.run, request.size * request.scalars
        aligned = not request.address % bytes
        if aligned and (request.offset < run.space.limit or self._is_local(request)):
            return True
        me = run.access(request.slot, request.site)
        if not aligned:
            return run.reports.misaligned(me, request.offset, bytes, write)
        return run.reports.outside(me, request.offset, bytes, write)

    def _is_local(self, request: Request) -> bool:
        """Whether it is local memory, which nobody else has; atomic operations have none there."""
        space = self.run.space
        if request.offset < space.limit or self._op[request.slot] == Op.ATOMIC:
            return False
        return space.local <= request.offset < len(space.bytes)

    # What else

    def _fence(self, request: Request) -> bool:
        self.run.strong.fence(request.slot, request.site, request.order, request.scope)
        return True

    def _take_turn(self, request: Request) -> bool:
        fuel = self.run.waiting.take_turn(request.slot, request.site)
        self.run.records["fuel"][request.slot] = fuel or 0
        return fuel is not None

    def _read_clock(self, request: Request) -> bool:
        time = self.run.waiting.read_clock(request.slot, request.site)
        if time is None:
            return False
        self._values[request.slot, 0] = time
        return True

    def _release_dependents(self, request: Request) -> bool:
        block = self.run.grid_block(request.slot)
        block.grid.release_dependents(block)
        return True

    def _await_grid(self, request: Request) -> bool:
        return self.run.grid_block(request.slot).grid.wait_for_previous(request.slot)

    def _trap(self, request: Request) -> bool:
        where = self.run.reports.where(request.slot, request.site)
        self.run.reports.add("invalid", "the kernel traps", [where])
        return False
