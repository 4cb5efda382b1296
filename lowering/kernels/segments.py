"""Which segment of a flat tensor an element lies in; segment t is [offsets[t], offsets[t+1])."""

from __future__ import annotations

from xdsl.dialects.memref import LoadOp
from xdsl.dialects.scf import ConditionOp, WhileOp, YieldOp
from xdsl.ir import Region, SSAValue

from coconet_ir.dialects.arith import CmpiOp, IndexCastOp
from coconet_ir.lowering.kernels.code import INDEX, Code
from coconet_ir.lowering.kernels.indices import Size


class Offsets:
    """The bounds of `count` segments in a buffer of i64."""

    def __init__(self, buffer: SSAValue, count: SSAValue):
        self.buffer, self.count = buffer, count

    def bound(self, code: Code, which: SSAValue) -> SSAValue:
        """Where a segment begins, and the one before it ends, as an index."""
        return code.put(IndexCastOp(code.put(LoadOp.get(self.buffer, [which])), INDEX))

    def end(self, code: Code, which: SSAValue) -> SSAValue:
        """Where a segment ends."""
        return self.bound(code, code.add(which, code.number(1)))

    def first_behind(self, code: Code, position: SSAValue) -> SSAValue:
        """The first segment that ends behind a position, by bisection; their number if none does."""
        before, after = code.inner(), code.inner()
        low, high = (before.block.insert_arg(INDEX, i) for i in range(2))
        before.do(ConditionOp(before.less(low, high), low, high))
        low, high = (after.block.insert_arg(INDEX, i) for i in range(2))
        middle = after.quotient(after.add(low, high), Size.of(2))
        ends = below(after, position, self.end(after, middle))
        behind = after.add(middle, after.number(1))
        after.do(YieldOp(after.choose(ends, low, behind), after.choose(ends, middle, high)))
        regions = Region(before.block), Region(after.block)
        loop = WhileOp([code.number(0), self.count], [INDEX, INDEX], *regions)
        code.do(loop)
        return loop.results[0]

    def starts_below(self, code: Code, which: SSAValue, position: SSAValue) -> SSAValue:
        """Whether there is such a segment and it begins before a position."""
        return code.branch(
            code.less(which, self.count),
            lambda code: [below(code, self.bound(code, which), position)],
            lambda code: [code.no()],
        )[0]


def below(code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
    """Whether `a < b`, of values that may be negative."""
    return code.put(CmpiOp(a, b, "slt"))
