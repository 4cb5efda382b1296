"""What memory should hold after a run, and how it differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from coconet_ir.emu.reports.findings import Finding
from coconet_ir.runtime.steps import Place
from coconet_ir.sim.elements import F64, Array, is_float, same_bits, unsigned


@dataclass(frozen=True)
class Expected:
    """The elements that lie from a place of a rank's memory on."""

    rank: int
    place: Place
    name: str
    """What messages call the buffer."""
    array: Array
    tolerance: float = 0.0
    """How far elements may lie apart, relative to the largest finite magnitude expected; 0 asks for the same bits,
    where every NaN equals every other."""


Memories: TypeAlias = Sequence[Mapping[int, bytes]]
"""By rank, the bytes of buffers by `Place.owner`."""


def difference(expected: Expected, memory: Memories) -> Finding | None:
    """How memory differs from what is expected of it; None if it does not."""
    want = expected.array
    held = memory[expected.rank][expected.place.owner]
    have = np.frombuffer(held, want.dtype, want.size, expected.place.offset).reshape(want.shape)
    where = f"{expected.name} of rank {expected.rank}"
    found = mismatch(where, have, want, expected.tolerance)
    if found is None:
        return None
    first, message = found
    offset = expected.place.offset + first * want.dtype.itemsize
    return Finding("wrong value", message, buffer=where, offset=offset)


def mismatch(name: str, have: Array, want: Array, tolerance: float) -> tuple[int, str] | None:
    """How elements differ, which count as in `Expected`: the number of the first, and a sentence; None if none does."""
    if same_bits(have, want):
        return None
    wrong = np.flatnonzero(~_equal(have, want, tolerance))
    if not wrong.size:
        return None
    first = int(wrong[0])
    at = tuple(map(int, np.unravel_index(first, want.shape)))
    which = f"element {at[0] if len(at) == 1 else at} of {name}" if at else name
    values = f"{have.flat[first]}, not {want.flat[first]}"
    return first, f"{which} is {values}; {wrong.size} of {want.size} elements are wrong"


def _equal(have: Array, want: Array, tolerance: float) -> Array:
    """Whether each element is what it should be."""
    have, want = np.ascontiguousarray(have), np.ascontiguousarray(want)
    same = np.asarray(have.view(unsigned(have.dtype)) == want.view(unsigned(want.dtype)))
    if not is_float(want.dtype):
        return same
    x, y = have.astype(F64), want.astype(F64)
    same |= np.isnan(x) & np.isnan(y)
    if tolerance:
        largest = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        with np.errstate(invalid="ignore"):  # infinities
            same |= np.abs(x - y) <= tolerance * largest
    return same
