"""From tensors that lie over ranks to the program of one rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from coconet_ir.analysis.dist import REPLICATED
from coconet_ir.analysis.shapes import Extent, Place, Shapes
from coconet_ir.analysis.verifier import LEVEL, the_mesh
from coconet_ir.dialects.attributes import DistAttr, as_tensor, dist_of, sizes_of, with_dist
from coconet_ir.dialects.custom import DefineOp
from coconet_ir.dialects.regions import FusedOp, GroupOp, OverlapOp, RegionOp
from coconet_ir.lowering.levels import GLOBAL, LAYOUT, RANK, SIZE, require_level
from coconet_ir.lowering.ranks.collectives import communicate, is_collective
from coconet_ir.lowering.ranks.computations import compute
from coconet_ir.lowering.ranks.geometry import Index
from coconet_ir.lowering.ranks.program import Local, RankProgram, local_type
from coconet_ir.lowering.ranks.regions import build, split
from coconet_ir.schedule.remarks import emit
from coconet_ir.schedule.rewriting import applied, check_ready
from coconet_ir.schedule.selection import Names, argument_names, functions, name_of


class LowerToRanksPass(ModulePass):
    """Write what one rank does, on plain tensors, with calls of the library for the collectives. Reads the
    distributed level and leaves the level `rank`.

    Fused operations with collectives, and overlaps, become their operations, those between two calls one kernel.
    """

    name = "coconet-lower-to-ranks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_level(op, None, self.name)
        mesh = the_mesh(op)
        for func in functions(op, None):
            check_ready(func)
            _lower_function(func, () if mesh is None else mesh.axes.data)
        for define in [op for op in op.ops if isinstance(op, DefineOp)]:
            define.detach()
            define.erase()
        op.attributes[LEVEL] = StringAttr(RANK)


def _lower_function(func: FuncOp, axes: tuple[str, ...]) -> None:
    before = func.body.block
    block = Block(arg_types=[local_type(arg.type) for arg in before.args])
    program = RankProgram(block, axes)
    marks = _lower_arguments(func, program)
    for op in before.ops:
        if isinstance(op, ReturnOp):
            last = ReturnOp(*map(program.value, op.arguments))
            last.location = op.location
            block.add_op(last)
        else:
            _lower(program, op)
    results = _marks(func.res_attrs, list(func.function_type.outputs))
    func.body.detach_block(before)
    before.erase(safe_erase=False)
    func.body.add_block(block)
    _drop_unused(block, marks)
    func.function_type = FunctionType.from_lists(
        [arg.type for arg in block.args], [local_type(t) for t in func.function_type.outputs]
    )
    func.arg_attrs = ArrayAttr(marks) if any(mark.data for mark in marks) else None
    func.res_attrs = ArrayAttr(results) if any(mark.data for mark in results) else None


def _marks(
    given: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> list[DictionaryAttr]:
    """The marks of arguments or results of these distributed types, whose layouts they keep."""
    marks = given or [DictionaryAttr({})] * len(types)
    return [DictionaryAttr({**m.data, **_kept(type)}) for m, type in zip(marks, types, strict=True)]


def _kept(type: Attribute) -> dict[str, Attribute]:
    """What a rank's type no longer says of a tensor: its layout, and static sizes of dimensions that it cuts."""
    if not (dist := dist_of(type)):
        return {}
    cut = any(sizes_of(type)[dim] != DYNAMIC_INDEX for dim in dist.by_dim)
    whole = {GLOBAL: with_dist(type, REPLICATED)} if cut else {}
    return {LAYOUT: DistAttr(dist), **whole}


def _drop_unused(block: Block, marks: list[DictionaryAttr]) -> None:
    """Erase scalars that nothing uses, and sizes among the arguments."""
    for op in reversed(list(block.ops)):
        is_scalar = all(as_tensor(result.type) is None for result in op.results)
        if is_scalar and op.has_trait(Pure) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    for arg in reversed(block.args):
        if SIZE in marks[arg.index].data and not arg.uses:
            del marks[arg.index]
            block.erase_arg(arg)


# Arguments


def _lower_arguments(func: FuncOp, program: RankProgram) -> list[DictionaryAttr]:
    """Define the arguments on one rank, behind them their global sizes; the marks of all."""
    block, named = program.host, argument_names(func)
    sizes = _Sizes(func, program)
    for (name, before), after in zip(named.items(), list(block.args), strict=False):
        after.name_hint, after.location = before.name_hint, before.location
        if as_tensor(before.type) is None:
            program.scalars[before] = after
            continue
        program.tensors[before] = Local(after, sizes.of(name), dist_of(before.type))
    marks = _marks(func.arg_attrs, [arg.type for arg in named.values()])
    return marks + [DictionaryAttr({SIZE: StringAttr(place)}) for place in sizes.places]


class _Sizes:
    """The global sizes of the arguments' dimensions, each class of unknown ones as an argument of its own."""

    def __init__(self, func: FuncOp, program: RankProgram):
        self.places: list[str] = []
        """The dimensions whose sizes are arguments, as their marks name them."""
        self._program, self._names = program, Names(func)
        self._classes: dict[Place, Index] = {}
        self._known: dict[Extent, Index] = {}
        shapes = Shapes(func)
        self._extents = {
            name: [shapes.extent((arg, dim)) for dim in range(len(sizes_of(arg.type)))]
            for name, arg in argument_names(func).items()
        }
        every = [(n, d, one) for n, found in self._extents.items() for d, one in enumerate(found)]
        alone = [entry for entry in every if entry[2] == (1, entry[2][1][:1])]
        for name, dim, extent in (*alone, *every):  # a class by itself is best asked for by itself
            self._learn(name, dim, extent)

    def of(self, name: str) -> tuple[Index, ...]:
        """The global sizes of an argument."""
        return tuple(map(self._size, self._extents[name]))

    def _learn(self, name: str, dim: int, extent: Extent) -> None:
        """Make a size an argument unless it follows from those that are."""
        factor, classes = extent
        if factor == 0 or extent in self._known or all(one in self._classes for one in classes):
            return
        block, place = self._program.host, f"{name}.{dim}"
        size = block.insert_arg(IndexType(), len(block.args))
        size.name_hint = self._names.fresh(f"{name}_d{dim}")
        self.places.append(place)
        self._known[extent] = size
        self._program.geometry.call(size, size.name_hint)
        if len(classes) == 1:
            self._classes[classes[0]] = self._program.arithmetic.divide(size, factor)

    def _size(self, extent: Extent) -> Index:
        if extent in self._known:
            return self._known[extent]
        size, classes = extent
        product: Index = size
        for one in classes if size else ():
            product = self._program.arithmetic.multiply(product, self._classes[one])
        return product


# Operations


def _lower(program: RankProgram, op: Operation) -> None:
    match op:
        case FusedOp():
            _lower_fused(program, op)
        case OverlapOp():
            for step in _inside(op):
                _lower(program, step)
            _hand_on(program, op, {})
            emit(applied("lower-to-ranks", op, "its stages run one behind the other"))
        case GroupOp():
            communicate(program, _inside(op), op)
            _hand_on(program, op, {})
        case _ if is_collective(op):
            communicate(program, [op], op)
        case _:
            compute(program, op)


def _inside(region: RegionOp) -> list[Operation]:
    """The operations of a region but the one that ends it."""
    return list(region.body.block.ops)[:-1]


def _hand_on(program: RankProgram, region: RegionOp, outside: dict[SSAValue, SSAValue]) -> None:
    """Note the results of a region: what it yields, or what stands for that outside."""
    for result, inner in zip(region.results, _yielded(region), strict=True):
        value = program.value(inner)
        new = outside.get(value, value)
        if new is not value or new.name_hint is None:
            new.name_hint = result.name_hint
        if value in program.from_data:
            program.from_data.add(new)
        if inner in program.tensors:
            program.tensors[result] = replace(program.tensors[inner], value=new)
        else:
            program.scalars[result] = new


def _yielded(region: RegionOp) -> tuple[SSAValue, ...]:
    last = region.body.block.last_op
    return () if last is None else tuple(last.operands)


def _lower_fused(program: RankProgram, fused: FusedOp) -> None:
    """Lower the operations of a kernel, then cut them into kernels at the calls among them."""
    body = Block()
    with program.emitting(body):
        for op in _inside(fused):
            _lower(program, op)
    values = map(program.value, _yielded(fused))
    wanted = [v for v in values if isinstance(v, OpResult) and v.op.parent is body]
    phases, scalars = split(list(body.ops), wanted)
    outside = build(phases, scalars, program.target, fused, name_of(fused) or "fused")
    _hand_on(program, fused, outside)
    body.erase(safe_erase=False)
    if count := len(list(fused.collectives())):
        kernels = sum(bool(phase.ops) for phase in phases)
        emit(
            applied(
                "lower-to-ranks",
                fused,
                f"its {count} collective(s) are calls of the library, and what is between them {kernels} kernel(s)",
            )
        )
