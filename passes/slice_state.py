"""Keep arguments in slices: those that are read in slices and stored from a gather of slices (sharded state)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.memory import data_uses, reads
from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.verifier import RESLICED, STATE
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.coll import AllGatherOp
from coconet_ir.dialects.comp import UpdateOp, is_target
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.schedule.remarks import Reason, Refused, Remark, location_of
from coconet_ir.schedule.rewriting import demand, perform_in, rewritable
from coconet_ir.schedule.selection import (
    argument_name,
    called,
    find_arguments,
    label_of,
)
from coconet_ir.xdsl_compat import set_type


@dataclass(frozen=True)
class SliceStatePass(ModulePass):
    """Give the arguments named `args`, by default those marked `coconet.state`, the layout in which they are read.

    Reads and leaves the distributed level.

    An argument must be read in slices of one layout alone, and stored, if at all, from an all_gather of that layout,
    which goes. Its former type is kept in its mark `coconet.resliced`.
    """

    name = "coconet-slice-state"

    args: tuple[str, ...] = ()
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, argument in self.arguments(op):
            remark = perform_in(func, partial(self.rewrite, func, argument))
            if self.require:
                demand(remark, func)

    def arguments(self, module: ModuleOp) -> list[tuple[FuncOp, BlockArgument]]:
        """What it rewrites: arguments, each with its function. Raises `IRError` when there are none."""
        return _chosen(module, rewritable(module, self.func), self.args)

    def rewrite(self, func: FuncOp, argument: BlockArgument) -> Remark:
        """Keep `argument` of `func` in slices. Raises `IRError` for a scalar."""
        name = argument_name(func, argument)
        if rank_of(argument.type) is None:
            raise IRError(f"takes %{name} as a scalar, which cannot be kept in slices", func)
        try:
            plan = _plan(func, argument, name)
        except Refused as refused:
            return Remark(
                "slice-state", name, location_of(argument), refused.message, refused.reason
            )
        return Remark(
            "slice-state", name, location_of(argument), _perform(func, argument, name, plan)
        )


def slice_state(func: FuncOp, args: Sequence[str] = ()) -> list[Remark]:
    """Keep arguments of one function in slices, as `coconet-slice-state` does."""
    rewrite = SliceStatePass(tuple(args)).rewrite
    chosen = _chosen(func, (func,), args)
    return [perform_in(func, partial(rewrite, func, argument)) for _, argument in chosen]


def _chosen(
    where: Operation, candidates: Sequence[FuncOp], names: Sequence[str]
) -> list[tuple[FuncOp, BlockArgument]]:
    """The arguments of these names, or those marked as state. Raises `IRError` when there are none."""
    if names:
        return find_arguments(where, candidates, "args", names)
    marked = [
        (func, arg)
        for func in candidates
        if func.arg_attrs is not None
        for arg, marks in zip(func.body.block.args, func.arg_attrs, strict=True)
        if isinstance(marks.data.get(STATE), UnitAttr)
    ]
    if not marked:
        raise IRError(f"has no argument marked {STATE}: mark one, or name it with args=", where)
    return marked


@dataclass(frozen=True)
class _Plan:
    """How an argument is kept in slices."""

    type: Attribute
    """The type that it takes."""
    slices: list[SliceOp]
    """The slices of it and of its update's result, which go."""
    update: UpdateOp | None
    gather: AllGatherOp | None
    """What the update stores."""


def _plan(func: FuncOp, argument: BlockArgument, name: str) -> _Plan:
    """How the argument can be kept in slices. Raises `Refused`."""
    slices = _slices(func, argument, f"%{name}")
    updates = (use.operation for use in argument.uses if is_target(use.operation, use.index))
    update = next(updates, None)
    if not isinstance(update, UpdateOp):
        if not slices:
            raise Refused(
                Reason.NOT_SLICED,
                f"%{name} is neither read in slices nor stored from an all_gather, so no layout follows for it: "
                "slice it (coconet-slice)",
            )
        return _Plan(_one_type(name, slices), slices, None, None)
    label = label_of(update)
    if update.parent is not func.body.block:
        raise _nested(f"update '{label}' of %{name}")
    slices += _slices(func, update.output, f"update '{label}' of %{name}")
    gather = _gather(update, name)
    type = _one_type(name, slices) if slices else gather.input.type
    if gather.input.type != type:
        raise Refused(
            Reason.STORED_WHOLE,
            f"update '{label}' stores an all_gather from {dist_of(gather.input.type)}, but %{name} is read as "
            f"{dist_of(type)}: slice both alike",
        )
    if (other := _overtaking(gather, update)) is not None:
        raise Refused(
            Reason.UPDATE_ORDER,
            f"'{called(gather.output)}' is a copy of what update '{label_of(other)}' overwrites before "
            f"'{label}' stores it: put '{label}' before '{label_of(other)}'",
        )
    return _Plan(type, slices, update, gather)


def _slices(func: FuncOp, value: SSAValue, what: str) -> list[SliceOp]:
    """The slices that read a value. Raises `Refused` for any other reader, and for one inside a region."""
    found: list[SliceOp] = []
    for op, _ in reversed(list(reads(value))):
        if op.parent is not func.body.block:
            raise _nested(f"'{label_of(op)}' reads {what} and")
        if not isinstance(op, SliceOp):
            raise _read_whole(op, what)
        found.append(op)
    return found


def _read_whole(op: Operation, what: str) -> Refused:
    copy = "a gathered copy (coconet-slice)"
    text = f"'{label_of(op)}' reads {what} whole: let it run on slices (coconet-reorder), or read {copy}"
    if isinstance(op, ReturnOp):
        text = f"the function returns {what} whole: let it return {copy}"
    return Refused(Reason.READ_WHOLE, text)


def _gather(update: UpdateOp, name: str) -> AllGatherOp:
    """The all_gather whose result an update stores. Raises `Refused` when it stores anything else."""
    value = update.value
    while isinstance(value, OpResult) and isinstance(value.op, RegionOp):
        value = value.op.yielded[value.index]
    if not isinstance(value, OpResult) or not isinstance(value.op, AllGatherOp):
        raise Refused(
            Reason.STORED_WHOLE,
            f"'{called(update.value)}', which update '{label_of(update)}' stores into %{name}, is no all_gather: "
            "compute it on slices (coconet-reorder), or slice it (coconet-slice)",
        )
    if value is not update.value:
        raise _nested(f"all_gather '{called(value)}', which update '{label_of(update)}' stores,")
    return value.op


def _nested(what: str) -> Refused:
    return Refused(Reason.NESTED_REGION, f"{what} stands in a region: inline it first")


def _one_type(name: str, slices: Sequence[SliceOp]) -> Attribute:
    """The type of all the slices. Raises `Refused` when they have several."""
    first = slices[0]
    for other in slices:
        if other.output.type != first.output.type:
            raise Refused(
                Reason.SEVERAL_LAYOUTS,
                f"%{name} is read as {dist_of(first.output.type)} in '{label_of(first)}', but as "
                f"{dist_of(other.output.type)} in '{label_of(other)}': slice it in one way",
            )
    return first.output.type


def _overtaking(gather: AllGatherOp, update: UpdateOp) -> UpdateOp | None:
    """An update between a gather and the update that stores it, of an argument whose memory the gather reads."""
    op = gather.next_op
    while op is not None and op is not update:
        for step in op.walk():
            if isinstance(step, UpdateOp):
                if any(reader is gather for reader, _ in data_uses(step.target)):
                    return step
        op = op.next_op
    return None


def _perform(func: FuncOp, argument: BlockArgument, name: str, plan: _Plan) -> str:
    """Keep the argument in slices; returns what that saves."""
    former = argument.type
    set_type(argument, plan.type)
    inputs = [arg.type for arg in func.body.block.args]
    func.function_type = FunctionType.from_lists(inputs, func.function_type.outputs.data)
    _mark(func, argument, former)
    for part in plan.slices:
        _replace(part, part.input)
    old, new = dist_of(former), dist_of(plan.type)
    axes = [axis for cut in new.cuts for axis in cut.axes if axis not in old.by_axis]
    share = axes[0] if len(axes) == 1 else f"({'*'.join(axes)})"
    message = f"%{name} is now kept as {new}: each rank holds 1/{share} of what it held"
    if plan.update is not None and plan.gather is not None:
        message += f"; {_store(plan.update, plan.gather)}"
    return message


def _mark(func: FuncOp, argument: BlockArgument, former: Attribute) -> None:
    """Keep the type that the argument had at first."""
    unmarked = [DictionaryAttr({}) for _ in func.body.block.args]
    marks = unmarked if func.arg_attrs is None else list(func.arg_attrs)
    marks[argument.index] = DictionaryAttr({RESLICED: former, **marks[argument.index].data})
    func.arg_attrs = ArrayAttr(marks)


def _store(update: UpdateOp, gather: AllGatherOp) -> str:
    """Store what was gathered, without the gather; returns what became of that."""
    label = called(gather.output)
    update.operands[1] = gather.input
    set_type(update.output, gather.input.type)
    if (read := next(reads(gather.output), None)) is not None:
        return f"all_gather '{label}' stays for '{label_of(read[0])}'"
    _replace(gather, gather.input)
    return f"all_gather '{label}' is gone"


def _replace(op: SliceOp | AllGatherOp, value: SSAValue) -> None:
    """Let everybody who uses the result of an operation use `value`, and erase the operation."""
    op.output.name_hint = None
    op.output.replace_all_uses_with(value)
    op.detach()
    op.erase()
