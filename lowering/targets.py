"""The devices that kernels are compiled for, and what a module of `llvm` and `nvvm` becomes for one.

translate(module, "ptx", "sm_90a")          what `-t ptx --target sm_90a` prints
translate(module, "nvptx-llvm", "sm_90a")   the LLVM IR on the way
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError

TRIPLE = "nvptx64-nvidia-cuda"

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""Of LLVM 22; without it an i64 would be aligned to 4 bytes."""

TARGET = "coconet.target"
"""The attribute of a module of kernels that names the device for which they were lowered."""

FORMS = ("ptx", "nvptx-llvm")
"""What a module can be translated to."""


_PTX_NAME = re.compile(r"[A-Za-z][\w$]*|[_$%][\w$]+", re.ASCII)

_PTX_CONSTANTS = ("WARP_SZ",)
"""What PTX defines itself; its special registers begin with %."""


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


def is_ptx_name(name: str) -> bool:
    """Whether a function or variable of PTX can have this name."""
    return _PTX_NAME.fullmatch(name) is not None and name not in _PTX_CONSTANTS


def translate(module: ModuleOp, form: str, target: str | None = None) -> str:
    """The text that the kernels of a module become, one of `FORMS`, for a target of this name.

    The module is lowered, or device code alone. Without a name the target is the one that the kernels were lowered
    for. Raises `IRError`.
    """
    from coconet_ir.analysis.verifier import level_of  # tools import this file for its table
    from coconet_ir.lowering.emit.module import emit  # they import this file
    from coconet_ir.lowering.ptx import compile_ptx

    if (level := level_of(module)) != StringAttr("device"):
        at, first = ("distributed", "coconet-lower")
        if level is not None:
            at, first = (f"at level {level}", "the stages down to coconet-lower-kernels")
        raise IRError(
            f'is {at}, and {form} is made of the level "device": run {first} first', module
        )
    container = device_module(module)
    found = _target(container, target)
    return emit(container, found) if form == "nvptx-llvm" else compile_ptx(container, found)


def _target(container: Operation, name: str | None) -> Target:
    """The target of this name, and of the kernels if they state one. Raises `IRError`."""
    stated = container.attributes.get(TARGET)
    own = stated.data if isinstance(stated, StringAttr) else None
    if name is None and own is None:
        raise IRError(
            f"states no target, and --target names none: there are {', '.join(TARGETS)}", container
        )
    if name is not None and own is not None and name != own:
        raise IRError(
            f"was lowered for {own}, not for {name}: lower it with coconet-lower{{target={name}}}",
            container,
        )
    return find_target(name or own or "")


def device_module(module: ModuleOp) -> Operation:
    """What holds the kernels of a module: its only `gpu.module`, or device code alone itself. Raises `IRError`."""
    from coconet_ir.analysis.verifier import is_device_code

    inner = [op for op in module.ops if op.name == "gpu.module"]
    if len(inner) > 1:
        others = [("another is here", op) for op in inner[1:]]
        raise IRError("has several gpu.module, but PTX is made of one", module, others)
    if not inner and not is_device_code(module):
        raise IRError("has no kernels: all that it computes is the host's", module)
    if inner and not inner[0].regions[0].block.ops:
        raise IRError("has no kernels", inner[0])
    return inner[0] if inner else module
