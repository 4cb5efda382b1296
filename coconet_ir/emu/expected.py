"""What memory should hold after a run, and how it differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coconet_ir.emu.findings import Finding, Where
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


def difference(expected: Expected, memory: Sequence[Mapping[int, bytes]]) -> Finding | None:
    """How memory, by rank and `Place.owner`, differs from what is expected of it; None if it does not."""
    want = np.ascontiguousarray(expected.array).reshape(-1)
    held = memory[expected.rank][expected.place.owner]
    have = np.frombuffer(held, want.dtype, want.size, expected.place.offset)
    if same_bits(have, want):
        return None
    wrong = np.flatnonzero(~_equal(have, want, expected.tolerance))
    if not wrong.size:
        return None
    first = int(wrong[0])
    return Finding(
        "wrong value",
        f"element {first} of '{expected.name}' is {have[first]}, not {want[first]}; "
        f"{wrong.size} of {want.size} elements are wrong",
        (Where(expected.rank),),
        f"{expected.name} of rank {expected.rank}",
        expected.place.offset + first * want.dtype.itemsize,
    )


def _equal(have: Array, want: Array, tolerance: float) -> Array:
    """Whether each element is what it should be."""
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
