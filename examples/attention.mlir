// The block that ends self-attention under tensor parallelism: row-parallel projection, bias, dropout, residual.
//
//     y[b, s, :] = dropout(sum over k of x[b, s, k] * w[k, :] + bias) + residual[b, s, :]
//
// tp cuts k: each rank multiplies its columns of x with its rows of w, and the all_reduce adds the products up.
// Without any k the product is 0; a batch or sequence of no elements gives an empty result.

layout.mesh @mesh(tp = 16)

!x = tensor<?x?x?xf16, #layout.dist<tp = sliced(2)>>
!w = tensor<?x?xf16, #layout.dist<tp = sliced(0)>>
!bias = tensor<?xf16>
!terms = tensor<?x?x?xf16, #layout.dist<tp = partial(sum)>>
!whole = tensor<?x?x?xf16>

func.func @attention(%x: !x, %w: !w, %bias: !bias, %residual: !whole, %seed: i64) -> !whole {
  %mm = comp.matmul %x, %w {accumulate = f32} : (!x, !w) -> !terms
  %sum = coll.all_reduce sum %mm over [tp] {accumulate = f32} : !terms -> !whole
  %bias_t = comp.broadcast %bias dims [2] like %sum : !bias, !whole -> !whole
  %shifted = arith.addf %sum, %bias_t : !whole
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !whole
  %y = arith.addf %dropped, %residual : !whole
  func.return %y : !whole
}
