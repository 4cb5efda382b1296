"""What must hold of every random program after every rewrite, written without the code that the rewrites use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from random_running import Broken
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.comp import ReshapeOp, TransposeOp, UpdateOp
from coconet_ir.dialects.layout import RelaxOp, SliceOp
from coconet_ir.dialects.regions import RegionOp, YieldOp
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.selection import label_of, name_of
from coconet_ir.sim.binding import the_function
from coconet_ir.xdsl_compat import print_module


def no_stray_uses(module: ModuleOp) -> None:
    """Raise `Broken` when operations outside the program, left by a plan that was dropped, read its values."""
    inside = set(module.walk())
    for op in inside:
        arguments = (arg for region in op.regions for block in region.blocks for arg in block.args)
        for value in (*op.results, *arguments):
            if any(use.operation not in inside for use in value.uses):
                raise Broken(f"something outside the program reads %{value.name_hint}")


def check_remark(remark: Remark, new: FuncOp, old: FuncOp) -> None:
    """Raise `Broken` unless an applied rewrite says which names are gone and what was made."""
    after, before = ({name_of(op) for op in func.body.block.ops} - {None} for func in (new, old))
    if set(remark.removed) != before - after:
        raise Broken(f"{remark.removed} are said to be gone, but {before - after} are")
    if any(op.parent is not new.body.block for op in remark.made):
        raise Broken("what is said to be made is not there")


def round_trip(module: ModuleOp) -> None:
    """Raise `Broken` unless the printed program parses to itself."""
    text = print_module(module)
    again = parse_program(make_context(), text, "again.mlir")
    if not again.is_structurally_equivalent(module):
        raise Broken("the printed program is another one")
    if print_module(again) != text:
        raise Broken("printing what was printed gives another text")


# Programs that differ in the order of independent operations


@dataclass
class _Numbering:
    """Gives operations that compute the same, under the same names, the same number."""

    numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def of_function(self, func: FuncOp) -> Hashable:
        """What a function computes, in whatever order."""
        values: dict[SSAValue, Hashable] = {arg: arg.index for arg in func.body.block.args}
        return (
            func.function_type,
            func.arg_attrs,
            tuple(sorted((name, str(value)) for name, value in func.attributes.items())),
            self._of_block(func, values),
        )

    def _of_block(self, op: Operation, values: dict[SSAValue, Hashable]) -> tuple[int, ...]:
        blocks = (block for region in op.regions for block in region.blocks)
        return tuple(sorted(self._of(step, values) for block in blocks for step in block.ops))

    def _of(self, op: Operation, values: dict[SSAValue, Hashable]) -> int:
        key = (
            op.name,
            tuple(values[operand] for operand in op.operands),
            tuple(sorted((name, str(value)) for name, value in op.properties.items())),
            tuple(sorted((name, str(value)) for name, value in op.attributes.items())),
            tuple((result.type, result.name_hint) for result in op.results),
            self._of_block(op, values),
        )
        number = self.numbers.setdefault(key, len(self.numbers))
        values.update({result: (number, result.index) for result in op.results})
        return number


def require_same(new: ModuleOp, old: ModuleOp, what: str) -> None:
    """Raise `Broken` unless two programs are the same up to the order of independent operations."""
    numbering = _Numbering()
    if numbering.of_function(the_function(new, None)) != numbering.of_function(
        the_function(old, None)
    ):
        raise Broken(f"{what} gives another program:\n{print_module(new)}")


# Sets of operations that can run as one


class Waits:
    """What each operation of a function waits for, by brute force: operands, and reads of what it overwrites."""

    def __init__(self, func: FuncOp):
        self.order = list(func.body.block.ops)
        self.direct: dict[Operation, set[Operation]] = {}
        self.all: dict[Operation, set[Operation]] = {}
        top = {step: op for op in self.order for step in op.walk()}
        reading: dict[SSAValue, set[Operation]] = {}
        for op in self.order:
            before: set[Operation] = set()
            for step in op.walk():
                before |= {top[value.op] for value in step.operands if isinstance(value, OpResult)}
                if isinstance(step, UpdateOp):
                    before |= reading.get(step.target, set())
            for step in op.walk():
                for argument in _read(step):
                    reading.setdefault(argument, set()).add(op)
            self.direct[op] = before - {op}
            self.all[op] = self.direct[op].union(*(self.all[other] for other in self.direct[op]))

    def are_convex(self, members: Collection[Operation]) -> bool:
        """Whether nothing outside waits for a member while a member waits for it."""
        needed = set[Operation]().union(*(self.all[op] for op in members))
        outside = needed.difference(members)
        return not any(self.all[op].intersection(members) for op in outside)

    def check_path(self, message: str, members: Collection[Operation]) -> None:
        """Raise `Broken` unless the path that a message shows leaves the members and enters them again."""
        found = re.search(r"'[^']*'(?: -> '[^']*')+", message)
        named: Mapping[str, list[Operation]] = {}
        labels = Counter(label_of(op) for op in self.order)
        named = {label_of(op): [op] for op in self.order if labels[label_of(op)] == 1}
        path = (
            [named.get(label, []) for label in re.findall(r"'([^']*)'", found[0])] if found else []
        )
        if not path or not all(path):
            if found is None:
                raise Broken(f"no path is shown: {message}")
            return  # an operation without a name of its own is among them
        ops = [op for step in path for op in step]
        inner = any(op in members for op in ops[1:-1])
        if ops[0] not in members or ops[-1] not in members or inner or len(ops) < 3:
            raise Broken(f"the path does not leave the set and enter it again: {message}")
        for one, other in pairwise(ops):
            if one not in self.direct[other]:
                raise Broken(f"'{label_of(other)}' does not wait for '{label_of(one)}': {message}")


def check_taken_in(region: Operation, chosen: Collection[Operation], waits: Waits) -> None:
    """Raise `Broken` unless a region holds what was chosen, lies between that, or is read by members alone."""
    if not all(result.first_use for result in region.results):
        raise Broken("a result of the region is not used")
    block = region.regions[0].block
    members = set(block.ops) - {block.last_op}
    inside = set(region.walk()) - {block.last_op}
    for op in members.difference(chosen):
        above = bool(waits.all[op].intersection(chosen))
        between = above and any(op in waits.all[other] for other in chosen)
        readers = {use.operation for result in op.results for use in result.uses}
        if not between and not readers <= inside:
            raise Broken(f"'{label_of(op)}' is taken into the region, though others read it")


def _read(op: Operation) -> set[SSAValue]:
    """The arguments whose memory an operation reads, itself or as the view that it is."""
    rule = rule_of(op)
    if isinstance(op, SliceOp | RelaxOp | ReshapeOp | TransposeOp | YieldOp | RegionOp):
        return set()
    found: set[SSAValue] = set()
    for index, value in enumerate(op.operands):
        stored = isinstance(op, UpdateOp) and index == 0
        if not stored and (rule is None or index not in rule.shape_only):
            found.add(_seen(value))
    return {value for value in found if isinstance(value, BlockArgument)}


def _seen(value: SSAValue) -> SSAValue:
    """What a value is a view of."""
    while isinstance(value, OpResult):
        if isinstance(value.op, SliceOp | RelaxOp | ReshapeOp | TransposeOp):
            value = value.op.operands[0]
        elif isinstance(value.op, RegionOp) and (last := value.op.body.block.last_op) is not None:
            value = last.operands[value.index]
        else:
            break
    return value
