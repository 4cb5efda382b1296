"""Launch independent collectives of one kind as one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.dependences import Dependences
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import axes_text
from coconet_ir.dialects.regions import GroupOp, kind_of, unlike
from coconet_ir.passes.regions import enclose, region_name
from coconet_ir.schedule.remarks import Reason, Refused, Remark, emit, location_of
from coconet_ir.schedule.rewriting import (
    applied,
    check_ready,
    declined,
    demand,
    perform_in,
    rewritable,
    rewrite_set,
    rewrite_set_in,
)
from coconet_ir.schedule.selection import label_of


@dataclass(frozen=True)
class CombinePass(ModulePass):
    """Put the collectives named `ops`, all or none, into one `coll.group`. Reads and leaves the distributed level.

    They are of one kind, with the same axes, attributes and element types, and none waits for another. Without `ops`
    all that can be combined are: each collective joins the first group, in their order, that takes it. `named` is the
    name of the group's result, by default `group_N`, N being the first of them.
    """

    name = "coconet-combine"

    ops: tuple[str, ...] = ()
    named: str | None = None
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.ops:
            rewrite_set(op, self.ops, self.func, self.require, self.rewrite)
            return
        if self.named is not None:
            raise IRError(f"named={self.named} names one group: say with ops= what is in it", op)
        for func in rewritable(op, self.func):
            for remark in combine_all(func):
                if self.require:
                    demand(remark, func)

    def rewrite(self, func: FuncOp, targets: Sequence[Operation]) -> Remark:
        """Combine `targets` of `func`. Raises `IRError` for options that do not fit them."""
        dependences, chosen = Dependences(func), set(targets)
        members: list[CollectiveOp] = []
        for op in dependences.order:
            if op in chosen:
                if not isinstance(op, CollectiveOp):
                    raise IRError("is no collective: only those are combined", op)
                members.append(op)
        first = members[0]
        if len(members) < 2:
            raise IRError("is the only operation named: two or more are combined", first)
        named = region_name(func, self.named, f"group_{label_of(first)}", first)
        try:
            _check_alike(members)
            _check_independent(dependences, members)
        except Refused as refused:
            return declined("combine", first, refused)
        region = enclose(func, dependences, chosen, GroupOp, named, {"axes": first.axes})
        over = axes_text(first.axes.data)
        message = f"{len(members)} launches of {first.name} over {over} are one, '{named}'"
        return applied("combine", first, message, (region,))


def combine(func: FuncOp, ops: Sequence[str], *, named: str | None = None) -> Remark:
    """Combine the collectives named `ops` of one function, as `coconet-combine` does."""
    return rewrite_set_in(func, ops, CombinePass(tuple(ops), named).rewrite)


def combine_all(func: FuncOp) -> list[Remark]:
    """Combine what can be combined in one function, as `coconet-combine` does without `ops`."""
    check_ready(func)
    remarks = [
        perform_in(func, lambda g=group: CombinePass().rewrite(func, g)) for group in _groups(func)
    ]
    if not remarks:
        text = "no two of its collectives are alike and independent of each other"
        name, place = func.sym_name.data, location_of(func)
        remarks.append(Remark("combine", name, place, text, Reason.NOTHING_TO_COMBINE))
        emit(remarks[0])
    return remarks


def _check_alike(members: Sequence[Operation]) -> None:
    first = members[0]
    for op in members[1:]:
        if (difference := unlike(first, op)) is not None:
            raise Refused(
                Reason.NOT_ALIKE,
                f"'{label_of(first)}' and '{label_of(op)}' cannot be one launch: {difference}",
            )


def _check_independent(dependences: Dependences, members: Sequence[Operation]) -> None:
    source: dict[Operation, Operation] = {op: op for op in members}
    """The member that an operation is or waits for."""
    for op in dependences.order:
        before = (source[p] for p in dependences.graph.predecessors(op) if p in source)
        if (first := next(before, None)) is None:
            continue
        if op in source:
            path = dependences.path(first, op) or ()
            shown = " -> ".join(f"'{label_of(step)}'" for step in path)
            raise Refused(
                Reason.DEPENDENT,
                f"'{label_of(op)}' waits for '{label_of(first)}': {shown}; combine them with others",
            )
        source[op] = first


@dataclass
class _Group:
    """Collectives to be launched as one; sets of collectives are bits of a number."""

    ops: list[CollectiveOp] = field(default_factory=list[CollectiveOp])
    own: int = 0
    waits: int = 0
    """What the collectives of the group wait for."""


def _groups(func: FuncOp) -> list[list[CollectiveOp]]:
    """The groups of at least two collectives that can be launched as one, all of them together."""
    dependences = Dependences(func)
    groups: dict[Hashable, list[_Group]] = {}
    """The groups of each kind of collective."""
    combined: list[_Group] = []
    """Those of at least two."""
    waits: dict[Operation, int] = {}
    """What an operation waits for, and is itself."""
    count = 0
    for op in dependences.order:
        waits[op] = 0
        for before in dependences.graph.predecessors(op):
            waits[op] |= waits[before]
        if isinstance(op, CollectiveOp):
            known = _all_waits(waits[op], combined)
            alike = groups.setdefault(kind_of(op), [])
            if (group := next((g for g in alike if not known & g.own), None)) is None:
                alike.append(group := _Group())
            group.ops.append(op)
            if len(group.ops) == 2:
                combined.append(group)
            group.waits |= waits[op]
            group.own |= 1 << count
            waits[op] |= 1 << count
            count += 1
    return [group.ops for group in combined]


def _all_waits(waits: int, groups: Sequence[_Group]) -> int:
    """What waits for one collective of a group waits for all of it, and for what they wait for."""
    before = -1
    while before != waits:
        before = waits
        for group in groups:
            if waits & group.own:
                waits |= group.own | group.waits
    return waits
