"""The devices that kernels are compiled for, and what a module of `llvm` and `nvvm` becomes for one.

translate(module, "ptx", "sm_90a")          what `-t ptx --target sm_90a` prints
translate(module, "nvptx-llvm", "sm_90a")   the LLVM IR on the way
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError

TRIPLE = "nvptx64-nvidia-cuda"

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""Of LLVM 22; without it an i64 would be aligned to 4 bytes."""

FORMS = ("ptx", "nvptx-llvm")
"""What a module can be translated to."""


@dataclass(frozen=True)
class Target:
    """A kind of device."""

    name: str
    """As LLVM and ptxas call it: `sm_90a`."""

    capability: int
    """Its compute capability, times ten."""

    ptx: int
    """The version of PTX that is written for it, times ten: the lowest that LLVM allows, or 8.0."""

    @property
    def version(self) -> str:
        """The version of PTX as its header states it."""
        return f"{self.ptx // 10}.{self.ptx % 10}"


TARGETS = {
    target.name: target
    for target in (
        Target("sm_80", 80, 80),
        Target("sm_90a", 90, 81),
        Target("sm_100a", 100, 86),
    )
}
"""By name."""


def find_target(name: str) -> Target:
    """The target of this name. Raises `IRError`."""
    if (target := TARGETS.get(name)) is None:
        raise IRError(f"there is no target '{name}': there are {', '.join(TARGETS)}")
    return target


def translate(module: ModuleOp, form: str, target: str) -> str:
    """The text that the kernels of a module become, one of `FORMS`, for a target of this name.

    The kernels stand in the only `gpu.module` of the module, or in the module itself. Raises `IRError`.
    """
    from coconet_ir.lowering.emit_llvm import emit  # they import this file
    from coconet_ir.lowering.ptx import compile_ptx

    found, container = find_target(target), device_module(module)
    return emit(container, found) if form == "nvptx-llvm" else compile_ptx(container, found)


def device_module(module: ModuleOp) -> Operation:
    """What holds the kernels of a module. Raises `IRError`."""
    inner = [op for op in module.ops if op.name == "gpu.module"]
    if len(inner) > 1:
        others = [("another is here", op) for op in inner[1:]]
        raise IRError("has several gpu.module, but PTX is made of one", module, others)
    return inner[0] if inner else module
