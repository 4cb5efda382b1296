// RUN: coconet-opt --print-op-generic %s | coconet-opt - | filecheck %s
// RUN: %if mlir-opt %{ coconet-opt %s | mlir-opt-22 --mlir-print-op-generic \
// RUN:   | coconet-opt --print-op-generic - | mlir-opt-22 | coconet-opt - | filecheck %s %}

// CHECK-LABEL: llvm.func @registers() {
llvm.func @registers() {
  // CHECK-NEXT: %0 = nvvm.read.ptx.sreg.tid.x : i32
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK-NEXT: %1 = nvvm.read.ptx.sreg.tid.y : i32
  %1 = nvvm.read.ptx.sreg.tid.y : i32
  // CHECK-NEXT: %2 = nvvm.read.ptx.sreg.tid.z : i32
  %2 = nvvm.read.ptx.sreg.tid.z : i32
  // CHECK-NEXT: %3 = nvvm.read.ptx.sreg.ntid.x : i32
  %3 = nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK-NEXT: %4 = nvvm.read.ptx.sreg.ntid.y : i32
  %4 = nvvm.read.ptx.sreg.ntid.y : i32
  // CHECK-NEXT: %5 = nvvm.read.ptx.sreg.ntid.z : i32
  %5 = nvvm.read.ptx.sreg.ntid.z : i32
  // CHECK-NEXT: %6 = nvvm.read.ptx.sreg.ctaid.x : i32
  %6 = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK-NEXT: %7 = nvvm.read.ptx.sreg.ctaid.y : i32
  %7 = nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK-NEXT: %8 = nvvm.read.ptx.sreg.ctaid.z : i32
  %8 = nvvm.read.ptx.sreg.ctaid.z : i32
  // CHECK-NEXT: %9 = nvvm.read.ptx.sreg.nctaid.x : i32
  %9 = nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK-NEXT: %10 = nvvm.read.ptx.sreg.nctaid.y : i32
  %10 = nvvm.read.ptx.sreg.nctaid.y : i32
  // CHECK-NEXT: %11 = nvvm.read.ptx.sreg.nctaid.z : i32
  %11 = nvvm.read.ptx.sreg.nctaid.z : i32
  // CHECK-NEXT: %12 = nvvm.read.ptx.sreg.laneid : i32
  %12 = nvvm.read.ptx.sreg.laneid : i32
  // CHECK-NEXT: %13 = nvvm.read.ptx.sreg.warpid : i32
  %13 = nvvm.read.ptx.sreg.warpid : i32
  // CHECK-NEXT: %14 = nvvm.read.ptx.sreg.nwarpid : i32
  %14 = nvvm.read.ptx.sreg.nwarpid : i32
  // CHECK-NEXT: %15 = nvvm.read.ptx.sreg.warpsize : i32
  %15 = nvvm.read.ptx.sreg.warpsize : i32
  // CHECK-NEXT: %16 = nvvm.read.ptx.sreg.smid : i32
  %16 = nvvm.read.ptx.sreg.smid : i32
  // CHECK-NEXT: %17 = nvvm.read.ptx.sreg.nsmid : i32
  %17 = nvvm.read.ptx.sreg.nsmid : i32
  // CHECK-NEXT: %18 = nvvm.read.ptx.sreg.gridid : i32
  %18 = nvvm.read.ptx.sreg.gridid : i32
  // CHECK-NEXT: %19 = nvvm.read.ptx.sreg.lanemask.eq : i32
  %19 = nvvm.read.ptx.sreg.lanemask.eq : i32
  // CHECK-NEXT: %20 = nvvm.read.ptx.sreg.lanemask.le : i32
  %20 = nvvm.read.ptx.sreg.lanemask.le : i32
  // CHECK-NEXT: %21 = nvvm.read.ptx.sreg.lanemask.lt : i32
  %21 = nvvm.read.ptx.sreg.lanemask.lt : i32
  // CHECK-NEXT: %22 = nvvm.read.ptx.sreg.lanemask.ge : i32
  %22 = nvvm.read.ptx.sreg.lanemask.ge : i32
  // CHECK-NEXT: %23 = nvvm.read.ptx.sreg.lanemask.gt : i32
  %23 = nvvm.read.ptx.sreg.lanemask.gt : i32
  // CHECK-NEXT: %24 = nvvm.read.ptx.sreg.clusterid.x : i32
  %24 = nvvm.read.ptx.sreg.clusterid.x : i32
  // CHECK-NEXT: %25 = nvvm.read.ptx.sreg.clusterid.y : i32
  %25 = nvvm.read.ptx.sreg.clusterid.y : i32
  // CHECK-NEXT: %26 = nvvm.read.ptx.sreg.clusterid.z : i32
  %26 = nvvm.read.ptx.sreg.clusterid.z : i32
  // CHECK-NEXT: %27 = nvvm.read.ptx.sreg.nclusterid.x : i32
  %27 = nvvm.read.ptx.sreg.nclusterid.x : i32
  // CHECK-NEXT: %28 = nvvm.read.ptx.sreg.nclusterid.y : i32
  %28 = nvvm.read.ptx.sreg.nclusterid.y : i32
  // CHECK-NEXT: %29 = nvvm.read.ptx.sreg.nclusterid.z : i32
  %29 = nvvm.read.ptx.sreg.nclusterid.z : i32
  // CHECK-NEXT: %30 = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
  %30 = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
  // CHECK-NEXT: %31 = nvvm.read.ptx.sreg.cluster.ctaid.y : i32
  %31 = nvvm.read.ptx.sreg.cluster.ctaid.y : i32
  // CHECK-NEXT: %32 = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
  %32 = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
  // CHECK-NEXT: %33 = nvvm.read.ptx.sreg.cluster.nctaid.x : i32
  %33 = nvvm.read.ptx.sreg.cluster.nctaid.x : i32
  // CHECK-NEXT: %34 = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
  %34 = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
  // CHECK-NEXT: %35 = nvvm.read.ptx.sreg.cluster.nctaid.z : i32
  %35 = nvvm.read.ptx.sreg.cluster.nctaid.z : i32
  // CHECK-NEXT: %36 = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %36 = nvvm.read.ptx.sreg.cluster.ctarank : i32
  // CHECK-NEXT: %37 = nvvm.read.ptx.sreg.cluster.nctarank : i32
  %37 = nvvm.read.ptx.sreg.cluster.nctarank : i32
  // CHECK-NEXT: %38 = nvvm.read.ptx.sreg.total.smem.size : i32
  %38 = nvvm.read.ptx.sreg.total.smem.size : i32
  // CHECK-NEXT: %39 = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  %39 = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  // CHECK-NEXT: %40 = nvvm.read.ptx.sreg.aggr.smem.size : i32
  %40 = nvvm.read.ptx.sreg.aggr.smem.size : i32
  // CHECK-NEXT: %41 = nvvm.read.ptx.sreg.clock : i32
  %41 = nvvm.read.ptx.sreg.clock : i32
  // CHECK-NEXT: %42 = nvvm.read.ptx.sreg.clock64 : i64
  %42 = nvvm.read.ptx.sreg.clock64 : i64
  // CHECK-NEXT: %43 = nvvm.read.ptx.sreg.globaltimer : i64
  %43 = nvvm.read.ptx.sreg.globaltimer : i64
  // CHECK-NEXT: %44 = nvvm.read.ptx.sreg.globaltimer.lo : i32
  %44 = nvvm.read.ptx.sreg.globaltimer.lo : i32
  // CHECK-NEXT: %45 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
  %45 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
  llvm.return
}

// CHECK-LABEL: llvm.func @warp(%arg0: i32, %arg1: f32, %arg2: i32, %arg3: i64, %arg4: i1) {
llvm.func @warp(%arg0: i32, %arg1: f32, %arg2: i32, %arg3: i64, %arg4: i1) {
  // CHECK-NEXT: %0 = nvvm.shfl.sync bfly %arg0, %arg1, %arg2, %arg2 : f32 -> f32
  %0 = nvvm.shfl.sync bfly %arg0, %arg1, %arg2, %arg2 : f32 -> f32
  // CHECK-NEXT: %1 = nvvm.shfl.sync up %arg0, %arg2, %arg2, %arg2 : i32 -> i32
  %1 = nvvm.shfl.sync up %arg0, %arg2, %arg2, %arg2 : i32 -> i32
  // CHECK-NEXT: %2 = nvvm.shfl.sync down %arg0, %arg2, %arg2, %arg2 : i32 -> i32
  %2 = nvvm.shfl.sync down %arg0, %arg2, %arg2, %arg2 : i32 -> i32
  // CHECK-NEXT: %3 = nvvm.shfl.sync idx %arg0, %arg1, %arg2, %arg2 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  %3 = nvvm.shfl.sync idx %arg0, %arg1, %arg2, %arg2 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  // CHECK-NEXT: %4 = nvvm.vote.sync any %arg0, %arg4 -> i1
  %4 = nvvm.vote.sync any %arg0, %arg4 -> i1
  // CHECK-NEXT: %5 = nvvm.vote.sync all %arg0, %arg4 -> i1
  %5 = nvvm.vote.sync all %arg0, %arg4 -> i1
  // CHECK-NEXT: %6 = nvvm.vote.sync uni %arg0, %arg4 -> i1
  %6 = nvvm.vote.sync uni %arg0, %arg4 -> i1
  // CHECK-NEXT: %7 = nvvm.vote.sync ballot %arg0, %arg4 -> i32
  %7 = nvvm.vote.sync ballot %arg0, %arg4 -> i32
  // CHECK-NEXT: %8 = nvvm.redux.sync add %arg2, %arg0 : i32 -> i32
  %8 = nvvm.redux.sync add %arg2, %arg0 : i32 -> i32
  // CHECK-NEXT: %9 = nvvm.redux.sync umin %arg2, %arg0 : i32 -> i32
  %9 = nvvm.redux.sync umin %arg2, %arg0 : i32 -> i32
  // CHECK-NEXT: %10 = nvvm.redux.sync fmax %arg1, %arg0 {abs = true, nan = true} : f32 -> f32
  %10 = nvvm.redux.sync fmax %arg1, %arg0 {abs = true, nan = true} : f32 -> f32
  // CHECK-NEXT: %11 = nvvm.match.sync any %arg0, %arg3 : i64 -> i32
  %11 = nvvm.match.sync any %arg0, %arg3 : i64 -> i32
  // CHECK-NEXT: %12 = nvvm.match.sync all %arg0, %arg2 : i32 -> !llvm.struct<(i32, i1)>
  %12 = nvvm.match.sync all %arg0, %arg2 : i32 -> !llvm.struct<(i32, i1)>
  // CHECK-NEXT: %13 = nvvm.elect.sync -> i1
  %13 = nvvm.elect.sync -> i1
  // CHECK-NEXT: %14 = nvvm.elect.sync %arg0 -> i1
  %14 = nvvm.elect.sync %arg0 -> i1
  // CHECK-NEXT: nvvm.bar.warp.sync %arg0 : i32
  nvvm.bar.warp.sync %arg0 : i32
  // CHECK-NEXT: %15 = nvvm.prmt <default> %arg2, %arg2, %arg2 : i32
  %15 = nvvm.prmt <default> %arg2, %arg2, %arg2 : i32
  // CHECK-NEXT: %16 = nvvm.prmt <rc16> %arg2, %arg2 : i32
  %16 = nvvm.prmt <rc16> %arg2, %arg2 : i32
  // CHECK-NEXT: %17 = nvvm.rcp.approx.ftz.f %arg1 : f32
  %17 = nvvm.rcp.approx.ftz.f %arg1 : f32
  llvm.return
}

// CHECK-LABEL: llvm.func @blocks(%arg0: i32, %arg1: i32, %arg2: !llvm.ptr<3>, %arg3: !llvm.ptr) {
llvm.func @blocks(%arg0: i32, %arg1: i32, %arg2: !llvm.ptr<3>, %arg3: !llvm.ptr) {
  // CHECK-NEXT: nvvm.barrier0
  nvvm.barrier0
  // CHECK-NEXT: nvvm.barrier
  nvvm.barrier
  // CHECK-NEXT: nvvm.barrier id = %arg0
  nvvm.barrier id = %arg0
  // CHECK-NEXT: nvvm.barrier id = %arg0 number_of_threads = %arg1
  nvvm.barrier id = %arg0 number_of_threads = %arg1
  // CHECK-NEXT: %0 = nvvm.barrier #nvvm.reduction<popc> %arg0 -> i32
  %0 = nvvm.barrier #nvvm.reduction<popc> %arg0 -> i32
  // CHECK-NEXT: nvvm.cluster.arrive
  nvvm.cluster.arrive
  // CHECK-NEXT: nvvm.cluster.arrive {aligned}
  nvvm.cluster.arrive {aligned}
  // CHECK-NEXT: nvvm.cluster.arrive.relaxed {aligned}
  nvvm.cluster.arrive.relaxed {aligned}
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  nvvm.cluster.wait {aligned}
  // CHECK-NEXT: %1 = nvvm.mapa %arg2, %arg0 : !llvm.ptr<3> -> !llvm.ptr<7>
  %1 = nvvm.mapa %arg2, %arg0 : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK-NEXT: %2 = nvvm.mapa %arg3, %arg0 : !llvm.ptr -> !llvm.ptr
  %2 = nvvm.mapa %arg3, %arg0 : !llvm.ptr -> !llvm.ptr
  // CHECK-NEXT: nvvm.griddepcontrol wait
  nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: nvvm.memory.barrier <cta>
  nvvm.memory.barrier <cta>
  // CHECK-NEXT: nvvm.memory.barrier <gpu>
  nvvm.memory.barrier <gpu>
  // CHECK-NEXT: nvvm.fence.sc.cluster
  nvvm.fence.sc.cluster
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: nvvm.nanosleep %arg1
  nvvm.nanosleep %arg1
  // CHECK-NEXT: nvvm.exit
  nvvm.exit
  llvm.return
}

// CHECK-LABEL: llvm.func @mbarriers(%arg0: !llvm.ptr<3>, %arg1: !llvm.ptr, %arg2: !llvm.ptr<7>, %arg3: i32, %arg4: i64) {
llvm.func @mbarriers(%arg0: !llvm.ptr<3>, %arg1: !llvm.ptr, %arg2: !llvm.ptr<7>, %arg3: i32, %arg4: i64) {
  // CHECK-NEXT: nvvm.mbarrier.init %arg0, %arg3 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %arg0, %arg3 : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.inval %arg1 : !llvm.ptr
  nvvm.mbarrier.inval %arg1 : !llvm.ptr
  // CHECK-NEXT: %0 = nvvm.mbarrier.arrive %arg0 : !llvm.ptr<3> -> i64
  %0 = nvvm.mbarrier.arrive %arg0 : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %1 = nvvm.mbarrier.arrive %arg0, %arg3 : !llvm.ptr<3> -> i64
  %1 = nvvm.mbarrier.arrive %arg0, %arg3 : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %2 = nvvm.mbarrier.arrive %arg0 {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3> -> i64
  %2 = nvvm.mbarrier.arrive %arg0 {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3> -> i64
  // CHECK-NEXT: nvvm.mbarrier.arrive %arg2 : !llvm.ptr<7>
  nvvm.mbarrier.arrive %arg2 : !llvm.ptr<7>
  // CHECK-NEXT: %3 = nvvm.mbarrier.arrive.nocomplete %arg1, %arg3 : !llvm.ptr, i32 -> i64
  %3 = nvvm.mbarrier.arrive.nocomplete %arg1, %arg3 : !llvm.ptr, i32 -> i64
  // CHECK-NEXT: %4 = nvvm.mbarrier.arrive.expect_tx %arg0, %arg3 : !llvm.ptr<3>, i32 -> i64
  %4 = nvvm.mbarrier.arrive.expect_tx %arg0, %arg3 : !llvm.ptr<3>, i32 -> i64
  // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %arg2, %arg3 : !llvm.ptr<7>, i32
  nvvm.mbarrier.arrive.expect_tx %arg2, %arg3 : !llvm.ptr<7>, i32
  // CHECK-NEXT: nvvm.mbarrier.expect_tx %arg0, %arg3 : !llvm.ptr<3>, i32
  nvvm.mbarrier.expect_tx %arg0, %arg3 : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.complete_tx %arg2, %arg3 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  nvvm.mbarrier.complete_tx %arg2, %arg3 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  // CHECK-NEXT: %5 = nvvm.mbarrier.test.wait %arg0, %arg4 : !llvm.ptr<3>, i64 -> i1
  %5 = nvvm.mbarrier.test.wait %arg0, %arg4 : !llvm.ptr<3>, i64 -> i1
  // CHECK-NEXT: %6 = nvvm.mbarrier.test.wait %arg1, %arg3 : !llvm.ptr, i32 -> i1
  %6 = nvvm.mbarrier.test.wait %arg1, %arg3 : !llvm.ptr, i32 -> i1
  // CHECK-NEXT: %7 = nvvm.mbarrier.try_wait %arg0, %arg4 : !llvm.ptr<3>, i64 -> i1
  %7 = nvvm.mbarrier.try_wait %arg0, %arg4 : !llvm.ptr<3>, i64 -> i1
  // CHECK-NEXT: %8 = nvvm.mbarrier.try_wait %arg0, %arg3, %arg3 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i32, i32 -> i1
  %8 = nvvm.mbarrier.try_wait %arg0, %arg3, %arg3 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i32, i32 -> i1
  llvm.return
}

// CHECK-LABEL: llvm.func @copies(%arg0: !llvm.ptr<3>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<3>, %arg3: !llvm.ptr<7>, %arg4: !llvm.ptr, %arg5: i32, %arg6: i64, %arg7: i16) {
llvm.func @copies(%arg0: !llvm.ptr<3>, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<3>, %arg3: !llvm.ptr<7>, %arg4: !llvm.ptr, %arg5: i32, %arg6: i64, %arg7: i16) {
  // CHECK-NEXT: nvvm.cp.async.shared.global %arg0, %arg1, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %arg0, %arg1, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.shared.global %arg0, %arg1, 4, cache = ca, %arg5 : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.shared.global %arg0, %arg1, 4, cache = ca, %arg5 : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK-NEXT: nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 1
  nvvm.cp.async.wait.group 1
  // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %arg2 : !llvm.ptr<3>
  nvvm.cp.async.mbarrier.arrive %arg2 : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %arg4 {noinc = true} : !llvm.ptr
  nvvm.cp.async.mbarrier.arrive %arg4 {noinc = true} : !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg1, %arg2, %arg5 : !llvm.ptr<7>, !llvm.ptr<1>
  nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg1, %arg2, %arg5 : !llvm.ptr<7>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg1, %arg2, %arg5 multicast_mask = %arg7 l2_cache_hint = %arg6 : !llvm.ptr<7>, !llvm.ptr<1>
  nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg1, %arg2, %arg5 multicast_mask = %arg7 l2_cache_hint = %arg6 : !llvm.ptr<7>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.bulk.global.shared.cta %arg1, %arg0, %arg5 : !llvm.ptr<1>, !llvm.ptr<3>
  nvvm.cp.async.bulk.global.shared.cta %arg1, %arg0, %arg5 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: nvvm.cp.async.bulk.global.shared.cta %arg1, %arg0, %arg5 l2_cache_hint = %arg6 byte_mask = %arg7 : !llvm.ptr<1>, !llvm.ptr<3>
  nvvm.cp.async.bulk.global.shared.cta %arg1, %arg0, %arg5 l2_cache_hint = %arg6 byte_mask = %arg7 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.commit.group
  // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1
  nvvm.cp.async.bulk.wait_group 1
  // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
  nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-NEXT: nvvm.cp.async.bulk.prefetch %arg1, %arg5 : !llvm.ptr<1>
  nvvm.cp.async.bulk.prefetch %arg1, %arg5 : !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.bulk.prefetch %arg1, %arg5 l2_cache_hint = %arg6 : !llvm.ptr<1>
  nvvm.cp.async.bulk.prefetch %arg1, %arg5 l2_cache_hint = %arg6 : !llvm.ptr<1>
  // CHECK-NEXT: nvvm.prefetch level = L1, %arg1 : !llvm.ptr<1>
  nvvm.prefetch level = L1, %arg1 : !llvm.ptr<1>
  // CHECK-NEXT: nvvm.prefetch level = L2, %arg4 : !llvm.ptr
  nvvm.prefetch level = L2, %arg4 : !llvm.ptr
  // CHECK-NEXT: nvvm.prefetch level = L2, evict_priority = evict_last, %arg1 : !llvm.ptr<1>
  nvvm.prefetch level = L2, evict_priority = evict_last, %arg1 : !llvm.ptr<1>
  // CHECK-NEXT: nvvm.prefetch level = L1 uniform, %arg4 : !llvm.ptr
  nvvm.prefetch level = L1 uniform, %arg4 : !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @conversions(%arg0: f32, %arg1: vector<2xf16>, %arg2: vector<2xi8>) {
llvm.func @conversions(%arg0: f32, %arg1: vector<2xf16>, %arg2: vector<2xi8>) {
  // CHECK-NEXT: %0 = nvvm.convert.f32x2.to.f8x2 %arg0, %arg0 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
  %0 = nvvm.convert.f32x2.to.f8x2 %arg0, %arg0 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)
  // CHECK-NEXT: %1 = nvvm.convert.f32x2.to.f8x2 %arg0, %arg0 {relu = true, rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : vector<2xi8>(f8E5M2)
  %1 = nvvm.convert.f32x2.to.f8x2 %arg0, %arg0 {relu = true, rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : vector<2xi8> (f8E5M2)
  // CHECK-NEXT: %2 = nvvm.convert.f16x2.to.f8x2 %arg1 : vector<2xf16> -> i16(f8E4M3FN)
  %2 = nvvm.convert.f16x2.to.f8x2 %arg1 : vector<2xf16> -> i16 (f8E4M3FN)
  // CHECK-NEXT: %3 = nvvm.convert.f16x2.to.f8x2 %arg1 {relu = true} : vector<2xf16> -> vector<2xi8>(f8E5M2)
  %3 = nvvm.convert.f16x2.to.f8x2 %arg1 {relu = true} : vector<2xf16> -> vector<2xi8> (f8E5M2)
  // CHECK-NEXT: %4 = nvvm.convert.f8x2.to.f16x2 %arg2 : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
  %4 = nvvm.convert.f8x2.to.f16x2 %arg2 : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
  // CHECK-NEXT: %5 = nvvm.convert.f8x2.to.f16x2 %arg2 {relu = true} : vector<2xi8>(f8E5M2) -> vector<2xf16>
  %5 = nvvm.convert.f8x2.to.f16x2 %arg2 {relu = true} : vector<2xi8> (f8E5M2) -> vector<2xf16>
  // CHECK-NEXT: %6 = nvvm.convert.f32x2.to.f16x2 %arg0, %arg0 {rnd = #nvvm.fp_rnd_mode<rz>} : vector<2xf16>
  %6 = nvvm.convert.f32x2.to.f16x2 %arg0, %arg0 {rnd = #nvvm.fp_rnd_mode<rz>} : vector<2xf16>
  // CHECK-NEXT: %7 = nvvm.convert.f32x2.to.bf16x2 %arg0, %arg0 {relu = true, rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  %7 = nvvm.convert.f32x2.to.bf16x2 %arg0, %arg0 {relu = true, rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  llvm.return
}
