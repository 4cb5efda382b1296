"""Runs the steps of a schedule on a program: each applies, or is an error that says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.transform import NamedSequenceOp
from xdsl.ir import Operation, SSAValue

from coconet_ir import passes
from coconet_ir.diagnostics import IRError, Place, op_name, position
from coconet_ir.dialects.transform import (
    CombineOp,
    FuseOp,
    InlineOp,
    NamedOp,
    OverlapOp,
    RegionStep,
    ReorderOp,
    SliceOp,
    SliceStateOp,
    SplitOp,
    Step,
)
from coconet_ir.frontend import check
from coconet_ir.schedule.remarks import Remark, remover
from coconet_ir.schedule.rewriting import perform_in
from coconet_ir.schedule.script import is_on_program, spelt, steps
from coconet_ir.schedule.selection import by_name, find, functions, label_of, no_such


@dataclass(frozen=True)
class Target:
    """An operation that a handle stands for, and the name by which it was found."""

    op: Operation
    name: str


def apply_sequence(module: ModuleOp, sequence: NamedSequenceOp) -> None:
    """Rewrite a program as a schedule says.

    Raises `IRError` at the first step that is declined or does not fit; the program may be half rewritten then.
    """
    application = Application(module)
    for step in steps(sequence):
        application.perform(step)


class Application:
    """A program that is being rewritten, and what handles stand for in it: at most one operation of a function."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.handles: dict[SSAValue, dict[FuncOp, Target]] = {}

    def perform(self, step: Step) -> None:
        """Run one step, and check the program.

        Raises `IRError` at a step that is declined or does not fit; the program may be half rewritten then.
        """
        try:
            if isinstance(step, NamedOp):
                self.handles[step.result] = self.find(step)
                return
            self._rewrite(step)
        except IRError as error:
            raise error if error.op is step else _misfit(step, error) from None
        try:
            check(self.module)
        except IRError as error:
            notes: list[tuple[str, Place]] = [*error.notes, (f"the {step.word} is here", step)]
            raise IRError(f"{error.message} (after '{step.name}')", error.op, notes) from error

    def find(self, step: NamedOp) -> dict[FuncOp, Target]:
        """The operation of that name in each function that has one. Raises `IRError` when none has."""
        options = step.options
        name, candidates = options["op"], functions(self.module, options.get("func"))
        named = {func: by_name(func) for func in candidates}
        found = {func: find(func, name, names) for func, names in named.items()}
        targets = {func: Target(op, name) for func, op in found.items() if op is not None}
        if targets:
            return targets
        missing = no_such(
            self.module, "op", name, [known for names in named.values() for known in names]
        )
        if missing.op is not self.module:
            raise missing
        at = position(self.module)
        raise IRError(
            f"finds nothing: the program{'' if at is None else f' {at.file}'} {missing.message}",
            step,
            [("the program is here", self.module)],
        )

    def _rewrite(self, step: Step) -> None:
        for func, place, rewrite in self._rewrites(step):
            remark = perform_in(func, rewrite)
            if not remark.applied:
                raise IRError(
                    f"declined [{remark.reason}]: {remark.message}",
                    step,
                    [(f"'{remark.operation}' is here", place)],
                )
            for handle, op in zip(step.results, remark.made, strict=False):
                self.handles.setdefault(handle, {})[func] = Target(op, label_of(op))

    def _rewrites(self, step: Step) -> Iterator[tuple[FuncOp, Operation, Callable[[], Remark]]]:
        """In each function, where the step rewrites and how: the pass of its name does it."""
        pass_type = _PASSES[step.__class__]()
        if is_on_program(step):
            one = pass_type(**step.options)
            rewrite = one.rewrite_argument if isinstance(step, SliceOp) else one.rewrite
            for func, argument in one.arguments(self.module):
                yield func, func, partial(rewrite, func, argument)
            return
        for func, targets in self._targets(step):
            ops = [target.op for target in targets]
            names = tuple(target.name for target in targets)
            if isinstance(step, RegionStep):
                rewrite = partial(pass_type(ops=names, **step.options).rewrite, func, ops)
            else:
                rewrite = partial(pass_type(op=names[0], **step.options).rewrite, func, ops[0])
            yield func, ops[0], rewrite

    def _targets(self, step: Step) -> Iterator[tuple[FuncOp, list[Target]]]:
        """What the operands of a step stand for, function by function."""
        found = [self.handles[handle] for handle in step.operands]
        for func in dict.fromkeys(func for targets in found for func in targets):
            targets: list[Target] = []
            for handle, of_handle in zip(step.operands, found, strict=True):
                if (target := of_handle.get(func)) is None:
                    raise IRError(
                        f"takes {spelt(handle)}, which stands for nothing in function "
                        f"'{func.sym_name.data}', where another of its handles stands for an operation",
                        step,
                        [("the function is here", func)],
                    )
                _check_target(step, handle, func, target)
                targets.append(target)
            yield func, targets


def _check_target(step: Step, handle: SSAValue, func: FuncOp, target: Target) -> None:
    """Raise `IRError` at the step for an operation that is gone, or that stands in a region by now."""
    parent = target.op.parent_op()
    if parent is func:
        return
    message = f"takes {spelt(handle)}, but '{target.name}' "
    if parent is not None:
        raise IRError(
            f"{message}stands in a region, whose operations are not targets: inline it first",
            step,
            [("the region is here", parent)],
        )
    if find(func, target.name) is not None:
        raise IRError(f"{message}was made anew since: name it again with {NamedOp.name}", step)
    last = remover(target.name)
    by = "" if last is None else f": {last.rewrite} '{last.operation}' removed it"
    raise IRError(f"{message}is gone{by}", step)


def _misfit(step: Step, error: IRError) -> IRError:
    """The error of a rewrite, told of the step."""
    if error.op is None:
        return IRError(f"does not fit: {error.message}", step, error.notes)
    about = f"does not fit: '{op_name(error.op)}' op {error.message}"
    return IRError(about, step, [("the operation is here", error.op), *error.notes])


_PASSES: dict[type[Step], Callable[[], Any]] = {
    SplitOp: passes.get_split,
    SliceOp: passes.get_slice,
    ReorderOp: passes.get_reorder,
    SliceStateOp: passes.get_slice_state,
    FuseOp: passes.get_fuse,
    OverlapOp: passes.get_overlap,
    CombineOp: passes.get_combine,
    InlineOp: passes.get_inline_schedule,
}
"""The pass that does what a step does, imported only when a schedule has such a step."""
