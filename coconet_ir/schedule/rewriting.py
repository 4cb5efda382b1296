"""What every rewrite shares: which functions it takes, names and places of what it makes, and its remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.analysis.rules import is_uninferred
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.layout import MeshOp
from coconet_ir.schedule.remarks import Refused, Remark, emit, location_of
from coconet_ir.schedule.selection import (
    find,
    functions,
    label_of,
    name_of,
    no_such,
    selectable,
)

Rewrite = Callable[[FuncOp, Operation], Remark]
"""Rewrites one selected operation of a function."""


def rewrite_selected(
    module: ModuleOp, op: str, func: str | None, require: bool, rewrite: Rewrite
) -> list[Remark]:
    """Apply a rewrite to the operation named `op` of every function that has one, and emit its remarks.

    Raises `IRError` when no function has it, or when `require` is set and the rewrite declines.
    """
    remarks: list[Remark] = []
    available: list[str] = []
    for function in functions(module, func):
        target = find(function, op)
        if target is None:
            available += [name for o in selectable(function) if (name := name_of(o)) is not None]
            continue
        check_ready(function)
        remark = rewrite(function, target)
        emit(remark)
        remarks.append(remark)
        if require and not remark.applied:
            raise IRError(f"{remark.rewrite} declined [{remark.reason}]: {remark.message}", target)
    if not remarks:
        raise no_such(module, "op", op, available)
    return remarks


def rewrite_in(func: FuncOp, op: str, rewrite: Rewrite) -> Remark:
    """Apply a rewrite to the operation named `op` of one function, and emit its remark.

    Raises `IRError` when the function has no such operation.
    """
    target = find(func, op)
    if target is None:
        raise no_such(func, "op", op, [n for o in selectable(func) if (n := name_of(o))])
    check_ready(func)
    remark = rewrite(func, target)
    emit(remark)
    return remark


def check_ready(func: FuncOp) -> None:
    """Raise `IRError` for a function that no rewrite takes, one not inferred yet."""
    if is_uninferred(func):
        raise IRError("is not inferred yet: run coconet-infer first", func)


def check_axes(func: FuncOp, axes: Iterable[str], target: Operation) -> None:
    """Raise `IRError` at `target` when an option names an axis that the mesh lacks."""
    module = func.parent_op()
    top = module.ops if isinstance(module, ModuleOp) else ()
    known = next((op.axes.data for op in top if isinstance(op, MeshOp)), ())
    for axis in axes:
        if axis not in known:
            raise IRError(
                f"cannot be sliced over '{axis}': the mesh has {', '.join(known) or 'no axes'}",
                target,
            )


def applied(rewrite: str, op: Operation, message: str) -> Remark:
    """The remark of a rewrite that was applied to `op`."""
    return Remark(rewrite, label_of(op), location_of(op), message)


def declined(rewrite: str, op: Operation, refused: Refused) -> Remark:
    """The remark of a rewrite that was declined at `op`."""
    return Remark(rewrite, label_of(op), location_of(op), refused.message, refused.reason)


def place_before(anchor: Operation, new: Sequence[Operation]) -> None:
    """Insert operations before `anchor`, which they stand for in messages."""
    if (block := anchor.parent) is not None:
        for op in new:
            op.location = anchor.location
        block.insert_ops_before(list(new), anchor)
