"""Make operations one kernel: computations alone, or with the collectives at their ends (paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.dependences import Dependences
from coconet_ir.analysis.fusion import check_fused
from coconet_ir.analysis.in_place import is_elementwise
from coconet_ir.analysis.rules import rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.passes.regions import check_convex, enclose, is_free, region_name, taken_in
from coconet_ir.schedule.remarks import Refused, Remark
from coconet_ir.schedule.rewriting import applied, declined, rewrite_set, rewrite_set_in
from coconet_ir.schedule.selection import label_of


@dataclass(frozen=True)
class FusePass(ModulePass):
    """Put the operations named `ops`, all or none, into one `coll.fused`. Reads and leaves the distributed level.

    `between` also takes in what lies on paths between them, and, of what only they read, splats, constants,
    broadcasts, views and, where that is legal, what is computed element by element.
    `named` is the name of the result, by default `fused_N`, N being the first of them.
    """

    name = "coconet-fuse"

    ops: tuple[str, ...]
    between: bool = False
    named: str | None = None
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_set(op, self.ops, self.func, self.require, self.rewrite)

    def rewrite(self, func: FuncOp, targets: Sequence[Operation]) -> Remark:
        """Fuse `targets` of `func`. Raises `IRError` for options that do not fit them."""
        dependences = Dependences(func)
        first = next(op for op in dependences.order if op in targets)
        if len(targets) < 2 and not (self.between and len(taken_in(dependences, targets)) > 1):
            raise IRError("is the only operation named: two or more are fused", first)
        named = region_name(func, self.named, f"fused_{label_of(first)}", first)
        refusals: list[Refused] = []
        for chosen in self._sets(dependences, targets):
            members = [op for op in dependences.order if op in chosen]
            try:
                check_convex(dependences, chosen)
                check_fused(members)
            except Refused as refused:
                refusals.append(refused)
            else:
                return _enclosed(func, dependences, members, first, named)
        return declined("fuse", first, refusals[-1])

    def _sets(
        self, dependences: Dependences, targets: Sequence[Operation]
    ) -> Iterator[set[Operation]]:
        """What to fuse, the largest set first: what is computed beside the way may be what stands in it."""
        if not self.between:
            yield set(targets)
            return
        yield taken_in(dependences, targets, _is_absorbed)
        yield taken_in(dependences, targets)


def fuse(
    func: FuncOp, ops: Sequence[str], *, between: bool = False, named: str | None = None
) -> Remark:
    """Fuse the operations named `ops` of one function, as `coconet-fuse` does."""
    return rewrite_set_in(func, ops, FusePass(tuple(ops), between, named).rewrite)


def _enclosed(
    func: FuncOp,
    dependences: Dependences,
    members: Sequence[Operation],
    first: Operation,
    named: str,
) -> Remark:
    axes = next((op.axes for op in members if isinstance(op, CollectiveOp)), None)
    properties = {} if axes is None else {"axes": axes}
    region = enclose(func, dependences, members, FusedOp, named, properties)
    over = "" if axes is None else f" over {axes_text(axes.data)}"
    message = (
        f"{len(members)} operation(s) are one kernel '{named}'{over}, which gives "
        f"{len(region.results)} value(s)"
    )
    return applied("fuse", first, message, (region,))


def _is_absorbed(op: Operation) -> bool:
    """Whether an operation runs as part of the kernel that reads its result, at no cost but its own arithmetic."""
    if is_free(op):
        return True
    rule = rule_of(op)
    return rule is not None and bool(rule.data) and all(is_elementwise(op, i) for i in rule.data)
