"""What random programs are made to hold, so that rare rewrites come up: gathers that are read, kernels, twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from random_generator import Dims, Generator, Unfit, Value
from random_steps import (
    binary,
    choose,
    constant,
    conv2d,
    convert,
    custom,
    dropout,
    from_integer,
    integer,
    matmul,
    reduce,
    reshape,
    rms_norm,
    scale,
    segments,
    softmax,
    spread,
    transpose,
    unary,
    view,
)
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, bf16, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation

from coconet_ir.analysis.dist import REPLICATED, Cut, Dist, Kind, Local, Root, State
from coconet_ir.dialects import coll, comp, layout
from coconet_ir.dialects.attributes import AxesAttr, KindAttr, Order, OrderAttr
from coconet_ir.dialects.syntax import integers

Step = Callable[[Generator], None]

COMPUTATIONS: tuple[Step, ...] = (
    *(binary, unary, convert, scale, dropout, choose, custom, integer, from_integer),
    *(matmul, conv2d, reduce, softmax, rms_norm, spread, reshape, transpose, segments),
)
COLLECTIVES = (
    *(coll.AllReduceOp, coll.ReduceScatterOp, coll.ReduceOp, coll.BroadcastOp),
    *(coll.AllGatherOp, coll.AllToAllOp, coll.PermuteOp),
)
CHEAP: tuple[Step, ...] = (
    *(binary, binary, unary, scale, dropout, choose, convert, custom),
    *(spread, softmax, rms_norm, reduce, transpose, reshape, segments, view),
)
"""What one kernel may do between its collectives."""

RANKS: Mapping[Step, Sequence[int]] = {
    custom: (2,),
    matmul: (2, 2, 3),
    conv2d: (4,),
    segments: (1,),
    transpose: (2, 3),
    reshape: (2, 3),
}
"""The numbers of dimensions that a step takes; for others from 1 to 3."""


def is_view(op: Operation) -> bool:
    return isinstance(op, layout.SliceOp | layout.RelaxOp)


def name(value: Value) -> str:
    return value.ssa.name_hint or ""


def dims(make: Generator, rank: int) -> Dims:
    return tuple(make.dim() for _ in range(rank))


def element(make: Generator, step: Step | None = None) -> Attribute:
    if step in (integer, from_integer):
        return i32
    if step is convert:
        return make.rng.choice((f32, bf16))
    return make.rng.choice((f32, f32, f32, bf16, f64)) if step is not custom else f32


# Chains


def follow(make: Generator, step: Step, value: Value) -> list[str]:
    """Let a step read a value; the names of what it made, its last result being the latest value."""
    last = make.end.prev_op
    make.read(value, step)
    if make.end.prev_op is last:
        raise Unfit
    names: list[str] = []
    op = make.end.prev_op
    while op is not None and op is not last:
        if op.results and op.results[0].name_hint is not None:
            names.insert(0, op.results[0].name_hint)
        op = op.prev_op
    return names


def chain(make: Generator, value: Value, steps: Sequence[Step], count: int) -> list[str]:
    """Up to so many steps, each reading what the one before made; the names of all."""
    names: list[str] = []
    for _ in range(count):
        for _ in range(6):
            found: list[str] = []
            step = make.rng.choice(steps)

            def link(make: Generator, step: Step = step, found: list[str] = found) -> None:
                found += follow(make, step, value)

            if make.attempt(link):
                names += found
                value = make.values[-1]
                break
    return names


# Collectives of a kind


def sends(
    make: Generator, kind: type[Operation], axis: str, order: Sequence[int]
) -> tuple[State | Cut, dict[str, Attribute]]:
    """How a collective takes its operand along an axis, and its properties; it works on the dimensions in `order`."""
    rng = make.rng
    properties: dict[str, Attribute] = {"axes": AxesAttr((axis,))}
    if issubclass(kind, coll.ReducingOp):
        properties["kind"] = KindAttr(rng.choice((Kind.SUM, Kind.AVG, Kind.MAX, Kind.MIN)))
        if rng.random() < 0.3:
            properties["order"] = OrderAttr(Order.RANKS)
        if kind is coll.ReduceScatterOp:
            properties["dim"] = IntegerAttr(order[0], i64)
        if kind is coll.ReduceOp:
            properties["roots"] = integers([make.root(axis)])
        return Local(), properties
    if kind is coll.BroadcastOp:
        root = make.root(axis)
        return Root(root), {**properties, "roots": integers([root])}
    if kind is coll.PermuteOp:
        return Local(), {**properties, "shift": IntegerAttr(rng.choice((-1, 1, 2)), i64)}
    if kind is coll.AllToAllOp:
        properties["source"] = IntegerAttr(order[0], i64)
        properties["target"] = IntegerAttr(order[1], i64)
    return Cut((axis,), order[0], 1), properties


def dist(*entries: tuple[str, State | Cut]) -> Dist:
    """The layout of these entries."""
    cuts = [entry for _, entry in entries if isinstance(entry, Cut)]
    return Dist.of(cuts, [(a, entry) for a, entry in entries if not isinstance(entry, Cut)])


# Gathers and broadcasts that are read


def part(
    make: Generator, rank: int, rooted: bool, of: Attribute, shape: Dims | None = None
) -> tuple[Value, Value]:
    """An argument in slices, or on a root, and the whole value of it."""
    rng, shape = make.rng, shape or dims(make, rank)
    axis = rng.choice(make.axes)
    if rooted:
        others = make.layout(rank, ("none", "none", "cut", "local")).without((axis,))
        root = make.root(axis)
        value = make.argument(of, shape, others.with_states([(axis, Root(root))]))
        roots = integers([root])
        return value, make.collective(coll.BroadcastOp, value, axes=AxesAttr((axis,)), roots=roots)
    states = ("cut", "none", "none", "local")
    found = make.layout(rank, states)
    if not found.cuts:
        raise Unfit
    value = make.argument(of, shape, found)
    cut = rng.choice(found.cuts)
    axes = cut.axes[-rng.randint(1, len(cut.axes)) :]
    return value, make.collective(coll.AllGatherOp, value, axes=AxesAttr(axes))


def read_by(step: Step, rooted: bool) -> Step:
    """A gather, or a broadcast from a root, that a step reads."""

    def motif(make: Generator) -> None:
        rank = make.rng.choice(RANKS.get(step, (1, 2, 2, 3)))
        _, whole = part(make, rank, rooted, element(make, step))
        follow(make, step, whole)
        reader = next(iter(whole.ssa.uses)).operation
        if step is not view and any(is_view(use.operation) for use in whole.ssa.uses):
            raise Unfit
        make.aim = [name(whole), reader.results[0].name_hint or ""]

    return motif


def crossed_by(kind: type[Operation], rooted: bool) -> Step:
    """A gather, or a broadcast from a root, that a collective over another axis reads."""

    def motif(make: Generator) -> None:
        rng = make.rng
        axis, other = rng.sample(make.axes, 2)
        order = rng.sample(range(3), 3)
        entry, properties = sends(make, kind, other, order[1:])
        root = make.root(axis)
        own = Root(root) if rooted else Cut((axis,), order[0], rng.choice((1, 1, 2)))
        value = make.argument(f32, dims(make, 3), dist((axis, own), (other, entry)))
        if rooted:
            roots = integers([root])
            whole = make.collective(coll.BroadcastOp, value, axes=AxesAttr((axis,)), roots=roots)
        else:
            whole = make.collective(coll.AllGatherOp, value, axes=AxesAttr((axis,)))
        made = make.collective(kind, whole, **properties)
        make.aim = [name(whole), name(made)]

    return motif


def seen_by(relaxed: bool, rooted: bool) -> Step:
    """A gather, or a broadcast from a root, that is sliced or relaxed over another axis."""

    def motif(make: Generator) -> None:
        rng = make.rng
        axis, other = rng.sample(make.axes, 2)
        root = make.root(axis)
        own = Root(root) if rooted else Cut((axis,), 0, 1)
        value = make.argument(f32, dims(make, 2), dist((axis, own)))
        if rooted:
            roots = integers([root])
            whole = make.collective(coll.BroadcastOp, value, axes=AxesAttr((axis,)), roots=roots)
        else:
            whole = make.collective(coll.AllGatherOp, value, axes=AxesAttr((axis,)))
        if relaxed:
            op: Operation = layout.RelaxOp(whole.ssa, [other])
        else:
            op = layout.SliceOp(whole.ssa, [other], 1)
        seen = make.add([op], value.dims)
        chain(make, seen, CHEAP, 2)
        make.aim = [name(whole), name(seen)]

    return motif


def beside(step: Step) -> Step:
    """A gather, or a broadcast from a root, that is added to what a step makes for its shape."""

    def motif(make: Generator) -> None:
        rng = make.rng
        static = tuple(rng.choice((1, 4, 5, 6)) for _ in range(rng.choice((1, 2))))
        shape = static if step is constant else dims(make, len(static))
        _, whole = part(make, len(shape), rng.random() < 0.4, f32, shape)
        make.read(whole, step)
        made = make.values[-1]
        total = make.emit(arith.AddfOp, [whole.ssa, made.ssa], f32, shape)
        make.aim = [name(whole), name(total)]

    return motif


def sliced(make: Generator) -> None:
    """What some step makes of a replicated value."""
    step = make.rng.choice(COMPUTATIONS)
    rank = make.rng.choice(RANKS.get(step, (1, 2, 3)))
    value = make.argument(element(make, step), dims(make, rank), REPLICATED)
    make.aim = follow(make, step, value)[-1:]


def reduced(make: Generator) -> None:
    """An all_reduce that is read."""
    rng = make.rng
    axes = rng.sample(make.axes, rng.randint(1, len(make.axes)))
    rank = rng.choice((1, 2, 2, 3))
    layout = dist(*((axis, Local()) for axis in axes))
    value = make.argument(element(make), dims(make, rank), layout)
    kinds = (Kind.SUM, Kind.AVG, Kind.MAX, Kind.MIN, Kind.PROD)
    made = make.collective(
        coll.AllReduceOp, value, axes=AxesAttr(tuple(axes)), kind=KindAttr(rng.choice(kinds))
    )
    make.aim = [name(made)]
    chain(make, made, CHEAP, 2)


# Updates of arguments that can be kept in slices


def stored(make: Generator) -> None:
    """A step of an optimizer: two arguments that are updated from a gathered gradient."""
    rng = make.rng
    rank = rng.choice((1, 1, 2))
    if rng.random() < 0.4:
        axis = rng.choice(make.axes)
        value = make.argument(f32, dims(make, rank), dist((axis, Local())))
        grad = make.collective(
            coll.AllReduceOp, value, axes=AxesAttr((axis,)), kind=KindAttr(Kind.SUM)
        )
    else:
        _, grad = part(make, rank, False, f32)
    state = make.argument(f32, grad.dims, grad.dist, state=rng.random() < 0.5)
    old = make.emit(comp.ScaleOp, [state.ssa, make.factor], f32, grad.dims)
    new = make.emit(arith.AddfOp, [old.ssa, grad.ssa], f32, grad.dims)
    saved = make.emit(comp.UpdateOp, [state.ssa, new.ssa], f32, grad.dims)
    weights = make.argument(f32, grad.dims, grad.dist, state=rng.random() < 0.3)
    if rng.random() < 0.3:
        make.emit(comp.NormOp, [weights.ssa], f32, ())
    step = rng.choice((saved, new))
    moved = make.emit(arith.SubfOp, [weights.ssa, step.ssa], f32, grad.dims)
    make.emit(comp.UpdateOp, [weights.ssa, moved.ssa], f32, grad.dims)
    make.updated |= {state.ssa, weights.ssa}
    make.aim = [name(grad), name(state), name(weights)]


def kept(make: Generator) -> None:
    """An argument that is read in slices, and stored from a gather of such."""
    rng = make.rng
    rank = rng.choice((1, 2, 3))
    axis, dim, unit = rng.choice(make.axes), rng.randrange(rank), rng.choice((1, 1, 2))
    others = make.layout(rank, ("none", "none", "local", "cut")).without((axis,))
    state = make.argument(f32, dims(make, rank), others, state=rng.random() < 0.7)
    make.updated.add(state.ssa)
    mine = make.add([layout.SliceOp(state.ssa, [axis], dim, unit)], state.dims, state.ssa)
    if rng.random() < 0.2:  # and in slices of another layout
        other = layout.SliceOp(state.ssa, [axis], rng.randrange(rank), rng.choice((1, 3)))
        again = make.add([other], state.dims, state.ssa)
        make.emit(arith.NegfOp, [again.ssa], f32, state.dims)
        make.values.remove(again)
    new = make.emit(comp.ScaleOp, [mine.ssa, make.factor], f32, state.dims)
    if new.dist != mine.dist:
        raise Unfit
    stored = new
    if rng.random() < 0.3:  # another argument, which may be overwritten before it is stored
        stored = make.argument(f32, state.dims, mine.dist)
        make.updated.add(stored.ssa)
    whole = make.collective(coll.AllGatherOp, stored, axes=AxesAttr((axis,)))
    if stored is not new and rng.random() < 0.7:
        make.emit(comp.UpdateOp, [stored.ssa, new.ssa], f32, state.dims)
    saved = make.emit(comp.UpdateOp, [state.ssa, whole.ssa], f32, state.dims)
    if rng.random() < 0.5:
        read = layout.SliceOp(saved.ssa, [axis], dim, unit)
        chain(make, make.add([read], state.dims), CHEAP, 1)
    if rng.random() < 0.7:
        make.values.remove(saved)  # so that nothing else reads it
        make.values.remove(whole)
    make.values.remove(mine)
    make.aim = [name(state)]
