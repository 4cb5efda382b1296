// RUN: coconet-opt --split-input-file --verify-diagnostics %s

llvm.func @f() {
  // expected-error @+1 {{Expected attribute i32 but got i64}}
  %0 = nvvm.read.ptx.sreg.tid.x : i64
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{the range is one of i32}}
  %0 = nvvm.read.ptx.sreg.tid.x range <i64, 0, 1> : i32
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{expected an integer type}}
  %0 = nvvm.read.ptx.sreg.tid.x range <f32, 0, 1> : i32
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{operation 'nvvm.read.ptx.sreg.tid.w' is not registered; did you mean 'nvvm.read.ptx.sreg.tid.z'?}}
  %0 = nvvm.read.ptx.sreg.tid.w : i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{expected bfly or up or down or idx}}
  %0 = nvvm.shfl.sync left %a, %a, %a, %a : i32 -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32, %x: f64) {
  // expected-error @+1 {{expected i32 or f32, but got f64}}
  %0 = nvvm.shfl.sync bfly %a, %x, %a, %a : f64 -> f64
  llvm.return
}

// -----

llvm.func @f(%a: i32, %x: f32) {
  // expected-error @+1 {{expected the result f32, but it is i32}}
  %0 = nvvm.shfl.sync bfly %a, %x, %a, %a : f32 -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32, %x: f32) {
  // expected-error @+1 {{expected the result !llvm.struct<(f32, i1)>, but it is f32}}
  %0 = nvvm.shfl.sync bfly %a, %x, %a, %a {return_value_and_is_valid} : f32 -> f32
  llvm.return
}

// -----

llvm.func @f(%a: i32, %p: i1) {
  // expected-error @+1 {{expected the result i32, but it is i1}}
  %0 = nvvm.vote.sync ballot %a, %p -> i1
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{fmax takes f32, not i32}}
  %0 = nvvm.redux.sync fmax %a, %a : i32 -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{abs and nan are for floats}}
  %0 = nvvm.redux.sync add %a, %a {nan = true} : i32 -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{expected the result !llvm.struct<(i32, i1)>, but it is i32}}
  %0 = nvvm.match.sync all %a, %a : i32 -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{rc16 takes one}}
  %0 = nvvm.prmt <rc16> %a, %a, %a : i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{default takes two registers}}
  %0 = nvvm.prmt <default> %a, %a : i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{a number of threads needs the id of a barrier}}
  nvvm.barrier number_of_threads = %a
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{a reduction, its value and a result come together}}
  "nvvm.barrier"(%a) <{operandSegmentSizes = array<i32: 0, 0, 1>}> : (i32) -> ()
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{only barrier 0 reduces, without an id}}
  %0 = "nvvm.barrier"(%a, %a) <{operandSegmentSizes = array<i32: 1, 0, 1>, reductionOp = #nvvm.reduction<or>}> : (i32, i32) -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %a: i32) {
  // expected-error @+1 {{expected the result !llvm.ptr<7>, but it is !llvm.ptr}}
  %0 = nvvm.mapa %p, %a : !llvm.ptr<3> -> !llvm.ptr
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{expected wait or launch_dependents}}
  nvvm.griddepcontrol start
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{expected cta or cluster or gpu or sys}}
  nvvm.memory.barrier <warp>
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{'<' expected}}
  nvvm.memory.barrier gpu
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{async.shared, and no other kind, states a space}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>}
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{async.shared, and no other kind, states a space}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>, space = #nvvm.shared_space<cta>}
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<1>, %a: i32) {
  // expected-error @+1 {{expected !llvm.ptr or !llvm.ptr<3>, but got !llvm.ptr<1>}}
  nvvm.mbarrier.init %p, %a : !llvm.ptr<1>, i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<7>) {
  // expected-error @+1 {{an arrival at another block's barrier has no result}}
  %0 = nvvm.mbarrier.arrive %p : !llvm.ptr<7> -> i64
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>) {
  // expected-error @+1 {{the scope is cta or cluster, not sys}}
  %0 = nvvm.mbarrier.arrive %p {scope = #nvvm.mem_scope<sys>} : !llvm.ptr<3> -> i64
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %a: i32) {
  // expected-error @+1 {{the scope is cta or cluster, not gpu}}
  nvvm.mbarrier.expect_tx %p, %a {scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<3>, i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %x: f32) {
  // expected-error @+1 {{expected i32 or i64, but got f32}}
  %0 = nvvm.mbarrier.test.wait %p, %x : !llvm.ptr<3>, f32 -> i1
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %q: !llvm.ptr<1>) {
  // expected-error @+1 {{copies 4, 8 or 16 bytes, not 12}}
  nvvm.cp.async.shared.global %p, %q, 12, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %q: !llvm.ptr<1>) {
  // expected-error @+1 {{past L1, cg, goes a copy of 16 bytes}}
  nvvm.cp.async.shared.global %p, %q, 8, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %q: !llvm.ptr<1>) {
  // expected-error @+1 {{expected !llvm.ptr<3>, but got !llvm.ptr<1>}}
  nvvm.cp.async.shared.global %q, %p, 8, cache = ca : !llvm.ptr<1>, !llvm.ptr<3>
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{Expected integer literal}}
  nvvm.cp.async.wait.group -1
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{expected a number of 31 bits}}
  nvvm.cp.async.bulk.wait_group 4294967296
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<3>, %q: !llvm.ptr<1>, %a: i32) {
  // expected-error @+1 {{expected !llvm.ptr<7>, but got !llvm.ptr<3>}}
  nvvm.cp.async.bulk.shared.cluster.global %p, %q, %p, %a : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{expected L1 or L2}}
  nvvm.prefetch level = L3, %p : !llvm.ptr
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{a priority is for global memory in L2}}
  nvvm.prefetch level = L2, evict_priority = evict_last, %p : !llvm.ptr
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<1>) {
  // expected-error @+1 {{a uniform prefetch takes a generic pointer into L1}}
  nvvm.prefetch level = L1 uniform, %p : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr<4>) {
  // expected-error @+1 {{constant memory is not fetched before its use}}
  nvvm.prefetch level = L2, %p : !llvm.ptr<4>
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{f8 has rounding rn and saturation satfinite}}
  %0 = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rz>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{expected f8E4M3FN or f8E5M2, but got f16}}
  %0 = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16 (f16)
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{expected i16 or vector<2xi8>, but got i32}}
  %0 = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i32 (f8E5M2)
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{expected the result vector<2xbf16>, but it is vector<2xf16>}}
  %0 = nvvm.convert.f32x2.to.bf16x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{rounds rn or rz, without saturation}}
  %0 = nvvm.convert.f32x2.to.bf16x2 %x, %x : vector<2xbf16>
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{#nvvm.reduction<or> should be of base attribute nvvm.mem_scope}}
  "nvvm.memory.barrier"() <{scope = #nvvm.reduction<or>}> : () -> ()
  llvm.return
}
