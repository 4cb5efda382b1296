"""Fused operations on one rank: what stands between calls of the library stays one kernel.

The calls of a fused operation cut it into phases: what a call sends is computed before it, what reads its result after
it. An operation runs in the last phase in which everything that reads it can still have it, so that less is kept in
memory; what costs nothing is repeated in each phase that reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.tensor import CastOp, EmptyOp, ExtractSliceOp, SplatOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.comp import BroadcastOp, TransposeOp, UpdateOp
from coconet_ir.dialects.regions import FusedOp, YieldOp
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.schedule.selection import NAME, called

FREE = (
    ConstantOp,
    SplatOp,
    BroadcastOp,
    EmptyOp,
    ExtractSliceOp,
    ReshapeOp,
    TransposeOp,
    CastOp,
)
"""What makes a tensor that costs nothing where it is used, but would be written to memory and read again elsewhere."""


@dataclass(frozen=True)
class Phase:
    """Operations that are one kernel, in order, and calls that follow it."""

    ops: list[Operation]
    kept: list[SSAValue]
    """The values that are read outside the kernel."""
    calls: list[Operation]


def split(
    ops: Sequence[Operation], wanted: Collection[SSAValue]
) -> tuple[list[Phase], list[Operation]]:
    """The phases of a fused operation, and what has to be repeated behind it for the sake of scalars.

    Args:
        ops: its operations, in order.
        wanted: the values that are used outside.
    """
    plan = _Plan(ops, frozenset(wanted))
    scalars = plan.with_free(
        op for op in plan.free if not _makes_tensor(op) and plan.wanted & {*op.results}
    )
    kernels = [plan.kernel(phase) for phase in range(plan.count)]
    sent = {value for phase in range(plan.count) for value in plan.sent(phase)}
    read = sent.union(*map(_inputs, (*kernels, scalars)))
    phases: list[Phase] = []
    for phase, kernel in enumerate(kernels):
        given = plan.sent(phase) | plan.used_outside(phase)
        kept: list[SSAValue] = [
            result
            for op in kernel
            for result in op.results
            if result in given or (op not in plan.free and result in read)
        ]
        phases.append(Phase(kernel, kept, plan.calls(phase)))
    return phases, scalars


def is_call(op: Operation) -> bool:
    """Whether the library does it, not a kernel."""
    return isinstance(op, nccl.CallOp | nccl.GroupOp)


def _makes_tensor(op: Operation) -> bool:
    return any(as_tensor(result.type) is not None for result in op.results)


def _operands(op: Operation) -> set[SSAValue]:
    """What an operation reads, and those in its regions."""
    return {value for step in op.walk() for value in step.operands}


def _inputs(ops: Collection[Operation]) -> set[SSAValue]:
    """What operations read that is not theirs."""
    made = {result for op in ops for result in op.results}
    return {value for op in ops for value in op.operands} - made


class _Plan:
    """Which operations run in which phase; calls are counted to the phase that they follow."""

    def __init__(self, ops: Sequence[Operation], wanted: frozenset[SSAValue]):
        self.ops, self.wanted = ops, wanted
        self.free: dict[Operation, None] = {}
        """What may be repeated, in order."""
        self._after: dict[Operation, list[Operation]] = {op: [] for op in ops}
        self._find_dependences()
        self.phase = self._place()
        self.count = 1 + max(self.phase.values(), default=0)

    def _find_dependences(self) -> None:
        """What each operation has to wait for; an update for all that reads its target before it."""
        readers: dict[SSAValue, list[Operation]] = {
            op.target: [] for op in self.ops if isinstance(op, UpdateOp)
        }
        for op in self.ops:
            for value in _operands(op):
                if isinstance(value, OpResult) and value.op in self._after:
                    self._after[value.op].append(op)
            if isinstance(op, UpdateOp):
                for reader in readers[op.target]:
                    self._after[reader].append(op)
            overwritten = {
                value
                for value in _operands(op) & readers.keys()
                if not (isinstance(op, UpdateOp) and value is op.target)
            }
            for value in overwritten:
                readers[value].append(op)
            if not (is_call(op) or isinstance(op, UpdateOp) or overwritten):
                if isinstance(op, FREE) or not _makes_tensor(op):
                    self.free[op] = None

    def _place(self) -> dict[Operation, int]:
        earliest = dict.fromkeys(self.ops, 0)
        for op in self.ops:
            for later in self._after[op]:
                earliest[later] = max(earliest[later], earliest[op] + is_call(op))
        phase = dict(earliest)
        for op in reversed(self.ops):
            if not is_call(op) and self._after[op]:
                phase[op] = min(phase[later] for later in self._after[op])
        return phase

    def calls(self, phase: int) -> list[Operation]:
        """The calls that follow a phase."""
        return [op for op in self.ops if is_call(op) and self.phase[op] == phase]

    def sent(self, phase: int) -> set[SSAValue]:
        """What the calls that follow a phase read."""
        return {value for op in self.calls(phase) for value in _operands(op)}

    def used_outside(self, phase: int) -> set[SSAValue]:
        """What a phase gives that is used outside: no scalars, where they can be repeated there."""
        return {
            value
            for value in self.wanted
            if isinstance(value, OpResult)
            and self.phase[value.op] == phase
            and not is_call(value.op)
            and (value.op not in self.free or _makes_tensor(value.op))
        }

    def kernel(self, phase: int) -> list[Operation]:
        """The operations of a phase, in order: what runs there, what is sent or used outside, and what they read."""
        given = self.sent(phase) | self.used_outside(phase)
        return self.with_free(
            op
            for op in self.ops
            if not is_call(op)
            and (given & {*op.results} if op in self.free else self.phase[op] == phase)
        )

    def with_free(self, roots: Iterable[Operation]) -> list[Operation]:
        """The operations and the free ones that they read, in order."""
        found, pending = set[Operation](), list(roots)
        while pending:
            op = pending.pop()
            if op not in found:
                found.add(op)
                owners = [value.op for value in op.operands if isinstance(value, OpResult)]
                pending += [owner for owner in owners if owner in self.free]
        return [op for op in self.ops if op in found]


def build(
    phases: Sequence[Phase],
    scalars: Sequence[Operation],
    target: Block,
    like: FusedOp,
    name: str,
) -> dict[SSAValue, SSAValue]:
    """Put phases at the end of a block: a fused operation for each kernel, then its calls, at the end the scalars.

    `like` is what they were, `name` what it was called. Returns what stands for each value that is used outside.
    """
    outside: dict[SSAValue, SSAValue] = {}
    several, number = sum(bool(phase.ops) for phase in phases) > 1, 0
    for phase in phases:
        if phase.ops:
            number += 1
            label = f"{name}_phase{number}" if several else name
            target.add_op(_kernel(phase, outside, like, label))
        for call in phase.calls:
            target.add_op(call.clone(outside))
    for op in scalars:
        target.add_op(op.clone(outside))
    return outside


def _kernel(phase: Phase, outside: dict[SSAValue, SSAValue], like: FusedOp, name: str) -> FusedOp:
    inside, body = dict(outside), Block()
    for op in phase.ops:
        body.add_op(op.clone(inside))
    body.add_op(YieldOp(*(inside[value] for value in phase.kept)))
    kernel = FusedOp.create(
        attributes={**like.attributes, NAME: StringAttr(name)},
        regions=[Region(body)],
        result_types=[value.type for value in phase.kept],
    )
    kernel.location = like.location
    for value, result in zip(phase.kept, kernel.results, strict=True):
        result.name_hint = f"{name}_{called(value)}"
        outside[value] = result
    return kernel
