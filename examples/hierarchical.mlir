// Plain SGD over a machine of two levels: gpus within a node are close, nodes are far from each other.
//
//     g  = average over all ranks of grad
//     w' = w - lr * g
//
// One all_reduce runs over both axes. Split along one of them (axes=gpu) only a gpu-th of the gradient crosses
// between nodes. A tensor of no elements stays empty; a tensor of one element is an ordinary case.

layout.mesh @mesh(node = 2, gpu = 4)

!grad = tensor<?xf32, #layout.dist<gpu = local, node = local>>
!whole = tensor<?xf32>

func.func @hierarchical(%grad: !grad, %w: !whole, %lr: f32) {
  %avg = coll.all_reduce avg %grad over [node, gpu] : !grad -> !whole
  %move = comp.scale %avg by %lr : !whole
  %wnew = arith.subf %w, %move : !whole
  %wu = comp.update %w, %wnew : !whole
  func.return
}
