"""From a program to what a device runs: the plan of the host, and the kernels as PTX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import make_context
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.lowering.targets import find_target, translate
from coconet_ir.runtime import cache
from coconet_ir.runtime.plan import Plan
from coconet_ir.sim.binding import the_function
from coconet_ir.xdsl_compat import LocatedParser, print_module

if TYPE_CHECKING:
    from coconet_ir.runtime.executable import Executable


PARTS = ("ptx", "host")
"""What an entry of the cache holds: the kernels, and the lowered function as text."""


@dataclass(frozen=True)
class Compiled:
    """A compiled function. It takes no device to have one."""

    plan: Plan
    """What the host does."""
    ptx: str = field(repr=False)
    """The kernels; nothing if there are none."""
    target: str
    """The kind of device that they are for, as ptxas calls it: `sm_90a`."""

    def load(self, device: int = 0) -> Executable:
        """The function on a device of this process, given by its number.

        Raises `Unavailable` without that device or without the packages of `coconet-ir[cuda]`, and `IRError` if the
        kernels are for another kind of device.
        """
        from coconet_ir.runtime.executable import Executable

        return Executable(self, device)


def compile_function(func: FuncOp, target: str, *, use_cache: bool = True) -> Compiled:
    """Compile a function of a module that is checked and inferred. Raises `IRError`.

    What was compiled before is taken from the cache, if `use_cache` says so (`coconet_ir.runtime.cache`).
    """
    find_target(target)
    module = _alone(func)
    key = cache.key(target, print_module(module, debuginfo=True)) if use_cache else None
    held = None if key is None else cache.read(key, PARTS)
    if held is None:
        lowered = module.clone()
        LowerPass(target).apply(make_context(), lowered)
        Plan(
            the_function(module, None), the_function(lowered, None)
        )  # it may refuse: before LLVM takes its time
        held = {"ptx": _take_kernels(lowered), "host": print_module(lowered, debuginfo=True)}
        if key is not None:
            cache.write(key, held)
    host = LocatedParser(make_context(), held["host"], "<cache>").parse_module()
    plan = Plan(the_function(module, None), the_function(host, None))
    return Compiled(plan, held["ptx"], target)


def _alone(func: FuncOp) -> ModuleOp:
    """The module of a function, without its other functions."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    name, found = func.sym_name.data, module.clone()
    for op in list(found.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != name:
            op.detach()
            op.erase()
    return found


def _take_kernels(module: ModuleOp) -> str:
    """The PTX of the kernels of a module, which are taken out of it."""
    kernels = [op for op in module.ops if isinstance(op, gpu.ModuleOp)]
    ptx = translate(module, "ptx") if kernels else ""
    for op in kernels:
        op.detach()
        op.erase()
    return ptx
