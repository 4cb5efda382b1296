"""Reduction and broadcast by segments of one long dimension: per-tensor norms of a flat model."""

from __future__ import annotations

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim.elements import Array, DType
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.reductions import fold_rows


def check_offsets(offsets: Array, size: int) -> None:
    """Raises `ArithmeticRefused` unless the offsets rise from 0 to `size`, so that segments cover all."""
    if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != size or np.any(np.diff(offsets) < 0):
        raise ArithmeticRefused(
            f"the offsets of segments must rise from 0 to the size of the dimension, {size}"
        )


def _lengths(offsets: Array, start: int, size: int) -> Array:
    """How many elements of each segment lie in the block of `size` elements from `start` on."""
    return np.diff(np.clip(offsets, start, start + size))


def segment_reduce(
    x: Array, offsets: Array, kind: Kind, start: int, accumulate: DType, result: DType
) -> Array:
    """Each segment's elements within this block, reduced in order; none gives the identity.

    `offsets` are global, T+1 for T segments; `start` is the global index of the block's first
    element.
    """
    stops = np.cumsum(_lengths(offsets, start, x.size))
    total = np.empty(stops.size, result)
    begin = 0
    for segment, stop in enumerate(stops.tolist()):
        total[segment] = fold_rows(x[begin:stop, None], kind, accumulate, result)[0]
        begin = stop
    return total


def segment_broadcast(values: Array, offsets: Array, start: int, size: int) -> Array:
    """The segment's value for each element of the block."""
    return np.repeat(values, _lengths(offsets, start, size))
