"""What the operations compute that stand only in the program of one rank, on that rank's arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.blocks import (
    DropoutBlockOp,
    SegmentBroadcastBlockOp,
    SegmentReduceBlockOp,
)
from coconet_ir.dialects.layout import CoordinateOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.sim import philox, segments
from coconet_ir.sim.elements import Array
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Arrays, Kernel, Site, kernel_of, undefined


def rank_kernel_of(op: Operation) -> Kernel | None:
    """The function that computes an operation on one rank's arrays, or None when it has none."""
    return _KERNELS.get(type(op)) or kernel_of(op)


def _filled(sizes: Sequence[int], given: Sequence[Array]) -> list[int]:
    """Sizes in which each open one is the next that is given."""
    rest = iter(given)
    return [int(next(rest)) if size == DYNAMIC_INDEX else size for size in sizes]


def _coordinate(op: CoordinateOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (np.asarray(site.mesh.position(site.rank, op.axes.data), np.int64),)


def _empty(op: tensor.EmptyOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    shape = tuple(_filled(sizes_of(op.tensor.type), arrays))
    return (undefined(shape, site.numbers.dtype(op.tensor.type)),)


def _cast(op: tensor.CastOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (arrays[0],)


def _extract_slice(op: tensor.ExtractSliceOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    count = len(op.offsets)
    starts = _filled(numbers(op.static_offsets), arrays[1 : 1 + count])
    sizes = _filled(numbers(op.static_sizes), arrays[1 + count : 1 + count + len(op.sizes)])
    steps = _filled(numbers(op.static_strides), arrays[1 + count + len(op.sizes) :])
    places = list(zip(starts, sizes, steps, strict=True))
    for dim, (start, size, step) in enumerate(places):
        last = start + (size - 1) * step
        if min(start, size) < 0 or (size > 0 and not 0 <= last < arrays[0].shape[dim]):
            raise ArithmeticRefused(
                f"takes {size} element(s) from {start} of dimension {dim}, which has {arrays[0].shape[dim]}"
            )
    index = tuple(slice(start, start + size * step, step) for start, size, step in places)
    return (arrays[0][index],)


def _dropout_block(op: DropoutBlockOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    rank = arrays[0].ndim
    places = [int(array) for array in arrays[2:]]
    dropped = philox.dropout(
        arrays[0],
        op.p.value.data,
        int(arrays[1]),
        op.id.value.data,
        start=places[:rank],
        shape=places[rank : 2 * rank],
        coordinate=places[-1],
    )
    return (dropped,)


def _segment_reduce_block(op: SegmentReduceBlockOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    x, offsets, start = arrays
    accumulate = site.numbers.accumulate(op.input.type, op.accumulate)
    result = site.numbers.dtype(op.output.type)
    kind = op.kind.data
    return (segments.segment_reduce(x, offsets, kind, int(start), accumulate, result),)


def _segment_broadcast_block(
    op: SegmentBroadcastBlockOp, site: Site, arrays: Sequence[Array]
) -> Arrays:
    values, offsets, start, *given = arrays
    (size,) = _filled(sizes_of(op.output.type), given)
    return (segments.segment_broadcast(values, offsets, int(start), size),)


def _pad(op: nccl.PadOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (_padded(arrays[0], op.dim.value.data, int(arrays[1])),)


def _pack(op: nccl.PackOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    dim, levels = op.dim.value.data, _levels(arrays[1:], len(op.counts))
    blocks = [arrays[0]]
    for count, size in levels:
        blocks = [_part(x, dim, i * size, size) for x in blocks for i in range(count)]
    return (np.stack([_padded(block, dim, levels[-1][1]) for block in blocks]),)


def _unpack(op: nccl.UnpackOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    dim, levels = op.dim.value.data, _levels(arrays[1:-1], len(op.counts))
    extents = [int(arrays[-1])]
    for count, size in levels:
        extents = [min(max(n - i * size, 0), size) for n in extents for i in range(count)]
    blocks = zip(arrays[0], extents, strict=True)
    parts = [_part(block, dim, 0, extent) for block, extent in blocks]
    return (np.concatenate(parts, axis=dim),)


def _levels(given: Sequence[Array], count: int) -> list[tuple[int, int]]:
    """The number of blocks and the elements of a block at each level."""
    found = [int(array) for array in given]
    return list(zip(found[:count], found[count:], strict=True))


def _part(x: Array, dim: int, start: int, size: int) -> Array:
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, start + size)
    return x[tuple(index)]


def _padded(x: Array, dim: int, size: int) -> Array:
    if (missing := size - x.shape[dim]) < 0:
        raise ArithmeticRefused(f"has {x.shape[dim]} elements in dimension {dim}, more than {size}")
    widths = [(0, 0)] * x.ndim
    widths[dim] = (0, missing)
    return np.pad(x, widths)


_KERNELS: dict[type[Operation], Kernel] = {
    CoordinateOp: _coordinate,
    tensor.EmptyOp: _empty,
    tensor.CastOp: _cast,
    tensor.ExtractSliceOp: _extract_slice,
    DropoutBlockOp: _dropout_block,
    SegmentReduceBlockOp: _segment_reduce_block,
    SegmentBroadcastBlockOp: _segment_broadcast_block,
    nccl.PadOp: _pad,
    nccl.PackOp: _pack,
    nccl.UnpackOp: _unpack,
}
