"""What may stand in one `coll.overlap`, and how its stages work chunk by chunk (design, section 6, overlap).

*Stages* are matmuls, convolutions, collectives and fused operations. They form a chain, each reading what the one
before makes; while one makes a chunk, the next works on the chunk before it. Chunks are parts of one dimension of what
the first stage makes. The rules of the operations say which dimension that is in every other value, and whether an
operation can do its part on chunks. What reads nothing that comes in chunks is done before the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.in_place import is_elementwise, is_part_of, moved_on_the_way
from coconet_ir.analysis.memory import data_uses, reads, source
from coconet_ir.analysis.notation import Reduction, Rule, Whole
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text, dist_of
from coconet_ir.dialects.comp import Conv2dOp, MatmulOp, UpdateOp, is_target
from coconet_ir.dialects.regions import FusedOp, RegionOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import label_of

StageOp = MatmulOp | Conv2dOp | CollectiveOp | FusedOp
"""The operations that work at once in an overlap."""

_ELSEWHERE = "overlap along another dimension, or "
_LIFT = f"{_ELSEWHERE}leave it behind the overlap"


@dataclass(frozen=True)
class Chunks:
    """How an overlap works: stage after stage, along a dimension of what the first stage makes."""

    stages: tuple[Operation, ...]
    dim: int
    unit: int
    """Chunks are whole multiples of so many elements, so that none cuts through a product of dimensions."""


def check_overlap(members: Sequence[Operation], dim: int | None) -> Chunks:
    """The chunks of an overlap of these operations, given in their order; without `dim`, of the first that can be.

    Raises `Refused` when they cannot overlap, and `IRError` for a dimension that the first stage does not make.
    """
    for op in members:
        _check_member(op)
    chain = _Chain(members)
    first, result = chain.stages[0], chain.first_result()
    rank = 0 if result is None else rank_of(result.type) or 0
    if dim is not None and not 0 <= dim < max(rank, 1):
        raise IRError(
            f"makes {rank} dimension(s) as the first stage of an overlap: dim={dim} is out of range",
            first,
        )
    if result is None or not rank:
        raise Refused(
            Reason.ZERO_DIMENSIONAL,
            f"'{label_of(first)}' makes no dimension that could be cut into chunks; begin with another stage",
        )
    refusals: list[Refused] = []
    for chosen in range(rank) if dim is None else (dim,):
        try:
            return _chunks(chain, result, chosen)
        except Refused as refused:
            refusals.append(refused)
    last = refusals[-1]
    if dim is not None and rank > 1:
        raise last
    message = last.message.replace(_ELSEWHERE, "")  # there is none
    if rank > 1:
        message = f"no dimension of '{label_of(first)}' works; of the last, {rank - 1}: {message}"
    raise Refused(last.reason, message)


def _check_member(op: Operation) -> None:
    if isinstance(op, RegionOp) and not isinstance(op, FusedOp):
        raise Refused(
            Reason.NESTED_REGION,
            f"'{label_of(op)}' is a {op.name}, and an overlap holds no regions but coll.fused: inline it first",
        )
    for step in _steps(op):
        if rule_of(step) is None:
            raise Refused(
                Reason.NO_RULE, f"'{label_of(step)}' ({step.name}) states no dimension rule"
            )


def _steps(op: Operation) -> list[Operation]:
    """The operations that a member is, a fused one being those it holds."""
    return op.steps if isinstance(op, FusedOp) else [op]


class _Chain:
    """The members of an overlap and its stages, each of which reads what the one before makes."""

    def __init__(self, members: Sequence[Operation]):
        """Raises `Refused` when the stages form no chain."""
        self.members = members
        self.member = {step: op for op in members for step in op.walk()}
        """The member that an operation is, or stands in."""
        self.stages = tuple(op for op in members if isinstance(op, StageOp))
        self.place: dict[Operation, int] = {}
        """Of each member the last stage that it is or waits for; -1 for none."""
        if len(self.stages) < 2:
            only = f"'{label_of(self.stages[0])}' is the only stage" if self.stages else "no stages"
            raise Refused(
                Reason.NO_CHAIN,
                f"{only}: two or more matmuls, convolutions, collectives or coll.fused overlap, each reading what "
                "the one before makes",
            )
        self._walk()

    def _walk(self) -> None:
        waits: dict[Operation, int] = {}
        before = -1
        for op in self.members:
            place = waits.get(op, -1)
            if isinstance(op, StageOp):
                if place != before:
                    raise self._broken(op, self.stages[before])
                before = place = place + 1
            self.place[op] = place
            for reader in self.readers(op):
                waits[reader] = max(waits.get(reader, -1), place)

    def _broken(self, op: Operation, before: Operation) -> Refused:
        return Refused(
            Reason.NO_CHAIN,
            f"'{label_of(op)}' reads nothing that '{label_of(before)}', the stage before, makes: stages overlap as "
            "one chain of producers and consumers; leave one of them out",
        )

    def readers(self, op: Operation) -> Iterator[Operation]:
        """The members that read data of what a member makes."""
        for result in op.results:
            for reader, _ in reads(result):
                if (member := self.member.get(reader)) is not None:
                    yield member

    def first_result(self) -> OpResult | None:
        """The result of the first stage whose dimensions count: the first tensor that another member reads."""
        for result in self.stages[0].results:
            if rank_of(result.type) and any(op in self.member for op, _ in reads(result)):
                return result
        return None


def _chunks(chain: _Chain, result: OpResult, dim: int) -> Chunks:
    """Follow chunks of one dimension through the chain. Raises `Refused` where that ends."""
    follower = _Follower()
    follower.begin(result, dim)
    for op in chain.members:
        if not follower.pass_on(op) and isinstance(op, StageOp):
            raise Refused(
                Reason.CHUNKED_DIMENSION,
                f"'{label_of(op)}' gets no chunks, since what it reads is made as a whole; {_LIFT}",
            )
    _check_cuts(chain, follower)
    for op in chain.members:
        for step in _steps(op):
            if isinstance(step, UpdateOp):
                _check_in_place(step, chain, follower)
    return Chunks(chain.stages, dim, follower.unit)


def _check_cuts(chain: _Chain, chunks: _Follower) -> None:
    """Raise `Refused` when two collectives cut the dimension over different axes: chunks are parts of blocks of one."""
    first: CollectiveOp | None = None
    for op in chain.members:
        for step in _steps(op):
            if not isinstance(step, CollectiveOp) or not _cuts(step, chunks):
                continue
            first = first or step
            if step.axes != first.axes:
                raise Refused(
                    Reason.CHUNKED_DIMENSION,
                    f"'{label_of(first)}' cuts the dimension of the chunks over {axes_text(first.axes.data)}, but "
                    f"'{label_of(step)}' over {axes_text(step.axes.data)}; {_LIFT}",
                )


def _cuts(op: CollectiveOp, chunks: _Follower) -> bool:
    """Whether a collective makes or ends a cut of the dimension that comes in chunks."""
    for value, other in ((op.input, op.output), (op.output, op.input)):
        if (along := chunks.along.get(value)) is not None:
            cut, now = dist_of(value.type).by_dim, dist_of(other.type).by_dim
            if cut.get(along[0]) != now.get(along[0]):
                return True
    return False


class _Follower:
    """Which values come in chunks, and along which dimension."""

    def __init__(self) -> None:
        self.along: dict[SSAValue, tuple[int, Fraction]] = {}
        """The dimension that comes in chunks, and its elements for each of the dimension that is counted."""
        self.unit = 1

    def begin(self, result: OpResult, dim: int) -> None:
        """Chunks of a result of the first stage; of a fused one also what it is made of inside."""
        self.along[result] = dim, Fraction(1)
        stage = result.op
        if not isinstance(stage, FusedOp):
            return
        steps = stage.steps
        inside = {made for step in steps for made in step.results}
        if (made := stage.yielded[result.index]) in inside:
            self.along[made] = dim, Fraction(1)
        for step in reversed(steps):
            self._step(step, inside)

    def pass_on(self, op: Operation) -> bool:
        """Whether a member works on chunks; then its results come in chunks too."""
        chunked = [self._step(step, ()) for step in _steps(op)]
        if isinstance(op, FusedOp):
            for output, value in zip(op.outputs, op.yielded, strict=True):
                if value in self.along:
                    self.along[output] = self.along[value]
        return any(chunked)

    def _step(self, op: Operation, wanted: Collection[SSAValue]) -> bool:
        """Whether an operation reads or makes chunks; then so come its results, and those `wanted` that it reads."""
        rule = rule_of(op)
        if rule is None:
            return False
        operands = [
            (op.operands[i], shape)
            for i in rule.data
            if (shape := rule.operands[i]) is not None and not is_target(op, i)
        ]
        results = [
            (value, shape)
            for value, shape in zip(op.results, rule.results, strict=True)
            if shape is not None
        ]
        chunked = {
            shape[self.along[value][0]][0]: (value, shape)
            for value, shape in (*operands, *results)
            if value in self.along
        }
        if not chunked:
            return False
        name = _the_name(op, rule, list(chunked))
        value, shape = chunked[name]
        dim, ratio = self.along[value]
        scale = ratio / _inner(op, rule, shape[dim], name)
        self.unit = lcm(self.unit, scale.denominator)
        for index, (value, shape) in enumerate((*operands, *results)):
            for dim, factors in enumerate(shape):
                if name in factors:
                    inner = _inner(op, rule, factors, name)
                    if index >= len(operands) or value in wanted:
                        self.along.setdefault(value, (dim, scale * inner))
        return True


def _the_name(op: Operation, rule: Rule, names: Sequence[str]) -> str:
    """The name in an operation's rule of the dimension in chunks. Raises `Refused` unless it is one, and parallel."""
    name, label = names[0], label_of(op)
    if len(names) > 1:
        raise Refused(
            Reason.CHUNKED_DIMENSION,
            f"'{label}' would get chunks of its dimensions '{name}' and '{names[1]}' at once; {_LIFT}",
        )
    match rule.role.get(name):
        case Whole():
            reason, why = Reason.WHOLE_DIMENSION, f"needs its dimension '{name}' whole"
        case Reduction():
            reason = Reason.CHUNKED_DIMENSION
            why = f"reduces its dimension '{name}', so that nothing is done before the last chunk"
        case None:
            return name
    raise Refused(reason, f"'{label}' {why}; {_LIFT}")


def _inner(op: Operation, rule: Rule, factors: tuple[str, ...], name: str) -> int:
    """Elements of a dimension for each of its factor `name`. Raises `Refused` when chunks would cut through them."""
    product = f"the product ({' '.join(factors)}) in '{label_of(op)}'"
    if factors[0] != name:
        raise Refused(Reason.NOT_FIRST_FACTOR, f"'{name}' is an inner factor of {product}; {_LIFT}")
    if (inner := rule.inner_size(factors)) is None:
        raise Refused(
            Reason.UNIT_NOT_STATIC,
            f"the inner factors of {product} are not static, so that chunks might cut through them; {_LIFT}",
        )
    return inner


def _check_in_place(update: UpdateOp, chain: _Chain, chunks: _Follower) -> None:
    """Raise `Refused` when a chunk may be stored that a member still has to read."""
    for reader, index in data_uses(update.target):
        if reader in chain.member and not _has_read(update, reader, index, chain, chunks):
            raise Refused(
                Reason.IN_PLACE,
                f"'{label_of(update)}' stores chunks into an argument that '{label_of(reader)}' may still have to "
                "read; put both into one coll.fused, or leave the update behind the overlap",
            )


def _has_read(
    update: UpdateOp, reader: Operation, index: int, chain: _Chain, chunks: _Follower
) -> bool:
    """Whether a reader of an update's target has surely read what a chunk of the update overwrites.

    Another stage may be at another chunk, on this rank or on a peer that sends to it; and a stage whose result is
    stored may store it itself. So it must work on the same chunk, at the same place of the chain, element by element.
    Within one fused operation the rest is checked there.
    """
    member, stores = chain.member[reader], chain.member[update]
    chunk = chunks.along.get(reader.results[0]) if reader.results else None
    alike = chunk == chunks.along.get(update.output)
    if stores is not update:
        return member is stores and (alike or chunk is None)
    return (
        is_part_of(reader.operands[index], update.target)
        and is_elementwise(reader, index)
        and member is reader
        and chain.place[member] == chain.place[stores]
        and alike
        and not isinstance(source(update.value), StageOp)
        and moved_on_the_way(reader, update, frozenset(chain.members)) is None
    )
