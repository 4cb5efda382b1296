"""What the rules accept, against running the operation.

Each operand gets random values in its layout on every rank, the operation runs rank by rank, the results are
put together by the layout that `propagate` claims, and they must be what the whole computation gives. Nothing
here uses the project's block arithmetic or simulator. Where a value is undefined (off the root) ranks hold
noise; integers are exact, and sums of floats are compared within a few roundings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.dialects.tensor import SplatOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

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
)
from coconet_ir.analysis.inference import accepts, align, propagate
from coconet_ir.analysis.notation import Reduction, Rule, Whole, pattern
from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects import comp
from coconet_ir.dialects.arith import SelectOp
from coconet_ir.dialects.attributes import KindAttr, RuleAttr
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
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.schedule.remarks import Refused

Array = NDArray[Any]
Shape = tuple[int, ...]
Mesh = dict[str, int]
Rank = dict[str, int]
Coordinates = frozenset[tuple[str, int]]
Values = dict[Coordinates, Array]
"""What a tensor means: an array, or one a coordinate of the axes on which it is local."""

LOW, HIGH = -(10**12), 10**12
IDENTITY = {Kind.SUM: 0, Kind.PROD: 1, Kind.MAX: LOW, Kind.MIN: HIGH}
FUNCTION: dict[Kind, Callable[..., Array]] = {
    Kind.SUM: np.sum,
    Kind.PROD: np.prod,
    Kind.MAX: np.max,
    Kind.MIN: np.min,
}


def reduced(kind: Kind, values: Array, axis: int | tuple[int, ...]) -> Array:
    return np.asarray(FUNCTION[kind](values, axis=axis, initial=IDENTITY[kind]))


# Tensors on a mesh


def ranks_of(mesh: Mesh) -> list[Rank]:
    places = itertools.product(*(range(count) for count in mesh.values()))
    return [dict(zip(mesh, place, strict=True)) for place in places]


def owned(dist: Dist, mesh: Mesh, shape: Shape, rank: Rank) -> tuple[list[int], ...]:
    """The global indices that a rank has, dimension by dimension, found by asking for each its owner."""
    found = list[list[int]]()
    for dim, size in enumerate(shape):
        cut = next((cut for cut in dist.cuts if cut.dim == dim), None)
        if cut is None:
            found.append(list(range(size)))
            continue
        mine = [rank[axis] for axis in cut.axes]
        counts = [mesh[axis] for axis in cut.axes]
        found.append([i for i in range(size) if _owner(i, size, counts, cut.unit) == mine])
    return tuple(found)


def _owner(index: int, size: int, counts: Sequence[int], unit: int) -> list[int]:
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


@dataclass(frozen=True)
class Spread:
    """A tensor with random values: the terms of what it means, and what each rank holds."""

    dist: Dist
    shape: Shape
    parts: Values
    blocks: list[Array]


def spread(rng: np.random.Generator, dist: Dist, mesh: Mesh, shape: Shape) -> Spread:
    keyed = [*axes_in(dist, Local), *axes_in(dist, Partial)]
    parts: Values = {}
    blocks = list[Array]()
    for rank in ranks_of(mesh):
        part = parts.setdefault(at(rank, keyed), rng.integers(-3, 4, size=shape))
        here = part if on_root(dist, rank) else rng.integers(50, 99, size=shape)
        blocks.append(here[np.ix_(*owned(dist, mesh, shape, rank))])
    return Spread(dist, shape, parts, blocks)


def meaning(dist: Dist, mesh: Mesh, parts: Values) -> Values:
    """The terms reduced over the axes on which the tensor is partial."""
    kind = dist.partial_kind
    if kind is None:
        return parts
    others = ranks_of({axis: mesh[axis] for axis in axes_in(dist, Partial)})
    means: Values = {}
    for rank in ranks_of({axis: mesh[axis] for axis in axes_in(dist, Local)}):
        terms = [parts[at(rank, list(rank)) | at(other, list(other))] for other in others]
        means[at(rank, list(rank))] = reduced(kind, np.stack(terms), 0)
    return means


class Wrong(Exception):
    """The ranks do not hold what the layout says."""


def gather(dist: Dist, mesh: Mesh, shape: Shape, blocks: list[Array]) -> Values:
    """What the ranks' blocks mean in this layout. Raises `Wrong` when they disagree or do not fit it."""
    keyed = [*axes_in(dist, Local), *axes_in(dist, Partial)]
    parts: Values = {}
    known: dict[Coordinates, Array] = {}
    for rank, block in zip(ranks_of(mesh), blocks, strict=True):
        indices = owned(dist, mesh, shape, rank)
        if block.shape != tuple(map(len, indices)):
            raise Wrong(f"rank {rank} has the shape {block.shape}, not {tuple(map(len, indices))}")
        if not on_root(dist, rank):
            continue
        key = at(rank, keyed)
        part = parts.setdefault(key, np.zeros(shape, dtype=block.dtype))
        seen = known.setdefault(key, np.zeros(shape, dtype=bool))
        place = np.ix_(*indices)
        again = seen[place]
        if not np.array_equal(part[place][again], block[again]):
            raise Wrong(f"rank {rank} does not agree with the others")
        part[place] = block
        seen[place] = True
    if not all(seen.all() for seen in known.values()):
        raise Wrong("no rank has some elements")
    return meaning(dist, mesh, parts)


def check_equal(found: Values, expected: Values) -> None:
    """The same wherever the coordinates of the local axes agree. Raises `Wrong`."""
    for one, other in itertools.product(found, expected):
        agree = len(dict(one | other)) == len(one | other)
        if agree and not np.allclose(found[one], expected[other], rtol=1e-12, atol=1e-12):
            raise Wrong(f"{found[one].tolist()} is not {expected[other].tolist()}")


# Operations


@dataclass(frozen=True)
class Place:
    """Where an operation runs: the global indices of each tensor there, and the coordinates."""

    operands: tuple[tuple[list[int], ...], ...]
    results: tuple[tuple[list[int], ...], ...]
    local: Coordinates


Compute = Callable[..., Array | tuple[Array, ...]]
"""From a place and one array a tensor operand to the results there."""


@dataclass(frozen=True)
class Case:
    """A rule, the shapes of the operation's tensors, and what it computes on a rank, or whole."""

    rule: Rule
    inputs: tuple[Shape | None, ...]
    outputs: tuple[Shape, ...]
    compute: Compute


def run(
    rng: np.random.Generator, case: Case, mesh: Mesh, dists: Sequence[Dist], claimed: Sequence[Dist]
) -> None:
    """Run a case rank by rank and whole. Raises `Wrong` when the results do not mean the same."""
    tensors = [
        spread(rng, dist, mesh, shape)
        for dist, shape in zip(dists, case.inputs, strict=True)
        if shape is not None
    ]
    local = sorted({axis for t in tensors for axis in axes_in(t.dist, Local)})
    blocks: list[list[Array]] = [[] for _ in case.outputs]
    for index, rank in enumerate(ranks_of(mesh)):
        place = Place(
            tuple(owned(t.dist, mesh, t.shape, rank) for t in tensors),
            tuple(owned(d, mesh, s, rank) for d, s in zip(claimed, case.outputs, strict=True)),
            at(rank, local),
        )
        results = _results(case, place, [t.blocks[index] for t in tensors])
        for held, result in zip(blocks, results, strict=True):
            held.append(result)
    whole = _run_whole(case, mesh, local, tensors)
    for dist, shape, held, means in zip(claimed, case.outputs, blocks, whole, strict=True):
        check_equal(gather(dist, mesh, shape, held), means)


def _run_whole(
    case: Case, mesh: Mesh, local: Sequence[str], tensors: Sequence[Spread]
) -> list[Values]:
    means = [meaning(t.dist, mesh, t.parts) for t in tensors]
    whole: list[Values] = [{} for _ in case.outputs]
    for rank in ranks_of({axis: mesh[axis] for axis in local}):
        place = Place(
            tuple(owned(REPLICATED, {}, t.shape, {}) for t in tensors),
            tuple(owned(REPLICATED, {}, shape, {}) for shape in case.outputs),
            at(rank, local),
        )
        arrays = [
            mean[at(rank, axes_in(t.dist, Local))] for mean, t in zip(means, tensors, strict=True)
        ]
        for table, result in zip(whole, _results(case, place, arrays), strict=True):
            table[at(rank, local)] = result
    return whole


def _results(case: Case, place: Place, arrays: Sequence[Array]) -> tuple[Array, ...]:
    found = case.compute(place, *arrays)
    return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))


def of(op: Operation, compute: Compute) -> Case:
    """The case of an operation of the dialects."""
    op.verify()
    rule = rule_of(op)
    assert rule is not None
    inputs = [v.type.get_shape() if isinstance(v.type, TensorType) else None for v in op.operands]
    outputs = [v.type.get_shape() if isinstance(v.type, TensorType) else () for v in op.results]
    return Case(rule, tuple(inputs), tuple(outputs), compute)


def make(
    cls: type[Operation],
    operands: Sequence[Attribute],
    results: Sequence[Attribute],
    **properties: Attribute | None,
) -> Operation:
    return cls.create(
        operands=[create_ssa_value(type) for type in operands],
        result_types=list(results),
        properties={name: value for name, value in properties.items() if value is not None},
    )


def tensor(*shape: int, element: Attribute = f32) -> TensorType[Attribute]:
    return TensorType(element, shape)


def dims(*values: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, values)


def pointwise(
    cls: type[Operation], count: int, compute: Compute, *shape: int, element: Attribute = f32
) -> Case:
    type = tensor(*shape, element=element)
    return of(make(cls, [type] * count, [type]), lambda _, *a: compute(*a))


def matmul(lhs: Shape, rhs: Shape) -> Case:
    result = tensor(*lhs[:-1], rhs[-1])
    return of(
        make(comp.MatmulOp, [tensor(*lhs), tensor(*rhs)], [result]),
        lambda _, x, w: x @ w,
    )


def _conv2d(_: Place, x: Array, w: Array) -> Array:
    height, width = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    out = np.zeros((x.shape[0], height, width, w.shape[3]), dtype=x.dtype)
    for i, j in itertools.product(range(w.shape[0]), range(w.shape[1])):
        out += x[:, i : i + height, j : j + width, :] @ w[i, j]
    return out


def reduction(kind: Kind, over: tuple[int, ...], *shape: int) -> Case:
    kept = [size for dim, size in enumerate(shape) if dim not in over]
    return of(
        make(
            comp.ReduceOp, [tensor(*shape)], [tensor(*kept)], kind=KindAttr(kind), dims=dims(*over)
        ),
        lambda _, x: reduced(kind, x, over) if over else x,
    )


def _mean(_: Place, x: Array) -> Array:
    return np.sum(x, axis=1) / max(x.shape[1], 1)


def _softmax(_: Place, x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=1, keepdims=True, initial=LOW))
    return powers / np.sum(powers, axis=1, keepdims=True)


def _rms_norm(_: Place, x: Array, weight: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1.0) * weight


def _dropout(place: Place, x: Array) -> Array:
    """Drops by global index and the coordinates of the axes on which the operand is local."""
    grid = np.meshgrid(*place.operands[0], indexing="ij")
    salt = sum(ord(axis) * coordinate for axis, coordinate in place.local)
    noise = (7 * grid[0] + 3 * grid[1] + salt) % 5
    return np.where(noise < 3, 2 * x, 0)


def broadcast(to: tuple[int, ...], shape: Shape, result: Shape, like: bool) -> Case:
    def compute(place: Place, x: Array, *_: Array) -> Array:
        sizes = tuple(map(len, place.results[0]))
        spread_out = [x.shape[to.index(d)] if d in to else 1 for d in range(len(result))]
        order = sorted(range(len(to)), key=lambda i: to[i])
        return np.broadcast_to(np.transpose(x, order).reshape(spread_out), sizes)

    operands = [tensor(*shape), *([tensor(*result)] if like else [])]
    return of(make(comp.BroadcastOp, operands, [tensor(*result)], dims=dims(*to)), compute)


def reshape(text: str, before: Shape, after: Shape) -> Case:
    def compute(place: Place, x: Array) -> Array:
        return x.reshape(tuple(map(len, place.results[0])))

    return of(
        make(ReshapeOp, [tensor(*before)], [tensor(*after)], pattern=RuleAttr(pattern(text))),
        compute,
    )


def transpose(order: tuple[int, ...], *shape: int) -> Case:
    result = tensor(*(shape[d] for d in order))
    return of(
        make(comp.TransposeOp, [tensor(*shape)], [result], permutation=dims(*order)),
        lambda _, x: np.transpose(x, order),
    )


OFFSETS = (0, 2, 2, 5)


def _segments(place: Place, x: Array, offsets: Array, kind: Kind) -> Array:
    del offsets  # whole and equal everywhere: the constants above stand for it
    at_rank = np.asarray(place.operands[0][0], dtype=np.int64)
    inside = [(at_rank >= a) & (at_rank < b) for a, b in itertools.pairwise(OFFSETS)]
    return np.stack([reduced(kind, x[mask], 0) for mask in inside])


def segment_reduce(kind: Kind) -> Case:
    operands = [tensor(7), tensor(4, element=i64)]
    return of(
        make(comp.SegmentReduceOp, operands, [tensor(3)], kind=KindAttr(kind)),
        lambda place, x, offsets: _segments(place, x, offsets, kind),
    )


def _segment_broadcast(place: Place, x: Array, *_: Array) -> Array:
    segment = [np.searchsorted(OFFSETS, i, side="right") - 1 for i in place.results[0][0]]
    values = [x[s] if s < 3 else 0 for s in segment]
    return np.asarray(values, dtype=x.dtype)


CASES: dict[str, Case] = {
    "matmul": matmul((5, 7), (7, 3)),
    "matmul, batch": matmul((2, 3, 4), (4, 5)),
    "matmul, batch of both": matmul((3, 2, 5), (3, 5, 4)),
    "matmul of nothing": matmul((3, 0), (0, 2)),
    "conv2d": of(
        make(comp.Conv2dOp, [tensor(3, 3, 4, 5), tensor(2, 2, 5, 3)], [tensor(3, 2, 3, 3)]),
        _conv2d,
    ),
    "addf": pointwise(arith.AddfOp, 2, np.add, 5, 3),
    "subf": pointwise(arith.SubfOp, 2, np.subtract, 5, 3),
    "negf": pointwise(arith.NegfOp, 1, np.negative, 5, 3),
    "mulf": pointwise(arith.MulfOp, 2, np.multiply, 5, 3),
    "divf": pointwise(arith.DivfOp, 2, lambda a, b: a / (b + 0.5), 5, 3),
    "maximumf": pointwise(arith.MaximumfOp, 2, np.maximum, 5, 3),
    "minimumf": pointwise(arith.MinimumfOp, 2, np.minimum, 5, 3),
    "addi": pointwise(arith.AddiOp, 2, np.add, 4, 2, element=i64),
    "subi": pointwise(arith.SubiOp, 2, np.subtract, 4, 2, element=i64),
    "muli": pointwise(arith.MuliOp, 2, np.multiply, 4, 2, element=i64),
    "maxsi": pointwise(arith.MaxSIOp, 2, np.maximum, 4, 2, element=i64),
    "minsi": pointwise(arith.MinSIOp, 2, np.minimum, 4, 2, element=i64),
    "select": of(
        make(SelectOp, [tensor(5, 3, element=i1), *[tensor(5, 3)] * 2], [tensor(5, 3)]),
        lambda _, c, a, b: np.where(c > 0, a, b),
    ),
    "0-d": pointwise(arith.AddfOp, 2, np.add),
    "reduce sum": reduction(Kind.SUM, (1,), 3, 7),
    "reduce sum of two": reduction(Kind.SUM, (0, 2), 3, 2, 5),
    "reduce prod": reduction(Kind.PROD, (0,), 5, 3),
    "reduce max": reduction(Kind.MAX, (0, 1), 5, 3),
    "reduce min": reduction(Kind.MIN, (1,), 4, 6),
    "reduce nothing": reduction(Kind.SUM, (), 5, 3),
    "reduce of nothing": reduction(Kind.MAX, (0,), 0, 3),
    "norm": of(
        make(comp.NormOp, [tensor(3, 5)], [tensor(3)], dims=dims(1)),
        lambda _, x: np.sqrt(np.sum(x * x, axis=1)),
    ),
    "norm of all": of(
        make(comp.NormOp, [tensor(5)], [tensor()]),
        lambda _, x: np.sqrt(np.sum(x * x)),
    ),
    "mean": of(make(comp.MeanOp, [tensor(3, 5)], [tensor(3)], dims=dims(1)), _mean),
    "softmax": of(
        make(comp.SoftmaxOp, [tensor(3, 5)], [tensor(3, 5)], dim=IntegerAttr(1, i64)),
        _softmax,
    ),
    "rms_norm": of(
        make(
            comp.RmsNormOp, [tensor(2, 3, 5), tensor(5)], [tensor(2, 3, 5)], eps=FloatAttr(1.0, f32)
        ),
        _rms_norm,
    ),
    "dropout": of(
        make(
            comp.DropoutOp,
            [tensor(5, 3), i64],
            [tensor(5, 3)],
            p=FloatAttr(0.5, f32),
            id=IntegerAttr(0, i64),
        ),
        _dropout,
    ),
    "scale": of(make(comp.ScaleOp, [tensor(5, 3), f32], [tensor(5, 3)]), lambda _, x: 3 * x),
    "broadcast": broadcast((1,), (5,), (3, 5), like=False),
    "broadcast like": broadcast((2, 0), (5, 2), (2, 3, 5), like=True),
    "broadcast of 0-d": broadcast((), (), (7,), like=False),
    "split a product": reshape("[b, (h d)] -> [b, h, d]", (3, 12), (3, 6, 2)),
    "merge a product": reshape("[b, h, d] -> [b, (h d)]", (3, 5, 2), (3, 10)),
    "merge all": reshape("[a, b, c] -> [(a b c)]", (5, 2, 3), (30,)),
    "regroup": reshape("[(a b), c] -> [a, (b c)]", (10, 3), (5, 6)),
    "reshape of nothing": reshape("[(h d), k] -> [h, d, k]", (0, 2), (5, 0, 2)),
    "transpose": transpose((2, 0, 1), 2, 3, 5),
    "update": of(make(comp.UpdateOp, [tensor(5, 3)] * 2, [tensor(5, 3)]), lambda _, __, v: v),
    "segment_reduce sum": segment_reduce(Kind.SUM),
    "segment_reduce max": segment_reduce(Kind.MAX),
    "segment_broadcast": of(
        make(comp.SegmentBroadcastOp, [tensor(3), tensor(4, element=i64), tensor(7)], [tensor(7)]),
        _segment_broadcast,
    ),
    "splat": of(
        make(SplatOp, [f32], [tensor(5, 3)]),
        lambda place: np.full(tuple(map(len, place.results[0])), 7),
    ),
    "extract": of(
        make(ExtractOp, [tensor(2, 3), IndexType(), IndexType()], [f32]),
        lambda _, x: x[1, 2],
    ),
    "extract of 0-d": of(make(ExtractOp, [tensor()], [f32]), lambda _, x: x),
    "sums of rows and columns": Case(
        pattern("[m, k] -> [m] [k], m = reduction(sum), k = reduction(sum), linear(0)").instantiate(
            (2,)
        ),
        ((5, 3),),
        ((5,), (3,)),
        lambda _, x: (np.sum(x, axis=1), np.sum(x, axis=0)),
    ),
    "outer product": Case(
        pattern("[*b] [n] -> [*b, n], linear(0, 1)").instantiate((2, 1)),
        ((2, 3), (5,)),
        ((2, 3, 5),),
        lambda _, x, y: x[..., None] * y,
    ),
}


# Random layouts

MESHES: list[Mesh] = [{"a": a, "b": b} for a, b in [(1, 1), (2, 2), (3, 2), (1, 3), (2, 5), (7, 1)]]


@st.composite
def placements(draw: st.DrawFn, case: Case) -> tuple[Mesh, tuple[Dist, ...]]:
    """A mesh, and layouts of the operands that mostly fit each other."""
    rule = case.rule
    names = sorted({n for i in rule.data for dim in rule.operands[i] or () for n in dim})
    kind = draw(st.sampled_from([Kind.SUM, Kind.SUM, Kind.PROD, Kind.MAX, Kind.MIN]))
    unit = draw(st.sampled_from([1, 1, 2]))
    cuts: dict[str, list[str]] = {}
    states: list[dict[str, State]] = [{} for _ in rule.operands]
    for axis in draw(st.permutations(["a", "b"])):
        plan = draw(st.sampled_from(["cut", "cut", "all", "all", "some", "one", "none"]))
        if plan == "cut" and names:
            cuts.setdefault(draw(st.sampled_from(names)), []).append(axis)
            continue
        state = draw(st.sampled_from([Local(), Root(0), Partial(kind), Partial(kind)]))
        one = draw(st.sampled_from(rule.data or (0,)))
        for index in range(len(states)):
            if plan == "all" or (plan == "one" and index == one) or (plan == "some" and draw(st.booleans())):
                states[index][axis] = state
    dists = list[Dist]()
    for shape, found in zip(rule.operands, states, strict=True):
        here = [
            Cut(tuple(cuts[factors[0]]), dim, unit * (rule.inner_size(factors) or 1))
            for dim, factors in enumerate(shape or ())
            if factors[0] in cuts
        ]
        dists.append(REPLICATED if shape is None else Dist.of(here, found.items()))
    if dists and draw(st.integers(0, 4)) == 0:
        index = draw(st.integers(0, len(dists) - 1))
        dists[index] = draw(layouts(len(case.inputs[index] or ())))
    return draw(st.sampled_from(MESHES)), tuple(dists)


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> Dist:
    """Any layout of a tensor with `rank` dimensions."""
    cuts: dict[int, list[str]] = {}
    states: dict[str, State] = {}
    for axis in draw(st.permutations(["a", "b"])):
        what = draw(st.sampled_from(["cut", "cut", "state", "none"]))
        if what == "cut" and rank:
            cuts.setdefault(draw(st.integers(0, rank - 1)), []).append(axis)
        elif what == "state":
            states[axis] = draw(st.sampled_from([Local(), Root(0), Partial(Kind.SUM)]))
    unit = draw(st.sampled_from([1, 1, 2]))
    return Dist.of([Cut(tuple(axes), dim, unit) for dim, axes in cuts.items()], states.items())


@st.composite
def claims(draw: st.DrawFn, case: Case, expected: Sequence[Dist]) -> tuple[Dist, ...]:
    """Result layouts that `accepts` lets pass: mostly those that are expected."""
    if draw(st.booleans()):
        return tuple(expected)
    claimed = list[Dist]()
    for dist, shape in zip(expected, case.outputs, strict=True):
        free = [axis for axis in ("a", "b") if axis not in dist.by_axis]
        if free and shape and draw(st.booleans()):
            dim = draw(st.integers(0, len(shape) - 1))
            try:
                dist = dist.append_cut(free[:1], dim, draw(st.sampled_from([1, 2])))
            except LayoutError:
                dist = draw(layouts(len(shape)))
        claimed.append(dist)
    return tuple(claimed) if accepts(case.rule, expected, claimed) is None else tuple(expected)


QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", CASES)
@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_what_is_accepted_is_right(name: str, data: st.DataObject) -> None:
    case = CASES[name]
    mesh, dists = data.draw(placements(case))
    try:
        expected = propagate(case.rule, dists)
    except Refused:
        return
    claimed = data.draw(claims(case, expected))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    run(rng, case, mesh, dists, claimed)
