"""Every rewrite that could concern one operation or argument, with the options it could be asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.chunks import StageOp
from coconet_ir.analysis.dependences import Dependences
from coconet_ir.analysis.rules import rank_of
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.coll import AllGatherOp, AllReduceOp, BroadcastOp
from coconet_ir.dialects.regions import RegionOp, unlike
from coconet_ir.passes.combine import CombinePass
from coconet_ir.passes.fuse import FusePass
from coconet_ir.passes.inline import InlineSchedulePass
from coconet_ir.passes.overlap import OverlapPass
from coconet_ir.passes.regions import is_free
from coconet_ir.passes.reorder import ReorderPass
from coconet_ir.passes.slice import SlicePass
from coconet_ir.passes.slice_state import SliceStatePass
from coconet_ir.passes.split import SplitPass
from coconet_ir.schedule.rewriting import mesh_axes
from coconet_ir.schedule.selection import by_name, functions, is_rewritten

Option: TypeAlias = str | int | bool | tuple[str, ...]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""What a pipeline takes as text without quotes."""


@dataclass(frozen=True)
class Variant:
    """A pass, and the options with which it is tried."""

    kind: type[ModulePass]
    options: Mapping[str, Option]

    def make(self) -> ModulePass:
        """The pass with its options."""
        return self.kind(**self.options)

    def __str__(self) -> str:
        """The pass as a pipeline has it: `coconet-split{op=avg dim=0}`."""
        options = [f"{name.replace('_', '-')}={_spelled(v)}" for name, v in self.options.items()]
        return f"{self.kind.name}{{{' '.join(options)}}}" if options else self.kind.name


def _spelled(option: Option) -> str:
    if isinstance(option, tuple):
        return ",".join(map(_spelled, option))
    if isinstance(option, bool | int):
        return str(option).lower()
    if _WORD.fullmatch(option) and option not in ("true", "false"):
        return option
    escaped = option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True)
class Subject:
    """The operation or argument in question, and how it is selected."""

    func: FuncOp
    selector: Mapping[str, str]
    """`{"op": NAME}` or `{"arg": NAME}`."""
    place: Operation | BlockArgument

    def variant(self, kind: type[ModulePass], **options: Option) -> Variant:
        """A pass on this operation or argument."""
        return self.elsewhere(kind, **self.selector, **options)

    def elsewhere(self, kind: type[ModulePass], **options: Option) -> Variant:
        """A pass on the function; it is named where the module has several."""
        module = self.func.parent_op()
        if isinstance(module, ModuleOp) and len(functions(module, None)) > 1:
            options["func"] = self.func.sym_name.data
        return Variant(kind, options)

    @cached_property
    def dependences(self) -> Dependences:
        """What waits for what in the function."""
        return Dependences(self.func)

    def sources(self, op: Operation) -> list[Operation]:
        """The operations whose values `op` reads."""
        graph = self.dependences.graph
        return [other for other in graph.predecessors(op) if graph.edges[other, op]["value"]]

    def readers(self, op: Operation) -> list[Operation]:
        """The operations that read values of `op`."""
        graph = self.dependences.graph
        return [other for other in graph.successors(op) if graph.edges[op, other]["value"]]

    def in_order(self, ops: Collection[Operation]) -> list[Operation]:
        """The operations in the order of the function."""
        return [op for op in self.dependences.order if op in ops]

    def together(
        self,
        kind: type[ModulePass],
        op: Operation,
        sets: Iterable[Sequence[Operation]],
        **options: Option,
    ) -> list[Variant]:
        """A pass on `op` with each set of others that can be selected, each once."""
        found: dict[tuple[str, ...], None] = {}
        for others in sets:
            members = self.in_order({op, *others})
            names = tuple(self.names[member] for member in members if member in self.names)
            if others and len(names) == len(members):
                found[names] = None
        return [self.elsewhere(kind, ops=names, **options) for names in found]

    @cached_property
    def names(self) -> dict[Operation, str]:
        """The operations that can be selected, and their names, in order."""
        return {
            found[0]: name
            for name, found in by_name(self.func).items()
            if len(found) == 1 and not is_rewritten(name)
        }


Answer: TypeAlias = list[Variant] | str
"""What to try, or why the rewrite can never concern such an operation."""


def variants(subject: Subject) -> Iterator[tuple[str, Answer]]:
    """For each rewrite, what to try on the subject."""
    rewrites = _OF_ARGUMENTS if isinstance(subject.place, BlockArgument) else _OF_OPERATIONS
    for kind, answer in rewrites.items():
        yield kind.name.removeprefix("coconet-"), answer(subject)


def _split(subject: Subject) -> Answer:
    op = subject.place
    if not isinstance(op, AllReduceOp):
        return "only a coll.all_reduce"
    rank, axes = rank_of(op.output.type) or 0, op.axes.data
    found = [subject.variant(SplitPass, dim=dim) for dim in range(rank)]
    if len(axes) > 1:
        found += [subject.variant(SplitPass, axes=(axis,)) for axis in axes]
    found.append(subject.variant(SplitPass, into="reduce-broadcast"))
    return found if rank else [subject.variant(SplitPass), *found]


def _slice(subject: Subject) -> Answer:
    place = subject.place
    value = place if isinstance(place, SSAValue) else next(iter(place.results), None)
    rank = None if value is None else rank_of(value.type)
    if value is None or rank is None:
        return "only a tensor"
    axes = _free_axes(subject.func, value)
    if not axes:
        return "only over axes on which it is replicated, and there is none"
    if not rank:
        return [subject.variant(SlicePass, over=axes[:1])]
    return [
        subject.variant(SlicePass, over=(axis,), dim=dim) for axis in axes for dim in range(rank)
    ]


def _free_axes(func: FuncOp, value: SSAValue) -> tuple[str, ...]:
    """The axes on which a tensor is replicated."""
    taken = dist_of(value.type).by_axis
    return tuple(axis for axis in mesh_axes(func) if axis not in taken)


def _reorder(subject: Subject) -> Answer:
    op = subject.place
    if not isinstance(op, AllGatherOp | BroadcastOp):
        return "only a coll.all_gather or coll.broadcast"
    readers = subject.in_order(subject.readers(op))
    named = [subject.names[reader] for reader in readers if reader in subject.names]
    found = [subject.variant(ReorderPass)]
    if len(readers) > 1:
        found += [subject.variant(ReorderPass, ops=(name,)) for name in named]
    return found


def _fuse(subject: Subject) -> Answer:
    """With each operation that it reads or that reads it, and with the collectives that its path leads to."""
    op = subject.place
    if not isinstance(op, Operation) or not _computes(op):
        return (
            "only what computes a tensor: splats, constants and views are taken in by between=true"
        )
    sets: list[list[Operation]] = []
    for around in (subject.sources, subject.readers):
        sets += [[other] for other in _nearest(subject, op, around, _computes)]
        if isinstance(op, CollectiveOp):
            sets.append(_nearest(subject, op, around, _is_collective))
    found = subject.together(FusePass, op, sets, between=True)
    return found or "only with what it reads or what reads it, and there is none"


def _is_collective(op: Operation) -> bool:
    return isinstance(op, CollectiveOp)


def _computes(op: Operation) -> bool:
    """Whether an operation computes a tensor, or is a region."""
    tensor = bool(op.results) and rank_of(op.results[0].type) is not None
    return isinstance(op, RegionOp) or (tensor and not is_free(op))


def _nearest(
    subject: Subject,
    op: Operation,
    around: Callable[[Operation], Iterable[Operation]],
    wanted: Callable[[Operation], bool],
) -> list[Operation]:
    """The first operations of a kind on the paths that lead from `op` in one direction, in order."""
    found: set[Operation] = set()
    pending = [op]
    seen = set(pending)
    while pending:
        for other in around(pending.pop()):
            if other not in seen:
                seen.add(other)
                (found.add if wanted(other) else pending.append)(other)
    return subject.in_order(found)


def _overlap(subject: Subject) -> Answer:
    """With each stage before it, and each behind it."""
    op = subject.place
    if not isinstance(op, StageOp):
        return "only a matmul, convolution, collective or coll.fused"
    sets = [
        [other]
        for around in (subject.sources, subject.readers)
        for other in _nearest(subject, op, around, lambda other: isinstance(other, StageOp))
    ]
    found = subject.together(OverlapPass, op, sets, between=True)
    return found or "only with a stage that it reads or that reads it, and there is none"


def _combine(subject: Subject) -> Answer:
    """With all collectives alike that neither wait for it nor for each other, or else with the first alike."""
    op = subject.place
    if not isinstance(op, CollectiveOp):
        return "only a collective"
    alike = [
        other
        for other in subject.dependences.order
        if isinstance(other, CollectiveOp)
        and other is not op
        and other in subject.names
        and unlike(op, other) is None
    ]
    found = subject.together(CombinePass, op, [_independent(subject, op, alike) or alike[:1]])
    return found or "only with a collective alike, and there is none"


def _independent(subject: Subject, op: Operation, others: Sequence[Operation]) -> list[Operation]:
    """Those of the others, the first ones first, that can stand beside `op` and each other."""
    bits = {one: 1 << place for place, one in enumerate((op, *others))}
    waits: dict[Operation, int] = {}
    for step in subject.dependences.order:
        waits[step] = 0
        for before in subject.dependences.graph.predecessors(step):
            waits[step] |= waits[before] | bits.get(before, 0)
    taken, chosen = bits[op], list[Operation]()
    for other in others:
        if not waits[other] & taken and not waits[op] & bits[other]:
            taken |= bits[other]
            chosen.append(other)
    return chosen


def _slice_state(subject: Subject) -> Answer:
    place = subject.place
    if not isinstance(place, BlockArgument) or rank_of(place.type) is None:
        return "only a tensor"
    if not _free_axes(subject.func, place):
        return "only an argument that is replicated on an axis, and there is none"
    return [subject.elsewhere(SliceStatePass, args=tuple(subject.selector.values()))]


def _inline(subject: Subject) -> Answer:
    if not isinstance(subject.place, RegionOp):
        return "only a region"
    return [subject.variant(InlineSchedulePass)]


_OF_OPERATIONS: dict[type[ModulePass], Callable[[Subject], Answer]] = {
    SplitPass: _split,
    SlicePass: _slice,
    ReorderPass: _reorder,
    FusePass: _fuse,
    OverlapPass: _overlap,
    CombinePass: _combine,
    InlineSchedulePass: _inline,
}

_OF_ARGUMENTS: dict[type[ModulePass], Callable[[Subject], Answer]] = {
    SlicePass: _slice,
    SliceStatePass: _slice_state,
}
