"""What a thread knows of the others: vector clocks, and the newest messages that it must not read behind.

A clock never changes: threads of a block that met at a barrier share one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Row: TypeAlias = npt.NDArray[np.int32]
Slots: TypeAlias = npt.NDArray[np.int64]


class Clock:
    """For each slot the last epoch that is known, and for each location the oldest message that may still be read."""

    __slots__ = ("_address", "row", "seen")

    def __init__(self, row: Row, seen: Row):
        """`seen` is by the numbers of locations; of those behind its end nothing is known."""
        self.row, self.seen = row, seen
        self._address = 0

    @property
    def address(self) -> int:
        """Where the row is."""
        if not self._address:
            self._address = self.row.__array_interface__["data"][0]
        return self._address

    def knows(self, slot: int, epoch: int) -> bool:
        """Whether what a slot did in an epoch came before."""
        return self.row.item(slot) >= epoch

    def oldest(self, location: int) -> int:
        """The index of the oldest message of a location that may be read."""
        return self.seen.item(location) if location < len(self.seen) else 0

    def with_slot(self, slot: int, epoch: int) -> Clock:
        """One that also knows what a slot did up to an epoch."""
        row = self.row.copy()
        row[slot] = epoch
        return Clock(row, self.seen)

    def with_seen(self, location: int, index: int) -> Clock:
        """One for which a location's messages before `index` are past."""
        size = len(self.seen)
        if location < size:
            seen = self.seen.copy()
        else:
            seen = np.zeros(2 * location + 8, np.int32)
            seen[:size] = self.seen
        seen[location] = index
        clock = Clock(self.row, seen)
        clock._address = self._address
        return clock


def join(clocks: Iterable[Clock], slots: Slots | None = None, epochs: Row | None = None) -> Clock:
    """What all of them know together, and what `slots` did up to their `epochs`."""
    first, *others = set(clocks)
    if not others and slots is None:
        return first
    row, seen = first.row.copy(), first.seen
    for clock in others:
        np.maximum(row, clock.row, out=row)
        if clock.seen is not seen:
            seen = _latest(seen, clock.seen)
    if slots is not None and epochs is not None:
        row[slots] = epochs
    return Clock(row, seen)


def _latest(first: Row, second: Row) -> Row:
    if len(first) == len(second):
        return np.maximum(first, second)
    short, long = (first, second) if len(first) < len(second) else (second, first)
    found = long.copy()
    part = found[: len(short)]
    np.maximum(part, short, out=part)
    return found
