"""Sets of operations that random programs are made to hold: kernels, overlaps and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from random_generator import Generator, Unfit, Value
from random_motifs import CHEAP, RANKS, Step, chain, dims, dist, element, follow, name, sends
from random_steps import (
    binary,
    choose,
    conv2d,
    dropout,
    exchange,
    extract,
    gather,
    integers,
    matmul,
    permute,
    reducing,
    scale,
    unary,
    update,
)
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, f32, i32, i64
from xdsl.ir import Attribute, Operation

from coconet_ir.analysis.dist import Cut, Kind, Local, Root, State
from coconet_ir.dialects import coll, comp, layout
from coconet_ir.dialects.attributes import AxesAttr, KindAttr


def kernel(first: type[Operation] | None, last: type[Operation] | None) -> Step:
    """Computations, with collectives over one axis at their ends."""

    def motif(make: Generator) -> None:
        rng = make.rng
        rank = rng.choice((1, 2, 2, 3)) if coll.AllToAllOp not in (first, last) else 2
        axis, order = rng.choice(make.axes), rng.sample(range(rank), rank)
        entry: State | Cut = Local() if last is coll.PermuteOp else Cut((axis,), order[0], 1)
        properties: dict[str, Attribute] = {}
        if first is not None:
            entry, properties = sends(make, first, axis, order)
        value = make.argument(f32, dims(make, rank), dist((axis, entry)))
        names: list[str] = []
        if first is not None:
            value = make.collective(first, value, **properties)
            names.append(name(value))
        start = len(make.values)
        names += chain(make, value, CHEAP, rng.choice((1, 2, 3, 4)))
        if rng.random() < 0.3:
            names += overwrite(make, make.values[-1])
        if last is not None:
            ends = [v for v in make.values[start:] if v.dims and v.source not in make.updated]
            if not ends:
                raise Unfit
            rng.shuffle(ends)
            for value in ends[: rng.choice((1, 1, 2))]:
                names += finish(make, last, axis, value)
        make.aim = names

    return motif


def measured(make: Generator) -> None:
    """A value scaled by a number that is made of it."""
    rank = make.rng.choice((1, 2, 3))
    value = make.argument(f32, dims(make, rank), dist())
    names = chain(make, value, CHEAP, 1)
    kind = make.rng.choice((comp.NormOp, comp.MeanOp))
    number = make.emit(kind, [value.ssa], f32, (), dims=integers(range(rank)))
    extract(make)
    scaled = make.emit(comp.ScaleOp, [value.ssa, make.factor], f32, value.dims)
    make.aim = [*names, name(number), name(scaled)]


def finish(make: Generator, kind: type[Operation], axis: str, value: Value) -> list[str]:
    """Let a collective send a value along an axis as it lies there."""
    cut = value.dist.by_axis.get(axis)
    if kind is coll.PermuteOp and isinstance(cut, Local):
        shift = IntegerAttr(1, i64)
        return [name(make.collective(kind, value, axes=AxesAttr((axis,)), shift=shift))]
    if not isinstance(cut, Cut) or cut.axes[-1] != axis:
        raise Unfit
    properties: dict[str, Attribute] = {"axes": AxesAttr((axis,))}
    if kind is coll.AllToAllOp:
        free = [dim for dim in range(len(value.dims)) if dim != cut.dim]
        if not free:
            raise Unfit
        properties["source"] = IntegerAttr(cut.dim, i64)
        properties["target"] = IntegerAttr(make.rng.choice(free), i64)
    return [name(make.collective(kind, value, **properties))]


def overwrite(make: Generator, value: Value) -> list[str]:
    """Add a value to an argument that is updated."""
    last = len(make.values)
    if value.element in (i32, i64) or not value.dims or value.dist.partial_kind is not None:
        return []
    target = make.argument(value.element, value.dims, value.dist)
    total = make.emit(arith.AddfOp, [target.ssa, value.ssa], value.element, value.dims)
    if total.dist != target.dist:
        raise Unfit
    make.updated.add(target.ssa)
    make.emit(comp.UpdateOp, [target.ssa, total.ssa], value.element, value.dims)
    return [name(v) for v in make.values[last + 1 :]]


STAGES: tuple[Step, ...] = (matmul, matmul, reducing, reducing, gather, exchange, permute)
STATES: Mapping[Step, Sequence[str]] = {
    matmul: ("none", "cut", "local"),
    conv2d: ("none", "cut", "local"),
    reducing: ("local", "local", "none"),
    gather: ("cut", "cut", "none"),
    exchange: ("cut", "cut", "none"),
    permute: ("local", "local", "none"),
}


def pipeline(first: Step, between: Step | None = None) -> Step:
    """A stage and others that read what it makes, with a step between them or, if it stores that, behind them."""

    def motif(make: Generator) -> None:
        rng = make.rng
        rank = rng.choice(RANKS.get(first, (1, 2, 2, 3)))
        value = make.argument(f32, dims(make, rank), make.layout(rank, STATES[first]))
        names = follow(make, first, value)
        for _ in range(rng.choice((1, 1, 2))):
            if between is not None and between is not update:
                names += follow(make, between, make.values[-1])
            elif rng.random() < 0.4:
                names += chain(make, make.values[-1], CHEAP, 1)
            found = chain(make, make.values[-1], STAGES, 1)
            if not found:
                raise Unfit
            names += found
        if between is update:
            names += overwrite(make, make.values[-1])
        make.aim = names

    return motif


def before_kernel(make: Generator) -> None:
    """A matmul, and a reduce_scatter, computations and gathers that read what it makes."""
    rng = make.rng
    axis = rng.choice(make.axes)
    m, k, n = dims(make, 3)
    left = make.argument(f32, (m, k), dist((axis, Cut((axis,), 1, 1))))
    right = make.argument(f32, (k, n), dist((axis, Cut((axis,), 0, 1))))
    made = make.emit(comp.MatmulOp, [left.ssa, right.ssa], f32, (m, n))
    properties: dict[str, Attribute] = {
        "axes": AxesAttr((axis,)),
        "kind": KindAttr(Kind.SUM),
        "dim": IntegerAttr(rng.randrange(2), i64),
    }
    scattered = make.collective(coll.ReduceScatterOp, made, **properties)
    names = [name(scattered)]
    names += chain(make, scattered, (binary, unary, scale, dropout, choose), rng.choice((1, 2)))
    names += finish(make, coll.AllGatherOp, axis, make.values[-1])
    make.aim = [name(made), *names]


def twins(kind: type[Operation]) -> Step:
    """Collectives of one kind that can be one launch, unless one waits for another."""

    def motif(make: Generator) -> None:
        rng = make.rng
        axis = rng.choice(make.axes)
        rank = 2 if kind is coll.AllToAllOp else rng.choice((1, 2))
        entry, properties = sends(make, kind, axis, rng.sample(range(rank), rank))
        of = element(make)
        names: list[str] = []
        for _ in range(rng.choice((2, 2, 3))):
            value = make.argument(of, dims(make, rank), dist((axis, entry)))
            if names and rng.random() < 0.2:
                value = again(make, make.values[-2], axis, entry)
            elif rng.random() < 0.3:
                value = make.emit(arith.NegfOp, [value.ssa], of, value.dims)
            made = make.collective(kind, value, **properties)
            names.append(name(made))
            if rng.random() < 0.5:
                chain(make, made, CHEAP, 1)
                make.values.append(made)
        make.aim = names

    return motif


def again(make: Generator, value: Value, axis: str, entry: State | Cut) -> Value:
    """A value, as a collective gave it, as the same collective takes it. Raises `Unfit` where that is not a view."""
    if isinstance(entry, Cut):
        view: Operation = layout.SliceOp(value.ssa, [axis], entry.dim)
    elif isinstance(entry, Root):
        view = layout.RelaxOp(value.ssa, [axis], [entry.coordinate])
    elif isinstance(value.dist.by_axis.get(axis), Local):
        return value
    elif axis in value.dist.by_axis:
        raise Unfit
    else:
        view = layout.RelaxOp(value.ssa, [axis])
    return make.add([view], value.dims)


def crossed_twins(make: Generator) -> None:
    """Two pairs of twins, of each of which one waits for one of the other: only one pair can be one launch."""
    rng = make.rng
    axis = rng.choice(make.axes)
    shape, layout = dims(make, rng.choice((1, 2))), dist((axis, Local()))
    one, other = (make.argument(f32, shape, layout) for _ in range(2))

    def send(value: Value, shift: int) -> Value:
        properties: dict[str, Attribute] = {"shift": IntegerAttr(shift, i64)}
        return make.collective(coll.PermuteOp, value, axes=AxesAttr((axis,)), **properties)

    first, second = send(one, 1), send(other, -1)
    third, fourth = send(second, 1), send(first, -1)
    make.aim = [name(value) for value in (first, third, second, fourth)]


def overtaken(make: Generator) -> None:
    """An argument that is overwritten with what its other reader waits for, too."""
    rng = make.rng
    rank = rng.choice((1, 2, 2))
    start = make.argument(
        f32, dims(make, rank), make.layout(rank, ("none", "none", "cut", "local"))
    )
    target = make.argument(f32, start.dims, start.dist)
    first = make.emit(arith.NegfOp, [start.ssa], f32, start.dims)
    reader = make.emit(arith.MulfOp, [target.ssa, first.ssa], f32, start.dims)
    last = make.emit(arith.AddfOp, [start.ssa, first.ssa], f32, start.dims)
    if any(value.dist != target.dist for value in (reader, last)):
        raise Unfit
    saved = make.emit(comp.UpdateOp, [target.ssa, last.ssa], f32, start.dims)
    make.updated.add(target.ssa)
    sets = ((first, last, saved), (first, saved), (reader, last, saved), (first, reader, saved))
    make.aim = [name(value) for value in rng.choice(sets)]
