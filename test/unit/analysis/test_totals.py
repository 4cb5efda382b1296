"""Totals against what the simulator's ranks hold and exchange, where every block is full."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.analysis.bytes import show
from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.totals import launches, totals, value
from coconet_ir.analysis.verifier import STATE
from coconet_ir.dialects import coll
from coconet_ir.dialects.elements import element_of
from coconet_ir.passes.fuse import fuse
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.split import split
from coconet_ir.program import Program
from coconet_ir.sim.binding import Input, bind_inputs, bind_mesh
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import Group, InProcess
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.mesh import Mesh

EXAMPLES = Path(__file__).parents[3] / "examples"

EVERYTHING = """
layout.mesh @mesh(dp = 2, tp = 2)
!local = tensor<?x12xf32, #layout.dist<dp = local>>
!both = tensor<?x12xf32, #layout.dist<dp = local, tp = local>>
!rows = tensor<?x12xf32, #layout.dist<dp = sliced(0)>>
!columns = tensor<?x12xf32, #layout.dist<dp = sliced(1)>>
!root = tensor<?x12xf32, #layout.dist<dp = root(0)>>
!inner = tensor<?x12xf32, #layout.dist<dp = local, tp = sliced(0)>>
!block = tensor<?x12xf32, #layout.dist<tp = sliced(0)>>
!whole = tensor<?x12xf32>
func.func @f(%x: !local, %y: !both, %z: !inner, %i: tensor<?xi1, #layout.dist<dp = sliced(0)>>,
             %h: tensor<?x12xf16, #layout.dist<tp = local>>, %w: !block {coconet.state},
             %s: !rows {coconet.state}, %lr: f32) -> tensor<?xi1> {
  %a = coll.all_reduce sum %y over [dp, tp] {wire = f16} : !both -> !whole
  %b = coll.reduce_scatter max %x over [dp] dim 0 : !local -> !rows
  %c = coll.all_to_all %b over [dp] from 0 to 1 : !rows -> !columns
  %d = coll.reduce sum %x over [dp] root 0 : !local -> !root
  %e = coll.broadcast %d over [dp] root 0 : !root -> !whole
  %f = coll.permute %x over [dp] shift 1 : !local -> !local
  %g = coll.all_gather %i over [dp] : tensor<?xi1, #layout.dist<dp = sliced(0)>> -> tensor<?xi1>
  %k = coll.fused over [tp] {
    %in = coll.all_reduce avg %h over [tp] : tensor<?x12xf16, #layout.dist<tp = local>> -> tensor<?x12xf16>
    %twice = arith.addf %in, %in : tensor<?x12xf16>
    coll.yield %twice : tensor<?x12xf16>
  }
  %m = coll.all_reduce sum %z over [dp] : !inner -> !block
  %n = comp.update %w, %m : !block
  func.return %g : tensor<?xi1>
}
"""


class Counted(InProcess):
    """Counts the bytes that each rank sends, by the algorithms that send least."""

    def __init__(self, mesh: Mesh):
        super().__init__(mesh.ranks)
        self.sent: dict[int, Fraction | int] = dict.fromkeys(range(mesh.ranks), 0)
        self.op: Operation | None = None

    def enter(self, op: Operation) -> None:
        self.op = op

    def gather(self, group: Group, held: Mapping[int, Array]) -> list[Array]:
        arrays = super().gather(group, held)
        for rank, array in zip(group, arrays, strict=True):
            if self.op is not None:
                self.sent[rank] += _sends(self.op, array, len(group))
        return arrays

    def finish(self) -> None:
        self.op = None  # what follows puts the outputs together


def _sends(op: Operation, array: Array, ranks: int) -> Fraction | int:
    """What one rank sends that has `array` in a group of so many."""
    width = array.itemsize
    if isinstance(op, coll.ReducingOp) and op.wire is not None:
        width = Numbers().dtype(op.wire).itemsize
    part = Fraction(array.size * width, ranks)
    match op:
        case coll.AllGatherOp():  # its own block, and those that pass on the way around
            return (ranks - 1) * array.nbytes
        case coll.ReduceScatterOp() | coll.AllToAllOp() | coll.ReduceOp() | coll.BroadcastOp():
            return (ranks - 1) * part
        case coll.AllReduceOp():  # reduced in parts, which then pass on the way around
            result = Numbers().dtype(element_of(op.output.type)).itemsize
            return (ranks - 1) * (part + Fraction(array.size * result, ranks))
        case coll.PermuteOp():
            return array.nbytes
        case _:
            raise AssertionError(op.name)


def _sizes(func: FuncOp, inputs: Mapping[str, Input]) -> dict[str, int]:
    """The extents of the arguments, by their names in terms."""
    return {
        f"{arg.name_hint}.{dim}": extent
        for arg in func.body.block.args
        if arg.name_hint is not None and (rank := rank_of(arg.type))
        for dim, extent in enumerate(np.shape(inputs[arg.name_hint])[-rank:])
    }


def _check(
    func: FuncOp, mesh: dict[str, int], shapes: Mapping[str, tuple[int | None, ...]]
) -> None:
    """Compare the terms of a function with what ranks send and hold of inputs of these shapes."""
    inputs = generate(func, bind_mesh(func, mesh), {}, shapes, 0)
    bound, sizes = bind_mesh(func, mesh), _sizes(func, inputs)
    counted = Counted(bound)
    run(func, mesh, inputs, exchange=lambda _: counted)
    expected = value(totals(func).sent, sizes, mesh)
    assert {counted.sent[rank] for rank in range(bound.ranks)} == {expected}, show(
        totals(func).sent
    )
    held, state = 0, 0
    marks = func.arg_attrs.data if func.arg_attrs is not None else ()
    for arg, given in zip(
        func.body.block.args,
        bind_inputs(func, bound, inputs, Numbers(), range(bound.ranks)),
        strict=True,
    ):
        if rank_of(arg.type) is None:
            continue
        (size,) = {array.nbytes for array in given.arrays}
        held += size
        state += size if marks and STATE in marks[arg.index].data else 0
    assert value(totals(func).arguments, sizes, mesh) == held
    assert value(totals(func).state, sizes, mesh) == state


@pytest.mark.parametrize("mesh", [(1, 1), (2, 1), (1, 3), (2, 3), (4, 2)])
def test_every_collective(mesh: tuple[int, int]) -> None:
    func = Program.parse(EVERYTHING).function()
    shapes = dict.fromkeys("xyzhws", (24, None)) | {"i": (48,)}
    _check(func, dict(zip(("dp", "tp"), mesh, strict=True)), shapes)


@pytest.mark.parametrize("name", ["sgd", "adam", "adam_f32", "lamb", "clip"])
def test_schedules_of_optimizers(name: str) -> None:
    func = Program.load(str(EXAMPLES / f"{name}.mlir")).function()
    _check(func, {"dp": 3}, {"w": (12,)})
    split(func, "avg")
    _check(func, {"dp": 3}, {"w": (12,)})
    reorder(func, "avg_ag")
    _check(func, {"dp": 3}, {"w": (12,)})


def test_terms_are_added_up_and_named() -> None:
    func = Program.parse(EVERYTHING).function()
    assert show(totals(func).state) == "48*s.0/dp + 48*w.0/tp"
    assert dict(totals(func).rows()) == {
        "bytes sent": show(totals(func).sent),
        "bytes of state": show(totals(func).state),
        "bytes of arguments": show(totals(func).arguments),
        "launches": "9",
    }
    assert value(totals(func).state, {"s.0": 5, "w.0": 7}, {"dp": 3, "tp": 2}) == 80 + 168
    assert value(totals(Program.parse(NOTHING).function()).sent, {}, {}) == 0


NOTHING = "func.func @f(%x: f32) { func.return }"


def test_sizes_keep_their_names_over_a_rewrite() -> None:
    """A rewrite that moves operations changes which of them ties dimensions first, and so what sizes are called."""
    path = str(EXAMPLES / "adam_f32.mlir")
    before, after = (Program.load(path).function() for _ in range(2))
    assert fuse(after, ["mu", "mh"], between=True).applied
    assert totals(after).sent != totals(before).sent
    assert totals(after, before).sent == totals(before).sent
    assert totals(after, before).arguments == totals(before).arguments


LAUNCHES = """
layout.mesh @mesh(dp = 2)
!t = tensor<4x4xf32>
!s = tensor<4x4xf32, #layout.dist<dp = sliced(0)>>
!l = tensor<4x4xf32, #layout.dist<dp = local>>
func.func @f(%x: !t, %y: !t, %z: !t, %v: tensor<4xf32>, %p: f32, %i: index, %g: !l) -> !t {{
{}
  func.return %x : !t
}}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("", 0),
        ("%a = arith.addf %x, %x : !t", 1),
        ("%a = comp.matmul %x, %y : (!t, !t) -> !t", 1),
        ("%a = coll.all_reduce sum %g over [dp] : !l -> !t", 1),
        ("%a = comp.norm %x : !t -> tensor<f32>\n%b = tensor.extract %a[] : tensor<f32>", 1),
        ("%a = comp.transpose %x perm [1, 0] : !t -> !t", 1),
        ("%a = layout.slice %x over [dp] dim 0 : !t -> !s", 0),
        ("%a = layout.relax %x over [dp] : !t -> !l", 0),
        ("%a = comp.reshape %x [a, b] -> [(a b)] : !t -> tensor<16xf32>", 0),
        ("%a = arith.constant dense<1.0> : !t", 0),
        ("%a = tensor.splat %p : !t", 0),
        ("%a = comp.broadcast %v dims [1] : tensor<4xf32> -> !t", 0),
        ("%a = tensor.dim %x, %i : !t", 0),
        ("%a = arith.mulf %p, %p : f32", 0),
        ("%a = arith.addf %x, %x : !t\n%b = comp.update %y, %a : !t", 1),
        ("%b = comp.update %y, %x : !t", 1),
        ("%b = comp.update %y, %x : !t\n%c = comp.update %z, %b : !t", 2),
        ("%a = tensor.splat %p : !t\n%b = comp.update %y, %a : !t", 1),
        (
            "%a = comp.reshape %x [a, b] -> [(a b)] : !t -> tensor<16xf32>\n"
            "%c = comp.reshape %a [(a b)] -> [a, b] : tensor<16xf32> -> !t\n%b = comp.update %y, %c : !t",
            1,
        ),
        (
            "%f = coll.fused { %a = arith.addf %x, %x : !t\n %b = arith.mulf %a, %a : !t\n"
            "%c = comp.update %y, %b : !t\n coll.yield %b : !t }\n%u = comp.update %z, %f : !t",
            1,
        ),
        (
            "%o = coll.overlap { %r = coll.reduce_scatter sum %g over [dp] dim 0 : !l -> !s\n"
            "%f = coll.fused over [dp] { %a = arith.mulf %r, %r : !s\n"
            "%c = coll.all_gather %a over [dp] : !s -> !t\n coll.yield %c : !t }\n coll.yield %f : !t }",
            1,
        ),
    ],
)  # fmt: skip
def test_launches(body: str, count: int) -> None:
    assert launches(Program.parse(LAUNCHES.format(body)).function()) == count
