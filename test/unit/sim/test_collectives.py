"""Collectives on a group's arrays, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from coconet_ir.analysis.dist import Kind, block_bounds
from coconet_ir.sim.collectives import cut, exchanged_block, gather, permute, reduce_ranks, shift
from coconet_ir.sim.elements import BF16, ELEMENTS, F16, F32, F64, Array, DType, round_to, same_bits

RANKS = [1, 2, 3, 5, 8]


def _contributions(count: int, dtype: DType, size: int = 37) -> list[Array]:
    rng = np.random.default_rng(count)
    return [round_to(rng.standard_normal(size) * (rank + 1), dtype) for rank in range(count)]


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.parametrize("wire", ["bf16", "f32", "f8E4M3FN"])
@pytest.mark.parametrize("accumulate", ["bf16", "f32", "f64"])
def test_sum_rounds_where_it_says(count: int, wire: str, accumulate: str) -> None:
    arrays = _contributions(count, F32)
    sent, kept = ELEMENTS[wire], ELEMENTS[accumulate]
    got = reduce_ranks(arrays, Kind.SUM, sent, kept, F16)
    for i in range(arrays[0].size):
        total = None
        for array in arrays:
            value = round_to(round_to(array[i : i + 1], sent), kept)
            total = (
                value if total is None else round_to(value.astype(F64) + total.astype(F64), kept)
            )
        assert total is not None
        assert same_bits(got[i : i + 1], round_to(total, F16))


@pytest.mark.parametrize("count", RANKS)
def test_average_divides_once(count: int) -> None:
    arrays = _contributions(count, BF16)
    total = reduce_ranks(arrays, Kind.SUM, BF16, F32, F32)
    got = reduce_ranks(arrays, Kind.AVG, BF16, F32, BF16)
    assert same_bits(got, round_to(total / np.float32(count), BF16))
    mean = np.mean([a.astype(F64) for a in arrays], axis=0)
    np.testing.assert_allclose(got.astype(F64), mean, rtol=2.0**-8, atol=1e-5)


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.parametrize("dtype", [F32, BF16, ELEMENTS["i32"]], ids=str)
def test_product_and_extremes(count: int, dtype: DType) -> None:
    arrays = [np.asarray(a * 3).astype(dtype) for a in _contributions(count, F32)]
    wide = np.stack([a.astype(F64) for a in arrays])
    for kind, want in (
        (Kind.PROD, wide.prod(0)),
        (Kind.MAX, wide.max(0)),
        (Kind.MIN, wide.min(0)),
    ):
        got = reduce_ranks(arrays, kind, dtype, F32 if dtype == BF16 else dtype, dtype)
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(F64), want, rtol=2.0**-7 if dtype == BF16 else 1e-6)


def test_nan_spreads_and_arguments_stay() -> None:
    arrays = [np.array([1.0, np.nan, -0.0], F32), np.array([np.nan, 2.0, 0.0], F32)]
    kept = [a.copy() for a in arrays]
    largest = reduce_ranks(arrays, Kind.MAX, F32, F32, F32)
    assert np.isnan(largest[:2]).all()
    assert not np.signbit(largest[2])
    reduce_ranks(arrays, Kind.SUM, F32, F32, F32)
    assert all(same_bits(a, b) for a, b in zip(arrays, kept, strict=True))
    overflow = reduce_ranks([np.array([3e38], F32)] * 2, Kind.SUM, F32, F32, F32)
    assert np.isinf(overflow).all()


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.parametrize("size", [0, 1, 7, 16])
def test_gather_undoes_cutting(count: int, size: int) -> None:
    x = np.random.default_rng(size).random((3, size, 2)).astype(F32)
    bounds = [block_bounds(size, [count], [rank]) for rank in range(count)]
    blocks = [cut(x, 1, b) for b in bounds]
    assert same_bits(gather(blocks, 1), x)


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.parametrize("shape", [(6, 10), (1, 7), (0, 3), (11, 0)])
def test_all_to_all_moves_the_cut(count: int, shape: tuple[int, int]) -> None:
    x = np.arange(shape[0] * shape[1]).reshape(shape)
    rows = [block_bounds(shape[0], [count], [rank]) for rank in range(count)]
    columns = [block_bounds(shape[1], [count], [rank]) for rank in range(count)]
    blocks = [cut(x, 0, b) for b in rows]
    for bounds in columns:
        assert same_bits(exchanged_block(blocks, 0, 1, bounds), cut(x, 1, bounds))


def test_permutations() -> None:
    arrays = [np.full(2, rank, np.int32) for rank in range(5)]
    assert [int(a[0]) for a in shift(arrays, 1)] == [4, 0, 1, 2, 3]
    assert [int(a[0]) for a in shift(arrays, -2)] == [2, 3, 4, 0, 1]
    got = permute(arrays, {1: 0, 3: 4})
    assert [int(a[0]) for a in got] == [0, 0, 0, 4, 0]
    assert got[0].dtype == np.int32
