"""From the tensors of a fused region to what computes their elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.arith import ConstantOp, MulfOp, MuliOp
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.dialects.tensor import (
    CastOp,
    DimOp,
    EmptyOp,
    ExtractSliceOp,
    FromElementsOp,
    SplatOp,
)
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.shapes import Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.blocks import DropoutBlockOp, SegmentBroadcastBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.comp import BroadcastOp, ReduceOp, ScaleOp, TransposeOp
from coconet_ir.dialects.elements import element_of, is_float
from coconet_ir.dialects.nccl import CopyOp, PackOp, UnpackOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.lowering.kernels import cuts
from coconet_ir.lowering.kernels.indices import (
    Computed,
    Index,
    Segment,
    Size,
    constant,
    flatten,
    unflatten,
)
from coconet_ir.lowering.kernels.memory import memory_of
from coconet_ir.lowering.kernels.nodes import (
    Compute,
    Constant,
    ConstantAttr,
    Dropped,
    Guarded,
    Load,
    Node,
    Number,
    Reduced,
    Uniform,
)
from coconet_ir.lowering.kernels.sizes import Sizes
from coconet_ir.lowering.kernels.values import number_of

Position = tuple[Index, ...]
"""Where an element lies, an index a dimension."""

ELEMENTWISE = ("arith.", "math.")
"""Prefixes of operations that work element by element."""


class Trace:
    """What computes the elements of one region's tensors; indices that it computes and bounds are numbered."""

    def __init__(self, region: FusedOp, shapes: Shapes):
        self.region, self.sizes = region, Sizes(region, shapes)
        ops = region.body.block.ops
        self.stored = {
            memory_of(op.dest) for op in ops if isinstance(op, MaterializeInDestinationOp)
        }
        """The memory that its kernels store into."""
        self.bounds: list[SSAValue] = []
        """The buffers that bound segments."""
        self.computed: list[Node] = []
        """The indices that depend on data."""
        self.kept: Mapping[Operation, Position] = {}
        """Where the results of reductions are read: one element of each at a time."""
        self.made_by: dict[Node, Operation] = {}
        """The operations that nodes stand for, which say where in the source they come from."""
        self._nodes: dict[tuple[SSAValue, Position], Node] = {}
        self._order = {op: number for number, op in enumerate(ops)}

    def at(self, value: SSAValue, position: Position) -> Node:
        """What computes an element of a tensor. Raises `IRError` for what no kernel computes."""
        if not isinstance(value, OpResult) or not self.sizes.is_inside(value):
            raise IRError(
                f"uses a tensor from outside: a kernel reads buffers, with {ToTensorOp.name}",
                self.region,
            )
        for before in self._chain(value, position):
            self._node(before, position)
        return self._node(value, position)

    def _chain(self, value: OpResult, position: Position) -> list[OpResult]:
        """The tensors that a tensor is computed from element by element, in order: a chain may be very long."""
        found: dict[OpResult, None] = {}
        stack = [value]
        while stack:
            one = stack.pop()
            if one in found or (one, position) in self._nodes:
                continue
            found[one] = None
            if one.op.name.startswith(ELEMENTWISE):
                inside = [v for v in one.op.operands if self.sizes.is_inside(v)]
                stack += [v for v in inside if isinstance(v, OpResult) and as_tensor(v.type)]
        return sorted(found, key=lambda one: self._order[one.op])

    def scalar(self, value: SSAValue) -> Node:
        """What computes a scalar. Raises `IRError` for what no kernel computes."""
        if not isinstance(value, OpResult) or not self.sizes.is_inside(value):
            return Uniform(value)
        return self._node(value, ())

    def _node(self, value: OpResult, position: Position) -> Node:
        key = (value, position)
        if key not in self._nodes:
            tensor = as_tensor(value.type) is not None
            node = self._tensor(value, position) if tensor else self._scalar(value)
            self._nodes[key] = node
            self.made_by.setdefault(node, value.op)
        return self._nodes[key]

    def index(self, value: SSAValue) -> Index:
        """A scalar index: a number, one of the host's, or computed in the kernel."""
        match value.owner:
            case ConstantOp(value=IntegerAttr(value=number)):
                return constant(Size.of(number.data))
            case DimOp() as op if self.sizes.is_inside(value):
                return constant(self.sizes.extent(op.source, _dim(op)))
            case _:
                pass
        if not self.sizes.is_inside(value):
            return constant(self.sizes.number(value))
        node = self.scalar(value)
        if node not in self.computed:
            self.computed.append(node)
        return Index.of(Computed(self.computed.index(node)))

    def size(self, value: SSAValue) -> Size:
        """An index that the host gives. Raises `IRError` for one that the kernel computes."""
        index = self.index(value)
        if index.terms:
            raise IRError(
                "needs a size that it computes from data: sizes come from outside", self.region
            )
        return index.offset

    def segments(self, op: Operation, offsets: SSAValue) -> int:
        """The number of the buffer that bounds segments."""
        if not isinstance(offsets.owner, ToTensorOp):
            raise IRError("has offsets that the kernel computes: they must be a buffer", op)
        buffer = offsets.owner.memref
        if buffer not in self.bounds:
            self.bounds.append(buffer)
        return self.bounds.index(buffer)

    def _scalar(self, value: OpResult) -> Node:
        match op := value.op:
            case ConstantOp(value=IntegerAttr() | FloatAttr() as number):
                return Constant(number)
            case DimOp():
                return Number(self.index(value))
            case ExtractOp():
                return self.at(op.tensor, tuple(self.index(index) for index in op.indices))
            case _:
                return self._elementwise(op, value.index, ())

    def _tensor(self, value: OpResult, position: Position) -> Node:
        match op := value.op:
            case ToTensorOp():
                address = flatten(position, self.sizes.extents(op.tensor))
                return Load(op.memref, address, op.tensor.type.element_type)
            case ConstantOp():
                return Constant(_number(op))
            case EmptyOp():
                return Constant(number_of(element_of(value.type), 0))  # what it is, is not defined
            case SplatOp():
                return self.scalar(op.input)
            case FromElementsOp():
                return self.scalar(_only(op))
            case ReduceOp() | SegmentReduceBlockOp():
                return self._reduced(op, position)
            case ScaleOp():
                return self._scaled(op, position)
            case DropoutBlockOp():
                return self._dropped(op, position)
            case SegmentBroadcastBlockOp():
                return self._spread(op, position)
            case CopyOp():
                return self._copied(op, position)
            case _:
                return self._moved(op, value.index, position)

    def _moved(self, op: Operation, result: int, position: Position) -> Node:
        """An element that is one of the operand's, at another position."""
        match op:
            case CastOp():
                return self.at(op.source, position)
            case BroadcastOp():
                return self.at(op.input, tuple(position[dim] for dim in numbers(op.dims)))
            case TransposeOp():
                order = numbers(op.permutation)
                moved = tuple(position[order.index(dim)] for dim in range(len(order)))
                return self.at(op.input, moved)
            case ReshapeOp():
                row_major = flatten(position, self.sizes.extents(op.output))
                return self.at(op.input, unflatten(row_major, self.sizes.extents(op.input)))
            case ExtractSliceOp():
                return self.at(op.source, self._sliced(op, position))
            case _:
                return self._elementwise(op, result, position)

    def _elementwise(self, op: Operation, result: int, position: Position) -> Node:
        if not op.name.startswith(ELEMENTWISE):
            raise IRError("cannot stand in a kernel", op)
        operands = tuple(
            self.scalar(operand) if as_tensor(operand.type) is None else self.at(operand, position)
            for operand in op.operands
        )
        elements = tuple(element_of(output.type) for output in op.results)
        return Compute(type(op), op.properties, elements, operands, result)

    def _scaled(self, op: ScaleOp, position: Position) -> Node:
        element = element_of(op.input.type)
        multiply = (MulfOp if is_float(element) else MuliOp)(op.factor, op.factor)
        properties = multiply.properties
        multiply.erase()
        operands = (self.at(op.input, position), self.scalar(op.factor))
        return Compute(type(multiply), properties, (element,), operands)

    def _sliced(self, op: ExtractSliceOp, position: Position) -> Position:
        starts = self._list(op.static_offsets, op.offsets)
        steps = self._list(op.static_strides, op.strides)
        moved: list[Index] = []
        for index, start, step in zip(position, starts, steps, strict=True):
            if step.terms:
                raise IRError(
                    "has a step that the kernel computes from data: it comes from outside", op
                )
            moved.append(index * step.offset + start)
        return tuple(moved)

    def _list(self, static: DenseArrayBase, dynamic: Sequence[SSAValue]) -> list[Index]:
        rest = iter(dynamic)
        return [
            self.index(next(rest)) if number == DYNAMIC_INDEX else constant(Size.of(number))
            for number in numbers(static)
        ]

    def _spread(self, op: SegmentBroadcastBlockOp, position: Position) -> Node:
        index, count = position[0] + self.index(op.start), self.sizes.extent(op.input, 0)
        segment = Segment(self.segments(op, op.offsets), index, count)
        return Guarded(self.at(op.input, (Index.of(segment),)), segment)

    def _copied(self, op: CopyOp, position: Position) -> Node:
        dim = op.dim.value.data
        if isinstance(op, UnpackOp):
            return self.at(op.input, cuts.unpacked(position, dim, self._levels(op)))
        extent = self.sizes.extent(op.input, dim)
        if isinstance(op, PackOp):
            position, conditions = cuts.packed(position, dim, self._levels(op), extent)
        else:
            conditions = [(position[dim], extent)]
        node = self.at(op.input, position)
        for condition in conditions:
            node = Guarded(node, condition)
        return node

    def _levels(self, op: PackOp | UnpackOp) -> list[cuts.Level]:
        counts, sizes = ([self.size(size) for size in sizes] for sizes in (op.counts, op.sizes))
        return list(zip(counts, sizes, strict=True))

    def _dropped(self, op: DropoutBlockOp, position: Position) -> Node:
        starts, sizes = map(self.index, op.starts), [self.size(size) for size in op.sizes]
        whole = [index + start for index, start in zip(position, starts, strict=True)]
        seed, coordinate = self.scalar(op.seed), self.scalar(op.coordinate)
        return Dropped(self.at(op.input, position), flatten(whole, sizes), op, seed, coordinate)

    def _reduced(self, op: ReduceOp | SegmentReduceBlockOp, position: Position) -> Node:
        if self.kept.get(op) != position:
            raise IRError(
                "is read at other places than those that are reduced together: that is a kernel of its own",
                op,
            )
        return Reduced(op)


def _dim(op: DimOp) -> int:
    match op.index.owner:
        case ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            raise IRError("asks for a dimension that is no constant", op)


def _number(op: ConstantOp) -> ConstantAttr:
    if not isinstance(op.value, DenseIntOrFPElementsAttr) or not op.value.is_splat():
        raise IRError(
            "holds several numbers, and kernels have constants of one number: pass the tensor as an argument",
            op,
        )
    return next(iter(op.value.get_attrs()))


def _only(op: FromElementsOp) -> SSAValue:
    if len(op.elements) != 1:
        raise IRError("gathers several scalars, which no kernel does: splat each", op)
    return op.elements[0]
