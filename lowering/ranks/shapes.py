"""The sizes of the tensors of one rank's program: the classes of equal ones, and how the host computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import BlockArgument, Operation, SSAValue

from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.shapes import Extent, Place, Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import DistAttr, sizes_of
from coconet_ir.dialects.blocks import SegmentReduceBlockOp
from coconet_ir.dialects.nccl import AllGatherOp, PackOp, UnpackOp
from coconet_ir.lowering.levels import LAYOUT, SIZE
from coconet_ir.lowering.ranks.extents import given_sizes, rule_on_rank
from coconet_ir.lowering.ranks.geometry import Arithmetic, Index, known
from coconet_ir.schedule.selection import argument_names


class RankShapes(Shapes):
    """The classes of equal dimensions of one rank's program; dimensions of one given size are equal too.

    Classes go by the names of arguments and of sizes, where they have one: `w.0`, `w_d0_dp_block`.
    """

    def __init__(self, func: FuncOp):
        super().__init__(func, rule_of=rule_on_rank)
        self.given: list[tuple[Place, SSAValue]] = []
        """The dimensions that indices give, and these, in order."""
        self._marked: dict[Place, str] = {}
        """What marks call dimensions of arguments."""
        self._tie_arguments(func)
        for op in func.walk():
            for dim, size in given_sizes(op):
                self._give((op.results[0], dim), size)
            if isinstance(op, UnpackOp):
                self._tie_blocks(op)
            if op.regions:
                self._tie_yielded(op)
        self._name_classes(func)

    def _give(self, place: Place, size: SSAValue) -> None:
        self.given.append((place, size))
        if isinstance(number := known(size), int):
            self._static[(size, 0)] = number
        self._tie(place, (size, 0))

    def _tie_arguments(self, func: FuncOp) -> None:
        """Dimensions that no axis cuts have the sizes that arguments give."""
        named = argument_names(func)
        marks = list(func.arg_attrs or [DictionaryAttr({})] * len(named))
        for size, mark in zip(func.body.block.args, marks, strict=True):
            if isinstance(given := mark.data.get(SIZE), StringAttr):
                name, dim = given.data.rsplit(".", 1)
                layout = marks[named[name].index].data.get(LAYOUT)
                if not isinstance(layout, DistAttr) or int(dim) not in layout.data.by_dim:
                    self._give(place := (named[name], int(dim)), size)
                    self._marked[place] = given.data

    def _tie_blocks(self, op: UnpackOp) -> None:
        if len(op.counts) == 1:
            self._give((op.input, 0), op.counts[0])
        self._give((op.input, op.dim.value.data + 1), op.sizes[-1])

    def _name_classes(self, func: FuncOp) -> None:
        for place, name in self._marked.items():
            self._name(place, name)
        for arg in func.body.block.args:
            for dim in range(rank_of(arg.type) or 0):
                self._name((arg, dim), f"{arg.name_hint or 'arg'}.{dim}")
        for place, size in self.given:
            if size.name_hint is not None:
                self._name(place, size.name_hint)

    def _name(self, place: Place, name: str) -> None:
        if (root := self._find(place)) not in self._labels:
            while name in self._labels.values():
                name += "'"
            self._labels[root] = name

    def _tie_yielded(self, region: Operation) -> None:
        """What a region yields has the sizes of its results."""
        block = region.regions[0].first_block
        last = None if block is None else block.last_op
        if isinstance(last, AbstractYieldOperation):
            for inner, outer in zip(last.operands, region.results, strict=True):
                for dim in range(len(sizes_of(outer.type))):
                    self._tie((inner, dim), (outer, dim))

    def shape(self, value: SSAValue) -> tuple[Extent, ...]:
        """The size of each dimension of a tensor."""
        return tuple(self.extent((value, dim)) for dim in range(len(sizes_of(value.type))))

    def text(self, extent: Extent) -> str:
        """An extent as a product: `4*w.0`."""
        factor, roots = extent
        names = [self.label(root) for root in roots]
        return "*".join(names if factor == 1 and names else [str(factor), *names])


class HostSizes:
    """How the host computes the sizes of a function's tensors."""

    def __init__(
        self,
        func: FuncOp,
        shapes: RankShapes,
        arithmetic: Arithmetic,
        dim_of: Callable[[BlockArgument, int], SSAValue],
    ):
        """`dim_of` makes the host ask for a dimension of an argument."""
        self._shapes, self._arithmetic = shapes, arithmetic
        self._whole: dict[Place, Callable[[], Index]] = {}
        """How large classes are, also those that are products."""
        self._sources: dict[Place, Callable[[], Index]] = {}
        """How large those are of which products are made."""
        for place, size in shapes.given:
            self._learn(place, lambda size=size: known(size))
        for arg in func.body.block.args:
            for dim in range(len(sizes_of(arg.type))):
                self._learn((arg, dim), lambda arg=arg, dim=dim: dim_of(arg, dim))
        for op in func.walk():
            self._learn_from(op)
        self._known: dict[Place, Index] = {}

    def _learn(self, place: Place, size: Callable[[], Index]) -> None:
        self._whole.setdefault(self._shapes.class_of(place), size)
        factor, roots = self._shapes.extent(place)
        if len(roots) == 1 and factor:
            divide = self._arithmetic.divide
            self._sources.setdefault(roots[0], lambda: divide(size(), factor))

    def _learn_from(self, op: Operation) -> None:
        arithmetic = self._arithmetic
        match op:
            case AllGatherOp():
                self._learn((op.output, 0), lambda: arithmetic.ranks(op.axes.data))
            case PackOp():
                self._learn((op.output, 0), lambda: self._product(list(op.counts)))
            case SegmentReduceBlockOp():
                bounds = (op.offsets, 0)
                less = lambda: arithmetic.subtract(self._size(bounds), 1)  # noqa: E731
                self._learn((op.output, 0), less)
            case _:
                pass

    def _product(self, factors: Sequence[Index]) -> Index:
        product: Index = 1
        for factor in factors:
            product = self._arithmetic.multiply(product, factor)
        return product

    def sizes(self, value: SSAValue) -> list[Index]:
        """The size of each dimension of a tensor."""
        return [self._size((value, dim)) for dim in range(len(sizes_of(value.type)))]

    def _size(self, place: Place) -> Index:
        extent = self._shapes.extent(place)
        given = self._whole.get(self._shapes.class_of(place)) if extent[1] else None
        return self.number(extent) if given is None else given()

    def number(self, extent: Extent) -> Index:
        """An extent. Raises `IRError` if nothing says how large a dimension is."""
        factor, roots = extent
        return self._product([factor, *(self._root(root) for root in roots if factor)])

    def _root(self, root: Place) -> Index:
        if root not in self._known:
            if (source := self._sources.get(root)) is None:
                owner = root[0].owner
                raise IRError(
                    f"has a dimension of unknown size, {self._shapes.label(root)}: neither an argument nor an "
                    "index on the host says how large it is",
                    owner if isinstance(owner, Operation) else None,
                )
            self._known[root] = source()
        return self._known[root]
