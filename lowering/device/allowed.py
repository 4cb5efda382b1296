"""What may stand in the kernels of the level `device`."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import llvm_functions as llvm
from coconet_ir.lowering.device.types import register_type
from coconet_ir.lowering.kernels.allowed import launched
from coconet_ir.lowering.kernels.kernel import MODULE
from coconet_ir.lowering.targets import TARGET, find_target

DIALECTS = ("llvm", "nvvm")
"""The dialects of a kernel."""


def check_code(ops: Iterable[Operation]) -> None:
    """Raise `IRError` for anything but functions and memory of `llvm`, with `llvm` and `nvvm` in them."""
    for op in ops:
        if not isinstance(op, llvm.FuncOp | llvm.GlobalOp):
            raise IRError(
                "cannot stand among device code, which is functions and memory of llvm", op
            )
        for inner in op.walk():
            if inner.name.split(".")[0] not in DIALECTS:
                raise IRError(
                    "cannot stand in a kernel at level 'device': it is to be lowered to llvm or nvvm first",
                    inner,
                )


def check_device_code(module: ModuleOp) -> None:
    """Raise `IRError` for a module without a program whose device code is none, or stands in several modules."""
    for op in module.ops:
        if isinstance(op, gpu.ModuleOp):
            if len(module.ops) > 1:
                raise IRError("must stand alone: device code is one module", op)
            check_code(op.body.block.ops)
        else:
            check_code([op])


def check_device(module: gpu.ModuleOp) -> None:
    """Raise `IRError` for anything but device code for a known device."""
    if module.sym_name.data != MODULE:
        raise IRError(f"must be named @{MODULE}: all kernels stand in one module", module)
    target = module.attributes.get(TARGET)
    if not isinstance(target, StringAttr):
        raise IRError(f'must state its device, as in {TARGET} = "sm_90a"', module)
    find_target(target.data)
    check_code(module.body.block.ops)


def check_device_launches(func: FuncOp) -> None:
    """Raise `IRError` for a launch of what is no kernel of the module, or with other arguments than it takes."""
    kernels = _kernels(func.parent_op())
    for op in func.walk():
        if not isinstance(op, gpu.LaunchFuncOp):
            continue
        name = launched(op)
        if (kernel := kernels.get(name)) is None:
            raise IRError(f"launches {op.kernel}, which is no kernel here", op)
        wanted = list(kernel.function_type.inputs)
        given = [register_type(value.type) for value in op.kernelOperands]
        if given != wanted:
            raise IRError(
                f"gives @{name} {', '.join(map(str, given))}, but it takes {', '.join(map(str, wanted))}",
                op,
            )


def _kernels(top: Operation | None) -> dict[str, llvm.FuncOp]:
    modules = [op for op in top.regions[0].block.ops if isinstance(op, gpu.ModuleOp)] if top else []
    return {
        op.sym_name.data: op
        for module in modules
        for op in module.body.block.ops
        if isinstance(op, llvm.FuncOp) and op.is_kernel
    }
