"""Ranks, groups and blocks of a mesh."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coconet_ir.analysis.dist import Cut, Dist, Local, Root
from coconet_ir.sim.mesh import ONE_RANK, Mesh, extents

MESH = Mesh(("pp", "dp", "tp"), (2, 3, 2))


def test_ranks_are_row_major() -> None:
    assert MESH.ranks == 12
    places = [tuple(place.values()) for place in MESH.coordinates]
    assert places == list(itertools.product(range(2), range(3), range(2)))
    assert MESH.position(11, ("tp", "pp")) == 3
    assert ONE_RANK.ranks == 1
    assert ONE_RANK.coordinates == ({},)


def test_groups_count_listed_axes_outer_first() -> None:
    assert MESH.group(7, ("dp",)) == (7, 9, 11)
    assert MESH.group(0, ("pp", "tp")) == (0, 1, 6, 7)
    assert MESH.group(0, ("tp", "pp")) == (0, 6, 1, 7)
    assert MESH.group(5, ()) == (5,)


def test_blocks_nest() -> None:
    mesh = Mesh(("a", "b"), (2, 2))
    dist = Dist.of([Cut(("a", "b"), 0)])
    sizes = [extents(region)[0] for region in mesh.regions(dist, (10,))]
    assert sizes == [3, 2, 3, 2]
    unit = Dist.of([Cut(("a",), 1, 4)], [("b", Local())])
    assert mesh.regions(unit, (3, 9)) == (
        ((0, 3), (0, 8)), ((0, 3), (0, 8)), ((0, 3), (8, 9)), ((0, 3), (8, 9))
    )  # fmt: skip


@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 2, 3]))
def test_blocks_cover_the_dimension(size: int, a: int, b: int, unit: int) -> None:
    mesh = Mesh(("a", "b"), (a, b))
    regions = mesh.regions(Dist.of([Cut(("a", "b"), 0, unit)]), (size,))
    covered = [i for ((start, stop),) in regions for i in range(start, stop)]
    assert covered == list(range(size))
    assert all(start % unit == 0 or start == size for ((start, _),) in regions)


def test_replicas_and_roots() -> None:
    dist = Dist.of([Cut(("dp",), 0)], [("tp", Root(1))])
    assert MESH.defined(dist) == tuple(rank % 2 == 1 for rank in range(12))
    assert MESH.replicas(dist) == ((1, 7), (3, 9), (5, 11))
    assert MESH.replicas(Dist()) == (tuple(range(12)),)
    local = Dist.of([], [("tp", Local()), ("dp", Root(0)), ("pp", Local())])
    assert MESH.local_axes(local) == MESH.leading_axes(local) == ("pp", "tp")
    assert MESH.replicas(local) == ()


@pytest.mark.parametrize("axes", [("dp",), ("tp", "dp"), ("pp", "dp", "tp")])
def test_every_group_holds_its_members(axes: tuple[str, ...]) -> None:
    for rank in range(MESH.ranks):
        group = MESH.group(rank, axes)
        assert group[MESH.position(rank, axes)] == rank
