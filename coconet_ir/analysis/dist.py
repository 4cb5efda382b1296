"""How a tensor lies over the axes of the mesh, as plain data (design, section 4).

Nothing here knows xDSL: `dialects.attributes.DistAttr` wraps a `Dist` for the IR, and the simulator uses
the same block arithmetic as the verifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Kind(StrEnum):
    """What a reduction computes. `AVG` exists on collectives only: a sum, then one division."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    AVG = "avg"


class LayoutError(Exception):
    """A layout that cannot exist; the message says what is wrong and what would be right."""


@dataclass(frozen=True)
class Cut:
    """Dimension `dim` is cut by `axes`, outer first, into blocks that are multiples of `unit` elements."""

    axes: tuple[str, ...]
    dim: int
    unit: int = 1

    @property
    def state(self) -> str:
        """The entry's state as the text spells it."""
        return f"sliced({self.dim})" if self.unit == 1 else f"sliced({self.dim}, {self.unit})"

    def __str__(self) -> str:
        name = self.axes[0] if len(self.axes) == 1 else f"[{', '.join(self.axes)}]"
        return f"{name} = {self.state}"


@dataclass(frozen=True)
class Local:
    """Each rank along the axis has its own values."""

    def __str__(self) -> str:
        return "local"


@dataclass(frozen=True)
class Partial:
    """The value meant is the reduction over the axis, still to be done."""

    kind: Kind

    def __str__(self) -> str:
        return f"partial({self.kind})"


@dataclass(frozen=True)
class Root:
    """The value is on one coordinate of the axis and undefined elsewhere."""

    coordinate: int

    def __str__(self) -> str:
        return f"root({self.coordinate})"


State = Local | Partial | Root
"""What an axis that neither replicates nor cuts does to a tensor."""


@dataclass(frozen=True)
class Dist:
    """A layout in its one spelling: cuts sorted by first axis, other states sorted by axis.

    An axis that is not named replicates. Build one with `Dist.of`, which sorts; `problem` says what is
    wrong with one that was not built so.
    """

    cuts: tuple[Cut, ...] = ()
    states: tuple[tuple[str, State], ...] = ()

    @staticmethod
    def of(cuts: Iterable[Cut] = (), states: Iterable[tuple[str, State]] = ()) -> Dist:
        """The canonical layout of these entries.

        Raises `LayoutError` when they contradict each other.
        """
        dist = Dist(
            tuple(sorted(cuts, key=lambda cut: cut.axes)),
            tuple(sorted(states, key=lambda entry: entry[0])),
        )
        if (problem := dist.problem()) is not None:
            raise LayoutError(problem)
        return dist

    def problem(self, rank: int | None = None) -> str | None:
        """What is wrong with this layout (of a tensor with `rank` dimensions, if given), or None."""
        seen: set[str] = set()
        for axis in self.axes():
            if axis in seen:
                return f"axis '{axis}' is named twice; an axis has one state"
            seen.add(axis)
        dims = [cut.dim for cut in self.cuts]
        for cut in self.cuts:
            if not cut.axes:
                return "an entry names no axis; leave it out"
            if cut.unit < 1:
                return f"the unit of dimension {cut.dim} is {cut.unit}; it must be at least 1"
            if dims.count(cut.dim) > 1:
                return (
                    f"dimension {cut.dim} is sliced by two entries; write one, "
                    f"[outer, inner] = sliced({cut.dim})"
                )
            if rank is not None and not 0 <= cut.dim < rank:
                return f"sliced({cut.dim}) is out of range: the tensor has {rank} dimension(s)"
        kinds = sorted({state.kind for _, state in self.states if isinstance(state, Partial)})
        if len(kinds) > 1:
            return (
                f"one tensor is partial({kinds[0]}) and partial({kinds[1]}); all partial axes of a "
                "tensor have one reduction"
            )
        if Kind.AVG in kinds:
            return "partial(avg) does not exist; use partial(sum) and divide after the reduction"
        return None

    def axes(self) -> Iterator[str]:
        """Every axis on which the tensor is not replicated, in no particular order."""
        for cut in self.cuts:
            yield from cut.axes
        for axis, _ in self.states:
            yield axis

    @cached_property
    def by_axis(self) -> dict[str, Cut | State]:
        """The entry of each axis on which the tensor is not replicated."""
        table: dict[str, Cut | State] = dict(self.states)
        for cut in self.cuts:
            for axis in cut.axes:
                table[axis] = cut
        return table

    @cached_property
    def by_dim(self) -> dict[int, Cut]:
        """The cut of each dimension that is sliced."""
        return {cut.dim: cut for cut in self.cuts}

    @cached_property
    def partial_kind(self) -> Kind | None:
        """The one reduction of the partial axes, or None when no axis is partial."""
        return next((s.kind for _, s in self.states if isinstance(s, Partial)), None)

    def has(self, state: type[State]) -> bool:
        """Whether some axis has a state of this class."""
        return any(isinstance(s, state) for _, s in self.states)

    def has_partial_on(self, axes: Iterable[str]) -> bool:
        """Whether one of these axes is partial."""
        return any(isinstance(self.by_axis.get(axis), Partial) for axis in axes)

    def append_cut(self, axes: Sequence[str], dim: int, unit: int = 1) -> Dist:
        """This layout with dimension `dim` cut once more, innermost, by `axes`.

        Raises `LayoutError` when an axis is taken or the dimension is cut in another unit.
        """
        for axis in axes:
            if (entry := self.by_axis.get(axis)) is not None:
                state = entry.state if isinstance(entry, Cut) else entry
                raise LayoutError(f"axis '{axis}' must be replicated here, but it is {state}")
        if (old := self.by_dim.get(dim)) is None:
            return Dist.of((*self.cuts, Cut(tuple(axes), dim, unit)), self.states)
        if old.unit != unit:
            raise LayoutError(
                f"dimension {dim} is already cut in units of {old.unit}; a further cut keeps that unit, "
                f"but unit {unit} was asked for"
            )
        others = (cut for cut in self.cuts if cut.dim != dim)
        return Dist.of((*others, Cut((*old.axes, *axes), dim, unit)), self.states)

    def drop_cut(self, axes: Sequence[str], dim: int | None = None) -> tuple[Dist, Cut]:
        """This layout without the innermost cut by exactly `axes`, and that cut (of these axes alone).

        Raises `LayoutError` when `axes` are not the innermost suffix of one dimension's list.
        """
        wanted = tuple(axes)
        for cut in self.cuts:
            if cut.axes[-len(wanted) :] == wanted and dim in (None, cut.dim):
                outer = cut.axes[: -len(wanted)]
                others = [other for other in self.cuts if other is not cut]
                if outer:
                    others.append(Cut(outer, cut.dim, cut.unit))
                return Dist.of(others, self.states), Cut(wanted, cut.dim, cut.unit)
        names = ", ".join(wanted)
        where = "one dimension" if dim is None else f"dimension {dim}"
        raise LayoutError(
            f"[{names}] must be the innermost axes that slice {where}, but the operand's layout is {self}"
        )

    def without(self, axes: Iterable[str]) -> Dist:
        """This layout with the local, partial and root states of `axes` taken off."""
        gone = set(axes)
        return Dist(self.cuts, tuple(entry for entry in self.states if entry[0] not in gone))

    def with_states(self, states: Iterable[tuple[str, State]]) -> Dist:
        """This layout with further states. Raises `LayoutError` when an axis is taken."""
        return Dist.of(self.cuts, (*self.states, *states))

    def entries(self) -> list[str]:
        """The entries as text, in canonical order (by first axis)."""
        rows = [(cut.axes[0], str(cut)) for cut in self.cuts]
        rows += [(axis, f"{axis} = {state}") for axis, state in self.states]
        return [text for _, text in sorted(rows)]

    def __bool__(self) -> bool:
        return bool(self.cuts or self.states)

    def __str__(self) -> str:
        return f"<{', '.join(self.entries())}>" if self else "replicated"


REPLICATED = Dist()
"""The layout of a tensor without an encoding."""


def nominal_block(size: int, ranks: int, unit: int = 1) -> int:
    """Elements of a full block when `size` elements are cut for `ranks` coordinates in units of `unit`."""
    units = -(-size // unit)
    return unit * -(-units // ranks)


def block_bounds(
    size: int, counts: Sequence[int], coordinates: Sequence[int], unit: int = 1
) -> tuple[int, int]:
    """The half-open range of a dimension of `size` elements that one rank owns.

    `counts` and `coordinates` belong to the axes that cut the dimension, outer first; each level cuts
    the nominal block of the level above. Blocks at the end may be short or empty.
    """
    start, nominal, end = 0, size, size
    for count, coordinate in zip(counts, coordinates, strict=True):
        nominal = nominal_block(nominal, count, unit)
        start = min(start + coordinate * nominal, end)
        end = min(start + nominal, end)
    return start, end
