"""Which dimensions of a function are known to be equal (design, section 4, `?` dimensions).

Names of the rules tie dimensions together; a `tensor.splat` sized by `tensor.dim` is tied to the dimension asked
for. Kernels may assume a class equal once the entry has checked it, and bytes on the wire are counted in classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import DimOp, SplatOp
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.notation import Dim, Rule, Shape
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.regions import RegionOp, YieldOp

Place = tuple[SSAValue, int]
"""A dimension of a value."""

Extent = tuple[int, tuple[Place, ...]]
"""A static factor, and classes of unknown size to multiply it by, each given by its representative."""


class Shapes:
    """The classes of equal dimensions of one function."""

    def __init__(
        self,
        func: FuncOp,
        beside: Iterable[Operation] = (),
        rule_of: Callable[[Operation], Rule | None] = rule_of,
    ):
        """Classes of `func`, and of the operations `beside` that read its values but stand nowhere yet."""
        self._rule_of = rule_of
        self._parent: dict[Place, Place] = {}
        self._static: dict[Place, int] = {}
        self._products: dict[Place, tuple[Place, ...]] = {}
        self._labels: dict[Place, str] = {}
        for arg in func.body.block.args:
            self._declare(arg)
        for op in chain(func.walk(), beside):
            for result in op.results:
                self._declare(result)
            self._tie_by_rule(op)
            if isinstance(op, SplatOp):
                self._tie_splat(op)
            elif isinstance(op, YieldOp) and isinstance(region := op.parent_op(), RegionOp):
                for inner, outer in zip(op.arguments, region.outputs, strict=True):
                    for dim in range(rank_of(inner.type) or 0):
                        self._tie((inner, dim), (outer, dim))

    def extent(self, place: Place) -> Extent:
        """The size of a dimension."""
        return self._extent(place, frozenset())

    def class_of(self, place: Place) -> Place:
        """What stands for the class of a dimension, be its size a product or not."""
        return self._find(place)

    def elements(self, value: SSAValue) -> Extent:
        """The number of elements of a tensor."""
        places = [(value, dim) for dim in range(rank_of(value.type) or 0)]
        return self._product(places, frozenset())

    def _extent(self, place: Place, within: frozenset[Place]) -> Extent:
        """The size of a dimension that is a factor of the classes `within`, which may be its factors again."""
        root = self._find(place)
        if (size := self._static.get(root)) is not None:
            return size, ()
        if root in within or (factors := self._products.get(root)) is None:
            return 1, (root,)
        return self._product(factors, within | {root})

    def _product(self, places: Iterable[Place], within: frozenset[Place]) -> Extent:
        known, unknown = 1, list[Place]()
        for place in places:
            factor, classes = self._extent(place, within)
            known *= factor
            unknown += classes
        return known, tuple(sorted(unknown, key=self.label))

    def label(self, place: Place) -> str:
        """A name for the class of a dimension, its own in the function: `w.0`, dimension 0 of %w."""
        root = self._find(place)
        if (known := self._labels.get(root)) is None:
            value, dim = root
            known = f"{value.name_hint or 'tensor'}.{dim}"
            while known in self._labels.values():
                known += "'"
            self._labels[root] = known
        return known

    def _declare(self, value: SSAValue) -> None:
        for dim, size in enumerate(sizes_of(value.type)):
            if size != DYNAMIC_INDEX:
                self._static[(value, dim)] = size

    def _find(self, place: Place) -> Place:
        while (parent := self._parent.get(place, place)) != place:
            self._parent[place] = self._parent.get(parent, parent)
            place = parent
        return place

    def _tie(self, one: Place, other: Place) -> None:
        first, second = self._find(one), self._find(other)
        if first == second:
            return
        self._parent[second] = first
        if second in self._static:
            self._static.setdefault(first, self._static[second])
        if (factors := self._products.get(second)) is not None:
            self._tie_product(first, factors)

    def _tie_by_rule(self, op: Operation) -> None:
        rule = self._rule_of(op)
        if rule is None:
            return
        first: dict[str, Place] = {}
        products: list[tuple[Place, Dim]] = []
        for shapes, values in ((rule.operands, op.operands), (rule.results, op.results)):
            self._tie_values(shapes, values, first, products)
        for place, factors in products:
            if all(name in first for name in factors):
                self._tie_product(place, tuple(first[name] for name in factors))

    def _tie_product(self, place: Place, factors: tuple[Place, ...]) -> None:
        """Note that a dimension is a product; if it was one before, one unknown factor of each is the same."""
        before, after = self.extent(place), self._product(factors, frozenset())
        if before[0] == after[0] and len(before[1]) == len(after[1]) == 1:
            self._tie(before[1][0], after[1][0])
        self._products.setdefault(self._find(place), factors)

    def _tie_values(
        self,
        shapes: Sequence[Shape | None],
        values: Sequence[SSAValue],
        first: dict[str, Place],
        products: list[tuple[Place, Dim]],
    ) -> None:
        for shape, value in zip(shapes, values, strict=True):
            for dim, factors in enumerate(shape or ()):
                place = (value, dim)
                name, *inner = factors
                if inner:
                    products.append((place, factors))
                elif (other := first.setdefault(name, place)) != place:
                    self._tie(other, place)

    def _tie_splat(self, op: SplatOp) -> None:
        unknown = [d for d, s in enumerate(sizes_of(op.result.type)) if s == DYNAMIC_INDEX]
        for dim, size in zip(unknown, op.dynamicSizes, strict=False):
            if (place := _asked_for(size)) is not None:
                self._tie(place, (op.result, dim))


def _asked_for(size: SSAValue) -> Place | None:
    """The dimension whose extent an index value is, if it comes from `tensor.dim` with a constant."""
    if not isinstance(size, OpResult) or not isinstance(dim := size.op, DimOp):
        return None
    index = dim.index
    if not isinstance(index, OpResult) or not isinstance(constant := index.op, ConstantOp):
        return None
    if not isinstance(constant.value, IntegerAttr):
        return None
    number = constant.value.value.data
    return (dim.source, number) if 0 <= number < (rank_of(dim.source.type) or 0) else None
