"""Element-wise kernels by nvcc: strides over the grid, vectors with tails, the bits of integers."""

from __future__ import annotations

from math import erf
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
SIZES = (0, 1, 7, 8, 257, 1031)


def test_saxpy(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """Fused: one rounding. Products and sums of such numbers are exact in f64."""
    machine, calls, wanted = nvcc("elementwise"), list[Any](), list[tuple[Array, Array]]()
    for n in SIZES:
        x, y = random.integers(-(2**20), 2**20, (2, n)).astype(np.float32) / 2**10
        wanted.append((y, (np.float32(0.7) * x.astype(np.float64) + y).astype(np.float32)))
        calls.append(call("saxpy", 3, 96, (np.int64(n), 0.7, x, y)))
    machine.run(calls)
    for found, want in wanted:
        np.testing.assert_array_equal(found, want)


def test_gelu_of_vectors_and_their_tail(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    machine, calls, wanted = nvcc("elementwise"), list[Any](), list[tuple[Array, Array]]()
    for n in SIZES:
        x = (3 * random.standard_normal(n)).astype(ml_dtypes.bfloat16)
        y = machine.empty(n, ml_dtypes.bfloat16)
        calls.append(call("gelu_bf16", 2, 64, (n, x, y)))
        exact = [v / 2 * (1 + erf(v / 2**0.5)) for v in x.astype(np.float64)]
        wanted.append((y, np.array(exact)))
    machine.run(calls)
    for found, want in wanted:
        # Half a place of bf16; f32 cancels where erf is near -1.
        np.testing.assert_allclose(found.astype(np.float64), want, rtol=2**-8 * 1.01, atol=2e-7)


def _popcount(x: Array) -> Array:
    return np.array([int(v).bit_count() for v in x])


def test_bits_of_integers(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    n = 301
    a, b = random.integers(0, 2**32, (2, n), dtype=np.uint32)
    a[:6] = 0, 1, 2**31, 2**32 - 1, 255, 0x80
    b[:6] = 0, 2**31, 5, 2, 2**32 - 2, 33
    found = np.zeros((24, n), np.uint32)
    nvcc("elementwise").run([call("bits", 5, 64, (n, a, b, found))])
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    s, t = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
    odd, signed_odd = y | 1, t | 1
    bytes_of = [(x >> 8 * i & 255, y >> 8 * i & 255) for i in range(4)]
    (x0, _), (_, y1), (_, y2), (x3, _) = bytes_of
    quotient = np.array(
        [int(abs(p) // abs(q)) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(s, signed_odd)]
    )
    want = [
        _popcount(a),
        [32 - int(v).bit_length() for v in a],
        [int(f"{v:032b}"[::-1], 2) for v in a],
        [int(v & -v).bit_length() for v in s],
        x0 | y2 << 8 | x3 << 16 | y1 << 24,
        (y << 32 | x) << (y & 31) >> 32,
        (y << 32 | x) >> 5,
        x * y >> 32,
        s * t >> 32,
        np.abs(x.astype(np.int64) - y.astype(np.int64)) + 7,
        (x & y) ^ ~(x | 0xF0F0),
        x // odd,
        quotient,
        s - quotient * signed_odd,
        np.minimum(s, t),
        np.maximum(x, y),
        x >> (y & 31),
        s >> (t & 31),
        x << (y & 31),
        sum(p * q for p, q in bytes_of) + 11,
        x >> 7 & 0x1FFF,
        np.abs(s),
        _popcount(x * y),
        (x * y + x) >> 17,
    ]
    for row, one in enumerate(want):
        wanted = np.array(one).astype(np.int64).astype(np.uint32)
        np.testing.assert_array_equal(found[row], wanted, f"row {row}")
