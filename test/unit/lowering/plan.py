"""A machine for programs on buffers, of one rank alone: memory is bytes, and what a kernel reads it reads at once.

What it refuses: an arena that is too small, buffers of a call that overlap, and a kernel that overwrites what it reads
unless each element that it stores depends on no other element of what it overwrites (of its own row, if it reduces
rows: a row is in the hands of threads that wait for each other).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import memref
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import SplatOp
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.dialects import calls
from coconet_ir.dialects.comp import ReduceOp
from coconet_ir.dialects.nccl import GroupOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.sim import reductions
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.kernels import Numbers, Site
from coconet_ir.sim.mesh import Mesh
from coconet_ir.sim.rank_kernels import rank_kernel_of
from coconet_ir.sim.resolve import result_shapes

Array = npt.NDArray[Any]
POISON = 0xA5


class Fault(Exception):
    """The program did what no program may do."""


class Machine:
    """The values of a run; buffers are arrays that share the memory of arguments and of the arena."""

    def __init__(self, func: FuncOp, axes: Sequence[str]):
        self.func = func
        self.mesh: Mesh = bind_mesh(func, dict.fromkeys(axes, 1))
        self.numbers = Numbers(False)
        self.values: dict[SSAValue, Array] = {}

    def run(self, arguments: Sequence[Array]) -> list[Array]:
        """Run the function, which changes its buffers; what it returns."""
        self.values.update(zip(self.func.body.block.args, arguments, strict=True))
        for op in self.func.body.block.ops:
            if isinstance(op, ReturnOp):
                return [self.values[value] for value in op.operands]
            self.step(op)
        raise Fault("the function does not end")

    def step(self, op: Operation) -> None:
        """Run an operation of the host."""
        match op:
            case FusedOp():
                self.kernel(op)
            case GroupOp():
                for call in list(op.body.block.ops)[:-1]:
                    self.step(call)
            case calls.IntoOp():
                self.call(op)
            case calls.MatmulIntoOp():
                self.matmul(op)
            case memref.AllocOp() | memref.ViewOp() | memref.ReinterpretCastOp() | memref.DimOp():
                self.values[op.results[0]] = self.memory(op)
            case _:
                self.values.update(zip(op.results, self.compute(op, self.values), strict=True))

    def memory(
        self, op: memref.AllocOp | memref.ViewOp | memref.ReinterpretCastOp | memref.DimOp
    ) -> Array:
        """What an operation on memory gives."""
        if isinstance(op, memref.DimOp):
            return np.asarray(self.values[op.source].shape[int(self.values[op.index])])
        type = cast(MemRefType[Attribute], op.results[0].type)
        given = op.dynamic_sizes if isinstance(op, memref.AllocOp) else op.sizes
        sizes = iter([int(self.values[size]) for size in given])
        shape = tuple(next(sizes) if n == DYNAMIC_INDEX else n for n in type.get_shape())
        if isinstance(op, memref.AllocOp):
            return np.full(shape, POISON, np.uint8)
        source = self.values[op.source]
        if isinstance(op, memref.ReinterpretCastOp):
            return source.reshape(shape)
        dtype, start = self.numbers.dtype(type.element_type), int(self.values[op.byte_shift])
        end = start + prod(shape) * dtype.itemsize
        if end > len(source) or start % 256:
            raise Fault(f"bytes {start} to {end} of an arena of {len(source)}")
        return source[start:end].view(dtype).reshape(shape)

    def compute(self, op: Operation, values: Mapping[SSAValue, Array]) -> Sequence[Array]:
        """The results of an operation on arrays."""
        arrays = [values[operand] for operand in op.operands]
        tensors = [rank_of(value.type) is not None for value in op.operands]
        shapes = tuple(a.shape if t else None for a, t in zip(arrays, tensors, strict=True))
        sizes = [int(size) for size in arrays[1:]] if isinstance(op, SplatOp) else []
        made = [None] * len(op.results)
        if rule_of(op) is not None:
            made = result_shapes(op, shapes, sizes)
        regions = [
            tuple(None if s is None else tuple((0, n or 0) for n in s) for s in part)
            for part in (shapes, made)
        ]
        kernel = rank_kernel_of(op)
        assert kernel is not None, op.name
        site = Site(self.mesh, 0, self.numbers, shapes, regions[0], regions[1], 0)
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in kernel(op, site, arrays)]

    # Calls: alone, a rank gets what it gives

    def call(self, op: calls.IntoOp) -> None:
        source, target = self.values[op.input], self.values[op.output]
        same = op.input is op.output
        if np.shares_memory(source, target) and not (same and op.MAY_OVERWRITE):
            raise Fault(f"{op.name} overwrites what it reads")
        value = source.copy()
        if isinstance(op, calls.PermuteIntoOp) and op.pairs is not None:
            if (0, 0) not in [numbers(pair) for pair in op.pairs]:
                value = np.zeros_like(value)
        target[...] = value.reshape(target.shape)

    def matmul(self, op: calls.MatmulIntoOp) -> None:
        lhs, rhs, target = (self.values[v] for v in (op.lhs, op.rhs, op.output))
        if np.shares_memory(lhs, target) or np.shares_memory(rhs, target):
            raise Fault("a matmul overwrites what it reads")
        type = cast(MemRefType[Attribute], op.lhs.type).element_type
        accumulate = self.numbers.accumulate(type, op.accumulate)
        target[...] = reductions.matmul(lhs.copy(), rhs.copy(), accumulate, target.dtype)

    # Kernels

    def kernel(self, op: FusedOp) -> None:
        """Run a kernel: all that it reads, then all that it stores."""
        loads = [step for step in op.body.block.ops if isinstance(step, ToTensorOp)]
        stores = [s for s in op.body.block.ops if isinstance(s, MaterializeInDestinationOp)]
        read: dict[SSAValue, Array] = {}
        read.update((load.tensor, self.values[load.memref].copy()) for load in loads)
        values = self.inside(op, read)
        for index, store in enumerate(stores):
            target = self.values[store.dest]
            for other in stores[:index]:
                if np.shares_memory(target, self.values[other.dest]):
                    raise Fault("a kernel stores twice into one place")
            for load in loads:
                if np.shares_memory(target, self.values[load.memref]):
                    self.check_in_place(op, load, store, read, values[store.source])
        for store in stores:
            target, value = self.values[store.dest], values[store.source]
            if target.shape != value.shape or target.dtype != value.dtype:
                raise Fault(
                    f"{value.dtype}{value.shape} in a buffer of {target.dtype}{target.shape}"
                )
            target[...] = value

    def inside(self, op: FusedOp, read: Mapping[SSAValue, Array]) -> dict[SSAValue, Array]:
        """The values inside of a kernel."""
        values = {**self.values, **read}
        for step in list(op.body.block.ops)[:-1]:
            if not isinstance(step, ToTensorOp | MaterializeInDestinationOp):
                values.update(zip(step.results, self.compute(step, values), strict=True))
        return values

    def check_in_place(
        self,
        op: FusedOp,
        load: ToTensorOp,
        store: MaterializeInDestinationOp,
        read: Mapping[SSAValue, Array],
        stored: Array,
    ) -> None:
        """Fail unless an element that is stored depends on no other one that is overwritten."""
        before, target = self.values[load.memref], self.values[store.dest]
        place = before.__array_interface__["data"], before.nbytes
        if place != (target.__array_interface__["data"], target.nbytes):
            raise Fault("a kernel overwrites a part of what it reads")
        for one in {0, before.size // 2, before.size - 1} if before.size else ():
            kept = _own(op, read[load.tensor].shape, one, before.size)
            other = np.where(kept.reshape(before.shape), read[load.tensor], _other(before.dtype))
            found = self.inside(op, {**read, load.tensor: other.astype(before.dtype)})[store.source]
            same = found.reshape(-1)[one : one + 1].tobytes()
            if same != stored.reshape(-1)[one : one + 1].tobytes():
                raise Fault("a kernel overwrites what another thread reads")


def _own(op: FusedOp, shape: tuple[int, ...], one: int, size: int) -> npt.NDArray[np.bool_]:
    """Which elements, in row-major order, the thread of one of them may read."""
    own = np.arange(size) == one
    for step in op.body.block.ops:
        if isinstance(step, ReduceOp) and len(step.reduced) < len(shape):
            place = np.unravel_index(one, shape)
            row = np.zeros(shape, np.bool_)
            row[tuple(slice(None) if d in step.reduced else i for d, i in enumerate(place))] = True
            own |= row.reshape(-1)
    return own


def _other(dtype: np.dtype[Any]) -> Any:
    """A number that no test has."""
    return np.asarray(77, dtype) if dtype != np.bool_ else np.asarray(True)
