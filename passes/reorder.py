"""Move an all_gather (or a broadcast) below the operations that read it, so that they run on slices (paper, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from coconet_ir.analysis.bytes import at_most, show
from coconet_ir.analysis.movement import Movement, plan_movement
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text
from coconet_ir.dialects.coll import AllGatherOp, BroadcastOp
from coconet_ir.passes.movement import perform
from coconet_ir.schedule.remarks import Reason, Refused, Remark
from coconet_ir.schedule.rewriting import applied, declined, rewrite_in, rewrite_selected
from coconet_ir.schedule.selection import by_name, find, label_of, no_such


@dataclass(frozen=True)
class ReorderPass(ModulePass):
    """Move the all_gather or broadcast named `op` below its readers. Reads and leaves the distributed level.

    `ops` names exactly the operations that move, all or none; without it, all that can move do. A rewrite that is
    not provably free of more bytes on the wire is declined unless `allow-more-bytes=true`.
    """

    name = "coconet-reorder"

    op: str
    ops: tuple[str, ...] = ()
    allow_more_bytes: bool = False
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_selected(op, self.op, self.func, self.require, self.rewrite)

    def rewrite(self, func: FuncOp, target: Operation) -> Remark:
        """Move `target` in `func`. Raises `IRError` for options that do not fit it."""
        if not isinstance(target, AllGatherOp | BroadcastOp):
            raise IRError("is neither a coll.all_gather nor a coll.broadcast", target)
        chosen = {self._chosen(func, name) for name in self.ops} if self.ops else None
        try:
            plan = plan_movement(func, target, chosen)
        except Refused as refused:
            return declined("reorder", target, refused)
        if not self.allow_more_bytes and not at_most(plan.bytes_after, plan.bytes_before):
            plan.discard()
            return declined("reorder", target, _more_bytes(plan, self.ops))
        remark = applied("reorder", target, _summary(target, plan))
        perform(func, plan)
        return remark

    def _chosen(self, func: FuncOp, name: str) -> Operation:
        if (op := find(func, name)) is None:
            raise no_such(func, "ops", name, list(by_name(func)))
        return op


def reorder(
    func: FuncOp, op: str, *, ops: tuple[str, ...] = (), allow_more_bytes: bool = False
) -> Remark:
    """Move the all_gather or broadcast named `op` of one function, as `coconet-reorder` does."""
    return rewrite_in(func, op, ReorderPass(op, ops, allow_more_bytes).rewrite)


def _more_bytes(plan: Movement, ops: tuple[str, ...]) -> Refused:
    """Why a plan is declined for its bytes, and what would lift that where `ops` name what moves."""
    lift = ""
    if ops:
        lift = "name others with ops= too, or none, so that all move that can; "
    elif len(plan.moved) > 1:
        lift = "name with ops= what shall move; "
    return Refused(
        Reason.MORE_BYTES,
        f"a rank would send {show(plan.bytes_after)} bytes instead of {show(plan.bytes_before)}, which may be "
        f"more: {lift}mark state that nobody needs whole; or allow it (allow-more-bytes=true, in a schedule "
        "allow_more_bytes)",
    )


def _summary(target: AllGatherOp | BroadcastOp, plan: Movement) -> str:
    text = (
        f"{len(plan.moved)} operation(s) now run before {target.name.split('.')[1]} over "
        f"{axes_text(target.axes.data)}; a rank sends {show(plan.bytes_after)} bytes, before "
        f"{show(plan.bytes_before)}"
    )
    for op, refused in list(plan.stops.items())[:3]:
        text += f"; stops at '{label_of(op)}' [{refused.reason}]: {refused.message}"
    return text
