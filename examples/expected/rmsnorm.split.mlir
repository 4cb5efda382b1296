// From: coconet-opt examples/rmsnorm.mlir -p 'coconet-split{op=sum dim=1}'
//
// The all_reduce is a reduce_scatter and an all_gather along the sequence.

layout.mesh @mesh(tp = 8)

!in = tensor<?x?x?xbf16, #layout.dist<tp = local>>
!whole = tensor<?x?x?xbf16>
!weight = tensor<?xbf16>
!slice = tensor<?x?x?xbf16, #layout.dist<tp = sliced(1)>>

func.func @rmsnorm(%in: !in, %stream: !whole {coconet.state}, %weight: !weight) -> !whole {
  %sum_rs = coll.reduce_scatter sum %in over [tp] dim 1 {accumulate = f32} : !in -> !slice
  %sum_ag = coll.all_gather %sum_rs over [tp] : !slice -> !whole
  %snew = arith.addf %sum_ag, %stream : !whole
  %su = comp.update %stream, %snew : !whole
  %y = comp.rms_norm %su, %weight {eps = 1.0e-6 : f32} : (!whole, !weight) -> !whole
  func.return %y : !whole
}
