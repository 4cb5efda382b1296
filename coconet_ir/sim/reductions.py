"""Reductions in a fixed order: what comp.reduce, comp.matmul and comp.conv2d mean.

Contributions are combined one at a time, in increasing row-major index of what is reduced, in the
accumulate type, starting from the first. Nothing reduces to the identity of the kind. Products are
rounded to the accumulate type before they are added. So the order never depends on the shape of the
rest, and slicing a dimension that is not reduced changes no bit (no BLAS, no pairwise sums).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim import floats
from coconet_ir.sim.elements import (
    Array,
    DType,
    compute_type,
    highest,
    is_float,
    lowest,
    round_to,
)

_CHUNK = 1 << 16
"""Elements handled at once; bounds the memory beyond operands and result."""

_WIDE = 128
"""From this many independent results on, adding row by row beats NumPy's running sum."""


def identity(kind: Kind, dtype: DType) -> Array:
    """What nothing reduces to, as a 0-d array."""
    match kind:
        case Kind.SUM | Kind.AVG:
            return np.zeros((), dtype)
        case Kind.PROD:
            return np.ones((), dtype)
        case Kind.MAX:
            return lowest(dtype)
        case Kind.MIN:
            return highest(dtype)


def reduce(x: Array, kind: Kind, dims: Sequence[int], accumulate: DType, result: DType) -> Array:
    """`x` reduced over `dims`, which vanish; kinds sum, prod, max, min."""
    kept = [d for d in range(x.ndim) if d not in dims]
    shape = tuple(x.shape[d] for d in kept)
    count = math.prod(x.shape[d] for d in dims)
    rows = x.transpose(*sorted(dims), *kept).reshape(count, math.prod(shape))
    return fold_rows(rows, kind, accumulate, result).reshape(shape)


def fold_rows(rows: Array, kind: Kind, accumulate: DType, result: DType) -> Array:
    """The rows of a matrix combined from the first to the last."""
    count, width = rows.shape
    if count == 0 or width == 0:
        return np.full(width, identity(kind, result), result)
    with np.errstate(all="ignore"):
        if kind in (Kind.MAX, Kind.MIN):
            return _extreme(rows, kind, result)
        step = max(1, _CHUNK // width)
        parts = (convert(rows[i : i + step], accumulate) for i in range(0, count, step))
        ufunc = np.add if kind is Kind.SUM else np.multiply
        return convert(_fold(ufunc, parts), result)


def convert(x: Array, dtype: DType) -> Array:
    """`x` in another type of its class: floats rounded once, integers of one width as they are."""
    return round_to(x, dtype) if is_float(dtype) else x.astype(dtype, copy=False)


def _extreme(rows: Array, kind: Kind, result: DType) -> Array:
    ufunc = np.maximum if kind is Kind.MAX else np.minimum
    if not is_float(rows.dtype):
        return np.asarray(ufunc.reduce(rows, axis=0)).astype(result, copy=False)
    sign = 1 if kind is Kind.MAX else -1
    wide = round_to(rows, compute_type(rows.dtype))
    best = ufunc.reduce(floats.to_keys(wide, sign), axis=0)  # of integers: no order is visible
    return round_to(np.asarray(floats.from_keys(best, sign, wide.dtype)), result)


def _fold(ufunc: np.ufunc, parts: Iterable[Array]) -> Array:
    """Chunks of rows (first dimension) combined one row at a time, first to last."""
    carry: Array | None = None
    for part in parts:
        if part[0].size >= _WIDE:
            start = 0
            if carry is None:
                carry, start = part[0].copy(), 1
            for row in part[start:]:
                ufunc(carry, row, out=carry)
        else:
            running = part if carry is None else np.concatenate([carry[None], part])
            carry = np.asarray(ufunc.accumulate(running, axis=0, dtype=running.dtype)[-1])
    assert carry is not None
    return carry


def matmul(a: Array, b: Array, accumulate: DType, result: DType) -> Array:
    """`[*b, m, k]` times `[k, n]` or `[*b, k, n]`; k increases."""
    if b.ndim == 2:
        flat = _matrix_product(
            a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b, accumulate, result
        )
        return flat.reshape(*a.shape[:-1], b.shape[-1])
    batch, (m, n) = a.shape[:-2], (a.shape[-2], b.shape[-1])
    count = math.prod(batch)
    left, right = a.reshape(count, m, a.shape[-1]), b.reshape(count, b.shape[-2], n)
    product = np.empty((count, m, n), result)
    for i in range(count):
        product[i] = _matrix_product(left[i], right[i], accumulate, result)
    return product.reshape(*batch, m, n)


def _matrix_product(a: Array, b: Array, accumulate: DType, result: DType) -> Array:
    (m, k), n = a.shape, b.shape[1]
    if k == 0 or m == 0 or n == 0:
        return np.zeros((m, n), result)
    product = np.empty((m, n), result)
    with np.errstate(all="ignore"):
        left = convert(np.ascontiguousarray(a.T), accumulate)
        right = convert(b, accumulate)
        rows = max(1, _CHUNK // n)
        for i in range(0, m, rows):
            parts = _products(left[:, i : i + rows, None], right[:, None, :])
            product[i : i + rows] = convert(_fold(np.add, parts), result)
    return product


def _products(left: Array, right: Array) -> Iterator[Array]:
    """Products of a column and a row, for chunks of the first dimension."""
    step = max(1, _CHUNK // (left.shape[1] * right.shape[2]))
    for start in range(0, left.shape[0], step):
        yield left[start : start + step] * right[start : start + step]


def conv2d(
    x: Array,
    w: Array,
    strides: Sequence[int],
    padding: Sequence[int],
    accumulate: DType,
    result: DType,
) -> Array:
    """The correlation of images NHWC with filters HWCF, giving NHWF.

    The image is padded with zeros, `padding` rows above and below and columns left and right; the
    sum runs over filter row, filter column, channel. Where nothing fits, a dimension is empty.
    """
    (rows, columns), (height, width) = padding, w.shape[:2]
    image = np.pad(x, ((0, 0), (rows, rows), (columns, columns), (0, 0)))
    out = [max(0, (image.shape[1 + d] - w.shape[d]) // strides[d] + 1) for d in (0, 1)]
    shape = (x.shape[0], out[0], out[1], w.shape[3])
    if 0 in shape:
        return np.zeros(shape, result)
    windows: Array = np.lib.stride_tricks.sliding_window_view(image, (height, width), (1, 2))
    windows = windows[:, :: strides[0], :: strides[1]].transpose(0, 1, 2, 4, 5, 3)
    filters = w.reshape(-1, w.shape[3])
    images = [_image(window, filters, accumulate, result) for window in windows]
    return np.stack(images).reshape(shape)


def _image(windows: Array, filters: Array, accumulate: DType, result: DType) -> Array:
    rows = windows.reshape(windows.shape[0] * windows.shape[1], filters.shape[0])
    return _matrix_product(rows, filters, accumulate, result)
