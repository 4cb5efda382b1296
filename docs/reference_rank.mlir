// One instance of each operation that stands only in the program of one rank: examples of docs/dialects.md.

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2, pp = 3, tp = 4)

  func.func @ranks(%x: tensor<6x?xf32>, %flat: tensor<?xf32>, %offsets: tensor<?xi64>, %sums: tensor<?xf32>, %seed: i64,
                   %n: index {coconet.size = "x.1"}, %size: index, %start: index, %extent: index, %block: index) {
    %coordinate = layout.coordinate over [dp, tp] : index
    %ranks = layout.axis_size over [dp] : index

    %0 = comp.dropout_block %flat, %seed at [%start] of [%size] coordinate %coordinate {p = 1.0e-1 : f32, id = 1 : i64} : tensor<?xf32>
    %1 = comp.segment_reduce_block sum %flat, %offsets at %start : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
    %2 = comp.segment_broadcast_block %sums, %offsets at %start size [%extent] : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>

    %3 = nccl.all_reduce sum %x over [tp] : tensor<6x?xf32>
    %4 = nccl.reduce sum %x over [tp] root 1 : tensor<6x?xf32>
    %5 = nccl.broadcast %x over [tp] root 1 : tensor<6x?xf32>
    %6 = nccl.permute %x over [pp] shift 1 : tensor<6x?xf32>
    %7 = nccl.permute %x over [pp] pairs [[0, 1], [1, 2]] : tensor<6x?xf32>
    %8 = nccl.pad %x dim 1 to %block : tensor<6x?xf32> -> tensor<6x?xf32>
    %9 = nccl.all_gather %8 over [dp] : tensor<6x?xf32> -> tensor<?x6x?xf32>
    %10 = nccl.unpack %9 dim 1 blocks [%ranks] of [%block] to %n : tensor<?x6x?xf32> -> tensor<6x?xf32>
    %11 = nccl.pack %x dim 1 blocks [%ranks] of [%block] : tensor<6x?xf32> -> tensor<?x6x?xf32>
    %12 = nccl.reduce_scatter sum %11 over [dp] : tensor<?x6x?xf32> -> tensor<6x?xf32>
    %13 = nccl.all_to_all %11 over [dp] : tensor<?x6x?xf32>
    %14, %15 = nccl.group {
      %a = nccl.all_reduce sum %x over [dp] : tensor<6x?xf32>
      %b = nccl.all_reduce sum %flat over [dp] : tensor<?xf32>
      nccl.yield %a, %b : tensor<6x?xf32>, tensor<?xf32>
    }
    func.return
  }
}
