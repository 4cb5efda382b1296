"""Undo fuse, overlap and combine: the operations of a region take its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.passes.regions import dissolve
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.rewriting import (
    applied,
    perform_in,
    rewritable,
    rewrite_in,
    rewrite_selected,
)


@dataclass(frozen=True)
class InlineSchedulePass(ModulePass):
    """Inline the region named `op`, or all there are, also within others. Reads and leaves the distributed level."""

    name = "coconet-inline-schedule"

    op: str | None = None
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.op is not None:
            rewrite_selected(op, self.op, self.func, False, self.rewrite)
            return
        for func in rewritable(op, self.func):
            inline_all(func)

    def rewrite(self, func: FuncOp, target: Operation) -> Remark:
        """Inline `target`. Raises `IRError` for what is no region."""
        if not isinstance(target, RegionOp):
            raise IRError(
                "is no coll.fused, coll.overlap or coll.group: there is nothing to inline", target
            )
        remark = applied("inline-schedule", target, "")
        inside = dissolve(target)
        return replace(
            remark, message=f"its {len(inside)} operation(s) stand in its place", made=tuple(inside)
        )


def inline_schedule(func: FuncOp, op: str | None = None) -> list[Remark]:
    """Inline the region named `op` of one function, or all it has, as `coconet-inline-schedule` does."""
    if op is not None:
        return [rewrite_in(func, op, InlineSchedulePass(op).rewrite)]
    return inline_all(func)


def inline_all(func: FuncOp) -> list[Remark]:
    """Inline every region of a function, the outer ones first."""
    remarks: list[Remark] = []
    while region := next((op for op in func.body.block.ops if isinstance(op, RegionOp)), None):
        remarks.append(perform_in(func, lambda r=region: InlineSchedulePass().rewrite(func, r)))
    return remarks
