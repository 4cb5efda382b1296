"""Write one rank's program anew, with a fused region for each kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, LocationAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from coconet_ir.dialects.comp import BroadcastOp
from coconet_ir.dialects.regions import FusedOp, YieldOp
from coconet_ir.lowering.ranks.graph import Steps
from coconet_ir.schedule.selection import NAME, called


@dataclass(frozen=True)
class FormedKernel:
    """The units of a kernel, in order, its name, and what else it is to carry."""

    ops: Sequence[Operation]
    name: str
    location: LocationAttr
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


class Emitter:
    """Takes a function apart and puts it together again: first the scalars of the host, then what is put."""

    def __init__(self, func: FuncOp, steps: Steps):
        self._steps, self._block = steps, func.body.block
        self._left = dict.fromkeys(self._block.ops)
        for op in self._left:
            op.detach()
        self._block.add_ops([op for op in self._left if op in steps.host])

    def put(self, op: Operation) -> None:
        """Put a call, or the end of the function, behind what it reads."""
        for step in op.walk():
            for value in step.operands:
                self._bring(value)
        self._block.add_op(op)

    def put_kernel(self, kernel: FormedKernel) -> None:
        """Put a kernel."""
        body = _Body(self._steps)
        for op in kernel.ops:
            body.add(op)
        for value in body.outside:
            self._bring(value)
        given = self._given(kernel.ops)
        body.block.add_op(YieldOp(*given))
        fused = FusedOp.create(
            attributes={**kernel.attributes, NAME: StringAttr(kernel.name)},
            regions=[Region(body.block)],
            result_types=[value.type for value in given],
        )
        fused.location = kernel.location
        self._block.add_op(fused)
        for value, result in zip(given, fused.results, strict=True):
            name = called(value)
            result.name_hint = name if name == kernel.name else f"{kernel.name}_{name}"
            for use in list(value.uses):
                if use.operation.parent is not body.block:
                    use.operation.operands[use.index] = result

    def finish(self) -> None:
        """Erase what was repeated in kernels, and the scalars that nothing uses any more."""
        for op in reversed(self._left):
            if op in self._steps.host and not any(result.uses for result in op.results):
                op.detach()
            if op.parent is None:
                op.erase()

    def _given(self, ops: Collection[Operation]) -> list[SSAValue]:
        """What operations compute and others read."""
        readers = self._steps.readers
        inside = set(ops)
        return [
            result
            for op in ops
            for result in op.results
            if any(reader not in inside for reader in readers.get(result, ()))
        ]

    def _bring(self, value: SSAValue) -> None:
        """Put what makes a value on the host, if it is not there yet."""
        if isinstance(value, OpResult) and value.op.parent is None and value.op in self._left:
            for operand in value.op.operands:
                self._bring(operand)
            self._block.add_op(value.op)


class _Body:
    """The body of a kernel: units, and in front of them what they read that is free."""

    def __init__(self, steps: Steps):
        self.block = Block()
        self.outside: dict[SSAValue, None] = {}
        """What it uses from outside, in order."""
        self._facts, self._host = steps.facts, steps.host
        self._inside: dict[SSAValue, SSAValue] = {}

    def add(self, op: Operation) -> None:
        """Add a unit."""
        op.operands = self._operands(op)
        self.block.add_op(op)
        self._inside.update((result, result) for result in op.results)

    def _operands(self, op: Operation) -> list[SSAValue]:
        return [
            self._value(value, isinstance(op, BroadcastOp) and value is op.like)
            for value in op.operands
        ]

    def _value(self, value: SSAValue, only_shape: bool) -> SSAValue:
        """A value as the body has it."""
        if value not in self._inside:
            self._inside[value] = self._made(value, only_shape)
        return self._inside[value]

    def _made(self, value: SSAValue, only_shape: bool) -> SSAValue:
        if isinstance(value, OpResult) and self._is_repeated(value.op, only_shape):
            copy = value.op.clone(
                dict(zip(value.op.operands, self._operands(value.op), strict=True))
            )
            self.block.add_op(copy)
            return copy.results[value.index]
        self.outside[value] = None
        return value

    def _is_repeated(self, op: Operation, only_shape: bool) -> bool:
        if isinstance(op, EmptyOp):
            return only_shape
        if op in self._host:  # numbers are better known to a kernel than passed to it
            return isinstance(op, ConstantOp) and not isinstance(op.result.type, IndexType)
        return self._facts.is_free(op.results[0])
