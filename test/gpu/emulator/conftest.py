"""What tests of the emulator against a GPU share: a launch on both, and the tables of what is tested."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.runtime.cuda import Device, address_of
from coconet_ir.runtime.packing import Packed
from coconet_ir.runtime.steps import Launch, Place

Array = npt.NDArray[Any]
Size = tuple[int, int, int]
Argument = Array | bytes
"""A buffer, or a scalar as it lies in memory."""

Run = Callable[[str, str, Size, Size, Sequence[Argument]], list[Array]]
"""Run `kernel` of `ptx` with a grid and blocks; the buffers afterwards."""


def _imported(name: str) -> Any:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


@pytest.fixture(scope="session")
def forms() -> Any:
    """The module `instruction_forms.py`, the table of instructions."""
    return _imported("instruction_forms")


@pytest.fixture(scope="session")
def exemptions() -> Any:
    """What may differ: see `exemptions.py`."""
    return _imported("exemptions").EXEMPTIONS


@pytest.fixture(scope="session")
def operands() -> Callable[[str], list[Array]]:
    """Bits for registers of these kinds: see `operand_values.py`."""
    return _imported("operand_values").operands


def _launch(
    kernel: str, grid: Size, block: Size, arguments: Sequence[Argument]
) -> tuple[Launch, Mapping[int, Array]]:
    """The step, and the buffers by their owners, which are the numbers of arguments."""
    buffers = {k: one for k, one in enumerate(arguments) if isinstance(one, np.ndarray)}
    given = [one if isinstance(one, bytes) else Place(k) for k, one in enumerate(arguments)]
    return Launch(kernel, grid, block, tuple(given)), buffers


@pytest.fixture(scope="session")
def emulator_run() -> Run:
    """A launch by the emulator, which must find nothing wrong."""

    def run(
        ptx: str, kernel: str, grid: Size, block: Size, arguments: Sequence[Argument]
    ) -> list[Array]:
        step, buffers = _launch(kernel, grid, block, arguments)
        memory = {k: Memory(str(k), one.nbytes, one.tobytes()) for k, one in buffers.items()}
        outcome = Emulator(Job(ptx, (Rank(memory, (step,)),))).run(0)
        assert outcome.findings == (), [str(finding) for finding in outcome.findings]
        return [np.frombuffer(outcome.memory[0][k], one.dtype) for k, one in buffers.items()]

    return run


@pytest.fixture(scope="session")
def device_run() -> Run:
    """A launch by the GPU."""
    device = Device(0)

    def run(
        ptx: str, kernel: str, grid: Size, block: Size, arguments: Sequence[Argument]
    ) -> list[Array]:
        step, buffers = _launch(kernel, grid, block, arguments)
        stream, module = device.stream(0), device.load(ptx)
        memory = {k: device.allocate(max(1, one.nbytes), 0) for k, one in buffers.items()}
        bases = {k: address_of(one) for k, one in memory.items()}
        for k, one in buffers.items():
            device.upload(bases[k], np.ascontiguousarray(one), stream)
        packed, function = Packed(step, bases), device.function(module, kernel)
        launched = device.driver.cuLaunchKernel(
            function, *grid, *block, 0, stream, packed.pointer, 0
        )
        if launched[0]:
            device.fail(launched[0])
        device.wait(0)
        found: list[Array] = []
        for k, one in buffers.items():
            left = np.empty(one.size, one.dtype)
            device.download(left, bases[k], 0)
            found.append(left)
        device.call(device.driver.cuModuleUnload(module))
        return found

    return run
