// RUN: coconet-opt --print-op-generic %s | coconet-opt - | filecheck %s
// RUN: %if mlir-opt %{ coconet-opt %s | mlir-opt-22 --mlir-print-op-generic \
// RUN:   | coconet-opt --print-op-generic - | mlir-opt-22 | coconet-opt - | filecheck %s %}

// CHECK: llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
// CHECK: llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 4 : i32} : !llvm.array<2 x f32>
llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 4 : i32} : !llvm.array<2 x f32>
// CHECK: llvm.mlir.global private @count(7 : i64) {addr_space = 1 : i32} : i64
llvm.mlir.global private @count(7 : i64) {addr_space = 1 : i32} : i64

// CHECK-LABEL: llvm.func @outside(i32) -> i32
llvm.func @outside(i32) -> i32

// CHECK-LABEL: llvm.func @said(i32 {llvm.noundef, llvm.signext}, f32) -> (f32 {llvm.noundef})
llvm.func @said(i32 {llvm.noundef, llvm.signext}, f32) -> (f32 {llvm.noundef})

// CHECK-LABEL: llvm.func internal @scale(%arg0: f32 {llvm.noundef}) -> (f32 {llvm.noundef}) attributes {always_inline} {
llvm.func internal @scale(%arg0: f32 {llvm.noundef}) -> (f32 {llvm.noundef}) attributes {always_inline} {
  // CHECK-NEXT: llvm.return %arg0 : f32
  llvm.return %arg0 : f32
}

// CHECK-LABEL: llvm.func @nowhere() attributes {no_inline} {
llvm.func @nowhere() attributes {no_inline} {
  // CHECK-NEXT: llvm.unreachable
  llvm.unreachable
}

// CHECK-LABEL: llvm.func @kernel(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %arg1: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32} {
llvm.func @kernel(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %arg1: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32} {
  llvm.return
}

// CHECK-LABEL: llvm.func @integers(%arg0: i32, %arg1: i32, %arg2: vector<4xi16>) {
llvm.func @integers(%arg0: i32, %arg1: i32, %arg2: vector<4xi16>) {
  // CHECK-NEXT: %0 = llvm.add %arg0, %arg1 : i32
  %0 = llvm.add %arg0, %arg1 : i32
  // CHECK-NEXT: %1 = llvm.add %arg0, %arg1 overflow<nsw, nuw> : i32
  %1 = llvm.add %arg0, %arg1 overflow<nsw, nuw> : i32
  // CHECK-NEXT: %2 = llvm.sub %arg0, %arg1 overflow<nuw> : i32
  %2 = llvm.sub %arg0, %arg1 overflow<nuw> : i32
  // CHECK-NEXT: %3 = llvm.mul %arg2, %arg2 overflow<nsw> : vector<4xi16>
  %3 = llvm.mul %arg2, %arg2 overflow<nsw> : vector<4xi16>
  // CHECK-NEXT: %4 = llvm.shl %arg0, %arg1 : i32
  %4 = llvm.shl %arg0, %arg1 : i32
  // CHECK-NEXT: %5 = llvm.udiv %arg0, %arg1 : i32
  %5 = llvm.udiv %arg0, %arg1 : i32
  // CHECK-NEXT: %6 = llvm.udiv exact %arg0, %arg1 : i32
  %6 = llvm.udiv exact %arg0, %arg1 : i32
  // CHECK-NEXT: %7 = llvm.sdiv %arg0, %arg1 : i32
  %7 = llvm.sdiv %arg0, %arg1 : i32
  // CHECK-NEXT: %8 = llvm.lshr exact %arg0, %arg1 : i32
  %8 = llvm.lshr exact %arg0, %arg1 : i32
  // CHECK-NEXT: %9 = llvm.ashr %arg0, %arg1 : i32
  %9 = llvm.ashr %arg0, %arg1 : i32
  // CHECK-NEXT: %10 = llvm.urem %arg0, %arg1 : i32
  %10 = llvm.urem %arg0, %arg1 : i32
  // CHECK-NEXT: %11 = llvm.srem %arg0, %arg1 : i32
  %11 = llvm.srem %arg0, %arg1 : i32
  // CHECK-NEXT: %12 = llvm.and %arg0, %arg1 : i32
  %12 = llvm.and %arg0, %arg1 : i32
  // CHECK-NEXT: %13 = llvm.or %arg0, %arg1 : i32
  %13 = llvm.or %arg0, %arg1 : i32
  // CHECK-NEXT: %14 = llvm.or disjoint %arg0, %arg1 : i32
  %14 = llvm.or disjoint %arg0, %arg1 : i32
  // CHECK-NEXT: %15 = llvm.xor %arg2, %arg2 : vector<4xi16>
  %15 = llvm.xor %arg2, %arg2 : vector<4xi16>
  llvm.return
}

// CHECK-LABEL: llvm.func @floats(%arg0: f32, %arg1: vector<2xf16>, %arg2: bf16) {
llvm.func @floats(%arg0: f32, %arg1: vector<2xf16>, %arg2: bf16) {
  // CHECK-NEXT: %0 = llvm.fadd %arg0, %arg0 : f32
  %0 = llvm.fadd %arg0, %arg0 : f32
  // CHECK-NEXT: %1 = llvm.fsub %arg1, %arg1 {fastmathFlags = #llvm.fastmath<nnan,contract>} : vector<2xf16>
  %1 = llvm.fsub %arg1, %arg1 {fastmathFlags = #llvm.fastmath<nnan, contract>} : vector<2xf16>
  // CHECK-NEXT: %2 = llvm.fmul %arg2, %arg2 {fastmathFlags = #llvm.fastmath<fast>} : bf16
  %2 = llvm.fmul %arg2, %arg2 {fastmathFlags = #llvm.fastmath<fast>} : bf16
  // CHECK-NEXT: %3 = llvm.fdiv %arg0, %arg0 : f32
  %3 = llvm.fdiv %arg0, %arg0 : f32
  // CHECK-NEXT: %4 = llvm.fneg %arg0 : f32
  %4 = llvm.fneg %arg0 : f32
  // CHECK-NEXT: %5 = llvm.freeze %arg0 : f32
  %5 = llvm.freeze %arg0 : f32
  llvm.return
}

// CHECK-LABEL: llvm.func @choices(%arg0: i32, %arg1: !llvm.ptr<1>, %arg2: f32, %arg3: vector<4xf32>, %arg4: i1, %arg5: vector<4xi1>) {
llvm.func @choices(%arg0: i32, %arg1: !llvm.ptr<1>, %arg2: f32, %arg3: vector<4xf32>, %arg4: i1, %arg5: vector<4xi1>) {
  // CHECK-NEXT: %0 = llvm.icmp "slt" %arg0, %arg0 : i32
  %0 = llvm.icmp "slt" %arg0, %arg0 : i32
  // CHECK-NEXT: %1 = llvm.icmp "eq" %arg1, %arg1 : !llvm.ptr<1>
  %1 = llvm.icmp "eq" %arg1, %arg1 : !llvm.ptr<1>
  // CHECK-NEXT: %2 = llvm.fcmp "oeq" %arg2, %arg2 : f32
  %2 = llvm.fcmp "oeq" %arg2, %arg2 : f32
  // CHECK-NEXT: %3 = llvm.fcmp "uno" %arg3, %arg3 {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  %3 = llvm.fcmp "uno" %arg3, %arg3 {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  // CHECK-NEXT: %4 = llvm.fcmp "_true" %arg2, %arg2 : f32
  %4 = llvm.fcmp "_true" %arg2, %arg2 : f32
  // CHECK-NEXT: %5 = llvm.select %arg4, %arg0, %arg0 : i1, i32
  %5 = llvm.select %arg4, %arg0, %arg0 : i1, i32
  // CHECK-NEXT: %6 = llvm.select %arg5, %arg3, %arg3 {fastmathFlags = #llvm.fastmath<nsz>} : vector<4xi1>, vector<4xf32>
  %6 = llvm.select %arg5, %arg3, %arg3 {fastmathFlags = #llvm.fastmath<nsz>} : vector<4xi1>, vector<4xf32>
  llvm.return
}

// CHECK-LABEL: llvm.func @casts(%arg0: i32, %arg1: f32, %arg2: f16, %arg3: vector<2xf16>, %arg4: !llvm.ptr<1>) {
llvm.func @casts(%arg0: i32, %arg1: f32, %arg2: f16, %arg3: vector<2xf16>, %arg4: !llvm.ptr<1>) {
  // CHECK-NEXT: %0 = llvm.sext %arg0 : i32 to i64
  %0 = llvm.sext %arg0 : i32 to i64
  // CHECK-NEXT: %1 = llvm.zext nneg %arg0 : i32 to i64
  %1 = llvm.zext nneg %arg0 : i32 to i64
  // CHECK-NEXT: %2 = llvm.trunc %arg0 overflow<nuw> : i32 to i8
  %2 = llvm.trunc %arg0 overflow<nuw> : i32 to i8
  // CHECK-NEXT: %3 = llvm.sitofp %arg0 : i32 to f32
  %3 = llvm.sitofp %arg0 : i32 to f32
  // CHECK-NEXT: %4 = llvm.uitofp nneg %arg0 : i32 to bf16
  %4 = llvm.uitofp nneg %arg0 : i32 to bf16
  // CHECK-NEXT: %5 = llvm.fptosi %arg1 : f32 to i32
  %5 = llvm.fptosi %arg1 : f32 to i32
  // CHECK-NEXT: %6 = llvm.fptoui %arg3 : vector<2xf16> to vector<2xi8>
  %6 = llvm.fptoui %arg3 : vector<2xf16> to vector<2xi8>
  // CHECK-NEXT: %7 = llvm.fpext %arg2 : f16 to f64
  %7 = llvm.fpext %arg2 : f16 to f64
  // CHECK-NEXT: %8 = llvm.fptrunc %arg1 : f32 to bf16
  %8 = llvm.fptrunc %arg1 : f32 to bf16
  // CHECK-NEXT: %9 = llvm.bitcast %arg3 : vector<2xf16> to i32
  %9 = llvm.bitcast %arg3 : vector<2xf16> to i32
  // CHECK-NEXT: %10 = llvm.ptrtoint %arg4 : !llvm.ptr<1> to i64
  %10 = llvm.ptrtoint %arg4 : !llvm.ptr<1> to i64
  // CHECK-NEXT: %11 = llvm.inttoptr %10 : i64 to !llvm.ptr<3>
  %11 = llvm.inttoptr %10 : i64 to !llvm.ptr<3>
  // CHECK-NEXT: %12 = llvm.addrspacecast %arg4 : !llvm.ptr<1> to !llvm.ptr
  %12 = llvm.addrspacecast %arg4 : !llvm.ptr<1> to !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @intrinsics(%arg0: i32, %arg1: f32, %arg2: vector<2xbf16>) {
llvm.func @intrinsics(%arg0: i32, %arg1: f32, %arg2: vector<2xbf16>) {
  // CHECK-NEXT: %0 = llvm.intr.fabs(%arg1) : (f32) -> f32
  %0 = llvm.intr.fabs(%arg1) : (f32) -> f32
  // CHECK-NEXT: %1 = llvm.intr.sqrt(%arg1) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  %1 = llvm.intr.sqrt(%arg1) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  // CHECK-NEXT: %2 = llvm.intr.floor(%arg1) : (f32) -> f32
  %2 = llvm.intr.floor(%arg1) : (f32) -> f32
  // CHECK-NEXT: %3 = llvm.intr.ceil(%arg1) : (f32) -> f32
  %3 = llvm.intr.ceil(%arg1) : (f32) -> f32
  // CHECK-NEXT: %4 = llvm.intr.trunc(%arg1) : (f32) -> f32
  %4 = llvm.intr.trunc(%arg1) : (f32) -> f32
  // CHECK-NEXT: %5 = llvm.intr.rint(%arg1) : (f32) -> f32
  %5 = llvm.intr.rint(%arg1) : (f32) -> f32
  // CHECK-NEXT: %6 = llvm.intr.nearbyint(%arg1) : (f32) -> f32
  %6 = llvm.intr.nearbyint(%arg1) : (f32) -> f32
  // CHECK-NEXT: %7 = llvm.intr.roundeven(%arg1) : (f32) -> f32
  %7 = llvm.intr.roundeven(%arg1) : (f32) -> f32
  // CHECK-NEXT: %8 = llvm.intr.round(%arg1) : (f32) -> f32
  %8 = llvm.intr.round(%arg1) : (f32) -> f32
  // CHECK-NEXT: %9 = llvm.intr.exp2(%arg1) : (f32) -> f32
  %9 = llvm.intr.exp2(%arg1) : (f32) -> f32
  // CHECK-NEXT: %10 = llvm.intr.sin(%arg1) : (f32) -> f32
  %10 = llvm.intr.sin(%arg1) : (f32) -> f32
  // CHECK-NEXT: %11 = llvm.intr.cos(%arg1) : (f32) -> f32
  %11 = llvm.intr.cos(%arg1) : (f32) -> f32
  // CHECK-NEXT: %12 = llvm.intr.tanh(%arg1) : (f32) -> f32
  %12 = llvm.intr.tanh(%arg1) : (f32) -> f32
  // CHECK-NEXT: %13 = llvm.intr.copysign(%arg1, %arg1) : (f32, f32) -> f32
  %13 = llvm.intr.copysign(%arg1, %arg1) : (f32, f32) -> f32
  // CHECK-NEXT: %14 = llvm.intr.maxnum(%arg2, %arg2) : (vector<2xbf16>, vector<2xbf16>) -> vector<2xbf16>
  %14 = llvm.intr.maxnum(%arg2, %arg2) : (vector<2xbf16>, vector<2xbf16>) -> vector<2xbf16>
  // CHECK-NEXT: %15 = llvm.intr.minnum(%arg1, %arg1) : (f32, f32) -> f32
  %15 = llvm.intr.minnum(%arg1, %arg1) : (f32, f32) -> f32
  // CHECK-NEXT: %16 = llvm.intr.maximum(%arg1, %arg1) : (f32, f32) -> f32
  %16 = llvm.intr.maximum(%arg1, %arg1) : (f32, f32) -> f32
  // CHECK-NEXT: %17 = llvm.intr.minimum(%arg1, %arg1) : (f32, f32) -> f32
  %17 = llvm.intr.minimum(%arg1, %arg1) : (f32, f32) -> f32
  // CHECK-NEXT: %18 = llvm.intr.fma(%arg1, %arg1, %arg1) : (f32, f32, f32) -> f32
  %18 = llvm.intr.fma(%arg1, %arg1, %arg1) : (f32, f32, f32) -> f32
  // CHECK-NEXT: %19 = llvm.intr.fmuladd(%arg1, %arg1, %arg1) : (f32, f32, f32) -> f32
  %19 = llvm.intr.fmuladd(%arg1, %arg1, %arg1) : (f32, f32, f32) -> f32
  // CHECK-NEXT: %20 = llvm.intr.ctpop(%arg0) : (i32) -> i32
  %20 = llvm.intr.ctpop(%arg0) : (i32) -> i32
  // CHECK-NEXT: %21 = llvm.intr.bitreverse(%arg0) : (i32) -> i32
  %21 = llvm.intr.bitreverse(%arg0) : (i32) -> i32
  // CHECK-NEXT: %22 = llvm.intr.smax(%arg0, %arg0) : (i32, i32) -> i32
  %22 = llvm.intr.smax(%arg0, %arg0) : (i32, i32) -> i32
  // CHECK-NEXT: %23 = llvm.intr.smin(%arg0, %arg0) : (i32, i32) -> i32
  %23 = llvm.intr.smin(%arg0, %arg0) : (i32, i32) -> i32
  // CHECK-NEXT: %24 = llvm.intr.umax(%arg0, %arg0) : (i32, i32) -> i32
  %24 = llvm.intr.umax(%arg0, %arg0) : (i32, i32) -> i32
  // CHECK-NEXT: %25 = llvm.intr.umin(%arg0, %arg0) : (i32, i32) -> i32
  %25 = llvm.intr.umin(%arg0, %arg0) : (i32, i32) -> i32
  // CHECK-NEXT: %26 = llvm.intr.fshl(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
  %26 = llvm.intr.fshl(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
  // CHECK-NEXT: %27 = llvm.intr.fshr(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
  %27 = llvm.intr.fshr(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
  // CHECK-NEXT: %28 = "llvm.intr.abs"(%arg0) <{is_int_min_poison = false}> : (i32) -> i32
  %28 = "llvm.intr.abs"(%arg0) <{is_int_min_poison = false}> : (i32) -> i32
  // CHECK-NEXT: %29 = "llvm.intr.ctlz"(%arg0) <{is_zero_poison = true}> : (i32) -> i32
  %29 = "llvm.intr.ctlz"(%arg0) <{is_zero_poison = true}> : (i32) -> i32
  // CHECK-NEXT: %30 = "llvm.intr.cttz"(%arg0) <{is_zero_poison = false}> : (i32) -> i32
  %30 = "llvm.intr.cttz"(%arg0) <{is_zero_poison = false}> : (i32) -> i32
  // CHECK-NEXT: %31 = "llvm.intr.uadd.with.overflow"(%arg0, %arg0) : (i32, i32) -> !llvm.struct<(i32, i1)>
  %31 = "llvm.intr.uadd.with.overflow"(%arg0, %arg0) : (i32, i32) -> !llvm.struct<(i32, i1)>
  // CHECK-NEXT: %32 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%arg1) : (f32) -> f32
  %32 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%arg1) : (f32) -> f32
  llvm.return
}

// CHECK-LABEL: llvm.func @memory(%arg0: !llvm.ptr<1>, %arg1: f32, %arg2: i64, %arg3: i32, %arg4: vector<4xf32>) {
llvm.func @memory(%arg0: !llvm.ptr<1>, %arg1: f32, %arg2: i64, %arg3: i32, %arg4: vector<4xf32>) {
  // CHECK-NEXT: %0 = llvm.load %arg0 : !llvm.ptr<1> -> f32
  %0 = llvm.load %arg0 : !llvm.ptr<1> -> f32
  // CHECK-NEXT: %1 = llvm.load volatile %arg0 {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %1 = llvm.load volatile %arg0 {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %2 = llvm.load %arg0 atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %2 = llvm.load %arg0 atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %3 = llvm.load %arg0 atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  %3 = llvm.load %arg0 atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  // CHECK-NEXT: %4 = llvm.load %arg0 invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
  %4 = llvm.load %arg0 invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT: llvm.store %arg1, %arg0 : f32, !llvm.ptr<1>
  llvm.store %arg1, %arg0 : f32, !llvm.ptr<1>
  // CHECK-NEXT: llvm.store volatile %arg4, %arg0 {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr<1>
  llvm.store volatile %arg4, %arg0 {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NEXT: llvm.store %arg3, %arg0 atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.store %arg3, %arg0 atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK-NEXT: %5 = llvm.atomicrmw add %arg0, %arg3 syncscope("device") monotonic : !llvm.ptr<1>, i32
  %5 = llvm.atomicrmw add %arg0, %arg3 syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK-NEXT: %6 = llvm.atomicrmw volatile _or %arg0, %arg3 acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, i32
  %6 = llvm.atomicrmw volatile _or %arg0, %arg3 acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, i32
  // CHECK-NEXT: %7 = llvm.atomicrmw fadd %arg0, %arg1 monotonic : !llvm.ptr<1>, f32
  %7 = llvm.atomicrmw fadd %arg0, %arg1 monotonic : !llvm.ptr<1>, f32
  // CHECK-NEXT: %8 = llvm.cmpxchg %arg0, %arg3, %arg3 acq_rel monotonic : !llvm.ptr<1>, i32
  %8 = llvm.cmpxchg %arg0, %arg3, %arg3 acq_rel monotonic : !llvm.ptr<1>, i32
  // CHECK-NEXT: %9 = llvm.cmpxchg weak volatile %arg0, %arg3, %arg3 syncscope("device") seq_cst acquire {alignment = 4 : i64} : !llvm.ptr<1>, i32
  %9 = llvm.cmpxchg weak volatile %arg0, %arg3, %arg3 syncscope("device") seq_cst acquire {alignment = 4 : i64} : !llvm.ptr<1>, i32
  // CHECK-NEXT: llvm.fence seq_cst
  llvm.fence seq_cst
  // CHECK-NEXT: llvm.fence syncscope("block") acq_rel
  llvm.fence syncscope("block") acq_rel
  // CHECK-NEXT: %10 = llvm.alloca %arg3 x f32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
  %10 = llvm.alloca %arg3 x f32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
  // CHECK-NEXT: %11 = llvm.getelementptr %arg0[%arg2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %11 = llvm.getelementptr %arg0[%arg2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  // CHECK-NEXT: %12 = llvm.getelementptr inbounds|nuw %arg0[4, 1, %arg2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.struct<(i32, !llvm.array<4 x f32>)>
  %12 = llvm.getelementptr inbounds|nuw %arg0[4, 1, %arg2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.struct<(i32, array<4 x f32>)>
  // CHECK-NEXT: %13 = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %13 = llvm.mlir.addressof @tile : !llvm.ptr<3>
  llvm.return
}

// CHECK-LABEL: llvm.func @values(%arg0: f32, %arg1: i32, %arg2: vector<4xf32>, %arg3: !llvm.struct<(i32, !llvm.array<2 x f32>)>) {
llvm.func @values(%arg0: f32, %arg1: i32, %arg2: vector<4xf32>, %arg3: !llvm.struct<(i32, array<2 x f32>)>) {
  // CHECK-NEXT: %0 = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.mlir.constant(1 : i32) : i32
  // CHECK-NEXT: %1 = llvm.mlir.constant(true) : i1
  %1 = llvm.mlir.constant(true) : i1
  // CHECK-NEXT: %2 = llvm.mlir.constant(-7 : i64) : i64
  %2 = llvm.mlir.constant(-7 : i64) : i64
  // CHECK-NEXT: %3 = llvm.mlir.constant(1.500000e+00 : bf16) : bf16
  %3 = llvm.mlir.constant(1.500000e+00 : bf16) : bf16
  // CHECK-NEXT: %4 = llvm.mlir.constant(dense<0.000000e+00> : vector<4xf32>) : vector<4xf32>
  %4 = llvm.mlir.constant(dense<0.000000e+00> : vector<4xf32>) : vector<4xf32>
  // CHECK-NEXT: %5 = llvm.mlir.zero : !llvm.ptr
  %5 = llvm.mlir.zero : !llvm.ptr
  // CHECK-NEXT: %6 = llvm.mlir.undef : vector<4xf32>
  %6 = llvm.mlir.undef : vector<4xf32>
  // CHECK-NEXT: %7 = llvm.mlir.poison : i32
  %7 = llvm.mlir.poison : i32
  // CHECK-NEXT: %8 = llvm.extractelement %arg2[%arg1 : i32] : vector<4xf32>
  %8 = llvm.extractelement %arg2[%arg1 : i32] : vector<4xf32>
  // CHECK-NEXT: %9 = llvm.insertelement %arg0, %arg2[%arg1 : i32] : vector<4xf32>
  %9 = llvm.insertelement %arg0, %arg2[%arg1 : i32] : vector<4xf32>
  // CHECK-NEXT: %10 = llvm.shufflevector %arg2, %arg2 [0, 5, -1] : vector<4xf32>
  %10 = llvm.shufflevector %arg2, %arg2 [0, 5, -1] : vector<4xf32>
  // CHECK-NEXT: %11 = llvm.extractvalue %arg3[1, 0] : !llvm.struct<(i32, !llvm.array<2 x f32>)>
  %11 = llvm.extractvalue %arg3[1, 0] : !llvm.struct<(i32, array<2 x f32>)>
  // CHECK-NEXT: %12 = llvm.insertvalue %arg1, %arg3[0] : !llvm.struct<(i32, !llvm.array<2 x f32>)>
  %12 = llvm.insertvalue %arg1, %arg3[0] : !llvm.struct<(i32, array<2 x f32>)>
  llvm.return
}

// CHECK-LABEL: llvm.func @control(%arg0: i1, %arg1: i32, %arg2: f32) -> i32 {
llvm.func @control(%arg0: i1, %arg1: i32, %arg2: f32) -> i32 {
  // CHECK-NEXT: %0 = llvm.call @outside(%arg1) : (i32) -> i32
  %0 = llvm.call @outside(%arg1) : (i32) -> i32
  // CHECK-NEXT: %1 = llvm.call @scale(%arg2) {fastmathFlags = #llvm.fastmath<nnan>} : (f32) -> f32
  %1 = llvm.call @scale(%arg2) {fastmathFlags = #llvm.fastmath<nnan>} : (f32) -> f32
  // CHECK-NEXT: llvm.call @nowhere() : () -> ()
  llvm.call @nowhere() : () -> ()
  // CHECK-NEXT: %2 = llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, $1;", "=r,r" %arg1 : (i32) -> i32
  %2 = llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, $1;", "=r,r" %arg1 : (i32) -> i32
  // CHECK-NEXT: llvm.inline_asm has_side_effects "bar.sync 1;", "~{memory}" : () -> ()
  llvm.inline_asm has_side_effects "bar.sync 1;", "~{memory}" : () -> ()
  // CHECK-NEXT: llvm.cond_br %arg0, ^bb1, ^bb2(%arg1 : i32)
  llvm.cond_br %arg0, ^bb1, ^bb2(%arg1 : i32)
// CHECK-NEXT: ^bb1:
^bb1:
  // CHECK-NEXT: llvm.switch %arg1 : i32, ^bb3 [1: ^bb2(%2 : i32), 7: ^bb3]
  llvm.switch %arg1 : i32, ^bb3 [1: ^bb2(%2 : i32), 7: ^bb3]
// CHECK-NEXT: ^bb2(%3: i32):
^bb2(%3: i32):
  // CHECK-NEXT: llvm.br ^bb4(%3 : i32)
  llvm.br ^bb4(%3 : i32)
// CHECK-NEXT: ^bb3:
^bb3:
  // CHECK-NEXT: llvm.switch %arg1 : i32, ^bb1 []
  llvm.switch %arg1 : i32, ^bb1 []
// CHECK-NEXT: ^bb4(%4: i32):
^bb4(%4: i32):
  // CHECK-NEXT: llvm.return %4 : i32
  llvm.return %4 : i32
}
