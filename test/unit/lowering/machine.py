"""A machine for kernels in NumPy: every thread of a grid at once, one operation after the other.

Each value has one row a thread. A branch or a loop runs with the threads that are in it. What it refuses:
an access outside of a buffer or not aligned, a barrier that some threads of a block do not reach, and a race,
which is any use by one thread of an element that another one stores, but for shared memory behind a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import gpu, memref, scf, vector
from xdsl.dialects.arith import ConstantOp, MulUIExtendedOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, ModuleOp, VectorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from coconet_ir.dialects.arith import FLOAT_PREDICATES, INTEGER_PREDICATES, CmpfOp, CmpiOp
from coconet_ir.dialects.elementwise import element
from coconet_ir.dialects.gpu import ShuffleMode, ShuffleOp
from coconet_ir.runtime.steps import Launch, Place
from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.pointwise import pointwise

Array = npt.NDArray[Any]
WARP = 32
NOBODY, SEVERAL = -1, -2


class Fault(Exception):
    """The program did what no program may do."""


@dataclass(eq=False)
class Memory:
    """The elements of a buffer (of one block's, a row each, if it is shared), where it lies, and who used them."""

    elements: Array
    address: int
    base: int = 0
    """The number of the first of these elements, where a test has only some of a buffer."""
    writer: Array = field(init=False)
    reader: Array = field(init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: nobody has used anything."""
        self.writer = np.full(self.elements.shape, NOBODY)
        self.reader = np.full(self.elements.shape, NOBODY)


@dataclass(frozen=True)
class Reference:
    """A buffer with a shape, as the host has it."""

    memory: Memory
    shape: tuple[int, ...]


def memory_of(array: Array, offset: int = 0) -> Memory:
    """A buffer with the elements of an array, `offset` elements behind an address that is a multiple of 256."""
    return Memory(array.reshape(-1), 4096 + offset * array.dtype.itemsize)


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The NumPy type of a scalar, or of the elements of a vector."""
    return ELEMENTS[str(element(type))]


def width_of(type: Attribute) -> tuple[int, ...]:
    """The elements of a vector, nothing for a scalar."""
    vector = cast(VectorType[Attribute], type)
    return vector.get_shape() if type.__class__ is VectorType else ()


class Machine:
    """The threads of a launch, or the host as one thread; `values` has an array a value, one row a thread."""

    def __init__(
        self, module: ModuleOp, grid: int = 1, block: tuple[int, int] = (1, 1), first: int = 0
    ):
        self.module, self.grid, self.block = module, grid, block
        self.first = first
        """The number of the first block."""
        self.size = prod(block)
        self.threads = np.arange(grid * self.size)
        self.values: dict[SSAValue, Any] = {}
        self.shared: dict[str, Memory] = {}

    def run(self, block: Block, active: Array) -> list[Any]:
        """Run a block with the threads that are `active`; what its terminator gives."""
        for op in block.ops:
            if op.has_trait(IsTerminator) or isinstance(op, ReturnOp):
                return [self.values[value] for value in op.operands]
            self.step(op, active)
        return []

    def step(self, op: Operation, active: Array) -> None:
        """Run an operation."""
        if (special := _SPECIAL.get(type(op))) is not None:
            results = special(self, op, active)
        else:
            results = [self._elementwise(op, active)]
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value

    def _elementwise(self, op: Operation, active: Array) -> Array:
        name = op.name
        if isinstance(op, CmpiOp):
            name += f".{INTEGER_PREDICATES[op.predicate.value.data]}"
        if isinstance(op, CmpfOp):
            name += f".{FLOAT_PREDICATES[op.predicate.value.data]}"
        operands: list[Array] = [self.values[value] for value in op.operands]
        if active.all():
            return pointwise(name, operands, dtype_of(op.results[0].type))
        one = operands[-1]
        rest = (1,) * (one.ndim - 1)  # threads that are not here compute on ones
        mask = active.reshape(-1, *rest)
        clean: list[Array] = [np.where(mask, value, value.dtype.type(1)) for value in operands]
        return pointwise(name, clean, dtype_of(op.results[0].type))

    def blank(self, type: Attribute) -> Array:
        """Zeros of a type."""
        shape = width_of(type)
        return np.zeros((len(self.threads), *shape), dtype_of(type))

    def reach(self, memory: Memory, index: Array, active: Array, width: int = 1) -> tuple[Any, ...]:
        """Where the active threads access `width` elements each, checked."""
        if width > 1:
            step = min(16, width * memory.elements.itemsize)
            address = memory.address + index[active] * memory.elements.itemsize
            if np.any(address % step):
                raise Fault(f"a vector of {width} elements is not aligned")
        where = index[active][:, None] + np.arange(width) - memory.base
        if where.size and (where.min() < 0 or where.max() >= memory.elements.shape[-1]):
            raise Fault(
                f"an access at {where.min()}..{where.max()} of {memory.elements.shape[-1]} elements"
            )
        if memory.elements.ndim == 1:
            return (where,)
        return np.broadcast_to(self.threads[active][:, None] // self.size, where.shape), where

    def load(self, memory: Memory, index: Array, active: Array, width: int = 1) -> Array:
        """Load elements; one row a thread, zeros for those that are not active."""
        where = self.reach(memory, index, active, width)
        who = np.broadcast_to(self.threads[active][:, None], where[-1].shape)
        writer, reader = memory.writer[where], memory.reader[where]
        if np.any((writer != NOBODY) & (writer != who)):
            raise Fault("a thread reads what another one stores")
        memory.reader[where] = np.where((reader == NOBODY) | (reader == who), who, SEVERAL)
        again = memory.reader[where]  # of threads that read one element at once, one has won
        memory.reader[where] = np.where(again == who, again, SEVERAL)
        value = np.zeros((len(self.threads), width), memory.elements.dtype)
        value[active] = memory.elements[where]
        return value

    def store(self, memory: Memory, index: Array, value: Array, active: Array) -> None:
        """Store one row a thread."""
        where = self.reach(memory, index, active, value.shape[1])
        who = np.broadcast_to(self.threads[active][:, None], where[-1].shape)
        for users in (memory.writer[where], memory.reader[where]):
            if np.any((users != NOBODY) & (users != who)):
                raise Fault("a thread stores what another one uses")
        memory.writer[where] = who
        if np.any(memory.writer[where] != who):
            raise Fault("two threads store one element")
        memory.elements[where] = value[active]


Special = Callable[[Machine, Any, Array], Sequence[Any]]


def _constant(machine: Machine, op: ConstantOp, active: Array) -> Sequence[Any]:
    type = op.result.type
    number = op.value.value.data  # pyright: ignore
    return [np.full(len(machine.threads), number).astype(dtype_of(type))]


def _if(machine: Machine, op: scf.IfOp, active: Array) -> Sequence[Any]:
    condition = machine.values[op.cond]
    outcomes: list[list[Any]] = []
    for region, here in ((op.true_region, condition), (op.false_region, ~condition)):
        if region.blocks and np.any(active & here):
            outcomes.append(machine.run(region.blocks[0], active & here))
        else:
            outcomes.append([machine.blank(result.type) for result in op.results])
    return [_choose(condition, yes, no) for yes, no in zip(*outcomes, strict=True)]


def _choose(condition: Array, yes: Array, no: Array) -> Array:
    return np.where(condition.reshape(-1, *(1,) * (yes.ndim - 1)), yes, no)


def _for(machine: Machine, op: scf.ForOp, active: Array) -> Sequence[Any]:
    at: Array = machine.values[op.lb]
    stop: Array = machine.values[op.ub]
    step: Array = machine.values[op.step]
    carried = [machine.values[value] for value in op.iter_args]
    block = op.body.block
    while np.any(here := active & (at < stop)):
        for arg, value in zip(block.args, (at, *carried), strict=True):
            machine.values[arg] = value
        given = machine.run(block, here)
        carried = [_choose(here, new, old) for new, old in zip(given, carried, strict=True)]
        at = np.where(here, at + step, at)
    return carried


def _while(machine: Machine, op: scf.WhileOp, active: Array) -> Sequence[Any]:
    carried = [machine.values[value] for value in op.arguments]
    before, after = op.before_region.block, op.after_region.block
    result = [machine.blank(value.type) for value in op.results]
    here = active
    while True:
        for arg, value in zip(before.args, carried, strict=True):
            machine.values[arg] = value
        going, *values = machine.run(before, here)
        result = [_choose(here, new, old) for new, old in zip(values, result, strict=True)]
        here = here & going
        if not np.any(here):
            return result
        for arg, value in zip(after.args, values, strict=True):
            machine.values[arg] = value
        carried = machine.run(after, here)


def _load(machine: Machine, op: memref.LoadOp, active: Array) -> Sequence[Any]:
    (index,) = op.indices
    return [machine.load(machine.values[op.memref], machine.values[index], active)[:, 0]]


def _store(machine: Machine, op: memref.StoreOp, active: Array) -> Sequence[Any]:
    (index,) = op.indices
    value = machine.values[op.value][:, None]
    machine.store(machine.values[op.memref], machine.values[index], value, active)
    return ()


def _load_vector(machine: Machine, op: vector.LoadOp, active: Array) -> Sequence[Any]:
    (index,), (width,) = op.indices, op.result.type.get_shape()
    return [machine.load(machine.values[op.base], machine.values[index], active, width)]


def _store_vector(machine: Machine, op: vector.StoreOp, active: Array) -> Sequence[Any]:
    (index,) = op.indices
    machine.store(machine.values[op.base], machine.values[index], machine.values[op.vector], active)
    return ()


def _splat(machine: Machine, op: vector.BroadcastOp, active: Array) -> Sequence[Any]:
    return [np.repeat(machine.values[op.source][:, None], op.vector.type.get_shape()[0], 1)]


def _insert(machine: Machine, op: vector.InsertOp, active: Array) -> Sequence[Any]:
    value = machine.values[op.dest].copy()
    value[:, op.static_position.get_values()[0]] = machine.values[op.source]
    return [value]


def _extract(machine: Machine, op: vector.ExtractOp, active: Array) -> Sequence[Any]:
    return [machine.values[op.vector][:, op.static_position.get_values()[0]]]


def _product(machine: Machine, op: MulUIExtendedOp, active: Array) -> Sequence[Any]:
    a, b = (machine.values[value].view(np.uint32).astype(np.uint64) for value in op.operands)
    return [
        (a * b).astype(np.uint32).view(np.int32),
        (a * b >> 32).astype(np.uint32).view(np.int32),
    ]


def _thread_id(machine: Machine, op: gpu.ThreadIdOp, active: Array) -> Sequence[Any]:
    inside, width = machine.threads % machine.size, machine.block[0]
    return [inside % width if op.dimension.data is gpu.DimensionEnum.X else inside // width]


def _block_id(machine: Machine, op: gpu.BlockIdOp, active: Array) -> Sequence[Any]:
    assert op.dimension.data is gpu.DimensionEnum.X
    return [machine.first + machine.threads // machine.size]


def _block_dim(machine: Machine, op: gpu.BlockDimOp, active: Array) -> Sequence[Any]:
    return [np.full_like(machine.threads, machine.block[op.dimension.data is gpu.DimensionEnum.Y])]


def _barrier(machine: Machine, op: gpu.BarrierOp, active: Array) -> Sequence[Any]:
    blocks = active.reshape(machine.grid, machine.size)
    if np.any(blocks.any(1) != blocks.all(1)):
        raise Fault("some threads of a block do not reach a barrier")
    for memory in machine.shared.values():
        memory.writer[blocks.all(1)] = NOBODY
        memory.reader[blocks.all(1)] = NOBODY
    return ()


def _shuffle(machine: Machine, op: ShuffleOp, active: Array) -> Sequence[Any]:
    assert op.mode.data == ShuffleMode.Xor
    assert np.all(machine.values[op.width] == WARP)
    lane = machine.threads % machine.size % WARP
    partner = machine.threads - lane + (lane ^ machine.values[op.offset])
    if np.any(partner[active] >= len(active)) or not np.all(active[partner[active]]):
        raise Fault("a shuffle takes a value from a thread that is not there")
    return [machine.values[op.value][np.where(active, partner, 0)], np.ones_like(active)]


def _get_global(machine: Machine, op: memref.GetGlobalOp, active: Array) -> Sequence[Any]:
    name, type = op.name_.root_reference.data, op.memref.type
    if name not in machine.shared:
        assert isinstance(type, MemRefType)
        shape = (machine.grid, *type.get_shape())
        machine.shared[name] = Memory(np.zeros(shape, ELEMENTS[str(type.element_type)]), 4096)
    return [machine.shared[name]]


def _address(
    machine: Machine, op: memref.ExtractAlignedPointerAsIndexOp, active: Array
) -> Sequence[Any]:
    return [np.full_like(machine.threads, machine.values[op.source].address)]


def _dim(machine: Machine, op: memref.DimOp, active: Array) -> Sequence[Any]:
    return [np.array([machine.values[op.source].shape[machine.values[op.index][0]]])]


def _alloc(machine: Machine, op: memref.AllocOp, active: Array) -> Sequence[Any]:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    sizes = iter(int(machine.values[size][0]) for size in op.dynamic_sizes)
    shape = tuple(next(sizes) if n == DYNAMIC_INDEX else n for n in type.get_shape())
    elements = np.empty(prod(shape), ELEMENTS[str(type.element_type)])
    elements.view(np.uint8)[:] = 0xDB
    return [Reference(Memory(elements, 4096), shape)]


def _recast(machine: Machine, op: memref.ReinterpretCastOp, active: Array) -> Sequence[Any]:
    (size,) = (int(machine.values[size][0]) for size in op.sizes)
    memory = machine.values[op.source].memory
    assert size == memory.elements.size
    return [Reference(memory, (size,))]


def _launch(machine: Machine, op: gpu.LaunchFuncOp, active: Array) -> Sequence[Any]:
    grid, x, y = (
        int(machine.values[value][0]) for value in (op.gridSizeX, op.blockSizeX, op.blockSizeY)
    )
    if grid == 0:
        return [None]
    (name,) = op.kernel.nested_references
    func = next(
        one
        for one in machine.module.walk()
        if isinstance(one, gpu.FuncOp) and one.sym_name.data == name.data
    )
    assert 0 < x * y <= most_threads(func)
    arguments: list[Any] = []
    for operand in op.kernelOperands:
        value = machine.values[operand]
        if isinstance(value, Reference):
            assert len(value.shape) == 1
            arguments.append(value.memory)
        else:
            arguments.append(value[0])
    _run(Machine(machine.module, grid, (x, y)), func, arguments)
    return [None]


def most_threads(func: gpu.FuncOp) -> int:
    """The threads of a block of a kernel, at most."""
    attribute = func.attributes["coconet.threads"]
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def run_grid(
    module: ModuleOp, func: gpu.FuncOp, arguments: Sequence[Any], grid: int, block: tuple[int, int]
) -> None:
    """Run a kernel with so many blocks, and threads of each in x and y."""
    assert 0 < block[0] * block[1] <= most_threads(func)
    _run(Machine(module, grid, block), func, arguments)


def run_launch(
    module: ModuleOp, func: gpu.FuncOp, step: Launch, memory: Mapping[int, Array]
) -> None:
    """Run a kernel as a plan says; `memory` has the bytes of buffers by their owners."""
    arguments: list[Any] = []
    for given, arg in zip(step.arguments, func.body.block.args, strict=True):
        if isinstance(given, bytes):
            dtype = Numbers().dtype(arg.type)
            assert len(given) == dtype.itemsize
            arguments.append(np.frombuffer(given, dtype)[0])
        else:
            assert isinstance(given, Place)
            dtype = ELEMENTS[str(cast(MemRefType[Attribute], arg.type).element_type)]
            rest = memory[given.owner][given.offset :]
            whole = rest[: len(rest) // dtype.itemsize * dtype.itemsize].view(dtype)
            arguments.append(Memory(whole, 4096 + given.offset))
    assert step.grid[1:] == (1, 1)
    assert step.block[2] == 1
    run_grid(module, func, arguments, step.grid[0], step.block[:2])


def run_block(module: ModuleOp, func: gpu.FuncOp, arguments: Sequence[Any], block: int) -> None:
    """Run one block of a kernel, of all the threads that it may have, in x."""
    _run(Machine(module, 1, (most_threads(func), 1), block), func, arguments)


def _run(machine: Machine, func: gpu.FuncOp, arguments: Sequence[Any]) -> None:
    block = func.body.blocks[0]
    for arg, value in zip(block.args, arguments, strict=True):
        if isinstance(value, Memory):
            value.forget()
            machine.values[arg] = value
        else:
            machine.values[arg] = np.full(len(machine.threads), value, dtype_of(arg.type))
    machine.run(block, np.ones(len(machine.threads), np.bool_))


_SPECIAL: Mapping[type[Operation], Special] = {
    ConstantOp: _constant,
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    vector.LoadOp: _load_vector,
    vector.StoreOp: _store_vector,
    vector.BroadcastOp: _splat,
    vector.InsertOp: _insert,
    vector.ExtractOp: _extract,
    MulUIExtendedOp: _product,
    gpu.ThreadIdOp: _thread_id,
    gpu.BlockIdOp: _block_id,
    gpu.BlockDimOp: _block_dim,
    gpu.BarrierOp: _barrier,
    ShuffleOp: _shuffle,
    memref.GetGlobalOp: _get_global,
    memref.ExtractAlignedPointerAsIndexOp: _address,
    memref.DimOp: _dim,
    memref.AllocOp: _alloc,
    memref.ReinterpretCastOp: _recast,
    gpu.LaunchFuncOp: _launch,
}


def execute(func: FuncOp, arguments: Sequence[Reference | Array]) -> None:
    """Run a function of the host, which changes its buffers; scalars are arrays of one element."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    machine = Machine(module)
    for arg, value in zip(func.body.block.args, arguments, strict=True):
        machine.values[arg] = value
    machine.run(func.body.block, np.ones(1, np.bool_))
