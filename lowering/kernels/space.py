"""The elements that a kernel runs over, what it stores for them, and when vectors of them can be moved at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from xdsl.dialects.arith import OrIOp
from xdsl.dialects.memref import ExtractAlignedPointerAsIndexOp
from xdsl.ir import SSAValue

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.emit import Place, in_line
from coconet_ir.lowering.kernels.geometry import ACCESS
from coconet_ir.lowering.kernels.indices import ONE, Axis, Index, Size, flatten, merge, product
from coconet_ir.lowering.kernels.kernel import Kernel, element_type
from coconet_ir.lowering.kernels.nodes import Dropped, Load, Node, Store, positions, walk


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
        place: dict[Axis, SSAValue | None] = dict.fromkeys(self.axes)
        for group in reversed(self.groups[1:]):
            extent = product(axis.extent for axis in group)
            place[group[-1]] = code.remainder(number, extent)
            number = code.quotient(number, extent)
        if self.groups:
            place[self.groups[0][-1]] = number
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
        loads = [node for node in walk(*nodes) if isinstance(node, Load)]
        moved = [(load.buffer, load.address) for load in loads]
        moved += [(store.buffer, store.address) for store in stores]
        self.moved = [(buffer, index) for buffer, index in moved if in_line(index, inner)]
        dropped = [node.position for node in walk(*nodes) if isinstance(node, Dropped)]
        self.counted = [index for index in dropped if in_line(index, inner)]

    def width(self) -> int:
        """Elements of a vector: 16 bytes of the widest, so that the accesses of a warp leave no gaps."""
        sizes = [int(element_bytes(element_type(buffer))) for buffer, _ in self.moved]
        return ACCESS // max(sizes, default=ACCESS)

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
