"""Bytes that a rank sends, as terms in sizes and numbers of ranks, and when one sum is provably at most another.

A collective over n ranks is counted at what the best known algorithm must send a rank: (n-1)/n of the bytes for
all_gather, reduce_scatter, reduce and broadcast, both that of what is reduced and that of the result for all_reduce,
all of them for permute, and (n-1)/n of the block that a rank has for all_to_all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import get_args

from xdsl.dialects.builtin import FixedBitwidthType, IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.dist import Dist
from coconet_ir.analysis.shapes import Shapes
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    BroadcastOp,
    PermuteOp,
    ReduceOp,
    ReduceScatterOp,
    ReducingOp,
)
from coconet_ir.dialects.elements import element_of

CollectiveOp = (
    AllReduceOp | ReduceScatterOp | ReduceOp | BroadcastOp | AllGatherOp | AllToAllOp | PermuteOp
)
"""The operations that send something."""

_SENDS = frozenset(op.name for op in get_args(CollectiveOp))

Monomial = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Term:
    """`factor` · sizes · (n-1)/n of the `ring` axes together, divided by the ranks of `split` axes.

    `sizes` names classes of unknown dimensions, each at least 1; an axis has at least 2 ranks where it matters.
    """

    factor: Fraction
    sizes: tuple[str, ...] = ()
    ring: tuple[str, ...] = ()
    split: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = "*".join([str(self.factor), *self.sizes])
        if self.ring:
            text += f"*(1 - 1/{'/'.join(self.ring)})"
        return text + "".join(f"/{axis}" for axis in self.split)


def element_bytes(element: Attribute) -> Fraction:
    """Bytes of one element; an i1 takes one, an index eight."""
    if isinstance(element, IndexType):
        return Fraction(8)
    if isinstance(element, FixedBitwidthType):
        return Fraction(max(1, element.size))
    raise TypeError(f"{element} has no size")


def sent(op: Operation, dist: Dist, shapes: Shapes) -> list[Term]:
    """What a rank sends for a collective whose operand had the layout `dist`; nothing for other operations."""
    if op.name not in _SENDS or not isinstance(op, CollectiveOp):
        return []
    element = element_of(op.input.type)
    if isinstance(op, ReducingOp) and op.wire is not None:
        element = op.wire
    halves = (element, element_of(op.output.type)) if isinstance(op, AllReduceOp) else (element,)
    axes = tuple(sorted(op.axes.data))
    ring = () if isinstance(op, PermuteOp) else axes
    own = () if isinstance(op, AllToAllOp) else axes
    return [_tensor(op.input, half, dist, own, ring, 1, shapes) for half in halves]


def gathered(
    value: SSAValue, dist: Dist, axes: Iterable[str], shapes: Shapes, times: int = 1
) -> Term:
    """What a rank sends when a value of layout `dist` is gathered, or (`times` = 2) reduced, over the axes."""
    over = tuple(sorted(axes))
    return _tensor(value, element_of(value.type), dist, over, over, times, shapes)


def _tensor(
    value: SSAValue,
    element: Attribute,
    dist: Dist,
    own: tuple[str, ...],
    ring: tuple[str, ...],
    times: int,
    shapes: Shapes,
) -> Term:
    known, unknown = shapes.elements(value)
    cut = sorted(axis for c in dist.cuts for axis in c.axes if axis not in own)
    return Term(
        times * known * element_bytes(element), tuple(map(shapes.label, unknown)), ring, tuple(cut)
    )


def total(terms: Iterable[Term]) -> list[Term]:
    """The terms with like ones added up, in a fixed order."""
    sums: dict[tuple[tuple[str, ...], ...], Fraction] = defaultdict(Fraction)
    for term in terms:
        sums[(term.sizes, term.ring, term.split)] += term.factor
    return [Term(factor, *key) for key, factor in sorted(sums.items()) if factor]


def show(terms: Iterable[Term]) -> str:
    """The sum as text: `2*w.0*(1 - 1/dp)`."""
    return " + ".join(map(str, total(terms))) or "0"


def at_most(after: Iterable[Term], before: Iterable[Term]) -> bool:
    """Whether `after` is provably at most `before` for every size of at least 1 and axis of at least 2 ranks.

    The difference is a polynomial once multiplied by the numbers of ranks; written in what exceeds the least
    sizes, it is nowhere positive if no coefficient is.
    """
    difference: dict[Monomial, Fraction] = defaultdict(Fraction)
    for sign, terms in ((1, after), (-1, before)):
        for term in total(terms):
            for monomial, factor in _expand(term).items():
                difference[monomial] += sign * factor
    return all(factor <= 0 for factor in _shifted(difference).values())


def _expand(term: Term) -> dict[Monomial, Fraction]:
    """The term over powers of symbols: sizes by name, numbers of ranks by `/axis`."""
    base: dict[str, int] = defaultdict(int)
    for size in term.sizes:
        base[size] += 1
    for axis in term.split:
        base[f"/{axis}"] -= 1
    found = {_monomial(base): term.factor}
    if term.ring:
        for axis in term.ring:
            base[f"/{axis}"] -= 1
        found[_monomial(base)] = -term.factor
    return found


def _monomial(powers: Mapping[str, int]) -> Monomial:
    return tuple(sorted((symbol, power) for symbol, power in powers.items() if power))


def _shifted(polynomial: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    """The polynomial, cleared of negative powers, in the excess of each symbol over its least value."""
    lowest: dict[str, int] = defaultdict(int)
    for monomial in polynomial:
        for symbol, power in monomial:
            lowest[symbol] = min(lowest[symbol], power)
    shifted: dict[Monomial, Fraction] = defaultdict(Fraction)
    for monomial, factor in polynomial.items():
        powers = {symbol: -low for symbol, low in lowest.items()}
        for symbol, power in monomial:
            powers[symbol] = powers.get(symbol, 0) + power
        symbols = sorted(powers)
        for choice in product(*(range(powers[symbol] + 1) for symbol in symbols)):
            coefficient = factor
            for symbol, power in zip(symbols, choice, strict=True):
                least = 2 if symbol.startswith("/") else 1
                coefficient *= comb(powers[symbol], power) * least ** (powers[symbol] - power)
            shifted[_monomial(dict(zip(symbols, choice, strict=True)))] += coefficient
    return shifted
