"""Put operations into a region, and take them out again: what fuse, overlap and combine share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import SplatOp
from xdsl.ir import Attribute, Block, Operation, Region

from coconet_ir.analysis.memory import VIEWS
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.comp import BroadcastOp
from coconet_ir.dialects.regions import RegionOp, YieldOp
from coconet_ir.schedule.remarks import Reason, Refused
from coconet_ir.schedule.selection import NAME, Names, called, is_rewritten, label_of, name_problem

if TYPE_CHECKING:  # what is lowered has no graph of dependences, and starts without networkx
    from coconet_ir.analysis.dependences import Dependences


def is_free(op: Operation) -> bool:
    """Whether an operation costs nothing where it is used, but would be written to memory and read again elsewhere."""
    return isinstance(op, (ConstantOp, SplatOp, BroadcastOp, *VIEWS))


def check_convex(dependences: Dependences, members: Collection[Operation]) -> None:
    """Raise `Refused` when a path leaves the members and enters them again, and show it."""
    if (detour := dependences.detour(members)) is None:
        return
    path = " -> ".join(
        f"'{label_of(op)}'" for op in (detour.leaves, *detour.outside, detour.enters)
    )
    raise Refused(
        Reason.NOT_CONVEX,
        f"a path leaves the set and enters it again: {path}; take in what lies between, or leave out one end",
    )


def taken_in(
    dependences: Dependences,
    members: Collection[Operation],
    absorbs: Callable[[Operation], bool] = is_free,
) -> set[Operation]:
    """The members, what lies on paths between them, and of what only they read the tensors that `absorbs` takes.

    What an update waits for from which a path leads back to them stays outside.
    """
    found = {*members, *dependences.between(members)}
    above: set[Operation] = set()
    """Operations outside that a member waits for."""
    for op in reversed(dependences.order):
        if op in found:
            continue
        waiting = set(dependences.graph.successors(op))
        if waiting.isdisjoint(found) and waiting.isdisjoint(above):
            continue
        result = op.results[0] if op.results else None
        if result is not None and as_tensor(result.type) and absorbs(op):
            readers = {dependences.top(use.operation) for r in op.results for use in r.uses}
            if readers and readers <= found and (waiting - found).isdisjoint(above):
                found.add(op)
                continue
        above.add(op)
    return found


def enclose(
    func: FuncOp,
    dependences: Dependences,
    members: Collection[Operation],
    kind: type[RegionOp],
    name: str,
    properties: Mapping[str, Attribute],
) -> RegionOp:
    """Move the members, a convex set, into a new region of the given kind.

    The region stands where the last member stood, and what waits for it behind it. Its results are the values that
    are used outside, in order; it goes by the name of the first, `name`, or by an attribute if it has none.
    """
    inside = [op for op in dependences.order if op in members]
    late, block = dependences.behind(members), func.body.block
    outer = {
        result: uses
        for op in inside
        for result in op.results
        if (uses := [use for use in result.uses if dependences.top(use.operation) not in members])
    }
    body = Block()
    region = kind.create(
        properties=dict(properties),
        regions=[Region(body)],
        result_types=[value.type for value in outer],
    )
    region.location = inside[0].location
    block.insert_op_after(region, inside[-1])
    for op in reversed(late):
        op.detach()
        block.insert_op_after(op, region)
    for op in inside:
        op.detach()
        body.add_op(op)
    body.add_op(YieldOp(*outer))
    names = Names(func)
    for (value, uses), output in zip(outer.items(), region.results, strict=True):
        wanted = name if output.index == 0 else f"{name}_{called(value)}"
        output.name_hint = names.fresh(wanted)
        for use in uses:
            use.operation.operands[use.index] = output
    if not outer:
        region.attributes[NAME] = StringAttr(names.fresh(name))
    return region


def region_name(func: FuncOp, given: str | None, default: str, target: Operation) -> str:
    """The name of a new region: the one given with `named=`, or the default made free.

    Raises `IRError` at `target` for a given name that is taken or that could not select.
    """
    names = Names(func)
    if given is None:
        return names.fresh(default)
    if is_rewritten(given):
        raise IRError(
            f"named={given} cannot be a name: one that ends in _ and digits is rewritten when the text is printed",
            target,
        )
    if (problem := name_problem(given)) is not None:
        raise IRError(f"named={given} {problem}", target)
    if names.fresh(given) != given:
        raise IRError(f"named={given} is the name of something else in the function", target)
    return given


def dissolve(region: RegionOp) -> list[Operation]:
    """Put the operations of a region in its place; returns them, in order."""
    inside = region.steps
    for output, value in zip(region.results, region.yielded, strict=True):
        output.name_hint = None
        output.replace_all_uses_with(value)
    for op in inside:
        op.detach()
        if (block := region.parent) is not None:
            block.insert_op_before(op, region)
    region.detach()
    region.erase()
    return inside
