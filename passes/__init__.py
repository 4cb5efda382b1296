"""Rewrites within the distributed level, one file a pass, imported only when a pipeline asks for it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass


def get_infer() -> type[ModulePass]:
    from coconet_ir.passes.infer import InferPass

    return InferPass


def get_split() -> type[ModulePass]:
    from coconet_ir.passes.split import SplitPass

    return SplitPass


def get_slice() -> type[ModulePass]:
    from coconet_ir.passes.slice import SlicePass

    return SlicePass


def get_reorder() -> type[ModulePass]:
    from coconet_ir.passes.reorder import ReorderPass

    return ReorderPass


def get_slice_state() -> type[ModulePass]:
    from coconet_ir.passes.slice_state import SliceStatePass

    return SliceStatePass


def get_fuse() -> type[ModulePass]:
    from coconet_ir.passes.fuse import FusePass

    return FusePass


def get_overlap() -> type[ModulePass]:
    from coconet_ir.passes.overlap import OverlapPass

    return OverlapPass


def get_combine() -> type[ModulePass]:
    from coconet_ir.passes.combine import CombinePass

    return CombinePass


def get_inline_schedule() -> type[ModulePass]:
    from coconet_ir.passes.inline import InlineSchedulePass

    return InlineSchedulePass


def get_schedule() -> type[ModulePass]:
    from coconet_ir.passes.schedule import SchedulePass

    return SchedulePass


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass by its name."""
    return {
        "coconet-infer": get_infer,
        "coconet-split": get_split,
        "coconet-slice": get_slice,
        "coconet-reorder": get_reorder,
        "coconet-slice-state": get_slice_state,
        "coconet-fuse": get_fuse,
        "coconet-overlap": get_overlap,
        "coconet-combine": get_combine,
        "coconet-inline-schedule": get_inline_schedule,
        "coconet-schedule": get_schedule,
    }
