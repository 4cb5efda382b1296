"""The check of regions on which xDSL's `verify` of an operation fails, or which it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ConditionOp, WhileOp, YieldOp
from xdsl.ir import Attribute

from coconet_ir.diagnostics import IRError


def check_bodies(module: ModuleOp) -> None:
    """Raise `IRError` for a `gpu.func` without a body, and for an `scf.while` whose regions pass on other values."""
    for op in module.walk():
        if isinstance(op, gpu.FuncOp) and not op.body.blocks:
            raise IRError("has no body: a kernel is one block that ends in gpu.return", op)
        if isinstance(op, WhileOp):
            _check_while(op)


def _check_while(op: WhileOp) -> None:
    before, after = op.before_region.blocks.first, op.after_region.blocks.first
    if before is None or after is None:
        raise IRError("has an empty region: it has one block before its condition, one after", op)
    condition, last = before.last_op, after.last_op
    if not isinstance(condition, ConditionOp) or not isinstance(last, YieldOp):
        raise IRError("must have a region that ends in scf.condition, and one in scf.yield", op)
    given, results = op.arguments.types, op.res.types
    _check_same(op, "its first region takes", before.arg_types, "it is given", given)
    _check_same(op, "scf.condition gives", condition.args.types, "its results are", results)
    _check_same(op, "its second region takes", after.arg_types, "its results are", results)
    _check_same(op, "scf.yield gives", last.arguments.types, "its first region takes", given)


def _check_same(
    op: WhileOp, what: str, have: Sequence[Attribute], like: str, wanted: Sequence[Attribute]
) -> None:
    if tuple(have) != tuple(wanted):
        raise IRError(f"has other types: {what} ({_listed(have)}), {like} ({_listed(wanted)})", op)


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))
