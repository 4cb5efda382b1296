"""The sizes of `?` dimensions: what is given, what the program ties to it, and what nobody said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument

from coconet_ir.analysis.notation import Dim
from coconet_ir.analysis.rules import rule_of
from coconet_ir.analysis.shapes import Place, Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.sim.mesh import Shape

MAX_ELEMENTS = 1 << 40
"""Most elements of a tensor; more is taken for a mistake."""


def argument_names(func: FuncOp) -> dict[str, BlockArgument]:
    """The arguments by the name that the program's text gives them, `argN` for one without."""
    named: dict[str, BlockArgument] = {}
    for index, arg in enumerate(func.body.block.args):
        base = arg.name_hint or f"arg{index}"
        name, count = base, 0
        while name in named:
            count += 1
            name = f"{base}_{count}"
        named[name] = arg
    return named


def static_shape(arg: BlockArgument) -> tuple[int | None, ...] | None:
    """The sizes in an argument's type, None for `?`; None for an argument that is no tensor."""
    type: Attribute = arg.type
    if not isinstance(type, TensorType):
        return None
    sizes: Sequence[int] = type.get_shape()
    return tuple(None if size == DYNAMIC_INDEX else size for size in sizes)


class Sizes:
    """The sizes of the arguments of one function, by classes of dimensions that are equal."""

    def __init__(self, func: FuncOp):
        self._func = func
        self._arguments = argument_names(func)
        self._shapes = Shapes(func)
        self._known: dict[Place, tuple[int, str]] = {}
        self._products = list(self._tied_products())

    def give(self, name: str, shape: Sequence[int | None]) -> None:
        """State the sizes of an argument; None leaves one open.

        Raises `IRError` when they do not fit its type or what other arguments say.
        """
        arg = self._arguments[name]
        static = static_shape(arg)
        text = "x".join("?" if size is None else str(size) for size in shape)
        if static is None:
            raise IRError(f"takes %{name} as a scalar, which has no shape", self._func)
        if len(shape) != len(static):
            raise IRError(
                f"takes %{name} with {len(static)} dimension(s), but the shape {text} is given",
                self._func,
            )
        for dim, (size, wanted) in enumerate(zip(shape, static, strict=True)):
            if size is None:
                continue
            if size < 0 or (wanted is not None and size != wanted):
                raise IRError(
                    f"needs {'at least 0' if wanted is None else wanted} for dimension {dim} of %{name}, "
                    f"not {size}",
                    self._func,
                )
            self._set((arg, dim), size, f"dimension {dim} of %{name}")

    def complete(self, default: int) -> None:
        """Give the dimensions that are still open a size each: `default`, `default` + 1, and so on.

        Of a product that is open, the factors get one.
        """
        self._solve()
        while (place := self._next_open()) is not None:
            self._known[place] = (default, self._shapes.label(place))
            default += 1
            self._solve()

    def _next_open(self) -> Place | None:
        """A class of dimensions without a size; products only when nothing else is left."""
        products = {place for place, _, _ in self._products}
        factors = [f for place, _, all in self._products if place not in self._known for f in all]
        dims = [
            place
            for arg in self._arguments.values()
            for dim in range(len(static_shape(arg) or ()))
            for place in self._open((arg, dim))
        ]
        wanted = [place for place in (*factors, *dims) if place not in self._known]
        return next((place for place in wanted if place not in products), next(iter(wanted), None))

    def check(self) -> None:
        """Raise `IRError` unless sizes that the program ties together agree."""
        self._solve()

    def shape(self, name: str) -> Shape:
        """The global shape of an argument, all of whose dimensions have a size by now."""
        arg = self._arguments[name]
        shape = tuple(self._size((arg, dim)) or 0 for dim in range(len(static_shape(arg) or ())))
        if math.prod(shape) > MAX_ELEMENTS:
            text = "x".join(map(str, shape))
            raise IRError(
                f"takes %{name}, which would have {text} elements, more than {MAX_ELEMENTS}",
                self._func,
            )
        return shape

    def size_of(self, place: Place) -> int | None:
        """The size of any dimension of the function, None when it is not known."""
        return self._size(place)

    def _size(self, place: Place) -> int | None:
        extent = self._shapes.extent(place)
        if isinstance(extent, int):
            return extent
        sizes = [self._known[p][0] for p in extent if p in self._known]
        return math.prod(sizes) if len(sizes) == len(extent) else None

    def _open(self, place: Place) -> Iterator[Place]:
        extent = self._shapes.extent(place)
        if not isinstance(extent, int):
            yield from (p for p in extent if p not in self._known)

    def _set(self, place: Place, size: int, where: str) -> None:
        extent = self._shapes.extent(place)
        if isinstance(extent, int):
            if extent != size:
                raise IRError(f"needs {extent} for {where}, not {size}", self._func)
            return
        root, *others = extent
        if others:
            return  # a product: its factors are checked where they meet
        before, other = self._known.setdefault(root, (size, where))
        if before != size:
            raise IRError(
                f"needs equal sizes: {where} is {size}, but {other} is {before}",
                self._func,
            )

    def _tied_products(self) -> Iterator[tuple[Place, tuple[int, ...], tuple[Place, ...]]]:
        """Dimensions that are products: their class, the static factors and the classes of others."""
        for op in self._func.walk():
            rule = rule_of(op)
            if rule is None:
                continue
            named: dict[str, Place] = {}
            products: list[tuple[Place, Dim]] = []
            for shapes, values in ((rule.operands, op.operands), (rule.results, op.results)):
                for shape, value in zip(shapes, values, strict=True):
                    for dim, factors in enumerate(shape or ()):
                        first, *others = factors
                        if others:
                            products.append(((value, dim), factors))
                        else:
                            named.setdefault(first, (value, dim))
            for place, factors in products:
                yield from self._product(place, factors, named, rule.size)

    def _product(
        self,
        place: Place,
        factors: Dim,
        named: Mapping[str, Place],
        static: Mapping[str, int],
    ) -> Iterator[tuple[Place, tuple[int, ...], tuple[Place, ...]]]:
        extent = self._shapes.extent(place)
        if isinstance(extent, int):
            return
        root, *others = extent
        if others:
            return
        numbers: list[int] = []
        places: list[Place] = []
        for name in factors:
            if name in static:
                numbers.append(static[name])
            elif name in named:
                part = self._shapes.extent(named[name])
                if isinstance(part, int):
                    numbers.append(part)
                else:
                    places += part
            else:
                return
        yield root, tuple(numbers), tuple(places)

    def _solve(self) -> None:
        """Carry sizes through products until nothing changes; raise `IRError` where they cannot be."""
        changed = True
        while changed:
            changed = False
            for place, numbers, factors in self._products:
                unknown = [factor for factor in factors if factor not in self._known]
                known = math.prod(numbers) * math.prod(
                    self._known[factor][0] for factor in factors if factor in self._known
                )
                if not unknown:
                    changed |= place not in self._known
                    self._set(place, known, f"the product {self._shapes.label(place)}")
                elif len(unknown) == 1 and place in self._known and known > 0:
                    size, where = self._known[place]
                    if size % known:
                        raise IRError(
                            f"needs a multiple of {known} for {where}, not {size}", self._func
                        )
                    self._known[unknown[0]] = (size // known, self._shapes.label(unknown[0]))
                    changed = True
