"""What the tests in this folder share: programs, and a device that is a model in NumPy.

The model holds memory as bytes, poisoned where nobody wrote, and runs the kernels before they become `llvm`, with the
arguments and the numbers of blocks and threads that a bound plan says.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp

from coconet_ir.analysis.rules import rank_of
from coconet_ir.frontend import make_context
from coconet_ir.lowering.bufferize import BufferizePass
from coconet_ir.lowering.form_kernels import FormKernelsPass
from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
from coconet_ir.lowering.outline_kernels import OutlineKernelsPass
from coconet_ir.program import Program
from coconet_ir.runtime import cuda, dlpack, executable
from coconet_ir.runtime.executable import Executable
from coconet_ir.runtime.plan import Bound
from coconet_ir.runtime.steps import ARENA, Buffer, Clear, Copy, Launch, Matmul, Place
from coconet_ir.sim.binding import Input
from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.reductions import matmul

Array = npt.NDArray[Any]
ROOT = Path(__file__).parents[3]
POISON = 0xA5


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is empty and no user's."""
    place = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("COCONET_CACHE", str(place))
    return place


@pytest.fixture(scope="session")
def machine() -> Any:
    """The module that executes kernels, of the tests of the lowering."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "lowering"))
    try:
        return importlib.import_module("machine")
    finally:
        del sys.path[0]


@pytest.fixture(scope="session")
def example() -> Callable[[str], Program]:
    """A program of the examples, inferred."""

    def load(name: str) -> Program:
        return Program.load(str(ROOT / "examples" / f"{name}.mlir")).infer()

    return load


@pytest.fixture(scope="session")
def split() -> Callable[..., tuple[dict[str, Array], dict[str, Input]]]:
    """Inputs of one rank as tensors, without the dimensions of axes in front, and scalars."""

    def split(
        program: Program, inputs: Mapping[str, Input]
    ) -> tuple[dict[str, Array], dict[str, Input]]:
        tensors: dict[str, Array] = {}
        scalars: dict[str, Input] = {}
        for arg in program.function().body.block.args:
            name = arg.name_hint or ""
            if (rank := rank_of(arg.type)) is None:
                scalars[name] = inputs[name]
            else:
                array = np.asarray(inputs[name])
                tensors[name] = array.reshape(array.shape[array.ndim - rank :])
        return tensors, scalars

    return split


class Model:
    """A device in NumPy."""

    def __init__(self, program: Program, machine: Any):
        self.machine = machine
        self.module: ModuleOp = program.module.clone()
        passes = (LowerToRanksPass(), FormKernelsPass(), BufferizePass(), OutlineKernelsPass())
        for one in passes:
            one.apply(make_context(), self.module)
        self.kernels = {
            op.sym_name.data: op for op in self.module.walk() if isinstance(op, gpu.FuncOp)
        }
        self.memory: dict[int, Array] = {}

    def run(self, bound: Bound, tensors: Mapping[int, Array]) -> list[Array]:
        """Run a bound plan on tensors, which it changes, by the numbers of their arguments; the results."""
        self.memory[ARENA] = np.full(bound.arena, POISON, np.uint8)
        for number, buffer in bound.buffers.items():
            given = tensors.get(number)
            self.memory[number] = (
                np.full(buffer.bytes, POISON, np.uint8)
                if given is None
                else given.reshape(-1).view(np.uint8)
            )
        for step in bound.steps:
            self._step(step)
        return [
            self._array(one.place, one.dtype, one.shape) if isinstance(one, Buffer) else one
            for one in bound.results
        ]

    def _bytes(self, place: Place, count: int) -> Array:
        whole = self.memory[place.owner]
        assert place.offset + count <= len(whole)
        return whole[place.offset : place.offset + count]

    def _array(self, place: Place, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        count = int(np.prod(shape)) * dtype.itemsize
        return self._bytes(place, count).view(dtype).reshape(shape)

    def _step(self, step: object) -> None:
        match step:
            case Launch():
                kernel = self.kernels[step.kernel]
                self.machine.run_launch(self.module, kernel, step, self.memory)
            case Copy():
                self._bytes(step.target, step.bytes)[:] = self._bytes(step.source, step.bytes)
            case Clear():
                self._bytes(step.target, step.bytes)[:] = 0
            case Matmul():
                types = (ELEMENTS[name] for name in (step.element, step.accumulate, step.result))
                element, accumulate, result = types
                sizes = (step.batch, step.m, step.k, step.n)
                b, m, k, n = sizes
                lhs = self._array(step.lhs, element, (b, m, k))
                rhs = self._array(step.rhs, element, (b, k, n))
                found = matmul(lhs, rhs, accumulate, result)
                self._array(step.output, result, (b, m, n))[...] = found
            case _:
                raise AssertionError(step)


@pytest.fixture
def model(machine: Any) -> Callable[[Program], Model]:
    """A device for a program."""
    return lambda program: Model(program, machine)


def _array_at(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The memory of the device, which is the host's."""
    count = int(np.prod(shape)) * dtype.itemsize
    data: Any = (ctypes.c_uint8 * count).from_address(address)
    found: Array = np.frombuffer(data, np.uint8)
    return found.view(dtype).reshape(shape)


class Products:
    """The library, in NumPy."""

    def prepare(self, step: Matmul, bases: Mapping[int, int]) -> Product:
        """What does a product."""
        return Product(step, bases)


@dataclass(frozen=True)
class Product:
    """A product of the library."""

    step: Matmul
    bases: Mapping[int, int]
    workspace: int = 512

    def run(self, workspace: int, stream: Any) -> None:
        """Do it."""
        step, driver = self.step, HostDevice.current.driver
        assert driver._rest(workspace) >= self.workspace
        shapes = ((step.m, step.k), (step.k, step.n), (step.m, step.n))
        types = (step.element, step.element, step.result)
        arrays = [
            _array_at(self.bases[place.owner] + place.offset, (step.batch, *shape), ELEMENTS[type])
            for place, shape, type in zip(
                (step.lhs, step.rhs, step.output), shapes, types, strict=True
            )
        ]

        def do() -> None:
            arrays[2][...] = matmul(
                arrays[0], arrays[1], ELEMENTS[step.accumulate], arrays[2].dtype
            )

        driver._tell(stream, "product", do)


class HostDevice:
    """The driver that stands in, and executables on it."""

    current: HostDevice
    array_at = staticmethod(_array_at)

    def __init__(self, driver: Any, core: Any, model: Any):
        self.driver, self.core, self._model = driver, core, model
        self.machine = driver.machine
        HostDevice.current = self

    def expect(self, program: Program) -> None:
        """Have the kernels of a program."""
        found = self._model(program)
        self.driver.module, self.driver.kernels = found.module, found.kernels

    def load(self, program: Program) -> Executable:
        """A program on the device."""
        self.expect(program)
        return program.compile(cache=False).load()

    def put(self, array: Array, number: int = 0) -> OnDevice:
        """An array on the device."""
        return OnDevice(array, self.driver, number)


class OnDevice:
    """An array of a library that knows DLPack, on the device."""

    def __init__(self, array: Array, driver: Any, number: int):
        self.array, self.number, self.streams = array, number, list[int | None]()
        driver.memory[array.ctypes.data] = range(array.nbytes)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.number

    def __dlpack__(self, *, stream: int | None = None) -> object:
        self.streams.append(stream)
        place = (dlpack.CUDA, self.number)
        whole = dlpack.Array(
            self.array.ctypes.data, self.array.shape, self.array.dtype, place, self
        )
        return dlpack.give(whole, versioned=False)


@pytest.fixture
def device(
    machine: Any, model: Callable[[Program], Any], monkeypatch: pytest.MonkeyPatch
) -> Generator[HostDevice]:
    """A device that is this process."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        host: Any = importlib.import_module("host_driver")
    finally:
        del sys.path[0]
    driver = host.Driver(machine)
    core = host.Core(driver)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    monkeypatch.setitem(sys.modules, "cuda.core", core)
    monkeypatch.setattr(executable, "Products", Products)
    cuda.find_driver.cache_clear()
    yield HostDevice(driver, core, model)
    cuda.find_driver.cache_clear()
