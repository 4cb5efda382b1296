"""The reference executor: a distributed program on all ranks of a mesh, one operation after the other.

It is the meaning of a program. Every rank computes what its types say it owns; collectives add in rank
order; values that the types call replicated are compared bit for bit after every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.tensor import SplatOp
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from coconet_ir.analysis.customs import Custom, declared
from coconet_ir.analysis.rules import rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.coll import RegionOp
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.custom import CustomOp, DefineOp
from coconet_ir.dialects.decompositions import decompose
from coconet_ir.sim.binding import (
    Input,
    Value,
    assemble,
    bind_inputs,
    bind_mesh,
    read_only,
)
from coconet_ir.sim.communication import Collective, Meeting, Result, collective_of
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import Exchange, Group, InProcess
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Arrays, Numbers, Site, Unsupported, kernel_of, undefined
from coconet_ir.sim.mesh import ONE_RANK, Mesh, Region, Shape, extents
from coconet_ir.sim.resolve import result_shapes

Progress = Callable[[int, int], None]
"""Called with the number of operations done and the number of all."""


@dataclass(frozen=True)
class Output:
    """A value that leaves the program: one array (see `binding`), and its type."""

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
        inputs: every argument by name, laid out as `binding` says.
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
    results = machine.call(func, values)
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
        self._calls: list[FuncOp] = []
        self._progress = progress
        self._done, self._total = 0, total

    def call(self, func: FuncOp, arguments: Sequence[Value]) -> list[Value]:
        """Run the body of a function on these arguments."""
        if func in self._calls:
            raise IRError("calls itself, and a distributed program has no control flow", func)
        self._calls.append(func)
        results = self.run_block(func.body.block, arguments)
        self._calls.pop()
        return results

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
        if isinstance(op, CallOp):
            return self.call(_callee(op), operands)
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
        shapes = result_shapes(op, [value.shape for value in operands], self._extents(op, operands))
        collective = collective_of(op)
        if collective is None:
            rows = self._on_ranks(op, operands, shapes)
        else:
            rows = self._in_groups(op, collective, operands[0], shapes)
        values: list[Value] = []
        for index, result in enumerate(op.results):
            arrays = tuple(row[index] for row in rows)
            shape = shapes[index]
            if shape is None and isinstance(result.type, TensorType):
                shape = arrays[0].shape
            values.append(Value(result.type, shape, arrays))
            self._check(op, values[-1])
        return values

    def _extents(self, op: Operation, operands: Sequence[Value]) -> list[int]:
        """The sizes that a splat takes as operands."""
        if not isinstance(op, SplatOp):
            return []
        return [int(value.arrays[0]) for value in operands[1:]]

    def _check(self, op: Operation, value: Value) -> None:
        """What a kernel, in particular one from Python, must keep to: element type and extents."""
        dtype = self.numbers.dtype(value.type)
        if value.shape is None:
            wanted: list[Shape] = [()] * len(value.arrays)
        else:
            regions = self.mesh.regions(value.dist, value.shape)
            wanted = [extents(regions[rank]) for rank in self.exchange.ranks]
        for array, shape in zip(value.arrays, wanted, strict=True):
            if array.shape != shape or array.dtype != dtype:
                raise IRError(
                    f"gives {array.dtype} of shape {array.shape} where {dtype} of shape {shape} is needed",
                    op,
                )
