"""The generator Philox4x32-10 and dropout, whose mask depends on the global position alone.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coconet_ir.sim.elements import Array, compute_type, round_to

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_CHUNK = 1 << 16


def philox(
    counter: Sequence[Array | int], key: tuple[int, int]
) -> tuple[Array, Array, Array, Array]:
    """Four 32-bit words (as u64 arrays) for each counter of four 32-bit words under one key of two."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(10):
        first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0 = (second >> _WORD) ^ c1 ^ np.uint64(k0)
        c2 = (first >> _WORD) ^ c3 ^ np.uint64(k1)
        c1, c3 = second & _LOW, first & _LOW
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    c0, c1, c2, c3 = np.broadcast_arrays(c0, c1, c2, c3)
    return c0, c1, c2, c3


def uniform_words(indices: Array, seed: int, stream: int, coordinate: int) -> Array:
    """The 32-bit word of each element, given its row-major global index.

    Key: the low and the high word of `seed`. Counter: the index div 4 (low, high), `stream`,
    `coordinate`. Lane: the index mod 4. One call of the generator serves four neighbours.
    """
    groups = indices >> 2
    fresh = np.ones(groups.shape, np.bool_)
    fresh[1:] = groups[1:] != groups[:-1]
    calls = groups[fresh].astype(np.uint64)
    key = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
    counter = (calls & _LOW, calls >> _WORD, stream & 0xFFFFFFFF, coordinate & 0xFFFFFFFF)
    words = np.stack(philox(counter, key), axis=-1)
    return words[np.cumsum(fresh) - 1, indices & 3]


def dropout(
    x: Array,
    p: float,
    seed: int,
    stream: int,
    *,
    start: Sequence[int],
    shape: Sequence[int],
    coordinate: int,
) -> Array:
    """The block `x` with each element dropped with probability `p`, the others scaled by 1/(1-p).

    Args:
        p: 0 <= p < 1, rounded to f32; an element is kept iff its word is at least floor(p * 2**32).
        seed: 64 bits, the operation's operand.
        stream: the operation's `id`.
        start: global index of the block's first element in each dimension.
        shape: the global shape.
        coordinate: the coordinates of the axes on which `x` is local, as one number in mesh order.
    """
    p = float(np.float32(p))
    threshold = np.uint64(math.floor(p * 2.0**32))
    dtype = compute_type(x.dtype)
    scale = np.float32(1.0 / (1.0 - p)).astype(dtype)
    result = np.zeros(x.shape, x.dtype)
    flat, values = result.reshape(-1), np.ascontiguousarray(x).reshape(-1)
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    for begin in range(0, values.size, _CHUNK):
        part = slice(begin, min(begin + _CHUNK, values.size))
        indices = _global_indices(np.arange(part.start, part.stop), x.shape, start, strides)
        kept = uniform_words(indices, seed, stream, coordinate) >= threshold
        with np.errstate(all="ignore"):
            scaled = round_to(np.asarray(round_to(values[part], dtype) * scale), x.dtype)
        flat[part] = np.where(kept, scaled, np.zeros((), x.dtype))
    return result


def _global_indices(
    positions: Array, block: Sequence[int], start: Sequence[int], strides: Sequence[int]
) -> Array:
    """Row-major global index of row-major positions in a block."""
    indices = np.zeros_like(positions)
    for size, first, stride in reversed(list(zip(block, start, strides, strict=True))):
        positions, digit = np.divmod(positions, size)
        indices += (digit + first) * stride
    return indices
