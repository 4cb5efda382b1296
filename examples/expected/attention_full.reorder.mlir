// From: coconet-opt examples/attention_full.mlir -p 'coconet-split{op=sum dim=1},coconet-reorder{op=sum_ag}'
//
// Bias, dropout and residual run on a slice of the sequence; the bias stays whole. Dropout draws by global position,
// so the same elements are dropped.

layout.mesh @mesh(tp = 8)

!whole = tensor<?x?x?xbf16>
!bias = tensor<?xbf16>
!mask = tensor<?x?xf32>
!w_in = tensor<?x?xbf16, #layout.dist<tp = sliced(1, 64)>>
!w_out = tensor<?x?xbf16, #layout.dist<tp = sliced(0, 64)>>
// [batch, sequence, heads * 64], [batch, sequence, heads, 64], [batch, heads, sequence, 64] and its transpose
!flat = tensor<?x?x?xbf16, #layout.dist<tp = sliced(2, 64)>>
!split = tensor<?x?x?x64xbf16, #layout.dist<tp = sliced(2)>>
!head = tensor<?x?x?x64xbf16, #layout.dist<tp = sliced(1)>>
!head_t = tensor<?x?x64x?xbf16, #layout.dist<tp = sliced(1)>>
// [batch, heads, sequence of q, sequence of k]
!scores = tensor<?x?x?x?xf32, #layout.dist<tp = sliced(1)>>
!probs = tensor<?x?x?x?xbf16, #layout.dist<tp = sliced(1)>>
!terms = tensor<?x?x?xbf16, #layout.dist<tp = partial(sum)>>
!whole_slice = tensor<?x?x?xbf16, #layout.dist<tp = sliced(1)>>

func.func @attention_full(%x: !whole, %wq: !w_in, %wk: !w_in, %wv: !w_in, %wo: !w_out, %bias: !bias, %mask: !mask,
                          %residual: !whole, %seed: i64) -> !whole {
  %residual_slice = layout.slice %residual over [tp] dim 1 : !whole -> !whole_slice
  %inv_root_d = arith.constant 0.125 : f32
  %q_flat = comp.matmul %x, %wq {accumulate = f32} : (!whole, !w_in) -> !flat
  %q_split = comp.reshape %q_flat [b, s, (h d)] -> [b, s, h, d] : !flat -> !split
  %q = comp.transpose %q_split perm [0, 2, 1, 3] : !split -> !head
  %k_flat = comp.matmul %x, %wk {accumulate = f32} : (!whole, !w_in) -> !flat
  %k_split = comp.reshape %k_flat [b, s, (h d)] -> [b, s, h, d] : !flat -> !split
  %k = comp.transpose %k_split perm [0, 2, 3, 1] : !split -> !head_t
  %v_flat = comp.matmul %x, %wv {accumulate = f32} : (!whole, !w_in) -> !flat
  %v_split = comp.reshape %v_flat [b, s, (h d)] -> [b, s, h, d] : !flat -> !split
  %v = comp.transpose %v_split perm [0, 2, 1, 3] : !split -> !head
  %qk = comp.matmul %q, %k {accumulate = f32} : (!head, !head_t) -> !scores
  %scaled = comp.scale %qk by %inv_root_d : !scores
  %mask_t = comp.broadcast %mask dims [2, 3] like %scaled : !mask, !scores -> !scores
  %scores = arith.addf %scaled, %mask_t : !scores
  %soft = comp.softmax %scores dim 3 : !scores
  %kept = comp.dropout %soft, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !scores
  %probs = arith.truncf %kept : !scores to !probs
  %mixed = comp.matmul %probs, %v {accumulate = f32} : (!probs, !head) -> !head
  %mixed_split = comp.transpose %mixed perm [0, 2, 1, 3] : !head -> !split
  %mixed_flat = comp.reshape %mixed_split [b, s, h, d] -> [b, s, (h d)] : !split -> !flat
  %mm = comp.matmul %mixed_flat, %wo {accumulate = f32} : (!flat, !w_out) -> !terms
  %sum_rs = coll.reduce_scatter sum %mm over [tp] dim 1 {accumulate = f32} : !terms -> !whole_slice
  %bias_t = comp.broadcast %bias dims [2] like %sum_rs : !bias, !whole_slice -> !whole_slice
  %shifted = arith.addf %sum_rs, %bias_t : !whole_slice
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 2 : i64} : !whole_slice
  %y = arith.addf %dropped, %residual_slice : !whole_slice
  %y_ag = coll.all_gather %y over [tp] : !whole_slice -> !whole
  func.return %y_ag : !whole
}
