// From: coconet-opt examples/hierarchical.mlir -p 'coconet-split{op=avg axes=gpu}'
//
// Within a node a reduce_scatter, between nodes an all_reduce of the slices, within a node an all_gather.

layout.mesh @mesh(node = 2, gpu = 4)

!grad = tensor<?xf32, #layout.dist<gpu = local, node = local>>
!whole = tensor<?xf32>
!node_slice = tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>>
!whole_slice = tensor<?xf32, #layout.dist<gpu = sliced(0)>>

func.func @hierarchical(%grad: !grad, %w: !whole, %lr: f32) {
  %avg_rs = coll.reduce_scatter avg %grad over [gpu] dim 0 {accumulate = f32} : !grad -> !node_slice
  %avg_ar = coll.all_reduce avg %avg_rs over [node] {accumulate = f32} : !node_slice -> !whole_slice
  %avg_ag = coll.all_gather %avg_ar over [gpu] : !whole_slice -> !whole
  %move = comp.scale %avg_ag by %lr : !whole
  %wnew = arith.subf %w, %move : !whole
  %wu = comp.update %w, %wnew : !whole
  func.return
}
