// From: coconet-opt examples/rmsnorm.mlir -p 'coconet-split{op=sum dim=1},coconet-reorder{op=sum_ag}'
//
// RMSNorm needs the last dimension whole, and the sequence is cut: it runs on slices. The gather of the stream feeds
// only the update of state.

layout.mesh @mesh(tp = 8)

!in = tensor<?x?x?xbf16, #layout.dist<tp = local>>
!whole = tensor<?x?x?xbf16>
!weight = tensor<?xbf16>
!slice = tensor<?x?x?xbf16, #layout.dist<tp = sliced(1)>>

func.func @rmsnorm(%in: !in, %stream: !whole {coconet.state}, %weight: !weight) -> !whole {
  %stream_slice = layout.slice %stream over [tp] dim 1 : !whole -> !slice
  %sum_rs = coll.reduce_scatter sum %in over [tp] dim 1 {accumulate = f32} : !in -> !slice
  %snew = arith.addf %sum_rs, %stream_slice : !slice
  %snew_ag = coll.all_gather %snew over [tp] : !slice -> !whole
  %su = comp.update %stream, %snew_ag : !whole
  %y = comp.rms_norm %snew, %weight {eps = 1.0e-6 : f32} : (!slice, !weight) -> !slice
  %y_ag = coll.all_gather %y over [tp] : !slice -> !whole
  func.return %y_ag : !whole
}
