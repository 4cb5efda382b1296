// From: coconet-opt examples/mlp.mlir -p 'coconet-split{op=sum dim=1},coconet-reorder{op=sum_ag}'
//
// Bias, dropout and residual run on a slice of the sequence; the bias stays whole. Dropout draws by global position,
// so the same elements are dropped.

layout.mesh @mesh(tp = 8)

!whole = tensor<?x?x?xbf16>
!bias = tensor<?xbf16>
!w_up = tensor<?x?xbf16, #layout.dist<tp = sliced(1)>>
!b_up = tensor<?xbf16, #layout.dist<tp = sliced(0)>>
!b_up32 = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!w_down = tensor<?x?xbf16, #layout.dist<tp = sliced(0)>>
!hidden = tensor<?x?x?xbf16, #layout.dist<tp = sliced(2)>>
!hidden32 = tensor<?x?x?xf32, #layout.dist<tp = sliced(2)>>
!terms = tensor<?x?x?xbf16, #layout.dist<tp = partial(sum)>>
!whole_slice = tensor<?x?x?xbf16, #layout.dist<tp = sliced(1)>>

func.func @mlp(%x: !whole, %w_up: !w_up, %b_up: !b_up, %w_down: !w_down, %b_down: !bias, %residual: !whole,
               %seed: i64) -> !whole {
  %residual_slice = layout.slice %residual over [tp] dim 1 : !whole -> !whole_slice
  %up = comp.matmul %x, %w_up {accumulate = f32} : (!whole, !w_up) -> !hidden32
  %b_up32 = arith.extf %b_up : !b_up to !b_up32
  %b_up_t = comp.broadcast %b_up32 dims [2] like %up : !b_up32, !hidden32 -> !hidden32
  %z = arith.addf %up, %b_up_t : !hidden32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %root2 = math.sqrt %two : f32
  %inv_root2 = arith.divf %one, %root2 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %up, %c0 : !hidden32
  %length = tensor.dim %up, %c1 : !hidden32
  %width = tensor.dim %up, %c2 : !hidden32
  %ones = tensor.splat %one[%batch, %length, %width] : !hidden32
  %scaled = comp.scale %z by %inv_root2 : !hidden32
  %erf = math.erf %scaled : !hidden32
  %cdf2 = arith.addf %erf, %ones : !hidden32
  %cdf = comp.scale %cdf2 by %half : !hidden32
  %gelu = arith.mulf %z, %cdf : !hidden32
  %h = arith.truncf %gelu : !hidden32 to !hidden
  %mm = comp.matmul %h, %w_down {accumulate = f32} : (!hidden, !w_down) -> !terms
  %sum_rs = coll.reduce_scatter sum %mm over [tp] dim 1 {accumulate = f32} : !terms -> !whole_slice
  %bias_t = comp.broadcast %b_down dims [2] like %sum_rs : !bias, !whole_slice -> !whole_slice
  %shifted = arith.addf %sum_rs, %bias_t : !whole_slice
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !whole_slice
  %y = arith.addf %dropped, %residual_slice : !whole_slice
  %y_ag = coll.all_gather %y over [tp] : !whole_slice -> !whole
  func.return %y_ag : !whole
}
