"""Give the tensors of one rank's program memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.verifier import LEVEL, PEAK
from coconet_ir.dialects import calls, nccl
from coconet_ir.dialects.attributes import as_tensor, sizes_of
from coconet_ir.dialects.comp import MatmulOp, UpdateOp
from coconet_ir.dialects.regions import FusedOp, YieldOp
from coconet_ir.lowering.buffers.arena import ALIGNMENT, Slot
from coconet_ir.lowering.buffers.plan import CallStep, CopyStep, KernelStep, Plan, Result, Step
from coconet_ir.lowering.levels import BUFFER, RANK, RESULT, require_level
from coconet_ir.lowering.ranks.geometry import Arithmetic, Index
from coconet_ir.lowering.ranks.graph import read_what_is_stored, renamed, scalars_on_host
from coconet_ir.lowering.ranks.shapes import HostSizes, RankShapes
from coconet_ir.schedule.remarks import Remark, emit, location_of
from coconet_ir.schedule.selection import NAME, Names, called, functions, name_of
from coconet_ir.xdsl_compat import set_type

INTO: dict[type[Operation], type[calls.IntoOp]] = {
    nccl.AllReduceOp: calls.AllReduceIntoOp,
    nccl.ReduceOp: calls.ReduceIntoOp,
    nccl.BroadcastOp: calls.BroadcastIntoOp,
    nccl.PermuteOp: calls.PermuteIntoOp,
    nccl.AllToAllOp: calls.AllToAllIntoOp,
    nccl.AllGatherOp: calls.AllGatherIntoOp,
    nccl.ReduceScatterOp: calls.ReduceScatterIntoOp,
}
"""What stores into a buffer what a call gives."""


class BufferizePass(ModulePass):
    """Give tensors memory. Reads the level "rank", with everything that computes in kernels, and leaves "buffer".

    Arguments become buffers; updates store into them, by the kernel or call that makes the value if nobody reads what
    was there any more, else by a copy. Results are buffers that the caller passes, behind the arguments. All else lies
    in one arena, whose places are used again; how many bytes it has is said in a remark and by `coconet.peak`.
    """

    name = "coconet-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_level(op, RANK, self.name)
        for func in functions(op, None):
            _bufferize(func)
        op.attributes[LEVEL] = StringAttr(BUFFER)


def _bufferize(func: FuncOp) -> None:
    read_what_is_stored(func)
    shapes = RankShapes(func)
    plan = Plan(func, shapes)
    writer = _Writer(func, plan, shapes)
    for step in plan.steps:
        writer.prepare(step)
    for step in plan.steps:
        writer.write(step)
    writer.finish()
    peak = plan.arena.peak
    func.attributes[PEAK] = StringAttr(peak)
    copies = sum(isinstance(step, CopyStep) for step in plan.steps)
    message = f"{len(plan.arena.slots)} buffer(s) in an arena of {peak} bytes, {copies} copies"
    emit(Remark("bufferize", func.sym_name.data, location_of(func), message))


class _Writer:
    """Writes a function anew: what the host computes, the buffers, then the steps."""

    def __init__(self, func: FuncOp, plan: Plan, shapes: RankShapes):
        self._func, self._plan, self._block = func, plan, func.body.block
        self._names = Names(func)
        self._old = list(self._block.ops)
        self._arithmetic = Arithmetic(self._block.add_op)
        self._sizes = HostSizes(func, shapes, self._arithmetic, self._dim)
        self._dims: dict[tuple[BlockArgument, int], SSAValue] = {}
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._views: dict[tuple[object, ...], SSAValue] = {}
        self._results = self._add_results()
        for arg in self._block.args:
            if (type := _buffer_type(arg.type)) is not None:
                set_type(arg, type)
        host = scalars_on_host(self._old)
        for op in self._old:
            op.detach()
        self._block.add_ops([op for op in self._old if op in host])
        self._starts, self._arena = self._cut_arena()

    # Buffers

    def _dim(self, arg: BlockArgument, dim: int) -> SSAValue:
        if (arg, dim) not in self._dims:
            op = memref.DimOp(arg, self._arithmetic.value(dim))
            self._block.add_op(op)
            op.result.name_hint = f"{arg.name_hint or 'arg'}_d{dim}"
            self._dims[arg, dim] = op.result
        return self._dims[arg, dim]

    def _add_results(self) -> dict[int, SSAValue]:
        """Arguments for the buffers of results."""
        found: dict[int, SSAValue] = {}
        for number, value in self._plan.results.items():
            if (type := _buffer_type(value.type)) is not None:
                found[number] = self._block.insert_arg(type, len(self._block.args))
                found[number].name_hint = self._names.fresh(f"result{number}")
        return found

    def _cut_arena(self) -> tuple[dict[Slot, SSAValue], SSAValue | None]:
        """Where each slot begins, and the arena."""
        do, end = self._arithmetic, 0
        starts: dict[Slot, SSAValue] = {}
        for number, slot in enumerate(self._plan.arena.slots):
            starts[slot] = do.value(end)
            size: Index = 0
            for one in slot.sizes:
                size = do.most(size, self._sizes.number(one))
            places = do.divide_up(size, ALIGNMENT)
            end = do.add(end, do.multiply(places, ALIGNMENT), f"slot{number}_end")
        if not starts:
            return {}, None
        fixed = isinstance(end, int)
        type = MemRefType(i8, [end if fixed else DYNAMIC_INDEX])
        alignment = IntegerAttr(ALIGNMENT, i64)
        alloc = memref.AllocOp([] if fixed else [do.value(end)], [], type, alignment)
        alloc.memref.name_hint = self._names.fresh("arena")
        self._block.add_op(alloc)
        return starts, alloc.memref

    def _buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor."""
        if value not in self._buffers:
            self._buffers[value] = self._make_buffer(value)
        return self._buffers[value]

    def _make_buffer(self, value: SSAValue) -> SSAValue:
        if isinstance(value, BlockArgument):
            return value
        if (before := renamed(value)) is not value:
            return self._reshaped(self._buffer(before), value)
        match self._plan.homes[value]:
            case Result(number):
                return self._reshaped(self._results[number], value)
            case Slot() as slot:
                return self._view(slot, value)
            case argument:
                return argument

    def _view(self, slot: Slot, value: SSAValue) -> SSAValue:
        """A slot as a buffer of the type and sizes of a tensor."""
        type, sizes = _type_of(value), self._open_sizes(value)
        key = (slot, type, *sizes)
        if key not in self._views and self._arena is not None:
            op = memref.ViewOp(self._arena, self._starts[slot], sizes, type)
            op.result.name_hint = self._names.fresh(f"{called(value)}_m")
            self._block.add_op(op)
            self._views[key] = op.result
        return self._views[key]

    def _open_sizes(self, value: SSAValue) -> list[SSAValue]:
        """The sizes of the dimensions that the type leaves open."""
        pairs = zip(sizes_of(value.type), self._sizes.sizes(value), strict=True)
        return [self._arithmetic.value(size) for given, size in pairs if given == DYNAMIC_INDEX]

    def _reshaped(self, buffer: SSAValue, value: SSAValue) -> SSAValue:
        """A buffer under the dimensions of a tensor."""
        if buffer.type == (type := _type_of(value)):
            return buffer
        do, stride = self._arithmetic, 1
        sizes: list[SSAValue | int] = []
        strides: list[SSAValue | int] = []
        given = list(zip(sizes_of(value.type), self._sizes.sizes(value), strict=True))
        for static, size in reversed(given):
            sizes.insert(0, do.value(size) if static == DYNAMIC_INDEX else static)
            strides.insert(0, stride)
            stride = do.multiply(stride, size)
        op = memref.ReinterpretCastOp.from_dynamic(buffer, [0], sizes, strides, type)
        op.result.name_hint = self._names.fresh(f"{called(value)}_m")
        self._block.add_op(op)
        return op.result

    # Steps

    def prepare(self, step: Step) -> None:
        """Make the buffers that a step uses."""
        made = () if isinstance(step, CopyStep) else step.op.results
        for value in (*step.reads, *made):
            self._buffer(value)

    def write(self, step: Step) -> None:
        """Write a step."""
        match step:
            case KernelStep():
                self._write_kernel(step)
            case CallStep():
                self._block.add_op(self._call(step.op))
            case CopyStep():
                self._write_copy(step)

    def _write_kernel(self, kernel: KernelStep) -> None:
        stores: list[tuple[SSAValue, SSAValue]] = []
        stores += ((inner, target) for target, inner in kernel.updates.items())
        for result, inner in kernel.given.items():
            also = self._plan.also.get(result, ())
            again = (self._reshaped(self._results[one.number], result) for one in also)
            for buffer in (self._buffer(result), *again):
                if (inner, buffer) not in stores:
                    stores.append((inner, buffer))
        ops = [op for op in kernel.op.body.block.ops if not isinstance(op, UpdateOp | YieldOp)]
        region = self._region(kernel.reads, ops, stores)
        region.attributes.update(_attributes(kernel.op))
        self._add(region, kernel.op)

    def _write_copy(self, copy: CopyStep) -> None:
        target = copy.target
        buffer = self._results[target.number] if isinstance(target, Result) else target
        region = self._region([copy.source], [], [(copy.source, buffer)])
        region.attributes[NAME] = StringAttr(self._names.fresh(f"{called(copy.source)}_copy"))
        owner = copy.source.owner
        self._add(region, owner if isinstance(owner, Operation) else self._func)

    def _region(
        self,
        reads: Iterable[SSAValue],
        ops: Iterable[Operation],
        stores: Iterable[tuple[SSAValue, SSAValue]],
    ) -> FusedOp:
        """A kernel: operations on what is in the buffers of tensors, and which value goes into which buffer."""
        body, loaded = Block(), dict[SSAValue, SSAValue]()
        for value in reads:
            load = ToTensorOp(self._buffer(value))
            load.tensor.name_hint = value.name_hint
            loaded[value] = load.tensor
            body.add_op(load)
        for op in ops:
            op.detach()
            op.operands = [loaded.get(operand, operand) for operand in op.operands]
            body.add_op(op)
        for value, buffer in stores:
            store = MaterializeInDestinationOp.build(
                operands=[loaded.get(value, value), buffer],
                properties={"writable": UnitAttr()},
                result_types=[None],
            )
            body.add_op(store)
        body.add_op(YieldOp())
        return FusedOp.create(regions=[Region(body)])

    def _add(self, new: Operation, like: Operation) -> None:
        for op in new.walk():
            if op.location == UNKNOWN_LOC:
                op.location = like.location
        self._block.add_op(new)

    def _call(self, op: Operation) -> Operation:
        """A call on buffers."""
        match op:
            case nccl.CallOp():
                return self._into(op, op.output)
            case nccl.GroupOp():
                *inner, last = op.body.block.ops
                outputs = dict(zip(last.operands, op.results, strict=True))
                into = [
                    self._into(one, outputs[one.output])
                    for one in inner
                    if isinstance(one, nccl.CallOp)
                ]
                return nccl.GroupOp(into)
            case MatmulOp():
                buffers = [self._buffer(value) for value in (op.lhs, op.rhs, op.output)]
                return _like(calls.MatmulIntoOp, op, buffers)
            case _:
                raise TypeError(op.name)

    def _into(self, op: nccl.CallOp, output: SSAValue) -> Operation:
        return _like(INTO[type(op)], op, [self._buffer(op.input), self._buffer(output)])

    def finish(self) -> None:
        """Return what are no tensors, and mark the arguments."""
        func, results = self._func, self._results
        end = next(op for op in self._old if isinstance(op, ReturnOp))
        kept = [number for number in range(len(end.operands)) if number not in results]
        self._add(ReturnOp(*(end.operands[number] for number in kept)), end)
        for op in reversed(self._old):
            if op.parent is None:
                op.erase()
        outputs = list(func.function_type.outputs)
        inputs = [arg.type for arg in self._block.args]
        marks = list(func.arg_attrs or [DictionaryAttr({})] * (len(inputs) - len(results)))
        given = list(func.res_attrs or [DictionaryAttr({})] * len(outputs))
        for number in results:
            mark = {RESULT: IntegerAttr(number, i64), **given[number].data}
            marks.append(DictionaryAttr(mark))
        func.function_type = FunctionType.from_lists(inputs, [outputs[number] for number in kept])
        func.arg_attrs = _marked(marks)
        func.res_attrs = _marked([given[number] for number in kept])


def _marked(marks: Sequence[DictionaryAttr]) -> ArrayAttr[DictionaryAttr] | None:
    return ArrayAttr(marks) if any(mark.data for mark in marks) else None


def _buffer_type(type: Attribute) -> MemRefType[Attribute] | None:
    """The type of a tensor's buffer, None for other types."""
    tensor = as_tensor(type)
    return None if tensor is None else MemRefType(tensor.element_type, tensor.shape)


def _type_of(value: SSAValue) -> MemRefType[Attribute]:
    if (type := _buffer_type(value.type)) is None:
        raise TypeError(f"{value.type} has no buffer")
    return type


def _like(kind: type[Operation], op: Operation, operands: Sequence[SSAValue]) -> Operation:
    """A call on buffers with the properties and the name of one on tensors."""
    properties, attributes = op.properties.copy(), _attributes(op)
    new = kind.create(operands=operands, properties=properties, attributes=attributes)
    new.location = op.location
    return new


def _attributes(op: Operation) -> dict[str, Attribute]:
    """The attributes of an operation, and its name, which its first result may have been."""
    name = name_of(op)
    return {**op.attributes, **({} if name is None else {NAME: StringAttr(name)})}
