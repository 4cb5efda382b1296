"""Functions, globals, launch bounds and branches: what PTX states of them, as upstream's translation does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from coconet_ir.lowering.ptx import compile_llvm, compile_ptx
from coconet_ir.lowering.targets import TARGETS

Parse = Callable[[str], ModuleOp]

SM_90A = TARGETS["sm_90a"]

MODULES = {
    "globals": """
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
llvm.mlir.global internal @aligned() {addr_space = 3 : i32} : i64
llvm.mlir.global internal constant @table(dense<[1.5, -0.0]> : tensor<2xf32>) {addr_space = 4 : i32}
  : !llvm.array<2 x f32>
llvm.mlir.global external constant @tenth(0.1 : f64) {addr_space = 4 : i32} : f64
llvm.mlir.global external @count(-7 : i64) {addr_space = 1 : i32} : i64
llvm.mlir.global external @matrix(dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi16>) {addr_space = 1 : i32}
  : !llvm.array<3 x array<2 x i16>>
llvm.mlir.global external @halves(dense<1.5> : tensor<3xf16>) {addr_space = 1 : i32} : !llvm.array<3 x f16>
llvm.mlir.global external @none(dense<> : tensor<2x0xf32>) {addr_space = 1 : i32} : !llvm.array<2 x array<0 x f32>>
llvm.func @k(%p: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
  %t = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %d = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
  %a = llvm.mlir.addressof @aligned : !llvm.ptr<3>
  %c = llvm.mlir.addressof @table : !llvm.ptr<4>
  %n = llvm.mlir.addressof @count : !llvm.ptr<1>
  %0 = llvm.getelementptr %c[%i] : (!llvm.ptr<4>, i64) -> !llvm.ptr<4>, f32
  %1 = llvm.load %0 : !llvm.ptr<4> -> f32
  llvm.store %1, %t : f32, !llvm.ptr<3>
  llvm.store %1, %d : f32, !llvm.ptr<3>
  llvm.store %i, %a : i64, !llvm.ptr<3>
  nvvm.barrier
  %2 = llvm.getelementptr %t[0, %i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.array<256 x f32>
  %3 = llvm.load %2 : !llvm.ptr<3> -> f32
  llvm.store %3, %p : f32, !llvm.ptr<1>
  %4 = llvm.load %a : !llvm.ptr<3> -> i64
  llvm.store %4, %n : i64, !llvm.ptr<1>
  llvm.return
}
""",
    "functions": """
llvm.func @outside(i32, f32) -> (f32 {llvm.noundef})
llvm.func internal @small(%x: f32) -> f32 attributes {always_inline} {
  %0 = llvm.fadd %x, %x : f32
  llvm.return %0 : f32
}
llvm.func internal @large(%x: f32, %a: i32) -> f32 attributes {no_inline} {
  %0 = llvm.call @outside(%a, %x) : (i32, f32) -> f32
  llvm.return %0 : f32
}
llvm.func weak_odr @pair(%x: f32, %y: f64) -> !llvm.struct<(f32, f64)> {
  %0 = llvm.mlir.undef : !llvm.struct<(f32, f64)>
  %1 = llvm.insertvalue %x, %0[0] : !llvm.struct<(f32, f64)>
  %2 = llvm.insertvalue %y, %1[1] : !llvm.struct<(f32, f64)>
  llvm.return %2 : !llvm.struct<(f32, f64)>
}
llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32, %y: f64) attributes {nvvm.kernel} {
  %0 = llvm.call @small(%x) : (f32) -> f32
  %1 = llvm.call @large(%0, %a) : (f32, i32) -> f32
  %2 = llvm.call @pair(%1, %y) : (f32, f64) -> !llvm.struct<(f32, f64)>
  llvm.store %2, %p : !llvm.struct<(f32, f64)>, !llvm.ptr<1>
  llvm.return
}
""",
    "arguments": """
llvm.func @k(
  %p: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64, llvm.nonnull, llvm.readonly, llvm.dereferenceable = 64 : i64},
  %i: i8 {llvm.signext, llvm.noundef},
  %q: !llvm.ptr {llvm.writeonly, llvm.nocapture},
  %s: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>, nvvm.grid_constant, llvm.align = 8 : i64}
) attributes {nvvm.kernel} {
  %0 = llvm.load %p : !llvm.ptr<1> -> f32
  llvm.store %0, %q : f32, !llvm.ptr
  %1 = llvm.getelementptr %s[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i64>
  %2 = llvm.load %1 : !llvm.ptr -> i64
  llvm.store %2, %q : i64, !llvm.ptr
  llvm.return
}
""",
    "branches": """
llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %c: i1) attributes {nvvm.kernel} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.cond_br %c, ^loop(%0 : i32), ^loop(%a : i32)
^done(%r: i32):
  llvm.store %r, %p : i32, !llvm.ptr<1>
  llvm.return
^loop(%i: i32):
  %1 = llvm.mlir.constant(1 : i32) : i32
  %2 = llvm.add %i, %1 : i32
  %3 = llvm.atomicrmw add %p, %2 syncscope("device") monotonic : !llvm.ptr<1>, i32
  llvm.switch %3 : i32, ^loop(%2 : i32) [
    7: ^done(%2 : i32),
    -8: ^done(%3 : i32),
    9: ^never
  ]
^never:
  llvm.unreachable
^unreached:
  llvm.br ^unreached
}
""",
}


@pytest.mark.parametrize("name", MODULES)
def test_functions_are_as_upstreams(
    name: str,
    parse: Parse,
    upstream: Callable[[ModuleOp], str],
    functions: Callable[[str], dict[str, list[str]]],
    assemble: Callable[..., str],
) -> None:
    module = parse(MODULES[name])
    ptx = compile_ptx(module, SM_90A)
    assert functions(ptx) == functions(compile_llvm(upstream(module), SM_90A))
    assemble(ptx, SM_90A, "--compile-only")


def test_what_ptx_states_of_them(parse: Parse) -> None:
    stated = {name: compile_ptx(parse(text), SM_90A) for name, text in MODULES.items()}
    for line in (
        ".extern .shared .align 128 .b8 dynamic[];",
        ".shared .align 16 .b8 tile[1024];",
        ".shared .align 8 .u64 aligned;",
        ".const .align 4 .b8 table[8] = {0, 0, 192, 63, 0, 0, 0, 128};",
        ".visible .const .align 8 .f64 tenth = 0d3FB999999999999A;",
        ".visible .global .align 8 .u64 count = -7;",
        ".visible .global .align 2 .b8 halves[6] = {0, 62, 0, 62, 0, 62};",
        ".visible .global .align 4 .b8 none;",
        ".visible .global .align 2 .b8 matrix[12] = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};",
    ):
        assert line in stated["globals"]
    assert ".extern .func  (.param .b32 func_retval0) outside" in stated["functions"]
    assert ".weak .func  (.param .align 8 .b8 func_retval0[16]) pair(" in stated["functions"]
    assert "small" not in stated["functions"]
    assert ".param .u64 .ptr .global .align 16 k_param_0," in stated["arguments"]
    assert ".param .align 8 .b8 k_param_3[32]" in stated["arguments"]


@pytest.mark.parametrize(
    ("attribute", "directive"),
    [
        ("nvvm.maxntid = array<i32: 256, 2>", ".maxntid 256, 2"),
        ("nvvm.reqntid = array<i32: 64>", ".reqntid 64"),
        ("nvvm.minctasm = 2 : i32, nvvm.maxntid = array<i32: 8>", ".minnctapersm 2"),
        ("nvvm.maxnreg = 64 : i32", ".maxnreg 64"),
        ("nvvm.cluster_dim = array<i32: 2, 1, 1>", ".explicitcluster\n.reqnctapercluster 2, 1, 1"),
        ("nvvm.cluster_max_blocks = 8 : i32", ".maxclusterrank 8"),
    ],
)
def test_launch_bounds(
    parse: Parse,
    upstream: Callable[[ModuleOp], str],
    assemble: Callable[..., str],
    attribute: str,
    directive: str,
) -> None:
    module = parse(f"llvm.func @k() attributes {{nvvm.kernel, {attribute}}} {{\nllvm.return\n}}")
    ptx = compile_ptx(module, SM_90A)
    assert f"\n{directive}\n" in ptx
    assert f"\n{directive}\n" in compile_llvm(upstream(module), SM_90A)
    assemble(ptx, SM_90A)
