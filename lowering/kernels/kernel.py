"""A kernel that is being written: its arguments, its block, and what all its threads have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.memref import GetGlobalOp, GlobalOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coconet_ir.lowering.kernels.code import INDEX, Code
from coconet_ir.lowering.kernels.indices import Axis
from coconet_ir.lowering.kernels.memory import memory_of
from coconet_ir.lowering.kernels.nodes import Load, Node, Reduced, Store, inputs, positions, walk
from coconet_ir.lowering.kernels.sizes import Dim
from coconet_ir.lowering.kernels.trace import Trace

THREADS = "coconet.threads"
"""The attribute of a kernel with the most threads that a block of it has."""

KERNEL = "gpu.kernel"
"""Upstream's mark of a kernel."""

SHARED = IntegerAttr(3, i64)
"""The memory space that the threads of a block share."""

Direction = Literal["x", "y"]

Change = Axis | type[Reduced] | type[Store]
"""What an element may change with: an axis, what the kernel reduces, what it stores."""


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory for what one kernel leaves for the next: its elements, and how many, which the host computes."""

    element: Attribute
    count: Callable[[Code], SSAValue]
    most: str
    """How many at most, as a formula of sizes of at least 1."""


Buffer = SSAValue | Scratch
Passed = SSAValue | Scratch | Dim
"""What the host passes: buffers, scalars and extents."""


class Kernel:
    """A kernel of a region: what it is passed, in order, and the top of its body."""

    def __init__(self, trace: Trace, name: str, threads: int):
        self.trace, self.name, self.threads = trace, name, threads
        self.passed: list[Passed] = []
        self.stored: set[Buffer] = set()
        """The buffers that it stores into."""
        self.block = Block()
        self.code = Code(self.block, self._unknown)
        self.code.location = trace.region.location
        self.shared_memory: list[GlobalOp] = []
        self._shared: dict[tuple[MemRefType, str], SSAValue] = {}
        self._ids: dict[tuple[type[Operation], Direction], SSAValue] = {}
        self._depends: dict[Node, frozenset[Change]] = {}

    def buffer(self, buffer: Buffer) -> SSAValue:
        """A buffer of the host, as the kernel sees it: one dimension in row-major order."""
        return self._argument(buffer, MemRefType(element_type(buffer), [DYNAMIC_INDEX]))

    def scalar(self, value: SSAValue) -> SSAValue:
        """A scalar of the host."""
        return self._argument(value, value.type)

    def _unknown(self, number: int) -> SSAValue:
        return self._argument(self.trace.sizes.unknowns[number], INDEX)

    def _argument(self, what: Passed, type: Attribute) -> SSAValue:
        if what in self.passed:
            return self.block.args[self.passed.index(what)]
        self.passed.append(what)
        argument = self.block.insert_arg(type, len(self.block.args))
        match what:
            case Dim(source=source, dim=dim):
                part = "part" if dim is None else f"d{dim}"
                argument.name_hint = f"{source.name_hint or 'size'}_{part}"
            case Scratch():
                argument.name_hint = "partial"
            case _:
                argument.name_hint = what.name_hint
        return argument

    def thread(self, direction: Direction = "x") -> SSAValue:
        """The number of the thread in its block."""
        return self._id(gpu.ThreadIdOp, direction)

    def block_number(self) -> SSAValue:
        """The number of the block."""
        return self._id(gpu.BlockIdOp, "x")

    def block_size(self, direction: Direction) -> SSAValue:
        """The threads of a block in a direction."""
        return self._id(gpu.BlockDimOp, direction)

    def _id(
        self,
        kind: type[gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp],
        direction: Direction,
    ) -> SSAValue:
        key = (kind, direction)
        if key not in self._ids:
            dimension = gpu.DimensionAttr(gpu.DimensionEnum(direction))
            self._ids[key] = self.code.put(kind(dimension))
        return self._ids[key]

    def shared(self, element: Attribute, count: int, purpose: str = "") -> SSAValue:
        """Memory that the threads of a block share; asked for twice, the same."""
        type = MemRefType(element, [count], memory_space=SHARED)
        key = (type, purpose)
        if key not in self._shared:
            name = f"{self.name}$shared{len(self._shared) or ''}"  # no kernel has a $ in its name
            self.shared_memory.append(GlobalOp.get(StringAttr(name), type, UnitAttr()))
            self._shared[key] = self.code.put(GetGlobalOp(name, type))
        return self._shared[key]

    def depends(self, node: Node) -> frozenset[Change]:
        """What an element changes with; what it does not change with can be computed before."""
        if node not in self._depends:
            for part in walk(node, into=lambda one: one not in self._depends):
                found: set[Change] = {Reduced} if isinstance(part, Reduced) else set()
                if isinstance(part, Load) and memory_of(part.buffer) in self.trace.stored:
                    found.add(Store)
                found.update(*(index.axes for index in positions(part)))
                found.update(*(self._depends[operand] for operand in inputs(part)))
                self._depends[part] = frozenset(found)
        return self._depends[node]

    def finished(self) -> gpu.FuncOp:
        """The function, ended with its return."""
        self.code.do(gpu.ReturnOp([]))
        type = FunctionType.from_lists([arg.type for arg in self.block.args], [])
        func = gpu.FuncOp(self.name, type, Region(self.block))
        func.location = self.code.location
        func.attributes[KERNEL] = UnitAttr()
        func.attributes[THREADS] = IntegerAttr(self.threads, i64)
        return func


MODULE = "kernels"
"""The name of the module of all kernels."""


def _type(buffer: SSAValue) -> MemRefType[Attribute]:
    if buffer.type.__class__ is not MemRefType:
        raise TypeError(buffer.type)
    return cast(MemRefType[Attribute], buffer.type)


def element_type(buffer: Buffer) -> Attribute:
    """The type of a buffer's elements."""
    return buffer.element if isinstance(buffer, Scratch) else _type(buffer).element_type


def shape_of(buffer: SSAValue) -> tuple[int, ...]:
    """The extents of a buffer, `DYNAMIC_INDEX` where not static."""
    return _type(buffer).get_shape()
