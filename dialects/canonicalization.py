"""Folds of views and gathers (design, section 5): slice(all_gather x) = x, all_gather(slice x) = x, sliced splats.

The first and the last any pass may use; the second only `canonicalize` does, since a schedule starts from it.
"""

from __future__ import annotations

from xdsl.ir import OpResult
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from coconet_ir.analysis.rules import makes_freely
from coconet_ir.dialects.coll import AllGatherOp
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.xdsl_compat import set_type


class SliceOfGather(RewritePattern):
    """slice(all_gather x) = x, where both have one layout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        source = op.input.owner
        if isinstance(source, AllGatherOp) and source.input.type == op.output.type:
            rewriter.replace(op, (), [source.input])


class SliceOfMade(RewritePattern):
    """A slice of a splat or constant is the same splat or constant, with the sliced type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.input, OpResult) and makes_freely(op.input.op):
            made = op.input.op.clone()
            set_type(made.results[0], op.output.type)
            made.location = op.location
            rewriter.replace(op, made)


class GatherOfSlice(RewritePattern):
    """all_gather(slice x) = x, where both have one layout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllGatherOp, rewriter: PatternRewriter, /) -> None:
        source = op.input.owner
        if isinstance(source, SliceOp) and source.input.type == op.output.type:
            rewriter.replace(op, (), [source.input])
