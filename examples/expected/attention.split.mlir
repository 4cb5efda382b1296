// From: coconet-opt examples/attention.mlir -p 'coconet-split{op=sum dim=1}'
//
// The all_reduce is a reduce_scatter and an all_gather along the sequence.

layout.mesh @mesh(tp = 16)

!x = tensor<?x?x?xf16, #layout.dist<tp = sliced(2)>>
!w = tensor<?x?xf16, #layout.dist<tp = sliced(0)>>
!bias = tensor<?xf16>
!terms = tensor<?x?x?xf16, #layout.dist<tp = partial(sum)>>
!whole = tensor<?x?x?xf16>
!whole_slice = tensor<?x?x?xf16, #layout.dist<tp = sliced(1)>>

func.func @attention(%x: !x, %w: !w, %bias: !bias, %residual: !whole, %seed: i64) -> !whole {
  %mm = comp.matmul %x, %w {accumulate = f32} : (!x, !w) -> !terms
  %sum_rs = coll.reduce_scatter sum %mm over [tp] dim 1 {accumulate = f32} : !terms -> !whole_slice
  %sum_ag = coll.all_gather %sum_rs over [tp] : !whole_slice -> !whole
  %bias_t = comp.broadcast %bias dims [2] like %sum_ag : !bias, !whole -> !whole
  %shifted = arith.addf %sum_ag, %bias_t : !whole
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !whole
  %y = arith.addf %dropped, %residual : !whole
  func.return %y : !whole
}
