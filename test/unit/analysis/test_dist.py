"""Layouts as data: blocks against an element-by-element definition, and the one spelling of a layout."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.analysis.dist import (
    REPLICATED,
    Cut,
    Dist,
    Kind,
    LayoutError,
    Local,
    Partial,
    Root,
    State,
    block_bounds,
    nominal_block,
)

RANKS = (1, 2, 3, 5, 7, 8)
UNITS = (1, 2, 3, 4, 64)
SIZES = sorted(
    {0, 1, 2, 3, 5, 7, 11, 13, 97}
    | {n * k + d for n in RANKS for k in (1, 4, 9) for d in (-1, 0, 1)}
    | {12 * 64, 1009}
)


def owner(index: int, size: int, counts: Sequence[int], unit: int) -> tuple[int, ...]:
    """Which coordinate of each axis owns an element, by the definition: u·ceil(ceil(N/u)/n) a block."""
    place, nominal, found = index, size, list[int]()
    for count in counts:
        units = math.ceil(nominal / unit)
        nominal = unit * math.ceil(units / count)
        found.append(place // nominal)
        place %= nominal
    return tuple(found)


def blocks(size: int, counts: Sequence[int], unit: int = 1) -> dict[tuple[int, ...], list[int]]:
    """The elements of each rank."""
    ranks = itertools.product(*map(range, counts))
    table: dict[tuple[int, ...], list[int]] = {rank: [] for rank in ranks}
    for index in range(size):
        table[owner(index, size, counts, unit)].append(index)
    return table


def check_blocks(size: int, counts: Sequence[int], unit: int) -> None:
    for rank, elements in blocks(size, counts, unit).items():
        start, end = block_bounds(size, counts, rank, unit)
        assert list(range(start, end)) == elements
        assert 0 <= start <= end <= size


# Blocks


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.parametrize("unit", UNITS)
def test_one_cut(count: int, unit: int) -> None:
    for size in SIZES:
        check_blocks(size, [count], unit)
        block = nominal_block(size, count, unit)
        for rank in range(count):
            expected = min(rank * block, size), min((rank + 1) * block, size)
            assert block_bounds(size, [count], [rank], unit) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_nested_cuts(unit: int) -> None:
    for counts in itertools.product((1, 2, 3, 7), repeat=2):
        for size in (0, 1, 5, 6, 7, 10, 13, 41, 43, 97):
            check_blocks(size, counts, unit)


@settings(deadline=None)
@given(
    size=st.integers(0, 300),
    counts=st.lists(st.sampled_from(RANKS), min_size=1, max_size=4),
    unit=st.integers(1, 9),
)
def test_any_cut(size: int, counts: list[int], unit: int) -> None:
    check_blocks(size, counts[:3], unit)


@settings(deadline=None)
@given(
    size=st.integers(0, 300),
    outer=st.lists(st.sampled_from(RANKS), max_size=2),
    inner=st.lists(st.sampled_from(RANKS), min_size=1, max_size=2),
    unit=st.integers(1, 9),
)
def test_gather_over_inner_axes_gives_the_outer_block(
    size: int, outer: list[int], inner: list[int], unit: int
) -> None:
    for rank in itertools.product(*map(range, outer)):
        gathered = list[int]()
        for more in itertools.product(*map(range, inner)):
            gathered += range(*block_bounds(size, [*outer, *inner], [*rank, *more], unit))
        assert gathered == list(range(*block_bounds(size, outer, rank, unit)))


@settings(deadline=None)
@given(size=st.integers(0, 40), count=st.sampled_from(RANKS), inner=st.integers(1, 12))
def test_a_product_is_cut_where_its_first_factor_is(size: int, count: int, inner: int) -> None:
    for rank in range(count):
        start, end = block_bounds(size, [count], [rank])
        assert block_bounds(size * inner, [count], [rank], inner) == (start * inner, end * inner)


@pytest.mark.parametrize(
    ("size", "counts", "unit", "lengths"),
    [
        (9, [8], 1, [2, 2, 2, 2, 1, 0, 0, 0]),
        (10, [2, 2], 1, [3, 2, 3, 2]),
        (10, [4], 1, [3, 3, 3, 1]),
        (12 * 64, [8], 1, [96] * 8),
        (12 * 64, [8], 64, [128] * 6 + [0, 0]),
        (7, [2], 4, [4, 3]),
        (0, [3], 1, [0, 0, 0]),
        (1, [3], 8, [1, 0, 0]),
        (5, [], 1, [5]),
    ],
)
def test_lengths(size: int, counts: list[int], unit: int, lengths: list[int]) -> None:
    ranks = itertools.product(*map(range, counts))
    bounds = [block_bounds(size, counts, rank, unit) for rank in ranks]
    assert [end - start for start, end in bounds] == lengths


def test_huge_sizes_stay_exact() -> None:
    size = 2**63 - 1
    start, end = block_bounds(size, [3, 5], [2, 4])
    assert end == size
    assert start == 2 * -(-size // 3) + 4 * -(-(-(-size // 3)) // 5)


# The one spelling

AXES = ("dp", "ep", "pp", "tp", "z")
STATES: list[State] = [Local(), Partial(Kind.SUM), Root(0), Root(3)]


@st.composite
def layouts(draw: st.DrawFn) -> Dist:
    """A layout of a tensor of three dimensions, over some of the axes."""
    axes = draw(st.permutations(AXES))
    cuts = list[Cut]()
    for dim in draw(st.lists(st.sampled_from([0, 1, 2]), unique=True)):
        count = draw(st.integers(1, 2))
        names, axes = axes[:count], axes[count:]
        if names:
            cuts.append(Cut(tuple(names), dim, draw(st.sampled_from([1, 1, 4]))))
    states = [(axis, draw(st.sampled_from(STATES))) for axis in axes if draw(st.booleans())]
    return Dist.of(cuts, states)


@settings(deadline=None)
@given(layouts(), st.randoms())
def test_any_order_of_entries_makes_one_layout(dist: Dist, random: Random) -> None:
    cuts, states = list(dist.cuts), list(dist.states)
    random.shuffle(cuts)
    random.shuffle(states)
    again = Dist.of(cuts, states)
    assert again == dist
    assert hash(again) == hash(dist)
    assert str(again) == str(dist)
    assert again.problem(3) is None


@settings(deadline=None)
@given(layouts())
def test_entries_are_sorted_by_first_axis(dist: Dist) -> None:
    firsts = [entry.lstrip("[").split(" ")[0].rstrip(",") for entry in dist.entries()]
    assert firsts == sorted(firsts)
    assert bool(dist) == bool(firsts)


def test_text() -> None:
    dist = Dist.of(
        [Cut(("tp",), 2, 8), Cut(("pp", "dp"), 0)],
        [("ep", Partial(Kind.MAX)), ("aa", Root(3)), ("zz", Local())],
    )
    assert str(dist) == (
        "<aa = root(3), ep = partial(max), [pp, dp] = sliced(0), tp = sliced(2, 8), zz = local>"
    )
    assert str(REPLICATED) == "replicated"
    assert not REPLICATED


@settings(deadline=None)
@given(layouts())
def test_views_agree_with_the_entries(dist: Dist) -> None:
    axes = sorted(dist.axes())
    assert sorted(dist.by_axis) == axes
    assert len(set(axes)) == len(axes)
    for dim, cut in dist.by_dim.items():
        assert cut.dim == dim
        assert all(dist.by_axis[axis] is cut for axis in cut.axes)
    for axis, state in dist.states:
        assert dist.by_axis[axis] == state
    assert dist.has(Partial) == (dist.partial_kind is not None)
    assert dist.has(Local) == any(state == Local() for _, state in dist.states)
    assert not dist.without(axes).states
    assert dist.without(axes).cuts == dist.cuts


@pytest.mark.parametrize(
    ("cuts", "states", "message"),
    [
        ([Cut(("a",), 0)], [("a", Local())], "axis 'a' is named twice; an axis has one state"),
        ([Cut(("a", "a"), 0)], [], "axis 'a' is named twice"),
        ([Cut(("a",), 0), Cut(("a",), 1)], [], "axis 'a' is named twice"),
        ([], [("a", Local()), ("a", Root(0))], "axis 'a' is named twice"),
        ([Cut((), 0)], [], "an entry names no axis; leave it out"),
        ([Cut(("a",), 1, 0)], [], "the unit of dimension 1 is 0; it must be at least 1"),
        ([Cut(("b",), 2), Cut(("a",), 2)], [], "write one, [outer, inner] = sliced(2)"),
        (
            [],
            [("a", Partial(Kind.SUM)), ("b", Partial(Kind.MAX))],
            "one tensor is partial(max) and partial(sum); all partial axes of a tensor have one",
        ),
        (
            [],
            [("a", Partial(Kind.AVG))],
            "partial(avg) does not exist; use partial(sum) and divide",
        ),
    ],
)
def test_contradictions(cuts: list[Cut], states: list[tuple[str, State]], message: str) -> None:
    with pytest.raises(LayoutError) as error:
        Dist.of(cuts, states)
    assert message in str(error.value)


def test_dimension_out_of_range() -> None:
    dist = Dist.of([Cut(("a",), 3)])
    assert dist.problem() is None
    assert dist.problem(4) is None
    assert dist.problem(3) == "sliced(3) is out of range: the tensor has 3 dimension(s)"
    assert Dist((Cut(("a",), -1),)).problem(3) is not None
    assert Dist.of([], [("a", Local())]).problem(0) is None


# Changes


@settings(deadline=None)
@given(layouts(), st.sampled_from([0, 1, 2]), st.data())
def test_drop_undoes_append(dist: Dist, dim: int, data: st.DataObject) -> None:
    free = [axis for axis in AXES if axis not in dist.by_axis]
    if not free:
        return
    axes = data.draw(st.lists(st.sampled_from(free), min_size=1, unique=True))
    unit = dist.by_dim[dim].unit if dim in dist.by_dim else data.draw(st.sampled_from([1, 3]))
    more = dist.append_cut(axes, dim, unit)
    outer = dist.by_dim[dim].axes if dim in dist.by_dim else ()
    assert more.by_dim[dim] == Cut((*outer, *axes), dim, unit)
    assert more.drop_cut(axes) == (dist, Cut(tuple(axes), dim, unit))
    assert more.drop_cut(axes, dim) == (dist, Cut(tuple(axes), dim, unit))
    with pytest.raises(LayoutError):
        more.drop_cut(axes, (dim + 1) % 3)


def test_append_in_two_steps_is_append_in_one() -> None:
    one = REPLICATED.append_cut(["a"], 0, 4).append_cut(["b"], 0, 4)
    assert one == REPLICATED.append_cut(["a", "b"], 0, 4)
    assert one != REPLICATED.append_cut(["b", "a"], 0, 4)


@pytest.mark.parametrize(
    ("axes", "dim", "unit", "message"),
    [
        (["a"], 1, 1, "axis 'a' must be replicated here, but it is sliced(0)"),
        (["c"], 1, 1, "axis 'c' must be replicated here, but it is partial(sum)"),
        (["d", "c"], 1, 1, "axis 'c' must be replicated here"),
        (["d"], 0, 2, "dimension 0 is already cut in units of 1; a further cut keeps that unit"),
        (["d", "d"], 1, 1, "axis 'd' is named twice"),
    ],
)
def test_append_refused(axes: list[str], dim: int, unit: int, message: str) -> None:
    dist = Dist.of([Cut(("a", "b"), 0)], [("c", Partial(Kind.SUM))])
    with pytest.raises(LayoutError) as error:
        dist.append_cut(axes, dim, unit)
    assert message in str(error.value)


@pytest.mark.parametrize("axes", [["a"], ["b", "a"], ["a", "b", "c"], ["c"], ["d"]])
def test_drop_refused(axes: list[str]) -> None:
    dist = Dist.of([Cut(("a", "b"), 0)], [("c", Local())])
    with pytest.raises(LayoutError) as error:
        dist.drop_cut(axes)
    assert str(error.value) == (
        f"[{', '.join(axes)}] must be the innermost axes that slice one dimension, but the operand's "
        "layout is <[a, b] = sliced(0), c = local>"
    )


def test_states() -> None:
    dist = Dist.of([Cut(("a",), 0)], [("b", Partial(Kind.SUM)), ("c", Local())])
    assert dist.without(["b"]) == Dist.of([Cut(("a",), 0)], [("c", Local())])
    assert dist.without(["a"]) == dist
    assert dist.without(["b"]).with_states([("b", Partial(Kind.SUM))]) == dist
    assert dist.with_states([]) == dist
    for axis in ("a", "b"):
        with pytest.raises(LayoutError, match="is named twice"):
            dist.with_states([(axis, Local())])
    with pytest.raises(LayoutError, match="all partial axes of a tensor have one reduction"):
        dist.with_states([("d", Partial(Kind.MIN))])
