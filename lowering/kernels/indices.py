"""Where an element lies, as a formula: sizes known at run time, and indices that are linear in the axes of a loop.

A kernel computes elements of tensors at positions. Positions stay formulas until code is emitted, so that what is
contiguous, uniform over a vector or one flat loop in truth can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias


@dataclass(frozen=True)
class Size:
    """A polynomial with whole coefficients in sizes that are known at run time, which the kernel numbers.

    Each term is the numbers of its factors, in order, and a coefficient; terms are sorted and never 0.
    """

    terms: tuple[tuple[tuple[int, ...], int], ...] = ()

    @staticmethod
    def of(number: int) -> Size:
        """A number."""
        return Size((((), number),) if number else ())

    @staticmethod
    def unknown(number: int) -> Size:
        """The size of this number."""
        return Size((((number,), 1),))

    @property
    def value(self) -> int | None:
        """The number it is, None if it depends on a run-time size."""
        if not self.terms:
            return 0
        (factors, value), *rest = self.terms
        return None if factors or rest else value

    def __add__(self, other: Size) -> Size:
        return _size((*self.terms, *other.terms))

    def __mul__(self, other: Size) -> Size:
        return _size((tuple(sorted(f + g)), a * b) for f, a in self.terms for g, b in other.terms)

    def divided(self, divisor: Size) -> Size | None:
        """The quotient if the divisor is one term that divides every term here, else None."""
        if len(divisor.terms) != 1:
            return None
        ((factors, value),) = divisor.terms
        quotient: list[tuple[tuple[int, ...], int]] = []
        for have, coefficient in self.terms:
            left = list(have)
            for factor in factors:
                if factor not in left:
                    return None
                left.remove(factor)
            if coefficient % value:
                return None
            quotient.append((tuple(left), coefficient // value))
        return _size(quotient)


def _size(terms: Iterable[tuple[tuple[int, ...], int]]) -> Size:
    total: dict[tuple[int, ...], int] = {}
    for factors, value in terms:
        total[factors] = total.get(factors, 0) + value
    return Size(tuple(sorted((f, v) for f, v in total.items() if v)))


ONE = Size.of(1)


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes, 1 of none."""
    total = ONE
    for size in sizes:
        total = total * size
    return total


@dataclass(frozen=True)
class Axis:
    """A loop over `range(extent)`, told apart by its number."""

    number: int
    extent: Size


@dataclass(frozen=True)
class Quotient:
    """`index // divisor`."""

    index: Index
    divisor: Size


@dataclass(frozen=True)
class Remainder:
    """`index % divisor`."""

    index: Index
    divisor: Size


@dataclass(frozen=True)
class Segment:
    """The segment that holds an element; `offsets` is the number of the buffer that bounds the `count` segments."""

    offsets: int
    index: Index
    count: Size


@dataclass(frozen=True)
class Computed:
    """An index that the kernel computes from data, by its number."""

    number: int


Atom: TypeAlias = Axis | Quotient | Remainder | Segment | Computed


@dataclass(frozen=True)
class Index:
    """A sum of atoms times sizes, and an offset. Equal formulas are equal objects."""

    terms: tuple[tuple[Atom, Size], ...] = ()
    offset: Size = Size()

    @staticmethod
    def of(atom: Atom, factor: Size = ONE) -> Index:
        """One atom, times a factor."""
        return _index({atom: factor}, Size())

    def __add__(self, other: Index) -> Index:
        total = dict(self.terms)
        for atom, factor in other.terms:
            total[atom] = total.get(atom, Size()) + factor
        return _index(total, self.offset + other.offset)

    def __mul__(self, size: Size) -> Index:
        return _index({atom: factor * size for atom, factor in self.terms}, self.offset * size)

    def shifted(self, offset: Size) -> Index:
        """The index plus an offset."""
        return Index(self.terms, self.offset + offset)

    def factor(self, axis: Axis) -> Size:
        """How far a step along an axis goes, but for what quotients and the like make of it."""
        return dict(self.terms).get(axis, Size())

    @cached_property
    def nested(self) -> tuple[Index, ...]:
        """The indices inside of its atoms."""
        return tuple(
            a.index for a, _ in self.terms if isinstance(a, Quotient | Remainder | Segment)
        )

    @cached_property
    def axes(self) -> frozenset[Axis]:
        """The axes along which it changes."""
        own = frozenset(atom for atom, _ in self.terms if isinstance(atom, Axis))
        return own.union(*(index.axes for index in self.nested))


ZERO = Index()


def constant(size: Size) -> Index:
    """An index that no axis changes."""
    return Index((), size)


def _index(terms: dict[Atom, Size], offset: Size) -> Index:
    for atom in list(terms):
        if not isinstance(atom, Quotient) or (factor := terms.get(atom)) is None:
            continue
        rest = Remainder(atom.index, atom.divisor)
        if rest in terms and terms[rest] * atom.divisor == factor:  # q*d + r is the index again
            times = terms.pop(rest)
            del terms[atom]
            return Index((), offset) + _index(terms, Size()) + atom.index * times
    kept = {atom: factor for atom, factor in terms.items() if factor.terms}
    return Index(tuple(sorted(kept.items(), key=lambda term: repr(term[0]))), offset)


def divide(index: Index, divisor: Size) -> tuple[Index, Index]:
    """Quotient and remainder of an index by a size of at least 1."""
    if divisor == ONE:
        return index, ZERO
    whole, rest = dict[Atom, Size](), dict[Atom, Size]()
    for atom, factor in index.terms:
        quotient = factor.divided(divisor)
        (rest if quotient is None else whole)[atom] = factor if quotient is None else quotient
    offset = index.offset.divided(divisor)
    left = _index(rest, Size() if offset is not None else index.offset)
    if (span := _span(left)) is not None and divisor.divided(span) is not None:
        return _index(whole, offset or Size()), left
    return Index.of(Quotient(index, divisor)), Index.of(Remainder(index, divisor))


def _span(index: Index) -> Size | None:
    """The number of values that an index takes if they are 0, 1, 2 and so on, else None."""
    if index.offset.terms:
        return None
    terms, span = list(index.terms), ONE
    while terms:
        for atom, factor in terms:
            if isinstance(atom, Axis) and factor == span:
                terms.remove((atom, factor))
                span = span * atom.extent
                break
        else:
            return None
    return span


def strides(extents: Sequence[Size]) -> list[Size]:
    """How far a step along each dimension goes in row-major order."""
    return [product(extents[dim + 1 :]) for dim in range(len(extents))]


def flatten(position: Sequence[Index], extents: Sequence[Size]) -> Index:
    """The row-major number of a position."""
    total = ZERO
    for index, stride in zip(position, strides(extents), strict=True):
        total = total + index * stride
    return total


def unflatten(index: Index, extents: Sequence[Size]) -> tuple[Index, ...]:
    """The position of a row-major number."""
    position: list[Index] = []
    for extent in reversed(extents[1:]):
        index, digit = divide(index, extent)
        position.insert(0, digit)
    return (index, *position) if extents else ()


def merge(axes: Sequence[Axis], indices: Iterable[Index]) -> list[tuple[Axis, ...]]:
    """Axes, outer first, in groups that all `indices` pass through as through one loop.

    Axes of one value are left out.
    """
    every = list(_with_nested(indices))
    groups: list[tuple[Axis, ...]] = []
    for axis in axes:
        if axis.extent == ONE:
            continue
        outer = groups[-1][-1] if groups else None
        if outer and all(i.factor(outer) == i.factor(axis) * axis.extent for i in every):
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups


def _with_nested(indices: Iterable[Index]) -> Iterable[Index]:
    for index in dict.fromkeys(indices):
        yield index
        yield from _with_nested(index.nested)
