"""Collectives as calls of the library: what goes before each call and after it, on one rank.

Contributions to a reduction are added in `accumulate`: they are cast to it, and the library adds. It does so in any
order and sends what it adds. Where `order = ranks` or a narrower `wire` is asked for, each rank collects all
contributions to one block instead, in the type of the wire, and adds them itself, rank by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.arith import DivfOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    Float32Type,
    Float64Type,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.dist import Cut, Dist, Kind
from coconet_ir.dialects import coll, comp, nccl
from coconet_ir.dialects.arith import ExtFOp, ExtSIOp, IndexCastOp, SIToFPOp, TruncFOp, TruncIOp
from coconet_ir.dialects.attributes import sizes_of, with_element
from coconet_ir.dialects.elements import default_accumulate, element_of, is_float
from coconet_ir.dialects.syntax import numbers
from coconet_ir.lowering.ranks.geometry import Index
from coconet_ir.lowering.ranks.program import Local, RankProgram, local_type
from coconet_ir.schedule.selection import name_of

Steps = Generator[nccl.CallOp, SSAValue, SSAValue]
"""The lowering of one collective: yields each call, is sent its result, and returns the collective's."""


def is_collective(op: Operation) -> bool:
    """Whether the operation sends something."""
    return type(op) in _LOWERED


def communicate(program: RankProgram, ops: Sequence[Operation], place: Operation) -> None:
    """Lower collectives that `place` launches as one: the first call of all, and so on, each time as one group."""
    running = {op: _LOWERED[type(op)](program, op) for op in ops}
    sent: dict[Operation, SSAValue] = {}
    while running:
        calls: dict[Operation, nccl.CallOp] = {}
        for op, steps in list(running.items()):
            with program.lowering(op):
                try:
                    calls[op] = steps.send(sent[op]) if op in sent else next(steps)
                except StopIteration as end:
                    end.value.name_hint = None  # it goes by the name of the collective
                    program.define(op, [end.value])
                    del running[op]
        with program.lowering(place):
            sent = _issue(program, calls)


def _issue(program: RankProgram, calls: dict[Operation, nccl.CallOp]) -> dict[Operation, SSAValue]:
    """Put calls into the program, as a group if they are several; the result of each."""
    if len(calls) == 1:
        results = [program.emit(call) for call in calls.values()]
    else:
        group = nccl.GroupOp(list(calls.values()))
        results = list(group.results)
        if results:
            program.emit(group)
    for op, result in zip(calls, results, strict=True):
        calls[op].location = op.location
        for value in (calls[op].output, result):
            value.name_hint = f"{name_of(op) or 'value'}_call"
    return dict(zip(calls, results, strict=True))


# Precision


@dataclass(frozen=True)
class _Precision:
    """The types of a reduction: in which contributions travel, are added, and the result is."""

    wire: Attribute
    accumulate: Attribute
    result: Attribute
    by_rank: bool
    """Whether each rank adds the contributions itself, in the order of ranks."""

    @staticmethod
    def of(op: coll.ReducingOp) -> _Precision:
        element = element_of(op.input.type)
        accumulate = op.accumulate or default_accumulate(element)
        narrower = op.wire is not None and _bits(op.wire) < _bits(accumulate)
        by_rank = op.by_rank or narrower
        return _Precision(op.wire or element, accumulate, element_of(op.output.type), by_rank)


def _bits(element: Attribute) -> int:
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 0


def _convert(program: RankProgram, value: SSAValue, element: Attribute) -> SSAValue:
    """The tensor in another element type of its class, rounded once."""
    have = element_of(value.type)
    if have == element:
        return value
    if is_float(element) and _bits(have) == _bits(element):  # f16 and bf16: f32 holds both
        value = _convert(program, value, f32)
    wider = _bits(element) > _bits(element_of(value.type))
    float_cast, integer_cast = (ExtFOp, ExtSIOp) if wider else (TruncFOp, TruncIOp)
    cast = float_cast if is_float(element) else integer_cast
    return program.emit(cast(value, with_element(value.type, element)), str(element))


def _contribution(program: RankProgram, value: SSAValue, precision: _Precision) -> SSAValue:
    """What this rank gives to a reduction, as the library or the other ranks take it."""
    value = _convert(program, value, precision.wire)
    return value if precision.by_rank else _convert(program, value, precision.accumulate)


def _add(
    program: RankProgram,
    op: coll.ReducingOp,
    collected: SSAValue,
    extents: Sequence[Index],
    precision: _Precision,
) -> SSAValue:
    """The contributions of all ranks, collected behind one another, combined in their order."""
    kind = Kind.SUM if op.kind.data is Kind.AVG else op.kind.data
    accumulate = precision.accumulate
    reduce = comp.ReduceOp(collected, kind, [0], accumulate=accumulate, element=accumulate)
    total = program.emit(reduce, "sum")
    if op.kind.data is not Kind.AVG:
        return total
    wide = accumulate if isinstance(accumulate, Float32Type | Float64Type) else f32
    count = IndexCastOp(program.arithmetic.ranks(op.axes.data), i64)
    program.emit_scalar(count)
    number = SIToFPOp(count.results[0], wide)
    program.emit_scalar(number)
    total = _convert(program, total, wide)
    divisor = program.splat(number.results[0], total.type, extents)
    return _convert(program, program.emit(DivfOp(total, divisor), "avg"), accumulate)


# Blocks


@dataclass(frozen=True)
class _Blocks:
    """How axes cut a dimension of this rank's part into blocks: level by level, as `nccl.pack` says."""

    dim: int
    counts: list[Index]
    sizes: list[Index]

    @property
    def size(self) -> Index:
        """The elements of the innermost block."""
        return self.sizes[-1]

    @staticmethod
    def of(program: RankProgram, size: Index, outer: Dist, cut: Cut) -> _Blocks:
        """The blocks by the axes of `cut` of a dimension of `size` elements, of which `outer` leaves a part."""
        before = outer.by_dim.get(cut.dim)
        axes = () if before is None else before.axes
        levels = range(1, len(cut.axes) + 1)
        parts = [program.geometry.block(size, (*axes, *cut.axes[:n]), cut.unit) for n in levels]
        counts: list[Index] = [program.arithmetic.ranks((axis,)) for axis in cut.axes]
        return _Blocks(cut.dim, counts, [part.nominal for part in parts])

    @staticmethod
    def even(program: RankProgram, dim: int, extent: Index, axes: tuple[str, ...]) -> _Blocks:
        """Blocks of `extent` elements for the ranks of the axes, for one collective alone."""
        count = program.arithmetic.ranks(axes)
        return _Blocks(dim, [count], [program.arithmetic.divide_up(extent, count)])

    def pack(self, program: RankProgram, value: SSAValue) -> SSAValue:
        """The blocks behind one another."""
        counts, sizes = self._values(program)
        return program.emit(nccl.PackOp(value, self.dim, counts, sizes), "pack")

    def unpack(
        self, program: RankProgram, value: SSAValue, extent: Index, type: Attribute
    ) -> SSAValue:
        """The dimension, of `extent` elements, from its blocks."""
        counts, sizes = self._values(program)
        size = program.arithmetic.value(extent)
        return program.emit(nccl.UnpackOp(value, self.dim, counts, sizes, size, type), "unpack")

    def pad(self, program: RankProgram, value: SSAValue) -> SSAValue:
        """One block in full size."""
        size = program.arithmetic.value(self.size)
        return program.emit(nccl.PadOp(value, self.dim, size), "pad")

    def _values(self, program: RankProgram) -> tuple[list[SSAValue], list[SSAValue]]:
        value = program.arithmetic.value
        return [value(n) for n in self.counts], [value(n) for n in self.sizes]


def _part(program: RankProgram, op: Operation) -> Local:
    """The operand of a collective."""
    return program.tensors[op.operands[0]]


def _result(program: RankProgram, op: Operation) -> list[Index]:
    """The extents of the collective's result on this rank."""
    return program.extents(program.made(op, op.results[0]))


def _first(program: RankProgram, value: SSAValue, extents: Sequence[Index]) -> SSAValue:
    """The first elements of each dimension, as many as `extents` says; what is behind is padding."""
    return program.slice(value, [0] * len(extents), extents, value.type, "slice")


# The collectives


def _all_reduce(program: RankProgram, op: coll.AllReduceOp) -> Steps:
    precision = _Precision.of(op)
    value = _contribution(program, _part(program, op).value, precision)
    if precision.by_rank:
        return (yield from _all_reduce_by_rank(program, op, value, precision))
    total = yield nccl.AllReduceOp(value, op.kind.data, op.axes.data)
    return _convert(program, total, precision.result)


def _all_reduce_by_rank(
    program: RankProgram,
    op: coll.AllReduceOp | coll.ReduceOp,
    value: SSAValue,
    precision: _Precision,
) -> Steps:
    """Each rank adds one block, or, of a tensor without dimensions, everything."""
    extents, axes = _result(program, op), op.axes.data
    if not extents:
        collected = yield nccl.AllGatherOp(value, axes)
        total = _add(program, op, collected, extents, precision)
        return _convert(program, total, precision.result)
    dim = _largest(sizes_of(value.type))
    blocks = _Blocks.even(program, dim, extents[dim], axes)
    collected = yield nccl.AllToAllOp(blocks.pack(program, value), axes)
    block = [*extents[:dim], blocks.size, *extents[dim + 1 :]]
    total = _convert(program, _add(program, op, collected, block, precision), precision.result)
    gathered = yield nccl.AllGatherOp(total, axes)
    return blocks.unpack(program, gathered, extents[dim], local_type(op.output.type))


def _largest(sizes: Sequence[int]) -> int:
    """The largest dimension; one of unknown size counts as larger than any number, the first wins."""
    return max(range(len(sizes)), key=lambda d: (sizes[d] == DYNAMIC_INDEX, sizes[d], -d))


def _reduce(program: RankProgram, op: coll.ReduceOp) -> Steps:
    precision = _Precision.of(op)
    value = _contribution(program, _part(program, op).value, precision)
    if precision.by_rank:  # the others may have the result too
        return (yield from _all_reduce_by_rank(program, op, value, precision))
    total = yield nccl.ReduceOp(value, op.kind.data, op.axes.data, numbers(op.roots))
    return _convert(program, total, precision.result)


def _reduce_scatter(program: RankProgram, op: coll.ReduceScatterOp) -> Steps:
    part, precision, dim = _part(program, op), _Precision.of(op), op.dim.value.data
    unit = 1 if op.unit is None else op.unit.value.data
    blocks = _Blocks.of(program, part.sizes[dim], part.dist, Cut(op.axes.data, dim, unit))
    packed = blocks.pack(program, _contribution(program, part.value, precision))
    extents = _result(program, op)
    if precision.by_rank:
        collected = yield nccl.AllToAllOp(packed, op.axes.data)
        block = [*extents[:dim], blocks.size, *extents[dim + 1 :]]
        total = _add(program, op, collected, block, precision)
    else:
        total = yield nccl.ReduceScatterOp(packed, op.kind.data, op.axes.data)
    return _convert(program, _first(program, total, extents), precision.result)


def _all_gather(program: RankProgram, op: coll.AllGatherOp) -> Steps:
    part = _part(program, op)
    outer, cut = part.dist.drop_cut(op.axes.data)
    blocks = _Blocks.of(program, part.sizes[cut.dim], outer, cut)
    gathered = yield nccl.AllGatherOp(blocks.pad(program, part.value), op.axes.data)
    extent = _result(program, op)[cut.dim]
    return blocks.unpack(program, gathered, extent, local_type(op.output.type))


def _all_to_all(program: RankProgram, op: coll.AllToAllOp) -> Steps:
    part, target = _part(program, op), op.target.value.data
    unit = 1 if op.unit is None else op.unit.value.data
    outer, cut = part.dist.drop_cut(op.axes.data, op.source.value.data)
    source = _Blocks.of(program, part.sizes[cut.dim], outer, cut)
    wanted = Cut(op.axes.data, target, unit)
    blocks = _Blocks.of(program, part.sizes[target], outer, wanted)
    packed = blocks.pack(program, source.pad(program, part.value))
    collected = yield nccl.AllToAllOp(packed, op.axes.data)
    extents, type = _result(program, op), local_type(op.output.type)
    return _first(program, source.unpack(program, collected, extents[cut.dim], type), extents)


def _broadcast(program: RankProgram, op: coll.BroadcastOp) -> Steps:
    value = _part(program, op).value
    return (yield nccl.BroadcastOp(value, op.axes.data, numbers(op.roots)))


def _permute(program: RankProgram, op: coll.PermuteOp) -> Steps:
    value = _part(program, op).value
    return (yield nccl.PermuteOp(value, op.axes.data, op.shift, op.pairs))


_LOWERED: dict[type[Operation], Callable[[RankProgram, Any], Steps]] = {
    coll.AllReduceOp: _all_reduce,
    coll.ReduceScatterOp: _reduce_scatter,
    coll.ReduceOp: _reduce,
    coll.BroadcastOp: _broadcast,
    coll.AllGatherOp: _all_gather,
    coll.AllToAllOp: _all_to_all,
    coll.PermuteOp: _permute,
}
