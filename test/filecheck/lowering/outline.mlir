// RUN: coconet-opt %s -p coconet-outline-kernels | filecheck %s
// RUN: coconet-opt %s -p coconet-outline-kernels | coconet-opt - | filecheck %s
// RUN: coconet-opt %s -p coconet-outline-kernels --remarks -o %t 2>&1 | filecheck %s --check-prefix REMARK

module attributes {coconet.level = "buffer"} {
  // The host computes the grid from sizes; a launch waits for those whose buffers it uses.
  // CHECK-LABEL: func.func @steps(
  // CHECK-SAME:    %[[G:g]]: memref<?xf16>, %[[M:m]]: memref<?xf32>, %{{.*}}: memref<4x?xbf16>
  // CHECK:         %[[N:.*]] = memref.dim %g, %{{.*}} : memref<?xf16>
  // CHECK:         %[[UP:.*]] = arith.addi %[[N]], %{{.*}} : index
  // CHECK:         %[[BLOCKS:.*]] = arith.divui %[[UP]], %{{.*}} : index
  // CHECK:         %[[SOME:.*]] = arith.cmpi ult, %[[BLOCKS]], %[[ONE:.*]] : index
  // CHECK:         %[[GRID:.*]] = arith.select %[[SOME]], %[[ONE]], %[[BLOCKS]] : index
  // CHECK:         %[[TOKEN:.*]] = "gpu.launch_func"(%[[GRID]], %{{.*}}) <{kernel = @kernels::@momentum
  // CHECK:         "gpu.launch_func"(%[[TOKEN]], {{.*}}) <{kernel = @kernels::@scaled
  // REMARK: outline.mlir:{{[0-9]+}}:5: remark: outline-kernels 'momentum': applied: @kernels.momentum computes elements
  func.func @steps(%g: memref<?xf16>, %m: memref<?xf32>, %b: memref<4x?xbf16>, %beta: f32) {
    coll.fused {
      %gt = bufferization.to_tensor %g : memref<?xf16> to tensor<?xf16>
      %mt = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>
      %wide = arith.extf %gt : tensor<?xf16> to tensor<?xf32>
      %old = comp.scale %mt by %beta : tensor<?xf32>
      %new = arith.addf %old, %wide : tensor<?xf32>
      bufferization.materialize_in_destination %new in writable %m : (tensor<?xf32>, memref<?xf32>) -> ()
      coll.yield
    } {coconet.name = "momentum"}
    coll.fused {
      %mt = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>
      %bt = bufferization.to_tensor %b : memref<4x?xbf16> to tensor<4x?xbf16>
      %rows = comp.broadcast %mt dims [1] like %bt : tensor<?xf32>, tensor<4x?xbf16> -> tensor<4x?xf32>
      %wide = arith.extf %bt : tensor<4x?xbf16> to tensor<4x?xf32>
      %product = arith.mulf %wide, %rows : tensor<4x?xf32>
      %narrow = arith.truncf %product : tensor<4x?xf32> to tensor<4x?xbf16>
      bufferization.materialize_in_destination %narrow in writable %b : (tensor<4x?xbf16>, memref<4x?xbf16>) -> ()
      coll.yield
    } {coconet.name = "scaled"}
    func.return
  }
}

// A block of 128 threads moves two vectors of 16 bytes each, if it is whole and the buffers are aligned. It loads both
// before it computes.
// CHECK-LABEL: "gpu.module"() <{sym_name = "kernels"}>
// CHECK:         ({{.*}}%[[N:[a-z0-9_]+]]: index, %[[M:[a-z]+]]: memref<?xf32>, %[[G:[a-z]+]]: memref<?xf16>, %[[BETA:[a-z]+]]: f32):
// CHECK:         %[[BLOCK:.*]] = "gpu.block_id"() <{dimension = #gpu<dim x>}>
// CHECK:         %[[SHARE:.*]] = arith.constant 1024 : index
// CHECK:         %[[START:.*]] = arith.muli %[[BLOCK]], %[[SHARE]] : index
// CHECK:         %[[STOP:.*]] = arith.addi %[[START]], %[[SHARE]] : index
// CHECK:         %[[WHOLE:.*]] = arith.cmpi ule, %[[STOP]], %[[N]] : index
// CHECK:         "memref.extract_aligned_pointer_as_index"(%[[M]])
// CHECK:         "memref.extract_aligned_pointer_as_index"(%[[G]])
// CHECK:         %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK:         %[[FAST:.*]] = arith.andi %[[WHOLE]], %[[ALIGNED]] : i1
// CHECK:         scf.if %[[FAST]] {
// CHECK:           vector.load %[[M]][%[[AT:.*]]] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-NEXT:      vector.load %[[G]][%[[AT]]] {alignment = 8 : i64} : memref<?xf16>, vector<4xf16>
// CHECK:           vector.load %[[M]][%[[NEXT:.*]]] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-NEXT:      vector.load %[[G]][%[[NEXT]]] {alignment = 8 : i64} : memref<?xf16>, vector<4xf16>
// CHECK-NEXT:      vector.broadcast %[[BETA]] : f32 to vector<4xf32>
// CHECK:           arith.mulf {{.*}} : vector<4xf32>
// CHECK:           arith.extf {{.*}} : vector<4xf16> to vector<4xf32>
// CHECK:           %[[FIRST:.*]] = arith.addf {{.*}} : vector<4xf32>
// CHECK:           vector.store %[[FIRST]], %[[M]][%[[AT]]] {alignment = 16 : i64}
// CHECK:           vector.store %{{.*}}, %[[M]][%[[NEXT]]] {alignment = 16 : i64}
// CHECK:         } else {
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:             memref.load %[[M]][%[[I]]] : memref<?xf32>
// CHECK:             memref.store %{{.*}}, %[[M]][%[[I]]] : memref<?xf32>
// CHECK:       {sym_name = "momentum", gpu.kernel, coconet.threads = 128 : i64}

// Rows of vectors: their length must hold whole vectors too, and 32 bits a place in them. What needs no place in a row
// is loaded before the place of the block is found; from there on divisions are of 32 bits.
// CHECK:         %[[LOW:.*]] = arith.remui %[[COLUMNS:.*]], %{{.*}} : index
// CHECK:         arith.constant 2147483648 : index
// CHECK:         scf.if
// CHECK:           vector.load %{{.*}}[%{{.*}}] {alignment = 8 : i64} : memref<?xbf16>, vector<4xbf16>
// CHECK:           vector.load %{{.*}}[%{{.*}}] {alignment = 8 : i64} : memref<?xbf16>, vector<4xbf16>
// CHECK:           arith.remui {{.*}} : index
// CHECK-NEXT:      arith.divui {{.*}} : index
// CHECK:           %[[QUOTIENT:.*]] = arith.divui {{.*}} : i32
// CHECK-NEXT:      %[[WHOLE:.*]] = arith.muli %[[QUOTIENT]], {{.*}} : i32
// CHECK-NEXT:      %[[REST:.*]] = arith.subi {{.*}}, %[[WHOLE]] : i32
// CHECK:           %[[COLUMN:.*]] = arith.index_castui %[[REST]] : i32 to index
// CHECK:           vector.load %{{.*}}[%[[COLUMN]]] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-NOT:       arith.divui {{.*}} : index
// CHECK:           vector.store
// CHECK:         } else {
// CHECK:       {sym_name = "scaled", gpu.kernel, coconet.threads = 128 : i64}
