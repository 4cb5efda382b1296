// One instance of each operation, and more where the variants differ: the examples of docs/dialects.md.

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)

!whole = tensor<6x8xf32>
!half = tensor<6x8xf16>
!local = tensor<6x8xf32, #layout.dist<tp = local>>
!rows = tensor<6x8xf32, #layout.dist<tp = sliced(0)>>
!pairs = tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
!columns = tensor<6x8xf32, #layout.dist<tp = sliced(1)>>
!partial = tensor<6x3xf32, #layout.dist<tp = partial(sum)>>
!reduced = tensor<6x3xf32>
!rooted = tensor<6x8xf32, #layout.dist<tp = root(1)>>
!stage = tensor<6x8xf32, #layout.dist<pp = local>>
!weight = tensor<8x3xf32, #layout.dist<tp = sliced(0)>>
!flat = tensor<?xf32>
!part = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!offsets = tensor<?xi64>

comp.define @swish rule [m, n] -> [m, n] {
^bb0(%x: tensor<?x?xf32>):
  %t = math.tanh %x : tensor<?x?xf32>
  %y = arith.mulf %x, %t : tensor<?x?xf32>
  comp.yield %y : tensor<?x?xf32>
}

func.func @layouts(%w: !whole, %p: !columns, %k: !weight) {
  %0 = layout.slice %w over [tp] dim 0 : !whole -> !rows
  %1 = layout.slice %w over [tp] dim 1 {unit = 2 : i64} : !whole -> !pairs
  %2 = layout.relax %w over [tp] : !whole -> !local
  %3 = layout.relax %w over [tp] root 1 : !whole -> !rooted
  %4 = layout.axis_size over [dp, tp] : index
  func.return
}

func.func @collectives(%l: !local, %h: tensor<6x8xf16, #layout.dist<tp = local>>, %r: !rows, %s: !stage) {
  %0 = coll.all_reduce sum %l over [tp] : !local -> !whole
  %1 = coll.all_reduce avg %h over [tp] {wire = bf16, accumulate = f32, order = #coll.order<ranks>} : tensor<6x8xf16, #layout.dist<tp = local>> -> !half
  %2 = coll.reduce_scatter sum %l over [tp] dim 1 {unit = 2 : i64} : !local -> !pairs
  %3 = coll.reduce max %l over [tp] root 1 : !local -> !rooted
  %4 = coll.broadcast %3 over [tp] root 1 : !rooted -> !whole
  %5 = coll.all_gather %r over [tp] : !rows -> !whole
  %6 = coll.all_to_all %r over [tp] from 0 to 1 : !rows -> !columns
  %7 = coll.permute %s over [pp] shift 1 : !stage -> !stage
  %8 = coll.permute %s over [pp] pairs [[0, 1], [1, 2]] : !stage -> !stage
  func.return
}

func.func @regions(%l: !local, %r: !rows, %f: f32) {
  %0 = coll.fused over [tp] {
    %a = coll.all_reduce sum %l over [tp] : !local -> !whole
    %b = arith.addf %a, %a : !whole
    coll.yield %b : !whole
  }
  %1 = coll.overlap {
    %a = coll.reduce_scatter sum %l over [tp] dim 0 : !local -> !rows
    %b = comp.scale %a by %f : !rows
    %c = coll.all_gather %b over [tp] : !rows -> !whole
    coll.yield %c : !whole
  } {dim = 1 : i64, chunks = 8 : i64}
  %2, %3 = coll.group over [tp] {
    %a = coll.all_gather %r over [tp] : !rows -> !whole
    %b = coll.all_gather %r over [tp] : !rows -> !whole
    coll.yield %a, %b : !whole, !whole
  }
  func.return
}

func.func @computations(%w: !whole, %p: !columns, %k: !weight, %f: f32, %seed: i64, %v: tensor<8xf32>,
                        %a: tensor<5x6x8xf32>, %b: tensor<5x8x3xf32>, %image: tensor<2x9x9x3xf32>, %filter: tensor<3x3x3x4xf32>,
                        %x: !part, %norms: !flat, %offsets: !offsets, %target: !whole) {
  %0 = comp.matmul %p, %k : (!columns, !weight) -> !partial
  %1 = comp.matmul %a, %b {accumulate = f64} : (tensor<5x6x8xf32>, tensor<5x8x3xf32>) -> tensor<5x6x3xf32>
  %2 = comp.conv2d %image, %filter {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x9x9x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x5x5x4xf32>
  %3 = comp.reduce max %w dims [0] : !whole -> tensor<8xf32>
  %4 = comp.norm %w : !whole -> tensor<f32>
  %5 = comp.mean %w dims [1] : !whole -> tensor<6xf32>
  %6 = comp.softmax %w dim 1 : !whole
  %7 = comp.rms_norm %w, %v {eps = 1.0e-6 : f32} : (!whole, tensor<8xf32>) -> !whole
  %8 = comp.dropout %w, %seed {p = 1.0e-1 : f32, id = 3 : i64} : !whole
  %9 = comp.scale %w by %f : !whole
  %10 = comp.broadcast %v dims [1] : tensor<8xf32> -> !whole
  %11 = comp.broadcast %v dims [1] like %w : tensor<8xf32>, !whole -> !whole
  %12 = comp.reshape %w [a, (b c)] -> [a, b, c] : !whole -> tensor<6x2x4xf32>
  %13 = comp.transpose %w perm [1, 0] : !whole -> tensor<8x6xf32>
  %14 = comp.update %target, %w : !whole
  %15 = comp.segment_reduce sum %x, %offsets : (!part, !offsets) -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
  %16 = comp.segment_broadcast %norms, %offsets like %x : (!flat, !offsets, !part) -> !part
  %17 = comp.custom @swish(%w) : (!whole) -> !whole
  func.return
}
