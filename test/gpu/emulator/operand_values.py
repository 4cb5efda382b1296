"""Bits to try instructions with: edges of all kinds in all pairs, and random ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RANDOM = 2048
"""Random rows beside those of edges."""

SINGLE = 16384
"""Random rows of an instruction that has one input."""

_FORMATS = {"e": (5, 10), "g": (8, 7), "s": (8, 23), "d": (11, 52)}
"""Bits of the exponent and of the mantissa."""

_PAIRS = {"x": "h", "E": "e", "G": "g", "S": "s", "k": "b", "K": "b"}
"""Kinds of two elements."""

_BITS = {"b": 8, "h": 16, "w": 32, "n": 32, "l": 64}

_COUNTS = (*range(9), 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257, 288)


def _integers(bits: int) -> list[int]:
    """Edges of integers: signs and limits of all types that are not wider, and their neighbours."""
    found = {0, 1, 2, 3, 7, 10}
    for size in (8, 16, 24, 32, 48, 64):
        if size <= bits:
            top = 1 << size - 1
            found |= {top - 1, top, top + 1, 2 * top - 1, 2 * top, -top, -top - 1, -top + 1}
    found |= {-1, -2, -3, -7, 0x8080808080808080, 0x7FFF7FFF7FFF7FFF, 0x123456789ABCDEF0}
    return sorted({x & (1 << bits) - 1 for x in found})


def _floats(kind: str, all: bool) -> list[int]:
    """Edges of floats; with `all` also the neighbours of powers of two that are the limits of other types."""
    exponent, mantissa = _FORMATS[kind]
    one, bias = 1 << mantissa, (1 << exponent - 1) - 1
    infinity = ((1 << exponent) - 1) * one
    found = {0, 1, 2, one - 1, one, one + 1, 2 * one, infinity - 1, infinity, infinity + 1}
    found |= {infinity + one // 2, infinity + one // 2 + 5, infinity + one - 1}
    near = {0, 1, -1, bias // -2, mantissa, -mantissa - 1, mantissa + 1}
    if all:
        near |= {5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17, 23, 24, 30, 31, 32, 33, 62, 63, 64, 65}
        near |= {
            126,
            127,
            128,
            -6,
            -7,
            -9,
            -10,
            -14,
            -15,
            -16,
            -17,
            -24,
            -25,
            -26,
            -126,
            -127,
            -133,
        }
        near |= {-134, -135, -149, -150, -151}
    for power in near:
        if 0 < power + bias < (1 << exponent) - 1:
            middle = power + bias << mantissa
            found |= {middle, middle - 1, middle + 1, middle + one // 2}
            if all:
                short = {middle + one // 8 * part for part in range(8)}
                ends = {
                    1 << mantissa - kept
                    for kept in (2, 3, 7, 8, 10, 11, 23, 24)
                    if kept <= mantissa
                }
                found |= short | {middle + end for end in ends} | {middle - end for end in ends}
                found |= {middle + end * 3 for end in ends} | {middle + end + 1 for end in ends}
    top = 1 << exponent + mantissa
    return sorted(bits | sign for bits in found for sign in (0, top))


def _edges(kind: str, all: bool) -> list[int]:
    if kind in _PAIRS:
        half = _PAIRS[kind]
        size = 8 if half == "b" else 16 if half in "heg" else 32
        ends = _edges(half, False)
        return [
            x | y << size
            for k, x in enumerate(ends)
            for y in (ends[-1 - k], ends[k * 7 % len(ends)])
        ]
    if kind == "p":
        return [0, 1]
    if kind == "n":
        return [*_COUNTS, 0x80000000, 0xFFFFFFFF, 0xFFFFFF05, 0x80000020]
    return _integers(_BITS[kind]) if kind in _BITS else _floats(kind, all)


def _random(kind: str, count: int, random: np.random.Generator) -> Array:
    """Random bits: of floats a third have near exponents, and a third short mantissas too, so that ties occur."""
    if kind in _PAIRS:
        half = _PAIRS[kind]
        size = 8 if half == "b" else 16 if half in "heg" else 32
        low, high = (_random(half, count, random) for _ in range(2))
        return low | high << np.uint64(size)
    if kind == "p":
        return random.integers(0, 2, count, np.uint64)
    if kind == "n":
        small = random.integers(0, 70, count, np.uint64)
        return np.where(
            random.random(count) < 0.8, small, random.integers(0, 1 << 32, count, np.uint64)
        )
    if kind in _BITS:
        found = random.integers(0, 1 << _BITS[kind], count, np.uint64)
        return found >> random.integers(0, _BITS[kind], count, np.uint64) * (
            random.random(count) < 0.3
        )
    exponent, mantissa = _FORMATS[kind]
    found = random.integers(0, 1 << 1 + exponent + mantissa, count, np.uint64)
    near = random.integers(-9, 10, count) + (1 << exponent - 1) - 1
    rest = found & np.uint64(1 << exponent + mantissa | (1 << mantissa) - 1)
    close = rest | near.astype(np.uint64) << np.uint64(mantissa)
    cut = random.integers(0, mantissa, count, np.uint64)
    short = close >> cut << cut
    return np.choose(random.integers(0, 3, count), [found, close, short])


def operands(kinds: str) -> list[Array]:
    """A column of bits for each kind: all pairs of edges of each two, the others being random, then random rows."""
    random = np.random.default_rng([ord(kind) for kind in kinds])
    if len(kinds) == 1:
        if kinds in "hegxEGkK" and kinds not in "xEG":
            return [np.arange(1 << 16, dtype=np.uint64)]
        edges = np.array(_edges(kinds, True), np.uint64)
        return [np.concatenate([edges, _random(kinds, SINGLE, random)])]
    rows: list[list[Array]] = []
    for pair in itertools.combinations(range(len(kinds)), 2):
        first, second = (np.array(_edges(kinds[k], False), np.uint64) for k in pair)
        count = len(first) * len(second)
        table = [_mixed(kind, count, random) for kind in kinds]
        table[pair[0]], table[pair[1]] = np.repeat(first, len(second)), np.tile(second, len(first))
        rows.append(table)
    rows.append([_random(kind, RANDOM, random) for kind in kinds])
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def _mixed(kind: str, count: int, random: np.random.Generator) -> Array:
    """Random bits and edges."""
    edges = np.array(_edges(kind, False), np.uint64)
    chosen = edges[random.integers(0, len(edges), count)]
    return np.where(random.random(count) < 0.5, chosen, _random(kind, count, random))
