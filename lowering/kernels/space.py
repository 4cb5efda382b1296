"""The elements that a kernel runs over, what it stores for them, and when vectors of them can be moved at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from xdsl.dialects.arith import OrIOp
from xdsl.dialects.memref import ExtractAlignedPointerAsIndexOp
from xdsl.ir import SSAValue

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.emit import Evaluator, Place, in_line
from coconet_ir.lowering.kernels.geometry import ACCESS
from coconet_ir.lowering.kernels.indices import ONE, Axis, Index, Size, flatten, merge, product
from coconet_ir.lowering.kernels.kernel import Kernel, element_type
from coconet_ir.lowering.kernels.nodes import Dropped, Load, Node, Store, loads, positions, walk

_SHORT = 1 << 31
"""What 32 bits hold, with as much left to add."""


class Space:
    """Axes, outer first, as one loop over their elements in row-major order."""

    def __init__(self, axes: Sequence[Axis], nodes: Iterable[Node], stores: Iterable[Store] = ()):
        """Axes through which all indices of the nodes and stores go as through one become one."""
        indices = [index for node in walk(*nodes) for index in positions(node)]
        indices += [store.address for store in stores]
        self.axes = axes
        self.groups = merge(axes, indices)

    @property
    def count(self) -> Size:
        """The number of elements."""
        return product(axis.extent for axis in self.axes)

    @property
    def inner(self) -> Axis | None:
        """The axis along which neighbours lie."""
        return self.groups[-1][-1] if self.groups else None

    @property
    def number(self) -> Index:
        """The number of an element."""
        position = [Index.of(axis) for axis in self.axes]
        return flatten(position, [axis.extent for axis in self.axes])

    def extent(self) -> Size:
        """The elements of the innermost loop."""
        return product(axis.extent for axis in self.groups[-1]) if self.groups else ONE

    def place(self, code: Code, number: SSAValue) -> Place:
        """Where the element of this number is."""
        digits: list[SSAValue] = []
        for extent in reversed(self._inner_extents()):
            digits.insert(0, code.remainder(number, extent))
            number = code.quotient(number, extent)
        return self._at([number, *digits])

    def is_short(self, code: Code) -> SSAValue | None:
        """Whether 32 bits hold the place in each inner loop, and some more; None if there is no inner loop."""
        extents = self._inner_extents()
        if any((extent.value or 0) >= _SHORT for extent in extents):
            return code.no()
        unknown = [code.size(extent) for extent in extents if extent.value is None]
        return code.less(_any_bit(code, unknown), code.number(_SHORT)) if unknown else None

    def vectors(
        self,
        top: Evaluator,
        code: Code,
        start: SSAValue,
        offsets: Iterable[SSAValue],
        width: int,
        nodes: Sequence[Node],
    ) -> list[Evaluator]:
        """Evaluators of the vectors at less than 2**31 elements behind `start`, if `is_short`; all is loaded at once.

        Divisions are slow, so what needs none is loaded before them. The place of `start` is found once; from there
        on 32 bits suffice.
        """
        found = list[Evaluator]()
        offsets = list(offsets)
        for offset in offsets:
            here = top.at(code, {}, inner=self.inner, width=width)
            here.know_index(self.number, code.add(start, offset))
            here.fetch(*(load for load in loads(*nodes) if load.address == self.number))
            found.append(here)
        first = self.place(code, start)
        for here, offset in zip(found, offsets, strict=True):
            if len(self.groups) > 1:
                here.place = self._near(code, first, offset)
            else:
                here.place = self.place(code, here.index(self.number))
            here.fetch(*nodes)
        return found

    def _inner_extents(self) -> list[Size]:
        """The elements of each loop inside of the outermost."""
        return [product(axis.extent for axis in group) for group in self.groups[1:]]

    def _near(self, code: Code, start: Place, step: SSAValue) -> Place:
        digits = [at for group in self.groups if (at := start[group[-1]]) is not None]
        for loop, extent in reversed(list(enumerate(self._inner_extents(), 1))):
            step, digits[loop] = code.divided_short(code.add(digits[loop], step), extent)
        return self._at([code.add(digits[0], step), *digits[1:]])

    def _at(self, digits: Sequence[SSAValue]) -> Place:
        place: dict[Axis, SSAValue | None] = dict.fromkeys(self.axes)
        place.update((group[-1], digit) for group, digit in zip(self.groups, digits, strict=False))
        return place


class Accesses:
    """What is moved as vectors along an axis: neighbours in memory."""

    def __init__(
        self,
        inner: Axis | None,
        spaces: Iterable[Space],
        nodes: Sequence[Node],
        stores: Sequence[Store] = (),
    ):
        self.inner = inner
        self._apart = {group[-1] for space in spaces for group in space.groups} - {inner}
        every = [node for node in walk(*nodes) if isinstance(node, Load)]
        moved = [(load.buffer, load.address) for load in every]
        self._loaded = [buffer for buffer, index in moved if in_line(index, inner)]
        moved += [(store.buffer, store.address) for store in stores]
        self.moved = [(buffer, index) for buffer, index in moved if in_line(index, inner)]
        dropped = [node.position for node in walk(*nodes) if isinstance(node, Dropped)]
        self.counted = [index for index in dropped if in_line(index, inner)]

    def width(self) -> int:
        """Elements of a vector: 16 bytes of the widest, so that the accesses of a warp leave no gaps."""
        sizes = [int(element_bytes(element_type(buffer))) for buffer, _ in self.moved]
        return ACCESS // max(sizes, default=ACCESS)

    def loaded(self) -> int:
        """Bytes that are loaded for a vector."""
        return self.width() * sum(int(element_bytes(element_type(one))) for one in self._loaded)

    def aligned(self, kernel: Kernel, width: int, *extents: Size) -> SSAValue | None:
        """Whether every vector can be moved at once, None if never; `extents` must hold whole vectors."""
        code, bits = kernel.code, dict[int, dict[SSAValue, None]]()
        sizes = dict.fromkeys(extents)
        for buffer, index in self.moved:
            step = width * int(element_bytes(element_type(buffer)))
            bits.setdefault(step, {})[buffer] = None
            sizes |= dict.fromkeys(self._steps(index))
        for index in self.counted:
            sizes |= dict.fromkeys(self._steps(index))
        numbers = [size.value for size in sizes]
        if any(number is not None and number % width for number in numbers):
            return None
        pointers = [
            (step, [self._pointer(kernel, buffer) for buffer in buffers])
            for step, buffers in bits.items()
        ]
        unknown = [code.size(size) for size in sizes if size.value is None]
        low = [
            code.remainder(_any_bit(code, values), Size.of(step))
            for step, values in (*pointers, (width, unknown))
            if values
        ]
        return code.equal(_any_bit(code, low), code.number(0))

    def _steps(self, index: Index) -> list[Size]:
        """How far steps along everything but the inner axis go."""
        steps = [f for atom, f in index.terms if not isinstance(atom, Axis) or atom in self._apart]
        return [*steps, index.offset]

    def _pointer(self, kernel: Kernel, buffer: SSAValue) -> SSAValue:
        return kernel.code.put(ExtractAlignedPointerAsIndexOp.get(kernel.buffer(buffer)))


def _any_bit(code: Code, values: Sequence[SSAValue]) -> SSAValue:
    return reduce(lambda a, b: code.put(OrIOp(a, b)), values)
