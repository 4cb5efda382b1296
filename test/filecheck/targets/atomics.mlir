// Orders and scopes arrive in PTX: what each states is what the memory model of PTX is told.

// RUN: coconet-opt -t ptx --target sm_90a %s | filecheck %s

// CHECK-LABEL: .visible .entry accesses(
llvm.func @accesses(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
  // CHECK: ld.relaxed.sys.global.b32
  %0 = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: ld.relaxed.gpu.global.b32
  %1 = llvm.load %p atomic syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: ld.acquire.gpu.global.b32
  %2 = llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: ld.acquire.cta.global.b32
  %3 = llvm.load %p atomic syncscope("block") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: ld.acquire.cluster.global.b32
  %4 = llvm.load %p atomic syncscope("cluster") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: fence.sc.gpu;
  // CHECK: ld.acquire.gpu.global.b32
  %5 = llvm.load %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: st.relaxed.gpu.global.b32
  llvm.store %0, %p atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK: st.release.sys.global.b32
  llvm.store %x, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK: st.volatile.global.b32
  llvm.store volatile %x, %p : i32, !llvm.ptr<1>
  // CHECK: ret;
  llvm.return
}

// Without words PTX means .relaxed.gpu, which is all that an update may state.

// CHECK-LABEL: .visible .entry updates(
llvm.func @updates(%p: !llvm.ptr<1>, %x: i32, %f: f32, %h: vector<2xf16>) attributes {nvvm.kernel} {
  // CHECK: atom.global.add.u32
  %0 = llvm.atomicrmw add %p, %x syncscope("device") monotonic : !llvm.ptr<1>, i32
  llvm.store volatile %0, %p : i32, !llvm.ptr<1>
  // CHECK: atom.global.max.s32
  %1 = llvm.atomicrmw max %p, %x syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK: atom.global.add.f32
  %2 = llvm.atomicrmw fadd %p, %f syncscope("device") monotonic : !llvm.ptr<1>, f32
  // CHECK: atom.global.exch.b32
  %3 = llvm.atomicrmw xchg %p, %x syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK: ret;
  llvm.return
}

// CHECK-LABEL: .visible .entry exchanges(
llvm.func @exchanges(%p: !llvm.ptr<1>, %x: i32, %y: i32, %l: i64) attributes {nvvm.kernel} {
  // CHECK: atom.acquire.sys.global.cas.b32
  %0 = llvm.cmpxchg %p, %x, %y acquire monotonic : !llvm.ptr<1>, i32
  // CHECK: atom.relaxed.gpu.global.cas.b64
  %1 = llvm.cmpxchg %p, %l, %l syncscope("device") monotonic monotonic : !llvm.ptr<1>, i64
  // CHECK: atom.release.cta.global.cas.b32
  %2 = llvm.cmpxchg %p, %x, %y syncscope("block") release monotonic : !llvm.ptr<1>, i32
  // CHECK: fence.sc.cluster;
  // CHECK: atom.acquire.cluster.global.cas.b32
  %3 = llvm.cmpxchg %p, %x, %y syncscope("cluster") seq_cst seq_cst : !llvm.ptr<1>, i32
  // CHECK: ret;
  llvm.return
}

// CHECK-LABEL: .visible .entry fences(
llvm.func @fences() attributes {nvvm.kernel} {
  // CHECK: fence.acq_rel.sys;
  llvm.fence acq_rel
  // CHECK: fence.acq_rel.gpu;
  llvm.fence syncscope("device") acq_rel
  // CHECK: fence.acq_rel.cta;
  llvm.fence syncscope("block") release
  // CHECK: fence.acq_rel.cluster;
  llvm.fence syncscope("cluster") acquire
  // CHECK: fence.sc.sys;
  llvm.fence seq_cst
  // CHECK: ret;
  llvm.return
}
