// From: coconet-opt examples/sgd.mlir -p 'coconet-split{op=avg}'
//
// The all_reduce is a reduce_scatter and an all_gather; every reader reads the gathered value.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf32, #layout.dist<dp = local>>
!whole = tensor<?xf32>
!whole_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @sgd(%grad: !grad, %w: !whole, %u: !whole {coconet.state}, %lr: f32, %momentum: f32, %decay: f32) {
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 : !grad -> !whole_slice
  %avg_ag = coll.all_gather %avg_rs over [dp] : !whole_slice -> !whole
  %decayed = comp.scale %w by %decay : !whole
  %push = arith.addf %avg_ag, %decayed : !whole
  %kept = comp.scale %u by %momentum : !whole
  %unew = arith.addf %kept, %push : !whole
  %uu = comp.update %u, %unew : !whole
  %step = comp.scale %uu by %lr : !whole
  %wnew = arith.subf %w, %step : !whole
  %wu = comp.update %w, %wnew : !whole
  func.return
}
