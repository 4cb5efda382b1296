"""What every rewrite shares: which functions it takes, names and places of what it makes, and its remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.analysis.rules import is_uninferred
from coconet_ir.analysis.verifier import require_distributed
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.layout import MeshOp
from coconet_ir.schedule.remarks import Refused, Remark, emit, location_of
from coconet_ir.schedule.selection import by_name, find, functions, label_of, names_in, no_such

Rewrite = Callable[[FuncOp, Operation], Remark]
"""Rewrites one selected operation of a function."""

SetRewrite = Callable[[FuncOp, Sequence[Operation]], Remark]
"""Rewrites the selected operations of a function together."""


def rewrite_selected(
    module: ModuleOp, op: str, func: str | None, require: bool, rewrite: Rewrite
) -> list[Remark]:
    """Apply a rewrite to the operation named `op` of every function that has one, and emit its remarks.

    Raises `IRError` when no function has it, or when `require` is set and the rewrite declines.
    """
    return _rewrite_each(module, "op", (op,), func, require, _of_one(rewrite))


def rewrite_set(
    module: ModuleOp, ops: Sequence[str], func: str | None, require: bool, rewrite: SetRewrite
) -> list[Remark]:
    """Apply a rewrite to the operations named `ops`, of every function that has one of them, together.

    Raises `IRError` when no function has them, one has some of them alone, or `require` is set and the rewrite
    declines.
    """
    return _rewrite_each(module, "ops", ops, func, require, rewrite)


def rewrite_in(func: FuncOp, op: str, rewrite: Rewrite) -> Remark:
    """Apply a rewrite to the operation named `op` of one function, and emit its remark.

    Raises `IRError` when the function has no such operation.
    """
    return rewrite_set_in(func, (op,), _of_one(rewrite), "op")


def rewrite_set_in(
    func: FuncOp, ops: Sequence[str], rewrite: SetRewrite, option: str = "ops"
) -> Remark:
    """Apply a rewrite to the operations named `ops` of one function together, and emit its remark.

    Raises `IRError` when the function lacks one of them.
    """
    targets = _targets(func, option, ops)
    return perform_in(func, lambda: rewrite(func, targets))


def perform_in(func: FuncOp, rewrite: Callable[[], Remark]) -> Remark:
    """Run a rewrite of one function, see which names it removes, and emit its remark."""
    check_ready(func)
    before = names_in(func)
    remark = rewrite()
    if remark.applied:
        left = set(names_in(func))
        remark = replace(remark, removed=tuple(name for name in before if name not in left))
    emit(remark)
    return remark


def demand(remark: Remark, place: Operation) -> None:
    """Raise `IRError` at `place` for a rewrite that declined."""
    if not remark.applied:
        raise IRError(f"{remark.rewrite} declined [{remark.reason}]: {remark.message}", place)


def _of_one(rewrite: Rewrite) -> SetRewrite:
    return lambda func, targets: rewrite(func, targets[0])


def _rewrite_each(
    module: ModuleOp,
    option: str,
    names: Sequence[str],
    func: str | None,
    require: bool,
    rewrite: SetRewrite,
) -> list[Remark]:
    remarks: list[Remark] = []
    candidates = rewritable(module, func)
    for function in candidates:
        named = by_name(function)
        if not any(find(function, name, named) for name in names):
            continue
        targets = _targets(function, option, names)
        remark = perform_in(function, lambda f=function, t=targets: rewrite(f, t))
        remarks.append(remark)
        if require:
            demand(remark, targets[0])
    if not remarks:
        available = [name for function in candidates for name in by_name(function)]
        raise no_such(module, option, names[0], available)
    return remarks


def _targets(func: FuncOp, option: str, names: Sequence[str]) -> list[Operation]:
    """The operations of these names. Raises `IRError` for one that is missing or named twice."""
    found: dict[Operation, str] = {}
    named = by_name(func)
    for name in names:
        if (op := find(func, name, named)) is None:
            raise no_such(func, option, name, list(named))
        if op in found:
            raise IRError(f"is named twice ({option}={','.join(names)})", op)
        found[op] = name
    return list(found)


def rewritable(module: ModuleOp, func: str | None) -> list[FuncOp]:
    """The functions of a distributed program, or only the one named `func`. Raises `IRError`."""
    require_distributed(module)
    return functions(module, func)


def check_ready(func: FuncOp) -> None:
    """Raise `IRError` for a function that no rewrite takes: one not inferred yet, or below the distributed level."""
    if isinstance(module := func.parent_op(), ModuleOp):
        require_distributed(module)
    if is_uninferred(func):
        raise IRError("is not inferred yet: run coconet-infer first (infer() in Python)", func)


def mesh_axes(func: FuncOp) -> tuple[str, ...]:
    """The axes of the mesh of the function's module; none if it has no mesh."""
    module = func.parent_op()
    top = module.ops if isinstance(module, ModuleOp) else ()
    return next((op.axes.data for op in top if isinstance(op, MeshOp)), ())


def check_axes(func: FuncOp, axes: Iterable[str], target: Operation) -> None:
    """Raise `IRError` at `target` when an option names an axis that the mesh lacks."""
    known = mesh_axes(func)
    for axis in axes:
        if axis not in known:
            raise IRError(
                f"cannot be sliced over '{axis}': the mesh has {', '.join(known) or 'no axes'}",
                target,
            )


def applied(rewrite: str, op: Operation, message: str, made: Sequence[Operation] = ()) -> Remark:
    """The remark of a rewrite that was applied to `op`, and what it made in its place."""
    return Remark(rewrite, label_of(op), location_of(op), message, made=tuple(made))


def declined(rewrite: str, op: Operation, refused: Refused) -> Remark:
    """The remark of a rewrite that was declined at `op`."""
    return Remark(rewrite, label_of(op), location_of(op), refused.message, refused.reason)


def place_before(anchor: Operation, new: Sequence[Operation]) -> None:
    """Insert operations before `anchor`, which they stand for in messages."""
    if (block := anchor.parent) is not None:
        for op in new:
            op.location = anchor.location
        block.insert_ops_before(list(new), anchor)
