"""What the tests in this folder share: kernels of nvcc and Triton, run on arrays.

`make.py` made `ptx/` of `sources/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.runtime.steps import Copy, Launch, Place, Step

PTX = Path(__file__).parent / "ptx"
SCRATCH = bytes(8)
"""An address that kernels of Triton take and do not use."""

Array = npt.NDArray[Any]
Scalar: TypeAlias = int | float | np.generic
Table: TypeAlias = Sequence[tuple[int, Array]]
"""Addresses of arrays of ranks."""


@dataclass(frozen=True)
class Call:
    """A launch. Numbers are i32 and f32 unless NumPy says otherwise."""

    kernel: str
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    arguments: tuple[Array | Scalar | Table, ...]
    shared: int = 0
    cooperative: bool = False


@dataclass(frozen=True)
class Write:
    """A copy between arrays of a rank."""

    source: Array
    target: Array


def _three(sizes: int | tuple[int, int]) -> tuple[int, int, int]:
    return (sizes, 1, 1) if isinstance(sizes, int) else (*sizes, 1)


def _bytes(scalar: Scalar) -> bytes:
    if isinstance(scalar, np.generic):
        return scalar.tobytes()
    return (np.int32(scalar) if isinstance(scalar, int) else np.float32(scalar)).tobytes()


class Machine:
    """Runs kernels of one text of PTX."""

    def __init__(self, name: str, shared: int = 0, scratch: int = 0):
        self.ptx = (PTX / f"{name}.ptx").read_text()
        self.shared, self.scratch = shared, scratch
        self._unwritten: list[Array] = []

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Array:
        """An array that nobody has written."""
        found = np.empty(shape, dtype)
        self._unwritten.append(found)
        return found

    def run(self, *ranks: Sequence[Call | Write], seeds: int = 2) -> None:
        """Run each rank's steps in order. Arrays hold afterwards what was left in them, by all schedules alike."""
        first: list[bytes] | None = None
        for arrays in self.schedules(*ranks, seeds=seeds):
            found = [array.tobytes() for array in arrays]
            assert first in (None, found)
            first = found

    def schedules(self, *ranks: Sequence[Call | Write], seeds: int) -> Iterator[list[Array]]:
        """The same, one schedule after the other: all arrays, as each leaves them."""
        buffers, emulator = self._prepare(ranks)
        for seed in range(seeds):
            outcome = emulator.run(seed)
            assert outcome.findings == ()
            found: list[Array] = []
            for rank, owner, array in buffers.arrays():
                left = np.frombuffer(outcome.memory[rank][owner], array.dtype)
                array[...] = left.reshape(array.shape)
                found.append(array)
            yield found

    def first_finding(self, *ranks: Sequence[Call | Write], seeds: int = 40) -> Finding:
        """What is wrong with the first schedule that shows anything."""
        _, emulator = self._prepare(ranks)
        return next(one for seed in range(seeds) for one in emulator.run(seed).findings)

    def edit(self, pattern: str, text: str, which: int) -> None:
        """Put a text in place of one of those that a pattern matches."""
        place = [*re.finditer(pattern, self.ptx)][which]
        self.ptx = self.ptx[: place.start()] + text + self.ptx[place.end() :]

    def _prepare(self, ranks: Sequence[Sequence[Call | Write]]) -> tuple[Buffers, Emulator]:
        buffers = Buffers(len(ranks))
        steps = [
            tuple(self._step(buffers, rank, number, step) for number, step in enumerate(steps))
            for rank, steps in enumerate(ranks)
        ]
        memory = [buffers.memory(rank, self._unwritten) for rank in range(len(ranks))]
        return buffers, Emulator(Job(self.ptx, tuple(map(Rank, memory, steps))))

    def _step(self, buffers: Buffers, rank: int, number: int, step: Call | Write) -> Step:
        if isinstance(step, Write):
            source, target = buffers.place(rank, step.source), buffers.place(rank, step.target)
            return Copy(source, target, step.source.nbytes)
        arguments = [
            _bytes(one) if isinstance(one, int | float | np.generic) else buffers.place(rank, one)
            for one in step.arguments
        ]
        return Launch(
            step.kernel,
            _three(step.grid),
            _three(step.block),
            (*arguments, *[SCRATCH] * self.scratch),
            after=(number - 1,) if number else (),
            shared=step.shared or self.shared,
            cooperative=step.cooperative,
        )


class Buffers:
    """The arrays and tables of each rank, by their numbers."""

    def __init__(self, ranks: int):
        self._of: list[list[Array | Table]] = [[] for _ in range(ranks)]

    def place(self, rank: int, what: Array | Table) -> Place:
        """Where it lies."""
        return Place(self._number(rank, what))

    def arrays(self) -> Iterator[tuple[int, int, Array]]:
        """Rank, number and array of each."""
        for rank, owned in enumerate(self._of):
            for number, one in enumerate(owned):
                if isinstance(one, np.ndarray):
                    yield rank, number, one

    def memory(self, rank: int, unwritten: Sequence[Array]) -> dict[int, Memory]:
        """What a rank has before the run."""
        return {
            number: self._memory(f"{number}", one, unwritten)
            for number, one in enumerate(self._of[rank])
        }

    def _memory(self, name: str, what: Array | Table, unwritten: Sequence[Array]) -> Memory:
        if not isinstance(what, np.ndarray):
            pointers = tuple(Place(self._number(rank, array), rank=rank) for rank, array in what)
            return Memory(name, 8 * len(pointers), pointers=pointers)
        known = not any(what is one for one in unwritten)
        return Memory(name, what.nbytes, what.tobytes() if known else None)

    def _number(self, rank: int, what: Array | Table) -> int:
        owned = self._of[rank]
        for number, one in enumerate(owned):
            if one is what:
                return number
        number = len(owned)
        owned.append(what)
        if not isinstance(what, np.ndarray):
            for peer, array in what:
                self._number(peer, array)
        return number


@pytest.fixture
def call() -> type[Call]:
    """A launch: `call(kernel, grid, block, arguments)`."""
    return Call


@pytest.fixture
def write() -> type[Write]:
    """A copy from one array to another."""
    return Write


@pytest.fixture
def nvcc() -> Callable[[str], Machine]:
    """What runs the kernels of a file that nvcc compiled."""
    return Machine


@pytest.fixture
def triton() -> Callable[[str], Machine]:
    """What runs a kernel that Triton compiled."""
    shared: dict[str, int] = json.loads((PTX / "triton.json").read_text())
    return lambda name: Machine(f"triton_{name}", shared[name], scratch=2)


@pytest.fixture
def random() -> np.random.Generator:
    """Random numbers, the same every time."""
    return np.random.default_rng(7)
