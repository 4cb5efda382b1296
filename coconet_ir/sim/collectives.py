"""What each collective computes: functions of a group's arrays in rank order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim import floats
from coconet_ir.sim.elements import Array, DType, compute_type, is_float, round_to
from coconet_ir.sim.reductions import convert

Range = tuple[int, int]
"""Half-open range of a dimension."""


def reduce_ranks(
    arrays: Sequence[Array], kind: Kind, wire: DType, accumulate: DType, result: DType
) -> Array:
    """The reduction of at least one contribution, in rank order.

    Each contribution is rounded once to `wire`, combined with those before it in `accumulate`; avg
    divides the sum by their number; the end is rounded once to `result`.
    """
    with np.errstate(all="ignore"):
        total = convert(convert(arrays[0], wire), accumulate).copy()
        for array in arrays[1:]:
            total = _combine(kind, total, convert(convert(array, wire), accumulate))
        if kind is Kind.AVG:
            wide = round_to(total, compute_type(accumulate))
            total = round_to(wide / wide.dtype.type(len(arrays)), accumulate)
        return convert(total, result)


def _combine(kind: Kind, total: Array, array: Array) -> Array:
    match kind:
        case Kind.SUM | Kind.AVG:
            return np.add(total, array, out=total)
        case Kind.PROD:
            return np.multiply(total, array, out=total)
        case Kind.MAX | Kind.MIN if not is_float(total.dtype):
            return np.asarray((np.maximum if kind is Kind.MAX else np.minimum)(total, array))
        case Kind.MAX | Kind.MIN:
            wide = compute_type(total.dtype)
            best = floats.maximum if kind is Kind.MAX else floats.minimum
            return round_to(best(round_to(total, wide), round_to(array, wide)), total.dtype)


def gather(blocks: Sequence[Array], dim: int) -> Array:
    """The blocks of dimension `dim` put together again."""
    return np.concatenate(blocks, axis=dim)


def cut(array: Array, dim: int, bounds: Range) -> Array:
    """The part of `array` within `bounds` of dimension `dim`, as a view."""
    index = [slice(None)] * array.ndim
    index[dim] = slice(*bounds)
    return array[tuple(index)]


def exchanged_block(blocks: Sequence[Array], source: int, target: int, bounds: Range) -> Array:
    """After an all_to_all: from blocks of dimension `source`, the block `bounds` of `target`."""
    return gather([cut(block, target, bounds) for block in blocks], source)


def shift(arrays: Sequence[Array], distance: int) -> list[Array]:
    """Rank r receives from rank r - distance, cyclically."""
    count = len(arrays)
    return [arrays[(rank - distance) % count] for rank in range(count)]


def permute(arrays: Sequence[Array], senders: Mapping[int, int]) -> list[Array]:
    """Rank r receives from rank `senders[r]`, and zeros when it has no sender."""
    return [
        arrays[senders[rank]] if rank in senders else np.zeros_like(array)
        for rank, array in enumerate(arrays)
    ]
