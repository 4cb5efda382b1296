"""What CUDA's headers bring, by nvcc: groups of threads, atomic objects, assertions; and variables of a module."""

from __future__ import annotations

from typing import Any

import numpy as np

from coconet_ir.emu.reports.findings import Finding

LINE = np.dtype([("slope", "f8"), ("offsets", "i4", 3), ("scale", "f4")])


def test_groups_of_threads(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    machine, x = nvcc("library"), random.integers(-1000, 1000, 192, dtype=np.int32)
    sums, scans, places = (machine.empty(x.size, np.int32) for _ in range(3))
    machine.run([call("tiles", 2, 96, (x, sums, scans, places))])
    tiles = x.reshape(-1, 8)
    np.testing.assert_array_equal(sums, tiles.sum(axis=1).repeat(8))
    np.testing.assert_array_equal(scans.reshape(-1, 8), tiles.cumsum(axis=1))
    labels = (x & 3).reshape(-1, 32)
    want = [int((warp[:lane] == warp[lane]).sum()) for warp in labels for lane in range(32)]
    assert places.tolist() == want


def test_an_atomic_object(nvcc: Any, call: Any) -> None:
    """Blocks that wait for each other in the order of their numbers."""
    turn, blocks = np.zeros(1, np.int32), 5
    numbers = np.zeros(blocks, np.int32)
    nvcc("library").run([call("relay", blocks, 32, (turn, numbers))], seeds=8)
    assert turn == blocks
    assert numbers.tolist() == [2 ** (block + 1) - 1 for block in range(blocks)]


def lines(machine: Any, call: Any, x: Any) -> tuple[list[Any], Any, Any]:
    """A launch, and what it leaves."""
    line = np.array([(0.5, (3, -4, 100), 0.25)], LINE)[0]
    out, numbers = machine.empty(x.size, np.float32), machine.empty(x.size, np.int32)
    return [call("lines", 2, 64, (x.size, line, x, out, numbers))], out, numbers


def test_a_struct_and_variables_of_a_module(
    nvcc: Any, call: Any, random: np.random.Generator
) -> None:
    """Each run begins with the module as it was loaded."""
    machine, n = nvcc("library"), 97
    x = np.where((x := random.integers(0, 50, n)) == 13, 7, x).astype(np.int32)
    calls, out, numbers = lines(machine, call, x)
    at = np.arange(n)
    offsets, squares = np.array([3, -4, 100])[at % 3], np.array([0, 1, 4, 9, 0, 0])[at % 6]
    for _ in machine.schedules(calls, seeds=3):
        np.testing.assert_array_equal(out, (0.5 * x + offsets) * 0.25 + squares)
        np.testing.assert_array_equal(np.sort(numbers), 10 + at)


def test_an_assertion_that_fails(nvcc: Any, call: Any) -> None:
    machine, x = nvcc("library"), np.arange(20, dtype=np.int32)
    found: Finding = machine.first_finding(lines(machine, call, x)[0])
    assert found.kind == "invalid"
    (place,) = found.places
    assert place.thread == (13, 0, 0)
    assert place.location is not None
    assert str(place.location) == "library.cu:47:19"
