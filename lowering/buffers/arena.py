"""Memory for what lives between the steps of a program: one arena, cut into slots that values use one after another.

Sizes are symbolic, so what fits is decided by what holds for all of them: a value takes the smallest slot that is free
and large enough, else the largest that is smaller, else any that is free; the slot is as large as the largest value
that it ever holds, which the host finds out. So a slot used again never takes more memory than two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from coconet_ir.analysis.bytes import Term, show
from coconet_ir.analysis.shapes import Extent
from coconet_ir.lowering.ranks.shapes import RankShapes

ALIGNMENT = 256
"""Slots begin at multiples of so many bytes, for the widest accesses of kernels and calls."""


@dataclass(eq=False)
class Slot:
    """A part of the arena."""

    sizes: list[Extent]
    """The bytes of the values that use it, each number once; the largest first, as far as one can know."""
    last: int
    """The step that last uses the value that is there."""


@dataclass(frozen=True)
class Life:
    """The bytes of a value, the step that makes it, and the last that uses it."""

    bytes: Extent
    first: int
    last: int


class Arena:
    """The slots of one function. Values must be placed in the order in which they are made."""

    def __init__(self, shapes: RankShapes):
        self._shapes = shapes
        self.slots: list[Slot] = []

    def place(self, life: Life, over: Iterable[Slot] = ()) -> Slot:
        """The slot of a value: one of `over`, if what is there is not overwritten yet, else one that is free."""
        for slot in over:
            if slot.last == life.first:
                slot.last = life.last
                return slot
        free = [slot for slot in self.slots if slot.last < life.first]
        slot = self._fitting(life.bytes, free)
        if slot is None:
            slot = Slot([], life.last)
            self.slots.append(slot)
        self._use(slot, life)
        return slot

    def _fitting(self, size: Extent, free: Sequence[Slot]) -> Slot | None:
        """The smallest slot that is large enough, else the largest that is smaller, else any."""
        enough = [slot for slot in free if self._at_most(size, slot.sizes[0])]
        smaller = [slot for slot in free if self._at_most(slot.sizes[0], size)]
        if enough:
            return self._extreme(enough, smallest=True)
        return self._extreme(smaller, smallest=False) or next(iter(free), None)

    def _extreme(self, slots: Sequence[Slot], smallest: bool) -> Slot | None:
        found: Slot | None = None
        for slot in slots:
            one, other = slot.sizes[0], slot.sizes[0] if found is None else found.sizes[0]
            if found is None or (
                one != other and self._at_most(*((one, other) if smallest else (other, one)))
            ):
                found = slot
        return found

    def _use(self, slot: Slot, life: Life) -> None:
        slot.last = life.last
        if life.bytes not in slot.sizes:
            is_larger = bool(slot.sizes) and self._at_most(slot.sizes[0], life.bytes)
            slot.sizes.insert(0 if is_larger else len(slot.sizes), life.bytes)

    def _at_most(self, one: Extent, other: Extent) -> bool:
        """Whether a size is at most another one for all sizes of at least 1."""
        roots, others = one[1], other[1]
        return one[0] <= other[0] and all(roots.count(r) <= others.count(r) for r in roots)

    def _term(self, size: Extent) -> Term:
        factor, roots = size
        return Term(Fraction(factor), tuple(map(self._shapes.label, roots)))

    @property
    def peak(self) -> str:
        """The bytes of all slots together, without what aligns them: `4*w.0 + max(2*x.0, 8*y.0)`."""
        largest = [self._maxima(slot) for slot in self.slots]
        sums = show(terms[0] for terms in largest if len(terms) == 1)
        several = [f"max({', '.join(map(str, terms))})" for terms in largest if len(terms) > 1]
        return " + ".join([sums, *several] if sums != "0" or not several else several)

    def _maxima(self, slot: Slot) -> list[Term]:
        """The sizes of a slot that none of the others is known to reach."""
        found: list[Extent] = []
        for size in slot.sizes:
            if not any(self._at_most(size, other) for other in found):
                found = [other for other in found if not self._at_most(other, size)] + [size]
        return [self._term(size) for size in found]
