// From: coconet-opt examples/attention.mlir -p 'coconet-split{op=sum dim=1},coconet-reorder{op=sum_ag}'
//
// Bias, dropout and residual run on a slice of the sequence; the bias stays whole. Dropout draws by global position,
// so the same elements are dropped.

layout.mesh @mesh(tp = 16)

!x = tensor<?x?x?xf16, #layout.dist<tp = sliced(2)>>
!w = tensor<?x?xf16, #layout.dist<tp = sliced(0)>>
!bias = tensor<?xf16>
!terms = tensor<?x?x?xf16, #layout.dist<tp = partial(sum)>>
!whole = tensor<?x?x?xf16>
!whole_slice = tensor<?x?x?xf16, #layout.dist<tp = sliced(1)>>

func.func @attention(%x: !x, %w: !w, %bias: !bias, %residual: !whole, %seed: i64) -> !whole {
  %residual_slice = layout.slice %residual over [tp] dim 1 : !whole -> !whole_slice
  %mm = comp.matmul %x, %w {accumulate = f32} : (!x, !w) -> !terms
  %sum_rs = coll.reduce_scatter sum %mm over [tp] dim 1 {accumulate = f32} : !terms -> !whole_slice
  %bias_t = comp.broadcast %bias dims [2] like %sum_rs : !bias, !whole_slice -> !whole_slice
  %shifted = arith.addf %sum_rs, %bias_t : !whole_slice
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !whole_slice
  %y = arith.addf %dropped, %residual_slice : !whole_slice
  %y_ag = coll.all_gather %y over [tp] : !whole_slice -> !whole
  func.return %y_ag : !whole
}
