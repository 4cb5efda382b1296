// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

// CHECK: builtin.module attributes {coconet.level = "buffer"} {
module attributes {coconet.level = "buffer"} {
layout.mesh @mesh(dp = 2, tp = 4)

// CHECK: func.func @calls
func.func @calls(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %blocks: memref<?x?x4xf32>) {
  // CHECK-NEXT: nccl.all_reduce_into avg %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp, tp] : memref<?x4xf32>
  nccl.all_reduce_into avg %x, %x over [dp, tp] : memref<?x4xf32>
  // CHECK-NEXT: nccl.reduce_into max %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp, tp] root [0, 1] : memref<?x4xf32>
  nccl.reduce_into max %x, %y over [dp, tp] root [0, 1] : memref<?x4xf32>
  // CHECK-NEXT: nccl.broadcast_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [tp] root 3 {coconet.name = "b"} : memref<?x4xf32>
  nccl.broadcast_into %x, %y over [tp] root 3 {coconet.name = "b"} : memref<?x4xf32>
  // CHECK-NEXT: nccl.permute_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [tp] shift -1 : memref<?x4xf32>
  nccl.permute_into %x, %y over [tp] shift -1 : memref<?x4xf32>
  // CHECK-NEXT: nccl.permute_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [tp] {{pairs \[\[0, 1\], \[1, 3\]\]}} : memref<?x4xf32>
  nccl.permute_into %x, %y over [tp] pairs [[0, 1], [1, 3]] : memref<?x4xf32>
  // CHECK-NEXT: nccl.all_to_all_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp] : memref<?x4xf32>
  nccl.all_to_all_into %x, %y over [dp] : memref<?x4xf32>
  // CHECK-NEXT: nccl.all_gather_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp] : memref<?x4xf32>, memref<?x?x4xf32>
  nccl.all_gather_into %x, %blocks over [dp] : memref<?x4xf32>, memref<?x?x4xf32>
  // CHECK-NEXT: nccl.reduce_scatter_into sum %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp] : memref<?x?x4xf32>, memref<?x4xf32>
  nccl.reduce_scatter_into sum %blocks, %y over [dp] : memref<?x?x4xf32>, memref<?x4xf32>
  // CHECK-NEXT: nccl.group {
  // CHECK-NEXT: nccl.all_reduce_into sum %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp] : memref<?x4xf32>
  // CHECK-NEXT: nccl.all_reduce_into sum %{{[a-z0-9]+}}, %{{[a-z0-9]+}} over [dp] : memref<?x4xf32>
  // CHECK-NEXT: nccl.yield
  // CHECK-NEXT: }
  nccl.group {
    nccl.all_reduce_into sum %x, %x over [dp] : memref<?x4xf32>
    nccl.all_reduce_into sum %y, %y over [dp] : memref<?x4xf32>
    nccl.yield
  }
  func.return
}

// CHECK: func.func @matmul
func.func @matmul(%a: memref<?x?x8xf16>, %b: memref<8x4xf16>, %c: memref<?x?x4xf32>) {
  // CHECK-NEXT: comp.matmul_into %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} {accumulate = f32} : memref<?x?x8xf16>, memref<8x4xf16>, memref<?x?x4xf32>
  comp.matmul_into %a, %b, %c {accumulate = f32} : memref<?x?x8xf16>, memref<8x4xf16>, memref<?x?x4xf32>
  func.return
}
}
