// RUN: coconet-opt %s -p coconet-lower-kernels | filecheck %s
// RUN: coconet-opt %s -p coconet-lower-kernels | coconet-opt - | filecheck %s
// RUN: coconet-opt %s -p coconet-lower-kernels -t ptx | filecheck %s --check-prefix PTX
// RUN: coconet-opt %s -p 'coconet-lower-kernels{target=sm_80}' -t nvptx-llvm --target sm_80 | filecheck %s --check-prefix LLVM

module attributes {coconet.level = "kernel", gpu.container_module} {
  // The host stays as it is.
  // CHECK-LABEL: func.func @f(
  // CHECK:         "gpu.launch_func"(%{{.*}}, %x, %y, %beta) <{kernel = @kernels::@scale,
  func.func @f(%x: memref<?xf32>, %y: memref<?xi1>, %beta: f32) {
    %one = arith.constant 1 : index
    %threads = arith.constant 128 : index
    %token = "gpu.launch_func"(%one, %one, %one, %threads, %one, %one, %x, %y, %beta)
      <{kernel = @kernels::@scale, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, 0>}>
      : (index, index, index, index, index, index, memref<?xf32>, memref<?xi1>, f32) -> !gpu.async.token
    func.return
  }

  // Memory of a block has no value to start with.
  // CHECK:       llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
  "gpu.module"() <{sym_name = "kernels"}> ({
    "memref.global"() <{sym_name = "tile", type = memref<32xf32, 3 : i64>, initial_value, sym_visibility = "private"}> : () -> ()

    // Buffers are pointers to global memory, aligned to their elements; an i1 is a byte in memory.
    // CHECK-LABEL: llvm.func @scale(
    // CHECK-SAME:    %x: !llvm.ptr<1> {llvm.align = 4 : i64}, %y: !llvm.ptr<1> {llvm.align = 1 : i64}, %beta: f32
    // CHECK-SAME:    attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128>, nvvm.minctasm = 1 : i32}
    // CHECK:         %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
    // CHECK:         %t = llvm.zext %[[TID]] : i32 to i64
    // CHECK:         %[[PLACE:.*]] = llvm.getelementptr inbounds %x[%t] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK:         %v = llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    // CHECK:         llvm.insertelement %beta, %{{.*}}[%{{.*}} : i32] : vector<4xf32>
    // CHECK:         %b = llvm.shufflevector %{{.*}} [0, 0, 0, 0] : vector<4xf32>
    // CHECK:         %p = llvm.fmul %v, %b : vector<4xf32>
    // CHECK:         %c = llvm.fcmp "olt" %p, %v : vector<4xf32>
    // CHECK:         %[[BYTES:.*]] = llvm.zext %c : vector<4xi1> to vector<4xi8>
    // CHECK:         llvm.store %[[BYTES]], %{{.*}} {alignment = 4 : i64} : vector<4xi8>, !llvm.ptr<1>
    // CHECK:         llvm.br ^[[HEAD:bb[0-9]+]](%t, %e : i64, f32)
    // CHECK:       ^[[HEAD]](%[[I:.*]]: i64, %[[SUM:.*]]: f32):
    // CHECK:         %[[GOING:.*]] = llvm.icmp "slt" %[[I]], %n : i64
    // CHECK:         llvm.cond_br %[[GOING]], ^[[BODY:bb[0-9]+]], ^[[AFTER:bb[0-9]+]](%[[SUM]] : f32)
    // CHECK:       ^[[BODY]]:
    // CHECK:         %[[MORE:.*]] = llvm.fadd %[[SUM]], %{{.*}} : f32
    // CHECK:         %[[NEXT:.*]] = llvm.add %[[I]], %{{.*}} : i64
    // CHECK:         llvm.br ^[[HEAD]](%[[NEXT]], %[[MORE]] : i64, f32)
    // CHECK:       ^[[AFTER]](%[[TOTAL:.*]]: f32):
    // CHECK:         %[[TILE:.*]] = llvm.mlir.addressof @tile : !llvm.ptr<3>
    // CHECK:         nvvm.barrier
    // CHECK:         %[[WORD:.*]] = llvm.bitcast %[[TOTAL]] : f32 to i32
    // CHECK:         nvvm.shfl.sync bfly %{{.*}}, %[[WORD]], %{{.*}}, %{{.*}} : i32 -> i32
    // CHECK:         llvm.cond_br %{{.*}}, ^[[THEN:bb[0-9]+]], ^[[END:bb[0-9]+]]
    // CHECK:       ^[[THEN]]:
    // CHECK:         llvm.br ^[[END]]
    // CHECK:       ^[[END]]:
    // CHECK:         llvm.return
    // CHECK:       coconet.target = "sm_90a"

    // PTX-LABEL:   .visible .entry scale(
    // PTX:         .maxntid 128
    // PTX:         ld.global.v4.b32
    // PTX-NEXT:    .loc 1 {{[0-9]+}} 7
    // PTX-NEXT:    mul.rn.f32

    // LLVM:        define ptx_kernel void @scale(ptr addrspace(1) align 4 %x, ptr addrspace(1) align 1 %y, float %beta)
    // LLVM:        fmul <4 x float>
    "gpu.func"() <{function_type = (memref<?xf32>, memref<?xi1>, f32) -> ()}> ({
    ^entry(%x: memref<?xf32>, %y: memref<?xi1>, %beta: f32):
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %n = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %one = arith.constant 1 : index
      %v = vector.load %x[%t] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
      %b = vector.broadcast %beta : f32 to vector<4xf32>
      %p = arith.mulf %v, %b : vector<4xf32>
      %c = arith.cmpf olt, %p, %v : vector<4xf32>
      vector.store %c, %y[%t] {alignment = 4 : i64} : memref<?xi1>, vector<4xi1>
      %e = vector.extract %p[0] : f32 from vector<4xf32>
      %total = scf.for %i = %t to %n step %one iter_args(%sum = %e) -> (f32) {
        %z = memref.load %x[%i] : memref<?xf32>
        %more = arith.addf %sum, %z : f32
        scf.yield %more : f32
      }
      %tile = memref.get_global @tile : memref<32xf32, 3 : i64>
      memref.store %total, %tile[%t] : memref<32xf32, 3 : i64>
      "gpu.barrier"() : () -> ()
      %four = arith.constant 4 : i32
      %warp = arith.constant 32 : i32
      %other, %valid = "gpu.shuffle"(%total, %four, %warp) <{mode = #gpu<shuffle_mode xor>}> : (f32, i32, i32) -> (f32, i1)
      %first = arith.cmpi eq, %t, %one : index
      scf.if %first {
        memref.store %other, %x[%t] : memref<?xf32>
      }
      "gpu.return"() : () -> ()
    }) {sym_name = "scale", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}
