"""A PTX module as machine code of this processor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from coconet_ir.emu.code.helpers import helper_text
from coconet_ir.emu.code.kernel import kernel_text, write_kernel
from coconet_ir.emu.code.native import native_text
from coconet_ir.emu.code.thread import Layout, Site, ThreadWriter, lay_out
from coconet_ir.emu.ptx.calls import inline_calls
from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import Function, Instruction, Module, width

GAP = 256
"""Bytes between variables of a module that nobody may touch."""


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel."""

    function: Function
    address: int
    """Of the function that creates a thread."""
    parameters: Layout
    shared: int
    """Bytes of shared memory that it declares."""
    local: int
    """Bytes of local memory of a thread."""


@dataclass(frozen=True)
class Code:
    """A compiled module."""

    module: Module
    kernels: Mapping[str, Kernel]
    sites: tuple[Site, ...]
    variables: Layout
    """Where the module's variables lie."""
    granule: int
    """Bytes that are checked as one: the fewest that an instruction or the host accesses, 4 at most."""
    call: Callable[[str], Any]
    """The functions and variables of the machine code by name."""


def kernel_names(module: Module) -> list[str]:
    """The kernels that a module has."""
    return [f.name for f in module.functions.values() if f.kernel and not f.declared]


@lru_cache(maxsize=16)
def compile_ptx(text: str, names: frozenset[str], most: int = 4) -> Code:
    """Compile the kernels of a module that have these names, with granules of `most` bytes at most. Raises `PTXError`
    for what is no PTX, and `Refused` for what the emulator does not run."""
    module = parse_ptx(text)
    there = kernel_names(module)
    functions = {n: inline_calls(module.functions[n], module) for n in there if n in names}
    shared = [v for v in module.variables.values() if v.space == "shared"]
    variables = lay_out([v for v in module.variables.values() if v.space != "shared"], 0, GAP)
    sites: list[Site] = [Site("", Instruction("", (), (), None, 0, ""))]
    parts, helpers = list[str](), set[str]()
    writers: dict[str, ThreadWriter] = {}
    for number, (name, function) in enumerate(functions.items()):
        writers[name] = writer = ThreadWriter(function, variables, shared, sites)
        write_kernel(writer)
        helpers |= writer.helpers
        parts.append(kernel_text(writer, f"kernel.{number}"))
    granule = min([most, *map(_bytes, functions.values())])
    parts += (native_text(granule), helper_text(helpers))
    engine = _engine("\n".join(parts))
    kernels = {
        name: Kernel(
            functions[name],
            engine.get_function_address(f"kernel.{number}"),
            writer.parameters,
            writer.shared.bytes,
            writer.local.bytes,
        )
        for number, (name, writer) in enumerate(writers.items())
    }
    return Code(module, kernels, tuple(sites), variables, granule, _caller(engine))


def _bytes(function: Function) -> int:
    """The fewest bytes that the function accesses at once."""
    sizes = [
        width(item.modifiers[-1]) // 8
        for item in function.body
        if isinstance(item, Instruction)
        and item.opcode in ("ld", "st", "atom", "red", "ldu")
        and "param" not in item.modifiers
    ]
    return min(sizes, default=4)


def _engine(text: str) -> Any:
    """Machine code of LLVM IR, with its coroutines taken apart. LLVM does no more: it takes longer than most runs."""
    llvm: Any = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=0,
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
    )
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    module = llvm.parse_assembly(text)
    module.verify()
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "resume": (None, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64),
    "create": (None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3),
    "destroy": (None, ctypes.c_void_p, *[ctypes.c_int64] * 2),
    "range_load": (ctypes.c_bool, ctypes.c_void_p, *[ctypes.c_int64] * 3),
    "range_store": (ctypes.c_bool, ctypes.c_void_p, *[ctypes.c_int64] * 3),
}


def _caller(engine: Any) -> Callable[[str], Any]:
    @cache
    def call(name: str) -> Any:
        if name in _SIGNATURES:
            return ctypes.CFUNCTYPE(*_SIGNATURES[name])(engine.get_function_address(name))
        return engine.get_global_value_address(name)

    return call
