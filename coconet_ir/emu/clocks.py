"""What a thread knows of the others: vector clocks, and the newest messages that it must not read behind.

A clock never changes: threads of a block that met at a barrier share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from coconet_ir.emu.strong import Location

Row = npt.NDArray[np.int32]


class Clock:
    """For each slot the last epoch that is known, and for each location the oldest message that may still be read."""

    __slots__ = ("address", "row", "seen")

    def __init__(self, row: Row, seen: Mapping[Location, int]):
        self.row, self.seen = row, seen
        self.address: int = row.__array_interface__["data"][0]

    def knows(self, slot: int, epoch: int) -> bool:
        """Whether what a slot did in an epoch came before."""
        return bool(self.row[slot] >= epoch)

    def with_slot(self, slot: int, epoch: int) -> Clock:
        """One that also knows what a slot did up to an epoch."""
        row = self.row.copy()
        row[slot] = epoch
        return Clock(row, self.seen)

    def with_seen(self, location: Location, index: int) -> Clock:
        """One for which a location's messages before `index` are past."""
        return Clock(self.row, {**self.seen, location: index})


def join(clocks: Iterable[Clock], slots: Any = None, epochs: Any = None) -> Clock:
    """What all of them know together, and what `slots` did up to their `epochs`."""
    distinct = list({id(clock): clock for clock in clocks}.values())
    first = distinct[0]
    if len(distinct) == 1 and slots is None:
        return first
    row = first.row.copy()
    seen = first.seen
    for clock in distinct[1:]:
        np.maximum(row, clock.row, out=row)
        if clock.seen is not seen and clock.seen:
            merged = dict(seen)
            for location, index in clock.seen.items():
                if merged.get(location, -1) < index:
                    merged[location] = index
            seen = merged
    if slots is not None:
        row[slots] = epochs
    return Clock(row, seen)
