"""Reduction and broadcast by segments of one long dimension: per-tensor norms of a flat model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim.elements import Array, DType
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.reductions import fold_rows


def check_offsets(offsets: Array, size: int) -> None:
    """Raises `ArithmeticRefused` unless there are offsets and they never fall, from 0 to `size`."""
    if offsets.size == 0:
        raise ArithmeticRefused("needs at least one offset: T + 1 of them bound T segments")
    if offsets[0] < 0 or offsets[-1] > size or np.any(np.diff(offsets) < 0):
        raise ArithmeticRefused(
            f"needs offsets that never fall and lie between 0 and {size}, the size of the flat "
            "dimension"
        )


def check_values(values: int, offsets: int) -> None:
    """Raises `ArithmeticRefused` unless there is one value a segment of those that the offsets bound."""
    if values != offsets - 1:
        raise ArithmeticRefused(
            f"needs {offsets - 1} values, one a segment, not {values}: {offsets} offsets bound {offsets - 1} segments"
        )


def segment_reduce(
    x: Array, offsets: Array, kind: Kind, start: int, accumulate: DType, result: DType
) -> Array:
    """Each segment's elements within this block, reduced in order; none gives the identity.

    `offsets` are global, T+1 for T segments; `start` is the global index of the block's first
    element.
    """
    bounds = (np.clip(offsets, start, start + x.size) - start).tolist()
    total = np.empty(len(bounds) - 1, result)
    for segment, (begin, stop) in enumerate(pairwise(bounds)):
        total[segment] = fold_rows(x[begin:stop, None], kind, accumulate, result)[0]
    return total


def segment_broadcast(values: Array, offsets: Array, start: int, size: int) -> Array:
    """The segment's value for each element of the block; 0 for elements of no segment.

    Raises `ArithmeticRefused` unless there is one value a segment.
    """
    check_values(values.size, offsets.size)
    bounds = np.clip(offsets, start, start + size) - start
    spread = np.zeros(size, values.dtype)
    spread[bounds[0] : bounds[-1]] = np.repeat(values, np.diff(bounds))
    return spread
