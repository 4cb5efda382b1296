"""Runs the steps of a schedule on a program: each applies, or is an error that says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.transform import NamedSequenceOp
from xdsl.ir import Operation, SSAValue

from coconet_ir import passes
from coconet_ir.analysis.verifier import require_distributed
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
from coconet_ir.schedule.remarks import Remark, collect, remover
from coconet_ir.schedule.rewriting import perform_in
from coconet_ir.schedule.script import spelt, steps
from coconet_ir.schedule.selection import find, functions, label_of, name_of, names_in, no_such


@dataclass(frozen=True)
class Target:
    """An operation that a handle stands for, and the name by which it was found."""

    op: Operation
    name: str


def apply_sequence(module: ModuleOp, sequence: NamedSequenceOp) -> Application:
    """Rewrite a program as a schedule says, and check it.

    Raises `IRError` for a program below the distributed level, and at the first step that is declined, does not fit
    or leaves a program that is not valid; the program may be half rewritten then.
    """
    require_distributed(module)
    before, application = module.clone(), Application(module)
    done: list[Step] = []
    try:
        for step in steps(sequence):
            application.perform(step)
            done.append(step)
        check(module)
    except Exception:
        check_steps(before, done)
        raise
    return application


def perform_steps(module: ModuleOp, performed: Iterable[Step]) -> Application:
    """Rewrite a program by steps, without a check. Raises `IRError` as `Application.perform` does."""
    application = Application(module)
    for step in performed:
        application.perform(step)
    return application


def check_steps(module: ModuleOp, performed: Sequence[Step]) -> None:
    """Raise `IRError` at the first of these steps, all of which apply, that leaves a program that is not valid.

    A check takes as long as all of a step, and one at the end says mostly that there is nothing to look for.
    """
    with collect():
        copy = module.clone()
        perform_steps(copy, performed)
        try:
            check(copy)
        except Exception:
            application = Application(module)
            for step in performed:
                application.perform(step)
                _check_after(step, module)
            raise


def _check_after(step: Step, module: ModuleOp) -> None:
    try:
        check(module)
    except IRError as error:
        notes: list[tuple[str, Place]] = [*error.notes, (f"the {step.word()} is here", step)]
        raise IRError(f"{error.message} (after '{step.name}')", error.op, notes) from error


class Application:
    """A program that is being rewritten, and what handles stand for in it: at most one operation of a function."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.handles: dict[SSAValue, dict[FuncOp, Target]] = {}

    def perform(self, step: Step) -> None:
        """Run one step, without a check of the program.

        Raises `IRError` at a step that is declined or does not fit; the program may be half rewritten then.
        """
        try:
            if isinstance(step, NamedOp):
                self.handles[step.result] = self.find(step)
                return
            self._rewrite(step)
        except IRError as error:
            raise error if error.op is step else _misfit(step, error) from None

    def find(self, step: NamedOp) -> dict[FuncOp, Target]:
        """The operation of that name in each function that has one. Raises `IRError` when none has."""
        options = step.options
        name, candidates = options["op"], functions(self.module, options.get("func"))
        found = {func: find(func, name) for func in candidates}
        targets = {func: Target(op, name) for func, op in found.items() if op is not None}
        if targets:
            return targets
        missing = no_such(
            self.module, "op", name, [known for func in candidates for known in names_in(func)]
        )
        if missing.op is not self.module:
            raise missing
        at = position(self.module)
        raise IRError(
            f"finds nothing: the program{'' if at is None else f' {at.file}'} {missing.message}",
            step,
            [("the program is here", self.module)],
        )

    def name(self, handle: SSAValue) -> str | None:
        """The name by which the operation of a handle can be selected, or None where it has none, or several."""
        names = {name_of(target.op) for target in self.handles[handle].values()}
        return names.pop() if len(names) == 1 else None

    def _rewrite(self, step: Step) -> None:
        if step.is_on_program and isinstance(step, CombineOp | InlineOp):
            rewrite_all = _rewrite_all(step)
            for func in functions(self.module, step.options.get("func")):
                for remark in rewrite_all(func):
                    _demand(remark, step, func)
            return
        for func, place, rewrite in self._rewrites(step):
            remark = perform_in(func, rewrite)
            _demand(remark, step, place)
            for handle, op in zip(step.results, remark.made, strict=False):
                self.handles.setdefault(handle, {})[func] = Target(op, label_of(op))

    def _rewrites(self, step: Step) -> Iterator[tuple[FuncOp, Place, Callable[[], Remark]]]:
        """In each function, where the step rewrites and how: the pass of its name does it."""
        pass_type = _PASSES[step.__class__]()
        if step.is_on_program:
            one = pass_type(**step.options)
            rewrite = one.rewrite_argument if isinstance(step, SliceOp) else one.rewrite
            for func, argument in one.arguments(self.module):
                yield func, argument, partial(rewrite, func, argument)
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
        funcs = dict.fromkeys(func for targets in found for func in targets)
        for func in funcs:
            targets: list[Target] = []
            for handle, of_handle in zip(step.operands, found, strict=True):
                if (target := of_handle.get(func)) is None:
                    raise _one_sided(step, handle, func, [f for f in funcs if f in of_handle])
                _check_target(step, handle, func, target)
                targets.append(target)
            yield func, targets


def _one_sided(step: Step, handle: SSAValue, func: FuncOp, others: Sequence[FuncOp]) -> IRError:
    """The error for a handle that stands for nothing in a function where another handle of the step does."""
    lift = "".join(
        f'; {NamedOp.name} "…" in %program {{func = "{other.sym_name.data}"}} names in that function alone'
        for other in others[:1]
    )
    return IRError(
        f"takes {spelt(handle)}, which stands for nothing in function '{func.sym_name.data}', where another of its "
        f"handles stands for an operation{lift}",
        step,
        [("the function is here", func)],
    )


def _demand(remark: Remark, step: Step, place: Place) -> None:
    """Raise `IRError` at the step for a rewrite that declined at `place`."""
    if not remark.applied:
        raise IRError(
            f"declined [{remark.reason}]: {remark.message}",
            step,
            [(f"'{remark.operation}' is here", place)],
        )


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
    about, where = f"'{label_of(error.op)}' ({op_name(error.op)})", "the operation is here"
    if isinstance(error.op, FuncOp):
        about, where = f"function '{error.op.sym_name.data}'", "the function is here"
    elif isinstance(error.op, ModuleOp):
        about, where = "the program", "the program is here"
    message = f"does not fit {about}: {error.message}"
    return IRError(message, step, [(where, error.op), *error.notes])


def _rewrite_all(step: CombineOp | InlineOp) -> Callable[[FuncOp], list[Remark]]:
    """What the step does on the program, function by function."""
    if isinstance(step, CombineOp):
        from coconet_ir.passes.combine import combine_all

        return combine_all
    from coconet_ir.passes.inline import inline_all

    return inline_all


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
