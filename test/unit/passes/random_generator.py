"""Random distributed programs: every operation, layout state and kind of size, in any combination that verifies."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    bf16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coconet_ir.analysis.dist import (
    REPLICATED,
    Cut,
    Dist,
    LayoutError,
    Local,
    Partial,
    Root,
    State,
)
from coconet_ir.analysis.inference import align, propagate
from coconet_ir.analysis.notation import RuleError
from coconet_ir.analysis.rules import operand_dists, rule_of
from coconet_ir.analysis.verifier import STATE
from coconet_ir.dialects import layout
from coconet_ir.dialects.attributes import (
    as_tensor,
    dist_of,
    with_dist,
)
from coconet_ir.dialects.custom import CustomOp, DefineOp
from coconet_ir.dialects.elements import element_of
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
        return element_of(self.ssa.type)


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
    aim: list[str]
    """The names of the operations and arguments that the motif is about."""
    size: int
    """The number of operations, without views, constants and what is there for its shape."""


class Generator:
    """Makes one program, over at least so many axes."""

    def __init__(self, rng: random.Random, least_axes: int = 1):
        self.rng = rng
        self.axes = tuple("abc"[: max(least_axes, rng.choice((1, 1, 2, 2, 3)))])
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
        self.wanted: list[SSAValue] = []
        """What the next operation shall read if it can: one value at most."""
        self.aim: list[str] = []
        """The names of what the motif is about."""
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
        """A value that fits: the one that is wanted, or any, the latest more often."""
        usable = [v for v in self.values if v.source not in self.updated and fits(v)]
        if not usable:
            raise Unfit
        if (wanted := next((v for v in usable if v.ssa in self.wanted), None)) is not None:
            self.wanted = []
            return wanted
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

    def type_of(self, value: Value) -> TensorType[Attribute]:
        if (type := as_tensor(value.ssa.type)) is None:
            raise Unfit
        return type

    def sizes(self, value: Value) -> list[SSAValue]:
        """The extents of the dimensions of a value that are not static."""
        found: list[SSAValue] = []
        for index, size in enumerate(value.dims):
            if not isinstance(size, int):
                self.put(op := DimOp(value.ssa, self.number(index)))
                op.result.name_hint = self.name("d")
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

    def program(
        self,
        least: int,
        steps: Sequence[Callable[[Generator], None]],
        motif: Callable[[Generator], None] | None = None,
    ) -> Program:
        """A program of at least this many operations, views not counted, with a motif among them."""
        for _ in range(self.rng.choice((2, 3, 3, 4))):
            dims = tuple(self.dim() for _ in range(self.rng.choice((0, 1, 1, 2, 2, 2, 3))))
            self.argument(self.rng.choice(FLOATS), dims, self.layout(len(dims)))
        if self.rng.random() < 0.2:
            self.argument(i32, ("p",), self.layout(1))
        self.argument(f32, ("p", "q"), REPLICATED)
        due = self.rng.randrange(least)
        while (made := self.operations()) < least or motif is not None:
            if motif is None or made < due:
                self.attempt(self.rng.choice(steps))
                continue
            if not any(self.attempt(motif) for _ in range(200)):
                raise RuntimeError(f"{motif} never fits")
            motif = None
        return self.finish()

    def read(self, value: Value, step: Callable[[Generator], None]) -> None:
        """A step that reads a value. Raises `Unfit` when it does not."""
        self.wanted = [value.ssa]
        step(self)
        if self.wanted:
            raise Unfit

    def attempt(self, step: Callable[[Generator], None]) -> bool:
        """Whether a step fits; if not, nothing is left of it."""
        last, values, arguments = self.end.prev_op, len(self.values), len(self.block.args)
        updated, factor = set(self.updated), self.factor
        try:
            step(self)
        except (Unfit, RuleError, LayoutError):
            while (op := self.end.prev_op) is not None and op is not last:
                op.detach()
                op.erase()
            del self.values[values:]
            for arg in self.block.args[arguments:]:
                del self.arguments[arg.name_hint or ""]
                self.state.pop(arg.name_hint or "", None)
                self.offsets.pop(arg.name_hint or "", None)
                self.block.erase_arg(arg)
            self.updated, self.factor, self.wanted = updated, factor, []
            return False
        return True

    def operations(self) -> int:
        """The number of operations, without views, constants and what is there for its shape."""
        helpers = (arith.ConstantOp, DimOp, layout.SliceOp, layout.RelaxOp, ReturnOp)
        return sum(not isinstance(op, helpers) for op in self.block.ops)

    def finish(self) -> Program:
        """Return what nobody reads and a few values more."""
        if not any(isinstance(op, CustomOp) for op in self.block.ops):
            for op in self.module.ops:
                if isinstance(op, DefineOp):
                    op.detach()
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
        return Program(
            self.module,
            self.func,
            self.arguments,
            self.axes,
            self.offsets,
            self.least,
            self.aim,
            self.operations(),
        )
