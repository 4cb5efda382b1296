"""Philox4x32-10 against the published known answers, dropout against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.sim.elements import BF16, F16, F32, F64, Array, DType, round_to, same_bits
from coconet_ir.sim.philox import dropout, philox

KNOWN_ANSWERS = [  # Random123's kat_vectors: counter, key, result
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def _words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN_ANSWERS)
def test_known_answers(counter: str, key: str, want: str) -> None:
    low, high = _words(key)
    assert [int(word) for word in philox(_words(counter), (low, high))] == _words(want)


def _philox(counter: list[int], key: list[int]) -> list[int]:
    """The same rounds on Python integers."""
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def _reference(x: Array, p: float, seed: int, stream: int, coordinate: int) -> Array:
    """The definition, element by element of a whole tensor."""
    out = np.zeros_like(x)
    threshold = math.floor(float(np.float32(p)) * 2**32)
    scale = np.float32(1 / (1 - float(np.float32(p))))
    wide = F64 if x.dtype == F64 else F32
    for index, value in enumerate(x.reshape(-1)):
        group = index // 4
        counter = [group & 0xFFFFFFFF, group >> 32, stream, coordinate]
        word = _philox(counter, [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF])[index % 4]
        if word >= threshold:
            product = np.asarray(np.asarray(value).astype(wide) * scale.astype(wide), wide)
            out.reshape(-1)[index] = round_to(product, x.dtype)
    return out


@pytest.mark.parametrize("dtype", [F64, F32, F16, BF16], ids=str)
@pytest.mark.parametrize("seed", [0, 123456789012345, -7])
def test_dropout_against_its_definition(dtype: DType, seed: int) -> None:
    x = round_to(np.random.default_rng(7).standard_normal((3, 5, 7)), dtype)
    got = dropout(x, 0.3, seed, 5, start=(0, 0, 0), shape=x.shape, coordinate=2)
    assert same_bits(got, _reference(x, 0.3, seed, 5, 2))
    dropped = np.asarray(got == 0)
    assert not np.signbit(got.astype(F64)[dropped]).any()
    assert 0 < dropped.mean() < 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_block_drops_what_the_whole_drops(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    bounds = [sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
    x = np.random.default_rng(8).random(shape).astype(F32)
    whole = dropout(x, 0.5, 99, 1, start=[0] * len(shape), shape=shape, coordinate=0)
    index = tuple(slice(*b) for b in bounds)
    block = dropout(x[index], 0.5, 99, 1, start=[b[0] for b in bounds], shape=shape, coordinate=0)
    assert same_bits(block, whole[index])


def test_streams_seeds_and_local_coordinates_differ() -> None:
    x = np.ones(1000, F32)

    def mask(seed: int, stream: int, coordinate: int) -> Array:
        return dropout(x, 0.5, seed, stream, start=(0,), shape=(1000,), coordinate=coordinate) > 0

    base = mask(1, 1, 0)
    for other in (mask(2, 1, 0), mask(1 << 32 | 1, 1, 0), mask(1, 2, 0), mask(1, 1, 1)):
        assert 400 < int((base == other).sum()) < 600


def test_indices_beyond_32_bits() -> None:
    x = np.ones(6, F32)
    start = (1 << 36) + 3
    got = dropout(x, 0.5, 3, 4, start=(start,), shape=(1 << 40,), coordinate=0) > 0
    for offset, kept in enumerate(got.tolist()):
        index = start + offset
        counter = [(index // 4) & 0xFFFFFFFF, index // 4 >> 32, 4, 0]
        assert kept == (_philox(counter, [3, 0])[index % 4] >= 1 << 31)


def test_probabilities() -> None:
    x = np.random.default_rng(9).random(100_000).astype(F32)
    kept = dropout(x, 0.0, 1, 1, start=(0,), shape=x.shape, coordinate=0)
    assert same_bits(kept, x)
    for p in (0.1, 0.9):
        dropped = dropout(x, p, 1, 1, start=(0,), shape=x.shape, coordinate=0) == 0
        assert abs(float(dropped.mean()) - p) < 0.01
