"""Slice a replicated value and gather it again: where sliced sends, sequence parallelism and sharded state start."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.dist import Cut
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text, dist_of
from coconet_ir.dialects.coll import AllGatherOp
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.schedule.remarks import Reason, Refused, Remark
from coconet_ir.schedule.rewriting import (
    applied,
    check_axes,
    declined,
    rewrite_in,
    rewrite_selected,
)
from coconet_ir.schedule.selection import Names, name_of


@dataclass(frozen=True)
class SlicePass(ModulePass):
    """Make the result of the operation named `op` an all_gather of its own slice.

    Reads and leaves the distributed level.

    `over` lists the axes, outer first, that cut dimension `dim` in units of `unit` elements; the value must be
    replicated on them.
    """

    name = "coconet-slice"

    op: str
    over: tuple[str, ...]
    dim: int = 0
    unit: int = 1
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_selected(op, self.op, self.func, self.require, self.rewrite)

    def rewrite(self, func: FuncOp, target: Operation) -> Remark:
        """Slice the first result of `target`. Raises `IRError` for options that do not fit it."""
        value = target.results[0] if target.results else None
        rank = None if value is None else rank_of(value.type)
        if value is None or rank is None:
            raise IRError("makes no tensor that could be sliced", target)
        if rank and not 0 <= self.dim < rank:
            raise IRError(
                f"dim={self.dim} is out of range: the result has {rank} dimension(s)", target
            )
        if self.unit < 1:
            raise IRError(f"unit={self.unit} is out of range: a unit is at least 1 element", target)
        if len(set(self.over)) != len(self.over):
            raise IRError(f"over={','.join(self.over)} names an axis twice", target)
        check_axes(func, self.over, target)
        try:
            self._check(value, rank)
            return _slice(func, target, value, self)
        except Refused as refused:
            return declined("slice", target, refused)

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


def slice_value(
    func: FuncOp, op: str, over: tuple[str, ...], *, dim: int = 0, unit: int = 1
) -> Remark:
    """Slice the result of the operation named `op` of one function, as `coconet-slice` does."""
    return rewrite_in(func, op, SlicePass(op, over, dim, unit).rewrite)


def _slice(func: FuncOp, target: Operation, value: SSAValue, options: SlicePass) -> Remark:
    names, base = Names(func), name_of(target) or "value"
    readers = list(value.uses)
    part = SliceOp(value, options.over, options.dim, options.unit)
    gather = AllGatherOp(part.output, options.over)
    part.output.name_hint = names.fresh(f"{base}_slice")
    gather.output.name_hint = names.fresh(f"{base}_ag")
    for op in (gather, part):
        op.location = target.location
        if (block := target.parent) is not None:
            block.insert_op_after(op, target)
    for use in readers:
        use.operation.operands[use.index] = gather.output
    return applied(
        "slice",
        target,
        f"its readers now read all_gather '{gather.output.name_hint}' of slice "
        f"'{part.output.name_hint}' over {axes_text(options.over)} on dimension {options.dim}",
        (part, gather),
    )
