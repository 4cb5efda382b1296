"""The check that xDSL's `verify` leaves out: every operand is defined before it is used."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from coconet_ir.diagnostics import IRError, op_name


def check_dominance(module: ModuleOp) -> None:
    """Raise an `IRError` unless each operand's definition dominates its use.

    Values of enclosing regions may be used, except across an operation that is isolated from above
    (a function). Results of an operation are not visible in its own regions. Code that no block
    reaches is not checked, as in MLIR. The time is linear in the size of the module.
    """
    for region in module.regions:
        _check_region(region, set())


def _check_region(region: Region, visible: set[int]) -> None:
    """Check a region where the values in `visible` (by id) may be used; `visible` is restored."""
    blocks = region.blocks
    if (entry := blocks.first) is None:
        return
    added: list[int] = []
    if entry.next_block is None:
        _check_block(entry, visible, added)
        visible.difference_update(added)
        return
    children = _dominator_tree(entry)
    # Pre-order over the tree: leaving a block takes its values out of sight again.
    stack: list[tuple[Block, list[int] | None]] = [(entry, None)]
    while stack:
        block, defined = stack.pop()
        if defined is not None:
            visible.difference_update(defined)
            continue
        added = []
        _check_block(block, visible, added)
        stack.append((block, added))
        stack.extend((child, None) for child in reversed(children.get(block, [])))


def _check_block(block: Block, visible: set[int], added: list[int]) -> None:
    for arg in block.args:
        added.append(id(arg))
        visible.add(id(arg))
    for op in block.ops:
        for index, operand in enumerate(op.operands):
            if id(operand) not in visible:
                raise _error(op, index, operand)
        if op.regions:
            scope: set[int] = set() if _is_isolated(op) else visible
            for region in op.regions:
                _check_region(region, scope)
        for result in op.results:
            added.append(id(result))
            visible.add(id(result))


def _is_isolated(op: Operation) -> bool:
    return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def _dominator_tree(entry: Block) -> dict[Block, list[Block]]:
    """The blocks that each reachable block immediately dominates.

    Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm (2001).
    """
    order = _reverse_postorder(entry)
    number = {block: i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for i, block in enumerate(order):
        for successor in _successors(block):
            predecessors[number[successor]].append(i)
    parent = [0, *([-1] * (len(order) - 1))]  # -1: not known yet
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            found = -1
            for other in predecessors[i]:
                if parent[other] < 0:
                    continue
                found = other if found < 0 else _common_dominator(parent, found, other)
            if parent[i] != found:
                parent[i] = found
                changed = True
    children: dict[Block, list[Block]] = {}
    for i in range(1, len(order)):
        children.setdefault(order[parent[i]], []).append(order[i])
    return children


def _common_dominator(parent: list[int], a: int, b: int) -> int:
    while a != b:
        while a > b:
            a = parent[a]
        while b > a:
            b = parent[b]
    return a


def _reverse_postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, _successors(entry))]
    while stack:
        block, rest = stack[-1]
        successor = next((s for s in rest if s not in seen), None)
        if successor is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(successor)
            stack.append((successor, _successors(successor)))
    return order[::-1]


def _successors(block: Block) -> Iterator[Block]:
    last = block.last_op
    return iter(() if last is None else last.successors)


def _error(op: Operation, index: int, operand: SSAValue) -> IRError:
    """Say why the operand cannot be seen, and how to make it visible."""
    name = f"operand #{index}" + (f" (%{operand.name_hint})" if operand.name_hint else "")
    owner = operand.owner
    block = owner if isinstance(owner, Block) else owner.parent_block()
    if block is None or block.get_toplevel_object() is not op.get_toplevel_object():
        return IRError(f"{name} was erased or is not part of the module", op)
    # `user` becomes the operation in the block of the definition that is or contains `op`.
    user: Operation | None = op
    barrier: Operation | None = None
    while user is not None and user.parent_block() is not block:
        user = user.parent_op()
        if barrier is None and user is not None and _is_isolated(user):
            barrier = user
    if user is None:
        why = "is defined in another block or region; return or yield it from there"
    elif barrier is not None:
        why = f"is defined outside '{op_name(barrier)}', which is isolated; pass it as an argument"
    elif user is owner and user is not op:
        why = "is a result of the operation that contains its use"
    else:
        why = "is used before its definition; move this operation below it"
    return IRError(f"{name} {why}", op, [("defined here", operand)])
