"""Folds of views and gathers (design, section 5).

slice(all_gather x) = x, all_gather(slice x) = x, and slices of splats, constants and broadcasts. The first and the
last any pass may use; the second only `canonicalize` does, since a schedule starts from it. A gather that stands in
a region stays: the region was made for its collectives. So does one of an argument that is updated: it is a copy.
What nobody needs goes from regions too, and then those that it leaves without what they were made for.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, OpResult
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from coconet_ir.analysis.chunks import check_overlap
from coconet_ir.analysis.dist import Dist
from coconet_ir.analysis.fusion import check_fused
from coconet_ir.analysis.memory import is_updated
from coconet_ir.analysis.rules import can_make
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import dist_of, with_dist
from coconet_ir.dialects.coll import AllGatherOp
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.dialects.regions import FusedOp, OverlapOp, RegionOp
from coconet_ir.schedule.remarks import Refused
from coconet_ir.schedule.selection import NAME
from coconet_ir.xdsl_compat import set_type


def remade(value: OpResult, dist: Dist) -> Operation:
    """A copy of the splat, constant or broadcast that makes `value`, in another layout, without a name yet."""
    copy = value.op.clone()
    copy.attributes.pop(NAME, None)
    copy.results[0].name_hint = None
    lay(copy.results[0], dist)
    return copy


def lay(result: OpResult, dist: Dist) -> None:
    """Give a result another layout in place; a constant's value has the type of its result."""
    set_type(result, with_dist(result.type, dist))
    op = result.op
    if isinstance(op, ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
        type = cast(TensorType[AnyDenseElement], result.type)
        op.properties["value"] = DenseIntOrFPElementsAttr(type, op.value.data)


class SliceOfGather(RewritePattern):
    """slice(all_gather x) = x, where both have one layout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        source = op.input.owner
        if (
            isinstance(source, AllGatherOp)
            and source.input.type == op.output.type
            and not isinstance(source.parent_op(), RegionOp)
            and not is_updated(source.input)
        ):
            rewriter.replace(op, (), [source.input])


class SliceOfMade(RewritePattern):
    """A slice of a splat, constant or broadcast is the same operation with the sliced type, where that is free."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        dist = dist_of(op.output.type)
        if isinstance(op.input, OpResult) and can_make(op.input.op, dist):
            made = remade(op.input, dist)
            made.location = op.location
            made.results[0].name_hint = op.output.name_hint
            rewriter.replace(op, made)


class GatherOfSlice(RewritePattern):
    """all_gather(slice x) = x, where both have one layout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllGatherOp, rewriter: PatternRewriter, /) -> None:
        source = op.input.owner
        if (
            isinstance(source, SliceOp)
            and source.input.type == op.output.type
            and not isinstance(op.parent_op(), RegionOp)
            and not is_updated(source.input)
        ):
            rewriter.replace(op, (), [source.input])


class SpentRegion(RewritePattern):
    """An overlap with one stage, or what else can no longer be what it says, is inlined; `over` needs collectives."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RegionOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, FusedOp) and op.axes is not None and not any(op.collectives()):
            del op.properties["axes"]
            rewriter.notify_op_modified(op)
        last = op.body.block.last_op
        if last is None or _holds(op):
            return
        values = last.operands
        rewriter.erase(last)
        rewriter.inline_block(op.body.block, InsertPoint.before(op))
        rewriter.replace(op, (), values)


def _holds(op: RegionOp) -> bool:
    """Whether the operations of a region can still run as it says; what is a kernel on buffers can."""
    try:
        if isinstance(op, FusedOp):
            if any(step.name.startswith("bufferization.") for step in op.steps):
                return True
            check_fused(op.steps)
        elif isinstance(op, OverlapOp):
            check_overlap(op.steps, None if op.dim is None else op.dim.value.data)
    except (Refused, IRError):
        return False
    return True
