"""Combining values: of one thread, of the threads of a warp, of the warps of a block.

What the threads of a block have is combined as a tree of neighbours: thread 0 with 1, 2 with 3, these two pairs with
each other, and so on. The tree, and so the bits of a sum, depends on the number of threads alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.dist import Kind
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.blocks import SegmentReduceBlockOp
from coconet_ir.dialects.comp import ReduceOp
from coconet_ir.dialects.elements import (
    ARITHMETIC_FLOATS,
    default_accumulate,
    element_of,
    is_float,
    largest,
)
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.dialects.gpu import ShuffleMode, ShuffleOp
from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.geometry import WARP
from coconet_ir.lowering.kernels.indices import Size
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.nodes import Node
from coconet_ir.lowering.kernels.values import convert, lanes, number_of

_COMBINE: dict[Kind, tuple[type[Operation], type[Operation]]] = {
    Kind.SUM: (arith.AddfOp, arith.AddiOp),
    Kind.PROD: (arith.MulfOp, arith.MuliOp),
    Kind.MAX: (arith.MaximumfOp, arith.MaxSIOp),
    Kind.MIN: (arith.MinimumfOp, arith.MinSIOp),
}
"""What combines two values, floats or integers."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A reduction of a kernel: what it reduces, and in which type."""

    op: ReduceOp | SegmentReduceBlockOp
    node: Node

    @property
    def kind(self) -> Kind:
        """How it combines."""
        return self.op.kind.data

    @property
    def accumulate(self) -> Attribute:
        """The type in which it combines. Raises `IRError` for one that has no arithmetic."""
        default = default_accumulate(element_of(self.op.input.type))
        given = self.op.accumulate if self.kind in (Kind.SUM, Kind.PROD) else None
        type = given or default
        if is_float(type) and not isinstance(type, ARITHMETIC_FLOATS):
            raise IRError(
                f"adds in {type}, in which kernels have no arithmetic: accumulate in f32", self.op
            )
        return type

    def start(self, code: Code) -> SSAValue:
        """What changes no value that it is combined with, and is an element of the result."""
        type, to = self.accumulate, element_of(self.op.output.type)
        match self.kind:
            case Kind.SUM:
                number = -0.0  # -0 + -0 is -0, but 0 + -0 is 0
            case Kind.PROD:
                number = 1
            case kind:
                highest = largest(to) if is_float(type) else (1 << (bits(type) - 1)) - 1
                lowest = -highest if is_float(type) else -highest - 1
                number = highest if kind is Kind.MIN else lowest
        return code.constant(number_of(type, number))

    def combine(self, code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
        """Two values as one."""
        kind = _COMBINE[self.kind][0 if is_float(self.accumulate) else 1]
        return code.binary(kind, a, b)

    def elements(self, code: Code, value: SSAValue) -> list[SSAValue]:
        """An element, or those of a vector, in the type in which they are combined."""
        return lanes(code, convert(code, value, self.accumulate))

    def take(self, code: Code, total: SSAValue, value: SSAValue) -> SSAValue:
        """Add an element, or the elements of a vector in order, to what a thread has."""
        for one in self.elements(code, value):
            total = self.combine(code, total, one)
        return total

    def of_vector(self, code: Code, value: SSAValue) -> SSAValue:
        """An element, or the elements of a vector combined in order."""
        return reduce(partial(self.combine, code), self.elements(code, value))

    def result(self, code: Code, total: SSAValue, count: SSAValue) -> SSAValue:
        """The total of a number of values, rounded to the elements of the result; a sum of none is +0."""
        if self.kind is Kind.SUM and is_float(self.accumulate):
            none = code.equal(count, code.number(0))
            total = code.choose(none, code.constant(number_of(self.accumulate, 0)), total)
        return convert(code, total, element_of(self.op.output.type))

    def tree(self, code: Code, values: Sequence[SSAValue]) -> SSAValue:
        """Neighbours combined, a power of two of them."""
        while len(values) > 1:
            values = [self.combine(code, *pair) for pair in zip(values[::2], values[1::2])]
        return values[0]

    def over_warp(self, code: Code, value: SSAValue, threads: int = WARP) -> SSAValue:
        """What the threads of a warp have, or of each part of it with so many; every thread gets it."""
        offset = 1
        while offset < threads:
            value = self._with_other(code, value, offset)
            offset *= 2
        return value

    def over_lanes(self, code: Code, value: SSAValue, steps: Mapping[int, SSAValue]) -> SSAValue:
        """The same for parts of a size known at run time: `steps` has each distance, and whether it is within one."""
        for offset, is_within in steps.items():
            value = code.choose(is_within, self._with_other(code, value, offset), value)
        return value

    def _with_other(self, code: Code, value: SSAValue, offset: int) -> SSAValue:
        """Combined with what the thread at a distance in the warp has."""
        distance, width = (code.constant(IntegerAttr(number, i32)) for number in (offset, WARP))
        other = code.put(ShuffleOp(value, distance, width, ShuffleMode.Xor))
        return self.combine(code, value, other)

    def over_warps(self, kernel: Kernel, code: Code, of_warp: SSAValue, threads: int) -> SSAValue:
        """What the warps of a block have, combined; every thread gets it, and all must call it."""
        warps = threads // WARP
        if warps == 1:
            return of_warp
        memory = kernel.shared(self.accumulate, warps)
        thread, warp = kernel.thread(), Size.of(WARP)
        is_first = code.equal(code.remainder(thread, warp), code.number(0))
        code.when(
            is_first, lambda code: self.store(code, of_warp, memory, code.quotient(thread, warp))
        )
        code.do(gpu.BarrierOp())
        value = code.put(LoadOp.get(memory, [code.remainder(thread, Size.of(warps))]))
        code.do(gpu.BarrierOp())  # before the memory is used again
        return self.over_warp(code, value, warps)

    def store(self, code: Code, value: SSAValue, memory: SSAValue, place: SSAValue) -> None:
        """Store a value into shared memory."""
        code.do(StoreOp.get(value, memory, [place]))

    def over_memory(self, code: Code, memory: SSAValue, places: Values) -> SSAValue:
        """What threads have stored at these places of shared memory, combined as a tree."""
        return self.tree(code, [code.put(LoadOp.get(memory, [place])) for place in places])
