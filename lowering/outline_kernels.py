"""Make each fused region a kernel, or two, of a `gpu.module`, and launch it on the host."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocOp, DimOp, ReinterpretCastOp
from xdsl.ir import Block, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.analysis.verifier import LEVEL, PEAK
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.families import launches
from coconet_ir.lowering.kernels.indices import Size
from coconet_ir.lowering.kernels.kernel import MODULE, Passed, Scratch, element_type, shape_of
from coconet_ir.lowering.kernels.launch import Launch
from coconet_ir.lowering.kernels.sizes import Dim, shapes_of
from coconet_ir.lowering.kernels.trace import Trace
from coconet_ir.lowering.levels import BUFFER, KERNEL, require_level
from coconet_ir.lowering.targets import is_ptx_name
from coconet_ir.schedule.remarks import emit
from coconet_ir.schedule.rewriting import applied
from coconet_ir.schedule.selection import functions, name_of

CONTAINER = "gpu.container_module"
"""Upstream's mark of a module that holds modules of kernels."""


@dataclass(frozen=True)
class OutlineKernelsPass(ModulePass):
    """Make each fused region a kernel, and launch it. Reads the level `buffer` and leaves the level `kernel`.

    A kernel is named after its region; one kernel serves all sizes. Launches state by tokens which launches they
    wait for; everything else keeps its order.
    """

    name = "coconet-outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_level(op, BUFFER, self.name)
        kernels = _Kernels()
        for func in functions(op, None):
            _outline(func, kernels)
        op.attributes[LEVEL] = StringAttr(KERNEL)
        if kernels.block.ops:
            op.attributes[CONTAINER] = UnitAttr()
            op.body.block.add_op(_module(kernels.block))


def _module(block: Block) -> gpu.ModuleOp:
    return gpu.ModuleOp.create(properties={"sym_name": StringAttr(MODULE)}, regions=[Region(block)])


@dataclass
class _Kernels:
    """The kernels made so far; those that are alike but for their names are one."""

    block: Block = field(default_factory=Block)
    names: set[str] = field(default_factory=set[str])

    def name(self, region: FusedOp) -> str:
        """A free name for a kernel of a region: that of the region as PTX can have it, else a number is added."""
        wanted = re.sub(r"\W", "_", name_of(region) or "kernel", flags=re.ASCII)
        if not is_ptx_name(wanted):
            wanted = f"kernel_{wanted}"
        name, number = wanted, 2
        while name in self.names:
            name, number = f"{wanted}_{number}", number + 1
        self.names.add(name)
        return name

    def add(self, launch: Launch) -> SymbolRefAttr:
        """Add a kernel; its symbol, or that of the one that is like it."""
        func = launch.kernel.finished()
        if not launch.kernel.shared_memory:  # else its body names memory of its own
            for other in self.block.ops:
                if isinstance(other, gpu.FuncOp) and _alike(func, other):
                    return SymbolRefAttr(MODULE, [other.sym_name.data])
        self.block.add_ops([*launch.kernel.shared_memory, func])
        return SymbolRefAttr(MODULE, [func.sym_name.data])


def _alike(one: gpu.FuncOp, other: gpu.FuncOp) -> bool:
    return one.function_type == other.function_type and one.body.is_structurally_equivalent(
        other.body
    )


def _outline(func: FuncOp, kernels: _Kernels) -> None:
    """Replace the regions of a function by launches."""
    shapes = shapes_of(func)
    regions = [op for op in func.body.block.ops if isinstance(op, FusedOp)]
    planned = [
        (region, launches(region, shapes, partial(kernels.name, region))) for region in regions
    ]
    order = _Order()
    left = Counter[str]()
    for region, parts in planned:
        host = _Host(region, parts[0].kernel.trace)
        made = [(launch, kernels.add(launch)) for launch in parts]
        for launch, symbol in made:
            host.launch(launch, symbol, order)
        told = [f"@{symbol.string_value()} {launch.family}" for launch, symbol in made]
        between = [f"{bytes}*{most}" for most, bytes in host.left().items()]
        said = f", with {' + '.join(between)} bytes between them" if between else ""
        emit(applied("outline-kernels", region, ", then ".join(told) + said))
        left += host.left()
        region.detach()
        region.erase()
    _add_to_peak(func, left)


def _add_to_peak(func: FuncOp, left: Counter[str]) -> None:
    """Count what launches leave for one another as memory that the function sets aside."""
    if left and isinstance(peak := func.attributes.get(PEAK), StringAttr):
        arena = [peak.data] if peak.data != "0" else []
        more = [f"{bytes}*{most}" for most, bytes in left.items()]
        func.attributes[PEAK] = StringAttr(" + ".join([*arena, *more]))


class _Order:
    """Which launches a launch waits for: those whose buffers it uses, where one of the two stores."""

    def __init__(self) -> None:
        self._done: list[tuple[SSAValue, frozenset[SSAValue], frozenset[SSAValue]]] = []
        self._waited: dict[SSAValue, frozenset[SSAValue]] = {}

    def waits(self, used: frozenset[SSAValue], stored: frozenset[SSAValue]) -> list[SSAValue]:
        """The tokens to wait for; without those that another one waits for."""
        found: list[SSAValue] = []
        covered: frozenset[SSAValue] = frozenset()
        for token, before, written in reversed(self._done):
            if (written & used or before & stored) and token not in covered:
                found.append(token)
                covered |= self._waited[token]
        return found

    def add(
        self,
        token: SSAValue,
        waits: Sequence[SSAValue],
        used: frozenset[SSAValue],
        stored: frozenset[SSAValue],
    ) -> None:
        """Note a launch."""
        self._done.append((token, used, stored))
        self._waited[token] = frozenset(waits).union(*(self._waited[wait] for wait in waits))


class _Host:
    """What stands in place of a region on the host."""

    def __init__(self, region: FusedOp, trace: Trace):
        assert region.parent is not None
        self.trace = trace
        self.code = Code(region.parent, self._unknown, before=region)
        self.code.location = region.location
        self._dims: dict[Dim, SSAValue] = {}
        self._flat: dict[SSAValue, SSAValue] = {}
        self._scratch: dict[Scratch, SSAValue] = {}

    def launch(self, launch: Launch, kernel: SymbolRefAttr, order: _Order) -> None:
        """Launch a kernel behind what it waits for."""
        passed = launch.kernel.passed
        operands = [self._operand(what) for what in passed]
        used = frozenset(_root(value) for value in operands if _is_buffer(value))
        stored = frozenset(_root(self._operand(what)) for what in launch.kernel.stored)
        waits = order.waits(used, stored)
        x, y = launch.threads(self.code)
        one = self.code.number(1)
        op = gpu.LaunchFuncOp(
            kernel,
            [launch.grid(self.code), one, one],
            [x, y, one],
            kernelOperands=operands,
            async_launch=True,
            asyncDependencies=waits,
        )
        token = self.code.put(op)
        token.name_hint = launch.kernel.name
        order.add(token, waits, used, stored)

    def _operand(self, what: Passed) -> SSAValue:
        match what:
            case Dim():
                return self._dim(what)
            case Scratch():
                return self._allocated(what)
            case _:
                return self._flattened(what) if _is_buffer(what) else what

    def left(self) -> Counter[str]:
        """What launches leave for the next ones: how many elements at most, and the bytes of all that are as many."""
        found = Counter[str]()
        for scratch in self._scratch:
            found[scratch.most] += int(element_bytes(scratch.element))
        return found

    def _allocated(self, scratch: Scratch) -> SSAValue:
        if scratch not in self._scratch:
            count = scratch.count(self.code)
            alloc = AllocOp([count], [], MemRefType(scratch.element, [DYNAMIC_INDEX]))
            self._scratch[scratch] = self.code.put(alloc)
        return self._scratch[scratch]

    def _unknown(self, number: int) -> SSAValue:
        what = self.trace.sizes.unknowns[number]
        return self._dim(what) if isinstance(what, Dim) else what

    def _dim(self, dim: Dim) -> SSAValue:
        if dim not in self._dims:
            value = dim.source if dim.dim is None else self._extent(dim.source, dim.dim)
            self._dims[dim] = self.code.quotient(value, Size.of(dim.divisor))
        return self._dims[dim]

    def _extent(self, buffer: SSAValue, dim: int) -> SSAValue:
        static = shape_of(buffer)[dim]
        if static != DYNAMIC_INDEX:
            return self.code.number(static)
        return self.code.put(DimOp(buffer, self.code.number(dim)))

    def _flattened(self, buffer: SSAValue) -> SSAValue:
        """The buffer as one dimension in row-major order."""
        flat = MemRefType(element_type(buffer), [DYNAMIC_INDEX])
        if buffer.type == flat:
            return buffer
        if buffer not in self._flat:
            sizes = [self._dim(Dim(buffer, dim)) for dim in range(len(shape_of(buffer)))]
            count = self.code.product(sizes)
            cast = ReinterpretCastOp(buffer, [], [count], [], [0], [DYNAMIC_INDEX], [1], flat)
            self._flat[buffer] = self.code.put(cast)
        return self._flat[buffer]


def _is_buffer(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _root(buffer: SSAValue) -> SSAValue:
    """The allocation or argument that a buffer is a part of."""
    while isinstance(buffer, OpResult) and (
        sources := [v for v in buffer.op.operands if _is_buffer(v)]
    ):
        buffer = sources[0]
    return buffer
