"""Which kernels a fused region becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.ir import SSAValue

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.analysis.shapes import Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.blocks import SegmentReduceBlockOp
from coconet_ir.dialects.comp import ReduceOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.lowering.kernels.buckets import Bucketed, Segmented, bucketed
from coconet_ir.lowering.kernels.copies import transpose, transposed
from coconet_ir.lowering.kernels.folding import Fold
from coconet_ir.lowering.kernels.indices import Axis, Index, Size, flatten, product, unflatten
from coconet_ir.lowering.kernels.kernel import element_type
from coconet_ir.lowering.kernels.launch import Launch
from coconet_ir.lowering.kernels.memory import Memory, memory_of
from coconet_ir.lowering.kernels.nodes import Load, Node, Reduced, Store, walk
from coconet_ir.lowering.kernels.pointwise import pointwise
from coconet_ir.lowering.kernels.reductions import Grouped, grouped
from coconet_ir.lowering.kernels.space import Space
from coconet_ir.lowering.kernels.trace import Position, Trace

Reduction = ReduceOp | SegmentReduceBlockOp


def launches(region: FusedOp, shapes: Shapes, name: Callable[[], str]) -> list[Launch]:
    """The kernels of a region, in order; `name` gives each a name. Raises `IRError` for what is no kernel."""
    if region.results:
        raise IRError("gives values: at this level a kernel stores what it computes", region)
    trace = Trace(region, shapes)
    outputs = [op for op in region.body.block.ops if isinstance(op, MaterializeInDestinationOp)]
    if not outputs:
        raise IRError(
            "stores nothing: a kernel ends in bufferization.materialize_in_destination", region
        )
    reductions = [op for op in region.body.block.ops if isinstance(op, Reduction)]
    if not reductions:
        return [_elementwise(region, trace, outputs, name())]
    return _Reducing(region, trace, reductions, outputs).launches(name)


def _elementwise(
    region: FusedOp, trace: Trace, outputs: Sequence[MaterializeInDestinationOp], name: str
) -> Launch:
    extents = trace.sizes.extents(outputs[0].source)
    axes = [Axis(number, extent) for number, extent in enumerate(extents)]
    stores = [_store(trace, op, axes) for op in outputs]
    nodes = [store.node for store in stores]
    check_in_place(region, stores, nodes)
    space = Space(axes, nodes, stores)
    if (across := transposed(space, stores)) is not None:
        return transpose(trace, name, space, stores, across)
    return pointwise(trace, name, space, stores)


def _store(trace: Trace, op: MaterializeInDestinationOp, axes: Sequence[Axis]) -> Store:
    if (store := _stored(trace, op, axes)) is None:
        raise IRError(
            "stores a tensor of another size than the one before: one kernel runs over one space of elements",
            op,
        )
    return store


def _stored(trace: Trace, op: MaterializeInDestinationOp, axes: Sequence[Axis]) -> Store | None:
    """What an operation stores at a place along the axes, None if its tensor has another number of elements."""
    extents = trace.sizes.extents(op.source)
    if (position := _position(axes, extents)) is None:
        return None
    return Store(op.dest, trace.at(op.source, position), flatten(position, extents))


def _position(axes: Sequence[Axis], extents: Sequence[Size]) -> Position | None:
    """Where the element at a place along the axes lies in a tensor of as many elements, None if it has others."""
    have = [axis.extent for axis in axes]
    position = tuple(Index.of(axis) for axis in axes)
    if have == list(extents):
        return position
    if product(have) != product(extents):
        return None
    return unflatten(flatten(position, have), extents)


class _Reducing:
    """A region with reductions, all of one space of elements and over the same dimensions, or over segments."""

    def __init__(
        self,
        region: FusedOp,
        trace: Trace,
        reductions: Sequence[Reduction],
        outputs: Sequence[MaterializeInDestinationOp],
    ):
        self.region, self.trace = region, trace
        extents = trace.sizes.extents(reductions[0].input)
        self.axes = [Axis(number, extent) for number, extent in enumerate(extents)]
        self.gone = _reduced(reductions[0])
        self.kept = [axis for axis in self.axes if axis.number not in self.gone]
        for op in reductions:
            if trace.sizes.extents(op.input) != extents or _reduced(op) != self.gone:
                raise IRError(
                    "reduces other dimensions than the reduction before it, or of another tensor: one kernel "
                    "reduces one shape",
                    op,
                )
        self.segments = self._segments(
            [op for op in reductions if isinstance(op, SegmentReduceBlockOp)]
        )
        trace.kept = {op: _position_of(self._left(op)) for op in reductions}
        everywhere = _position_of(self.axes)
        self.folds = [Fold(op, trace.at(op.input, everywhere)) for op in reductions]
        self.whole: list[Store] = []
        self.each: list[Store] = []
        self.each_segment: list[Store] = []
        for op in outputs:
            self._sort(op)

    def _segments(self, ops: Sequence[SegmentReduceBlockOp]) -> Axis | None:
        """The axis of segments, if some are reduced."""
        if not ops:
            return None
        for op in ops:
            if self._bounds(op) != self._bounds(ops[0]):
                raise IRError(
                    "reduces other segments than the one before: that is a kernel of its own", op
                )
        return Axis(len(self.axes), self.trace.sizes.extent(ops[0].output, 0))

    def _bounds(self, op: SegmentReduceBlockOp) -> tuple[SSAValue, Index]:
        """The buffer that bounds segments, and the place of the first element among all."""
        buffer = self.trace.bounds[self.trace.segments(op, op.offsets)]
        return buffer, self.trace.index(op.start)

    def _left(self, op: Reduction) -> list[Axis]:
        """The axes of the result of a reduction."""
        if isinstance(op, SegmentReduceBlockOp) and self.segments is not None:
            return [self.segments]
        return self.kept

    def _sort(self, op: MaterializeInDestinationOp) -> None:
        """Note what is stored: for all elements, for those kept, or for segments."""
        places = [(self.axes, self.whole), (self.kept, self.each)]
        if self.segments is not None:
            places.append(([self.segments], self.each_segment))
        error = IRError(
            "stores a tensor that has neither the shape that is reduced nor the one that is left",
            op,
        )
        for axes, stores in places:
            try:
                store = _stored(self.trace, op, axes)
            except IRError as problem:  # of as many elements, but read in another order
                error = problem
                continue
            if store is not None:
                stores.append(store)
                return
        raise error

    def launches(self, name: Callable[[], str]) -> list[Launch]:
        """The kernels."""
        each = [*self.each, *self.each_segment]
        stores = [*self.whole, *each]
        everywhere = [*(fold.node for fold in self.folds), *(store.node for store in self.whole)]
        nodes = [*everywhere, *(store.node for store in each)]
        check_in_place(self.region, stores, nodes)
        again = any(isinstance(node, Reduced) for node in walk(*everywhere))
        if not self.kept and not again:
            return bucketed(self.trace, name, self._bucketed(nodes, stores))
        if self.segments is not None:
            raise IRError(
                "uses what it reduces by segments for the elements again: that is a kernel of its own",
                self.region,
            )
        _check_unread(self.region, each, everywhere)
        gone = [axis for axis in self.axes if axis.number in self.gone]
        kept, reduced = (Space(axes, nodes, stores) for axes in (self.kept, gone))
        work = Grouped(kept, reduced, self.folds, self.whole, self.each)
        rows = not self.axes or self.axes[-1] in gone
        return [grouped(self.trace, name(), work, rows)]

    def _bucketed(self, nodes: Sequence[Node], stores: Sequence[Store]) -> Bucketed:
        plain = [fold for fold in self.folds if isinstance(fold.op, ReduceOp)]
        space, segmented = Space(self.axes, nodes, stores), None
        if self.segments is not None:
            folds = [fold for fold in self.folds if fold not in plain]
            op = folds[0].op
            assert isinstance(op, SegmentReduceBlockOp)
            segmented = Segmented(folds, *self._bounds(op), self.segments, self.each_segment)
        return Bucketed(space, plain, self.whole, self.each, segmented)


def _reduced(op: Reduction) -> tuple[int, ...]:
    return op.reduced if isinstance(op, ReduceOp) else (0,)


def _position_of(axes: Sequence[Axis]) -> Position:
    return tuple(Index.of(axis) for axis in axes)


def check_in_place(region: FusedOp, stores: Sequence[Store], nodes: Sequence[Node]) -> None:
    """Raise `IRError` when a kernel overwrites what another of its threads may still read."""
    written: dict[Memory, Store] = {}
    for store in stores:
        if (memory := memory_of(store.buffer)) in written:
            raise IRError("stores twice into one buffer", region)
        written[memory] = store
    for node in walk(*nodes):
        if isinstance(node, Load) and (store := written.get(memory_of(node.buffer))) is not None:
            sizes = [element_bytes(element_type(one.buffer)) for one in (node, store)]
            if node.address != store.address or sizes[0] != sizes[1]:
                raise _in_place(region)


def _check_unread(region: FusedOp, stores: Sequence[Store], nodes: Sequence[Node]) -> None:
    """Raise `IRError` when what is stored once a group is read by all of its threads."""
    stored = {memory_of(store.buffer) for store in stores}
    if any(isinstance(node, Load) and memory_of(node.buffer) in stored for node in walk(*nodes)):
        raise _in_place(region)


def _in_place(region: FusedOp) -> IRError:
    return IRError(
        "overwrites a buffer that it reads at other places: read a copy, or store in a kernel of its own",
        region,
    )
