"""Reductions, histograms, scans and sums by key over many blocks, by nvcc."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]


def test_the_block_that_is_done_last_adds_all(
    nvcc: Any, call: Any, random: np.random.Generator
) -> None:
    """Launched three times with one counter, which each leaves as 0."""
    machine, done = nvcc("reductions"), np.zeros(1, np.uint32)
    calls, wanted = list[Any](), list[tuple[Array, float]]()
    for n, grid, block in ((0, 1, 32), (1000, 3, 64), (257, 5, 96)):
        x = random.integers(-1000, 1000, n).astype(np.float32)
        partial, out = machine.empty(grid, np.float64), machine.empty(1, np.float64)
        calls.append(call("sum", grid, block, (n, x, partial, done, out)))
        wanted.append((out, x.sum(dtype=np.float64)))
    machine.run(calls, seeds=4)
    assert done == 0
    for found, want in wanted:
        assert found[0] == want


@pytest.mark.parametrize("n", [0, 1, 1031])
def test_histogram(nvcc: Any, call: Any, random: np.random.Generator, n: int) -> None:
    """Some bins have most; counts are added to what was there."""
    x = (random.integers(0, 256, n) >> random.integers(0, 8, n)).astype(np.uint8)
    counts = random.integers(0, 100, 256, dtype=np.uint32)
    want = counts + np.bincount(x, minlength=256)
    nvcc("reductions").run([call("histogram", 2, 96, (n, x, counts))])
    np.testing.assert_array_equal(counts, want)


@pytest.mark.parametrize(("n", "grid", "block"), [(1, 1, 32), (257, 3, 96), (512, 4, 128)])
def test_a_scan_that_is_passed_from_block_to_block(
    nvcc: Any, call: Any, random: np.random.Generator, n: int, grid: int, block: int
) -> None:
    machine = nvcc("reductions")
    x = random.integers(-(2**31), 2**31, n, dtype=np.int32)
    out = machine.empty(n, np.int64)
    ticket, ready = np.zeros(1, np.uint32), np.zeros(grid, np.uint32)
    total = machine.empty(grid, np.int64)
    arguments = (n, x, out, ticket, total, ready)
    machine.run([call("scan", grid, block, arguments)], seeds=4)
    np.testing.assert_array_equal(out, np.cumsum(x, dtype=np.int64))


def test_compaction_by_warps(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    n = 301
    x = random.permutation(n).astype(np.int32)
    keep = random.random(n) < 0.4
    bits = np.packbits(keep, bitorder="little")
    count, out = np.zeros(1, np.uint32), np.zeros(n, np.int32)
    calls = [call("compact", 4, 96, (n, x, bits, count, out))]
    for _ in nvcc("reductions").schedules(calls, seeds=4):
        assert count == keep.sum()
        np.testing.assert_array_equal(np.sort(out[: count[0]]), np.sort(x[keep]))


@pytest.mark.parametrize("keys", [1, 5, 100])
def test_sums_by_key(nvcc: Any, call: Any, random: np.random.Generator, keys: int) -> None:
    """Lanes with one key add in the warp; votes, ballots and extremes of warps."""
    machine, n = nvcc("reductions"), 160
    key = random.integers(0, keys, n, dtype=np.int32)
    value = random.integers(-(2**31), 2**31, n, dtype=np.int32)
    sums, counts = np.zeros(keys, np.int32), np.zeros(keys, np.uint32)
    votes = machine.empty((n // 32, 4), np.int32)
    machine.run([call("by_key", 2, 96, (n, key, value, sums, counts, votes))])
    want = np.zeros(keys, np.int64)
    np.add.at(want, key, value)
    np.testing.assert_array_equal(sums, want.astype(np.int32))
    np.testing.assert_array_equal(counts, np.bincount(key, minlength=keys))
    for warp, (k, v) in enumerate(zip(key.reshape(-1, 32), value.reshape(-1, 32), strict=True)):
        vote = (len(set(k)) == 1) | any(k == 3) << 1 | all(k < 4) << 2
        assert votes[warp].tolist() == [vote, (v < 0).sum(), v.min(), v.max()]
