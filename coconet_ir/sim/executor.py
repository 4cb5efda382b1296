"""The reference executor: a distributed program on all ranks of a mesh, one operation after the other.

It is the meaning of a program. Every rank computes what its types say it owns; collectives add in rank
order; values that the types call replicated are compared bit for bit after every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import SplatOp
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coconet_ir.analysis.customs import Custom, declared
from coconet_ir.analysis.dist import Dist
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import AxesAttr, dist_of
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.custom import CustomOp, DefineOp
from coconet_ir.dialects.decompositions import decompose
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.sim.binding import (
    Input,
    Value,
    assemble,
    bind_inputs,
    bind_mesh,
    read_only,
)
from coconet_ir.sim.communication import Collective, Meeting, Result, collective_of
from coconet_ir.sim.elements import Array, describe, element_name
from coconet_ir.sim.exchange import Exchange, Group, InProcess
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import (
    Arrays,
    Kernel,
    Numbers,
    Site,
    Unsupported,
    kernel_of,
    undefined,
)
from coconet_ir.sim.mesh import ONE_RANK, Mesh, Region, Shape, extents
from coconet_ir.sim.resolve import OpenShape, simulated_shapes

Progress = Callable[[int, int], None]
"""Called with the number of operations done and the number of all."""


@dataclass(frozen=True)
class Output:
    """A value that leaves the program, as one array, and its type.

    The array holds the global elements, with one leading dimension for each axis on which the value is
    local or partial, in mesh order.
    """

    array: Array
    type: Attribute


@dataclass(frozen=True)
class Outcome:
    """What a run gives: the final values of updated arguments by name, then `result0` and so on."""

    outputs: dict[str, Output]
    mesh: Mesh


def run(
    func: FuncOp,
    mesh: Mapping[str, int],
    inputs: Mapping[str, Input],
    *,
    exact: bool = False,
    exchange: Callable[[Mesh], Exchange] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run a verified function of the distributed level.

    Args:
        func: the function; its module may define custom operations and functions that it calls.
        mesh: sizes of axes, in place of those in the text.
        inputs: every argument by name: a number for a scalar; for a tensor its global elements as one array,
            with one leading dimension for each axis on which it is local, in mesh order.
        exact: compute with every float, also on the wire, as f64.
        exchange: how ranks meet; all in this process if not given.
        progress: told after every operation.

    Raises `IRError` for inputs that do not fit and for operations that have no result.
    """
    bound = bind_mesh(func, mesh)
    ways = InProcess(bound.ranks) if exchange is None else exchange(bound)
    numbers = Numbers(exact)
    values = bind_inputs(func, bound, inputs, numbers, ways.ranks)
    machine = Machine(bound, numbers, ways, progress, sum(1 for _ in func.walk()))
    results = machine.run_block(func.body.block, values)
    ways.finish()
    named = {**machine.updated, **{f"result{i}": value for i, value in enumerate(results)}}
    return Outcome({name: machine.output(value) for name, value in named.items()}, bound)


class Machine:
    """The state of a run: the values that are still to be used."""

    def __init__(
        self,
        mesh: Mesh,
        numbers: Numbers,
        exchange: Exchange,
        progress: Progress | None = None,
        total: int = 0,
    ):
        self.mesh = mesh
        self.numbers = numbers
        self.exchange = exchange
        self.updated: dict[str, Value] = {}
        self._values: dict[SSAValue, Value] = {}
        self._uses: dict[SSAValue, int] = {}
        self._progress = progress
        self._done, self._total = 0, total

    @property
    def alive(self) -> int:
        """The number of values that are still to be used."""
        return len(self._values)

    def run_block(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Run the operations of a block; the values that its terminator hands on."""
        for arg, value in zip(block.args, arguments, strict=True):
            self._define(arg, value)
        for op in block.ops:
            if isinstance(op, ReturnOp | AbstractYieldOperation):
                return [self._use(operand) for operand in op.operands]
            self._execute(op)
        return []

    def output(self, value: Value) -> Output:
        """A value as one array."""
        held = dict(zip(self.exchange.ranks, value.arrays, strict=True))
        arrays = self.exchange.gather(tuple(range(self.mesh.ranks)), held)
        return Output(assemble(value, arrays, self.mesh), value.type)

    def _execute(self, op: Operation) -> None:
        self.exchange.enter(op)
        if isinstance(op, RegionOp):
            results = self.run_block(op.body.block, ())
        else:
            operands = [self._use(operand) for operand in op.operands]
            results = self.apply(op, operands)
        for result, value in zip(op.results, results, strict=True):
            self._define(result, value)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _define(self, key: SSAValue, value: Value) -> None:
        if count := key.uses.get_length():
            self._values[key], self._uses[key] = value, count

    def _use(self, key: SSAValue) -> Value:
        """The value of an operand; it is dropped with its last use."""
        self._uses[key] -= 1
        return self._values[key] if self._uses[key] else self._values.pop(key)

    def apply(self, op: Operation, operands: Sequence[Value]) -> list[Value]:
        """The results of one operation."""
        if (steps := decompose(op)) is not None:
            return self._decomposed(op, steps, operands)
        try:
            values = self._compute(op, operands)
        except (ArithmeticRefused, Unsupported) as error:
            raise IRError(str(error), op) from None
        except MemoryError:
            raise IRError("needs more memory than there is", op) from None
        for value in values:
            held = dict(zip(self.exchange.ranks, value.arrays, strict=True))
            self.exchange.require_equal(op, self.mesh.replicas(value.dist), held)
        if isinstance(op, UpdateOp) and operands[0].argument is not None:
            self.updated[operands[0].argument] = values[0]
        return values

    def _decomposed(
        self, op: Operation, steps: Sequence[Operation], operands: Sequence[Value]
    ) -> list[Value]:
        """Run the operations that an operation is defined by, and take them off the program again."""
        values = dict(zip(op.operands, operands, strict=True))
        try:
            for step in steps:
                found = self.apply(step, [values[operand] for operand in step.operands])
                values.update(zip(step.results, found, strict=True))
            return [values[steps[-1].results[0]]]
        finally:
            for step in reversed(steps):
                step.drop_all_references()

    def _compute(self, op: Operation, operands: Sequence[Value]) -> list[Value]:
        sizes = [int(value.arrays[0]) for value in operands[1:]] if isinstance(op, SplatOp) else []
        shapes = simulated_shapes(op, [value.shape for value in operands], sizes)
        collective = collective_of(op)
        if collective is None:
            rows = self._on_ranks(op, operands, shapes)
        else:
            rows = self._in_groups(op, collective, operands[0], shapes)
        values: list[Value] = []
        for index, (result, shape) in enumerate(zip(op.results, shapes, strict=True)):
            arrays = [row[index] for row in rows]
            values.append(self._value(op, result.type, shape, arrays))
        return values

    def _value(
        self, op: Operation, type: Attribute, shape: OpenShape | None, arrays: Sequence[Array]
    ) -> Value:
        """The arrays as a value, once they are seen to have the element type and extents they must."""
        dtype = self.numbers.dtype(type)
        if shape is None:
            value = Value(type, None, _frozen(arrays))
            wanted: list[Shape] = [()] * len(arrays)
        else:
            if len(shape) != arrays[0].ndim:
                raise IRError(f"gives {arrays[0].ndim} dimension(s), not {len(shape)}", op)
            found = zip(shape, arrays[0].shape, strict=True)
            whole = tuple(extent if size is None else size for size, extent in found)
            regions, defined = self.mesh.regions(dist_of(type), whole), self._defined(type)
            wanted = [extents(regions[rank]) for rank in self.exchange.ranks]
            cleared = [
                array if defined[rank] else undefined(array.shape, array.dtype)
                for array, rank in zip(arrays, self.exchange.ranks, strict=True)
            ]
            value = Value(type, whole, _frozen(cleared))
        for array, extent in zip(arrays, wanted, strict=True):
            if array.shape != extent or array.dtype != dtype:
                raise IRError(
                    f"gives {describe(array)} where {describe(undefined(extent, dtype))} is needed",
                    op,
                )
        return value

    def _defined(self, type: Attribute) -> tuple[bool, ...]:
        return self.mesh.defined(dist_of(type))

    def _on_ranks(
        self, op: Operation, operands: Sequence[Value], shapes: Sequence[OpenShape | None]
    ) -> list[Arrays]:
        """One row of results a rank. Ranks whose operands are the same arrays share a computation."""
        kernel, pure = self._kernel(op)
        before = [self._regions(v.dist, v.shape) for v in operands]
        after = [
            self._regions(dist_of(r.type), shape)
            for r, shape in zip(op.results, shapes, strict=True)
        ]
        local = self.mesh.local_axes(operands[0].dist) if operands else ()
        known: dict[tuple[object, ...], Arrays] = {}
        rows: list[Arrays] = []
        for index, rank in enumerate(self.exchange.ranks):
            arrays = [value.arrays[index] for value in operands]
            site = Site(
                self.mesh,
                rank,
                self.numbers,
                tuple(value.shape for value in operands),
                _at(rank, before),
                _at(rank, after),
                self.mesh.position(rank, local),
            )
            if (nothing := self._nothing(op, site)) is not None:
                rows.append(nothing)
                continue
            key = (*map(id, arrays), site.operands, site.results, site.coordinate, pure or rank)
            if key not in known:
                with np.errstate(all="ignore"):
                    known[key] = kernel(op, site, arrays)
            rows.append(known[key])
        return rows

    def _regions(self, dist: Dist, shape: OpenShape | None) -> tuple[Region, ...] | None:
        if shape is None or None in shape:
            return None
        return self.mesh.regions(dist, tuple(size for size in shape if size is not None))

    def _nothing(self, op: Operation, site: Site) -> Arrays | None:
        """The results of a rank that has no value, or None for one that has."""
        row: list[Array] = []
        for result, region in zip(op.results, site.results, strict=True):
            if region is None or self._defined(result.type)[site.rank]:
                return None
            row.append(undefined(extents(region), self.numbers.dtype(result.type)))
        return tuple(row) or None

    def _kernel(self, op: Operation) -> tuple[Kernel, bool]:
        """The function for one rank, and whether equal operands surely give equal results."""
        if isinstance(op, CustomOp):
            if (define := op.definition) is not None:
                return partial(self._run_definition, define), True
            if (custom := declared(op.callee.root_reference.data)) is not None:
                return partial(_run_reference, custom), False
        if (found := kernel_of(op)) is None:
            raise IRError("is not simulated", op)
        return found, True

    def _run_definition(
        self, define: DefineOp, op: CustomOp, site: Site, arrays: Sequence[Array]
    ) -> Arrays:
        block = define.body.block
        inner = Machine(ONE_RANK, self.numbers, InProcess(1))
        arguments = [
            Value(arg.type, None if rank_of(arg.type) is None else array.shape, (array,))
            for arg, array in zip(block.args, arrays, strict=True)
        ]
        return tuple(value.arrays[0] for value in inner.run_block(block, arguments))

    def _in_groups(
        self,
        op: Operation,
        collective: Collective,
        operand: Value,
        shapes: Sequence[OpenShape | None],
    ) -> list[Arrays]:
        """One row a rank, computed once for each group of ranks that meet."""
        axes = op.properties["axes"]
        if not isinstance(axes, AxesAttr):
            raise IRError("names no axes", op)
        before = self._regions(operand.dist, operand.shape) or ()
        after = self._regions(dist_of(op.results[0].type), shapes[0]) or ()
        # Off the root of another axis nobody has a value; off the root of these axes a broadcast gives one.
        defined = self.mesh.defined(operand.dist.without(axes.data))
        held = dict(zip(self.exchange.ranks, operand.arrays, strict=True))
        met: dict[Group, Result] = {}
        rows: list[Arrays] = []
        for rank in self.exchange.ranks:
            if not defined[rank]:
                dtype = self.numbers.dtype(op.results[0].type)
                rows.append((undefined(extents(after[rank]), dtype),))
                continue
            group = self.mesh.group(rank, axes.data)
            if group not in met:
                meeting = Meeting(self.mesh, self.numbers, group, before, after)
                met[group] = collective(op, meeting, self.exchange.gather(group, held))
            rows.append((met[group](group.index(rank)),))
        return rows


def _frozen(arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The arrays, read-only; ranks that share one go on sharing it."""
    views = {id(array): read_only(array) for array in arrays}
    return tuple(views[id(array)] for array in arrays)


def _run_reference(custom: Custom, op: CustomOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    try:
        found = custom(*arrays)
    except Exception as error:
        raise IRError(
            f"runs a Python function that raised {type(error).__name__}: {error}", op
        ) from error
    if len(found) != len(op.results):
        raise IRError(
            f"runs a Python function that gives {len(found)} result(s), not {len(op.results)}", op
        )
    for array, result in zip(found, op.results, strict=True):
        if array.dtype != (dtype := site.numbers.dtype(result.type)):
            raise IRError(
                f"runs a Python function that returned {describe(array)}, where elements of "
                f"{element_name(dtype)} are needed",
                op,
            )
    return found


def _at(rank: int, values: Sequence[tuple[Region, ...] | None]) -> tuple[Region | None, ...]:
    return tuple(None if regions is None else regions[rank] for regions in values)
