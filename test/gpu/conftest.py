"""Tests of kernels on a GPU against the simulator. They are collected where there is one.

python -m pytest test/gpu -q
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.diagnostics import Unavailable
from coconet_ir.program import Program
from coconet_ir.runtime.cuda import Device, find_driver
from coconet_ir.runtime.executable import DeviceArray, Executable
from coconet_ir.sim.binding import Input
from coconet_ir.sim.compare import Difference, difference, rounding

Array = npt.NDArray[Any]


def pytest_ignore_collect() -> bool | None:
    """Whether to leave this folder out."""
    try:
        find_driver()
    except Unavailable:
        return True
    return None


@pytest.fixture(scope="session")
def target() -> str:
    """What to compile for."""
    return Device(0).target


class Checked:
    """A program on the device, and its runs beside the simulator."""

    def __init__(self, program: Program, target: str):
        self.program = program
        self.executable: Executable = program.compile(target, cache=False).load()
        self.mesh = dict.fromkeys(self.executable.plan.entry.single.axes, 1)

    def inputs(
        self, shapes: Mapping[str, Sequence[int | None]], given: Mapping[str, Input], seed: int
    ) -> dict[str, Input]:
        """Inputs for both: those that are given, the others at random."""
        return self.program.generate(self.mesh, given, shapes, seed)

    def run(self, inputs: Mapping[str, Input]) -> dict[str, Array]:
        """What the device gives, of what was poisoned before."""
        entry = self.executable.plan.entry
        given = {
            name: np.array(value) if name in entry.updated else value
            for name, value in inputs.items()
        }
        call = self.executable.prepare(**given)
        call.poison()
        call.launch()
        found = {name: call.arguments[name].numpy() for name in entry.updated}
        for number, result in enumerate(call.results):
            is_array = isinstance(result, DeviceArray)
            found[f"result{number}"] = result.numpy() if is_array else np.asarray(result)
        return found

    def check(self, inputs: Mapping[str, Input]) -> None:
        """Assert that device and simulator agree within the rounding of each output's type."""
        wanted, found = self.program.run(self.mesh, inputs).outputs, self.run(inputs)
        assert found.keys() == wanted.keys()
        for name, out in wanted.items():
            shaped = found[name].reshape(out.array.shape)
            gap: Difference = difference(name, out.array, shaped)
            assert gap.within(rounding(out.array.dtype)), gap


@pytest.fixture(scope="session")
def checked(target: str) -> Callable[[Program], Checked]:
    """A program to be checked."""
    return lambda program: Checked(program, target)
