"""The program of one rank, run on every rank, computes the same bits as the distributed program in the simulator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
from coconet_ir.sim.binding import Input, bind_mesh, the_function
from coconet_ir.sim.compare import compare
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.ranks import run_ranks
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
OPEN = 0
Shapes = Mapping[str, Sequence[int | None]]


def lowered(module: ModuleOp) -> ModuleOp:
    """The program of one rank, as its text says it."""
    copy = module.clone()
    LowerToRanksPass().apply(make_context(), copy)
    check(copy)
    text = print_module(copy)
    again = parse_program(make_context(), text, "lowered.mlir")
    assert print_module(again) == text
    return again


def agree(func: FuncOp, low: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input]) -> None:
    """Fail unless both compute the same bits."""
    rows = compare(run(func, mesh, inputs), run_ranks(low, mesh, inputs))
    assert rows
    assert all(row.within(None) for row in rows), (mesh, rows)


def check_text(
    text: str, meshes: Sequence[Mapping[str, int]], shapes: Sequence[Shapes], **given: Input
) -> None:
    """Compare a program with what it is lowered to, on each mesh with each shape."""
    module = parse_program(make_context(), text, "test.mlir")
    func, low = the_function(module, None), the_function(lowered(module), None)
    for mesh in meshes:
        for seed, shape in enumerate(shapes):
            inputs = generate(func, bind_mesh(func, mesh), given, shape, seed)
            agree(func, low, mesh, inputs)


# Examples and what schedules make of them

SHAPES: dict[str, Shapes] = {
    **{
        name: {"w": (OPEN,)}
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    **{
        name: {"residual": (2, OPEN, 3)}
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "two_axes": {"w": (OPEN, 5)},
    "rmsnorm": {"stream": (2, OPEN, 5)},
    "moe": {"x": (OPEN, 3, 2), "w_up": (OPEN, None, 3)},
    "buckets": {"up": (OPEN, 3), "bias": (OPEN,), "down": (5, OPEN)},
}
"""Shapes of arguments of each example, `OPEN` where they take the sizes of `CASES`."""

CASES = ((8, 11), (2, 8), (3, 1), (5, 0), (1, 7))
"""Numbers of ranks, with sizes that they divide and do not, primes, 1 and 0."""

FORMS = [*sorted(EXAMPLES.glob("*.mlir")), *sorted((EXAMPLES / "expected").glob("*.mlir"))]


def mesh_of(axes: Sequence[str], ranks: int, size: int) -> dict[str, int]:
    """So many ranks on one axis, or two: in turn, most of them outside and inside."""
    if len(axes) == 1:
        return {axes[0]: ranks}
    outer = {1: 1, 2: 1 + size % 2, 3: 3, 5: 1, 8: 2}[ranks]
    return {axes[0]: outer, axes[1]: ranks // outer}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    module = parse_program(make_context(), path.read_text(), str(path))
    func, low = the_function(module, None), the_function(lowered(module), None)
    for ranks, size in CASES[:2] if ".split" in path.stem else CASES:
        mesh = mesh_of(bind_mesh(func, {}).axes, ranks, size)
        shapes = {
            name: tuple(size if extent == OPEN else extent for extent in shape)
            for name, shape in SHAPES[path.stem.split(".")[0]].items()
        }
        agree(func, low, mesh, generate(func, bind_mesh(func, mesh), {}, shapes, size))


# Collectives

MESH3 = "layout.mesh @mesh(a = 2, b = 2, c = 2)"
MESHES3 = tuple(
    {"a": a, "b": b, "c": c} for a, b, c in ((1, 1, 1), (2, 3, 1), (3, 2, 2), (1, 5, 1), (2, 2, 3))
)


def test_reductions_over_several_axes_in_the_order_listed() -> None:
    check_text(
        f"""{MESH3}
!x = tensor<?x?xf32, #layout.dist<a = local, b = sliced(1), c = local>>
func.func @f(%x: !x) -> (tensor<?x?xf32, #layout.dist<b = sliced(1)>>,
                         tensor<?x?xf32, #layout.dist<[b, c, a] = sliced(1)>>,
                         tensor<?x?xf32, #layout.dist<b = sliced(1), [c, a] = sliced(0, 2)>>,
                         tensor<?x?xf32, #layout.dist<b = sliced(1)>>) {{
  %sum = coll.all_reduce sum %x over [c, a] : !x -> tensor<?x?xf32, #layout.dist<b = sliced(1)>>
  %cut = coll.reduce_scatter avg %x over [c, a] dim 1 : !x -> tensor<?x?xf32, #layout.dist<[b, c, a] = sliced(1)>>
  %units = coll.reduce_scatter sum %x over [c, a] dim 0 {{unit = 2}}
    : !x -> tensor<?x?xf32, #layout.dist<b = sliced(1), [c, a] = sliced(0, 2)>>
  %least = coll.all_reduce min %x over [a, c] : !x -> tensor<?x?xf32, #layout.dist<b = sliced(1)>>
  func.return %sum, %cut, %units, %least
    : tensor<?x?xf32, #layout.dist<b = sliced(1)>>, tensor<?x?xf32, #layout.dist<[b, c, a] = sliced(1)>>,
      tensor<?x?xf32, #layout.dist<b = sliced(1), [c, a] = sliced(0, 2)>>, tensor<?x?xf32, #layout.dist<b = sliced(1)>>
}}""",
        MESHES3,
        ({"x": (3, 13)}, {"x": (7, 5)}, {"x": (1, 1)}, {"x": (0, 4)}, {"x": (12, 12)}),
    )


def test_blocks_of_blocks() -> None:
    """Cuts of cut dimensions, gathered and exchanged again, from the inside out."""
    check_text(
        f"""{MESH3}
!w = tensor<?x?x?xf32>
!c = tensor<?x?x?xf32, #layout.dist<c = sliced(1, 2)>>
!cab = tensor<?x?x?xf32, #layout.dist<[c, a, b] = sliced(1, 2)>>
!ca = tensor<?x?x?xf32, #layout.dist<[c, a] = sliced(1, 2)>>
!moved = tensor<?x?x?xf32, #layout.dist<[a, b] = sliced(2), c = sliced(1, 2)>>
func.func @f(%w: !w) -> (!cab, !ca, !c, !w, !moved, !cab) {{
  %c = layout.slice %w over [c] dim 1 {{unit = 2}} : !w -> !c
  %cab = layout.slice %c over [a, b] dim 1 {{unit = 2}} : !c -> !cab
  %ca = coll.all_gather %cab over [b] : !cab -> !ca
  %back = coll.all_gather %cab over [a, b] : !cab -> !c
  %all = coll.all_gather %cab over [c, a, b] : !cab -> !w
  %moved = coll.all_to_all %cab over [a, b] from 1 to 2 : !cab -> !moved
  %again = coll.all_to_all %moved over [a, b] from 2 to 1 {{unit = 2}} : !moved -> !cab
  func.return %cab, %ca, %back, %all, %moved, %again : !cab, !ca, !c, !w, !moved, !cab
}}""",
        MESHES3,
        ({"w": (2, 13, 7)}, {"w": (1, 4, 1)}, {"w": (3, 0, 5)}, {"w": (1, 24, 12)}),
    )


def test_one_rank_alone_and_one_to_another() -> None:
    check_text(
        f"""{MESH3}
!x = tensor<?xf32, #layout.dist<a = local, b = local>>
!root = tensor<?xf32, #layout.dist<a = root(0), b = root(1)>>
!b = tensor<?xf32, #layout.dist<b = local>>
!i = tensor<?xi32, #layout.dist<a = local, b = sliced(0)>>
func.func @f(%x: !x, %i: !i) -> (!root, tensor<?xf32>, !b, !x, !x, !i) {{
  %sum = coll.reduce sum %x over [b, a] root [1, 0] : !x -> !root
  %root = arith.mulf %sum, %sum : !root
  %all = coll.broadcast %root over [a, b] root [0, 1] : !root -> tensor<?xf32>
  %one = coll.broadcast %x over [a] root 0 : !x -> !b
  %shifted = coll.permute %x over [b] shift -1 : !x -> !x
  %sent = coll.permute %x over [b] pairs [[0, 1], [1, 0]] : !x -> !x
  %some = coll.permute %i over [a] pairs [[0, 0]] : !i -> !i
  func.return %root, %all, %one, %shifted, %sent, %some : !root, tensor<?xf32>, !b, !x, !x, !i
}}""",
        ({"a": 2, "b": 2, "c": 1}, {"a": 1, "b": 3, "c": 2}, {"a": 3, "b": 5, "c": 1}),
        ({"x": (5,), "i": (7,)}, {"x": (0,), "i": (1,)}),
    )


@pytest.mark.parametrize(
    ("kind", "element", "options", "result"),
    [
        ("sum", "f32", "{wire = bf16}", "f32"),
        ("avg", "f32", "{wire = f8E5M2, accumulate = f64}", "f64"),
        ("prod", "f16", "{accumulate = f32}", "f32"),
        ("max", "f16", "", "f16"),
        ("avg", "f16", "", "f16"),
        ("sum", "f16", "{wire = bf16, accumulate = f64}", "f16"),
        ("avg", "bf16", "{accumulate = bf16}", "bf16"),
        ("avg", "bf16", "{accumulate = bf16, order = #coll.order<ranks>}", "bf16"),
        ("min", "f32", "{order = #coll.order<ranks>}", "f32"),
        ("sum", "f16", "{order = #coll.order<ranks>, wire = f32}", "f16"),
        ("prod", "f64", "{wire = f32, order = #coll.order<ranks>}", "f64"),
    ],
)
def test_precision_of_reductions(kind: str, element: str, options: str, result: str) -> None:
    """Also of tensors without dimensions, and on a dimension other than the first."""
    check_text(
        f"""layout.mesh @mesh(dp = 2)
!x = tensor<?x?x{element}, #layout.dist<dp = local>>
!y = tensor<?x?x{result}>
!s = tensor<?x?x{result}, #layout.dist<dp = sliced(1)>>
!r = tensor<?x?x{result}, #layout.dist<dp = root(0)>>
func.func @f(%x: !x, %z: tensor<{element}, #layout.dist<dp = local>>) -> (!y, !s, !r, tensor<{result}>) {{
  %0 = coll.all_reduce {kind} %x over [dp] {options} : !x -> !y
  %1 = coll.reduce_scatter {kind} %x over [dp] dim 1 {options} : !x -> !s
  %2 = coll.reduce {kind} %x over [dp] root 0 {options} : !x -> !r
  %3 = coll.all_reduce {kind} %z over [dp] {options}
    : tensor<{element}, #layout.dist<dp = local>> -> tensor<{result}>
  func.return %0, %1, %2, %3 : !y, !s, !r, tensor<{result}>
}}""",
        ({"dp": 1}, {"dp": 5}),
        ({"x": (2, 7)}, {"x": (3, 0)}),
    )


def test_extremes_signs_and_integers() -> None:
    check_text(
        """layout.mesh @mesh(dp = 3)
!x = tensor<4xf32, #layout.dist<dp = local>>
!i = tensor<4xi32, #layout.dist<dp = local>>
!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>
func.func @f(%x: !x, %i: !i, %w: !part) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xi32>, tensor<f32>) {
  %sum = coll.all_reduce sum %x over [dp] {order = #coll.order<ranks>} : !x -> tensor<4xf32>
  %most = coll.all_reduce max %x over [dp] {wire = bf16} : !x -> tensor<4xf32>
  %wide = coll.all_reduce sum %i over [dp] {accumulate = i64} : !i -> tensor<4xi64>
  %least = coll.all_reduce min %i over [dp] {order = #coll.order<ranks>, wire = i64, accumulate = i64}
    : !i -> tensor<4xi32>
  %mine = comp.reduce max %w dims [0] : !part -> tensor<f32, #layout.dist<dp = partial(max)>>
  %all = coll.all_reduce max %mine over [dp] {wire = bf16} : tensor<f32, #layout.dist<dp = partial(max)>> -> tensor<f32>
  func.return %sum, %most, %wide, %least, %all : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xi32>, tensor<f32>
}""",
        ({"dp": 3},),
        ({"w": (2,)}, {"w": (0,)}),
        x=np.asarray(
            [[-0.0, 0.0, np.inf, 1e30], [-0.0, -0.0, -np.inf, -1e30], [-0.0, 1, 3, np.nan]],
            np.float32,
        ),
        i=np.asarray([[2**31 - 1, -7, 0, 1]] * 3, np.int32),
    )


# Computations


def test_what_is_made_has_the_size_of_a_block() -> None:
    check_text(
        f"""{MESH3}
!s = tensor<?x6xf32, #layout.dist<[b, a] = sliced(1), c = sliced(0)>>
!six = tensor<6xf32, #layout.dist<[b, a] = sliced(0)>>
!w = tensor<?xf32, #layout.dist<c = sliced(0)>>
func.func @f(%w: !w, %whole: tensor<?x6xf32>, %s: f32) -> (!s, !s, !s, !s, !six, tensor<2xi1>) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !w
  %numbers = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : !six
  %ones = arith.constant dense<1.0> : !six
  %flags = arith.constant dense<[true, false]> : tensor<2xi1>
  %sum = arith.addf %numbers, %ones : !six
  %splat = tensor.splat %s[%n] : !s
  // What `like` says of the shape is not how the result lies.
  %columns = comp.broadcast %sum dims [1] like %whole : !six, tensor<?x6xf32> -> !s
  %rows = comp.broadcast %w dims [0] : !w -> !s
  %all = arith.addf %columns, %rows : !s
  func.return %splat, %columns, %rows, %all, %sum, %flags : !s, !s, !s, !s, !six, tensor<2xi1>
}}""",
        MESHES3,
        ({"w": (7,)}, {"w": (1,)}, {"w": (0,)}),
    )


def test_static_sizes_that_are_cut_are_told() -> None:
    text = """
    layout.mesh @mesh(dp = 4)
    !x = tensor<7x?xf32, #layout.dist<dp = sliced(0)>>
    func.func @f(%x: !x) -> !x {
      %y = arith.addf %x, %x : !x
      func.return %y : !x
    }"""
    check_text(text, [{"dp": 3}], [{"x": (7, 2)}])
    low = the_function(lowered(parse_program(make_context(), text, "test.mlir")), None)
    message = r"needs a tensor<7x\?xf32> for %x, but is given 8x2"
    with pytest.raises(IRError, match=message):
        run_ranks(low, {"dp": 3}, {"x": np.zeros((8, 2), np.float32)})


def test_products_of_dimensions() -> None:
    check_text(
        """layout.mesh @mesh(tp = 2)
!flat = tensor<?x?xf32, #layout.dist<tp = sliced(1, 6)>>
!split = tensor<?x?x2x3xf32, #layout.dist<tp = sliced(1)>>
!turned = tensor<2x?x3x?xf32, #layout.dist<tp = sliced(1)>>
!none = tensor<8x0xf32, #layout.dist<tp = sliced(0)>>
!nothing = tensor<0xf32, #layout.dist<tp = sliced(0)>>
func.func @f(%x: !flat, %nothing: !nothing, %y: tensor<?xf32>, %n: index, %s: f32)
    -> (!split, !turned, !flat, !none, tensor<?xf32>, index) {
  %split = comp.reshape %x [b, (h d e)] -> [b, h, d, e] : !flat -> !split
  %turned = comp.transpose %split perm [2, 1, 3, 0] : !split -> !turned
  %back = comp.reshape %split [b, h, d, e] -> [b, (h d e)] : !split -> !flat
  %none = comp.reshape %nothing [(a b)] -> [a, b] : !nothing -> !none
  // Of what %y is the product no argument tells.
  %table = tensor.splat %s[%n, %n] : tensor<?x?xf32>
  %list = comp.reshape %table [a, b] -> [(a b)] : tensor<?x?xf32> -> tensor<?xf32>
  %sum = arith.addf %y, %list : tensor<?xf32>
  %c0 = arith.constant 0 : index
  %size = tensor.dim %y, %c0 : tensor<?xf32>
  func.return %split, %turned, %back, %none, %sum, %size
    : !split, !turned, !flat, !none, tensor<?xf32>, index
}""",
        ({"tp": 1}, {"tp": 2}, {"tp": 3}, {"tp": 5}),
        ({"x": (2, 42)}, {"x": (1, 6)}, {"x": (0, 0)}),
        n=3,
        y=np.arange(9, dtype=np.float32),
    )


def test_places_decide_what_is_dropped_and_which_segment_it_is() -> None:
    check_text(
        f"""{MESH3}
!x = tensor<?x?xf32, #layout.dist<a = local, [b, c] = sliced(1)>>
!own = tensor<?xf32, #layout.dist<a = local, b = sliced(0), c = local>>
!flat = tensor<?xf32, #layout.dist<[c, b] = sliced(0, 2)>>
!sums = tensor<?xf32, #layout.dist<b = partial(sum), c = partial(sum)>>
func.func @f(%x: !x, %own: !own, %seed: i64, %flat: !flat, %ends: tensor<?xi64>, %each: tensor<?xf32>)
    -> (!x, !own, tensor<?xf32>, !flat, index) {{
  %kept = comp.dropout %x, %seed {{p = 0.4 : f32, id = 7}} : !x
  %mine_alone = comp.dropout %own, %seed {{p = 0.4 : f32, id = 8}} : !own
  %mine = comp.segment_reduce sum %flat, %ends : (!flat, tensor<?xi64>) -> !sums
  %sums = coll.all_reduce sum %mine over [b, c] : !sums -> tensor<?xf32>
  %spread = comp.segment_broadcast %each, %ends like %flat : (tensor<?xf32>, tensor<?xi64>, !flat) -> !flat
  %c0 = arith.constant 0 : index
  %count = tensor.dim %sums, %c0 : tensor<?xf32>
  func.return %kept, %mine_alone, %sums, %spread, %count : !x, !own, tensor<?xf32>, !flat, index
}}""",
        MESHES3,
        (
            {"x": (3, 7), "own": (9,), "flat": (11,), "ends": (4,), "each": (3,)},
            {"x": (1, 1), "own": (1,), "flat": (0,), "ends": (2,), "each": (1,)},
        ),
    )


def test_bodies_of_custom_operations_see_blocks() -> None:
    check_text(
        """layout.mesh @mesh(tp = 2)
!x = tensor<?x4xf32, #layout.dist<tp = sliced(0)>>
!z = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
comp.define @scaled rule [m, n] () -> [m, n] [m, k], n = whole, k = whole {
^bb0(%x: tensor<?x?xf32>, %s: f32):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %s_t = tensor.splat %s[%m, %n] : tensor<?x?xf32>
  %y = arith.mulf %x, %s_t : tensor<?x?xf32>
  %three = arith.constant 3 : index
  %z = tensor.splat %s[%m, %three] : tensor<?x?xf32>
  comp.yield %y, %z : tensor<?x?xf32>, tensor<?x?xf32>
}
func.func @f(%x: !x, %s: f32) -> (!x, !z, !z, index) {
  %y, %z = comp.custom @scaled(%x, %s) : (!x, f32) -> (!x, !z)
  %y2, %z2 = comp.custom @scaled(%y, %s) : (!x, f32) -> (!x, !z)
  %one = arith.constant 1 : index
  %three = tensor.dim %z2, %one : !z
  func.return %y2, %z, %z2, %three : !x, !z, !z, index
}""",
        ({"tp": 1}, {"tp": 3}),
        ({"x": (7, 4)}, {"x": (0, 4)}),
    )


def test_scalars_of_arguments_and_of_tensors() -> None:
    check_text(
        """layout.mesh @mesh(tp = 2)
!x = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
func.func @f(%x: !x, %w: tensor<?xf32>, %k: index) -> (tensor<?xf32>, tensor<?xf32>, tensor<f32>, f32, index) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %ranks = layout.axis_size over [tp] : index
  %size = arith.muli %n, %k : index
  %some = arith.addi %size, %ranks : index
  %sum = comp.reduce sum %w dims [0] : tensor<?xf32> -> tensor<f32>
  %total = tensor.extract %sum[] : tensor<f32>
  %half = arith.addf %total, %total : f32
  %made = tensor.splat %half[%some] : tensor<?xf32>
  %soft = comp.softmax %w dim 0 : tensor<?xf32>
  %mean = comp.mean %w : tensor<?xf32> -> tensor<f32>
  func.return %made, %soft, %mean, %half, %some : tensor<?xf32>, tensor<?xf32>, tensor<f32>, f32, index
}""",
        ({"tp": 1}, {"tp": 5}),
        ({"x": (7, 2), "w": (6,)}, {"x": (0, 1), "w": (0,)}),
        k=2,
    )


# Random programs


def test_random_programs(random_programs: Any) -> None:
    programs, generator, steps = random_programs
    for seed in range(2000, 2010):
        rng = random.Random(seed)
        program = generator.Generator(rng).program(rng.choice((6, 8, 12)), steps.STEPS)
        mesh, inputs = programs.bind(rng, program)
        check(program.module)
        low = the_function(lowered(program.module), None)
        if program.func.function_type.outputs.data:
            agree(program.func, low, mesh, inputs)
