"""Perform a planned movement: slice operands, retype what moved, gather what is still needed whole."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from coconet_ir.analysis.dist import Dist, Kind
from coconet_ir.analysis.movement import Movement
from coconet_ir.analysis.rules import can_make
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.coll import AllGatherOp, AllReduceOp, BroadcastOp
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.elements import default_accumulate, element_of
from coconet_ir.dialects.folds import lay, remade
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.passes.views import view_name, views
from coconet_ir.schedule.selection import NAME, Names, called


def perform(func: FuncOp, plan: Movement) -> None:
    """Rewrite the function as planned."""
    gathers = plan.gathered_results
    partial, spared = list(plan.partial_results()), list(plan.spared())
    names = Names(func)
    _place_decompositions(plan, names)
    parts = _Parts(func, plan, names)
    reads = [
        (op, index, dist, plan.stale(op.operands[index], op))
        for op in plan.order
        for index in range(len(op.operands))
        if (dist := plan.wanted(op, index)) is not None
    ]
    for op, index, dist, stale in reads:
        op.operands[index] = parts.part(op.operands[index], dist, stale)
    for op, move in plan.moved.items():
        for result, dist in zip(op.results, move.results, strict=True):
            lay(result, dist)
    for result, _, uses in gathers:
        whole = parts.gather(result)
        for op, index in uses:
            op.operands[index] = whole
    for result, _, state in partial:
        parts.reduce(result, _reduction(result, state.kind, plan.axes))
    for view in plan.folded:
        view.output.replace_all_uses_with(parts.part(view.input, dist_of(view.output.type)))
        view.detach()
        view.erase()
    for gather in spared:
        _drop(gather)
    parts.drop_unread()


def _reduction(value: OpResult, kind: Kind, axes: tuple[str, ...]) -> AllReduceOp:
    """The reduction that a partial result still needs, in the precision that its operation adds in."""
    accumulate = value.op.properties.get("accumulate")
    if accumulate == default_accumulate(element_of(value.type)):
        accumulate = None
    return AllReduceOp(value, kind, axes, accumulate=accumulate)


def _place_decompositions(plan: Movement, names: Names) -> None:
    for op, new in plan.decomposed.items():
        block = op.parent
        if block is None:
            continue
        block.insert_ops_before(new, op)
        result = new[-1].results[0]
        for step in new[:-1]:
            step.results[0].name_hint = names.fresh(called(step.results[0]))
        name, op.results[0].name_hint = op.results[0].name_hint, None
        result.name_hint = name
        if (chosen := op.attributes.get(NAME)) is not None:
            new[-1].attributes[NAME] = chosen
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()


class _Parts:
    """Makes parts of values that have none, and whole values from parts, each once."""

    def __init__(self, func: FuncOp, plan: Movement, names: Names):
        self.func, self.plan, self.names = func, plan, names
        self.made: dict[tuple[SSAValue, Dist], SSAValue] = {}
        self.remade: list[OpResult] = []
        self.start = func.body.block.first_op

    def part(self, value: SSAValue, dist: Dist, stale: bool = False) -> SSAValue:
        """The part of a value in this layout; `stale` says that what it was gathered from is overwritten."""
        if isinstance(value, OpResult):
            op = value.op
            if op in self.plan.moved and value in self.plan.parts:
                return value  # else it is partial, and its reduction is cut
            if not stale:  # else it is the copy that is read
                if isinstance(op, UpdateOp):
                    return self.part(op.value, dist, stale)
                if isinstance(op, AllGatherOp | BroadcastOp) and dist_of(op.input.type) == dist:
                    return op.input
        key = (value, dist)
        if key not in self.made:
            self.made[key] = self._make(value, dist)
        return self.made[key]

    def _make(self, value: SSAValue, dist: Dist) -> SSAValue:
        moved = isinstance(value, OpResult) and value.op in self.plan.moved  # it is partial
        if isinstance(value, OpResult) and not moved and can_make(value.op, dist):
            self.remade.append(value)
            return self._place(value, [remade(value, dist)])
        for use in value.uses:
            op = use.operation
            if op.parent is not self.func.body.block:
                continue  # what a region holds stays there
            if isinstance(op, SliceOp | RelaxOp) and dist_of(op.output.type) == dist:
                if op is not self.start:
                    op.detach()
                    self._insert_after(op, value)
                return op.output
        return self._place(value, views(value, dist))

    def _place(self, value: SSAValue, made: list[Operation]) -> SSAValue:
        """Put what was made from a value behind its definition, in order."""
        for op in made:
            op.results[0].name_hint = self.names.fresh(view_name(op, called(value)))
        for op in made if isinstance(value.owner, Block) else reversed(made):
            self._insert_after(op, value)
        return made[-1].results[0]

    def gather(self, value: OpResult) -> SSAValue:
        """The whole value of a part."""
        old = self.plan.gather
        if isinstance(old, AllGatherOp):
            new: AllGatherOp | BroadcastOp = AllGatherOp(value, old.axes.data)
        else:
            new = BroadcastOp(value, old.axes.data, numbers(old.roots))
        suffix = "ag" if isinstance(new, AllGatherOp) else "bcast"
        new.output.name_hint = self.names.fresh(f"{called(value)}_{suffix}")
        self._insert_after(new, value)
        return new.output

    def reduce(self, value: OpResult, reduction: AllReduceOp) -> None:
        """Let everybody else read the reduction of a partial value."""
        reduction.output.name_hint = self.names.fresh(f"{called(value)}_ar")
        for use in list(value.uses):
            if use.operation is not reduction:
                use.operation.operands[use.index] = reduction.output
        self._insert_after(reduction, value)

    def drop_unread(self) -> None:
        """Erase the splats, constants and broadcasts that are now read in their other layouts alone."""
        for value in dict.fromkeys(self.remade):
            if value.first_use is None:
                value.op.detach()
                value.op.erase()

    def _insert_after(self, op: Operation, value: SSAValue) -> None:
        """Put `op` behind the definition of a value it reads, and give it that place in messages."""
        owner = value.owner
        if isinstance(owner, Block):
            op.location = self.func.location
            if self.start is not None:
                owner.insert_op_before(op, self.start)
            return
        op.location = owner.location
        if (block := owner.parent) is not None:
            block.insert_op_after(op, owner)


def _drop(gather: AllGatherOp | BroadcastOp) -> None:
    """Erase a gather that is read for its shape alone, which its operand has too."""
    gather.output.replace_all_uses_with(gather.input)
    gather.detach()
    gather.erase()
