"""Slice a replicated value and gather it again: where sliced sends, sequence parallelism and sharded state start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.dist import Cut
from coconet_ir.analysis.memory import reads
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text, dist_of
from coconet_ir.dialects.coll import AllGatherOp
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.schedule.remarks import Reason, Refused, Remark, location_of
from coconet_ir.schedule.rewriting import (
    check_axes,
    demand,
    perform_in,
    rewritable,
    rewrite_in,
    rewrite_selected,
)
from coconet_ir.schedule.selection import (
    Names,
    argument_name,
    called,
    find_arguments,
    label_of,
)

Use = tuple[Operation, int]
"""An operation and the index of its operand."""


@dataclass(frozen=True)
class SlicePass(ModulePass):
    """Make the result of the operation named `op`, or the argument named `arg`, an all_gather of its own slice.

    Reads and leaves the distributed level.

    `over` lists the axes, outer first, that cut dimension `dim` in units of `unit` elements; the value must be
    replicated on them.
    """

    name = "coconet-slice"

    over: tuple[str, ...]
    op: str | None = None
    arg: str | None = None
    dim: int = 0
    unit: int = 1
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.op is not None and self.arg is None:
            rewrite_selected(op, self.op, self.func, self.require, self.rewrite)
        elif self.op is None and self.arg is not None:
            for func, argument in self.arguments(op):
                remark = perform_in(func, partial(self.rewrite_argument, func, argument))
                if self.require:
                    demand(remark, func)
        else:
            raise IRError("pass 'coconet-slice' takes either op= or arg=")

    def arguments(self, module: ModuleOp) -> list[tuple[FuncOp, BlockArgument]]:
        """The arguments named `arg`, each with its function. Raises `IRError` when there are none."""
        names = () if self.arg is None else (self.arg,)
        return find_arguments(module, rewritable(module, self.func), "arg", names)

    def rewrite(self, func: FuncOp, target: Operation) -> Remark:
        """Slice the first result of `target`. Raises `IRError` for options that do not fit it."""
        value = target.results[0] if target.results else None
        if value is None or rank_of(value.type) is None:
            raise IRError("makes no tensor that could be sliced", target)
        readers = [(use.operation, use.index) for use in value.uses]
        return self._rewrite(func, value, "the result", target, label_of(target), readers)

    def rewrite_argument(self, func: FuncOp, argument: BlockArgument) -> Remark:
        """Slice an argument of `func`. Raises `IRError` for options that do not fit it."""
        name = argument_name(func, argument)
        if rank_of(argument.type) is None:
            raise IRError(f"takes %{name} as a scalar, which cannot be sliced", func)
        return self._rewrite(func, argument, f"%{name}", func, name, reads(argument))

    def _rewrite(
        self,
        func: FuncOp,
        value: SSAValue,
        what: str,
        place: Operation,
        label: str,
        readers: Iterable[Use],
    ) -> Remark:
        """Slice a value that messages call `what` at `place`, and the remark `label`."""
        rank = rank_of(value.type) or 0
        if rank and not 0 <= self.dim < rank:
            raise IRError(f"dim={self.dim} is out of range: {what} has {rank} dimension(s)", place)
        if self.unit < 1:
            raise IRError(f"unit={self.unit} is out of range: a unit is at least 1 element", place)
        if len(set(self.over)) != len(self.over):
            raise IRError(f"over={','.join(self.over)} names an axis twice", place)
        check_axes(func, self.over, place)
        location = location_of(place if isinstance(value, OpResult) else value)
        try:
            self._check(value, rank)
        except Refused as refused:
            return Remark("slice", label, location, refused.message, refused.reason)
        part, gather = self._slice(func, value, list(readers))
        message = (
            f"its readers now read all_gather '{gather.output.name_hint}' of slice "
            f"'{part.output.name_hint}' over {axes_text(self.over)} on dimension {self.dim}"
        )
        return Remark("slice", label, location, message, made=(part, gather))

    def _check(self, value: SSAValue, rank: int) -> None:
        """Raise `Refused` when the value cannot be sliced so."""
        if not rank:
            raise Refused(Reason.ZERO_DIMENSIONAL, "a 0-d tensor has no dimension to slice")
        dist = dist_of(value.type)
        for axis in self.over:
            if (entry := dist.by_axis.get(axis)) is not None:
                state = entry.state if isinstance(entry, Cut) else entry
                raise Refused(
                    Reason.NOT_REPLICATED,
                    f"it is {state} on axis '{axis}'; only a value that is replicated there can be sliced",
                )
        cut = dist.by_dim.get(self.dim)
        if cut is not None and cut.unit != self.unit:
            raise Refused(
                Reason.UNIT_CONFLICT,
                f"dimension {self.dim} is sliced in units of {cut.unit} already; use unit={cut.unit}",
            )

    def _slice(
        self, func: FuncOp, value: SSAValue, readers: Iterable[Use]
    ) -> tuple[SliceOp, AllGatherOp]:
        """Make the slice and its gather, and let the readers read the gather, but those that slice alike."""
        names, base, block = Names(func), called(value), func.body.block
        part = SliceOp(value, self.over, self.dim, self.unit)
        gather = AllGatherOp(part.output, self.over)
        part.output.name_hint = names.fresh(f"{base}_slice")
        gather.output.name_hint = names.fresh(f"{base}_ag")
        if isinstance(value, OpResult):
            block.insert_ops_after((part, gather), value.op)
        elif block.first_op is not None:
            block.insert_ops_before((part, gather), block.first_op)
        part.location = gather.location = (
            value.op if isinstance(value, OpResult) else func
        ).location
        for op, index in readers:
            alike = isinstance(op, SliceOp) and op.output.type == part.output.type
            if not alike or op.parent is not block:
                op.operands[index] = gather.output
        return part, gather


def slice_value(
    func: FuncOp, op: str, over: tuple[str, ...], *, dim: int = 0, unit: int = 1
) -> Remark:
    """Slice the result of the operation named `op` of one function, as `coconet-slice` does."""
    return rewrite_in(func, op, SlicePass(over, op, dim=dim, unit=unit).rewrite)


def slice_argument(
    func: FuncOp, arg: str, over: tuple[str, ...], *, dim: int = 0, unit: int = 1
) -> Remark:
    """Slice the argument named `arg` of one function, as `coconet-slice` does."""
    ((_, argument),) = find_arguments(func, (func,), "arg", (arg,))
    slice_pass = SlicePass(over, arg=arg, dim=dim, unit=unit)
    return perform_in(func, partial(slice_pass.rewrite_argument, func, argument))
