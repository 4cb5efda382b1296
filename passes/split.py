"""Split an all_reduce into reduce_scatter + all_gather, or into reduce + broadcast (paper, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.arith import TruncFOp, TruncIOp
from coconet_ir.dialects.attributes import axes_text, dist_of, sizes_of, with_element
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    BroadcastOp,
    ReduceOp,
    ReduceScatterOp,
)
from coconet_ir.dialects.elements import default_accumulate, element_of, is_float
from coconet_ir.dialects.elementwise import width
from coconet_ir.schedule.remarks import Reason, Refused, Remark
from coconet_ir.schedule.rewriting import (
    applied,
    declined,
    place_before,
    rewrite_in,
    rewrite_selected,
)
from coconet_ir.schedule.selection import Names, name_of

Into = Literal["rs-ag", "reduce-broadcast"]
"""What an all_reduce can become."""


@dataclass(frozen=True)
class SplitPass(ModulePass):
    """Split the all_reduce named `op`. Reads and leaves the distributed level.

    `dim` is the dimension to cut (default: among those that no axis cuts yet the largest, `?` counting as
    largest), in units of `unit` elements. `axes`, some of the collective's, gives reduce_scatter over them, all_reduce
    over the rest and all_gather; all of them are as none. `into=reduce-broadcast` goes through the rank at `root`.
    """

    name = "coconet-split"

    op: str
    dim: int | None = None
    unit: int = 1
    axes: tuple[str, ...] = ()
    into: Into = "rs-ag"
    root: tuple[int, ...] = ()
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_selected(op, self.op, self.func, self.require, self.rewrite)

    def rewrite(self, func: FuncOp, target: Operation) -> Remark:
        """Split `target` in `func`. Raises `IRError` for options that do not fit it."""
        if not isinstance(target, AllReduceOp):
            raise IRError("is no coll.all_reduce: only those can be split", target)
        if self.into == "reduce-broadcast":
            return _through_root(func, target, self._roots(target))
        try:
            dim = self._dimension(target)
            return _through_slices(func, target, self._scattered(target), dim, self.unit)
        except Refused as refused:
            return declined("split", target, refused)

    def _roots(self, target: AllReduceOp) -> tuple[int, ...]:
        count = len(target.axes.data)
        if self.dim is not None or self.axes or self.unit != 1:
            raise IRError(
                "dim, unit and axes belong to into=rs-ag, not to reduce-broadcast", target
            )
        roots = self.root or (0,) * count
        if len(roots) != count or min(roots) < 0:
            raise IRError(
                f"root needs one coordinate of at least 0 for each of {count} axes", target
            )
        return roots

    def _scattered(self, target: AllReduceOp) -> tuple[str, ...]:
        """The axes over which the value is scattered between the two parts, in the collective's order."""
        axes = target.axes.data
        if self.root:
            raise IRError("root belongs to into=reduce-broadcast", target)
        if unknown := [axis for axis in self.axes if axis not in axes]:
            raise IRError(f"works over {axes_text(axes)}, not over '{unknown[0]}'", target)
        if len(set(self.axes)) != len(self.axes):
            raise IRError(f"axes={','.join(self.axes)} names an axis twice", target)
        chosen = tuple(axis for axis in axes if not self.axes or axis in self.axes)
        if chosen != axes and target.by_rank:
            raise Refused(
                Reason.ORDERED_BY_RANK,
                "order = ranks fixes the order of the additions over all axes; split without `axes`, or "
                "drop the order",
            )
        return chosen

    def _dimension(self, target: AllReduceOp) -> int:
        """The dimension to cut. Raises `Refused` when there is none."""
        sizes, dist = sizes_of(target.input.type), dist_of(target.input.type)
        if self.unit < 1:
            raise IRError(f"unit={self.unit} is out of range: a unit is at least 1 element", target)
        if not sizes:
            raise Refused(
                Reason.ZERO_DIMENSIONAL,
                "a 0-d tensor has no dimension to scatter; into=reduce-broadcast splits it",
            )
        if self.dim is not None:
            if not 0 <= self.dim < len(sizes):
                raise IRError(
                    f"dim={self.dim} is out of range: it has {len(sizes)} dimension(s)", target
                )
            cut = dist.by_dim.get(self.dim)
            if cut is not None and cut.unit != self.unit:
                raise Refused(
                    Reason.UNIT_CONFLICT,
                    f"dimension {self.dim} is sliced in units of {cut.unit} already; use unit={cut.unit}",
                )
            return self.dim
        free = [dim for dim in range(len(sizes)) if dim not in dist.by_dim]
        if not free:
            raise Refused(
                Reason.NO_FREE_DIMENSION,
                "every dimension is sliced by another axis already; name one with dim= to cut it further",
            )
        return max(free, key=lambda dim: (sizes[dim] == DYNAMIC_INDEX, sizes[dim], -dim))


def split(
    func: FuncOp,
    op: str,
    *,
    dim: int | None = None,
    unit: int = 1,
    axes: tuple[str, ...] = (),
    into: Into = "rs-ag",
    root: tuple[int, ...] = (),
) -> Remark:
    """Split the all_reduce named `op` of one function, as `coconet-split` does."""
    return rewrite_in(func, op, SplitPass(op, dim, unit, axes, into, root).rewrite)


def _through_slices(
    func: FuncOp, target: AllReduceOp, axes: tuple[str, ...], dim: int, unit: int
) -> Remark:
    names, base = Names(func), name_of(target) or "all_reduce"
    kind, wire, order = target.kind.data, target.wire, target.order
    rest = tuple(axis for axis in target.axes.data if axis not in axes)
    element = element_of(target.output.type)
    accumulate: Attribute | None = target.accumulate
    between = element
    if rest:
        accumulate = accumulate or default_accumulate(element_of(target.input.type))
        between = max(element, accumulate, key=width)
    scatter = ReduceScatterOp(
        target.input,
        kind,
        axes,
        dim,
        unit,
        wire=wire,
        accumulate=accumulate,
        order=order,
        element=between,
    )
    scatter.output.name_hint = names.fresh(f"{base}_rs")
    new: list[Operation] = [scatter]
    value: SSAValue = scatter.output
    if rest:
        reduce = AllReduceOp(value, kind, rest, wire=wire, accumulate=accumulate, element=between)
        reduce.output.name_hint = names.fresh(f"{base}_ar")
        new.append(reduce)
        value = reduce.output
    if between != element:
        narrow = TruncFOp if is_float(element) else TruncIOp
        new.append(narrow(value, with_element(value.type, element)))
        value = new[-1].results[0]
        value.name_hint = names.fresh(f"{base}_trunc")
    gather = AllGatherOp(value, axes)
    gather.output.name_hint = names.fresh(f"{base}_ag")
    new.append(gather)
    message = (
        f"reduce_scatter '{scatter.output.name_hint}' and all_gather '{gather.output.name_hint}' over "
        f"{axes_text(axes)} on dimension {dim}"
    )
    if rest:
        message += f", all_reduce '{new[1].results[0].name_hint}' over {axes_text(rest)} between"
    return _replace(target, new, message)


def _through_root(func: FuncOp, target: AllReduceOp, roots: tuple[int, ...]) -> Remark:
    names, base = Names(func), name_of(target) or "all_reduce"
    axes = target.axes.data
    reduce = ReduceOp(
        target.input,
        target.kind.data,
        axes,
        roots,
        wire=target.wire,
        accumulate=target.accumulate,
        order=target.order,
        element=element_of(target.output.type),
    )
    reduce.output.name_hint = names.fresh(f"{base}_reduce")
    broadcast = BroadcastOp(reduce.output, axes, roots)
    broadcast.output.name_hint = names.fresh(f"{base}_bcast")
    message = (
        f"reduce '{reduce.output.name_hint}' and broadcast '{broadcast.output.name_hint}' over "
        f"{axes_text(axes)} through root {list(roots)}"
    )
    return _replace(target, [reduce, broadcast], message)


def _replace(target: AllReduceOp, new: list[Operation], message: str) -> Remark:
    remark = applied("split", target, message, (new[0], new[-1]))
    place_before(target, new)
    last = new[-1].results[0]
    target.output.name_hint = None
    target.output.replace_all_uses_with(last)
    target.detach()
    target.erase()
    return remark
