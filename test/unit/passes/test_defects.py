"""Programs that a pass once broke, as small as they get; random programs found them."""

from __future__ import annotations

import pytest
from xdsl.transforms.canonicalize import CanonicalizePass

from coconet_ir import api
from coconet_ir.frontend import check, make_context
from coconet_ir.passes.fuse import fuse
from coconet_ir.passes.reorder import reorder
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Reason
from coconet_ir.schedule.selection import name_of
from coconet_ir.sim.binding import bind_mesh
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.xdsl_compat import print_module

ROWS, V, M = "tensor<?x?xf32, #layout.dist<a = sliced(0)>>", "tensor<?xf32>", "tensor<?x?xf32>"
COLUMNS = "tensor<?x?xf32, #layout.dist<a = sliced(1)>>"

READS_PARTIAL_IN_PARTS = f"""
layout.mesh @mesh(a = 2)
func.func @f(%x: {COLUMNS}, %w: {M}) -> {M} {{
  %g = coll.all_gather %x over [a] : {COLUMNS} -> {M}
  %mm = comp.matmul %g, %w : ({M}, {M}) -> {M}
  %y = arith.subf %g, %mm : {M}
  func.return %y : {M}
}}
"""
"""%mm becomes partial; %y, which moves too, reads a part of its reduction."""

L, LS = (
    "tensor<?x?xf32, #layout.dist<b = local>>",
    "tensor<?x?xf32, #layout.dist<a = sliced(1), b = local>>",
)

LOCAL_BESIDE_REPLICATED = f"""
layout.mesh @mesh(a = 2, b = 2)
func.func @f(%x: {LS}, %w: {V}) -> {L} {{
  %g = coll.all_gather %x over [a] : {LS} -> {L}
  %y = comp.rms_norm %g, %w {{eps = 1.0e-2 : f32}} : ({L}, {V}) -> {L}
  func.return %y : {L}
}}
"""
"""What rms_norm decomposes into multiplies a local tensor by a weight that is replicated."""

P, PV = (
    "tensor<?x?xf32, #layout.dist<b = partial(sum)>>",
    "tensor<?xf32, #layout.dist<b = partial(sum)>>",
)
PS = "tensor<?x?xf32, #layout.dist<a = sliced(1), b = partial(sum)>>"
K, KS = (
    "tensor<?x?xf32, #layout.dist<b = sliced(1)>>",
    "tensor<?x?xf32, #layout.dist<a = sliced(1), b = sliced(0)>>",
)

MEAN_OF_PARTIAL = f"""
layout.mesh @mesh(a = 2, b = 2)
func.func @f(%x: {K}, %w: {KS}) -> {V} {{
  %mm = comp.matmul %x, %w : ({K}, {KS}) -> {PS}
  %g = coll.all_gather %mm over [a] : {PS} -> {P}
  %mean = comp.mean %g dims [1] : {P} -> {PV}
  %y = coll.all_reduce sum %mean over [b] : {PV} -> {V}
  func.return %y : {V}
}}
"""
"""The steps of a mean hold a splat, which cannot be partial: it stays behind the gather."""


PARTIAL_OF_PARTIAL = f"""
layout.mesh @mesh(a = 2)
func.func @f(%x: {ROWS}) -> {M} {{
  %g = coll.all_gather %x over [a] : {ROWS} -> {M}
  %t = comp.transpose %g perm [1, 0] : {M} -> {M}
  %mm = comp.matmul %t, %g : ({M}, {M}) -> {M}
  %y = comp.matmul %t, %mm : ({M}, {M}) -> {M}
  func.return %y : {M}
}}
"""
"""%mm is asked for its rows while half of its operands are parts."""


TWO_PARTS_OF_ONE = f"""
layout.mesh @mesh(a = 2)
func.func @f(%x: {ROWS}) -> {M} {{
  %g = coll.all_gather %x over [a] : {ROWS} -> {M}
  %t = comp.transpose %g perm [1, 0] : {M} -> {M}
  %mm = comp.matmul %t, %t : ({M}, {M}) -> {M}
  %y = comp.matmul %t, %mm : ({M}, {M}) -> {M}
  func.return %y : {M}
}}
"""
"""%y asks %mm for its rows, and %mm then %t for its own, of which there are columns."""

CASES = {
    "two parts of one": (TWO_PARTS_OF_ONE, True),
    "partial in parts": (READS_PARTIAL_IN_PARTS, True),
    "partial of a partial": (PARTIAL_OF_PARTIAL, True),
    "local beside replicated": (LOCAL_BESIDE_REPLICATED, True),
    "mean of a partial": (MEAN_OF_PARTIAL, False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mesh", [{"a": 1}, {"a": 3}, {"a": 2}])
def test_reorder_keeps_the_program(name: str, mesh: dict[str, int]) -> None:
    text, applied = CASES[name]
    before, after = Program.parse(text).module, Program.parse(text).module
    func = Program(after).function()
    assert reorder(func, "g", allow_more_bytes=True).applied == applied
    check(after)
    assert after.is_structurally_equivalent(before) != applied
    inputs = generate(func, bind_mesh(func, mesh), {}, {"x": (5, 5)}, 0)
    first = run(Program(before).function(), mesh, inputs, exact=True)
    for row in api.compare(first, run(func, mesh, inputs, exact=True)):
        assert row.relative <= 1e-12, row


def test_canonicalize_leaves_a_region_its_collective() -> None:
    text = f"""
layout.mesh @mesh(a = 2)
func.func @f(%x: {M}) -> {M} {{
  %s = layout.slice %x over [a] dim 0 : {M} -> {ROWS}
  %y = coll.fused over [a] {{
    %g = coll.all_gather %s over [a] : {ROWS} -> {M}
    coll.yield %g : {M}
  }}
  func.return %y : {M}
}}
"""
    module = Program.parse(text).module
    CanonicalizePass().apply(make_context(), module)
    check(module)


UPDATED_IN_A_REGION = f"""
layout.mesh @mesh(a = 2)
func.func @f(%s: {ROWS}, %n: {ROWS}, %x: {M}) -> {M} {{
  %g = coll.all_gather %s over [a] : {ROWS} -> {M}
  %u = coll.fused {{
    %t = math.tanh %n : {ROWS}
    %v = comp.update %s, %t : {ROWS}
    coll.yield %v : {ROWS}
  }}
  %y = arith.addf %g, %x : {M}
  func.return %y : {M}
}}
"""
"""%y would read %s after the fused operation has overwritten it."""

VIEW_OF_A_REGION = f"""
layout.mesh @mesh(a = 2)
func.func @f(%s: {M}, %n: {M}, %x: {M}) -> {M} {{
  %r, %q = coll.fused {{
    %v = layout.slice %s over [a] dim 0 : {M} -> {ROWS}
    %t = math.tanh %v : {ROWS}
    coll.yield %v, %t : {ROWS}, {ROWS}
  }}
  %g = coll.all_gather %r over [a] : {ROWS} -> {M}
  %u = comp.update %s, %n : {M}
  %y = arith.addf %g, %x : {M}
  func.return %y : {M}
}}
"""
"""So would it here: what the region gives is the memory of %s."""


@pytest.mark.parametrize(
    "text", [UPDATED_IN_A_REGION, VIEW_OF_A_REGION], ids=["updated in", "view of"]
)
def test_reorder_reads_nothing_that_is_overwritten(text: str) -> None:
    program = Program.parse(text)
    assert reorder(program.function(), "g").reason is Reason.UPDATE_ORDER
    check(program.module)


def test_canonicalize_keeps_a_copy_of_what_a_region_gives() -> None:
    text = VIEW_OF_A_REGION.replace(
        f"%y = arith.addf %g, %x : {M}",
        f"%p = layout.slice %g over [a] dim 0 : {M} -> {ROWS}\n"
        f"  %z = math.tanh %p : {ROWS}\n"
        f"  %y = coll.all_gather %z over [a] : {ROWS} -> {M}",
    )
    module = Program.parse(text).module
    CanonicalizePass().apply(make_context(), module)
    check(module)


def test_fuse_takes_in_nothing_that_an_update_outside_waits_for() -> None:
    program = Program.parse(f"""
func.func @f(%s: {M}, %n: {M}) -> ({M}, {M}) {{
  %old = math.tanh %s : {M}
  %new = comp.update %s, %n : {M}
  %both = arith.addf %old, %new : {M}
  %y = math.exp %both : {M}
  %z = math.absf %y : {M}
  func.return %z, %new : {M}, {M}
}}
""")
    func = program.function()
    (region,) = fuse(func, ("y", "z"), between=True).made
    check(program.module)
    inside = [name_of(op) for op in region.regions[0].block.ops]
    assert inside == ["both", "y", "z", None]


SPENT_REGIONS = {
    "an overlap with one stage": f"""
  %y, %z = coll.overlap {{
    %mm = comp.matmul %x, %w : ({ROWS}, {M}) -> {ROWS}
    %g = coll.all_gather %mm over [a] : {ROWS} -> {M}
    %h = math.tanh %mm : {ROWS}
    coll.yield %mm, %h : {ROWS}, {ROWS}
  }}
""",
    "a fused operation without its collective": f"""
  %y, %z = coll.fused over [a] {{
    %t = math.tanh %x : {ROWS}
    %g = coll.all_gather %t over [a] : {ROWS} -> {M}
    %h = math.tanh %t : {ROWS}
    coll.yield %t, %h : {ROWS}, {ROWS}
  }}
""",
    "a fused operation with two ends": f"""
  %s = coll.all_to_all %x over [a] from 0 to 1 : {ROWS} -> {COLUMNS}
  %y, %z = coll.fused over [a] {{
    %t = coll.all_to_all %s over [a] from 1 to 0 : {COLUMNS} -> {ROWS}
    %dead = math.tanh %t : {ROWS}
    %b = coll.all_to_all %s over [a] from 1 to 0 : {COLUMNS} -> {ROWS}
    coll.yield %t, %b : {ROWS}, {ROWS}
  }}
""",
}


@pytest.mark.parametrize("name", SPENT_REGIONS)
def test_canonicalize_leaves_no_region_that_lost_what_it_needs(name: str) -> None:
    module = Program.parse(f"""
layout.mesh @mesh(a = 2)
func.func @f(%x: {ROWS}, %w: {M}) -> ({ROWS}, {ROWS}) {{{SPENT_REGIONS[name]}  func.return %y, %z : {ROWS}, {ROWS}
}}
""").module
    CanonicalizePass().apply(make_context(), module)
    check(module)
    assert "%g" not in print_module(module)


def test_a_view_that_another_kernel_hands_on_is_still_ones_own_slice() -> None:
    program = Program.parse("""
layout.mesh @mesh(a = 2)
!x = tensor<?xf32>
!s = tensor<?xf32, #layout.dist<a = sliced(0)>>
func.func @f(%m: !x, %g: !s) -> !s {
  %part = layout.slice %m over [a] dim 0 : !x -> !s
  %y = arith.mulf %part, %part : !s
  %new = arith.addf %part, %g : !s
  %ag = coll.all_gather %new over [a] : !s -> !x
  %u = comp.update %m, %ag : !x
  func.return %y : !s
}
""")
    func = program.function()
    assert fuse(func, ("new", "ag", "u"), named="step").applied
    assert fuse(func, ("part", "y"), named="square").applied
    check(program.module)
