"""What coconet-lower-kernels makes of kernels: control flow, memory, threads; PTX for each target; what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.device.mathematics import SINGLE
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.lowering.lower_kernels import LowerKernelsPass
from coconet_ir.lowering.outline_kernels import OutlineKernelsPass
from coconet_ir.lowering.targets import (
    FORMS,
    TARGETS,
    Target,
    device_module,
    translate,
)
from coconet_ir.program import Program
from coconet_ir.xdsl_compat import print_module

Array = npt.NDArray[Any]

FILECHECK = Path(__file__).resolve().parents[2] / "filecheck" / "lowering"

ADAM = """module attributes {coconet.level = "buffer"} {
  func.func @f(%g: memref<?xf16>, %m: memref<?xf32>, %v: memref<?xf32>, %p: memref<?xf32>, %h: memref<?xf16>,
               %b: f32, %lr: f32) {
    coll.fused {
      %gt = bufferization.to_tensor %g : memref<?xf16> to tensor<?xf16>
      %mt = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>
      %vt = bufferization.to_tensor %v : memref<?xf32> to tensor<?xf32>
      %pt = bufferization.to_tensor %p : memref<?xf32> to tensor<?xf32>
      %wide = arith.extf %gt : tensor<?xf16> to tensor<?xf32>
      %old = comp.scale %mt by %b : tensor<?xf32>
      %m1 = arith.addf %old, %wide : tensor<?xf32>
      %square = arith.mulf %wide, %wide : tensor<?xf32>
      %v1 = arith.addf %vt, %square : tensor<?xf32>
      %root = math.sqrt %v1 : tensor<?xf32>
      %step = arith.divf %m1, %root : tensor<?xf32>
      %scaled = comp.scale %step by %lr : tensor<?xf32>
      %p1 = arith.subf %pt, %scaled : tensor<?xf32>
      %h1 = arith.truncf %p1 : tensor<?xf32> to tensor<?xf16>
      bufferization.materialize_in_destination %m1 in writable %m : (tensor<?xf32>, memref<?xf32>) -> ()
      bufferization.materialize_in_destination %v1 in writable %v : (tensor<?xf32>, memref<?xf32>) -> ()
      bufferization.materialize_in_destination %p1 in writable %p : (tensor<?xf32>, memref<?xf32>) -> ()
      bufferization.materialize_in_destination %h1 in writable %h : (tensor<?xf16>, memref<?xf16>) -> ()
      coll.yield
    } {coconet.name = "adam"}
    func.return
  }
}"""


def lowered(text: str, target: str = "sm_90a") -> ModuleOp:
    """A program at the level of buffers or of kernels, lowered and checked."""
    module = parse_program(make_context(), text, "test.mlir")
    if module.attributes["coconet.level"] == StringAttr("buffer"):
        OutlineKernelsPass().apply(make_context(), module)
    LowerKernelsPass(target).apply(make_context(), module)
    check(module)
    return module


def check_ptx(ptx: str) -> None:
    """Assert that nothing in PTX is approximate, and that nothing is left for the assembler to contract."""
    assert not re.findall(r"\b(?:add|sub|mul|mad)\.(?:f|bf)\d+\S*", ptx)
    assert not re.findall(r"\S*(?:approx|ftz|\.full)\S*", ptx)


def check_spills(said: str, kernels: int) -> None:
    """Assert that no kernel needs memory for its registers."""
    found = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", said)
    assert found == [("0", "0")] * kernels


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
@pytest.mark.parametrize("file", ["adam", "outline.mlir", "outline_reductions.mlir"])
def test_programs_are_assembled_for_each_target(
    assemble: Callable[[str, Target], str], file: str, target: Target
) -> None:
    module = lowered(ADAM if file == "adam" else (FILECHECK / file).read_text(), target.name)
    assert print_module(parse_program(make_context(), print_module(module), "again")) == (
        print_module(module)
    )
    ptx = translate(module, "ptx")
    check_ptx(ptx)
    check_spills(assemble(ptx, target), ptx.count(".visible .entry"))


def test_vectors_are_accessed_at_once_and_lines_are_kept() -> None:
    ptx = translate(lowered(ADAM), "ptx")
    assert ptx.count("ld.global.v4.b32") == 3  # a vector each of three buffers
    assert ptx.count("ld.global.v4.b16") == 1
    assert ".maxntid 128\n.minnctapersm 1" in ptx
    assert '.file\t1 "test.mlir"' in ptx
    line = 1 + ADAM[: ADAM.index("math.sqrt")].count("\n")
    assert re.search(rf"\.loc\t1 {line} 7\n(?:\tsqrt\.rn\.f32.*\n)+", ptx)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_every_function_is_assembled_for_each_target(
    host: Any, assemble: Callable[[str, Target], str], target: Target
) -> None:
    """Functions of f32 and f64 on vectors; arithmetic of f16 and bf16, which not every device has."""
    kernels: list[str] = []
    pairs = ("arith.remf", "math.powf", "math.atan2")
    lines = [(name, type, 2 if name in pairs else 1) for name in SINGLE for type in ("f32", "f64")]
    for type in ("f16", "bf16", "f64"):
        lines += [
            (f"arith.{name}f", type, 2) for name in ("add", "mul", "div", "maximum", "minnum")
        ]
        lines += [("math.fma", type, 3), ("math.round", type, 1)]
    lines += [("math.exp", type, 1) for type in ("f16", "bf16")]
    for number, (name, type, count) in enumerate(lines):
        operands = ", ".join(f"%x{i}" for i in range(count))
        width = 2 if type == "f64" else 4
        body = f"%y0 = {name} {operands} : vector<{width}x{type}>"
        text = host.elementwise(body, [type] * count, [type], width)
        kernels.append(text.replace('"k"', f'"k{number}"'))
    ptx = host.lowered_text("\n".join(kernels), "ptx", target.name)
    check_ptx(ptx)
    check_spills(assemble(ptx, target), len(lines))


def test_upstream_translates_it(upstream: Callable[[ModuleOp], str]) -> None:
    for text in (ADAM, (FILECHECK / "outline_reductions.mlir").read_text()):
        module = lowered(text)
        (kernels,) = (op for op in module.ops if isinstance(op, gpu.ModuleOp))
        plain = ModuleOp([op.clone() for op in kernels.body.block.ops])
        defined = re.findall(r"^define ptx_kernel void @(\w+)", upstream(plain), re.MULTILINE)
        assert defined == re.findall(r"llvm.func @(\w+)", print_module(plain))


# Control flow and memory, on the host


def kernel(body: str, *buffers: str, scalars: str = "") -> str:
    """A kernel of one thread of buffers %a, %b, … of these element types, and of %n."""
    types = [f"memref<?x{type}>" for type in buffers]
    names = [f"%{name}: {type}" for name, type in zip("abcdefgh", types, strict=False)]
    return f"""
    "gpu.func"() <{{function_type = ({", ".join(types)}, index) -> ()}}> ({{
    ^entry({", ".join(names)}, %n: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {body}
      "gpu.return"() : () -> ()
    }}) {{sym_name = "k", gpu.kernel, coconet.threads = 32 : i64}} : () -> ()"""


def test_branches_and_loops(host: Any) -> None:
    """The number of steps to 1 by halving or by 3 n + 1, for each number; a branch in a loop in a loop."""
    body = """
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %zero = arith.constant 0 : i64
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%total = %zero) -> (i64) {
      %x = memref.load %a[%i] : memref<?xi64>
      %end, %steps = scf.while (%v = %x, %s = %zero) : (i64, i64) -> (i64, i64) {
        %going = arith.cmpi sgt, %v, %one : i64
        scf.condition(%going) %v, %s : i64, i64
      } do {
      ^bb0(%v: i64, %s: i64):
        %r = arith.remui %v, %two : i64
        %even = arith.cmpi eq, %r, %zero : i64
        %next = scf.if %even -> (i64) {
          %half = arith.divui %v, %two : i64
          scf.yield %half : i64
        } else {
          %triple = arith.muli %v, %three : i64
          %more = arith.addi %triple, %one : i64
          scf.yield %more : i64
        }
        %count = arith.addi %s, %one : i64
        scf.yield %next, %count : i64, i64
      }
      %found = arith.cmpi eq, %end, %one : i64
      scf.if %found {
        memref.store %steps, %b[%i] : memref<?xi64>
      }
      %both = arith.addi %total, %steps : i64
      scf.yield %both : i64
    }
    memref.store %sum, %c[%c0] : memref<?xi64>
    """
    numbers = np.arange(100)
    steps, total = np.full(100, -1), np.zeros(1, np.int64)
    host.compiled(kernel(body, "i64", "i64", "i64"))(numbers, steps, total)

    def count(number: int) -> int:
        return 0 if number <= 1 else 1 + count(number // 2 if number % 2 == 0 else 3 * number + 1)

    want = [-1, *map(count, range(1, 100))]
    assert steps.tolist() == want
    assert total[0] == sum(want) + 1


def test_bools_and_small_floats_are_bytes(host: Any) -> None:
    body = """
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %n step %c8 {
      %x = vector.load %a[%i] : memref<?xi1>, vector<8xi1>
      %y = vector.load %b[%i] : memref<?xi1>, vector<8xi1>
      %z = arith.xori %x, %y : vector<8xi1>
      vector.store %z, %c[%i] : memref<?xi1>, vector<8xi1>
      %f = vector.load %d[%i] {alignment = 8 : i64} : memref<?xf8E5M2>, vector<8xf8E5M2>
      %bits = arith.bitcast %f : vector<8xf8E5M2> to vector<8xi8>
      vector.store %bits, %e[%i] : memref<?xi8>, vector<8xi8>
    }
    %first = memref.load %a[%c0] : memref<?xi1>
    %true = arith.constant true
    %not = arith.xori %first, %true : i1
    memref.store %not, %c[%c0] : memref<?xi1>
    """
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 2, 64).astype(np.bool_) for _ in range(2))
    d, found = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    c = np.zeros(64, np.bool_)
    host.compiled(kernel(body, "i1", "i1", "i1", "f8E5M2", "i8"))(a, b, c, d, found)
    assert np.array_equal(c[1:], a[1:] ^ b[1:])
    assert c[0] == (not a[0])
    assert np.array_equal(found, d)


def test_constants_keep_their_signs_and_types(host: Any) -> None:
    body = """
    %minus = arith.constant -0.0 : f32
    %plus = arith.constant 0.0 : f32
    %eight = arith.constant 1.5 : f8E4M3FN
    %nan = arith.constant 0x7FC00000 : f32
    memref.store %minus, %a[%c0] : memref<?xf32>
    memref.store %plus, %a[%c1] : memref<?xf32>
    %wide = arith.extf %eight : f8E4M3FN to f32
    %c2 = arith.constant 2 : index
    memref.store %wide, %a[%c2] : memref<?xf32>
    """
    found = np.ones(3, np.float32)
    host.compiled(kernel(body, "f32"))(found)
    assert found.tolist() == [0.0, 0.0, 1.5]
    assert np.signbit(found).tolist() == [True, False, False]


# Threads, as PTX


@pytest.mark.parametrize("type", ["f64", "f32", "i32", "i64", "f16", "bf16"])
def test_exchange_within_a_warp(host: Any, type: str) -> None:
    body = f"""
    %t = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
    %x = memref.load %a[%t] : memref<?x{type}>
    %four = arith.constant 4 : i32
    %warp = arith.constant 32 : i32
    %y, %valid = "gpu.shuffle"(%x, %four, %warp) <{{mode = #gpu<shuffle_mode xor>}}>
      : ({type}, i32, i32) -> ({type}, i1)
    "gpu.barrier"() : () -> ()
    memref.store %y, %a[%t] : memref<?x{type}>
    """
    ptx = host.lowered_text(kernel(body, type), "ptx")
    words = 2 if type in ("f64", "i64") else 1
    assert len(re.findall(r"shfl\.sync\.bfly\.b32\s.*, 4, 31, -1;", ptx)) == words
    assert ptx.count("barrier.sync") + ptx.count("bar.sync") == 1


def test_shared_memory_and_registers(host: Any) -> None:
    body = """
    %t = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index
    %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %d = "gpu.block_dim"() <{dimension = #gpu<dim y>}> : () -> index
    %s = memref.get_global @tile : memref<64xf32, 3 : i64>
    %x = memref.load %a[%t] : memref<?xf32>
    memref.store %x, %s[%t] : memref<64xf32, 3 : i64>
    "gpu.barrier"() : () -> ()
    %at = arith.addi %b, %d : index
    %y = memref.load %s[%b] : memref<64xf32, 3 : i64>
    memref.store %y, %a[%at] : memref<?xf32>
    """
    tile = """"memref.global"() <{sym_name = "tile", type = memref<64xf32, 3 : i64>, initial_value,
      sym_visibility = "private"}> : () -> ()"""
    ptx = host.lowered_text(tile + kernel(body, "f32"), "ptx")
    assert ".shared .align 16 .b8 tile[256];" in ptx
    for word in ("%tid.y", "%ctaid.x", "%ntid.y", "st.shared.b32", "ld.shared.b32"):
        assert word in ptx


# What is refused


def refused(text: str, target: str = "sm_90a") -> str:
    with pytest.raises(IRError) as caught:
        lowered(text, target)
    return caught.value.render()


def test_the_level_and_the_target_are_checked(host: Any) -> None:
    assert 'reads level "kernel"' in refused('module attributes {coconet.level = "rank"} {}')
    text = host.kernel_module(kernel("", "f32"))
    assert "there is no target 'sm_70': there are sm_80" in refused(text, "sm_70")


@pytest.mark.parametrize(
    ("line", "types", "message"),
    [
        ("arith.extf %x0 : f8E8M0FNU to f32", ("f8E8M0FNU", "f32"), "f8E8M0FNU, which kernels do"),
    ],
)
def test_what_kernels_cannot_compute(
    host: Any, line: str, types: tuple[str, str], message: str
) -> None:
    text = host.kernel_module(host.elementwise(f"%y0 = {line}", types[:1], types[1:]))
    assert message in refused(text)


def test_other_exchanges(host: Any) -> None:
    body = """
    %x = memref.load %a[%c0] : memref<?xi32>
    %y, %v = "gpu.shuffle"(%x, %x, %x) <{mode = #gpu<shuffle_mode up>}> : (i32, i32, i32) -> (i32, i1)
    """
    assert "no exchange of all 32 lanes" in refused(host.kernel_module(kernel(body, "i32")))


def test_translation_needs_the_target_of_the_kernels(host: Any) -> None:
    module = lowered(host.kernel_module(kernel("", "f32")), "sm_80")
    assert ".target sm_80" in translate(module, "ptx")
    assert ".target sm_80" in translate(module, "ptx", "sm_80")
    with pytest.raises(IRError, match="was lowered for sm_80, not for sm_90a"):
        translate(module, "ptx", "sm_90a")
    del device_module(module).attributes["coconet.target"]
    with pytest.raises(IRError, match="states no target"):
        translate(module, "ptx")


@pytest.mark.parametrize("target", [None, "sm_90a"])
@pytest.mark.parametrize("form", FORMS)
def test_a_program_without_kernels_is_not_translated(form: str, target: str | None) -> None:
    text = (
        "func.func @f(%x: f32) -> f32 {\n  %y = arith.addf %x, %x : f32\n  func.return %y : f32\n}"
    )
    module = Program.parse(text, "p.mlir").module
    LowerPass("sm_90a").apply(make_context(), module)
    with pytest.raises(IRError) as error:
        translate(module, form, target)
    assert error.value.render() == (
        "p.mlir:1:1: error: 'builtin.module' op has no kernels: all that it computes is the host's"
    )
    module.body.block.add_op(
        gpu.ModuleOp.create(
            properties={"sym_name": StringAttr("kernels")}, regions=[Region(Block())]
        )
    )
    with pytest.raises(IRError, match=r"^has no kernels$"):
        translate(module, form, target)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("func.return", "%z = llvm.mlir.zero : i32\nfunc.return", "cannot stand at level"),
        (
            "llvm.return",
            "%z = arith.constant 1 : i32\nllvm.return",
            "in a kernel at level 'device'",
        ),
        ('"sm_90a"', '"sm_1"', "there is no target 'sm_1'"),
        ('coconet.target = "sm_90a"', "my.note", "must state its device"),
        (
            "@kernels::@adam",
            "@kernels::@other",
            "launches @kernels::@other, which is no kernel here",
        ),
        ("llvm.func @adam(", "llvm.func @adam(%more: i64, ", "but it takes i64, i64"),
    ],
)
def test_what_may_stand_at_the_level(old: str, new: str, message: str) -> None:
    text = print_module(lowered(ADAM))
    assert old in text
    with pytest.raises(IRError) as caught:
        parse_program(make_context(), text.replace(old, new, 1), "test.mlir")
    assert message in caught.value.render()
