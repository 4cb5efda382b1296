"""What one rank's program does with tensors, in steps, and which step waits for which.

Steps are units (`coconet_ir.lowering.ranks.reads`), calls of the library, and updates by what a call gives. An update
waits for all that reads the argument as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeGuard, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import CastOp, SplatOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import Pure

from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.blocks import SegmentBroadcastBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.comp import MatmulOp, UpdateOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.lowering.ranks.reads import RENAMES, Access, Read, Reads, makes_tensor

SEGMENTED = (SegmentReduceBlockOp, SegmentBroadcastBlockOp)
"""Operations that look for the segment of an element, in memory."""


def is_call(op: Operation) -> bool:
    """Whether the library does it."""
    return isinstance(op, nccl.CallOp | nccl.GroupOp | MatmulOp)


def tensors_read(op: Operation) -> list[SSAValue]:
    """The tensors that an operation, or what is in its region, takes from outside."""
    inside = {result for step in op.walk() if step is not op for result in step.results}
    values = (value for step in op.walk() for value in step.operands)
    return [v for v in dict.fromkeys(values) if v not in inside and as_tensor(v.type) is not None]


def read_what_is_stored(func: FuncOp) -> None:
    """Make readers of an update's result read the value that it stores."""
    for op in func.walk():
        if isinstance(op, UpdateOp):
            op.output.replace_all_uses_with(op.value)


def simplify(func: FuncOp) -> None:
    """Make a function one whose results all have memory, and in which nothing is for nothing.

    Readers of an update's result read what it stores; an argument that is returned is copied; a scalar from data is
    returned as the element of a tensor.
    """
    block = func.body.block
    read_what_is_stored(func)
    host = scalars_on_host(block.ops)
    for op in [op for op in block.ops if isinstance(op, ReturnOp)]:
        for index, value in enumerate(op.operands):
            _give_memory(op, index, value, host)
    for op in reversed(list(block.ops)):
        if op.has_trait(Pure) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def scalars_on_host(ops: Iterable[Operation]) -> set[Operation]:
    """The operations on scalars alone, that need nothing of the data of tensors."""
    found, from_data = set[Operation](), set[SSAValue]()
    for op in ops:
        if makes_tensor(op) or op.regions or not op.results:
            continue
        if any(as_tensor(v.type) is not None or v in from_data for v in op.operands):
            from_data.update(op.results)
        else:
            found.add(op)
    return found


def _is_in_memory(op: Operation) -> bool:
    """Whether an operation takes the one element of a tensor that is not an argument: that has memory of its own."""
    return isinstance(op, ExtractOp) and not op.indices and isinstance(renamed(op.tensor), OpResult)


def _give_memory(end: ReturnOp, index: int, value: SSAValue, host: Collection[Operation]) -> None:
    """Give a value that is returned memory of its own, if it has none."""
    new: list[Operation] = []
    if (tensor := as_tensor(value.type)) is not None:
        if not isinstance(value, OpResult):
            new.append(CastOp(value, tensor))
    elif isinstance(value, OpResult) and value.op not in host and not _is_in_memory(value.op):
        new.append(SplatOp(value, [], TensorType(value.type, [])))
        new.append(ExtractOp(new[0].results[0]))
    for op in new:
        op.location = end.location
        op.results[0].name_hint = value.name_hint
    if new and end.parent is not None:
        end.parent.insert_ops_before(new, end)
        end.operands[index] = new[-1].results[0]


def renamed(value: SSAValue) -> SSAValue:
    """What a value is before it is given other dimensions."""
    while isinstance(value, OpResult) and isinstance(value.op, RENAMES):
        value = value.op.operands[0]
    return value


class Steps:
    """The steps of a function without fused regions."""

    def __init__(self, func: FuncOp):
        ops = list(func.body.block.ops)
        self.host = scalars_on_host(ops)
        """The scalars that the host computes."""
        calls = [op for op in ops if is_call(op) or _is_update_by_call(op)]
        ends = [op for op in ops if isinstance(op, ReturnOp)]
        stored = {renamed(value) for op in calls for value in _needed(op)}
        stored.update(op.offsets for op in ops if isinstance(op, SEGMENTED))
        for op in ends:  # an argument is not returned itself
            for value in _needed(op):
                before = renamed(value)
                stored.add(before if isinstance(before, OpResult) else value)
        inner = [op for op in ops if op not in ends]
        self.facts = Reads(inner, stored, frozenset(calls))
        if permuted := [op.value for op in self.facts.units if self._permutes_its_target(op)]:
            self.facts = Reads(inner, stored.union(permuted), frozenset(calls))
        self.reads: dict[Operation, Sequence[Read]] = dict(self.facts.units)
        for op in (*calls, *ends):
            sources = (read.source for value in _needed(op) for read in self.facts.of(value))
            self.reads[op] = [Read(source, Access.ANY) for source in dict.fromkeys(sources)]
        self.units = self.facts.units.keys()
        self.readers: dict[SSAValue, list[Operation]] = {}
        """The steps that read a source, or end the function with it."""
        for op in ops:
            for source in dict.fromkeys(read.source for read in self.reads.get(op, ())):
                self.readers.setdefault(source, []).append(op)
        self.before = {op: self._waits_for(op) for op in ops if op in self.reads}
        """What each step waits for."""
        self.order = ordered(self.before)
        """All steps, each behind what it waits for."""

    def _permutes_its_target(self, op: Operation) -> TypeGuard[UpdateOp]:
        """Whether an update would store what it reads at other places: that needs memory between."""
        return isinstance(op, UpdateOp) and any(
            read.source is op.target and read.access is not Access.SAME
            for read in self.facts.units[op]
        )

    def _waits_for(self, op: Operation) -> list[Operation]:
        found = [
            read.source.op
            for read in self.reads[op]
            if isinstance(read.source, OpResult) and read.source.op in self.reads
        ]
        if isinstance(op, UpdateOp):
            found += [
                reader
                for reader in self.readers.get(op.target, ())
                if reader is not op and not isinstance(reader, ReturnOp)
            ]
        return list(dict.fromkeys(found))


def _needed(op: Operation) -> list[SSAValue]:
    """The tensors that a call, or the end of the function, needs in memory."""
    if isinstance(op, UpdateOp):
        return [op.value]
    scalars = (value.op for value in op.operands if isinstance(value, OpResult))
    return tensors_read(op) + [op.tensor for op in scalars if isinstance(op, ExtractOp)]


T = TypeVar("T")


def ordered(before: Mapping[T, Iterable[T]]) -> list[T]:
    """The keys, each behind those that it waits for, else in the order that they have."""
    number = {key: index for index, key in enumerate(before)}
    keys, waits = list(before), [len(set(needed)) for needed in before.values()]
    after: list[list[int]] = [[] for _ in keys]
    for key, needed in before.items():
        for one in set(needed):
            after[number[one]].append(number[key])
    ready = [index for index, count in enumerate(waits) if not count]  # a heap already
    found: list[T] = []
    while ready:
        index = heappop(ready)
        found.append(keys[index])
        for later in after[index]:
            waits[later] -= 1
            if not waits[later]:
                heappush(ready, later)
    assert len(found) == len(keys), "steps wait for each other"
    return found


def _is_update_by_call(op: Operation) -> bool:
    """Whether an operation stores what a call gives: then the call may store it itself."""
    return isinstance(op, UpdateOp) and isinstance(op.value, OpResult) and is_call(op.value.op)
