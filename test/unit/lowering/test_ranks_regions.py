"""Fused operations, overlaps and groups in the program of one rank, and what has no such program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from coconet_ir.analysis.customs import custom
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
from coconet_ir.schedule.remarks import collect
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.compare import compare
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.ranks import run_ranks


def lower_text(text: str) -> ModuleOp:
    """The program of one rank."""
    module = parse_program(make_context(), text, "test.mlir")
    LowerToRanksPass().apply(make_context(), module)
    check(module)
    return module


def check_text(
    text: str,
    meshes: Sequence[Mapping[str, int]],
    shapes: Sequence[Mapping[str, Sequence[int | None]]],
) -> None:
    """Compare a program with what it is lowered to, bit for bit, on each mesh with each shape."""
    func = the_function(parse_program(make_context(), text, "test.mlir"), None)
    low = the_function(lower_text(text), None)
    for mesh in meshes:
        for seed, shape in enumerate(shapes):
            inputs = generate(func, bind_mesh(func, mesh), {}, shape, seed)
            rows = compare(run(func, mesh, inputs), run_ranks(low, mesh, inputs))
            assert rows
            assert all(row.within(None) for row in rows), (mesh, rows)


FUSED = """layout.mesh @mesh(dp = 2)
!g = tensor<?xf16, #layout.dist<dp = local>>
!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!part16 = tensor<?xf16, #layout.dist<dp = sliced(0)>>
func.func @f(%g: !g, %m: !part, %s: f32, %p: tensor<?xf16>) -> (!part, f32, tensor<?xf16>) {
  %new, %norm, %all = coll.fused over [dp] {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %m, %c0 : !part
    %avg = coll.reduce_scatter avg %g over [dp] dim 0 {accumulate = f32} : !g -> !part16
    %avg32 = arith.extf %avg : !part16 to !part
    %s_t = tensor.splat %s[%n] : !part
    %old = arith.mulf %m, %s_t : !part
    %sq = arith.mulf %avg32, %avg32 : !part
    %mine = comp.reduce sum %sq dims [0] : !part -> tensor<f32, #layout.dist<dp = partial(sum)>>
    %sum = coll.all_reduce sum %mine over [dp] : tensor<f32, #layout.dist<dp = partial(sum)>> -> tensor<f32>
    %total = tensor.extract %sum[] : tensor<f32>
    %root = math.sqrt %total : f32
    %root_t = tensor.splat %root[%n] : !part
    %unit = arith.divf %avg32, %root_t : !part
    %scaled = arith.mulf %unit, %s_t : !part
    %new = arith.addf %old, %scaled : !part
    %mu = comp.update %m, %new : !part
    %new16 = arith.truncf %mu : !part to !part16
    %all = coll.all_gather %new16 over [dp] : !part16 -> tensor<?xf16>
    %pu = comp.update %p, %all : tensor<?xf16>
    coll.yield %new, %root, %all : !part, f32, tensor<?xf16>
  } {coconet.name = "step"}
  func.return %new, %norm, %all : !part, f32, tensor<?xf16>
}"""


def kernels(module: ModuleOp) -> dict[str, list[str]]:
    """The operations of each kernel by the kernel's name."""
    return {
        str(op.attributes["coconet.name"]).strip('"'): [step.name for step in op.body.block.ops]
        for op in module.walk()
        if isinstance(op, FusedOp)
    }


def test_a_fused_operation_is_one_kernel_between_two_calls() -> None:
    shapes = ({"g": (7,)}, {"g": (0,)}, {"g": (12,)})
    check_text(FUSED, ({"dp": 1}, {"dp": 3}, {"dp": 5}), shapes)
    found = kernels(lower_text(FUSED))
    assert list(found) == ["step_phase1", "step_phase2", "step_phase3", "step_phase4"]
    assert found["step_phase1"] == ["arith.extf", "nccl.pack", "coll.yield"]
    assert "comp.reduce" in found["step_phase2"]
    assert "comp.scale" not in found["step_phase2"]
    # What is needed late is computed late; what costs nothing where it is needed.
    assert found["step_phase2"].count("arith.mulf") == 1
    assert found["step_phase3"].count("arith.mulf") == 2
    assert found["step_phase3"].count("tensor.splat") == 2
    assert found["step_phase3"].count("tensor.extract") == 1
    assert found["step_phase4"] == ["nccl.unpack", "comp.update", "coll.yield"]


def test_what_an_update_overwrites_is_kept_not_read_again() -> None:
    text = """layout.mesh @mesh(dp = 2)
!g = tensor<?xf32, #layout.dist<dp = local>>
!w = tensor<?xf32>
!s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!p = tensor<f32, #layout.dist<dp = partial(sum)>>
func.func @f(%g: !g, %m: !w) -> !s {
  %out = coll.fused over [dp] {
    %ms = layout.slice %m over [dp] dim 0 : !w -> !s
    %sum = coll.reduce_scatter sum %g over [dp] dim 0 : !g -> !s
    %new = arith.addf %sum, %ms : !s
    %all = coll.all_gather %new over [dp] : !s -> !w
    %mine = comp.reduce sum %new dims [0] : !s -> !p
    %total = coll.all_reduce sum %mine over [dp] : !p -> tensor<f32>
    %total_t = comp.broadcast %total dims [] like %new : tensor<f32>, !s -> !s
    %scaled = arith.mulf %new, %total_t : !s
    %again = comp.reduce sum %scaled dims [0] : !s -> !p
    %last = coll.all_reduce sum %again over [dp] : !p -> tensor<f32>
    %last_t = comp.broadcast %last dims [] like %new : tensor<f32>, !s -> !s
    %late = arith.addf %ms, %last_t : !s
    %mu = comp.update %m, %all : !w
    coll.yield %late : !s
  } {coconet.name = "step"}
  func.return %out : !s
}"""
    check_text(text, ({"dp": 1}, {"dp": 3}), ({"m": (7,)},))
    found = kernels(lower_text(text))
    assert "comp.update" in found["step_phase3"]
    slices = {name: ops.count("tensor.extract_slice") for name, ops in found.items()}
    # That of %g's sum, and the one of %m before its update: phase 4 reads what was kept of it.
    assert slices == {"step_phase1": 0, "step_phase2": 2, "step_phase3": 0, "step_phase4": 0}


def test_an_update_waits_for_what_reads_its_target_later() -> None:
    text = """layout.mesh @mesh(dp = 2)
!x = tensor<?xf32, #layout.dist<dp = local>>
func.func @f(%x: !x, %m: tensor<?xf32>, %s: f32) -> tensor<?xf32> {
  %out = coll.fused over [dp] {
    %sum = coll.all_reduce sum %x over [dp] : !x -> tensor<?xf32>
    %new = comp.scale %m by %s : tensor<?xf32>
    %late = arith.addf %m, %sum : tensor<?xf32>
    %mu = comp.update %m, %new : tensor<?xf32>
    coll.yield %late : tensor<?xf32>
  } {coconet.name = "step"}
  func.return %out : tensor<?xf32>
}"""
    check_text(text, ({"dp": 3},), ({"x": (7,)},))
    assert list(kernels(lower_text(text))) == ["step"]


def test_overlaps_and_groups() -> None:
    check_text(
        """layout.mesh @mesh(tp = 2)
!x = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!w = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!y = tensor<?x?xf32, #layout.dist<tp = partial(sum)>>
!s = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!g = tensor<?xf32, #layout.dist<tp = local>>
!z = tensor<f32, #layout.dist<tp = local>>
func.func @f(%x: !x, %w: !w, %g: !g, %z: !z) -> (!s, tensor<?xf32>, tensor<f32>) {
  %out = coll.overlap {
    %y = comp.matmul %x, %w : (!x, !w) -> !y
    %s = coll.reduce_scatter sum %y over [tp] dim 0 : !y -> !s
    coll.yield %s : !s
  } {dim = 0, chunks = 2}
  %a, %b = coll.group over [tp] {
    %a = coll.all_reduce sum %g over [tp] {order = #coll.order<ranks>} : !g -> tensor<?xf32>
    %b = coll.all_reduce sum %z over [tp] {order = #coll.order<ranks>} : !z -> tensor<f32>
    coll.yield %a, %b : tensor<?xf32>, tensor<f32>
  }
  func.return %out, %a, %b : !s, tensor<?xf32>, tensor<f32>
}""",
        ({"tp": 1}, {"tp": 3}),
        ({"x": (7, 4), "w": (4, 3), "g": (5,)}, {"x": (0, 1), "w": (1, 2), "g": (1,)}),
    )


def test_remarks_say_what_was_inlined() -> None:
    module = parse_program(make_context(), FUSED, "test.mlir")
    with collect() as remarks:
        LowerToRanksPass().apply(make_context(), module)
    assert [remark.render() for remark in remarks] == [
        "test.mlir:6:3: remark: lower-to-ranks 'step': applied: its 3 collective(s) are calls of the library, and "
        "what is between them 4 kernel(s)"
    ]


# What there is no program of one rank for


def refused(text: str) -> str:
    module = parse_program(make_context(), text, "test.mlir")
    with pytest.raises(IRError) as caught:
        LowerToRanksPass().apply(make_context(), module)
    return caught.value.render()


def test_operations_without_a_form_are_refused_by_name() -> None:
    assert refused(
        "func.func @f(%x: tensor<1x4x4x1xf32>, %w: tensor<3x3x1x1xf32>) {\n"
        "  %y = comp.conv2d %x, %w : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x2x2x1xf32>\n"
        "  func.return\n}"
    ).startswith(
        "test.mlir:2:3: error: 'comp.conv2d' op is not lowered yet: it has neither a kernel nor a call of a library"
    )


def test_custom_operations_of_python_are_refused_by_name() -> None:
    def doubled(x: Any) -> Any:
        return x + x

    custom("doubled", "[n] -> [n]", doubled)
    assert "op applies @doubled, which Python declares" in refused(
        "func.func @f(%x: tensor<4xf32>) {\n"
        "  %y = comp.custom @doubled(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  func.return\n}"
    )


def test_sizes_that_data_decides_are_refused() -> None:
    assert "op takes a size from the data of a tensor" in refused(
        "func.func @f(%x: tensor<i64>, %s: f32) {\n  %n = tensor.extract %x[] : tensor<i64>\n"
        "  %i = arith.index_cast %n : i64 to index\n  %t = tensor.splat %s[%i] : tensor<?xf32>\n"
        "  func.return\n}"
    )
    assert "op takes a size from the data of a tensor" in refused(
        "func.func @f(%x: tensor<index>, %s: f32) {\n  %n = coll.fused {\n"
        "    %n = tensor.extract %x[] : tensor<index>\n    coll.yield %n : index\n  }\n"
        "  %t = tensor.splat %s[%n] : tensor<?xf32>\n  func.return\n}"
    )


def test_dimensions_that_are_not_constant_are_refused() -> None:
    assert "op asks for a dimension that is not constant" in refused(
        "func.func @f(%x: tensor<?xf32>, %d: index) -> index {\n"
        "  %n = tensor.dim %x, %d : tensor<?xf32>\n  func.return %n : index\n}"
    )


def test_a_program_of_one_rank_is_lowered_once_and_not_simulated_as_distributed() -> None:
    low = lower_text(FUSED)
    with pytest.raises(IRError, match="is at level"):
        LowerToRanksPass().apply(make_context(), low)
    with pytest.raises(IRError, match="take a distributed program"):
        run(the_function(low, None), {}, {})
