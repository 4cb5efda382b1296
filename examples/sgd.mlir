// SGD with momentum and weight decay, data parallel over dp.
//
//     g  = average over dp of grad       each rank has the gradient of its own batch
//     u' = momentum * u + (g + decay * w)
//     w' = w - lr * u'
//
// The velocity u is optimizer state: nobody outside needs it whole. The weights w are read whole by the next
// forward pass. A tensor of no elements stays empty; a tensor of one element is an ordinary case.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf32, #layout.dist<dp = local>>
!whole = tensor<?xf32>

func.func @sgd(%grad: !grad, %w: !whole, %u: !whole {coconet.state}, %lr: f32, %momentum: f32, %decay: f32) {
  %avg = coll.all_reduce avg %grad over [dp] : !grad -> !whole
  %decayed = comp.scale %w by %decay : !whole
  %push = arith.addf %avg, %decayed : !whole
  %kept = comp.scale %u by %momentum : !whole
  %unew = arith.addf %kept, %push : !whole
  %uu = comp.update %u, %unew : !whole
  %step = comp.scale %uu by %lr : !whole
  %wnew = arith.subf %w, %step : !whole
  %wu = comp.update %w, %wnew : !whole
  func.return
}
