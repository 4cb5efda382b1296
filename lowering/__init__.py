"""The steps from distributed programs down to kernels, one pass a step, imported only when a pipeline asks for it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass


def get_lower_to_ranks() -> type[ModulePass]:
    from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass

    return LowerToRanksPass


def get_form_kernels() -> type[ModulePass]:
    from coconet_ir.lowering.form_kernels import FormKernelsPass

    return FormKernelsPass


def get_bufferize() -> type[ModulePass]:
    from coconet_ir.lowering.bufferize import BufferizePass

    return BufferizePass


def get_outline_kernels() -> type[ModulePass]:
    from coconet_ir.lowering.outline_kernels import OutlineKernelsPass

    return OutlineKernelsPass


def get_lower_kernels() -> type[ModulePass]:
    from coconet_ir.lowering.lower_kernels import LowerKernelsPass

    return LowerKernelsPass


def get_lower() -> type[ModulePass]:
    from coconet_ir.lowering.lower import LowerPass

    return LowerPass


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass by its name."""
    return {
        "coconet-lower-to-ranks": get_lower_to_ranks,
        "coconet-form-kernels": get_form_kernels,
        "coconet-bufferize": get_bufferize,
        "coconet-outline-kernels": get_outline_kernels,
        "coconet-lower-kernels": get_lower_kernels,
        "coconet-lower": get_lower,
    }
