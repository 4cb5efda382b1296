// What stands between two tensor-parallel blocks: all_reduce, residual, RMSNorm.
//
//     stream' = stream + sum over tp of in
//     y       = stream' / sqrt(mean over the last dimension of stream'^2 + eps) * weight
//
// The residual stream is state: the blocks read y, and only this program reads the stream. So, split along the
// sequence (dim=1) and reordered, each rank keeps its part of the stream and only y is gathered (sequence parallelism).
// A row of no elements has mean 0 and gives no elements; a row of one element gives that element's sign times weight,
// up to eps.

layout.mesh @mesh(tp = 8)

!in = tensor<?x?x?xbf16, #layout.dist<tp = local>>
!whole = tensor<?x?x?xbf16>
!weight = tensor<?xbf16>

func.func @rmsnorm(%in: !in, %stream: !whole {coconet.state}, %weight: !weight) -> !whole {
  %sum = coll.all_reduce sum %in over [tp] {accumulate = f32} : !in -> !whole
  %snew = arith.addf %sum, %stream : !whole
  %su = comp.update %stream, %snew : !whole
  %y = comp.rms_norm %su, %weight {eps = 1.0e-6 : f32} : (!whole, !weight) -> !whole
  func.return %y : !whole
}
