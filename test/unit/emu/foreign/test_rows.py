"""A block a row, by nvcc and by Triton: softmax and layer norm."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

Array = np.ndarray[Any, Any]


def softmax(x: Array) -> Array:
    """By rows."""
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True).astype(np.float64))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, Array, Array]:
    """Of rows; also their means, and what they are scaled by."""
    x = x.astype(np.float64)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    scale = 1 / np.sqrt(variance + eps)
    return (x - mean) * scale * weight + bias, mean[:, 0], scale[:, 0]


def test_softmax_by_nvcc(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    machine, calls, wanted = nvcc("rows"), list[Any](), list[tuple[Array, Array]]()
    for rows, columns, threads in ((3, 1, 32), (2, 97, 64), (3, 256, 128), (1, 1031, 96)):
        x = (5 * random.standard_normal((rows, columns))).astype(np.float32)
        out = machine.empty(x.shape, np.float32)
        calls.append(call("softmax", rows, threads, (columns, x, out), shared=4 * columns))
        wanted.append((out, softmax(x)))
    machine.run(calls)
    for found, want in wanted:
        np.testing.assert_allclose(found, want, rtol=32 * 2**-24)


def test_softmax_by_triton(triton: Any, call: Any, random: np.random.Generator) -> None:
    machine, calls, wanted = triton("softmax"), list[Any](), list[tuple[Array, Array]]()
    for rows, columns in ((2, 1), (3, 97), (1, 512)):
        x = (5 * random.standard_normal((rows, columns))).astype(ml_dtypes.bfloat16)
        out = machine.empty(x.shape, ml_dtypes.bfloat16)
        calls.append(call("softmax", rows, 64, (x, out, columns)))
        wanted.append((out, softmax(x)))
    machine.run(calls)
    for found, want in wanted:
        np.testing.assert_allclose(found.astype(np.float64), want, rtol=2**-8 * 1.01)


def test_layer_norm_by_nvcc(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """f16 is rounded twice: what is normal, and the result."""
    machine, calls, wanted = nvcc("rows"), list[Any](), list[tuple[Array, Array, Array]]()
    for rows, columns, threads in ((2, 2, 32), (3, 90, 64), (2, 1030, 128)):
        x = (random.standard_normal((rows, columns)) * 3 + 2).astype(np.float16)
        weight, bias = random.standard_normal((2, columns)).astype(np.float16)
        out = machine.empty(x.shape, np.float16)
        calls.append(call("layer_norm", rows, threads, (columns, 1e-5, x, weight, bias, out)))
        want, _, _ = layer_norm(x, weight, bias, 1e-5)
        wanted.append((out, want, 1.01 * 2**-11 * (np.abs(want) + np.abs(want - bias))))
    machine.run(calls)
    for found, want, away in wanted:
        assert np.all(np.abs(found - want) <= away + 1e-6)


@pytest.mark.parametrize("columns", [1, 97, 256, 700])
def test_layer_norm_by_triton(
    triton: Any, call: Any, random: np.random.Generator, columns: int
) -> None:
    machine, rows = triton("layer_norm"), 2
    x = (random.standard_normal((rows, columns)) * 3 + 2).astype(np.float16)
    weight, bias = random.standard_normal((2, columns)).astype(np.float32)
    out = machine.empty(x.shape, np.float16)
    means, scales = machine.empty(rows, np.float32), machine.empty(rows, np.float32)
    arguments = (x, weight, bias, out, means, scales, columns, 1e-5)
    machine.run([call("layer_norm", rows, 64, arguments)])
    want, mean, scale = layer_norm(x, weight, bias, 1e-5)
    np.testing.assert_allclose(means, mean, rtol=1e-6)
    np.testing.assert_allclose(scales, scale, rtol=1e-6)
    np.testing.assert_allclose(out, want, rtol=2**-11 * 1.01, atol=4e-6)
