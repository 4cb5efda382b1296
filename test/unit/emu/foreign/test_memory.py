"""Shared, constant and local memory, barriers by name and over the grid, calls and jumps, by nvcc."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def test_transpose_by_tiles(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    machine, calls, wanted = nvcc("memory"), list[Any](), list[tuple[Array, Array]]()
    for rows, columns in ((1, 1), (33, 31), (5, 70), (64, 32)):
        x = random.standard_normal((rows, columns)).astype(np.float32)
        out = machine.empty((columns, rows), np.float32)
        grid = (-(-columns // 32), -(-rows // 32))
        calls.append(call("transpose", grid, (32, 8), (rows, columns, x, out)))
        wanted.append((out, x.T))
    machine.run(calls)
    for found, want in wanted:
        np.testing.assert_array_equal(found, want)


def test_jumps_through_tables(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    n = 97
    which = random.integers(0, 16, n, dtype=np.int32)
    x = random.integers(-100, 100, n, dtype=np.int32)

    def jump(case: int, v: int) -> int:
        return (v + 1, v * v, -v, v)[case]

    pairs = zip(which.tolist(), x.tolist(), strict=True)
    want = [jump(case & 3, jump(case >> 2, v)) for case, v in pairs]
    nvcc("memory").run([call("jumps", 2, 64, (n, which, x))])
    assert x.tolist() == want


def wrapped(x: int) -> int:
    """As an i64."""
    return (x + 2**63) % 2**64 - 2**63


def interpreted(program: bytes, inputs: list[int]) -> int:
    """What a program of the machine with a stack leaves at its bottom."""
    stack: list[int] = []
    for code in program:
        if code >= 16:
            stack.append(inputs[code % 16])
            continue
        b = stack.pop()
        a = stack.pop() if code < 7 else 0
        quotient = (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
        results = {
            **{0: a + b, 1: a - b, 2: a * b, 3: quotient, 4: a - quotient * b if b else 0},
            **{5: pow(a, b & 7), 6: min(a, b), 7: -b, 8: PRIMES[b & 7], 9: ~b},
            **{10: (b % 2**64).bit_count(), 11: b >> 3},
        }
        stack.append(wrapped(results.get(code, b)))
    return stack[0]


def test_a_machine_with_a_stack(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """Each thread has its own program: a switch, calls, and arrays in local and constant memory."""
    machine, n, length = nvcc("memory"), 70, 24
    inputs = random.integers(-50, 50, 16, dtype=np.int32)
    programs = np.zeros((n, length), np.uint8)
    for program in programs:
        depth = 0
        for at in range(length):
            least = 0 if depth >= 2 else 7 if depth == 1 else 16
            program[at] = random.integers(least, 16 if depth == 16 else 32)
            depth += 1 if program[at] >= 16 else -1 if program[at] < 7 else 0
    out = machine.empty(n, np.int64)
    machine.run([call("interpret", 3, 32, (n, length, programs, inputs, out))])
    assert out.tolist() == [interpreted(bytes(one), inputs.tolist()) for one in programs]


@pytest.mark.parametrize(("steps", "warps"), [(0, 2), (1, 3), (2, 2), (7, 4)])
def test_warps_that_load_for_others(
    nvcc: Any, call: Any, random: np.random.Generator, steps: int, warps: int
) -> None:
    machine, x = nvcc("memory"), random.integers(-1000, 1000, (steps, 32), dtype=np.int32)
    out = machine.empty((warps - 1, 32), np.int32)
    machine.run([call("pipeline", 1, 32 * warps, (32 * steps, x, out))], seeds=4)
    np.testing.assert_array_equal(out, np.tile(x.sum(axis=0, dtype=np.int32), (warps - 1, 1)))


@pytest.mark.parametrize("threads", [1, 33, 96])
def test_barriers_that_count(
    nvcc: Any, call: Any, random: np.random.Generator, threads: int
) -> None:
    """One block has only even elements, one has a 7."""
    machine, x = nvcc("memory"), random.integers(-50, 50, (3, threads), dtype=np.int32)
    x[0] &= ~1
    x[1, threads // 2] = 7
    out, found = machine.empty(x.shape, np.int32), machine.empty((3, 3), np.int32)
    machine.run([call("counted", 3, threads, (x, out, found), shared=4 * threads)])
    np.testing.assert_array_equal(out, x[:, ::-1])
    want = [[(row < 0).sum(), all(row % 2 == 0), any(row == 7)] for row in x]
    np.testing.assert_array_equal(found, want)


def test_steps_of_a_grid(nvcc: Any, call: Any, random: np.random.Generator) -> None:
    """Blocks wait for each other between steps; three launches share the counter."""
    counter, calls, wanted = np.zeros(1, np.uint32), list[Any](), list[tuple[Array, Array]]()
    for n, steps in ((200, 3), (1, 2), (97, 5)):
        x = random.integers(-1000, 1000, n, dtype=np.int32)
        a, b, want = x.copy(), x.copy(), x.astype(np.int64)
        for _ in range(steps):
            want = want + np.roll(want, 1) - 3 * np.roll(want, -1)
        calls.append(call("ring", 3, 64, (n, steps, a, b, counter), cooperative=True))
        wanted.append((b if steps % 2 else a, want))
    nvcc("memory").run(calls, seeds=4)
    for found, want in wanted:
        np.testing.assert_array_equal(found, want)
