// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2, tp = 4)

  // CHECK-LABEL: func.func @calls
  func.func @calls(%x: tensor<8x?xf32>, %i: tensor<?xi32>, %s: tensor<bf16>) {
    // CHECK: nccl.all_reduce sum %{{.*}} over [dp] : tensor<8x?xf32>
    %0 = nccl.all_reduce sum %x over [dp] : tensor<8x?xf32>
    // CHECK-NEXT: nccl.all_reduce avg %{{.*}} over [tp, dp] {my.note} : tensor<bf16>
    %1 = nccl.all_reduce avg %s over [tp, dp] {my.note} : tensor<bf16>
    // CHECK-NEXT: nccl.reduce max %{{.*}} over [dp, tp] root [1, 3] : tensor<?xi32>
    %2 = nccl.reduce max %i over [dp, tp] root [1, 3] : tensor<?xi32>
    // CHECK-NEXT: nccl.broadcast %{{.*}} over [tp] root 2 : tensor<?xi32>
    %3 = nccl.broadcast %i over [tp] root 2 : tensor<?xi32>
    // CHECK-NEXT: nccl.permute %{{.*}} over [tp] shift -1 : tensor<8x?xf32>
    %4 = nccl.permute %x over [tp] shift -1 : tensor<8x?xf32>
    // CHECK-NEXT: nccl.permute %{{.*}} over [tp] pairs {{\[\[}}0, 1], [1, 2]] : tensor<8x?xf32>
    %5 = nccl.permute %x over [tp] pairs [[0, 1], [1, 2]] : tensor<8x?xf32>
    // CHECK-NEXT: [[ALL:%.*]] = nccl.all_gather %{{.*}} over [tp] : tensor<8x?xf32> -> tensor<?x8x?xf32>
    %6 = nccl.all_gather %x over [tp] : tensor<8x?xf32> -> tensor<?x8x?xf32>
    // CHECK-NEXT: nccl.all_to_all [[ALL]] over [tp] : tensor<?x8x?xf32>
    %7 = nccl.all_to_all %6 over [tp] : tensor<?x8x?xf32>
    // CHECK-NEXT: nccl.reduce_scatter min [[ALL]] over [tp] : tensor<?x8x?xf32> -> tensor<8x?xf32>
    %8 = nccl.reduce_scatter min %6 over [tp] : tensor<?x8x?xf32> -> tensor<8x?xf32>
    // Tensors without dimensions are gathered, too.
    // CHECK-NEXT: nccl.all_gather %{{.*}} over [dp, tp] : tensor<bf16> -> tensor<?xbf16>
    %9 = nccl.all_gather %s over [dp, tp] : tensor<bf16> -> tensor<?xbf16>
    func.return
  }

  // CHECK-LABEL: func.func @copies
  func.func @copies(%x: tensor<8x?xf32>, %n: index, %b: index) {
    // CHECK: nccl.pad %{{.*}} dim 1 to %{{.*}} : tensor<8x?xf32> -> tensor<8x?xf32>
    %0 = nccl.pad %x dim 1 to %b : tensor<8x?xf32> -> tensor<8x?xf32>
    // CHECK-NEXT: nccl.pad %{{.*}} dim 0 to %{{.*}} : tensor<8x?xf32> -> tensor<?x?xf32>
    %1 = nccl.pad %x dim 0 to %b : tensor<8x?xf32> -> tensor<?x?xf32>
    // CHECK-NEXT: [[PACK:%.*]] = nccl.pack %{{.*}} dim 0 blocks [%{{.*}}] of [%{{.*}}] : tensor<8x?xf32> -> tensor<?x?x?xf32>
    %2 = nccl.pack %x dim 0 blocks [%n] of [%b] : tensor<8x?xf32> -> tensor<?x?x?xf32>
    // CHECK-NEXT: nccl.unpack [[PACK]] dim 0 blocks [%{{.*}}] of [%{{.*}}] to %{{.*}} : tensor<?x?x?xf32> -> tensor<8x?xf32>
    %3 = nccl.unpack %2 dim 0 blocks [%n] of [%b] to %b : tensor<?x?x?xf32> -> tensor<8x?xf32>
    // Two axes: blocks of blocks.
    // CHECK-NEXT: nccl.pack %{{.*}} dim 1 blocks [%{{.*}}, %{{.*}}] of [%{{.*}}, %{{.*}}] {my.note} : tensor<8x?xf32> -> tensor<?x8x?xf32>
    %4 = nccl.pack %x dim 1 blocks [%n, %b] of [%b, %n] {my.note} : tensor<8x?xf32> -> tensor<?x8x?xf32>
    func.return
  }

  // CHECK-LABEL: func.func @group
  func.func @group(%x: tensor<?xf32>, %s: tensor<f32>) -> (tensor<?xf32>, tensor<f32>) {
    // CHECK: [[A:%.*]], [[B:%.*]] = nccl.group {
    // CHECK-NEXT: [[C:%.*]] = nccl.all_reduce sum %{{.*}} over [dp]
    // CHECK-NEXT: [[D:%.*]] = nccl.all_reduce sum %{{.*}} over [dp]
    // CHECK-NEXT: nccl.yield [[C]], [[D]] : tensor<?xf32>, tensor<f32>
    // CHECK-NEXT: } {my.note}
    // CHECK-NEXT: func.return [[A]], [[B]]
    %a, %b = nccl.group {
      %c = nccl.all_reduce sum %x over [dp] : tensor<?xf32>
      %d = nccl.all_reduce sum %s over [dp] : tensor<f32>
      nccl.yield %c, %d : tensor<?xf32>, tensor<f32>
    } {my.note}
    func.return %a, %b : tensor<?xf32>, tensor<f32>
  }
}
