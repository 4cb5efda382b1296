"""Findings of a run, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coconet_ir.emu.memory.access import Access
from coconet_ir.emu.reports import explain, hangs
from coconet_ir.emu.reports.findings import Finding, Kind, Where, who

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run


class Reports:
    """Writes the findings of a run."""

    def __init__(self, run: Run):
        self.run = run

    def where(self, slot: int, site: int, epoch: int | None = None) -> Where:
        """Who did something, and at which instruction; now, or in an epoch."""
        run = self.run
        block = run.blocks[slot]
        if epoch is not None:
            block = next((b for b in reversed(run.past) if b.did(slot, epoch)), None)
        if block is None:
            return run.streams[slot].where(epoch)
        return block.where(slot, run.emulator.code.sites[site])

    def add(
        self,
        kind: Kind,
        message: str,
        places: list[Where],
        offset: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Add a finding; `offset` is where in memory."""
        run = self.run
        buffer, behind = (None, 0) if offset is None else run.space.name(offset)
        run.findings.append(
            Finding(kind, message, tuple(places), buffer, behind, notes, run.schedule.name)
        )

    def race(self, kind: Kind, me: Access, other: Access, offset: int) -> Literal[False]:
        """Two accesses of which neither came before the other."""
        first = self.where(me.slot, me.site)
        second = self.where(other.slot, other.site, other.epoch)
        name, behind = self.run.space.name(offset)
        why = "nothing orders them"
        if explain.are_too_narrow(kind, me, other):
            why = "the scope of one does not include the other"
        message = f"{who(first)} and {who(second)} access byte {behind} of {name}, and {why}"
        self.add(kind, message, [first, second], offset, self._missing(kind, me, other))
        return False

    def _missing(self, kind: Kind, me: Access, other: Access) -> tuple[str, ...]:
        """What is missing between two accesses; known where the run has a trace."""
        if explain.are_too_narrow(kind, me, other):
            return explain.between_strong(self.run, me, other)
        if self.run.trace is None:
            return ()
        return explain.Explanation(self.run, self.run.trace, other, me).notes()

    def lost(self, me: Access, other: Access, offset: int) -> None:
        """A store overwrites another one that its value does not know of."""
        first = self.where(me.slot, me.site)
        second = self.where(other.slot, other.site, other.epoch)
        name, behind = self.run.space.name(offset)
        self.add(
            "lost update",
            f"{who(first)} stores what it computed from an older value of byte {behind} of {name}: the store of "
            f"{who(second)} is lost",
            [first, second],
            offset,
            ("use an atomic operation",),
        )

    def outside(self, me: Access, offset: int, bytes: int, write: bool) -> Literal[False]:
        """An access outside of all buffers."""
        where, space = self.where(me.slot, me.site), self.run.space
        what = f"{who(where)} {'stores' if write else 'loads'} {bytes} bytes at"
        if offset >= space.limit:
            address = int(self.run.records["address"][me.slot])
            self.add(
                "out of bounds", f"{what} address 0x{address:x}, which is in no buffer", [where]
            )
        else:
            name, behind = space.name(offset)
            text = f"{what} byte {behind} of {name}, which has {space.size(offset)}"
            self.add("out of bounds", text, [where], offset)
        return False

    def misaligned(self, me: Access, offset: int, bytes: int, write: bool) -> Literal[False]:
        """An access at an address that is no multiple of its size."""
        where = self.where(me.slot, me.site)
        address = int(self.run.records["address"][me.slot])
        text = f"{who(where)} {'stores' if write else 'loads'} {bytes} bytes at address 0x{address:x}, no multiple of "
        inside = offset < self.run.space.limit
        self.add("misaligned access", f"{text}{bytes}", [where], offset if inside else None)
        return False

    def unwritten(self, me: Access, offset: int) -> Literal[False]:
        """A load of what nobody has written."""
        where = self.where(me.slot, me.site)
        name, behind = self.run.space.name(offset)
        text = f"{who(where)} loads byte {behind} of {name}, which nobody has written"
        trace = self.run.trace
        notes = () if trace is None else explain.waited(self.run, trace, me)
        self.add("uninitialised read", text, [where], offset, notes)
        return False

    def hang(self) -> None:
        """Nobody can go on."""
        places, notes = hangs.explain(self.run)
        self.add("hang", "no thread can go on", places, None, notes)
