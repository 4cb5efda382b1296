"""The sizes of a region's tensors, in terms of what the host knows: extents of buffers, and indices."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.shapes import Place, Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.blocks import SegmentBroadcastBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.lowering.kernels.indices import Size, product
from coconet_ir.lowering.ranks.extents import given_sizes


@dataclass(frozen=True)
class Dim:
    """The extent of a dimension of a buffer, or an index, which has no dimensions, divided by a number."""

    source: SSAValue
    dim: int | None
    divisor: int = 1


def shapes_of(func: FuncOp) -> Shapes:
    """The classes of equal dimensions of a function at the level of buffers."""
    from coconet_ir.lowering.ranks.shapes import RankShapes  # it knows levels, which know kernels

    return RankShapes(func)


class Sizes:
    """The sizes of a region's tensors; what is not static is numbered."""

    def __init__(self, region: FusedOp, shapes: Shapes):
        self.region, self._shapes = region, shapes
        self.unknowns: list[SSAValue | Dim] = []
        self._known: dict[Place, Size] = {}
        self._given: dict[Place, Size] = {}
        """The sizes of classes that are products, of which a factor may be unknown."""
        for op in region.body.block.ops:
            self._note(op)

    def number(self, value: SSAValue | Dim) -> Size:
        """An index of the host as a size."""
        if isinstance(value, SSAValue) and isinstance(constant := value.owner, ConstantOp):
            if isinstance(constant.value, IntegerAttr):
                return Size.of(constant.value.value.data)
        if value not in self.unknowns:
            self.unknowns.append(value)
        return Size.unknown(self.unknowns.index(value))

    def text(self, size: Size) -> str:
        """A size as a formula: `2*x.0*x.1`."""
        names = {size: self._shapes.label(root) for root, size in self._known.items()}
        parts: list[str] = []
        for factors, value in sorted(size.terms, key=lambda term: term[1] < 0):
            words = [names[Size.unknown(number)] for number in factors]
            parts.append("*".join(words if value == 1 and words else [str(value), *words]))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def is_inside(self, value: SSAValue) -> bool:
        """Whether the region itself computes a value."""
        return isinstance(value, OpResult) and value.op.parent is self.region.body.block

    def extents(self, value: SSAValue) -> list[Size]:
        """The extents of a tensor."""
        return [self.extent(value, dim) for dim in range(len(sizes_of(value.type)))]

    def extent(self, value: SSAValue, dim: int) -> Size:
        """The extent of a dimension of a tensor. Raises `IRError` if nobody knows it."""
        factor, roots = self._shapes.extent((value, dim))
        for root in roots:
            if root not in self._known:
                if (given := self._given.get(self._shapes.class_of((value, dim)))) is not None:
                    return given
                label = self._shapes.label(root)
                raise IRError(f"needs the size {label}, which no buffer of it has", self.region)
        return product([Size.of(factor), *(self._known[root] for root in roots)])

    def _note(self, op: Operation) -> None:
        """Note sizes that an operation tells."""
        match op:
            case ToTensorOp():
                self._note_buffer(op.tensor, op.memref)
            case MaterializeInDestinationOp():
                self._note_buffer(op.source, op.dest)
            case SegmentReduceBlockOp():
                self._note_segments(op.output, op.offsets)
            case SegmentBroadcastBlockOp():
                self._note_segments(op.input, op.offsets)
            case _:
                pass
        for dim, size in given_sizes(op):
            if self.is_inside(size):
                continue
            self._given[self._shapes.class_of((op.results[0], dim))] = self.number(size)
            factor, roots = self._shapes.extent((op.results[0], dim))
            if len(roots) != 1:
                continue
            if factor == 1:
                self._known[roots[0]] = self.number(size)
            elif factor and roots[0] not in self._known:
                self._known[roots[0]] = self.number(Dim(size, None, factor))

    def _note_buffer(self, tensor: SSAValue, buffer: SSAValue) -> None:
        for dim in range(len(sizes_of(tensor.type))):
            factor, roots = self._shapes.extent((tensor, dim))
            if len(roots) == 1 and factor and roots[0] not in self._known:
                self._known[roots[0]] = self.number(Dim(buffer, dim, factor))

    def _note_segments(self, tensor: SSAValue, offsets: SSAValue) -> None:
        """A tensor has an element a segment, one less than there are offsets."""
        if (root := self._root(tensor, 0)) and isinstance(offsets.owner, ToTensorOp):
            bounds = self.number(Dim(offsets.owner.memref, 0))
            self._known[root] = bounds + Size.of(-1)

    def _root(self, tensor: SSAValue, dim: int) -> Place | None:
        """The class of a dimension, None for one that is static or a product."""
        factor, roots = self._shapes.extent((tensor, dim))
        return roots[0] if factor == 1 and len(roots) == 1 else None
