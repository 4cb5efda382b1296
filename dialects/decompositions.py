"""What norm, mean, softmax and rms_norm mean, as `arith`, `math` and `comp.reduce` (design, section 5).

These are their definitions: the simulator runs them, and reorder uses them when the operation's own rule says no.
All steps are in `accumulate`, rounded once to the result's elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.arith import AddfOp, ConstantOp, DivfOp, MaxSIOp, MulfOp, MuliOp, SubfOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i64,
)
from xdsl.dialects.math import ExpOp, SqrtOp
from xdsl.dialects.tensor import DimOp, SplatOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Cut, Dist, Kind, Root
from coconet_ir.dialects.arith import Arith, ExtFOp, IndexCastOp, SIToFPOp, TruncFOp
from coconet_ir.dialects.attributes import as_tensor, dist_of, sizes_of, with_dist, with_element
from coconet_ir.dialects.comp import (
    BroadcastOp,
    MeanOp,
    NormOp,
    ReduceOp,
    RmsNormOp,
    SoftmaxOp,
)
from coconet_ir.dialects.elements import default_accumulate, element_of
from coconet_ir.dialects.layout import RelaxOp
from coconet_ir.dialects.math import Math
from coconet_ir.dialects.tensor import Tensor as TensorDialect
from coconet_ir.schedule.selection import name_of

STEPS_FROM = (Arith, Math, TensorDialect)
"""The dialects of the steps; imported, they state the rules that make the steps sliceable."""

Tensor = SSAValue[Attribute]


class _Steps:
    """The operations made so far, in order."""

    def __init__(self, accumulate: Attribute):
        self.ops: list[Operation] = []
        self.accumulate = accumulate

    def add(self, op: Operation) -> Tensor:
        self.ops.append(op)
        return op.results[0]

    def convert(self, value: Tensor, element: Attribute) -> Tensor:
        """The value in another floating-point element, rounded if that is narrower."""
        have = element_of(value.type)
        if have == element:
            return value
        type = with_element(value.type, element)
        return self.add((ExtFOp if _bits(element) > _bits(have) else TruncFOp)(value, type))

    def square_sum(self, value: Tensor, dims: Sequence[int]) -> Tensor:
        return self.sum(self.add(MulfOp(value, value)), dims)

    def sum(self, value: Tensor, dims: Sequence[int]) -> Tensor:
        return self.add(
            ReduceOp(value, Kind.SUM, dims, accumulate=self.accumulate, element=self.accumulate)
        )

    def extent(self, value: Tensor, dim: int) -> Tensor:
        index = self.add(ConstantOp(IntegerAttr(dim, IndexType())))
        return self.add(DimOp(value, index))

    def count(self, value: Tensor, dims: Sequence[int]) -> Tensor:
        """The number of elements along `dims`, at least 1, as a float."""
        number = self.add(ConstantOp(IntegerAttr(1, IndexType())))
        one = number
        for dim in dims:
            number = self.add(MuliOp(number, self.extent(value, dim)))
        number = self.add(MaxSIOp(number, one))
        return self.add(SIToFPOp(self.add(IndexCastOp(number, i64)), self.accumulate))

    def splat(self, scalar: Tensor, like: Tensor) -> Tensor:
        """The scalar in the shape and layout of `like`."""
        if (type := as_tensor(like.type)) is None:
            raise TypeError(f"a splat is like a tensor, not {like.type}")
        sizes = [
            self.extent(like, dim)
            for dim, size in enumerate(type.get_shape())
            if size == DYNAMIC_INDEX
        ]
        return self.add(SplatOp(scalar, sizes, type))

    def spread(self, value: Tensor, dims: Sequence[int], like: Tensor) -> Tensor:
        """The value repeated to the shape of `like`, its new dimensions cut as those are."""
        have, wanted = dist_of(value.type), dist_of(like.type)
        cuts = [Cut(cut.axes, dims[cut.dim], cut.unit) for cut in have.cuts]
        cuts += [cut for cut in wanted.cuts if cut.dim not in dims]
        type = with_element(like.type, element_of(value.type))
        type = with_dist(type, Dist.of(cuts, have.states))
        return self.add(BroadcastOp(value, dims, like=like, type=type))

    def product(self, one: Tensor, other: Tensor) -> Tensor:
        """The product of two tensors, one of which may be local or rooted where the other is replicated."""
        return self.add(MulfOp(self._relaxed(one, other), self._relaxed(other, one)))

    def _relaxed(self, value: Tensor, like: Tensor) -> Tensor:
        have = dist_of(value.type)
        for axis, state in dist_of(like.type).states:
            if axis not in have.by_axis:
                roots = [state.coordinate] if isinstance(state, Root) else None
                value = self.add(RelaxOp(value, [axis], roots))
        return value


def decompose(op: Operation) -> list[Operation] | None:
    """New operations, not yet in a block, whose last result is that of `op`; None if it has no decomposition.

    Each carries the name hint `N_what` after the name N of `op`, the last one none.
    """
    make = _DECOMPOSITIONS.get(type(op))
    if make is None:
        return None
    steps = _Steps(_accumulate(op))
    result = steps.convert(make(op, steps), element_of(op.results[0].type))
    base = name_of(op) or op.name.split(".")[-1]
    for step in steps.ops:
        step.location = op.location
        step.results[0].name_hint = f"{base}_{step.name.split('.')[-1]}"
    result.name_hint = None
    return steps.ops


def _accumulate(op: Operation) -> Attribute:
    given = op.properties.get("accumulate")
    return default_accumulate(element_of(op.operands[0].type)) if given is None else given


def _norm(op: Operation, steps: _Steps) -> Tensor:
    if not isinstance(op, NormOp):
        raise TypeError(op.name)
    wide = steps.convert(op.input, steps.accumulate)
    return steps.add(SqrtOp(steps.square_sum(wide, op.reduced)))


def _mean(op: Operation, steps: _Steps) -> Tensor:
    if not isinstance(op, MeanOp):
        raise TypeError(op.name)
    return _average(steps, steps.sum(op.input, op.reduced), op.input, op.reduced)


def _average(steps: _Steps, sums: Tensor, values: Tensor, dims: Sequence[int]) -> Tensor:
    count = steps.splat(steps.count(values, dims), sums)
    return steps.add(DivfOp(sums, count))


def _softmax(op: Operation, steps: _Steps) -> Tensor:
    if not isinstance(op, SoftmaxOp):
        raise TypeError(op.name)
    wide = steps.convert(op.input, steps.accumulate)
    dim = op.dim.value.data
    kept = [d for d in range(_rank(wide)) if d != dim]
    highest = steps.add(ReduceOp(wide, Kind.MAX, [dim]))
    shifted = steps.add(SubfOp(wide, steps.spread(highest, kept, wide)))
    powers = steps.add(ExpOp(shifted))
    return steps.add(DivfOp(powers, steps.spread(steps.sum(powers, [dim]), kept, wide)))


def _rms_norm(op: Operation, steps: _Steps) -> Tensor:
    if not isinstance(op, RmsNormOp):
        raise TypeError(op.name)
    wide = steps.convert(op.input, steps.accumulate)
    last = _rank(wide) - 1
    mean = _average(steps, steps.square_sum(wide, [last]), wide, [last])
    if not isinstance(steps.accumulate, AnyFloat):
        raise VerifyException(f"it accumulates in floats, not in {steps.accumulate}")
    eps = steps.add(ConstantOp(FloatAttr(op.eps.value.data, steps.accumulate)))
    root = steps.add(SqrtOp(steps.add(AddfOp(mean, steps.splat(eps, mean)))))
    scaled = steps.add(DivfOp(wide, steps.spread(root, range(last), wide)))
    weight = steps.convert(op.weight, steps.accumulate)
    return steps.product(scaled, steps.spread(weight, [last], wide))


def _rank(value: Tensor) -> int:
    return len(sizes_of(value.type))


def _bits(element: Attribute) -> int:
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 0


_DECOMPOSITIONS: dict[type[Operation], Callable[[Operation, _Steps], Tensor]] = {
    NormOp: _norm,
    MeanOp: _mean,
    SoftmaxOp: _softmax,
    RmsNormOp: _rms_norm,
}
