"""What schedules are compared by: the bytes a rank sends and keeps, and how many launches a function takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import SplatOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import Term, gathered, sent, show, total
from coconet_ir.analysis.movement import is_state
from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.shapes import Shapes
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.comp import BroadcastOp, ReshapeOp, UpdateOp
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.regions import RegionOp

Terms = tuple[Term, ...]
"""A sum, like terms added up."""

_VIEWS = (SliceOp, RelaxOp, ReshapeOp)
"""Read through: the memory of their operand seen in another way."""

_READ_ANYWHERE = (ConstantOp, SplatOp, BroadcastOp)
"""Computed by their readers, element by element."""


@dataclass(frozen=True)
class Totals:
    """What one function takes, a rank; bytes are sums of terms in sizes and numbers of ranks."""

    sent: Terms
    """Bytes that a rank sends in all collectives."""
    state: Terms
    """Bytes that a rank keeps of the arguments marked `coconet.state`."""
    arguments: Terms
    """Bytes that a rank keeps of all arguments that are tensors."""
    launches: int
    """See `launches`."""

    def rows(self) -> list[tuple[str, str]]:
        """Each total with the word for it."""
        return [
            ("bytes sent", show(self.sent)),
            ("bytes of state", show(self.state)),
            ("bytes of arguments", show(self.arguments)),
            ("launches", str(self.launches)),
        ]


def totals(func: FuncOp, before: FuncOp | None = None) -> Totals:
    """The totals of a function. Sizes are called as in `before`, what it was before a rewrite, where that is given."""
    shapes = Shapes(func)
    called = {} if before is None else dict(_renamed(func, shapes, before))

    def summed(terms: Iterable[Term]) -> Terms:
        return tuple(total(_call(term, called) for term in terms))

    return Totals(
        summed(_sent(func, shapes)),
        summed(_kept(func, shapes, state=True)),
        summed(_kept(func, shapes, state=False)),
        launches(func),
    )


def launches(func: FuncOp) -> int:
    """How many kernels and library calls a straightforward execution of a function launches.

    One for each region (`coll.fused`, `coll.overlap`, `coll.group`), whatever it holds, and one for each operation
    outside regions that computes a tensor: each collective, `comp.matmul`, `comp.conv2d`, and any other, 0-d
    tensors included. None for

    - `layout.slice`, `layout.relax` and `comp.reshape`, which are views;
    - constants, `tensor.splat` and `comp.broadcast`, which their readers compute element by element;
    - what gives no tensor: `tensor.dim`, `tensor.extract`, arithmetic on scalars;
    - `comp.update`, as what computes the value stores it in place. Where nothing is launched for the value (it is
      an argument, a splat, or a view of such) the update is a copy: one.
    """
    return sum(map(_is_launched, func.body.block.ops))


def _is_launched(op: Operation) -> bool:
    if isinstance(op, UpdateOp):
        source = op.value
        while isinstance(source, OpResult) and isinstance(view := source.op, (*_VIEWS, UpdateOp)):
            source = view.value if isinstance(view, UpdateOp) else view.operands[0]
        return isinstance(source, BlockArgument) or isinstance(source.owner, _READ_ANYWHERE)
    if isinstance(op, (*_VIEWS, *_READ_ANYWHERE)):
        return False
    return isinstance(op, RegionOp) or any(map(_is_tensor, op.results))


def value(terms: Iterable[Term], sizes: Mapping[str, int], ranks: Mapping[str, int]) -> Fraction:
    """A sum for these sizes, by their names in the terms, and these numbers of ranks, by axis.

    The bytes are exact for a rank whose blocks are all full; where sizes do not divide they are the average.
    """

    def over(axes: Iterable[str]) -> int:
        return prod(ranks[axis] for axis in axes)

    return sum(
        (
            term.factor
            * prod(sizes[size] for size in term.sizes)
            * (1 - Fraction(1, over(term.ring)) if term.ring else 1)
            / over(term.split)
            for term in terms
        ),
        Fraction(0),
    )


def _sent(func: FuncOp, shapes: Shapes) -> Iterator[Term]:
    for op in func.walk():
        if op.operands:
            yield from sent(op, dist_of(op.operands[0].type), shapes)


def _kept(func: FuncOp, shapes: Shapes, *, state: bool) -> Iterator[Term]:
    """What a rank holds of arguments; only of those that are state, or of all."""
    for arg in func.body.block.args:
        if _is_tensor(arg) and (not state or is_state(func, arg)):
            yield gathered(arg, dist_of(arg.type), (), shapes)


def _is_tensor(value: SSAValue) -> bool:
    return rank_of(value.type) is not None


def _renamed(func: FuncOp, shapes: Shapes, before: FuncOp) -> Iterator[tuple[str, str]]:
    """What the unknown sizes of the arguments are called, and what they were called before a rewrite."""
    earlier = Shapes(before)
    for arg, old in zip(func.body.block.args, before.body.block.args, strict=True):
        for dim in range(rank_of(arg.type) or 0):
            (_, sizes), (_, olds) = shapes.extent((arg, dim)), earlier.extent((old, dim))
            if len(sizes) == len(olds) == 1:
                yield shapes.label(sizes[0]), earlier.label(olds[0])


def _call(term: Term, called: Mapping[str, str]) -> Term:
    return replace(term, sizes=tuple(sorted(called.get(size, size) for size in term.sizes)))
