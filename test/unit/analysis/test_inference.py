"""What the rules accept, against running the operation.

Each operand gets random values in its layout on every rank, the operation runs rank by rank, the
results are put together by the layout that `propagate` claims, and they must be what the whole
computation gives. Nothing here uses the project's block arithmetic or simulator. Off the root, where
a value is undefined, ranks hold noise.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.parser import Parser

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
from coconet_ir.analysis.inference import accepts, propagate
from coconet_ir.analysis.notation import Reduction, Role, Rule, Whole, pattern
from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.attributes import as_tensor, sizes_of
from coconet_ir.frontend import make_context
from coconet_ir.schedule.remarks import Refused

Array = NDArray[Any]
Shape = tuple[int, ...]
Rank = dict[str, int]
"""The coordinate on each axis; as a mesh, the number of ranks on each."""
Coordinates = frozenset[tuple[str, int]]
Values = dict[Coordinates, Array]
"""What a tensor means: an array, or one for each coordinate of the axes on which it is local."""

IDENTITY = {Kind.SUM: 0, Kind.PROD: 1, Kind.MAX: -(10**12), Kind.MIN: 10**12}
FUNCTION = {Kind.SUM: np.sum, Kind.PROD: np.prod, Kind.MAX: np.max, Kind.MIN: np.min}


def reduced(kind: Kind, values: Array, axis: int | tuple[int, ...]) -> Array:
    return np.asarray(FUNCTION[kind](values, axis=axis, initial=IDENTITY[kind]))


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


@dataclass(frozen=True)
class Spread:
    """A tensor with random values: what it means, and what each rank holds."""

    dist: Dist
    shape: Shape
    means: Values
    blocks: list[Array]


def spread(rng: np.random.Generator, dist: Dist, mesh: Rank, shape: Shape) -> Spread:
    keyed = [*axes_in(dist, Local), *axes_in(dist, Partial)]
    parts: Values = {}
    blocks = list[Array]()
    for rank in ranks_of(mesh):
        part = parts.setdefault(at(rank, keyed), rng.integers(-3, 4, size=shape))
        here = part if on_root(dist, rank) else rng.integers(50, 99, size=shape)
        blocks.append(here[np.ix_(*owned(dist, mesh, shape, rank))])
    return Spread(dist, shape, meaning(dist, mesh, parts), blocks)


def meaning(dist: Dist, mesh: Rank, parts: Values) -> Values:
    """The terms reduced over the axes on which the tensor is partial."""
    if (kind := dist.partial_kind) is None:
        return parts
    others = ranks_of({axis: mesh[axis] for axis in axes_in(dist, Partial)})
    means: Values = {}
    for rank in ranks_of({axis: mesh[axis] for axis in axes_in(dist, Local)}):
        terms = [parts[at(rank, list(rank)) | at(other, list(other))] for other in others]
        means[at(rank, list(rank))] = reduced(kind, np.stack(terms), 0)
    return means


class Wrong(Exception):
    """The ranks do not hold what the layout says."""


def gather(dist: Dist, mesh: Rank, shape: Shape, blocks: list[Array]) -> Values:
    """What the ranks' blocks mean in this layout. Raises `Wrong` when they do not fit it."""
    keyed = [*axes_in(dist, Local), *axes_in(dist, Partial)]
    parts: Values = {}
    known: dict[Coordinates, Array] = {}
    for rank, block in zip(ranks_of(mesh), blocks, strict=True):
        indices = owned(dist, mesh, shape, rank)
        if block.shape != tuple(map(len, indices)):
            raise Wrong(f"rank {rank} has the shape {block.shape}, not {tuple(map(len, indices))}")
        if not on_root(dist, rank):
            continue
        part = parts.setdefault(at(rank, keyed), np.zeros(shape, dtype=block.dtype))
        seen = known.setdefault(at(rank, keyed), np.zeros(shape, dtype=bool))
        place = np.ix_(*indices)
        if not np.array_equal(part[place][seen[place]], block[seen[place]]):
            raise Wrong(f"rank {rank} does not agree with the others")
        part[place], seen[place] = block, True
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


Compute = Callable[..., Any]
"""From a place and one array for each tensor operand to the result, or a tuple of results."""


@dataclass(frozen=True)
class Case:
    """A rule, the shapes of the operation's tensors, and what it computes on a rank, or whole."""

    rule: Rule
    inputs: tuple[Shape | None, ...]
    outputs: tuple[Shape, ...]
    compute: Compute


def run(
    rng: np.random.Generator, case: Case, mesh: Rank, dists: Sequence[Dist], claimed: Sequence[Dist]
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
        try:
            results = compute(case, place, [t.blocks[index] for t in tensors])
        except (ValueError, IndexError) as error:  # what this rank holds does not fit together
            raise Wrong(str(error)) from error
        for held, result in zip(blocks, results, strict=True):
            held.append(result)
    whole: list[Values] = [{} for _ in case.outputs]
    for rank in ranks_of({axis: mesh[axis] for axis in local}):
        place = Place(
            tuple(owned(REPLICATED, {}, t.shape, {}) for t in tensors),
            tuple(owned(REPLICATED, {}, shape, {}) for shape in case.outputs),
            at(rank, local),
        )
        arrays = [t.means[at(rank, axes_in(t.dist, Local))] for t in tensors]
        for means, result in zip(whole, compute(case, place, arrays), strict=True):
            means[at(rank, local)] = result
    for dist, shape, held, means in zip(claimed, case.outputs, blocks, whole, strict=True):
        check_equal(gather(dist, mesh, shape, held), means)


def compute(case: Case, place: Place, arrays: Sequence[Array]) -> tuple[Array, ...]:
    found = case.compute(place, *arrays)
    return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))


CONTEXT = make_context(allow_unregistered=True)


def case(name: str, operands: str, results: str, compute: Compute, properties: str = "") -> Case:
    """An operation on `5x7` tensors of f32, `0d` ones, `4:i64` ones, and `(f32)` scalars."""
    inputs, outputs = list(map(type_of, operands.split())), list(map(type_of, results.split()))
    values = [f"%{i}" for i in range(len(inputs))]
    text = f'"test.op"() : () -> ({", ".join(inputs)})\n'
    text = f"{', '.join(values)} = {text}" if values else text
    text += (
        f'%r = "{name}"({", ".join(values)}) <{{{properties}}}> '
        f": ({', '.join(inputs)}) -> {outputs[0]}"
    )
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    op = next(op for op in module.ops if op.name == name)
    rule = rule_of(op)
    assert rule is not None
    shapes = tuple(sizes_of(v.type) if as_tensor(v.type) else None for v in op.operands)
    return Case(rule, shapes, (sizes_of(op.results[0].type),), compute)


def type_of(text: str) -> str:
    if text.startswith("("):
        return text[1:-1]
    shape, _, element = text.partition(":")
    return f"tensor<{'' if shape == '0d' else shape + 'x'}{element or 'f32'}>"


def each(function: Callable[..., Any]) -> Compute:
    """What works on arrays wherever it runs."""

    def anywhere(_: Place, *arrays: Array) -> Any:
        return function(*arrays)

    return anywhere


def reduction(kind: Kind, *dims: int) -> Compute:
    return each(lambda x: reduced(kind, x, dims) if dims else x)


def conv2d(_: Place, x: Array, w: Array) -> Array:
    height, width = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    out = np.zeros((x.shape[0], height, width, w.shape[3]), dtype=x.dtype)
    for i, j in itertools.product(range(w.shape[0]), range(w.shape[1])):
        out += x[:, i : i + height, j : j + width, :] @ w[i, j]
    return out


def softmax(_: Place, x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=1, keepdims=True, initial=-99))
    return powers / np.sum(powers, axis=1, keepdims=True)


def rms_norm(_: Place, x: Array, weight: Array) -> Array:
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) / 5 + 1) * weight


def dropout(place: Place, x: Array) -> Array:
    """Drops by global index and the coordinates of the axes on which the operand is local."""
    rows, columns = np.meshgrid(*place.operands[0], indexing="ij")
    salt = sum(ord(axis) * coordinate for axis, coordinate in place.local)
    return np.where((7 * rows + 3 * columns + salt) % 5 < 3, 2 * x, 0)


def broadcast(*to: int) -> Compute:
    def spread_out(place: Place, x: Array, *_: Array) -> Array:
        sizes = tuple(map(len, place.results[0]))
        kept = [x.shape[to.index(d)] if d in to else 1 for d in range(len(sizes))]
        order = sorted(range(len(to)), key=lambda i: to[i])
        return np.broadcast_to(np.transpose(x, order).reshape(kept), sizes)

    return spread_out


def reshape(place: Place, x: Array) -> Array:
    return x.reshape(tuple(map(len, place.results[0])))


def splat(place: Place) -> Array:
    return np.full(tuple(map(len, place.results[0])), 7)


def segment_reduce(kind: Kind) -> Compute:
    def reduce(place: Place, x: Array, _: Array) -> Array:
        index = np.asarray(place.operands[0][0], dtype=np.int64)
        inside = [(index >= a) & (index < b) for a, b in itertools.pairwise(OFFSETS)]
        return np.stack([reduced(kind, x[mask], 0) for mask in inside])

    return reduce


OFFSETS = (0, 2, 2, 5)


def segment_broadcast(place: Place, x: Array, *_: Array) -> Array:
    segments = [int(np.searchsorted(OFFSETS, i, side="right")) - 1 for i in place.results[0][0]]
    return np.asarray([x[s] if s < 3 else 0 for s in segments], dtype=np.int64)


SUMS = "[m, k] -> [m] [k], m = reduction(sum), k = reduction(sum), linear(0)"
OUTER = "[*b] [n] -> [*b, n], linear(0, 1)"
NAMES = "pattern = #comp.rule<[{}] -> [{}]>"

CASES: dict[str, Case] = {
    "matmul": case("comp.matmul", "5x7 7x3", "5x3", each(np.matmul)),
    "matmul, batch": case("comp.matmul", "2x3x4 4x5", "2x3x5", each(np.matmul)),
    "matmul, batches": case("comp.matmul", "3x2x5 3x5x4", "3x2x4", each(np.matmul)),
    "matmul of nothing": case("comp.matmul", "3x0 0x2", "3x2", each(np.matmul)),
    "conv2d": case("comp.conv2d", "3x3x4x5 2x2x5x3", "3x2x3x3", conv2d),
    "addf": case("arith.addf", "5x3 5x3", "5x3", each(np.add)),
    "subf": case("arith.subf", "5x3 5x3", "5x3", each(np.subtract)),
    "negf": case("arith.negf", "5x3", "5x3", each(np.negative)),
    "mulf": case("arith.mulf", "5x3 5x3", "5x3", each(np.multiply)),
    "divf": case("arith.divf", "5x3 5x3", "5x3", each(lambda a, b: a / (b + 0.5))),
    "maximumf": case("arith.maximumf", "5x3 5x3", "5x3", each(np.maximum)),
    "minimumf": case("arith.minimumf", "5x3 5x3", "5x3", each(np.minimum)),
    "addi": case("arith.addi", "4:i64 4:i64", "4:i64", each(np.add)),
    "select": case("arith.select", "5:i1 5 5", "5", each(lambda c, a, b: np.where(c > 0, a, b))),
    "select by scalar": case("arith.select", "(i1) 5 5", "5", each(lambda a, b: b)),
    "sqrt": case("math.sqrt", "5x3", "5x3", each(lambda x: np.sqrt(np.abs(x)))),
    "0-d": case("arith.addf", "0d 0d", "0d", each(np.add)),
    **{
        f"reduce {kind}": case(
            "comp.reduce",
            "5x2x3",
            "2",
            reduction(kind, 0, 2),
            f"kind = #coll.kind<{kind}>, dims = array<i64: 2, 0>",
        )
        for kind in FUNCTION
    },
    "reduce none": case(
        "comp.reduce",
        "5x3",
        "5x3",
        reduction(Kind.SUM),
        "kind = #coll.kind<sum>, dims = array<i64>",
    ),
    "norm": case("comp.norm", "5", "0d", each(lambda x: np.sqrt(np.sum(x * x)))),
    "mean": case("comp.mean", "3x5", "3", each(lambda x: np.mean(x, 1)), "dims = array<i64: 1>"),
    "softmax": case("comp.softmax", "3x5", "3x5", softmax, "dim = 1 : i64"),
    "rms_norm": case("comp.rms_norm", "2x3x5 5", "2x3x5", rms_norm, "eps = 1.0 : f32"),
    "dropout": case("comp.dropout", "5x3 (i64)", "5x3", dropout, "p = 0.5 : f32, id = 0 : i64"),
    "scale": case("comp.scale", "5x3 (f32)", "5x3", each(lambda x: 3 * x)),
    "broadcast": case("comp.broadcast", "5", "3x5", broadcast(1), "dims = array<i64: 1>"),
    "broadcast like": case(
        "comp.broadcast", "5x2 2x3x5", "2x3x5", broadcast(2, 0), "dims = array<i64: 2, 0>"
    ),
    "split": case("comp.reshape", "3x12", "3x6x2", reshape, NAMES.format("b, (h d)", "b, h, d")),
    "merge": case("comp.reshape", "5x2x3", "30", reshape, NAMES.format("a, b, c", "(a b c)")),
    "regroup": case("comp.reshape", "10x3", "5x6", reshape, NAMES.format("(a b), c", "a, (b c)")),
    "reshape of nothing": case(
        "comp.reshape", "0x2", "5x0x2", reshape, NAMES.format("(h d), k", "h, d, k")
    ),
    "transpose": case(
        "comp.transpose",
        "2x3x5",
        "5x2x3",
        each(lambda x: np.transpose(x, (2, 0, 1))),
        "permutation = array<i64: 2, 0, 1>",
    ),
    "update": case("comp.update", "5x3 5x3", "5x3", each(lambda _, value: value)),
    "segment sums": case(
        "comp.segment_reduce", "7 4:i64", "3", segment_reduce(Kind.SUM), "kind = #coll.kind<sum>"
    ),
    "segment maxima": case(
        "comp.segment_reduce", "7 4:i64", "3", segment_reduce(Kind.MAX), "kind = #coll.kind<max>"
    ),
    "segment_broadcast": case("comp.segment_broadcast", "3 4:i64 7", "7", segment_broadcast),
    "splat": case("tensor.splat", "(f32)", "5x3", splat),
    "extract": case("tensor.extract", "2x3 (index) (index)", "(f32)", each(lambda x: x[1, 2])),
    "extract of 0-d": case("tensor.extract", "0d", "(f32)", each(lambda x: x)),
    "sums of rows and columns": Case(
        pattern(SUMS).instantiate((2,)),
        ((5, 3),),
        ((5,), (3,)),
        lambda _, x: (np.sum(x, axis=1), np.sum(x, axis=0)),
    ),
    "outer product": Case(
        pattern(OUTER).instantiate((2, 1)),
        ((2, 3), (5,)),
        ((2, 3, 5),),
        lambda _, x, y: x[..., None] * y,
    ),
}


# Random layouts

MESHES = [{"a": a, "b": b} for a, b in [(1, 1), (2, 2), (3, 2), (1, 3), (2, 5), (7, 1)]]


@st.composite
def placements(draw: st.DrawFn, case: Case) -> tuple[Rank, tuple[Dist, ...]]:
    """A mesh, and layouts of the operands that mostly fit each other."""
    rule = case.rule
    names = sorted({n for i in rule.data for dim in rule.operands[i] or () for n in dim})
    kind = draw(st.sampled_from([Kind.SUM, Kind.SUM, Kind.PROD, Kind.MAX, Kind.MIN]))
    unit = draw(st.sampled_from([1, 1, 2]))
    cuts: dict[str, list[str]] = {}
    states: list[dict[str, State]] = [{} for _ in rule.operands]
    for axis in draw(st.permutations(["a", "b"])):
        plan = draw(st.sampled_from(["cut", "cut", "all", "one", "one", "some", "none"]))
        if plan == "cut" and names:
            cuts.setdefault(draw(st.sampled_from(names)), []).append(axis)
        elif plan != "none":
            state = draw(st.sampled_from([Local(), Root(0), Partial(kind), Partial(kind)]))
            one = draw(st.integers(0, len(states) - 1)) if states else 0
            for index, found in enumerate(states):
                if {"all": True, "one": index == one}.get(plan, draw(st.booleans())):
                    found[axis] = state
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
    dist = REPLICATED
    unit = draw(st.sampled_from([1, 1, 2]))
    for axis in draw(st.permutations(["a", "b"])):
        what = draw(st.sampled_from(["cut", "cut", "state", "none"]))
        if what == "cut" and rank:
            dist = dist.append_cut([axis], draw(st.integers(0, rank - 1)), unit)
        elif what == "state":
            state = draw(st.sampled_from([Local(), Root(0), Partial(Kind.SUM)]))
            dist = dist.with_states([(axis, state)])
    return dist


@st.composite
def claims(draw: st.DrawFn, case: Case, expected: Sequence[Dist]) -> tuple[Dist, ...]:
    """Result layouts that `accepts` lets pass: those expected, or others that it allows."""
    claimed = list[Dist]()
    for dist, shape, names in zip(expected, case.outputs, case.rule.results, strict=True):
        change = draw(st.sampled_from(["keep", "cut", "any"])) if names is not None else "keep"
        free = [axis for axis in ("a", "b") if axis not in dist.by_axis]
        if change == "cut" and free and shape:
            unit = draw(st.sampled_from([1, 2]))
            try:
                dist = dist.append_cut(free[:1], draw(st.integers(0, len(shape) - 1)), unit)
            except LayoutError:  # cut already, in another unit
                pass
        elif change == "any":
            dist = draw(layouts(len(shape)))
        claimed.append(dist)
    return tuple(claimed) if accepts(case.rule, expected, claimed) is None else tuple(expected)


def check(case: Case, data: st.DataObject) -> None:
    """Draw layouts; what is accepted must be right. Raises `Wrong`."""
    mesh, dists = data.draw(placements(case))
    try:
        expected = propagate(case.rule, dists)
    except Refused:
        return
    claimed = data.draw(claims(case, expected))
    run(np.random.default_rng(data.draw(st.integers(0, 99))), case, mesh, dists, claimed)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_what_is_accepted_is_right(name: str, data: st.DataObject) -> None:
    check(CASES[name], data)


# The check itself: wrong rules are found


def roles(**found: Role) -> dict[str, Any]:
    return {"roles": tuple(found.items())}


SUM, _, MAX, MIN = map(Reduction, FUNCTION)
WHOLE = Whole()

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("matmul", roles(k=MAX)),
    ("matmul", {"joint": {Kind.SUM}}),
    ("matmul", {"operands": ((("m",), ("k",)), (("j",), ("n",)))}),
    ("conv2d", {"results": ((("n",), ("h",), ("ow",), ("f",)),), **roles(c=SUM)}),
    ("addf", {"linear": {0}}),
    ("divf", {"linear": {1}}),
    ("reduce sum", {"joint": {Kind.MAX}}),
    ("mean", roles(d1=SUM)),
    ("softmax", {"roles": ()}),
    ("broadcast like", {"operands": ((("r0",), ("r2",)), None)}),
    ("split", {"sizes": (("d", 1), ("h", 6))}),
    ("transpose", {"results": ((("d1",), ("d0",), ("d2",)),)}),
    ("update", {"shape_only": {1}}),
    ("segment maxima", roles(n=MIN, o=WHOLE, t=WHOLE)),
    ("extract", {"results": ((),), **roles(d0=SUM, d1=SUM)}),
]


@pytest.mark.parametrize(("name", "changes"), WRONG)
def test_a_wrong_rule_is_found(name: str, changes: dict[str, Any]) -> None:
    case = replace(CASES[name], rule=replace(CASES[name].rule, **changes))
    once = settings(
        deadline=None, derandomize=True, database=None, max_examples=1000, phases=[Phase.generate]
    )
    with pytest.raises(Wrong):
        once(given(data=st.data())(lambda data: check(case, data)))()
