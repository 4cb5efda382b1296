"""The operations of random programs: each function adds one, or raises `Unfit`."""

from __future__ import annotations

from collections.abc import Callable

from random_generator import Dims, Generator, Unfit, Value
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    SymbolRefAttr,
    TensorType,
    bf16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.tensor import SplatOp
from xdsl.ir import Attribute

from coconet_ir.analysis.dist import (
    REPLICATED,
    Kind,
    LayoutError,
    Local,
    Partial,
    Root,
)
from coconet_ir.analysis.notation import pattern
from coconet_ir.dialects import coll, comp, layout
from coconet_ir.dialects.arith import CmpfOp, ExtFOp, SelectOp, TruncFOp
from coconet_ir.dialects.arith_casts import FPToSIOp, SIToFPOp
from coconet_ir.dialects.attributes import (
    AxesAttr,
    KindAttr,
    Order,
    OrderAttr,
    RuleAttr,
)
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import integers
from coconet_ir.dialects.tensor import ExtractOp


def reducing(make: Generator) -> None:
    kind = make.rng.choice((coll.AllReduceOp,) * 4 + (coll.ReduceScatterOp, coll.ReduceOp))
    value = make.pick(lambda v: v.element != i64 and (v.dist.has(Local) or v.dist.has(Partial)))
    partial = [axis for axis, s in value.dist.states if isinstance(s, Partial)]
    local = [axis for axis, s in value.dist.states if isinstance(s, Local)]
    own = make.rng.choice([axes for axes in (partial, local) if axes])
    axes = make.rng.sample(own, make.rng.randint(1, len(own)))
    reduction = value.dist.partial_kind or make.rng.choice(
        (Kind.SUM, Kind.SUM, Kind.AVG, Kind.MAX, Kind.MIN)
    )
    if reduction is Kind.AVG and value.element == i32:
        raise Unfit
    properties: dict[str, Attribute] = {
        "kind": KindAttr(reduction),
        "axes": AxesAttr(tuple(axes)),
    }
    if make.rng.random() < 0.3 and value.element == f32:
        properties["wire"] = bf16
    if make.rng.random() < 0.3 and value.element != i32:
        properties["accumulate"] = make.rng.choice((f32, f64))
    if make.rng.random() < 0.3:
        properties["order"] = OrderAttr(Order.RANKS)
    if kind is coll.ReduceScatterOp:
        if not value.dims:
            raise Unfit
        properties["dim"] = IntegerAttr(make.rng.randrange(len(value.dims)), i64)
    elif kind is coll.ReduceOp:
        properties["roots"] = integers([make.root(axis) for axis in axes])
    make.collective(kind, value, **properties)


def gather(make: Generator) -> None:
    value = make.pick(lambda v: bool(v.dist.cuts))
    cut = make.rng.choice(value.dist.cuts)
    inner = make.rng.randint(1, len(cut.axes))
    make.collective(coll.AllGatherOp, value, axes=AxesAttr(cut.axes[-inner:]))


def broadcast_root(make: Generator) -> None:
    local = make.rng.random() < 0.2
    value = make.pick(lambda v: v.dist.has(Root) or (local and v.dist.has(Local)))
    axis, state = make.rng.choice(
        [e for e in value.dist.states if not isinstance(e[1], Partial)] or [("", None)]
    )
    if state is None:
        raise Unfit
    root = state.coordinate if isinstance(state, Root) else make.root(axis)
    make.collective(coll.BroadcastOp, value, axes=AxesAttr((axis,)), roots=integers([root]))


def exchange(make: Generator) -> None:
    value = make.pick(lambda v: bool(v.dist.cuts) and len(v.dims) > 1)
    cut = make.rng.choice(value.dist.cuts)
    target = make.rng.choice([d for d in range(len(value.dims)) if d != cut.dim])
    make.collective(
        coll.AllToAllOp,
        value,
        axes=AxesAttr(cut.axes[-1:]),
        source=IntegerAttr(cut.dim, i64),
        target=IntegerAttr(target, i64),
    )


def permute(make: Generator) -> None:
    value = make.pick(lambda v: v.dist.has(Local))
    axis = make.rng.choice([axis for axis, s in value.dist.states if isinstance(s, Local)])
    route: dict[str, Attribute] = {"shift": IntegerAttr(make.rng.choice((-1, 1, 2)), i64)}
    if make.rng.random() < 0.3:
        make.least[axis] = max(make.least[axis], 2)
        pairs = make.rng.choice((((0, 1),), ((0, 1), (1, 0)), ((1, 0),)))
        route = {"pairs": ArrayAttr(integers(pair) for pair in pairs)}
    make.collective(coll.PermuteOp, value, axes=AxesAttr((axis,)), **route)


def view(make: Generator) -> None:
    value = make.pick()
    axis = make.rng.choice(make.axes)
    if isinstance(value.dist.by_axis.get(axis), Partial) or make.rng.random() < 0.3:
        relax(make, value, axis)
    elif value.dims:
        unit = make.rng.choice((1, 1, 2))
        try:
            op = layout.SliceOp(value.ssa, [axis], make.rng.randrange(len(value.dims)), unit)
        except LayoutError as error:
            raise Unfit from error
        make.add([op], value.dims, value.source)


def relax(make: Generator, value: Value, axis: str) -> None:
    entry = value.dist.by_axis.get(axis)
    if entry is not None and not isinstance(entry, Partial):
        raise Unfit
    rooted = entry is None and make.rng.random() < 0.3
    op = layout.RelaxOp(value.ssa, [axis], [make.root(axis)] if rooted else None)
    make.add([op], value.dims, value.source)


def binary(make: Generator) -> None:
    one = make.float_value()
    other = make.pick(lambda v: v.dims == one.dims and v.element == one.element)
    kinds = (arith.AddfOp, arith.MulfOp, arith.SubfOp, arith.MaximumfOp, arith.MinimumfOp)
    make.emit(make.rng.choice(kinds), [one.ssa, other.ssa], one.element, one.dims)


def unary(make: Generator) -> None:
    value = make.float_value()
    kinds = (arith.NegfOp, math.TanhOp, math.AbsFOp, math.SinOp, math.AtanOp)
    make.emit(make.rng.choice(kinds), [value.ssa], value.element, value.dims)


def convert(make: Generator) -> None:
    value = make.pick(lambda v: v.element in (f32, bf16))
    kind, of = (TruncFOp, bf16) if value.element == f32 else (ExtFOp, f32)
    make.emit(kind, [value.ssa], of, value.dims)


def integer(make: Generator) -> None:
    one = make.pick(lambda v: v.element == i32)
    other = make.pick(lambda v: v.dims == one.dims and v.element == i32)
    kinds = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MaxSIOp, arith.MinSIOp)
    make.emit(make.rng.choice(kinds), [one.ssa, other.ssa], i32, one.dims)


def to_integer(make: Generator) -> None:
    """From an argument, whose numbers are known to fit."""
    value = make.pick(lambda v: v.element == f32 and v.source is v.ssa)
    make.emit(FPToSIOp, [value.ssa], i32, value.dims)


def from_integer(make: Generator) -> None:
    value = make.pick(lambda v: v.element == i32)
    make.emit(SIToFPOp, [value.ssa], f32, value.dims)


def choose(make: Generator) -> None:
    value = make.float_value()
    other = make.pick(lambda v: v.dims == value.dims and v.element == value.element)
    if value.dist != other.dist or value.dist.has(Partial):
        raise Unfit
    make.put(test := CmpfOp(value.ssa, other.ssa, "olt"))
    test.result.name_hint = make.name("v")
    make.add([SelectOp(test, value.ssa, other.ssa)], value.dims)


def scale(make: Generator) -> None:
    value = make.pick(lambda v: v.element == f32)
    make.emit(comp.ScaleOp, [value.ssa, make.factor], f32, value.dims)


def dropout(make: Generator) -> None:
    value = make.float_value()
    make.count += 1
    p, id = FloatAttr(0.25, f32), IntegerAttr(make.count, i64)
    make.emit(comp.DropoutOp, [value.ssa, make.seed], value.element, value.dims, p=p, id=id)


def matmul(make: Generator) -> None:
    value = make.float_value(2)
    *front, k = value.dims
    batched = len(value.dims) > 2 and make.rng.random() < 0.5
    dims: Dims = (*front[:-1], k, make.dim()) if batched else (k, make.dim())
    try:
        other = make.pick(
            lambda v: v.element == value.element and v.dims[:-1] == dims[:-1] and v.dims != ()
        )
    except Unfit:
        other = make.argument(value.element, dims, make.layout(len(dims), ("cut", "none", "none")))
    accumulate = make.rng.choice((None, f32 if value.element != f64 else f64))
    make.emit(
        comp.MatmulOp,
        [value.ssa, other.ssa],
        value.element,
        (*front, other.dims[-1]),
        accumulate=accumulate,
    )


def conv2d(make: Generator) -> None:
    """A convolution that keeps height and width."""
    value = make.pick(lambda v: v.element == f32 and len(v.dims) == 4)
    size = make.rng.choice((1, 3))
    dims: Dims = (size, size, value.dims[-1], make.dim())
    filters = make.argument(f32, dims, make.layout(4, ("cut", "none", "none", "none")))
    padding = integers((size // 2, size // 2))
    operands = [value.ssa, filters.ssa]
    make.emit(comp.Conv2dOp, operands, f32, (*value.dims[:-1], dims[-1]), padding=padding)


def reduce(make: Generator) -> None:
    value = make.float_value(1)
    over = sorted(make.rng.sample(range(len(value.dims)), make.rng.randint(1, len(value.dims))))
    kept = tuple(size for d, size in enumerate(value.dims) if d not in over)
    kind = make.rng.choice((comp.ReduceOp, comp.NormOp, comp.MeanOp))
    properties: dict[str, Attribute] = {"dims": integers(over)}
    if kind is comp.ReduceOp:
        properties["kind"] = KindAttr(make.rng.choice((Kind.SUM, Kind.SUM, Kind.MAX, Kind.MIN)))
    make.emit(kind, [value.ssa], value.element, kept, **properties)


def softmax(make: Generator) -> None:
    value = make.float_value(1)
    dim = IntegerAttr(make.rng.randrange(len(value.dims)), i64)
    make.emit(comp.SoftmaxOp, [value.ssa], value.element, value.dims, dim=dim)


def rms_norm(make: Generator) -> None:
    value = make.float_value(1)
    weight = make.argument(value.element, value.dims[-1:], REPLICATED)
    eps = FloatAttr(0.5, f32)
    make.emit(comp.RmsNormOp, [value.ssa, weight.ssa], value.element, value.dims, eps=eps)


def spread(make: Generator) -> None:
    like = make.float_value(1)
    dims = sorted(make.rng.sample(range(len(like.dims)), make.rng.randint(0, len(like.dims) - 1)))
    wanted = tuple(like.dims[d] for d in dims)
    try:
        value = make.pick(lambda v: v.dims == wanted and v.element == like.element)
    except Unfit:
        value = make.argument(
            like.element, wanted, make.layout(len(wanted), ("cut", "none", "none"))
        )
    make.emit(comp.BroadcastOp, [value.ssa, like.ssa], like.element, like.dims, dims=integers(dims))


def reshape(make: Generator) -> None:
    value = make.pick(lambda v: len(v.dims) > 0)
    names = [f"d{i}" for i in range(len(value.dims))]
    at = make.rng.randrange(len(value.dims))
    size = value.dims[at]
    before, after = list(names), list(names)
    if isinstance(size, tuple):  # split a product
        before[at] = after[at] = "(h e)"
        after[at] = "h, e"
        dims: Dims = (*value.dims[:at], *size, *value.dims[at + 1 :])
    elif (
        at + 1 < len(value.dims)
        and isinstance(size, str)
        and isinstance(inner := value.dims[at + 1], int)
    ):
        after[at : at + 2] = [f"({names[at]} {names[at + 1]})"]
        dims = (*value.dims[:at], (size, inner), *value.dims[at + 2 :])
    else:
        raise Unfit
    rule = pattern(f"[{', '.join(before)}] -> [{', '.join(after)}]")
    make.emit(ReshapeOp, [value.ssa], value.element, dims, value.source, pattern=RuleAttr(rule))


def transpose(make: Generator) -> None:
    value = make.pick(lambda v: len(v.dims) > 1)
    order = make.rng.sample(range(len(value.dims)), len(value.dims))
    dims = tuple(value.dims[d] for d in order)
    make.emit(
        comp.TransposeOp,
        [value.ssa],
        value.element,
        dims,
        value.source,
        permutation=integers(order),
    )


def splat(make: Generator) -> None:
    like = make.pick(lambda v: v.element == f32 and not v.dist.has(Partial))
    op = SplatOp(make.factor, make.sizes(like), make.type_of(like))
    make.add([op], like.dims)


def constant(make: Generator) -> None:
    like = make.pick(lambda v: all(isinstance(d, int) for d in v.dims) and v.element == f32)
    number = make.rng.choice((0.5, -2.0))
    shape = TensorType(f32, [size for size in like.dims if isinstance(size, int)])
    make.add([arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(shape, [number]))], like.dims)


def extract(make: Generator) -> None:
    value = make.pick(lambda v: v.element == f32 and not v.dims and not v.dist)
    make.put(op := ExtractOp(value.ssa))
    op.result.name_hint = make.name("v")
    make.factor = op.result


def update(make: Generator) -> None:
    value = make.float_value()
    if value.dist.has(Partial) or value.source is not None:
        raise Unfit
    state = make.rng.random() < 0.5
    target = make.argument(value.element, value.dims, value.dist, state=state)
    if make.rng.random() < 0.7:
        value = make.emit(arith.AddfOp, [target.ssa, value.ssa], value.element, value.dims)
    if value.dist != target.dist:
        raise Unfit
    make.updated.add(target.ssa)
    make.emit(comp.UpdateOp, [target.ssa, value.ssa], value.element, value.dims)


def segments(make: Generator) -> None:
    value = make.pick(lambda v: v.element == f32 and len(v.dims) == 1)
    if not make.offsets or make.rng.random() < 0.3:
        offsets = make.argument(i64, ("o",), REPLICATED)
        make.offsets[offsets.ssa.name_hint or ""] = value.dims[0]
    else:
        offsets = make.pick(lambda v: make.offsets.get(v.ssa.name_hint or "") == value.dims[0])
    kind = KindAttr(make.rng.choice((Kind.SUM, Kind.MAX)))
    sums = make.emit(comp.SegmentReduceOp, [value.ssa, offsets.ssa], f32, ("t",), kind=kind)
    if make.rng.random() < 0.7:
        make.emit(comp.SegmentBroadcastOp, [sums.ssa, offsets.ssa, value.ssa], f32, value.dims)


def custom(make: Generator) -> None:
    value = make.pick(lambda v: v.element == f32 and len(v.dims) == 2 and not v.dist.has(Partial))
    op = comp.CustomOp.create(
        operands=[value.ssa],
        result_types=[value.ssa.type],
        properties={"callee": SymbolRefAttr("silu")},
    )
    make.add([op], value.dims)


STEPS: tuple[Callable[[Generator], None], ...] = (
    *(reducing,) * 6,
    *(binary,) * 5,
    *(unary,) * 2,
    *(matmul,) * 3,
    *(reduce,) * 2,
    *(update,) * 3,
    *(spread,) * 2,
    *(reshape,) * 2,
    gather,
    broadcast_root,
    exchange,
    permute,
    view,
    convert,
    choose,
    scale,
    dropout,
    softmax,
    rms_norm,
    transpose,
    splat,
    constant,
    extract,
    segments,
    custom,
    conv2d,
    integer,
    to_integer,
    from_integer,
)
