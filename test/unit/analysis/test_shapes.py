"""Classes of equal dimensions: what rules tie together, products, and dimensions that are their own factors."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from coconet_ir.analysis.shapes import Shapes
from coconet_ir.program import Program


def parsed(text: str) -> tuple[FuncOp, dict[str, SSAValue]]:
    func = Program.parse(text).function()
    values: dict[str, SSAValue] = {}
    for value in (
        *func.body.block.args,
        *(op.results[0] for op in func.body.block.ops if op.results),
    ):
        values[value.name_hint or ""] = value
    return func, values


def elements(shapes: Shapes, value: SSAValue) -> str:
    factor, classes = shapes.elements(value)
    return "*".join([str(factor), *map(shapes.label, classes)])


def test_rules_tie_dimensions() -> None:
    func, values = parsed("""
    func.func @f(%x: tensor<?x8xf32>, %w: tensor<8x?xf32>, %b: tensor<?xf32>, %s: f32) {
      %y = comp.matmul %x, %w : (tensor<?x8xf32>, tensor<8x?xf32>) -> tensor<?x?xf32>
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x8xf32>
      %t = tensor.splat %s[%n] : tensor<?xf32>
      %z = arith.addf %t, %b : tensor<?xf32>
      func.return
    }""")
    shapes = Shapes(func)
    assert elements(shapes, values["y"]) == "1*w.1*x.0"
    assert elements(shapes, values["b"]) == elements(shapes, values["z"]) == "1*x.0"


def test_products_come_apart_again() -> None:
    func, values = parsed("""
    func.func @f(%x: tensor<?x6xf32>) {
      %flat = comp.reshape %x [a, b] -> [(a b)] : tensor<?x6xf32> -> tensor<?xf32>
      %apart = comp.reshape %flat [(a b c)] -> [a, b, c] : tensor<?xf32> -> tensor<?x2x3xf32>
      %other = comp.reshape %flat [(a b)] -> [a, b] : tensor<?xf32> -> tensor<?x3xf32>
      func.return
    }""")
    shapes = Shapes(func)
    assert elements(shapes, values["flat"]) == elements(shapes, values["apart"]) == "6*x.0"
    # 3 does not say how much of 6 * x.0 the other factor is.
    assert elements(shapes, values["other"]) == "3*other.0"


def test_a_dimension_may_be_its_own_factor() -> None:
    func, values = parsed("""
    func.func @f(%x: tensor<?x?xf32>, %v: tensor<?xf32>) {
      %flat = comp.reshape %x [a, b] -> [(a b)] : tensor<?x?xf32> -> tensor<?xf32>
      %sum = comp.reduce sum %x dims [1] : tensor<?x?xf32> -> tensor<?xf32>
      %y = arith.addf %flat, %sum : tensor<?xf32>
      func.return
    }""")
    shapes = Shapes(func)
    assert elements(shapes, values["y"]) == "1*flat.0*x.1"


def test_regions_mean_their_bodies_inlined() -> None:
    func, values = parsed("""
    func.func @f(%x: tensor<?x6xf32>, %w: tensor<?x6xf32>) {
      %y = coll.fused {
        %inner = arith.negf %x : tensor<?x6xf32>
        coll.yield %inner : tensor<?x6xf32>
      }
      %z = arith.addf %y, %w : tensor<?x6xf32>
      func.return
    }""")
    shapes = Shapes(func)
    assert elements(shapes, values["w"]) == elements(shapes, values["z"]) == "6*x.0"
