"""Which buffer holds each tensor of one rank's program (before anything is written).

The steps of the program, kernels, calls and updates, run in the order in which they stand. What a step makes goes
where it has to be in the end, if nobody reads what was there before: into the argument that it updates, or into the
buffer of a result of the function. All else lives in an arena; what is as large as something that the same step reads
last, element by element, takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import element_bytes
from coconet_ir.analysis.shapes import Extent
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.elements import element_of
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.lowering.buffers.arena import Arena, Life, Slot
from coconet_ir.lowering.forming.groups import Apart, Group, Grouping
from coconet_ir.lowering.ranks.graph import is_call, renamed, scalars_on_host, tensors_read
from coconet_ir.lowering.ranks.reads import RENAMES, Reads
from coconet_ir.lowering.ranks.shapes import RankShapes
from coconet_ir.schedule.selection import called

IN_PLACE = (nccl.AllReduceOp, nccl.ReduceOp, nccl.BroadcastOp)
"""The calls whose result may overwrite their operand."""


@dataclass(frozen=True)
class Result:
    """The buffer of a result of the function, by its number."""

    number: int


Home: TypeAlias = BlockArgument | Result | Slot
"""Where a tensor lies: in an argument, in the buffer of a result, or in the arena."""


@dataclass(frozen=True, eq=False)
class CopyStep:
    """A step that copies a tensor."""

    source: SSAValue
    target: BlockArgument | Result

    @property
    def reads(self) -> Sequence[SSAValue]:
        """The tensor that it copies."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class CallStep:
    """A step that the library does."""

    op: Operation
    reads: Sequence[SSAValue]

    def may_overwrite(self, source: SSAValue, result: SSAValue) -> bool:
        """Whether a result can take the place of what the call reads."""
        calls = self.op.body.block.ops if isinstance(self.op, nccl.GroupOp) else (self.op,)
        readers = [op for op in calls if source in op.operands and isinstance(op, nccl.CallOp)]
        if len(readers) != 1 or not isinstance(readers[0], IN_PLACE):
            return False
        return source.type == result.type and result in self._given_by(readers[0])

    def _given_by(self, call: nccl.CallOp) -> Sequence[SSAValue]:
        """What a call gives, as the step does."""
        if not isinstance(self.op, nccl.GroupOp):
            return call.results
        pairs = zip(self.op.results, yielded(self.op.body.block), strict=True)
        return [result for result, inner in pairs if inner is call.output]


@dataclass(frozen=True, eq=False)
class KernelStep:
    """A step that is a fused region: what it reads, gives and updates, and what the latter are inside."""

    op: FusedOp
    reads: Sequence[SSAValue]
    given: Mapping[SSAValue, SSAValue]
    updates: Mapping[BlockArgument, SSAValue]
    group: Group

    def may_overwrite(self, source: SSAValue, result: SSAValue) -> bool:
        """Whether a result can take the place of what the kernel reads."""
        level = self.group.level_of(self.given[result])
        return level is not None and self.group.may_store(source, level)


Step: TypeAlias = KernelStep | CallStep | CopyStep


def yielded(block: Block) -> Sequence[SSAValue]:
    """What the end of a region gives."""
    return () if block.last_op is None else block.last_op.operands


def kernel_of(op: FusedOp, shapes: RankShapes) -> KernelStep:
    """A fused region as a step. Raises `IRError` if it is not one kernel."""
    *ops, last = op.body.block.ops
    given = yielded(op.body.block)
    updates = [step for step in ops if isinstance(step, UpdateOp)]
    facts = Reads(ops, frozenset(given))
    readers: dict[SSAValue, list[Operation]] = {value: [last] for value in given}
    for unit, reads in facts.units.items():
        for read in reads:
            readers.setdefault(read.source, []).append(unit)
    try:
        group = Grouping(shapes, facts.units, readers).one(facts.units)
    except Apart as apart:
        raise IRError(f"is not one kernel: {apart}; run coconet-form-kernels first", op) from None
    stores = {u.target: u.value for u in updates if isinstance(u.target, BlockArgument)}
    return KernelStep(
        op,
        [value for value in tensors_read(op) if value not in stores or value in group.reads],
        dict(zip(op.results, given, strict=True)),
        stores,
        group,
    )


class Plan:
    """The steps of a function and where its tensors lie."""

    def __init__(self, func: FuncOp, shapes: RankShapes):
        self.steps: list[Step] = []
        self.homes: dict[SSAValue, Home] = {}
        """Where what steps make lies, and tensors that nothing was stored into."""
        self.also: dict[SSAValue, list[Result]] = {}
        """Where kernels store what they give a second time."""
        self.results: dict[int, SSAValue] = {}
        """The tensors that are returned, by the number of the result."""
        self.arena = Arena(shapes)
        self._shapes = shapes
        self._makers: dict[SSAValue, KernelStep | CallStep] = {}
        self._collect(func)
        self._place_updates()
        self._place_results()
        self._check_order()
        self._place_in_arena()

    # Steps

    def _collect(self, func: FuncOp) -> None:
        """Note the steps, updates as copies, and what is returned."""
        host = scalars_on_host(func.body.block.ops)
        for op in func.body.block.ops:
            if isinstance(op, FusedOp) or is_call(op):
                step = self._step(op)
                self.steps.append(step)
                self._makers.update(dict.fromkeys(op.results, step))
            elif isinstance(op, UpdateOp) and isinstance(op.target, BlockArgument):
                self.steps.append(CopyStep(op.value, op.target))
            elif isinstance(op, ReturnOp):
                self._return(op)
            elif not (op in host or isinstance(op, (*RENAMES, EmptyOp)) or is_returned(op)):
                raise IRError("computes outside of a kernel: run coconet-form-kernels first", op)

    def _return(self, end: ReturnOp) -> None:
        for number, value in enumerate(end.operands):
            if as_tensor(value.type) is not None:
                self.results[number] = value
            elif isinstance(value, OpResult) and isinstance(value.op, ExtractOp):
                self.results[number] = value.op.tensor

    def _step(self, op: Operation) -> KernelStep | CallStep:
        if isinstance(op, FusedOp):
            return kernel_of(op, self._shapes)
        return CallStep(op, tensors_read(op))

    # Where what steps make has to be in the end

    def _place_updates(self) -> None:
        """Let steps store into the arguments that they update, or that take what they make."""
        for step in self.steps:
            if isinstance(step, KernelStep):
                for result, inner in step.given.items():
                    for target, value in step.updates.items():
                        if value is inner:
                            self.homes.setdefault(result, target)
        for copy in [step for step in self.steps if isinstance(step, CopyStep)]:
            if self._may_store_into(copy):
                self.homes[copy.source] = copy.target
                self.steps.remove(copy)

    def _may_store_into(self, copy: CopyStep) -> bool:
        """Whether the step that makes a tensor may store into the argument that takes it."""
        maker = self._makers.get(copy.source)
        if maker is None or copy.source in self.homes:
            return False
        return all(
            renamed(read) is not copy.target
            or (step is maker and read is copy.target and maker.may_overwrite(read, copy.source))
            for step in self.steps[self.steps.index(maker) :]
            for read in step.reads
        )

    def _place_results(self) -> None:
        """Let steps store into the buffers of results; what cannot is copied at the end."""
        for number, value in self.results.items():
            made, result = renamed(value), Result(number)
            maker = self._makers.get(made)
            if maker is not None and made not in self.homes:
                self.homes[made] = result
            elif isinstance(maker, KernelStep):
                self.also.setdefault(made, []).append(result)
            else:
                self.steps.append(CopyStep(value, result))

    def _check_order(self) -> None:
        """Raise `IRError` when an argument is read where a step before has overwritten it."""
        stored = dict[SSAValue, Step]()
        for step in self.steps:
            for read in step.reads:
                if (before := stored.get(renamed(read))) is not None and before is not step:
                    reader = None if isinstance(step, CopyStep) else step.op
                    raise IRError(
                        f"needs %{called(renamed(read))} as it was before its update", reader
                    )
            stored.update((home, step) for home in self._stores(step))

    def _stores(self, step: Step) -> Iterator[BlockArgument]:
        """The arguments that a step stores into."""
        if isinstance(step, CopyStep):
            homes: list[Home | None] = [step.target]
        else:
            homes = [self.homes.get(result) for result in step.op.results]
            homes += step.updates if isinstance(step, KernelStep) else ()
        yield from (home for home in homes if isinstance(home, BlockArgument))

    # Everything else

    def _place_in_arena(self) -> None:
        lives = self._lives()
        made: list[list[SSAValue]] = [[] for _ in self.steps]
        for value, life in lives.items():
            made[life.first].append(value)
        for step, values in zip(self.steps, made, strict=True):
            taken: list[Slot] = []
            for value in values:
                over = [s for s in self._overwritten(step, value, lives) if s not in taken]
                taken.append(self.arena.place(lives[value], over))
                self.homes[value] = taken[-1]

    def _lives(self) -> dict[SSAValue, Life]:
        """The lives of all that has no home yet, in the order in which it is made."""
        spans: dict[SSAValue, tuple[int, int]] = {}
        for number, step in enumerate(self.steps):
            for read in step.reads:
                value = renamed(read)
                if isinstance(value, OpResult) and value not in self.homes:
                    spans[value] = (spans.get(value, (number, number))[0], number)
            for value in () if isinstance(step, CopyStep) else step.op.results:
                if value not in self.homes:
                    spans[value] = (number, number)
        return {
            value: Life(self._bytes(value), first, last) for value, (first, last) in spans.items()
        }

    def _bytes(self, value: SSAValue) -> Extent:
        factor, roots = self._shapes.elements(value)
        return factor * int(element_bytes(element_of(value.type))), roots

    def _overwritten(
        self, step: Step, value: SSAValue, lives: Mapping[SSAValue, Life]
    ) -> Iterator[Slot]:
        """The slots of what a step reads last and may overwrite with a tensor of the same size."""
        reads = step.reads
        for read in reads:
            life, home = lives.get(read), self.homes.get(read)
            if isinstance(step, CopyStep) or life is None or not isinstance(home, Slot):
                continue
            alone = [other for other in reads if renamed(other) is read] == [read]
            if alone and life.last == lives[value].first and life.bytes == lives[value].bytes:
                if step.may_overwrite(read, value):
                    yield home


def is_returned(op: Operation) -> bool:
    """Whether an operation takes the element of a tensor that is returned as a scalar."""
    uses = [use.operation for result in op.results for use in result.uses]
    return isinstance(op, ExtractOp) and all(isinstance(use, ReturnOp) for use in uses)
