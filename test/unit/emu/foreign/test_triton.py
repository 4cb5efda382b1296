"""Kernels by Triton: element-wise, random numbers, casts, reductions, scans, sorting, tiles."""

from __future__ import annotations

from math import erf
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from coconet_ir.sim.philox import philox

Array = np.ndarray[Any, Any]
SIZES = (1, 97, 1023, 1025)


def test_add(triton: Any, call: Any, random: np.random.Generator) -> None:
    machine, calls, wanted = triton("add"), list[Any](), list[tuple[Array, Array]]()
    for n in SIZES:
        x, y = random.standard_normal((2, n)).astype(np.float32)
        out = machine.empty(n, np.float32)
        calls.append(call("add", -(-n // 1024), 64, (x, y, out, n)))
        wanted.append((out, x + y))
    machine.run(calls)
    for found, want in wanted:
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("n", [1, 511, 1100])
def test_sum_and_largest_by_atomics(
    triton: Any, call: Any, random: np.random.Generator, n: int
) -> None:
    x = random.integers(-(2**31), 2**31, n, dtype=np.int32)
    total, most = np.array([3], np.int64), np.array([-(2**31)], np.int32)
    triton("total").run([call("total", -(-n // 512), 64, (x, total, most, n))])
    assert total[0] == 3 + x.sum(dtype=np.int64)
    assert most[0] == x.max()


@pytest.mark.parametrize("columns", [1, 97, 512])
def test_scans(triton: Any, call: Any, random: np.random.Generator, columns: int) -> None:
    """Running sums exactly; states of a recurrence, which are not added in order."""
    machine, rows = triton("scans"), 2
    x = random.integers(-100, 100, (rows, columns), dtype=np.int32)
    decay = random.uniform(0.5, 1, (rows, columns)).astype(np.float32)
    sums, states = machine.empty(x.shape, np.int32), machine.empty(x.shape, np.float32)
    machine.run([call("scans", rows, 64, (x, decay, sums, states, columns))])
    np.testing.assert_array_equal(sums, np.cumsum(x, axis=1))
    state, size = np.zeros(rows), np.zeros(rows)
    for at in range(columns):
        state = state * decay[:, at] + x[:, at]
        size = size * decay[:, at] + abs(x[:, at])
        assert np.all(np.abs(states[:, at] - state) <= 32 * 2**-24 * size), at


def test_dropout(triton: Any, call: Any, random: np.random.Generator) -> None:
    """Philox4x32-10 of each element's number; the first word's bits without a sign, scaled to a number below 1."""
    machine, n, p, seed = triton("dropout"), 700, np.float32(0.3), 0x12345678
    x = random.standard_normal(n).astype(np.float32)
    out, words = machine.empty(n, np.float32), machine.empty(n, np.int32)
    machine.run([call("dropout", 2, 64, (x, out, words, n, p, seed))])
    numbers = np.arange(n)
    word = philox((numbers, 0, 0, 0), (seed, 0))[0].astype(np.uint32).view(np.int32)
    np.testing.assert_array_equal(words, word)
    positive = np.where(word < 0, ~word, word).astype(np.float32)
    kept = positive * np.float32(4.6566127342e-10) > p
    assert 0.6 < kept.mean() < 0.8
    want = np.where(kept, x / (1 - np.float64(p)), 0)
    np.testing.assert_allclose(out, want, rtol=3 * 2**-24)


def test_casts(triton: Any, call: Any, random: np.random.Generator) -> None:
    """Too large for f8 is its largest number."""
    machine, n = triton("casts"), 600
    x = (random.standard_normal(n) * 2.0 ** random.integers(-20, 18, n)).astype(np.float32)
    x[:4] = 0, -0.0, 1e-30, 3e38
    types = (
        *(ml_dtypes.bfloat16, np.float16),
        *(ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32),
    )
    outs = [machine.empty(n, type) for type in types]
    machine.run([call("casts", 2, 64, (x, *outs, n))])
    bf16, f16, e4m3, e5m2, back = outs
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(bf16.view(np.uint16), x.astype(bf16.dtype).view(np.uint16))
        np.testing.assert_array_equal(f16.view(np.uint16), x.astype(f16.dtype).view(np.uint16))
    near = np.clip(x, -448, 448).astype(e4m3.dtype)
    np.testing.assert_array_equal(e4m3.view(np.uint8), near.view(np.uint8))
    near5 = np.clip(x, -57344, 57344).astype(e5m2.dtype)
    np.testing.assert_array_equal(e5m2.view(np.uint8), near5.view(np.uint8))
    np.testing.assert_array_equal(back, near.astype(np.float32))


@pytest.mark.parametrize("n", [1, 512, 700])
def test_histogram(triton: Any, call: Any, random: np.random.Generator, n: int) -> None:
    x = random.integers(0, 64, n, dtype=np.int32)
    counts = random.integers(0, 9, 64, dtype=np.int32)
    want = counts + np.bincount(x, minlength=64)
    triton("histogram").run([call("histogram", -(-n // 512), 64, (x, counts, n))])
    np.testing.assert_array_equal(counts, want)


def test_functions_of_bf16(triton: Any, call: Any, random: np.random.Generator) -> None:
    machine, n = triton("activations"), 600
    x, y = (3 * random.standard_normal((2, n))).astype(ml_dtypes.bfloat16)
    out = machine.empty(n, ml_dtypes.bfloat16)
    machine.run([call("activations", 2, 64, (x, y, out, n))])
    x, y = x.astype(np.float64), y.astype(np.float64)
    parts = np.tanh(x), np.array([erf(v) for v in y]) * x
    size = sum(map(np.abs, parts))
    away = np.abs(out.astype(np.float64) - sum(parts))
    assert np.all(away <= 2**-8 * np.abs(sum(parts)) + 2**-20 * size)


@pytest.mark.parametrize("columns", [1, 77, 128])
def test_sorting(triton: Any, call: Any, random: np.random.Generator, columns: int) -> None:
    """Of equal largest elements the first counts."""
    machine, rows = triton("ordered"), 3
    x = random.integers(-40, 40, (rows, columns), dtype=np.int32)
    out, places = machine.empty(x.shape, np.int32), machine.empty(rows, np.int32)
    machine.run([call("ordered", rows, 64, (x, out, places, columns))])
    np.testing.assert_array_equal(out, np.sort(x, axis=1))
    np.testing.assert_array_equal(places, x.argmax(axis=1))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (17, 35), (32, 64)])
def test_product(
    triton: Any, call: Any, random: np.random.Generator, rows: int, columns: int
) -> None:
    """Exact: sums of products of small integers."""
    machine = triton("product")
    a = random.integers(-100, 100, (rows, columns)).astype(np.float32)
    x = random.integers(-100, 100, columns).astype(np.float32)
    out = machine.empty(rows, np.float32)
    machine.run([call("product", -(-rows // 16), 64, (a, x, out, rows, columns))])
    np.testing.assert_array_equal(out, a @ x)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (33, 17), (64, 16)])
def test_transpose(
    triton: Any, call: Any, random: np.random.Generator, rows: int, columns: int
) -> None:
    machine = triton("transpose")
    a = random.standard_normal((rows, columns)).astype(np.float32)
    out = machine.empty((columns, rows), a.dtype)
    grid = (-(-rows // 32), -(-columns // 16))
    machine.run([call("transpose", grid, 64, (a, out, rows, columns))])
    np.testing.assert_array_equal(out, a.T)
