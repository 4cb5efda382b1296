// RUN: coconet-opt %s -p coconet-outline-kernels | filecheck %s
// RUN: coconet-opt %s -p coconet-outline-kernels --remarks -o %t 2>&1 | filecheck %s --check-prefix REMARK

module attributes {coconet.level = "buffer"} {
  // A long row, and each of few rows, takes a block of 256 threads; of others as many are a block as their lanes fill.
  // CHECK-LABEL: func.func @softmax(
  // CHECK:         %[[LONG:.*]] = arith.cmpi ult, %{{.*}}, %[[COLUMNS:.*]] : index
  // CHECK-NEXT:    %[[FEW:.*]] = arith.cmpi ule, %[[ROWS:.*]], %{{.*}} : index
  // CHECK-NEXT:    %[[ALONE:.*]] = arith.ori %[[LONG]], %[[FEW]] : i1
  // CHECK:         %[[X:.*]] = arith.select %[[ALONE]], %[[THREADS:.*]], %{{.*}} : index
  // CHECK-NEXT:    %[[Y:.*]] = arith.divui %[[THREADS]], %[[X]] : index
  // CHECK:         "gpu.launch_func"(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[X]], %[[Y]], %{{.*}}) <{kernel = @kernels::@softmax
  // REMARK: remark: outline-kernels 'softmax': applied: @kernels.softmax reduces rows
  func.func @softmax(%x: memref<?x?xf32>) {
    coll.fused {
      %xt = bufferization.to_tensor %x : memref<?x?xf32> to tensor<?x?xf32>
      %h = comp.reduce max %xt dims [1] : tensor<?x?xf32> -> tensor<?xf32>
      %hs = comp.broadcast %h dims [0] like %xt : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
      %d = arith.subf %xt, %hs : tensor<?x?xf32>
      %e = math.exp %d : tensor<?x?xf32>
      %s = comp.reduce sum %e dims [1] : tensor<?x?xf32> -> tensor<?xf32>
      %ss = comp.broadcast %s dims [0] like %xt : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
      %y = arith.divf %e, %ss : tensor<?x?xf32>
      bufferization.materialize_in_destination %y in writable %x : (tensor<?x?xf32>, memref<?x?xf32>) -> ()
      coll.yield
    } {coconet.name = "softmax"}
    func.return
  }

  // What one launch leaves for the next lies in memory of its own. Where one block takes all elements, it finishes, and
  // the other launch has no blocks.
  // CHECK-LABEL: func.func @norm(
  // CHECK:         %[[PARTIAL:.*]] = memref.alloc(%[[BUCKETS:.*]]) : memref<?xf32>
  // CHECK:         %[[TOKEN:.*]] = "gpu.launch_func"(%{{.*}}, %[[PARTIAL]], %[[N:.*]]) <{kernel = @kernels::@norm,
  // CHECK:         %[[SMALL:.*]] = arith.cmpi ule, {{.*}} : index
  // CHECK-NEXT:    %[[GRID:.*]] = arith.select %[[SMALL]], {{.*}} : index
  // CHECK-NEXT:    "gpu.launch_func"(%[[TOKEN]], %[[GRID]], {{.*}}%[[PARTIAL]], %[[N]]) <{kernel = @kernels::@norm_2,
  // REMARK: 'norm': applied: @kernels.norm reduces buckets, then @kernels.norm_2 reduces what buckets gave
  func.func @norm(%x: memref<?xbf16>, %n: memref<f32>) {
    coll.fused {
      %xt = bufferization.to_tensor %x : memref<?xbf16> to tensor<?xbf16>
      %w = arith.extf %xt : tensor<?xbf16> to tensor<?xf32>
      %q = arith.mulf %w, %w : tensor<?xf32>
      %s = comp.reduce sum %q dims [0] : tensor<?xf32> -> tensor<f32>
      %r = math.sqrt %s : tensor<f32>
      bufferization.materialize_in_destination %r in writable %n : (tensor<f32>, memref<f32>) -> ()
      coll.yield
    } {coconet.name = "norm"}
    func.return
  }
}

// The maximum, the sum and what follows: a short row is loaded once, eight vectors a thread, and not again behind the
// exchange: threads of a block give lanes what they have, by memory, and lanes exchange values.
// CHECK:       "memref.global"() <{sym_name = "softmax$shared", {{.*}}memref<256xf32, 3 : i64>
// CHECK-COUNT-8: vector.load {{.*}} : memref<?xf32>, vector<4xf32>
// CHECK-NOT:     vector.load
// CHECK:         arith.maximumf {{.*}} : f32
// CHECK:         "gpu.barrier"()
// CHECK:         "gpu.shuffle"({{.*}}) <{mode = #gpu<shuffle_mode xor>}>
// CHECK-COUNT-8: math.exp {{.*}} : vector<4xf32>
// CHECK-NOT:     math.exp
// CHECK:         arith.divf {{.*}} : vector<4xf32>
// CHECK:         vector.store {{.*}} : memref<?xf32>, vector<4xf32>

// Other rows take three loops.
// CHECK:         scf.for %{{.*}} iter_args(%[[TOTAL:.*]] = %{{.*}}) -> (f32) {
// CHECK:           vector.load {{.*}} : memref<?xf32>, vector<4xf32>
// CHECK:           %[[ONE:.*]] = vector.extract %{{.*}}[0] : f32 from vector<4xf32>
// CHECK:           arith.maximumf %[[ONE]], %{{.*}} : f32
// CHECK:           arith.maximumf %[[TOTAL]], %{{.*}} : f32
// CHECK:         math.exp {{.*}} : vector<4xf32>
// CHECK:         math.exp {{.*}} : vector<4xf32>
// CHECK:         vector.store {{.*}} : memref<?xf32>, vector<4xf32>
// CHECK:       {sym_name = "softmax", gpu.kernel, coconet.threads = 256 : i64}

// CHECK:         vector.load {{.*}} {alignment = 16 : i64} : memref<?xbf16>, vector<8xbf16>
// CHECK:         math.sqrt
// CHECK:       {sym_name = "norm", gpu.kernel, coconet.threads = 128 : i64}
// CHECK:         math.sqrt
// CHECK:       {sym_name = "norm_2", gpu.kernel, coconet.threads = 1024 : i64}
