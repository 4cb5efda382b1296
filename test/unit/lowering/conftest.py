"""Device code for the tests in this folder, and what judges it: upstream's translation and NVIDIA's assembler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib import metadata

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr
from xdsl.dialects.gpu import GPU

from coconet_ir.dialects.llvm import LLVM
from coconet_ir.dialects.nvvm import NVVM
from coconet_ir.lowering.targets import DATA_LAYOUT, TRIPLE, Target
from coconet_ir.xdsl_compat import LocatedParser, print_module


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
