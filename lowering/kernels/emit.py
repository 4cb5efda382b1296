"""From what computes an element to operations: on one element, or on a vector of neighbours."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import IntegerAttr, VectorType, i64
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.vector import LoadOp as VectorLoadOp
from xdsl.dialects.vector import StoreOp as VectorStoreOp
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.dialects.arith import CmpiOp, SelectOp
from coconet_ir.dialects.elements import default_accumulate
from coconet_ir.lowering.kernels import philox
from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.indices import (
    ONE,
    Atom,
    Axis,
    Computed,
    Index,
    Quotient,
    Remainder,
    Segment,
    Size,
)
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.nodes import (
    Compute,
    Constant,
    Dropped,
    Guarded,
    Load,
    Node,
    Number,
    Reduced,
    Store,
    Uniform,
    loads,
    walk,
)
from coconet_ir.lowering.kernels.segments import Offsets, below
from coconet_ir.lowering.kernels.values import (
    convert,
    lanes,
    like,
    number_of,
    packed,
    wide,
    width_of,
)

Place = Mapping[Axis, SSAValue | None]
"""Where each axis is; None for one that another says, or that has one value."""


class Evaluator:
    """Computes elements at one place, each node once; `Evaluator(kernel)` what all elements have in common.

    With an `inner` axis it computes `width` neighbours along it at once: vectors, or scalars for what does not
    change along it. `reduced` has the results of reductions.
    """

    def __init__(self, kernel: Kernel):
        self.kernel, self.code = kernel, kernel.code
        self.place: Place = {}
        self.inner: Axis | None = None
        self.width = 1
        self.reduced: Mapping[Operation, SSAValue] = {}
        self._wider: Evaluator | None = None
        """Computes what does not change along the axis along which this one is narrower."""
        self._narrowed: frozenset[Axis] | None = None
        self._values: ChainMap[Node, SSAValue] = ChainMap()
        self._indices: ChainMap[Index | Atom, SSAValue] = ChainMap()
        self._lanes: list[Evaluator] = []

    def at(
        self,
        code: Code,
        place: Place,
        *,
        inner: Axis | None = None,
        width: int = 1,
        reduced: Mapping[Operation, SSAValue] | None = None,
    ) -> Evaluator:
        """An evaluator at a place, which leaves to this one what no place changes."""
        new = Evaluator(self.kernel)
        new.code, new.place = code, place
        new.reduced = {} if reduced is None else reduced
        new.inner, new.width = (inner, width) if width > 1 else (None, 1)
        new._wider = self
        return new

    def guarded(self, code: Code) -> Evaluator:
        """The same place, in a branch: computes there all that is not known yet."""
        new = Evaluator(self.kernel)
        new.code, new.place, new.reduced = code, self.place, self.reduced
        new.inner, new.width = self.inner, self.width
        new._values, new._indices = self._values.new_child(), self._indices.new_child()
        return new

    def _lane(self, number: int, inner: Axis) -> Evaluator:
        """One element of the vector."""
        while len(self._lanes) <= number:
            first, lane = self.place[inner], self.code.number(len(self._lanes))
            shifted = lane if first is None else self.code.add(first, lane)
            new = self.at(self.code, {**self.place, inner: shifted}, reduced=self.reduced)
            new._narrowed = frozenset((inner,))
            self._lanes.append(new)
        return self._lanes[number]

    def know(self, node: Node, value: SSAValue) -> None:
        """Take a value for an element instead of computing it."""
        self._values[node] = value

    def know_index(self, index: Index, value: SSAValue) -> None:
        """Take a value for an index instead of computing it."""
        self._indices[index] = value

    def value(self, node: Node) -> SSAValue:
        """An element, or a vector of them if they differ along the inner axis."""
        if (known := self._values.get(node)) is None:
            depends = self.kernel.depends(node)
            own = depends if self._narrowed is None else depends & self._narrowed
            if self._wider is not None and not own:
                known = self._wider.value(node)
            else:
                with self.code.standing_for(self.kernel.trace.made_by.get(node)):
                    known = self._emit(node)
            self._values[node] = known
        return known

    def vector(self, node: Node) -> SSAValue:
        """A vector of elements; one element if the width is 1."""
        for part in walk(node, into=lambda one: isinstance(one, Compute)):
            self.value(part)  # in order: a chain of operations may be very long
        return wide(self.code, self.value(node), self.width if self.inner else None)

    def fetch(self, *nodes: Node, where: SSAValue | None = None) -> None:
        """Load now what these nodes load, but for what a condition guards; zeros unless `where` holds."""
        if where is None:
            for load in loads(*nodes):
                self.value(load)
            return
        new = [load for load in loads(*nodes) if self._is_new(load)]

        def yes(code: Code) -> Values:
            there = self.guarded(code)
            return [there.value(load) for load in new]

        def no(code: Code) -> Values:
            zeros = [code.constant(number_of(load.element, 0)) for load in new]
            widths = [self.width if self._along(load.address) else None for load in new]
            return [wide(code, *pair) for pair in zip(zeros, widths, strict=True)]

        for load, value in zip(new, self.code.branch(where, yes, no) if new else (), strict=True):
            self.know(load, value)

    def _is_new(self, node: Node) -> bool:
        """Whether an element is not known yet, and differs from place to place."""
        return node not in self._values and bool(self.kernel.depends(node))

    def _emit(self, node: Node) -> SSAValue:
        match node:
            case Uniform():
                return self.kernel.scalar(node.value)
            case Constant():
                return self.code.constant(node.value)
            case Reduced():
                return self.reduced[node.op]
            case Compute():
                return self._compute(node)
            case Load(address=index):
                return self._load(node, self._along(index))
            case Number(index=index):
                inner = self._along(index)
                return self._by_lane(node, inner) if inner else self.index(index)
            case Dropped(position=index):
                return self._drop(node, self._along(index))
            case Guarded(where=Segment() as segment):
                return self._in_segment(node, segment)
            case Guarded(where=(Index() as index, Size() as end)):
                if (inner := self._along(index)) is not None:
                    return self._by_lane(node, inner)
                return self._guard(node, self.code.less(self.index(index), self.code.size(end)))
            case _:
                raise TypeError(node)

    def _along(self, index: Index) -> Axis | None:
        """The inner axis if it changes an index."""
        return self.inner if self.inner in index.axes else None

    def _by_lane(self, node: Node, inner: Axis) -> SSAValue:
        values = [self._lane(number, inner).value(node) for number in range(self.width)]
        return packed(self.code, values)

    def _compute(self, node: Compute) -> SSAValue:
        operands = [self.value(operand) for operand in node.operands]
        widths = {width_of(value) for value in operands} - {None}
        width = self.width if widths else None
        types = [
            element if width is None else VectorType(element, [width]) for element in node.elements
        ]
        op = node.kind.create(
            operands=[wide(self.code, value, width) for value in operands],
            result_types=types,
            properties=dict(node.properties),
        )
        self.code.do(op)
        return op.results[node.result]

    def _load(self, node: Load, inner: Axis | None) -> SSAValue:
        if inner is not None and not in_line(node.address, inner):
            return self._by_lane(node, inner)
        buffer, address = self.kernel.buffer(node.buffer), self.index(node.address)
        if inner is None:
            return self.code.put(LoadOp.get(buffer, [address]))
        load = VectorLoadOp(buffer, [address], VectorType(node.element, [self.width]))
        _align(load, node.element, self.width)
        return self.code.put(load)

    def store_all(self, stores: Sequence[Store]) -> None:
        """Compute elements, then store them."""
        values = [self.vector(store.node) for store in stores]
        for store, value in zip(stores, values, strict=True):
            self.store(store, value)

    def store(self, store: Store, value: SSAValue) -> None:
        """Store an element, or each of a vector."""
        to, inner, address = self.kernel.buffer(store.buffer), self.inner, store.address
        self.kernel.stored.add(store.buffer)
        if inner is None:
            self.code.do(StoreOp.get(value, to, [self.index(address)]))
        elif in_line(address, inner):
            op = VectorStoreOp(value, to, [self.index(address)])
            _align(op, store.node.element, self.width)
            self.code.do(op)
        else:
            for number, one in enumerate(lanes(self.code, value)):
                self._lane(number, inner).store(store, one)

    def index(self, index: Index) -> SSAValue:
        """An index; along the inner axis that of the first element."""
        if (known := self._indices.get(index)) is None:
            if self._wider is not None and not index.axes and not index.nested:
                known = self._wider.index(index)
            else:
                known = self._sum(index)
            self._indices[index] = known
        return known

    def _sum(self, index: Index) -> SSAValue:
        parts = [self.code.size(index.offset)] if index.offset.terms else []
        for atom, factor in index.terms:
            if (value := self._atom(atom)) is not None:
                parts.append(self.code.scaled(value, factor))
        return self.code.sum(parts)

    def _atom(self, atom: Atom) -> SSAValue | None:
        match atom:
            case Axis():
                return self.place[atom]
            case Quotient(index, divisor):
                return self.code.quotient(self.index(index), divisor)
            case Remainder(index, divisor):
                return self.code.remainder(self.index(index), divisor)
            case Segment():
                return self._indices[atom]  # known in the branch where the element is
            case Computed(number):
                return self.value(self.kernel.trace.computed[number])

    def _guard(self, node: Guarded, inside: SSAValue) -> SSAValue:
        """The element in a branch, 0 in the other."""
        width = self.width if self.inner in self.kernel.depends(node) else None

        def yes(code: Code) -> Values:
            return [wide(code, self.guarded(code).value(node.node), width)]

        def no(code: Code) -> Values:
            return [wide(code, code.constant(number_of(node.element, 0)), width)]

        return self.code.branch(inside, yes, no)[0]

    def _in_segment(self, node: Guarded, segment: Segment) -> SSAValue:
        """The element of its segment; in a vector, of one segment if it holds the whole vector."""
        code, position = self.code, self.index(segment.index)
        buffer = self.kernel.buffer(self.kernel.trace.bounds[segment.offsets])
        offsets = Offsets(buffer, code.size(segment.count))
        first, behind = offsets.first_behind(code, position), code.add(position, code.number(1))
        inside = offsets.starts_below(code, first, behind)
        if (inner := self._along(segment.index)) is None:
            self._indices[segment] = first
            return self._guard(node, inside)
        last = code.add(position, code.number(self.width - 1))
        whole = code.branch(
            inside,
            lambda code: [below(code, last, offsets.end(code, first))],
            lambda code: [inside],
        )[0]

        def yes(code: Code) -> Values:
            one = self.guarded(code)._lane(0, inner)  # what a segment has is one value
            one._indices[segment] = first
            return [wide(code, one.value(node.node), self.width)]

        def no(code: Code) -> Values:
            return [self.guarded(code)._by_lane(node, inner)]

        return code.branch(whole, yes, no)[0]

    def _drop(self, node: Dropped, inner: Axis | None) -> SSAValue:
        """Keep or drop elements; the first of a vector has a position that its width divides."""
        if inner is not None and not in_line(node.position, inner):
            return self._by_lane(node, inner)
        code, width = self.code, self.width if inner else None
        seed, coordinate = self.value(node.seed), self.value(node.coordinate)
        words = philox.words(code, node.op, self.index(node.position), width, seed, coordinate)
        least = philox.word(code, philox.threshold(node.op))
        kept = [code.put(CmpiOp(word, least, "uge")) for word in words]
        value = wide(code, self.value(node.node), width)
        value = convert(code, value, default_accumulate(node.element))
        scaled = code.put(MulfOp(value, like(code, value, philox.scale(node.op))))
        scaled = convert(code, scaled, node.element)
        condition = kept[0] if width is None else packed(code, kept)
        return code.put(SelectOp(condition, scaled, like(code, scaled, 0)))


def _align(op: VectorLoadOp | VectorStoreOp, element: Attribute, width: int) -> None:
    """Say to how many bytes an access is aligned: to its own size."""
    op.attributes["alignment"] = IntegerAttr(width * int(element_bytes(element)), i64)


def in_line(index: Index, inner: Axis | None) -> bool:
    """Whether neighbours along an axis are neighbours in memory."""
    if inner is None or inner not in index.axes:
        return False
    return index.factor(inner) == ONE and not any(inner in one.axes for one in index.nested)
