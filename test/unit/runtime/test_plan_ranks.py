"""What a bound plan says on each rank of a mesh: its parts, and the calls of several ranks."""

from __future__ import annotations

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.program import Program
from coconet_ir.runtime.plan import Plan
from coconet_ir.runtime.steps import Collective, Copy, Place


def plan_of(text: str) -> Plan:
    """The plan of a program."""
    return Program.parse(text).compile(cache=False).plan


ALL_KINDS = """
layout.mesh @mesh(a = 2, b = 3)
!local = tensor<?xf16, #layout.dist<a = local, b = local>>
!a = tensor<?xf16, #layout.dist<a = local>>
!wide = tensor<?xf32, #layout.dist<a = local>>
!cut = tensor<?xf32, #layout.dist<a = local, b = sliced(0)>>
!root = tensor<?xf32, #layout.dist<a = local, b = root(2)>>
func.func @f(%x: !local, %y: !cut) -> (tensor<?xf32>, !a, !cut, !root, !wide, !wide, !wide) {
  %sum = coll.all_reduce avg %x over [b, a] {accumulate = f32} : !local -> tensor<?xf32>
  %b = coll.broadcast %x over [b] root 1 : !local -> !a
  %w = arith.extf %b : !a to !wide
  %l = layout.relax %w over [b] : !wide -> tensor<?xf32, #layout.dist<a = local, b = local>>
  %s = coll.reduce_scatter max %l over [b] dim 0
    : tensor<?xf32, #layout.dist<a = local, b = local>> -> !cut
  %r = coll.reduce min %l over [b] root 2
    : tensor<?xf32, #layout.dist<a = local, b = local>> -> !root
  %g = coll.all_gather %y over [b] : !cut -> !wide
  %p = coll.permute %g over [a] shift -1 : !wide -> !wide
  %q = coll.permute %g over [a] pairs [[0, 1]] : !wide -> !wide
  func.return %sum, %b, %s, %r, %g, %p, %q : tensor<?xf32>, !a, !cut, !root, !wide, !wide, !wide
}"""


def test_collectives_of_several_ranks() -> None:
    """The group in the order of the axes, what each gives, and where blocks of the group are equal."""
    plan = plan_of(ALL_KINDS)
    bound = plan.bind({"x": (7,), "y": (7,)}, {}, {}, rank=4)
    found = {step.kind: step for step in bound.steps if isinstance(step, Collective)}
    common = {kind: (step.ranks, step.count, step.element) for kind, step in found.items()}
    row = (3, 4, 5)
    assert common == {
        "all_reduce": ((0, 3, 1, 4, 2, 5), 7, "f32"),
        "broadcast": (row, 7, "f16"),
        "reduce_scatter": (row, 9, "f32"),
        "reduce": (row, 7, "f32"),
        "all_gather": (row, 3, "f32"),
        "permute": ((1, 4), 7, "f32"),
    }
    assert {kind: step.reduction for kind, step in found.items() if step.reduction} == {
        "all_reduce": "avg",
        "reduce_scatter": "max",
        "reduce": "min",
    }
    assert (found["broadcast"].root, found["reduce"].root) == (1, 2)
    pairs = [s.pairs for s in bound.steps if isinstance(s, Collective) and s.kind == "permute"]
    assert pairs == [((0, 1), (1, 0)), ((0, 1),)]


def test_each_rank_has_its_own_part() -> None:
    """Blocks are cut short at the end; on every rank the calls are the same, but for the group."""
    plan = plan_of(ALL_KINDS)
    bounds = [plan.bind({"x": (7,), "y": (7,)}, {}, {}, rank) for rank in range(6)]
    assert [bound.buffers[1].shape for bound in bounds] == [(3,), (3,), (1,)] * 2
    calls = [
        [(step.kind, step.count) for step in bound.steps if isinstance(step, Collective)]
        for bound in bounds
    ]
    assert calls == [calls[0]] * 6


def test_calls_of_a_group_follow_each_other() -> None:
    """One call a member, and none where there are no elements."""
    plan = plan_of("""
    layout.mesh @mesh(a = 2, b = 2)
    !x = tensor<?xf32, #layout.dist<a = local, b = local>>
    !y = tensor<?xf32, #layout.dist<a = local>>
    func.func @f(%x: !x, %y: !x) -> (!y, !y) {
      %g:2 = coll.group over [b] {
        %u = coll.all_reduce sum %x over [b] : !x -> !y
        %v = coll.all_reduce sum %y over [b] : !x -> !y
        coll.yield %u, %v : !y, !y
      }
      func.return %g#0, %g#1 : !y, !y
    }""")
    for sizes in ((3, 5), (3, 0), (0, 0)):
        shapes = {"x": sizes[:1], "y": sizes[1:]}
        steps = plan.bind(shapes, {}, {}, rank=3).steps
        found = [(s.ranks, s.source, s.count) for s in steps if isinstance(s, Collective)]
        assert found == [((2, 3), Place(number), n) for number, n in enumerate(sizes) if n]
        alone = plan.bind(shapes, {}, {"b": 1}, rank=1).steps
        assert [type(step) for step in alone] == [Copy for n in sizes if n]


def test_a_rank_that_is_not_there() -> None:
    plan = plan_of(ALL_KINDS)
    for rank in (-1, 6):
        with pytest.raises(IRError, match=rf"has no rank {rank} on 6 rank\(s\) \(a = 2, b = 3\)"):
            plan.bind({"x": (7,), "y": (7,)}, {}, {}, rank)
