// From: coconet-opt examples/sgd.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// Each rank updates its slice; the new velocity and weights are gathered for the updates.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf32, #layout.dist<dp = local>>
!whole = tensor<?xf32>
!whole_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @sgd(%grad: !grad, %w: !whole, %u: !whole {coconet.state}, %lr: f32, %momentum: f32, %decay: f32) {
  %w_slice = layout.slice %w over [dp] dim 0 : !whole -> !whole_slice
  %u_slice = layout.slice %u over [dp] dim 0 : !whole -> !whole_slice
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 : !grad -> !whole_slice
  %decayed = comp.scale %w_slice by %decay : !whole_slice
  %push = arith.addf %avg_rs, %decayed : !whole_slice
  %kept = comp.scale %u_slice by %momentum : !whole_slice
  %unew = arith.addf %kept, %push : !whole_slice
  %unew_ag = coll.all_gather %unew over [dp] : !whole_slice -> !whole
  %uu = comp.update %u, %unew_ag : !whole
  %step = comp.scale %unew by %lr : !whole_slice
  %wnew = arith.subf %w_slice, %step : !whole_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !whole_slice -> !whole
  %wu = comp.update %w, %wnew_ag : !whole
  func.return
}
