"""What the tests in this folder share: texts, and what nvcc made of `data/*.cu` (`data/make.py`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import Function, Module

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n.reg .f64 %d<4>;\n"
)


@pytest.fixture
def read() -> Callable[[str], Module]:
    """Read a text without its head."""
    return lambda text: parse_ptx(HEAD + text)


@pytest.fixture
def body() -> Callable[..., Function]:
    """Read statements as the body of the kernel `k`, after what is declared in the module."""

    def read(statements: str, module: str = "") -> Function:
        kernel = (
            f".visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{REGISTERS}{statements}\n}}\n"
        )
        return parse_ptx(HEAD + module + kernel).functions["k"]

    return read


@pytest.fixture(scope="session")
def data() -> dict[str, str]:
    """The texts by nvcc, and those by Triton that the emulator's tests of kernels have, by name."""
    folder = Path(__file__).parent
    files = [*folder.glob("data/*.ptx"), *folder.parent.glob("foreign/ptx/triton_*.ptx")]
    return {file.name.removesuffix(".ptx"): file.read_text() for file in sorted(files)}
