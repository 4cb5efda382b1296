"""What the tests in this folder share: the judges of device code, and kernels against the simulator.

Upstream's translation and NVIDIA's assembler judge device code; a kernel is run beside the simulator as one text of
operations, once as a distributed program and once as a fused region.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.gpu import GPU

from coconet_ir.dialects.llvm import LLVM
from coconet_ir.dialects.nvvm import NVVM
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.lowering.outline_kernels import OutlineKernelsPass
from coconet_ir.lowering.targets import DATA_LAYOUT, TRIPLE, Target
from coconet_ir.sim.elements import ELEMENTS, element_name
from coconet_ir.sim.executor import run
from coconet_ir.xdsl_compat import LocatedParser, print_module

EPS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
"""The distance of 1 to the next number."""

Array = npt.NDArray[Any]
Buffers = dict[str, Array]


def _parse(text: str) -> ModuleOp:
    ctx = Context()
    for dialect in (Builtin, LLVM, NVVM, GPU):
        ctx.load_dialect(dialect)
    module = LocatedParser(ctx, text, "test.mlir").parse_module()
    module.verify()
    return module


def _find_ptxas() -> str | None:
    """The assembler of the wheel, else one on the PATH."""
    try:
        files = metadata.files("nvidia-cuda-nvcc-cu12") or []
    except metadata.PackageNotFoundError:
        files = []
    wheel = [str(file.locate()) for file in files if file.name == "ptxas"]
    return wheel[0] if wheel else shutil.which("ptxas")


def _find(tool: str, path: str | None) -> str:
    if path is None:
        assert not os.environ.get("CI"), f"CI needs {tool}"
        pytest.skip(f"there is no {tool}")
    return path


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    """From text to its verified module."""
    return _parse


@pytest.fixture
def kernel() -> Callable[..., ModuleOp]:
    """A module of one kernel: `kernel(body, arguments)`."""

    def make(body: str, arguments: str = "%p: !llvm.ptr<1>, %x: f32, %a: i32") -> ModuleOp:
        head = f"llvm.func @k({arguments}) attributes {{nvvm.kernel}} {{"
        return _parse(f"{head}\n{body}\nllvm.return\n}}")

    return make


@pytest.fixture
def mlir_opt() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Upstream's tool: `mlir_opt(text, *options)`; the test is skipped where it is not installed."""
    tool = _find("mlir-opt-22 (mlir-22-tools)", shutil.which("mlir-opt-22"))

    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [tool, *options]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def upstream() -> Callable[[ModuleOp], str]:
    """The LLVM IR that upstream makes of a module; the test is skipped where it is not installed."""
    tool = _find("mlir-translate-22 (mlir-22-tools)", shutil.which("mlir-translate-22"))

    def translate(module: ModuleOp) -> str:
        stated = module.clone()  # it takes the alignments of the layout that the module states
        stated.attributes["llvm.data_layout"] = StringAttr(DATA_LAYOUT)
        stated.attributes["llvm.target_triple"] = StringAttr(TRIPLE)
        command = [tool, "--mlir-to-llvmir"]
        text = print_module(stated)
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return translate


@pytest.fixture
def assemble() -> Callable[..., str]:
    """What NVIDIA's assembler says of PTX that it takes; the test is skipped where it is not installed."""
    tool = _find("ptxas (nvidia-cuda-nvcc-cu12)", _find_ptxas())

    def assemble(ptx: str, target: Target, *options: str) -> str:
        command = [tool, f"--gpu-name={target.name}", "--verbose", *options]
        command += ["--output-file", os.devnull, "-"]
        ran = subprocess.run(command, input=ptx, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr

    return assemble


@pytest.fixture
def functions() -> Callable[[str], dict[str, list[str]]]:
    """The instructions of each function of PTX by its name, without comments and line information."""

    def split(ptx: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {"": []}
        lines = found[""]
        for line in re.sub(r"//.*", "", ptx).splitlines():
            if (head := re.match(r"\.visible \.entry (\w+)|.*\.func .*?(\w+)\(", line)) is not None:
                lines = found.setdefault(head[1] or head[2], [])
            if line.strip() and not re.match(r"\s*(?:\.(?:loc|file|section)\b|\$L__(?!BB))", line):
                lines.append(line.strip())
        return found

    return split


def _imported(folder: Path, *names: str) -> list[Any]:
    sys.path.insert(0, str(folder))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        del sys.path[0]


@pytest.fixture(scope="session")
def machine() -> Any:
    """The module `machine.py`, which executes kernels."""
    return _imported(Path(__file__).parent, "machine")[0]


@pytest.fixture(scope="session")
def plan() -> Any:
    """The module `plan.py`, which executes programs on buffers."""
    return _imported(Path(__file__).parent, "plan")[0]


@pytest.fixture(scope="session")
def host() -> Any:
    """The module `host.py`, which runs lowered kernels on the host."""
    return _imported(Path(__file__).parent, "host")[0]


@pytest.fixture(scope="session")
def random_programs() -> list[Any]:
    """The modules of random programs, which stand beside the tests of passes."""
    names = ("random_programs", "random_generator", "random_steps")
    return _imported(Path(__file__).parents[1] / "passes", *names)


@cache
def outlined(text: str) -> ModuleOp:
    """A module at the level of buffers, outlined. One kernel serves all sizes, and so all tests of its text."""
    module = LocatedParser(make_context(), text, "test.mlir").parse_module()
    module.verify()
    OutlineKernelsPass().apply(make_context(), module)
    module.verify()
    return module


@cache
def _distributed(text: str) -> FuncOp:
    return _function(parse_program(make_context(), text, "test.mlir"))


def _function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.walk() if isinstance(op, FuncOp))


def _type(value: Array | np.generic, shape: str | None = None) -> str:
    name = element_name(value.dtype)
    if isinstance(value, np.generic):
        return name
    return f"tensor<{'?x' * value.ndim}{name}>" if shape is None else shape


@pytest.fixture
def outline() -> Callable[[str], ModuleOp]:
    """Outline the kernels of a text."""
    return outlined


@pytest.fixture
def launch(machine: Any) -> Callable[..., Buffers]:
    """Run the operations `body` as a kernel; the buffers afterwards, by name.

    `inputs` has arrays for tensors, NumPy scalars for scalars; `outputs` says into which buffer each value goes, a
    new one for the name of the value itself; `shapes` has the arrays that new buffers are like, `types` the types
    that do not follow from the arrays. Buffers lie `offset` elements behind an aligned address.
    """

    def launch(
        body: str,
        inputs: Mapping[str, Array | np.generic],
        outputs: Mapping[str, str],
        shapes: Mapping[str, Array],
        *,
        types: Mapping[str, str] | None = None,
        offset: int = 0,
    ) -> Buffers:
        given = dict(types or {})
        arrays: Buffers = {}
        for name, value in inputs.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value.copy()
        for value, buffer in outputs.items():
            if buffer not in arrays:
                arrays[buffer] = np.empty_like(shapes[value])
                arrays[buffer].reshape(-1).view(np.uint8)[:] = 0xA5
        tensor = {name: given.get(name) or _type(array) for name, array in arrays.items()}
        for name, value in inputs.items():
            tensor.setdefault(name, given.get(name) or _type(value))
        text = _region(body, tensor, arrays, inputs, outputs)
        func = _function(outlined(text))
        arguments: list[Any] = []
        for name in tensor:
            if name in arrays:
                memory = machine.memory_of(arrays[name], offset)
                arguments.append(machine.Reference(memory, arrays[name].shape))
            else:
                arguments.append(np.array([inputs[name]]))
        machine.execute(func, arguments)
        return arrays

    return launch


def _region(
    body: str,
    tensor: Mapping[str, str],
    arrays: Mapping[str, Array],
    inputs: Mapping[str, Array | np.generic],
    outputs: Mapping[str, str],
) -> str:
    buffer = {name: tensor[name].replace("tensor", "memref") for name in tensor}
    arguments = [
        f"%{name}_m: {buffer[name]}" if name in arrays else f"%{name}: {tensor[name]}"
        for name in tensor
    ]
    lines = [
        f"%{name} = bufferization.to_tensor %{name}_m : {buffer[name]} to {tensor[name]}"
        for name in arrays
        if name in inputs
    ]
    lines.append(body)
    lines += [
        f"bufferization.materialize_in_destination %{value} in writable %{name}_m : "
        f"({tensor[name]}, {buffer[name]}) -> ()"
        for value, name in outputs.items()
    ]
    return f"""module attributes {{coconet.level = "buffer"}} {{
      func.func @f({", ".join(arguments)}) {{
        coll.fused {{
          {chr(10).join(lines)}
          coll.yield
        }} {{coconet.name = "kernel"}}
        func.return
      }}
    }}"""


@pytest.fixture
def simulate() -> Callable[..., Buffers]:
    """Run the operations `body` in the simulator; the values named in `outputs`, whose types it says."""

    def simulate(
        body: str,
        inputs: Mapping[str, Array | np.generic],
        outputs: Mapping[str, str],
        *,
        types: Mapping[str, str] | None = None,
    ) -> Buffers:
        given = dict(types or {})
        arguments = [f"%{n}: {given.get(n) or _type(v)}" for n, v in inputs.items()]
        values, kinds = ", ".join(f"%{n}" for n in outputs), ", ".join(outputs.values())
        text = f"""func.func @f({", ".join(arguments)}) -> ({kinds}) {{
          {body}
          func.return {values} : {kinds}
        }}"""
        found = run(_distributed(text), {}, dict(inputs)).outputs
        return {n: np.asarray(found[f"result{i}"].array) for i, n in enumerate(outputs)}

    return simulate


@pytest.fixture
def both(
    launch: Callable[..., Buffers], simulate: Callable[..., Buffers]
) -> Callable[..., tuple[Buffers, Buffers, dict[str, str]]]:
    """What a kernel leaves in its buffers, what the simulator gives, and in which buffer each value lies.

    `outputs` has the types of the values, `into` the input that a value overwrites.
    """

    def both(
        body: str,
        inputs: Mapping[str, Array | np.generic],
        outputs: Mapping[str, str],
        *,
        into: Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        offset: int = 0,
    ) -> tuple[Buffers, Buffers, dict[str, str]]:
        expected = simulate(body, inputs, outputs, types=types)
        places = {value: (into or {}).get(value, value) for value in outputs}
        given = {**(types or {}), **{n: t for n, t in outputs.items() if places[n] == n}}
        found = launch(body, inputs, places, expected, types=given, offset=offset)
        return found, expected, places

    return both


@pytest.fixture
def same(both: Callable[..., tuple[Buffers, Buffers, dict[str, str]]]) -> Callable[..., Buffers]:
    """Assert that a kernel and the simulator give the same bits, of what `both` takes; what the kernel gives."""

    def same(*what: Any, **options: Any) -> Buffers:
        found, expected, places = both(*what, **options)
        for value, place in places.items():
            assert bits(found[place]) == bits(expected[value]), value
        return found

    return same


def bits(array: Array) -> tuple[tuple[int, ...], str, list[Any]]:
    """An array as something that compares by bits, but for NaNs, which are all one."""
    wide = array.reshape(-1)
    kind = ELEMENTS[element_name(array.dtype)].kind
    if kind not in "biu":
        wide = np.where(np.isnan(wide.astype(np.float64)), np.zeros((), wide.dtype), wide)
    return array.shape, element_name(array.dtype), wide.view(f"u{wide.dtype.itemsize}").tolist()


@pytest.fixture
def as_bits() -> Callable[[Array], object]:
    """Arrays as what compares by bits, but for NaNs, which are all one."""
    return bits


@pytest.fixture
def close(both: Callable[..., tuple[Buffers, Buffers, dict[str, str]]]) -> Callable[..., Buffers]:
    """Assert that they agree but for the order of `terms` additions, of what `both` takes; the kernel's buffers."""

    def close(*what: Any, terms: int = 1, **options: Any) -> Buffers:
        found, expected, places = both(*what, **options)
        for value, place in places.items():
            want, have = (x.astype(np.float64) for x in (expected[value], found[place]))
            assert np.array_equal(np.isnan(want), np.isnan(have)), value
            want, have = np.nan_to_num(want), np.nan_to_num(have)
            error = np.abs(have - want)
            step = EPS[element_name(expected[value].dtype)]
            bound = (4 + terms) * step * max(1.0, float(np.max(np.abs(want), initial=0.0)))
            assert error.max(initial=0.0) <= bound, value
        return found

    return close
