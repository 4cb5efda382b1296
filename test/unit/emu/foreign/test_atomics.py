"""Atomic operations, a list that threads put themselves before, and a lock, by nvcc."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np


def test_all_kinds(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    n = 203
    x = random.integers(-(2**31), 2**31, n, dtype=np.int32)
    words = random.integers(-100, 100, 9, dtype=np.int32)
    words[3], words[7] = -1, 9
    longs = np.array([5, 6, 7], np.uint64)
    largest, single = np.full(1, -1e9, np.float32), np.full(1, 0.5, np.float32)
    total, halves = np.full(1, 0.25), np.zeros(2, np.float16)
    start, each = words.tolist(), x.tolist()
    nvcc("atomics").run(
        [call("all_kinds", 3, 96, (n, x, words, longs, largest, total, single, halves))]
    )
    unsigned = x.view(np.uint32)
    remainders = [int(np.fmod(v, 1000)) for v in each]
    counter = start[7]
    for _ in range(n):
        counter = 5 if counter == 0 or counter > 5 else counter - 1
    want = [
        start[0] + sum(each),
        min(start[1], *each),
        max(start[2], *each),
        reduce(int.__and__, (v | 1 for v in each), -1),
        reduce(int.__or__, (v & 0xFF00 for v in each), start[4]),
        reduce(int.__xor__, each, start[5]),
        start[6] - sum(each),
        counter,
        min(start[8] % 2**32, int(unsigned.min())),
    ]
    assert [v % 2**32 for v in words.tolist()] == [v % 2**32 for v in want]
    assert longs.tolist() == [
        (5 + (sum(each) << 20)) % 2**64,
        max(6, *(v * v for v in each)),
        7 + n,
    ]
    assert largest[0] == max(remainders)
    assert total[0] == 0.25 + sum(remainders)
    assert single[0] == 0.5 + sum(int(np.fmod(v, 16)) for v in each)
    assert halves.tolist() == [sum(int(np.fmod(v, 2)) for v in each), n]


def test_a_list_by_exchange(nvcc: Any, call: Any) -> None:
    """Any order, and each once."""
    n = 130
    head, links = np.full(1, -1, np.int32), np.zeros(n, np.int32)
    for _ in nvcc("atomics").schedules([call("chain", 3, 64, (n, head, links))], seeds=4):
        at, seen = int(head[0]), list[int]()
        while at >= 0:
            seen.append(at)
            at = int(links[at])
        assert sorted(seen) == list(range(n))


def test_a_lock(nvcc: Any, call: Any) -> None:
    """What only the owner of the lock reads and writes, weakly."""
    blocks, rounds = 4, 3
    lock, words = np.zeros(1, np.uint32), np.array([10, 1], np.int64)
    nvcc("atomics").run([call("locked", blocks, 1, (lock, rounds, words))], seeds=4)
    assert lock == 0
    assert words.tolist() == [10 + rounds * 10, pow(3, blocks * rounds, 1000003)]
