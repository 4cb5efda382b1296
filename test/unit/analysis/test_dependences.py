"""The dependence graph and its questions against definitions: edges from uses, answers from all paths."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from coconet_ir.analysis.dependences import Dependences
from coconet_ir.program import Program

Edges = dict[tuple[Operation, Operation], bool]
Make = Callable[[int], FuncOp]
Reads = Callable[[FuncOp, SSAValue], set[Operation]]
SEEDS = range(2600, 2650)
"""In some of these the first way out of a set is not on the shortest detour."""


def _edges(func: FuncOp, reads_of: Reads) -> Edges:
    """Who waits for whom, by definition, and whether for a value."""
    tops = list(func.body.block.ops)
    inside = {step: op for op in tops for step in op.walk()}
    found: Edges = {}
    for op in tops:
        for step in op.walk():
            for value in step.operands:
                if isinstance(value.owner, Operation) and (top := inside[value.owner]) is not op:
                    found[top, op] = True
    for update in inside:
        if update.name == "comp.update":
            for reader in reads_of(func, update.operands[0]):
                pair = inside[reader], inside[update]
                if pair[0] is not pair[1]:
                    found.setdefault(pair, False)
    return found


def _paths(edges: Edges, start: Operation, end: Operation) -> Iterator[list[Operation]]:
    """All paths from one operation to another."""
    for first, second in edges:
        if first is start:
            if second is end:
                yield [start, end]
            yield from ([start, *rest] for rest in _paths(edges, second, end))


def _reach(edges: Edges, tops: list[Operation]) -> set[tuple[Operation, Operation]]:
    """All pairs of operations with a path from the first to the second."""
    reach = set(edges)
    for middle in tops:
        into = [a for a in tops if (a, middle) in reach]
        out = [b for b in tops if (middle, b) in reach]
        reach.update((a, b) for a in into for b in out)
    return reach


@pytest.mark.parametrize("seed", SEEDS)
def test_edges(seed: int, tangled: Make, reads_of: Reads) -> None:
    func = tangled(seed)
    graph = Dependences(func).graph
    assert {(a, b): d["value"] for a, b, d in graph.edges(data=True)} == _edges(func, reads_of)
    assert list(graph) == list(func.body.block.ops)


@pytest.mark.parametrize("seed", SEEDS)
def test_sets(seed: int, tangled: Make, reads_of: Reads) -> None:
    func, rng = tangled(seed), random.Random(seed)
    dependences, edges = Dependences(func), _edges(func, reads_of)
    tops = dependences.order
    reach = _reach(edges, tops)
    for _ in range(20):
        members = set(rng.sample(tops, min(len(tops), rng.randint(1, 4))))
        behind = [op for op in tops if op not in members and any((m, op) in reach for m in members)]
        above = {op for op in tops if any((op, m) in reach for m in members)}
        last = max(map(tops.index, members))
        assert dependences.behind(members) == [op for op in behind if tops.index(op) < last]
        between = [op for op in behind if op in above]
        assert dependences.between(members) == between
        detour = dependences.detour(members)
        assert (detour is None) == (not between)
        if detour is not None:
            path = [detour.leaves, *detour.outside, detour.enters]
            assert {path[0], path[-1]} <= members
            assert members.isdisjoint(detour.outside)
            assert all(pair in edges for pair in pairwise(path))
            ways = [
                way
                for leaves in members
                for enters in members
                for way in _paths(edges, leaves, enters)
                if len(way) > 2 and members.isdisjoint(way[1:-1])
            ]
            assert len(path) == min(map(len, ways))


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_paths(seed: int, tangled: Make, reads_of: Reads) -> None:
    func = tangled(seed)
    dependences, edges = Dependences(func), _edges(func, reads_of)
    for start in dependences.order:
        for end in dependences.order:
            found = dependences.path(start, end)
            lengths = [len(way) for way in _paths(edges, start, end)]
            if start is end:
                assert found == [start]
            elif found is None:
                assert not lengths
            else:
                assert (found[0], found[-1]) == (start, end)
                assert all(pair in edges for pair in pairwise(found))
                assert len(found) == min(lengths)


def test_an_update_waits_for_reads_through_views_and_regions() -> None:
    func = Program.parse("""
        layout.mesh @mesh(dp = 2)
        !x = tensor<4xf32>
        !s = tensor<4xf32, #layout.dist<dp = sliced(0)>>
        func.func @f(%w: !x, %i: index) -> index {
          %n = tensor.dim %w, %i : !x
          %v = coll.fused {
            %s = layout.slice %w over [dp] dim 0 : !x -> !s
            %t = arith.addf %s, %s : !s
            coll.yield %s : !s
          }
          %r = arith.mulf %v, %v : !s
          %c = arith.constant dense<1.0> : !x
          %u = comp.update %w, %c : !x
          func.return %n : index
        }""").function()
    dependences = Dependences(func)
    size, kernel, read, constant, update, end = dependences.order
    edges = dict(dependences.graph.edges)
    assert {pair: data["value"] for pair, data in edges.items()} == {
        (kernel, read): True,
        (constant, update): True,
        (kernel, update): False,
        (read, update): False,
        (size, end): True,
    }
    assert dependences.top(next(iter(kernel.regions[0].block.ops))) is kernel
