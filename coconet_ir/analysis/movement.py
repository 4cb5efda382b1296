"""Which operations can run on slices when an all_gather or broadcast moves below them, and what that sends.

The plan reads rules only and changes nothing in the function; decompositions that it needs are built beside it, and
`discard` drops them. "Part" is the form of a value before the gather or broadcast: sliced, or on the root alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import cast

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import Term, gathered, sent
from coconet_ir.analysis.dist import Dist, LayoutError, Local, Partial
from coconet_ir.analysis.inference import align, propagate, withdraw
from coconet_ir.analysis.memory import memory_of
from coconet_ir.analysis.notation import Rule
from coconet_ir.analysis.rules import operand_dists, rank_of, rule_of
from coconet_ir.analysis.shapes import Shapes
from coconet_ir.analysis.verifier import STATE
from coconet_ir.dialects.attributes import axes_text, dist_of
from coconet_ir.dialects.coll import AllGatherOp, BroadcastOp
from coconet_ir.dialects.comp import SegmentReduceOp, UpdateOp, is_target
from coconet_ir.dialects.decompositions import decompose
from coconet_ir.dialects.elements import element_of, reduction_problem
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import label_of

Use = tuple[Operation, int]
"""An operation and the index of its operand."""


@dataclass(frozen=True)
class Move:
    """One operation that works on parts: the layouts that its operands and results get."""

    operands: tuple[Dist, ...]
    results: tuple[Dist, ...]
    wanted: tuple[Dist | None, ...]
    """The layout of each operand that is read as a part, None for those read as they are."""

    @staticmethod
    def of(op: Operation, operands: tuple[Dist, ...], results: tuple[Dist, ...]) -> Move:
        """The move of an operation that stands as it was."""
        have = operand_dists(op)
        wanted = tuple([n if n != h else None for n, h in zip(operands, have, strict=True)])
        return Move(operands, results, wanted)


@dataclass
class Movement:
    """A plan to move `gather` below the operations in `moved`."""

    gather: AllGatherOp | BroadcastOp
    start: list[Operation]
    """The operations of the function in order, before anything is planned."""
    order: list[Operation]
    """The operations of the function in order, those decomposed followed by what they are decomposed into."""
    moved: dict[Operation, Move] = field(default_factory=dict[Operation, Move])
    parts: dict[SSAValue, Dist] = field(default_factory=dict[SSAValue, Dist])
    """The layout of each part that exists before slices are made."""
    decomposed: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    folded: list[SliceOp] = field(default_factory=list[SliceOp])
    """Slices of a gathered value that are its part: slice(all_gather x) = x."""
    stops: dict[Operation, Refused] = field(default_factory=dict[Operation, Refused])
    """Readers of parts that need the whole value, and why."""
    bytes_before: list[Term] = field(default_factory=list[Term])
    bytes_after: list[Term] = field(default_factory=list[Term])
    _rules: dict[Operation, Rule | None] = field(default_factory=dict[Operation, "Rule | None"])

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the moved collective."""
        return self.gather.axes.data

    def rule(self, op: Operation) -> Rule | None:
        """The rule of an operation as it stands, before the plan is performed."""
        if op not in self._rules:
            self._rules[op] = rule_of(op)
        return self._rules[op]

    @cached_property
    def updates(self) -> dict[SSAValue, int]:
        """The place in the order of the update of each argument that is updated, or of the region that holds it."""
        return {
            step.target: place
            for place, op in enumerate(self.start)
            for step in (op.walk() if op.regions else (op,))
            if isinstance(step, UpdateOp)
        }

    @cached_property
    def places(self) -> dict[Operation, int]:
        """The place of each operation in the order."""
        return {op: place for place, op in enumerate(self.start)}

    def stale(self, value: SSAValue, reader: Operation) -> bool:
        """Whether the part of `value` is the memory of an argument that is updated before `reader`."""
        update = self.updates.get(memory_of(value))
        if update is None:
            return False
        old = next((op for op, new in self.decomposed.items() if reader in new), reader)
        return self.places[old] > update

    def replaced(self, value: SSAValue) -> SSAValue:
        """The value that takes the place of the result of a decomposed operation; any other as it is."""
        if isinstance(value, OpResult) and (new := self.decomposed.get(value.op)) is not None:
            return new[-1].results[0]
        return value

    def wanted(self, op: Operation, index: int) -> Dist | None:
        """The layout in which `op` will read operand `index`, or None where it reads the whole value."""
        move = self.moved.get(op)
        return None if move is None else move.wanted[index]

    def whole_uses(self, value: SSAValue) -> list[Use]:
        """The uses that need the value whole once the plan is performed."""
        users = [value]
        users += [op.results[0] for op in self.decomposed if self.replaced(op.results[0]) is value]
        found: list[Use] = []
        for use in (use for user in users for use in user.uses):
            op, index = use.operation, use.index
            if op in self.decomposed or op in self.folded or self.wanted(op, index) is not None:
                continue
            rule = self.rule(op)
            if rule is None or not (index in rule.shape_only or is_target(op, index)):
                found.append((op, index))
        return found

    def partial_results(self) -> Iterator[tuple[OpResult, Dist, Partial]]:
        """Results that become partial on the axes, their layout, and the reduction still to be done."""
        for op, move in self.moved.items():
            for result, dist in zip(op.results, move.results, strict=True):
                state = dist.by_axis.get(self.axes[0])
                if isinstance(state, Partial):
                    yield result, dist, state

    @cached_property
    def gathered_results(self) -> list[tuple[OpResult, Dist, list[Use]]]:
        """Results of moved operations that are needed whole, the layout of their part, and who needs them.

        Read once the plan is complete.
        """
        return [
            (result, self.parts[result], uses)
            for op in self.order
            for result in (op.results if op in self.moved else ())
            if result in self.parts and (uses := self.whole_uses(result))
        ]

    def spared(self) -> Iterator[AllGatherOp | BroadcastOp]:
        """The collectives whose readers all read their operand instead once the plan is performed."""
        for op in self.order:
            if not isinstance(op, AllGatherOp | BroadcastOp) or op in self.moved:
                continue
            part = dist_of(op.input.type)
            reads = [(use.operation, use.index) for use in op.output.uses]
            if any(self.reads(*use, part) for use in reads) and not self.whole_uses(op.output):
                left = (use for use in reads if not self.reads(*use, part))
                if all(self.wanted(*use) is None for use in left):
                    yield op

    def reads(self, op: Operation, index: int, part: Dist) -> bool:
        """Whether `op` reads operand `index` in the layout `part`, not whole, once the plan is performed."""
        if op in self.folded:
            return True
        return self.wanted(op, index) == part and not self.stale(op.operands[index], op)

    def discard(self) -> None:
        """Drop what was built for a plan that is not performed."""
        for new in self.decomposed.values():
            _drop(new)


def plan_movement(
    func: FuncOp, gather: AllGatherOp | BroadcastOp, chosen: set[Operation] | None
) -> Movement:
    """Plan to move `gather` below exactly the operations `chosen`, or below all that can work on parts.

    Raises `Refused` when nothing can move, or one of the chosen cannot.
    """
    start = list(func.body.block.ops)
    plan = Movement(gather, start, start)
    plan.parts[gather.output] = dist_of(gather.input.type)
    try:
        _check_rooted(gather)
        _forward(plan, chosen)
        if isinstance(gather, AllGatherOp):
            _backward(plan, chosen)
            _sideways(plan, chosen)
        _check(plan, chosen)
    except Refused:
        plan.discard()
        raise
    _count(func, plan)
    return plan


def _check_rooted(gather: AllGatherOp | BroadcastOp) -> None:
    """Raise `Refused` for a broadcast of a local value: a dropout would tell its ranks apart."""
    entries = dist_of(gather.input.type).by_axis
    local = [axis for axis in gather.axes.data if isinstance(entries[axis], Local)]
    if local:
        raise Refused(
            Reason.LAYOUT_CONFLICT,
            f"its operand is local on {axes_text(local)}; only a value on the root alone, as coll.reduce makes "
            "it, can be worked on before the broadcast",
        )


def _forward(plan: Movement, chosen: set[Operation] | None) -> None:
    """Decide for each operation that reads a part, in order, whether it can work on it."""
    pending = list(reversed(plan.order))
    plan.order = []
    while pending:
        op = pending.pop()
        plan.order.append(op)
        if op in plan.moved or op in plan.decomposed or op in plan.folded:
            continue
        operands = [plan.replaced(value) for value in op.operands]
        if isinstance(op, UpdateOp):
            # Its result is the value, so readers of the result can read the value's part.
            if (dist := plan.parts.get(operands[1])) is not None:
                plan.parts[op.output] = dist
            continue
        if isinstance(op, SliceOp) and plan.parts.get(operands[0]) == dist_of(op.output.type):
            # An argument's slice is read as it is, and so is one whose memory an update takes.
            if isinstance(operands[0], OpResult) and memory_of(operands[0]) not in plan.updates:
                plan.folded.append(op)
            continue
        if chosen is not None and op not in chosen and not _made_by(plan, op, chosen):
            continue
        try:
            move = _move(plan, op, operands)
        except Refused as refused:
            # The steps of a mean hold a splat, which is never partial.
            partial = any(dist.has(Partial) for dist in operand_dists(op))
            new = None if partial else decompose(op)
            if new is None:
                plan.stops[op] = refused
            else:
                plan.decomposed[op] = new
                pending.extend(reversed(new))
            continue
        if move is not None:
            plan.moved[op] = move
            for result, dist in zip(op.results, move.results, strict=True):
                if dist != dist_of(result.type) and not dist.has_partial_on(plan.axes):
                    plan.parts[result] = dist


def _made_by(plan: Movement, op: Operation, chosen: set[Operation]) -> bool:
    """Whether `op` comes from the decomposition of a chosen operation."""
    return any(old in chosen and op in new for old, new in plan.decomposed.items())


def _move(plan: Movement, op: Operation, operands: list[SSAValue]) -> Move | None:
    """How `op` works on the parts among its operands; None when it reads none. Raises `Refused`."""
    reading = [index for index, value in enumerate(operands) if value in plan.parts]
    if not reading or isinstance(op, ReturnOp):
        return None
    rule = plan.rule(op)
    if rule is None:
        raise Refused(Reason.NO_RULE, f"{op.name} states no dimension rule, so it never moves")
    reading = [index for index in reading if index not in rule.shape_only]
    if not reading:
        return None
    have = [dist_of(value.type) for value in operands]
    for index in reading:
        have[index] = plan.parts[operands[index]]
        if plan.stale(operands[index], op):
            raise Refused(
                Reason.UPDATE_ORDER,
                "before the collective stands an argument that is updated before this operation reads it",
            )
    need = align(rule, tuple(have))
    if any(need[index] != have[index] for index in reading):
        raise Refused(Reason.LAYOUT_CONFLICT, "its operands would have to be sliced further")
    results = propagate(rule, need)
    if not isinstance(plan.gather, AllGatherOp) and any(
        dist == dist_of(result.type) for dist, result in zip(results, op.results, strict=True)
    ):
        raise Refused(Reason.LAYOUT_CONFLICT, "it would end the root layout")
    for result, dist in zip(op.results, results, strict=True):
        kind, element = dist.partial_kind, element_of(result.type)
        if kind is not None and (problem := reduction_problem(element, kind)) is not None:
            raise Refused(Reason.NEEDS_REDUCTION, f"its result would be {dist}, but {problem}")
        if _completed(plan.gather, dist) != (whole := dist_of(result.type)):
            raise Refused(
                Reason.LAYOUT_CONFLICT,
                f"its result would be {dist}, which {plan.gather.name.split('.')[1]} over "
                f"{axes_text(plan.axes)} does not make {whole} again",
            )
    return Move.of(op, need, results)


def _completed(gather: AllGatherOp | BroadcastOp, part: Dist) -> Dist | None:
    """The layout of a part's value once it is gathered, broadcast or reduced over the axes; None if it cannot be."""
    axes = gather.axes.data
    if isinstance(gather, BroadcastOp) or part.has_partial_on(axes):
        return part.without(axes)
    try:
        return part.drop_cut(axes)[0]
    except LayoutError:
        return None


def _backward(plan: Movement, chosen: set[Operation] | None) -> None:
    """Move also what only moved operations read, so that less is computed and arguments are read as slices."""
    for op in reversed(plan.order):
        if op in plan.moved or op in plan.decomposed or isinstance(op, UpdateOp):
            continue
        if chosen is not None and op not in chosen and not _made_by(plan, op, chosen):
            continue
        rule = plan.rule(op)
        if rule is None or rule.transition is not None or len(op.results) != 1:
            continue
        result = op.results[0]
        wanted = {plan.wanted(use.operation, use.index) for use in result.uses} - {None}
        if len(wanted) != 1 or plan.whole_uses(result):
            continue
        dist = cast(Dist, wanted.pop())
        try:
            need = withdraw(rule, operand_dists(op), dist)
        except Refused:
            continue
        if all(_readable(plan, op.operands[index], need[index]) for index in rule.data):
            plan.moved[op] = Move.of(op, need, (dist,))
            plan.parts[result] = dist


def _readable(plan: Movement, value: SSAValue, dist: Dist) -> bool:
    """Whether a value will exist in this layout: not where a moved operation makes another part of it."""
    value = plan.replaced(value)
    if not isinstance(value, OpResult) or isinstance(value.op, AllGatherOp | BroadcastOp):
        return True  # these can be sliced anew
    return dist in (plan.parts.get(value, dist), dist_of(value.type))


def _sideways(plan: Movement, chosen: set[Operation] | None) -> None:
    """Let reductions of an argument that is sliced anyway work on its slice too, as the norms of LAMB do.

    Only where nothing more is gathered: what reads the argument whole must end in small reductions, so that the
    argument is then read in slices alone.
    """
    wanted = {
        op.operands[index]: dist
        for op in plan.order
        for index in range(len(op.operands))
        if (dist := plan.wanted(op, index)) is not None
    }
    for value, dist in wanted.items():
        if not isinstance(value, BlockArgument) or not plan.whole_uses(value):
            continue
        moved, parts, stops = dict(plan.moved), dict(plan.parts), dict(plan.stops)
        order, decomposed, folded = list(plan.order), dict(plan.decomposed), list(plan.folded)
        plan.parts[value] = dist
        _forward(plan, chosen)
        _backward(plan, chosen)
        added = [op for op in plan.moved if op not in moved]
        if added and all(_gathers_nothing(plan, op) for op in added):
            continue
        for op in plan.decomposed.keys() - decomposed.keys():
            _drop(plan.decomposed[op])
        plan.moved, plan.parts, plan.stops = moved, parts, stops
        plan.order, plan.decomposed, plan.folded = order, decomposed, folded


def _gathers_nothing(plan: Movement, op: Operation) -> bool:
    """Whether the results of a moved operation are read as parts only, or become small reductions."""
    for result, dist in zip(op.results, plan.moved[op].results, strict=True):
        if dist.has_partial_on(plan.axes):
            if not _is_small(result):
                return False
        elif result in plan.parts and plan.whole_uses(result):
            return False
    return True


def _is_small(result: OpResult) -> bool:
    """Whether a reduction's result is 0-d or one value a segment, whose bytes do not count."""
    return rank_of(result.type) == 0 or isinstance(result.op, SegmentReduceOp)


def _drop(steps: list[Operation]) -> None:
    for op in reversed(steps):
        op.drop_all_references()


def _check(plan: Movement, chosen: set[Operation] | None) -> None:
    """Raise `Refused` when the plan moves nothing or not all that was chosen; drop useless decompositions."""
    for op, new in list(plan.decomposed.items()):
        if not any(step in plan.moved for step in new):
            del plan.decomposed[op]
            _drop(new)
            plan.order = [step for step in plan.order if step not in new]
    for op in chosen or ():
        if op not in plan.moved and op not in plan.decomposed:
            refused = plan.stops.get(op) or Refused(
                Reason.NOTHING_TO_MOVE,
                "it reads nothing that moves; name the operations in between too",
            )
            raise Refused(refused.reason, f"'{label_of(op)}' cannot move: {refused.message}")
    if not plan.moved and not plan.folded:
        for op, refused in plan.stops.items():
            raise Refused(refused.reason, f"'{label_of(op)}' cannot move: {refused.message}")
        raise Refused(Reason.NOTHING_TO_MOVE, "no operation that could move reads its result")


def _count(func: FuncOp, plan: Movement) -> None:
    """What a rank sends in the collectives that the plan adds, changes or makes superfluous."""
    shapes = Shapes(func, chain.from_iterable(plan.decomposed.values()), plan.rule)
    for op in plan.order:
        if (move := plan.moved.get(op)) is not None and move.operands:
            plan.bytes_before += sent(op, dist_of(op.operands[0].type), shapes)
            plan.bytes_after += sent(op, move.operands[0], shapes)
    for op in plan.spared():
        plan.bytes_before += sent(op, dist_of(op.input.type), shapes)
    for op in plan.start:
        if isinstance(op, AllGatherOp | BroadcastOp) and op.output in plan.parts:
            left = plan.whole_uses(op.output)
            before = [(use.operation, use.index) for use in op.output.uses]
            if _only_state(func, left) and not _only_state(func, before):
                plan.bytes_before += sent(op, dist_of(op.input.type), shapes)
    for result, dist, uses in plan.gathered_results:
        if not _only_state(func, uses):
            plan.bytes_after.append(gathered(result, dist, plan.axes, shapes))
    for result, dist, _ in plan.partial_results():
        if not _is_small(result):
            plan.bytes_after.append(gathered(result, dist, plan.axes, shapes, times=2))


def _only_state(func: FuncOp, uses: list[Use]) -> bool:
    """Whether the value is only stored into arguments that nobody outside needs whole."""
    return bool(uses) and all(
        isinstance(op, UpdateOp) and index == 1 and is_state(func, op.target) for op, index in uses
    )


def is_state(func: FuncOp, value: SSAValue) -> bool:
    """Whether a value is an argument marked `coconet.state`."""
    if not isinstance(value, BlockArgument) or func.arg_attrs is None:
        return False
    return isinstance(func.arg_attrs.data[value.index].data.get(STATE), UnitAttr)
