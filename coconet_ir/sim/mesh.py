"""The bound mesh: ranks, their coordinates, groups, and the blocks of a tensor that they own.

Ranks are numbered row-major over the axes of the mesh, the first axis outermost.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from coconet_ir.analysis.dist import Dist, Local, Root, block_bounds

Shape = tuple[int, ...]
Region = tuple[tuple[int, int], ...]
"""The half-open range of each dimension that a rank owns."""


@dataclass(frozen=True)
class Mesh:
    """Axes, outermost first, and the number of ranks along each."""

    axes: tuple[str, ...]
    sizes: tuple[int, ...]

    @cached_property
    def shape(self) -> dict[str, int]:
        """The number of ranks along each axis."""
        return dict(zip(self.axes, self.sizes, strict=True))

    @cached_property
    def ranks(self) -> int:
        """The number of ranks."""
        return math.prod(self.sizes)

    @cached_property
    def coordinates(self) -> tuple[dict[str, int], ...]:
        """The coordinates of each rank."""
        every = itertools.product(*map(range, self.sizes))
        return tuple(dict(zip(self.axes, place, strict=True)) for place in every)

    def ordered(self, axes: Sequence[str]) -> tuple[str, ...]:
        """These axes in mesh order."""
        return tuple(axis for axis in self.axes if axis in axes)

    def position(self, rank: int, axes: Sequence[str]) -> int:
        """The coordinates of a rank along `axes`, outer first, as one row-major number."""
        number = 0
        for axis in axes:
            number = number * self.shape[axis] + self.coordinates[rank][axis]
        return number

    @lru_cache(maxsize=4096)
    def group(self, rank: int, axes: tuple[str, ...]) -> tuple[int, ...]:
        """The ranks that agree with `rank` on all axes but `axes`, ordered by these, outer first."""
        others = [axis for axis in self.axes if axis not in axes]
        mine = self.coordinates[rank]
        members = (
            other
            for other, place in enumerate(self.coordinates)
            if all(place[axis] == mine[axis] for axis in others)
        )
        return tuple(sorted(members, key=lambda other: self.position(other, axes)))

    @lru_cache(maxsize=4096)
    def regions(self, dist: Dist, shape: Shape) -> tuple[Region, ...]:
        """The part of a tensor of this global shape that each rank owns."""
        return tuple(self._region(dist, shape, rank) for rank in range(self.ranks))

    def _region(self, dist: Dist, shape: Shape, rank: int) -> Region:
        region = [(0, size) for size in shape]
        place = self.coordinates[rank]
        for cut in dist.cuts:
            counts = [self.shape[axis] for axis in cut.axes]
            mine = [place[axis] for axis in cut.axes]
            region[cut.dim] = block_bounds(shape[cut.dim], counts, mine, cut.unit)
        return tuple(region)

    @lru_cache(maxsize=4096)
    def defined(self, dist: Dist) -> tuple[bool, ...]:
        """Whether each rank has a value: off the root of an axis it is undefined."""
        roots = {axis: s.coordinate for axis, s in dist.states if isinstance(s, Root)}
        return tuple(
            all(place[axis] == root for axis, root in roots.items()) for place in self.coordinates
        )

    @lru_cache(maxsize=4096)
    def replicas(self, dist: Dist) -> tuple[tuple[int, ...], ...]:
        """Groups of ranks that must hold the same bits; those of one rank are left out."""
        free = tuple(axis for axis in self.axes if axis not in dist.by_axis)
        defined = self.defined(dist)
        groups = {self.group(rank, free) for rank in range(self.ranks) if defined[rank]}
        return tuple(sorted(group for group in groups if len(group) > 1))

    @lru_cache(maxsize=4096)
    def local_axes(self, dist: Dist) -> tuple[str, ...]:
        """The axes on which a tensor is local, in mesh order."""
        return self.ordered([axis for axis, state in dist.states if isinstance(state, Local)])

    @lru_cache(maxsize=4096)
    def leading_axes(self, dist: Dist) -> tuple[str, ...]:
        """The axes that a value's array outside the program has in front, in mesh order.

        These are the axes on which ranks have values of their own: local and partial. A root axis has
        none, since one rank has the value.
        """
        own = [axis for axis, state in dist.states if not isinstance(state, Root)]
        return self.ordered(own)

    def __str__(self) -> str:
        return ", ".join(f"{axis} = {size}" for axis, size in self.shape.items())


ONE_RANK = Mesh((), ())
"""A single rank on a mesh without axes: where the body of a custom operation runs."""


def slices(region: Region) -> tuple[slice, ...]:
    """The index that takes a region out of an array."""
    return tuple(slice(start, stop) for start, stop in region)


def extents(region: Region) -> Shape:
    """The shape of a region."""
    return tuple(stop - start for start, stop in region)
