"""Lowered kernels on the host: their LLVM IR, compiled for this processor, so that bits can be compared.

Kernels of one thread alone: what says which thread this is exists only on devices.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from coconet_ir.frontend import make_context, parse_program
from coconet_ir.lowering.lower_kernels import LowerKernelsPass
from coconet_ir.lowering.targets import translate
from coconet_ir.sim.elements import ELEMENTS

Array = npt.NDArray[Any]


def kernel_module(kernels: str) -> str:
    """A module at the level of kernels."""
    return f"""
    module attributes {{coconet.level = "kernel"}} {{
      "gpu.module"() <{{sym_name = "kernels"}}> ({{
        {kernels}
      }}) : () -> ()
    }}"""


def elementwise(body: str, inputs: Sequence[str], outputs: Sequence[str], width: int = 1) -> str:
    """A kernel of one thread: %x0, %x1, … of `inputs`, elements of buffers, become %y0, … of `outputs`, by `body`."""
    types = (*inputs, *outputs)
    names = [*(f"x{i}" for i in range(len(inputs))), *(f"y{i}" for i in range(len(outputs)))]
    buffers = [f"memref<?x{type}>" for type in types]

    def access(name: str, type: str, buffer: str, load: bool) -> str:
        if width == 1:
            if load:
                return f"%{name} = memref.load %{name}_m[%i] : {buffer}"
            return f"memref.store %{name}, %{name}_m[%i] : {buffer}"
        size = f"{buffer}, vector<{width}x{type}>"
        if load:
            return f"%{name} = vector.load %{name}_m[%i] : {size}"
        return f"vector.store %{name}, %{name}_m[%i] : {size}"

    every = list(zip(names, types, buffers, strict=True))
    loads = [access(*one, True) for one in every[: len(inputs)]]
    stores = [access(*one, False) for one in every[len(inputs) :]]
    arguments = ", ".join(f"%{name}_m: {buffer}" for name, _, buffer in every)
    new = "\n".join((*loads, body, *stores))
    return f"""
    "gpu.func"() <{{function_type = ({", ".join(buffers)}, index) -> ()}}> ({{
    ^entry({arguments}, %n: index):
      %zero = arith.constant 0 : index
      %width = arith.constant {width} : index
      scf.for %i = %zero to %n step %width {{
        {new}
      }}
      "gpu.return"() : () -> ()
    }}) {{sym_name = "k", gpu.kernel, coconet.threads = 32 : i64}} : () -> ()"""


_ROUNDING = """
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %half = add i32 %odd, 32767
  %up = add i32 %bits, %half
  %near = lshr i32 %up, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, %x
  %found = select i1 %nan, i32 %quiet, i32 %near
  %short = trunc i32 %found to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}
"""
"""What LLVM calls on processors that have no instruction for it."""


@cache
def _llvm() -> Any:
    llvm: Any = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def lowered_text(kernels: str, form: str = "nvptx-llvm", target: str = "sm_90a") -> str:
    """What kernels become."""
    module = parse_program(make_context(), kernel_module(kernels), "test.mlir")
    LowerKernelsPass(target).apply(make_context(), module)
    return translate(module, form)


@cache
def compiled(kernels: str) -> Callable[..., None]:
    """The kernel @k as a function of addresses and a number of elements."""
    llvm = _llvm()
    text = re.sub(r"^target .*\n", "", lowered_text(kernels), flags=re.MULTILINE)
    text = re.sub(r'"nvvm\.\w+"="[\d,]*"', "", text.replace("ptx_kernel ", ""))
    module = llvm.parse_assembly(text + _ROUNDING)
    module.verify()
    features = llvm.get_host_cpu_features()
    features["avx512bf16"] = False  # it takes subnormal numbers for 0
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("k")
    count = text.count("ptr addrspace(1)", 0, text.index("{"))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, ctypes.c_int64)(address)

    def call(*arrays: Array) -> None:
        assert engine is not None  # it owns the code
        function(*(array.ctypes.data for array in arrays), arrays[0].size)

    return call


def run(
    body: str, inputs: Sequence[Array], types: Sequence[str], outputs: Sequence[str], width: int = 1
) -> list[Array]:
    """What `body` makes of the elements of arrays."""
    results = [np.zeros(inputs[0].shape, ELEMENTS[name]) for name in outputs]
    compiled(elementwise(body, types, outputs, width))(*inputs, *results)
    return results
