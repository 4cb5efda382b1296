"""What each collective computes in one group: from the arrays of the group to that of each position.

A function gets the arrays in group order and returns the result of a position in the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Operation

from coconet_ir.dialects import coll
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.syntax import numbers
from coconet_ir.sim import collectives
from coconet_ir.sim.elements import Array, default_accumulate
from coconet_ir.sim.kernels import Numbers, undefined
from coconet_ir.sim.mesh import Mesh, Region


@dataclass(frozen=True)
class Meeting:
    """One group of ranks at a collective; regions are those of all ranks of the mesh."""

    mesh: Mesh
    numbers: Numbers
    group: tuple[int, ...]
    operands: tuple[Region, ...]
    results: tuple[Region, ...]

    def bounds(self, position: int, dim: int) -> tuple[int, int]:
        """The result's range of `dim` at a position, counted from the start of its operand's block."""
        rank = self.group[position]
        start = self.operands[rank][dim][0]
        first, last = self.results[rank][dim]
        return first - start, last - start

    def root(self, op: coll.ReduceOp | coll.BroadcastOp) -> int:
        """The position of the operation's root."""
        position = 0
        for axis, root in zip(op.axes.data, numbers(op.roots), strict=True):
            position = position * self.mesh.shape[axis] + root
        return position


Result = Callable[[int], Array]
"""The array at a position of the group."""

Collective = Callable[[Any, Meeting, Sequence[Array]], Result]


def collective_of(op: Operation) -> Collective | None:
    """The function of a collective, or None when the operation sends nothing."""
    return _COLLECTIVES.get(type(op))


def _reduced(op: coll.ReducingOp, meeting: Meeting, arrays: Sequence[Array]) -> Array:
    dtype = meeting.numbers.dtype

    def given(type: Attribute | None) -> Any:
        return None if type is None else dtype(type)

    element = dtype(op.input.type)
    wire = given(op.wire) or element
    accumulate = given(op.accumulate) or default_accumulate(element)
    return collectives.reduce_ranks(arrays, op.kind.data, wire, accumulate, dtype(op.output.type))


def _all_reduce(op: coll.AllReduceOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    total = _reduced(op, meeting, arrays)
    return lambda position: total


def _reduce_scatter(op: coll.ReduceScatterOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    total, dim = _reduced(op, meeting, arrays), op.dim.value.data
    return lambda position: collectives.cut(total, dim, meeting.bounds(position, dim))


def _reduce(op: coll.ReduceOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    total, root = _reduced(op, meeting, arrays), meeting.root(op)
    nothing = undefined(total.shape, total.dtype)
    return lambda position: total if position == root else nothing


def _broadcast(op: coll.BroadcastOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    value = arrays[meeting.root(op)]
    return lambda position: value


def _all_gather(op: coll.AllGatherOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    _, cut = dist_of(op.input.type).drop_cut(op.axes.data)
    whole = collectives.gather(arrays, cut.dim)
    return lambda position: whole


def _all_to_all(op: coll.AllToAllOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    source, target = op.source.value.data, op.target.value.data

    def block(position: int) -> Array:
        bounds = meeting.bounds(position, target)
        return collectives.exchanged_block(arrays, source, target, bounds)

    return block


def _permute(op: coll.PermuteOp, meeting: Meeting, arrays: Sequence[Array]) -> Result:
    if op.shift is not None:
        return collectives.shift(arrays, op.shift.value.data).__getitem__
    senders = {to: source for source, to in op.routes}
    return collectives.permute(arrays, senders).__getitem__


_COLLECTIVES: dict[type[Operation], Collective] = {
    coll.AllReduceOp: _all_reduce,
    coll.ReduceScatterOp: _reduce_scatter,
    coll.ReduceOp: _reduce,
    coll.BroadcastOp: _broadcast,
    coll.AllGatherOp: _all_gather,
    coll.AllToAllOp: _all_to_all,
    coll.PermuteOp: _permute,
}
