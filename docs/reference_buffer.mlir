// One instance of each operation that stands only at the level of buffers: examples of docs/dialects.md.

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2, tp = 4)

  func.func @calls(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %blocks: memref<?x?x4xf32>) {
    nccl.all_reduce_into avg %x, %x over [dp, tp] : memref<?x4xf32>
    nccl.reduce_into max %x, %y over [dp, tp] root [0, 1] : memref<?x4xf32>
    nccl.broadcast_into %x, %y over [tp] root 3 : memref<?x4xf32>
    nccl.permute_into %x, %y over [tp] shift -1 : memref<?x4xf32>
    nccl.all_to_all_into %x, %y over [dp] : memref<?x4xf32>
    nccl.all_gather_into %x, %blocks over [dp] : memref<?x4xf32>, memref<?x?x4xf32>
    nccl.reduce_scatter_into sum %blocks, %y over [dp] : memref<?x?x4xf32>, memref<?x4xf32>
    func.return
  }

  func.func @matmul(%a: memref<?x?x8xf16>, %b: memref<8x4xf16>, %c: memref<?x?x4xf32>) {
    comp.matmul_into %a, %b, %c {accumulate = f32} : memref<?x?x8xf16>, memref<8x4xf16>, memref<?x?x4xf32>
    func.return
  }
}
