"""Random distributed programs: every operation, layout state and kind of size, in any combination that verifies."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    bf16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import DimOp, SplatOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

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
from coconet_ir.analysis.inference import align, propagate
from coconet_ir.analysis.notation import RuleError, pattern
from coconet_ir.analysis.rules import operand_dists, rule_of
from coconet_ir.analysis.verifier import STATE
from coconet_ir.dialects import coll, comp, layout
from coconet_ir.dialects.arith import CmpfOp, ExtFOp, SelectOp, TruncFOp
from coconet_ir.dialects.attributes import (
    AxesAttr,
    KindAttr,
    Order,
    OrderAttr,
    RuleAttr,
    dist_of,
    with_dist,
)
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import integers
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.passes.views import views
from coconet_ir.schedule.remarks import Refused
from coconet_ir.xdsl_compat import set_type

Dim = int | str | tuple[str, int]
"""An extent: a number, an unknown one by its name, or a multiple of one."""

Dims = tuple[Dim, ...]
FLOATS = (f32, f32, f32, bf16, f64)
SILU = """comp.define @silu rule [m, n] -> [m, n] {
^bb0(%x: tensor<?x?xf32>):
  %n = arith.negf %x : tensor<?x?xf32>
  %e = math.exp %n : tensor<?x?xf32>
  %q = arith.divf %x, %e : tensor<?x?xf32>
  comp.yield %q : tensor<?x?xf32>
}"""


class Unfit(Exception):
    """The operation that was drawn does not fit the values there are."""


@dataclass
class Value:
    """A tensor of the program and its dimensions."""

    ssa: SSAValue
    dims: Dims
    source: SSAValue | None = None
    """The argument that it is, or is a view of: not to be read once that is updated."""

    @property
    def dist(self) -> Dist:
        return dist_of(self.ssa.type)

    @property
    def element(self) -> Attribute:
        return element(self.ssa)


def element(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    if not isinstance(value.type, TensorType):
        raise TypeError(value.type)
    return value.type.element_type


def tensor(of: Attribute, dims: Dims, dist: Dist = REPLICATED) -> Attribute:
    """The type of a tensor."""
    shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in dims]
    return with_dist(TensorType(of, shape), dist)


@dataclass
class Program:
    """A random program: its module, and the dimensions of its arguments."""

    module: ModuleOp
    func: FuncOp
    arguments: dict[str, Dims]
    axes: tuple[str, ...]
    offsets: dict[str, Dim]
    """Arguments that are offsets of segments of this many elements."""
    least: dict[str, int]
    """The number of ranks that an axis needs, for the roots that are named."""


class Generator:
    """Makes one program."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.axes = tuple("abc"[: rng.choice((1, 1, 2, 2, 3))])
        self.end: Operation = ReturnOp()
        self.block = Block([self.end])
        self.func = FuncOp("f", ((), ()), Region(self.block))
        self.module = parse_program(make_context(), SILU, "silu.mlir")
        self.module.body.block.add_ops(
            [layout.MeshOp("mesh", dict.fromkeys(self.axes, 2)), self.func]
        )
        self.values: list[Value] = []
        self.arguments: dict[str, Dims] = {}
        self.state: dict[str, Attribute] = {}
        self.offsets: dict[str, Dim] = {}
        self.least = dict.fromkeys(self.axes, 1)
        self.updated: set[SSAValue] = set()
        self.moved: set[SSAValue] = set()
        """What collectives made, and what was computed from that."""
        self.count = 0
        self.seed: SSAValue = self.scalar_argument(i64)
        self.factor: SSAValue = self.scalar_argument(f32)

    # Values

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def scalar_argument(self, type: Attribute) -> SSAValue:
        arg = self.block.insert_arg(type, len(self.block.args))
        arg.name_hint = self.name("s")
        self.arguments[arg.name_hint] = ()
        return arg

    def argument(self, of: Attribute, dims: Dims, dist: Dist, *, state: bool = False) -> Value:
        arg = self.block.insert_arg(tensor(of, dims, dist), len(self.block.args))
        arg.name_hint = self.name("a")
        self.arguments[arg.name_hint] = dims
        if state:
            self.state[arg.name_hint] = UnitAttr()
        value = Value(arg, dims, arg)
        self.values.append(value)
        return value

    def layout(
        self, rank: int, states: Sequence[str] = ("cut", "local", "local", "none", "none", "root")
    ) -> Dist:
        """A random layout without partial axes."""
        cuts: dict[int, list[str]] = {}
        found: list[tuple[str, State]] = []
        for axis in self.rng.sample(self.axes, len(self.axes)):
            match self.rng.choice(states):
                case "cut" if rank:
                    cuts.setdefault(self.rng.randrange(rank), []).append(axis)
                case "local":
                    found.append((axis, Local()))
                case "root":
                    found.append((axis, Root(self.root(axis))))
                case _:
                    pass
        unit = self.rng.choice((1, 1, 1, 2, 4))
        return Dist.of([Cut(tuple(axes), dim, unit) for dim, axes in cuts.items()], found)

    def root(self, axis: str) -> int:
        root = self.rng.choice((0, 0, 1))
        self.least[axis] = max(self.least[axis], root + 1)
        return root

    def dim(self) -> Dim:
        return self.rng.choice(("p", "p", "q", "r", 4, 6, ("p", 2), ("q", 3)))

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value that fits, the latest more often."""
        usable = [v for v in self.values if v.source not in self.updated and fits(v)]
        if not usable:
            raise Unfit
        if self.rng.random() < 0.6:
            usable = [v for v in usable if v.ssa in self.moved] or usable
        return self.rng.choice(usable[-6:] if self.rng.random() < 0.7 else usable)

    def float_value(self, least: int = 0) -> Value:
        return self.pick(lambda v: v.element != i32 and v.element != i64 and len(v.dims) >= least)

    def number(self, value: int) -> SSAValue:
        op = arith.ConstantOp(IntegerAttr(value, IndexType()))
        self.put(op)
        return op.result

    def put(self, op: Operation) -> None:
        self.block.insert_op_before(op, self.end)

    def sizes(self, value: Value) -> list[SSAValue]:
        """The extents of the dimensions of a value that are not static."""
        found: list[SSAValue] = []
        for index, size in enumerate(value.dims):
            if not isinstance(size, int):
                self.put(op := DimOp(value.ssa, self.number(index)))
                found.append(op.result)
        return found

    # Operations

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        of: Attribute,
        dims: Dims,
        source: SSAValue | None = None,
        /,
        **properties: Attribute | None,
    ) -> Value:
        """Add an operation if its rule takes the layouts of its operands, some of them sliced or relaxed for it."""
        op = kind.create(
            operands=operands,
            result_types=[tensor(of, dims)],
            properties={name: found for name, found in properties.items() if found is not None},
        )
        rule, made = rule_of(op), list[Operation]()
        if rule is None:
            raise TypeError(kind)
        try:
            need = operand_dists(op)
            if rule.uniform or self.rng.random() < 0.7:
                need = align(rule, need)
            (result,) = propagate(rule, need)
            for index, dist in enumerate(need):
                new = views(op.operands[index], dist)
                if new:
                    made += new
                    op.operands[index] = new[-1].results[0]
            if rule.free and self.rng.random() < 0.3:
                axis = self.rng.choice(self.axes)
                free = [d for d, f in enumerate(rule.results[0] or ()) if f[0] in rule.free]
                if axis not in result.by_axis:
                    result = result.append_cut([axis], self.rng.choice(free))
        except (Refused, LayoutError) as error:
            op.erase()
            for step in reversed(made):
                step.erase()
            raise Unfit from error
        set_type(op.results[0], tensor(of, dims, result))
        return self.add([*made, op], dims, source)

    def add(self, ops: Sequence[Operation], dims: Dims, source: SSAValue | None = None) -> Value:
        for op in ops:
            op.results[0].name_hint = self.name("v")
            self.put(op)
            op.verify()
            if op.name.startswith("coll.") or self.moved.intersection(op.operands):
                self.moved.update(op.results)
        value = Value(ops[-1].results[0], dims, source)
        self.values.append(value)
        return value

    def collective(
        self, kind: type[Operation], value: Value, /, **properties: Attribute | None
    ) -> Value:
        return self.emit(kind, [value.ssa], value.element, value.dims, **properties)

    def step(self) -> None:
        """Add something."""
        self.rng.choice(STEPS)(self)

    def reducing(self) -> None:
        kind = self.rng.choice((coll.AllReduceOp,) * 4 + (coll.ReduceScatterOp, coll.ReduceOp))
        value = self.pick(lambda v: v.element != i64 and (v.dist.has(Local) or v.dist.has(Partial)))
        partial = [axis for axis, s in value.dist.states if isinstance(s, Partial)]
        local = [axis for axis, s in value.dist.states if isinstance(s, Local)]
        own = self.rng.choice([axes for axes in (partial, local) if axes])
        axes = self.rng.sample(own, self.rng.randint(1, len(own)))
        reduction = value.dist.partial_kind or self.rng.choice(
            (Kind.SUM, Kind.SUM, Kind.AVG, Kind.MAX, Kind.MIN)
        )
        if reduction is Kind.AVG and value.element == i32:
            raise Unfit
        properties: dict[str, Attribute] = {
            "kind": KindAttr(reduction),
            "axes": AxesAttr(tuple(axes)),
        }
        if self.rng.random() < 0.3 and value.element == f32:
            properties["wire"] = bf16
        if self.rng.random() < 0.3 and value.element != i32:
            properties["accumulate"] = self.rng.choice((f32, f64))
        if self.rng.random() < 0.3:
            properties["order"] = OrderAttr(Order.RANKS)
        if kind is coll.ReduceScatterOp:
            if not value.dims:
                raise Unfit
            properties["dim"] = IntegerAttr(self.rng.randrange(len(value.dims)), i64)
        elif kind is coll.ReduceOp:
            properties["roots"] = integers([self.root(axis) for axis in axes])
        self.collective(kind, value, **properties)

    def gather(self) -> None:
        value = self.pick(lambda v: bool(v.dist.cuts))
        cut = self.rng.choice(value.dist.cuts)
        inner = self.rng.randint(1, len(cut.axes))
        self.collective(coll.AllGatherOp, value, axes=AxesAttr(cut.axes[-inner:]))

    def broadcast_root(self) -> None:
        local = self.rng.random() < 0.2
        value = self.pick(lambda v: v.dist.has(Root) or (local and v.dist.has(Local)))
        axis, state = self.rng.choice(
            [e for e in value.dist.states if not isinstance(e[1], Partial)] or [("", None)]
        )
        if state is None:
            raise Unfit
        root = state.coordinate if isinstance(state, Root) else self.root(axis)
        self.collective(coll.BroadcastOp, value, axes=AxesAttr((axis,)), roots=integers([root]))

    def exchange(self) -> None:
        value = self.pick(lambda v: bool(v.dist.cuts) and len(v.dims) > 1)
        cut = self.rng.choice(value.dist.cuts)
        target = self.rng.choice([d for d in range(len(value.dims)) if d != cut.dim])
        self.collective(
            coll.AllToAllOp,
            value,
            axes=AxesAttr(cut.axes[-1:]),
            source=IntegerAttr(cut.dim, i64),
            target=IntegerAttr(target, i64),
        )

    def permute(self) -> None:
        value = self.pick(lambda v: v.dist.has(Local))
        axis = self.rng.choice([axis for axis, s in value.dist.states if isinstance(s, Local)])
        shift = IntegerAttr(self.rng.choice((-1, 1, 2)), i64)
        self.collective(coll.PermuteOp, value, axes=AxesAttr((axis,)), shift=shift)

    def view(self) -> None:
        value = self.pick()
        axis = self.rng.choice(self.axes)
        if isinstance(value.dist.by_axis.get(axis), Partial) or self.rng.random() < 0.3:
            self.relax(value, axis)
        elif value.dims:
            unit = self.rng.choice((1, 1, 2))
            try:
                op = layout.SliceOp(value.ssa, [axis], self.rng.randrange(len(value.dims)), unit)
            except LayoutError as error:
                raise Unfit from error
            self.add([op], value.dims, value.source)

    def relax(self, value: Value, axis: str) -> None:
        entry = value.dist.by_axis.get(axis)
        if entry is not None and not isinstance(entry, Partial):
            raise Unfit
        rooted = entry is None and self.rng.random() < 0.3
        op = layout.RelaxOp(value.ssa, [axis], [self.root(axis)] if rooted else None)
        self.add([op], value.dims, value.source)

    def binary(self) -> None:
        one = self.float_value()
        other = self.pick(lambda v: v.dims == one.dims and v.element == one.element)
        kinds = (arith.AddfOp, arith.MulfOp, arith.SubfOp, arith.MaximumfOp, arith.MinimumfOp)
        self.emit(self.rng.choice(kinds), [one.ssa, other.ssa], one.element, one.dims)

    def unary(self) -> None:
        value = self.float_value()
        kinds = (arith.NegfOp, math.TanhOp, math.AbsFOp, math.SinOp, math.AtanOp)
        self.emit(self.rng.choice(kinds), [value.ssa], value.element, value.dims)

    def convert(self) -> None:
        value = self.pick(lambda v: v.element in (f32, bf16))
        kind, of = (TruncFOp, bf16) if value.element == f32 else (ExtFOp, f32)
        self.emit(kind, [value.ssa], of, value.dims)

    def choose(self) -> None:
        value = self.float_value()
        other = self.pick(lambda v: v.dims == value.dims and v.element == value.element)
        if value.dist != other.dist or value.dist.has(Partial):
            raise Unfit
        self.put(test := CmpfOp(value.ssa, other.ssa, "olt"))
        test.result.name_hint = self.name("v")
        self.add([SelectOp(test, value.ssa, other.ssa)], value.dims)

    def scale(self) -> None:
        value = self.pick(lambda v: v.element == f32)
        self.emit(comp.ScaleOp, [value.ssa, self.factor], f32, value.dims)

    def dropout(self) -> None:
        value = self.float_value()
        self.count += 1
        p, id = FloatAttr(0.25, f32), IntegerAttr(self.count, i64)
        self.emit(comp.DropoutOp, [value.ssa, self.seed], value.element, value.dims, p=p, id=id)

    def matmul(self) -> None:
        value = self.float_value(2)
        *front, k = value.dims
        batched = len(value.dims) > 2 and self.rng.random() < 0.5
        dims: Dims = (*front[:-1], k, self.dim()) if batched else (k, self.dim())
        try:
            other = self.pick(
                lambda v: v.element == value.element and v.dims[:-1] == dims[:-1] and v.dims != ()
            )
        except Unfit:
            other = self.argument(
                value.element, dims, self.layout(len(dims), ("cut", "none", "none"))
            )
        accumulate = self.rng.choice((None, f32 if value.element != f64 else f64))
        self.emit(
            comp.MatmulOp,
            [value.ssa, other.ssa],
            value.element,
            (*front, other.dims[-1]),
            accumulate=accumulate,
        )

    def reduce(self) -> None:
        value = self.float_value(1)
        over = sorted(self.rng.sample(range(len(value.dims)), self.rng.randint(1, len(value.dims))))
        kept = tuple(size for d, size in enumerate(value.dims) if d not in over)
        kind = self.rng.choice((comp.ReduceOp, comp.ReduceOp, comp.NormOp, comp.MeanOp))
        properties: dict[str, Attribute] = {"dims": integers(over)}
        if kind is comp.ReduceOp:
            properties["kind"] = KindAttr(self.rng.choice((Kind.SUM, Kind.SUM, Kind.MAX, Kind.MIN)))
        self.emit(kind, [value.ssa], value.element, kept, **properties)

    def softmax(self) -> None:
        value = self.float_value(1)
        dim = IntegerAttr(self.rng.randrange(len(value.dims)), i64)
        self.emit(comp.SoftmaxOp, [value.ssa], value.element, value.dims, dim=dim)

    def rms_norm(self) -> None:
        value = self.float_value(1)
        weight = self.argument(value.element, value.dims[-1:], REPLICATED)
        eps = FloatAttr(0.5, f32)
        self.emit(comp.RmsNormOp, [value.ssa, weight.ssa], value.element, value.dims, eps=eps)

    def spread(self) -> None:
        like = self.float_value(1)
        dims = sorted(
            self.rng.sample(range(len(like.dims)), self.rng.randint(0, len(like.dims) - 1))
        )
        wanted = tuple(like.dims[d] for d in dims)
        try:
            value = self.pick(lambda v: v.dims == wanted and v.element == like.element)
        except Unfit:
            value = self.argument(
                like.element, wanted, self.layout(len(wanted), ("cut", "none", "none"))
            )
        self.emit(
            comp.BroadcastOp, [value.ssa, like.ssa], like.element, like.dims, dims=integers(dims)
        )

    def reshape(self) -> None:
        value = self.pick(lambda v: len(v.dims) > 0)
        names = [f"d{i}" for i in range(len(value.dims))]
        at = self.rng.randrange(len(value.dims))
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
        self.emit(ReshapeOp, [value.ssa], value.element, dims, value.source, pattern=RuleAttr(rule))

    def transpose(self) -> None:
        value = self.pick(lambda v: len(v.dims) > 1)
        order = self.rng.sample(range(len(value.dims)), len(value.dims))
        dims = tuple(value.dims[d] for d in order)
        self.emit(
            comp.TransposeOp,
            [value.ssa],
            value.element,
            dims,
            value.source,
            permutation=integers(order),
        )

    def splat(self) -> None:
        like = self.pick(lambda v: v.element == f32 and not v.dist.has(Partial))
        op = SplatOp(self.factor, self.sizes(like), like.ssa.type)
        self.add([op], like.dims)

    def extract(self) -> None:
        value = self.pick(lambda v: v.element == f32 and not v.dims and not v.dist)
        self.put(op := ExtractOp(value.ssa))
        op.result.name_hint = self.name("v")
        self.factor = op.result

    def update(self) -> None:
        value = self.float_value()
        if value.dist.has(Partial) or value.source is not None:
            raise Unfit
        state = self.rng.random() < 0.5
        target = self.argument(value.element, value.dims, value.dist, state=state)
        if self.rng.random() < 0.7:
            value = self.emit(arith.AddfOp, [target.ssa, value.ssa], value.element, value.dims)
        if value.dist != target.dist:
            raise Unfit
        self.updated.add(target.ssa)
        self.emit(comp.UpdateOp, [target.ssa, value.ssa], value.element, value.dims)

    def segments(self) -> None:
        value = self.pick(lambda v: v.element == f32 and len(v.dims) == 1)
        if not self.offsets or self.rng.random() < 0.3:
            offsets = self.argument(i64, ("o",), REPLICATED)
            self.offsets[offsets.ssa.name_hint or ""] = value.dims[0]
        else:
            offsets = self.pick(lambda v: self.offsets.get(v.ssa.name_hint or "") == value.dims[0])
        kind = KindAttr(self.rng.choice((Kind.SUM, Kind.MAX)))
        sums = self.emit(comp.SegmentReduceOp, [value.ssa, offsets.ssa], f32, ("t",), kind=kind)
        if self.rng.random() < 0.7:
            self.emit(comp.SegmentBroadcastOp, [sums.ssa, offsets.ssa, value.ssa], f32, value.dims)

    def custom(self) -> None:
        value = self.pick(lambda v: v.element == f32 and len(v.dims) == 2)
        op = comp.CustomOp.create(
            operands=[value.ssa],
            result_types=[value.ssa.type],
            properties={"callee": SymbolRefAttr("silu")},
        )
        if value.dist.has(Partial):
            raise Unfit
        self.add([op], value.dims)

    def fuse(self) -> None:
        """Wrap the last operation of the block in a region."""
        last = self.end.prev_op
        if (
            last is None
            or last.regions
            or not last.results
            or not isinstance(last.results[0].type, TensorType)
        ):
            raise Unfit
        value = next(v for v in reversed(self.values) if v.ssa.owner is last)
        last.detach()
        block = Block([last, coll.YieldOp(value.ssa)])
        axes = last.properties.get("axes") if last.name.startswith("coll.") else None
        op = coll.FusedOp.create(
            properties={} if axes is None else {"axes": axes},
            regions=[Region(block)],
            result_types=[value.ssa.type],
        )
        value.ssa = self.add([op], value.dims, value.source).ssa
        self.values.pop()

    def program(self, least: int) -> Program:
        """A program of at least this many operations beside views."""
        for _ in range(self.rng.choice((2, 3, 3, 4))):
            dims = tuple(self.dim() for _ in range(self.rng.choice((0, 1, 1, 2, 2, 2, 3))))
            self.argument(self.rng.choice(FLOATS), dims, self.layout(len(dims)))
        if self.rng.random() < 0.2:
            self.argument(i32, ("p",), self.layout(1))
        tries = 0
        while len(self.values) - len(self.arguments) < least and tries < 40 * least:
            tries += 1
            try:
                self.step()
            except (Unfit, RuleError):
                continue
        returned = [
            v.ssa for v in self.values if not v.dist.has(Partial) and v.ssa.first_use is None
        ]
        extra = [v.ssa for v in self.values if not v.dist.has(Partial)]
        returned += self.rng.sample(extra, min(len(extra), 2))
        results = [v for v in dict.fromkeys(returned) if v.owner is not self.block]
        self.put(ReturnOp(*results))
        self.end.detach()
        self.func.function_type = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in results]
        )
        if self.state:
            self.func.arg_attrs = ArrayAttr(
                DictionaryAttr({STATE: UnitAttr()} if arg.name_hint in self.state else {})
                for arg in self.block.args
            )
        return Program(self.module, self.func, self.arguments, self.axes, self.offsets, self.least)


STEPS: tuple[Callable[[Generator], None], ...] = (
    *(Generator.reducing,) * 6,
    *(Generator.binary,) * 5,
    *(Generator.unary,) * 2,
    *(Generator.matmul,) * 3,
    *(Generator.reduce,) * 2,
    *(Generator.update,) * 3,
    *(Generator.spread,) * 2,
    *(Generator.reshape,) * 2,
    Generator.gather,
    Generator.broadcast_root,
    Generator.exchange,
    Generator.permute,
    Generator.view,
    Generator.convert,
    Generator.choose,
    Generator.scale,
    Generator.dropout,
    Generator.softmax,
    Generator.rms_norm,
    Generator.transpose,
    Generator.splat,
    Generator.extract,
    Generator.segments,
    Generator.custom,
    Generator.fuse,
)
