// Each instruction of PTX states the line it comes from, in other files too; nothing else is written for debuggers.

// RUN: coconet-opt -t ptx --target sm_90a %s | filecheck %s

llvm.func internal @twice(%x: f32) -> f32 attributes {no_inline} { // line 5
  %0 = llvm.fadd %x, %x : f32
  llvm.return %0 : f32
}

llvm.func @kernel(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} { // line 10
  %0 = llvm.fmul %x, %x : f32
  %1 = llvm.call @twice(%0) : (f32) -> f32
  %2 = llvm.fsub %1, %x : f32 loc("model.mlir":77:5)
  llvm.store %2, %p : f32, !llvm.ptr<1>
  llvm.return
}

// CHECK-NOT: .debug_info
// CHECK-LABEL: .func (.param .b32 func_retval0) twice(
// CHECK: .loc [[HERE:[0-9]+]] 6 3
// CHECK: add.rn.f32
// CHECK: .loc [[HERE]] 7 3
// CHECK: ret;

// CHECK-LABEL: .visible .entry kernel(
// CHECK: .loc [[HERE]] 10 0
// CHECK: .loc [[HERE]] 11 3
// CHECK: mul.rn.f32
// CHECK: .loc [[HERE]] 12 3
// CHECK: call.uni (retval0), twice, (param0);
// CHECK: .loc [[THERE:[0-9]+]] 77 5
// CHECK: sub.rn.f32
// CHECK: .loc [[HERE]] 14 3
// CHECK: st.global.b32
// CHECK: .loc [[HERE]] 15 3
// CHECK: ret;

// CHECK-NOT: .debug_info
// CHECK-DAG: .file [[HERE]] "{{.*}}lines.mlir"
// CHECK-DAG: .file [[THERE]] "model.mlir"
// CHECK-NOT: .debug_info
