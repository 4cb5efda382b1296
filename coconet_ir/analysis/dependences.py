"""What each operation of a function has to wait for: values, and the memory of arguments that are updated.

Regions count as one operation, whatever they hold. An update waits for all that reads its target before it
(design, section 5): these anti-dependences hold for every pass that moves operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import networkx as nx
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.analysis.memory import data_uses
from coconet_ir.dialects.comp import UpdateOp


@dataclass(frozen=True)
class Detour:
    """A path that leaves a set of operations and enters it again: `leaves`, what is `outside`, `enters`."""

    leaves: Operation
    outside: tuple[Operation, ...]
    enters: Operation


class Dependences:
    """The dependences between the operations that stand directly in a function."""

    def __init__(self, func: FuncOp):
        self.order = list(func.body.block.ops)
        self._inside = set(self.order)

    @cached_property
    def graph(self) -> nx.DiGraph[Operation]:
        """An edge from each operation to those that wait for it; its `value` is false where only memory ties them."""
        graph: nx.DiGraph[Operation] = nx.DiGraph()
        graph.add_nodes_from(self.order)
        updates: list[UpdateOp] = []
        for op in self.order:
            for step in op.walk() if op.regions else (op,):
                for value in step.operands:
                    source = value.owner
                    if isinstance(source, Operation) and (top := self.top(source)) is not op:
                        graph.add_edge(top, op, value=True)
                if isinstance(step, UpdateOp):
                    updates.append(step)
        for update in updates:
            stores = self.top(update)
            for reader, _ in data_uses(update.target):
                reads = self.top(reader)
                if reads is not stores and not graph.has_edge(reads, stores):
                    graph.add_edge(reads, stores, value=False)
        return graph

    def top(self, op: Operation) -> Operation:
        """The operation directly in the function that is or holds `op`."""
        while op not in self._inside:
            op = cast(Operation, op.parent_op())
        return op

    def behind(self, members: Collection[Operation]) -> list[Operation]:
        """The operations, up to the last member, that wait for a member and are none, in order."""
        return list(self._between(members, self.order, self.graph.predecessors))

    def _between(
        self,
        members: Collection[Operation],
        order: list[Operation],
        before: Callable[[Operation], Iterator[Operation]],
    ) -> Iterator[Operation]:
        """Those in `order`, until all members are met, that a member reaches."""
        reached, left = set(members), len(members)
        started = False
        for op in order:
            if op in members:
                started, left = True, left - 1
            elif started and any(other in reached for other in before(op)):
                reached.add(op)
                yield op
            if not left:
                return

    def between(self, members: Collection[Operation]) -> list[Operation]:
        """The operations on paths from one member to another, in order; without the members themselves."""
        above = set(self._between(members, self.order[::-1], self.graph.successors))
        return [op for op in self.behind(members) if op in above]

    def detour(self, members: Collection[Operation]) -> Detour | None:
        """A shortest path that leaves the members and enters them again, or None: then they can stand together."""
        outside = self.between(members)
        if not outside:
            return None
        steps: dict[Operation, int] = {}
        """Of each operation outside the least number of steps from a member."""
        before: dict[Operation, Operation] = {}
        for op in outside:
            sources = (p for p in self.graph.predecessors(op) if p in members or p in steps)
            before[op] = min(sources, key=lambda source: steps.get(source, 0))
            steps[op] = steps.get(before[op], 0) + 1
        ends = (op for op in outside if any(s in members for s in self.graph.successors(op)))
        path = [min(ends, key=steps.__getitem__)]
        while (source := before[path[0]]) not in members:
            path.insert(0, source)
        enters = next(op for op in self.graph.successors(path[-1]) if op in members)
        return Detour(source, tuple(path), enters)

    def path(self, source: Operation, target: Operation) -> list[Operation] | None:
        """A shortest path from one operation to another that waits for it, or None."""
        if not nx.has_path(self.graph, source, target):
            return None
        return nx.bidirectional_shortest_path(self.graph, source, target)
