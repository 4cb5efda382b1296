// From: coconet-opt examples/hierarchical.mlir -p 'coconet-split{op=avg axes=gpu},coconet-reorder{op=avg_ag}'
//
// Each gpu of a node updates its slice of the weights, which are gathered within the node.

layout.mesh @mesh(node = 2, gpu = 4)

!grad = tensor<?xf32, #layout.dist<gpu = local, node = local>>
!whole = tensor<?xf32>
!node_slice = tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>>
!whole_slice = tensor<?xf32, #layout.dist<gpu = sliced(0)>>

func.func @hierarchical(%grad: !grad, %w: !whole, %lr: f32) {
  %w_slice = layout.slice %w over [gpu] dim 0 : !whole -> !whole_slice
  %avg_rs = coll.reduce_scatter avg %grad over [gpu] dim 0 {accumulate = f32} : !grad -> !node_slice
  %avg_ar = coll.all_reduce avg %avg_rs over [node] {accumulate = f32} : !node_slice -> !whole_slice
  %move = comp.scale %avg_ar by %lr : !whole_slice
  %wnew = arith.subf %w_slice, %move : !whole_slice
  %wnew_ag = coll.all_gather %wnew over [gpu] : !whole_slice -> !whole
  %wu = comp.update %w, %wnew_ag : !whole
  func.return
}
