// apply: coconet-reorder{op=y}

layout.mesh @mesh(dp = 2, tp = 4)

!v = tensor<?xf32>
!x = tensor<?x?xf32>
!part = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!rows = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!square = tensor<9x9xf32>
!square_rows = tensor<9x9xf32, #layout.dist<tp = sliced(0)>>

// Computations.

func.func @elementwise_legal(%x: !rows, %w: !x) -> !x {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %a = arith.addf %y, %w : !x
  %p = math.tanh %a : !x
  func.return %p : !x
}

// The transposed value lies in columns where the other operand lies in rows.
// apply: coconet-reorder{op=y ops=t,p}
func.func @elementwise_refused(%x: !square_rows) -> !square {
  %y = coll.all_gather %x over [tp] : !square_rows -> !square
  %t = comp.transpose %y perm [1, 0] : !square -> !square
  %p = arith.addf %y, %t : !square
  func.return %p : !square
}

func.func @select_legal(%x: !rows, %w: !x) -> !x {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %less = arith.cmpf olt, %y, %w : !x
  %p = arith.select %less, %y, %w : tensor<?x?xi1>, !x
  func.return %p : !x
}

// apply: coconet-reorder{op=y ops=t,less,p}
func.func @select_refused(%x: !square_rows, %w: !square) -> !square {
  %y = coll.all_gather %x over [tp] : !square_rows -> !square
  %t = comp.transpose %y perm [1, 0] : !square -> !square
  %less = arith.cmpf olt, %t, %w : !square
  %p = arith.select %less, %y, %w : tensor<9x9xi1>, !square
  func.return %p : !square
}

func.func @cast_legal(%x: !part) -> tensor<?xf16> {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %wide = arith.extf %y : !v to tensor<?xf64>
  %p = arith.truncf %wide : tensor<?xf64> to tensor<?xf16>
  func.return %p : tensor<?xf16>
}

func.func @cast_refused(%x: !part) -> tensor<?xf64> {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = arith.extf %y : !v to tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @scale_legal(%x: !part, %s: f32) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = comp.scale %y by %s : !v
  func.return %p : !v
}

func.func @dropout_legal(%x: !part, %seed: i64) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = comp.dropout %y, %seed {p = 0.25 : f32, id = 1 : i64} : !v
  func.return %p : !v
}

func.func @matmul_legal(%x: tensor<?x9xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<9x5xf32>) -> tensor<?x5xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x9xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x9xf32>
  %p = comp.matmul %y, %w : (tensor<?x9xf32>, tensor<9x5xf32>) -> tensor<?x5xf32>
  func.return %p : tensor<?x5xf32>
}

func.func @matmul_refused(%x: !square_rows) -> !square {
  %y = coll.all_gather %x over [tp] : !square_rows -> !square
  %p = comp.matmul %y, %y : (!square, !square) -> !square
  func.return %p : !square
}

func.func @matmul_summed_legal(%x: tensor<?x11xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<11x5xf32>) -> tensor<?x5xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x11xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x11xf32>
  %p = comp.matmul %y, %w : (tensor<?x11xf32>, tensor<11x5xf32>) -> tensor<?x5xf32>
  func.return %p : tensor<?x5xf32>
}

// The all_reduce of six columns sends more than the all_gather of eleven.
func.func @matmul_summed_refused(%x: tensor<?x11xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<11x6xf32>) -> tensor<?x6xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x11xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x11xf32>
  %p = comp.matmul %y, %w : (tensor<?x11xf32>, tensor<11x6xf32>) -> tensor<?x6xf32>
  func.return %p : tensor<?x6xf32>
}

func.func @conv2d_legal(%x: tensor<?x5x5x3xf32, #layout.dist<tp = sliced(0)>>, %k: tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x5x5x3xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32>
  func.return %p : tensor<?x3x3x4xf32>
}

func.func @conv2d_refused(%x: tensor<?x5x5x3xf32, #layout.dist<tp = sliced(1)>>, %k: tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x5x5x3xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32>
  func.return %p : tensor<?x3x3x4xf32>
}

func.func @conv2d_summed_legal(%x: tensor<?x5x5x3xf32, #layout.dist<tp = sliced(3)>>, %k: tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x5x5x3xf32, #layout.dist<tp = sliced(3)>> -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32>
  func.return %p : tensor<?x3x3x4xf32>
}

// Five filters of 3 x 3 positions, all reduced, are more than three channels of 5 x 5.
func.func @conv2d_summed_refused(%x: tensor<?x5x5x3xf32, #layout.dist<tp = sliced(3)>>, %k: tensor<3x3x3x5xf32>) -> tensor<?x3x3x5xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?x5x5x3xf32, #layout.dist<tp = sliced(3)>> -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x5xf32>) -> tensor<?x3x3x5xf32>
  func.return %p : tensor<?x3x3x5xf32>
}

// Reductions.

func.func @reduce_kept_legal(%x: !rows) -> !v {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.reduce sum %y dims [1] : !x -> !v
  func.return %p : !v
}

// The sums are wider than what is summed.
func.func @reduce_kept_refused(%x: !rows) -> tensor<?xf64> {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.reduce sum %y dims [1] {accumulate = f64} : !x -> tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @reduce_legal(%x: !rows) -> tensor<f32> {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.reduce sum %y dims [0, 1] : !x -> tensor<f32>
  func.return %p : tensor<f32>
}

// With a single row the all_reduce would send more than the all_gather.
func.func @reduce_refused(%x: !rows) -> !v {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.reduce sum %y dims [0] : !x -> !v
  func.return %p : !v
}

func.func @norm_kept_legal(%x: !rows) -> !v {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %n = comp.norm %y dims [1] : !x -> !v
  %m = comp.mean %y dims [1] : !x -> !v
  %p = arith.addf %n, %m : !v
  func.return %p : !v
}

// The norms are wider than what they are of.
func.func @norm_kept_refused(%x: !rows) -> tensor<?xf64> {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.norm %y dims [1] {accumulate = f64} : !x -> tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @norm_legal(%x: !rows) -> tensor<f32> {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.norm %y : !x -> tensor<f32>
  func.return %p : tensor<f32>
}

func.func @norm_refused(%x: !rows) -> !v {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.norm %y dims [0] : !x -> !v
  func.return %p : !v
}

func.func @mean_legal(%x: !rows) -> tensor<f32> {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.mean %y : !x -> tensor<f32>
  func.return %p : tensor<f32>
}

!some_columns = tensor<3x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>
!some_terms = tensor<?xf32, #layout.dist<dp = partial(sum), tp = sliced(0)>>
!terms = tensor<?xf32, #layout.dist<dp = partial(sum)>>
!term = tensor<f32, #layout.dist<dp = partial(sum)>>

// Also partial over dp: the decomposition divides by a splat, which is never partial.
func.func @mean_refused(%w: !some_columns) -> tensor<f32> {
  %sums = comp.reduce sum %w dims [0] : !some_columns -> !some_terms
  %y = coll.all_gather %sums over [tp] : !some_terms -> !terms
  %m = comp.mean %y : !terms -> !term
  %p = coll.all_reduce sum %m over [dp] : !term -> tensor<f32>
  func.return %p : tensor<f32>
}

func.func @softmax_kept_legal(%x: !rows, %w: !v) -> !x {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %s = comp.softmax %y dim 1 : !x
  %p = comp.rms_norm %s, %w {eps = 1.0e-6 : f32} : (!x, !v) -> !x
  func.return %p : !x
}

// apply: coconet-reorder{op=y allow-more-bytes=true}
func.func @softmax_legal(%x: !columns) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.softmax %y dim 1 : !x
  func.return %p : !x
}

// Two all_reduces, of the largest and of the sum, and still an all_gather.
func.func @softmax_refused(%x: !columns) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.softmax %y dim 1 : !x
  func.return %p : !x
}

// apply: coconet-reorder{op=y allow-more-bytes=true}
func.func @rms_norm_legal(%x: !columns, %w: !v) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.rms_norm %y, %w {eps = 1.0e-6 : f32} : (!x, !v) -> !x
  func.return %p : !x
}

func.func @rms_norm_refused(%x: !columns, %w: !v) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.rms_norm %y, %w {eps = 1.0e-6 : f32} : (!x, !v) -> !x
  func.return %p : !x
}

func.func @segment_reduce_legal(%x: !part, %offsets: tensor<?xi64>) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = comp.segment_reduce sum %y, %offsets : (!v, tensor<?xi64>) -> !v
  func.return %p : !v
}

func.func @segment_reduce_refused(%x: !v, %offsets: tensor<?xi64, #layout.dist<tp = sliced(0)>>) -> !v {
  %y = coll.all_gather %offsets over [tp] : tensor<?xi64, #layout.dist<tp = sliced(0)>> -> tensor<?xi64>
  %p = comp.segment_reduce sum %x, %y : (!v, tensor<?xi64>) -> !v
  func.return %p : !v
}

!scales = tensor<3xf32>
!offsets = tensor<4xi64>

func.func @segment_broadcast_legal(%x: !part, %scales: !scales, %offsets: !offsets) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %spread = comp.segment_broadcast %scales, %offsets like %y : (!scales, !offsets, !v) -> !v
  %p = arith.mulf %y, %spread : !v
  func.return %p : !v
}

func.func @segment_broadcast_refused(%scales: tensor<3xf32, #layout.dist<tp = sliced(0)>>, %offsets: !offsets, %x: !v) -> !v {
  %y = coll.all_gather %scales over [tp] : tensor<3xf32, #layout.dist<tp = sliced(0)>> -> !scales
  %p = comp.segment_broadcast %y, %offsets like %x : (!scales, !offsets, !v) -> !v
  func.return %p : !v
}

comp.define @swish rule [m, n] -> [m, n] {
^bb0(%v: !x):
  %t = math.tanh %v : !x
  %r = arith.mulf %v, %t : !x
  comp.yield %r : !x
}

comp.define @attend rule [m, n] -> [m, n], n = whole {
^bb0(%v: !x):
  %r = comp.softmax %v dim 1 : !x
  comp.yield %r : !x
}

func.func @custom_legal(%x: !columns) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.custom @swish(%y) : (!x) -> !x
  func.return %p : !x
}

func.func @custom_refused(%x: !columns) -> !x {
  %y = coll.all_gather %x over [tp] : !columns -> !x
  %p = comp.custom @attend(%y) : (!x) -> !x
  func.return %p : !x
}

// What never moves.

func.func @extract_refused(%x: !part, %i: index) -> f32 {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = tensor.extract %y[%i] : !v
  func.return %p : f32
}

func.func @no_rule_refused(%x: tensor<9x9xf32, #layout.dist<tp = sliced(0)>>) -> tensor<9x4xf32> {
  %y = coll.all_gather %x over [tp] : !square_rows -> !square
  %p = tensor.extract_slice %y[0, 0] [9, 4] [1, 1] : !square to tensor<9x4xf32>
  func.return %p : tensor<9x4xf32>
}

func.func @region_refused(%x: !part) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = coll.fused {
    %a = math.exp %y : !v
    coll.yield %a : !v
  }
  func.return %p : !v
}

// Whatever the operation is.

// The gather of %p takes the place of that of %y.
func.func @bytes_legal(%x: !part) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = math.exp %y : !v
  func.return %p : !v
}

// %y stays whole for the function's result, and %p would be gathered too.
func.func @bytes_refused(%x: !part) -> (!v, !v) {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = math.exp %y : !v
  func.return %y, %p : !v, !v
}

// apply: coconet-reorder{op=y ops=a,p}
func.func @named_legal(%x: !part) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %a = math.exp %y : !v
  %p = math.sqrt %a : !v
  func.return %p : !v
}

// %a is not named, so that %p reads nothing in slices.
// apply: coconet-reorder{op=y ops=p}
func.func @named_refused(%x: !part) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %a = math.exp %y : !v
  %p = math.sqrt %a : !v
  func.return %p : !v
}

// apply: coconet-reorder{op=y ops=a,p}
func.func @feeding_legal(%x: !part, %w: !v) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %a = math.exp %w : !v
  %p = arith.addf %y, %a : !v
  func.return %p : !v
}

// %a is needed whole, too.
// apply: coconet-reorder{op=y ops=a,p}
func.func @feeding_refused(%x: !part, %w: !v) -> (!v, !v) {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %a = math.exp %w : !v
  %p = arith.addf %y, %a : !v
  func.return %a, %p : !v, !v
}

// apply: coconet-reorder{op=y ops=p,n}
func.func @argument_legal(%x: !part, %w: !v) -> (!v, tensor<f32>) {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = arith.addf %y, %w : !v
  %n = comp.norm %w : !v -> tensor<f32>
  func.return %p, %n : !v, tensor<f32>
}

// Nothing that moves reads %w.
// apply: coconet-reorder{op=y ops=p,n}
func.func @argument_refused(%x: !part, %w: !v) -> (!v, tensor<f32>) {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = math.exp %y : !v
  %n = comp.norm %w : !v -> tensor<f32>
  func.return %p, %n : !v, tensor<f32>
}
