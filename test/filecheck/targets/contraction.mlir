// A product and a sum are two roundings, except where their flags allow one.

// RUN: coconet-opt -t ptx --target sm_90a %s | filecheck %s

// CHECK-LABEL: .visible .entry separate(
llvm.func @separate(%p: !llvm.ptr<1>, %a: f32, %b: f32, %h: vector<2xf16>) attributes {nvvm.kernel} {
  // CHECK-NOT: fma
  // CHECK: mul.rn.f32
  %0 = llvm.fmul %a, %b : f32
  // CHECK: add.rn.f32
  %1 = llvm.fadd %0, %b : f32
  // CHECK: sub.rn.f32
  %2 = llvm.fsub %1, %a : f32
  llvm.store volatile %2, %p : f32, !llvm.ptr<1>
  // CHECK: mul.rn.f16x2
  %3 = llvm.fmul %h, %h : vector<2xf16>
  // CHECK: add.rn.f16x2
  %4 = llvm.fadd %3, %h : vector<2xf16>
  llvm.store volatile %4, %p : vector<2xf16>, !llvm.ptr<1>
  // CHECK: ret;
  llvm.return
}

// One of two flags does not do: a sum that states its rounding is not fused.

// CHECK-LABEL: .visible .entry half_allowed(
llvm.func @half_allowed(%p: !llvm.ptr<1>, %a: f32, %b: f32) attributes {nvvm.kernel} {
  // CHECK-NOT: fma
  // CHECK: mul.f32
  %0 = llvm.fmul %a, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
  // CHECK: add.rn.f32
  %1 = llvm.fadd %0, %b : f32
  llvm.store %1, %p : f32, !llvm.ptr<1>
  // CHECK: ret;
  llvm.return
}

// CHECK-LABEL: .visible .entry allowed(
llvm.func @allowed(%p: !llvm.ptr<1>, %a: f32, %b: f32) attributes {nvvm.kernel} {
  // CHECK-NOT: {{(mul|add)}}.rn.f32
  // CHECK: fma.rn.f32
  %0 = llvm.fmul %a, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
  %1 = llvm.fadd %0, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
  llvm.store %1, %p : f32, !llvm.ptr<1>
  // CHECK: ret;
  llvm.return
}

// CHECK-LABEL: .visible .entry asked_for(
llvm.func @asked_for(%p: !llvm.ptr<1>, %a: f32, %b: f32) attributes {nvvm.kernel} {
  // CHECK: fma.rn.f32
  %0 = llvm.intr.fma(%a, %b, %a) : (f32, f32, f32) -> f32
  llvm.store volatile %0, %p : f32, !llvm.ptr<1>
  // CHECK: div.rn.f32
  %1 = llvm.fdiv %a, %b : f32
  llvm.store volatile %1, %p : f32, !llvm.ptr<1>
  // CHECK: sqrt.rn.f32
  %2 = llvm.intr.sqrt(%a) : (f32) -> f32
  llvm.store volatile %2, %p : f32, !llvm.ptr<1>
  // CHECK: ret;
  llvm.return
}
