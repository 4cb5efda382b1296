"""Collectives and changes of layout, against what they do on every rank.

An operand gets random values in its layout, the operation runs by its definition on groups of ranks,
and what the ranks then hold must mean, in the layout that the rule claims, what the operation is for.
Nothing here uses the project's block arithmetic or simulator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.test_value import create_ssa_value

from coconet_ir.analysis.dist import (
    Cut,
    Dist,
    Kind,
    LayoutError,
    Local,
    Partial,
    Root,
    State,
)
from coconet_ir.analysis.inference import propagate
from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.attributes import AxesAttr, dist_of, with_dist
from coconet_ir.dialects.coll import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    BroadcastOp,
    PermuteOp,
    ReduceOp,
    ReduceScatterOp,
)
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.syntax import integers
from coconet_ir.schedule.remarks import Refused
from coconet_ir.xdsl_compat import set_type

Array = NDArray[Any]
Shape = tuple[int, ...]
Rank = dict[str, int]
Coordinates = frozenset[tuple[str, int]]
Values = dict[Coordinates, Array]
"""Arrays for each coordinate of some axes."""

AXES: tuple[str, ...] = ("a", "b", "c")
SHAPES: list[Shape] = [(), (7,), (5, 3), (4, 6), (0, 2), (1, 9)]
COUNTS = [(1, 1, 1), (2, 2, 2), (3, 2, 1), (1, 5, 2), (2, 1, 3)]
REDUCE: dict[Kind, Callable[..., Array]] = {
    Kind.SUM: np.sum,
    Kind.PROD: np.prod,
    Kind.MAX: np.max,
    Kind.MIN: np.min,
    Kind.AVG: np.mean,
}


# Tensors on a mesh


def ranks_of(mesh: Rank) -> list[Rank]:
    places = itertools.product(*map(range, mesh.values()))
    return [dict(zip(mesh, place, strict=True)) for place in places]


def owned(dist: Dist, mesh: Rank, shape: Shape, rank: Rank) -> tuple[list[int], ...]:
    """The global indices that a rank has in each dimension, found by asking each for its owner."""
    found = [list(range(size)) for size in shape]
    for cut in dist.cuts:
        size, mine = shape[cut.dim], [rank[axis] for axis in cut.axes]
        counts = [mesh[axis] for axis in cut.axes]
        found[cut.dim] = [i for i in range(size) if owner(i, size, counts, cut.unit) == mine]
    return tuple(found)


def owner(index: int, size: int, counts: Sequence[int], unit: int) -> list[int]:
    coordinates, place, nominal = list[int](), index, size
    for count in counts:
        nominal = unit * math.ceil(math.ceil(nominal / unit) / count)
        coordinates.append(place // nominal)
        place %= nominal
    return coordinates


def axes_in(dist: Dist, state: type[State]) -> list[str]:
    return [axis for axis, found in dist.states if isinstance(found, state)]


def at(rank: Rank, axes: Sequence[str]) -> Coordinates:
    return frozenset((axis, rank[axis]) for axis in axes)


def on_root(dist: Dist, rank: Rank) -> bool:
    return all(rank[a] == s.coordinate for a, s in dist.states if isinstance(s, Root))


def terms(dist: Dist) -> list[str]:
    return [*axes_in(dist, Local), *axes_in(dist, Partial)]


def over(values: Values, axes: Sequence[str], kind: Kind) -> Values:
    """The values reduced over some of their axes."""
    groups: dict[Coordinates, list[Array]] = {}
    for coordinates, array in values.items():
        kept = frozenset(entry for entry in coordinates if entry[0] not in axes)
        groups.setdefault(kept, []).append(array)
    return {kept: REDUCE[kind](np.stack(arrays), axis=0) for kept, arrays in groups.items()}


def meaning(dist: Dist, values: Values) -> Values:
    kind = dist.partial_kind
    return values if kind is None else over(values, axes_in(dist, Partial), kind)


def gathered(dist: Dist, mesh: Rank, shape: Shape, blocks: list[Array]) -> Values:
    """The terms that the ranks' blocks are in this layout; fails when they do not fit it."""
    parts: Values = {}
    known: dict[Coordinates, Array] = {}
    for rank, block in zip(ranks_of(mesh), blocks, strict=True):
        indices = owned(dist, mesh, shape, rank)
        assert block.shape == tuple(map(len, indices))
        if on_root(dist, rank):
            part = parts.setdefault(at(rank, terms(dist)), np.zeros(shape))
            seen = known.setdefault(at(rank, terms(dist)), np.zeros(shape, dtype=bool))
            place = np.ix_(*indices)
            assert np.array_equal(part[place][seen[place]], block[seen[place]])
            part[place], seen[place] = block, True
    assert all(seen.all() for seen in known.values())
    return parts


# What the operations do


class World:
    """A tensor in its layout on a mesh, with random values, and what collectives make of it."""

    def __init__(self, rng: np.random.Generator, mesh: Rank, shape: Shape, dist: Dist):
        self.mesh, self.shape, self.dist = mesh, shape, dist
        self.noise: Callable[[], Array] = lambda: rng.integers(50, 99, size=shape).astype(float)
        self.parts: Values = {}
        self.blocks = list[Array]()
        for rank in ranks_of(mesh):
            fresh = rng.integers(-3, 4, size=shape).astype(float)
            part = self.parts.setdefault(at(rank, terms(dist)), fresh)
            here = part if on_root(dist, rank) else self.noise()
            self.blocks.append(here[np.ix_(*owned(dist, mesh, shape, rank))])

    def group(self, rank: Rank, axes: Sequence[str]) -> list[Array]:
        """The blocks of the ranks that differ from this one in these axes only, outer first."""
        rows = ranks_of({axis: self.mesh[axis] for axis in axes})
        ranks = ranks_of(self.mesh)
        return [self.blocks[ranks.index({**rank, **row})] for row in rows]

    def keep(self, rank: Rank, block: Array, have: Dist, want: Dist) -> Array:
        """The part of a block in layout `have` that the rank has in layout `want`."""
        before = owned(have, self.mesh, self.shape, rank)
        after = owned(want, self.mesh, self.shape, rank)
        places = [[b.index(i) for i in a] for b, a in zip(before, after, strict=True)]
        return block[np.ix_(*places)]

    def check(self, result: Dist, blocks: list[Array], expected: Values) -> None:
        """The blocks, in layout `result`, mean `expected` at all coordinates that agree."""
        found = meaning(result, gathered(result, self.mesh, self.shape, blocks))
        for one, other in itertools.product(found, expected):
            if len(dict(one | other)) == len(one | other):
                assert np.allclose(found[one], expected[other], rtol=1e-12, atol=1e-12)


@st.composite
def worlds(draw: st.DrawFn, axes: Sequence[str], states: Sequence[State | str | None]) -> World:
    """A tensor that has one of `states` on each of `axes` (a word: sliced), others on the rest."""
    shape = draw(st.sampled_from(SHAPES))
    others: list[State | str | None] = [None, None, "sliced", Local(), Root(0), Partial(Kind.SUM)]
    others += [Partial(Kind.MAX)]
    cuts: dict[int, list[str]] = {}
    found = list[tuple[str, State]]()
    rest = [axis for axis in AXES if axis not in axes]
    for axis in (*draw(st.permutations(rest)), *axes):
        state = draw(st.sampled_from(states if axis in axes else others))
        if isinstance(state, str) and shape:
            cuts.setdefault(draw(st.integers(0, len(shape) - 1)), []).append(axis)
        elif state is not None and not isinstance(state, str):
            found.append((axis, state))
    unit = draw(st.sampled_from([1, 1, 2]))
    try:
        dist = Dist.of([Cut(tuple(names), dim, unit) for dim, names in cuts.items()], found)
    except LayoutError:  # two reductions
        assume(False)
        raise
    mesh = dict(zip(AXES, draw(st.sampled_from(COUNTS)), strict=True))
    return World(np.random.default_rng(draw(st.integers(0, 99))), mesh, shape, dist)


def value(world: World) -> SSAValue:
    return create_ssa_value(with_dist(TensorType(f32, world.shape), world.dist))


def claim(op: Operation, world: World) -> Dist:
    """The result's layout by the rule. Raises `Refused`."""
    rule = rule_of(op)
    assert rule is not None
    return propagate(rule, (world.dist,))[0]


def built(make: Callable[[], Operation]) -> Dist | None:
    """The layout that a constructor gives its result, None when it refuses; the result verifies."""
    try:
        op = make()
    except (Refused, LayoutError):
        return None
    op.verify()
    return dist_of(op.results[0].type)


def unbuilt(
    cls: type[Operation], axes: Sequence[str], **properties: Attribute | None
) -> Callable[[World], Operation]:
    """An operation without its result's layout, for the rule alone."""

    def make(world: World) -> Operation:
        given = {"axes": AxesAttr(tuple(axes)), **properties}
        return cls.create(
            operands=[value(world)],
            result_types=[TensorType(f32, world.shape)],
            properties={name: found for name, found in given.items() if found is not None},
        )

    return make


def number(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


AXIS_LISTS = st.lists(st.sampled_from(AXES), min_size=1, max_size=2, unique=True)
KINDS = st.sampled_from([Kind.SUM, Kind.SUM, Kind.MAX, Kind.AVG, Kind.PROD, Kind.MIN])
QUICK = settings(deadline=None, max_examples=80)


def reducible(kind: Kind) -> list[State | str | None]:
    local: list[State | str | None] = [Local(), Local(), Local(), None]
    return local if kind is Kind.AVG else [*local, Partial(kind), Partial(kind)]


@QUICK
@given(AXIS_LISTS, KINDS, st.integers(0, 1), st.sampled_from([1, 1, 2]), st.data())
def test_reductions(axes: list[str], kind: Kind, dim: int, unit: int, data: st.DataObject) -> None:
    world = data.draw(worlds(axes, reducible(kind)))
    roots = [data.draw(st.integers(0, world.mesh[axis] - 1)) for axis in axes]
    operand = value(world)
    made = [
        built(lambda: AllReduceOp(operand, kind, axes)),
        built(lambda: ReduceOp(operand, kind, axes, roots)),
    ]
    if dim < len(world.shape):
        made.append(built(lambda: ReduceScatterOp(operand, kind, axes, dim, unit)))
    local = [axis for axis in axes if axis in axes_in(world.dist, Local)]
    expected = over(meaning(world.dist, world.parts), local, kind)
    inner = world.dist.without(axes)
    for result in made:
        if result is None:
            continue
        blocks = list[Array]()
        for rank in ranks_of(world.mesh):
            block = REDUCE[kind](np.stack(world.group(rank, axes)), axis=0)
            if not on_root(result, rank) and on_root(world.dist, rank):
                block = world.noise()[tuple(slice(size) for size in block.shape)]
            blocks.append(world.keep(rank, block, inner, result))
        world.check(result, blocks, expected)
    assert (made[0] is None) == (made[1] is None)
    takes = all(isinstance(world.dist.by_axis.get(axis), Local | Partial) for axis in axes)
    passes = world.dist.partial_kind in (None, kind)
    assert (made[0] is not None) == (takes and passes)


@QUICK
@given(AXIS_LISTS, st.data())
def test_all_gather(axes: list[str], data: st.DataObject) -> None:
    world = data.draw(worlds(axes, ["sliced"]))
    result = built(lambda: AllGatherOp(value(world), axes))
    inner = [cut for cut in world.dist.cuts if cut.axes[-len(axes) :] == tuple(axes)]
    assert (result is not None) == bool(inner)
    if result is not None:
        blocks = [
            np.concatenate(world.group(rank, axes), axis=inner[0].dim)
            for rank in ranks_of(world.mesh)
        ]
        world.check(result, blocks, meaning(world.dist, world.parts))


@QUICK
@given(AXIS_LISTS, st.permutations([0, 1]), st.sampled_from([1, 1, 2]), st.data())
def test_all_to_all(axes: list[str], dims: list[int], unit: int, data: st.DataObject) -> None:
    world = data.draw(worlds(axes, ["sliced"]))
    assume(len(world.shape) == 2)
    source, target = dims
    properties = {"source": number(source), "target": number(target), "unit": number(unit)}
    op = unbuilt(AllToAllOp, axes, **properties)(world)
    try:
        result = claim(op, world)
    except Refused:
        return
    whole, _ = world.dist.drop_cut(axes, source)
    blocks = list[Array]()
    for rank in ranks_of(world.mesh):
        gathered_here = np.concatenate(world.group(rank, axes), axis=source)
        blocks.append(world.keep(rank, gathered_here, whole, result))
    world.check(result, blocks, meaning(world.dist, world.parts))


@QUICK
@given(AXIS_LISTS, st.data())
def test_broadcast(axes: list[str], data: st.DataObject) -> None:
    world = data.draw(worlds(axes, [Local(), Local(), Root(0), Root(1), None]))
    assume(all(s.coordinate < world.mesh[a] for a, s in world.dist.states if isinstance(s, Root)))
    roots = {axis: data.draw(st.integers(0, world.mesh[axis] - 1)) for axis in axes}
    result = built(lambda: BroadcastOp(value(world), axes, list(roots.values())))
    states = {axis: world.dist.by_axis.get(axis) for axis in axes}
    takes = all(states[axis] in (Local(), Root(roots[axis])) for axis in axes)
    assert (result is not None) == takes
    if result is None:
        return
    ranks = ranks_of(world.mesh)
    blocks = [world.blocks[ranks.index({**rank, **roots})] for rank in ranks]
    means = meaning(world.dist, world.parts)
    on_roots = set(roots.items())
    expected = {
        key - on_roots: part
        for key, part in means.items()
        if not any(dict(key).get(axis, root) != root for axis, root in on_roots)
    }
    world.check(result, blocks, expected)


@QUICK
@given(
    st.sampled_from(AXES),
    st.integers(-3, 3) | st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3),
    st.data(),
)
def test_permute(axis: str, route: int | list[tuple[int, int]], data: st.DataObject) -> None:
    world = data.draw(worlds([axis], [Local(), Local(), Local(), None]))
    count = world.mesh[axis]
    if isinstance(route, int):
        source = {(i + route) % count: i for i in range(count)}
        properties: dict[str, Attribute] = {"shift": number(route)}
    else:
        source = {to: sender for sender, to in route}
        assume(len(source) == len(set(source.values())) == len(route))
        assume(all(max(pair) < count for pair in route))
        properties = {"pairs": ArrayAttr([integers(pair) for pair in route])}
    op = unbuilt(PermuteOp, [axis], **properties)(world)
    set_type(op.results[0], op.operands[0].type)
    try:
        result = claim(op, world)
    except Refused:
        assert world.dist.by_axis.get(axis) != Local()
        return
    op.verify()
    assert result == world.dist
    ranks = ranks_of(world.mesh)
    blocks = list[Array]()
    for rank, block in zip(ranks, world.blocks, strict=True):
        sender = source.get(rank[axis])
        held = None if sender is None else world.blocks[ranks.index({**rank, axis: sender})]
        blocks.append(np.zeros_like(block) if held is None else held)
    means = meaning(world.dist, world.parts)
    expected: Values = {}
    for key, part in means.items():
        sender = source.get(dict(key)[axis])
        rest = frozenset(entry for entry in key if entry[0] != axis)
        expected[key] = np.zeros_like(part) if sender is None else means[rest | {(axis, sender)}]
    world.check(result, blocks, expected)


@QUICK
@given(AXIS_LISTS, st.integers(0, 1), st.sampled_from([1, 1, 2]), st.data())
def test_slice(axes: list[str], dim: int, unit: int, data: st.DataObject) -> None:
    world = data.draw(worlds(axes, [None, None, None, Local(), "sliced"]))
    assume(dim < len(world.shape))
    result = built(lambda: SliceOp(value(world), axes, dim, unit))
    op = unbuilt(SliceOp, axes, dim=number(dim), unit=number(unit))(world)
    if result is None:
        with pytest.raises(Refused):
            claim(op, world)
        return
    assert result == claim(op, world)
    blocks = [
        world.keep(rank, block, world.dist, result)
        for rank, block in zip(ranks_of(world.mesh), world.blocks, strict=True)
    ]
    world.check(result, blocks, meaning(world.dist, world.parts))


@QUICK
@given(AXIS_LISTS, st.booleans(), st.data())
def test_relax(axes: list[str], to_root: bool, data: st.DataObject) -> None:
    world = data.draw(worlds(axes, [None, None, Partial(Kind.SUM), Local(), Root(0), "sliced"]))
    roots = [data.draw(st.integers(0, world.mesh[axis] - 1)) for axis in axes] if to_root else None
    result = built(lambda: RelaxOp(value(world), axes, roots))
    listed = None if roots is None else integers(roots)
    op = unbuilt(RelaxOp, axes, roots=listed)(world)
    if result is None:
        with pytest.raises(Refused):
            claim(op, world)
        return
    assert result == claim(op, world)
    states = {axis: world.dist.by_axis.get(axis) for axis in axes}
    assert all(s is None or (not to_root and isinstance(s, Partial)) for s in states.values())
    kind = world.dist.partial_kind
    still = [axis for axis in axes_in(world.dist, Partial) if axis not in axes]
    expected = world.parts if kind is None else over(world.parts, still, kind)
    world.check(result, world.blocks, expected)
