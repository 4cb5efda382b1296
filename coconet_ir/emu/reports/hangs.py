"""Who waits for what when nobody can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coconet_ir.emu.code.layout import WARP
from coconet_ir.emu.reports.findings import Where, who

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Run

MOST = 12
"""Notes of a hang at most."""


def explain(run: Run) -> tuple[list[Where], tuple[str, ...]]:
    """The threads that wait, one for each instruction, and what for."""
    places: list[Where] = []
    notes: list[str] = []
    groups: dict[tuple[int, int], list[int]] = {}
    for slot in run.waiting.blocked:
        groups.setdefault((run.rank_of(slot), int(run.records["site"][slot])), []).append(slot)
    for (_, site), slots in groups.items():
        where = run.reports.where(slots[0], site)
        places.append(where)
        others = len(slots) - 1
        waits = f"{who(where)} and {others} more wait" if others else f"{who(where)} waits"
        for location in dict.fromkeys(place for _, place in run.waiting.cycles[slots[0]]):
            if location is None:
                notes.append(f"{waits} for time to pass")
                continue
            name, behind = run.space.name(location.offset)
            value = location.messages[-1].value
            notes.append(f"{waits} for another value at byte {behind} of {name} than {value:#x}")
    for stream in run.streams:
        if stream.arrived:
            notes.append(f"{who(stream.where())} waits for the other ranks of the group")
            places.append(stream.where())
        for grid in stream.grids:
            if grid.pending:
                notes.append(
                    f"{len(grid.pending)} blocks of {grid.step.kernel} on rank {stream.rank} have not begun: "
                    f"{grid.resident} are resident, and {grid.most} have room"
                )
            if grid.blocked:
                notes.append(
                    f"{len(grid.blocked)} threads of rank {stream.rank} wait for the launch before"
                )
    for block in run.past:
        for number, barrier in block.barriers.items():
            slots = [int(s) for part in block.barriers[number].waiting for s in part[:1]]
            if slots:
                where = run.reports.where(slots[0], int(run.records["site"][slots[0]]))
                places.append(where)
                notes.append(
                    f"{who(where)} and others, {barrier.total} in all, wait at barrier {number}"
                )
        for (warp, _, mask), lanes in block.warps.items():
            slot = block.first + warp * WARP + lanes[0]
            where = run.reports.where(slot, int(run.records["site"][slot]))
            places.append(where)
            notes.append(f"{who(where)} waits for the lanes 0x{mask:08x} of its warp")
    notes = list(dict.fromkeys(notes))
    if len(notes) > MOST:
        notes = [*notes[:MOST], f"and {len(notes) - MOST} more"]
    return places[:MOST], tuple(notes)
