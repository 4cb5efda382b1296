"""Ordered reductions against plain Python loops, one rounding a step, and against float64 NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim.elements import BF16, ELEMENTS, F16, F32, F64, Array, DType, round_to, same_bits
from coconet_ir.sim.reductions import conv2d, identity, matmul, reduce

KINDS = [Kind.SUM, Kind.PROD, Kind.MAX, Kind.MIN]
I32 = ELEMENTS["i32"]


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    if dtype == I32:
        return rng.integers(-(2**31), 2**31, shape, np.int32)
    return round_to(rng.standard_normal(shape) * 3, dtype)


def _step(kind: Kind, a: Any, b: Any) -> Any:
    match kind:
        case Kind.SUM:
            return a + b
        case Kind.PROD:
            return a * b
        case _:
            return max(a, b) if kind is Kind.MAX else min(a, b)


def _loop(x: Array, kind: Kind, dims: list[int], accumulate: DType, result: DType) -> Array:
    """One scalar operation at a time, in row-major order of the reduced dimensions."""
    kept = [d for d in range(x.ndim) if d not in dims]
    out = np.empty([x.shape[d] for d in kept], result)
    with np.errstate(all="ignore"):
        for position in itertools.product(*(range(x.shape[d]) for d in kept)):
            total = None
            for inner in itertools.product(*(range(x.shape[d]) for d in sorted(dims))):
                where = dict(zip(kept, position, strict=True)) | dict(
                    zip(sorted(dims), inner, strict=True)
                )
                value = np.array(x[tuple(where[d] for d in range(x.ndim))]).astype(accumulate)
                total = value if total is None else np.array(_step(kind, total, value), accumulate)
            out[position] = identity(kind, result) if total is None else total.astype(result)
    return out


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_reduce_against_a_loop(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 7]), min_size=1, max_size=4)))
    dims = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    kind = data.draw(st.sampled_from(KINDS))
    dtype = data.draw(st.sampled_from([F64, F32, F16, BF16, I32]))
    accumulate = dtype if dtype in (F64, I32) else data.draw(st.sampled_from([dtype, F32]))
    result = data.draw(st.sampled_from([dtype, accumulate]))
    x = _random(rng, shape, dtype)
    got = reduce(x, kind, dims, accumulate, result)
    assert same_bits(got, _loop(x, kind, dims, accumulate, result))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_slicing_a_parallel_dimension_changes_no_bit(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (
        data.draw(st.integers(1, 40)),
        data.draw(st.integers(1, 50)),
        data.draw(st.integers(1, 9)),
    )
    dim = data.draw(st.integers(0, 2))
    kind = data.draw(st.sampled_from(KINDS))
    x = _random(rng, shape, F32)
    whole = reduce(x, kind, [dim], F32, F32)
    kept = data.draw(st.integers(0, 1))
    start = data.draw(st.integers(0, whole.shape[kept]))
    stop = data.draw(st.integers(start, whole.shape[kept]))
    index: list[slice] = [slice(None)] * 3
    index[[d for d in range(3) if d != dim][kept]] = slice(start, stop)
    part = [slice(None)] * 2
    part[kept] = slice(start, stop)
    assert same_bits(whole[tuple(part)], reduce(x[tuple(index)], kind, [dim], F32, F32))


def test_long_sums_are_sequential() -> None:
    x = np.random.default_rng(5).random(200_003).astype(F32)
    total = np.float32(0)
    for value in x:
        total = np.float32(total + value)
    assert float(reduce(x, Kind.SUM, [0], F32, F32)) == float(total)
    wide = np.repeat(x[:, None], 130, axis=1)
    assert (reduce(wide, Kind.SUM, [0], F32, F32) == total).all()


def test_nan_and_signed_zero() -> None:
    x = np.array([[1.0, np.nan], [-0.0, 0.0], [-0.0, -0.0]], F32)
    largest = reduce(x, Kind.MAX, [1], F32, F32)
    least = reduce(x, Kind.MIN, [1], F32, F32)
    assert np.isnan([largest[0], least[0]]).all()
    assert np.signbit([largest[1], largest[2], least[1], least[2]]).tolist() == [
        False,
        True,
        True,
        True,
    ]


def test_nothing_gives_the_identity() -> None:
    empty = np.zeros((0, 3), BF16)
    assert reduce(empty, Kind.SUM, [0], F32, BF16).astype(F32).tolist() == [0.0] * 3
    assert reduce(empty, Kind.PROD, [0], F32, BF16).astype(F32).tolist() == [1.0] * 3
    assert reduce(empty, Kind.MAX, [0], F32, F32).tolist() == [-math.inf] * 3
    e4 = ELEMENTS["f8E4M3FN"]
    assert reduce(empty.astype(e4), Kind.MIN, [0], F32, e4).astype(F32).tolist() == [448.0] * 3
    assert reduce(np.zeros((0, 1), np.int32), Kind.MAX, [0], I32, I32).tolist() == [-(2**31)]
    assert reduce(np.zeros((3, 0), F32), Kind.SUM, [0], F32, F32).shape == (0,)


def test_integers_wrap() -> None:
    x = np.full(3, 2**30, np.int32)
    assert int(reduce(x, Kind.SUM, [0], I32, I32)) == 3 * 2**30 - 2**32
    assert int(reduce(x, Kind.PROD, [0], I32, I32)) == 0


def _matmul_loop(a: Array, b: Array, accumulate: DType, result: DType) -> Array:
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    out = np.zeros((m, n), result)
    for i, j in itertools.product(range(m), range(n)):
        total = None
        for c in range(k):
            with np.errstate(over="ignore"):
                product = np.array(
                    a[i, c].astype(accumulate) * b[c, j].astype(accumulate), accumulate
                )
                total = product if total is None else np.array(total + product, accumulate)
        if total is not None:
            out[i, j] = total.astype(result)
    return out


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_matmul_against_a_loop(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = (data.draw(st.sampled_from([0, 1, 2, 5, 11])) for _ in range(3))
    batch = tuple(data.draw(st.lists(st.sampled_from([0, 1, 3]), max_size=2)))
    batched = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from([F64, F32, F16, BF16, I32]))
    accumulate = dtype if dtype in (F64, I32) else data.draw(st.sampled_from([dtype, F32, F64]))
    a = _random(rng, (*batch, m, k), dtype)
    b = _random(rng, (*(batch if batched else ()), k, n), dtype)
    got = matmul(a, b, accumulate, dtype)
    assert got.shape == (*batch, m, n)
    for at in np.ndindex(*batch):
        right = b[at] if batched else b
        assert same_bits(got[at], _matmul_loop(a[at], right, accumulate, dtype))


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_matmul_of_slices(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = (data.draw(st.integers(1, 70)) for _ in range(3))
    a, b = _random(rng, (m, k), F32), _random(rng, (k, n), F32)
    whole = matmul(a, b, F32, F32)
    rows = sorted(data.draw(st.tuples(st.integers(0, m), st.integers(0, m))))
    columns = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    part = matmul(a[slice(*rows)], b[:, slice(*columns)], F32, F32)
    assert same_bits(part, whole[slice(*rows), slice(*columns)])
    np.testing.assert_allclose(whole, a.astype(F64) @ b.astype(F64), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
@pytest.mark.parametrize("size", [(5, 7), (1, 1), (3, 2)])
def test_conv2d_against_a_loop(
    strides: tuple[int, int], padding: tuple[int, int], size: tuple[int, int]
) -> None:
    rng = np.random.default_rng(6)
    x = _random(rng, (2, *size, 3), F32)
    w = _random(rng, (3, 2, 3, 4), F32)
    got = conv2d(x, w, strides, padding, F32, F32)
    image = np.zeros((2, size[0] + 2 * padding[0], size[1] + 2 * padding[1], 3), F32)
    image[:, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]] = x
    high = max(0, (image.shape[1] - 3) // strides[0] + 1)
    wide = max(0, (image.shape[2] - 2) // strides[1] + 1)
    assert got.shape == (2, high, wide, 4)
    for n, i, j, f in np.ndindex(*got.shape):
        total = None
        for r, s, c in np.ndindex(3, 2, 3):
            product = np.float32(
                image[n, i * strides[0] + r, j * strides[1] + s, c] * w[r, s, c, f]
            )
            total = product if total is None else np.float32(total + product)
        assert float(got[n, i, j, f]) == float(total or 0)
    assert same_bits(conv2d(x[1:], w[..., 1:3], strides, padding, F32, F32), got[1:, ..., 1:3])


def test_conv2d_of_no_images_and_no_channels() -> None:
    x, w = np.zeros((0, 4, 4, 3), F32), np.zeros((2, 2, 3, 5), F32)
    assert conv2d(x, w, (1, 1), (0, 0), F32, F32).shape == (0, 3, 3, 5)
    none = conv2d(
        np.zeros((1, 4, 4, 0), F32), np.zeros((2, 2, 0, 5), F32), (1, 1), (0, 0), F32, F32
    )
    assert none.shape == (1, 3, 3, 5)
    assert not none.any()
