"""The sizes of `?` dimensions: what is given, what the program ties to it, and what nobody said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.shapes import Place, Shapes
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.mesh import Shape

MAX_ELEMENTS = 1 << 32
"""Most elements of a tensor that is simulated; more is taken for a mistake."""


class Sizes:
    """The sizes of the arguments of one function, by classes of dimensions that are equal."""

    def __init__(self, func: FuncOp):
        self._func = func
        self._arguments = argument_names(func)
        self._shapes = Shapes(func)
        self._known: dict[Place, tuple[int, str]] = {}

    def give(self, name: str, shape: Sequence[int | None]) -> None:
        """State the sizes of an argument; None leaves one open.

        Raises `IRError` when they do not fit its type or what other arguments say.
        """
        arg = self._arguments[name]
        rank, text = rank_of(arg.type), "x".join("?" if n is None else str(n) for n in shape)
        if rank is None:
            raise IRError(f"takes %{name} as a scalar, which has no shape", self._func)
        if len(shape) != rank:
            raise IRError(
                f"takes %{name} with {rank} dimension(s), but the shape {text} is given", self._func
            )
        for dim, (size, wanted) in enumerate(zip(shape, sizes_of(arg.type), strict=True)):
            if size is None:
                continue
            where = f"dimension {dim} of %{name}"
            if size < 0 or wanted not in (DYNAMIC_INDEX, size):
                need = "at least 0" if wanted == DYNAMIC_INDEX else wanted
                raise IRError(f"needs {need} for {where}, not {size}", self._func)
            self._state((arg, dim), size, where)

    def complete(self, default: int) -> None:
        """Give the classes that are still open a size each: `default`, `default` + 1, and so on."""
        for arg in self._arguments.values():
            for dim in range(rank_of(arg.type) or 0):
                for place in self._open(self._shapes.extent((arg, dim))[1]):
                    self._known[place] = (default, self._shapes.label(place))
                    default += 1

    def shape(self, name: str) -> Shape:
        """The global shape of an argument, all of whose dimensions have a size by now."""
        arg = self._arguments[name]
        shape = tuple(self.size_of((arg, dim)) or 0 for dim in range(rank_of(arg.type) or 0))
        if math.prod(shape) > MAX_ELEMENTS:
            text = "x".join(map(str, shape))
            raise IRError(
                f"takes %{name}, which would have {text} elements, more than {MAX_ELEMENTS}",
                self._func,
            )
        return shape

    def size_of(self, place: Place) -> int | None:
        """The size of any dimension of the function, None when it is not known."""
        factor, classes = self._shapes.extent(place)
        if any(place not in self._known for place in classes):
            return None
        return factor * self._product(classes)

    def _open(self, classes: Sequence[Place]) -> Iterator[Place]:
        """The classes without a size; each is yielded as long as it has none."""
        return (place for place in classes if place not in self._known)

    def _product(self, classes: Sequence[Place]) -> int:
        return math.prod(self._known[place][0] for place in classes if place in self._known)

    def _state(self, place: Place, size: int, where: str) -> None:
        """Learn a class from the size of a dimension, or check it.

        Of a product at most one factor is open: `comp.reshape` takes no other.
        """
        factor, classes = self._shapes.extent(place)
        unknown, known = list(self._open(classes)), factor * self._product(classes)
        if len(unknown) == 1 and known > 0:
            if size % known:
                raise IRError(f"needs a multiple of {known} for {where}, not {size}", self._func)
            self._known[unknown[0]] = (size // known, where)
        elif (not unknown or known == 0) and known != size:
            self._differ(factor, classes, known, size, where)

    def _differ(
        self, factor: int, classes: Sequence[Place], known: int, size: int, where: str
    ) -> None:
        if factor == 1 and len(classes) == 1:
            other = self._known[classes[0]][1]
            raise IRError(
                f"needs equal sizes: {where} is {size}, but {other} is {known}", self._func
            )
        raise IRError(f"needs {known} for {where}, not {size}", self._func)
