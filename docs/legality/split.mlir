// apply: coconet-split{op=a}

layout.mesh @mesh(dp = 2, tp = 4)

!local = tensor<?x9xf32, #layout.dist<dp = local>>
!x = tensor<?x9xf32>
!local_cut = tensor<?xf32, #layout.dist<dp = local, tp = sliced(0)>>
!cut = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!local_units = tensor<?x9xf32, #layout.dist<dp = local, tp = sliced(1, 2)>>
!units = tensor<?x9xf32, #layout.dist<tp = sliced(1, 2)>>
!both = tensor<?xf32, #layout.dist<dp = local, tp = local>>

// reduce_scatter and all_gather.

func.func @largest_legal(%x: !local) -> !x {
  %a = coll.all_reduce sum %x over [dp] : !local -> !x
  func.return %a : !x
}

// Each dimension is cut by tp.
func.func @largest_refused(%x: !local_cut) -> !cut {
  %a = coll.all_reduce sum %x over [dp] : !local_cut -> !cut
  func.return %a : !cut
}

// A dimension that tp cuts already is cut further, in the same unit.
// apply: coconet-split{op=a dim=1 unit=2}
func.func @named_legal(%x: !local_units) -> !units {
  %a = coll.all_reduce max %x over [dp] : !local_units -> !units
  func.return %a : !units
}

// apply: coconet-split{op=a dim=1}
func.func @named_refused(%x: !local_units) -> !units {
  %a = coll.all_reduce max %x over [dp] : !local_units -> !units
  func.return %a : !units
}

func.func @scalar_refused(%x: tensor<f32, #layout.dist<dp = local>>) -> tensor<f32> {
  %a = coll.all_reduce avg %x over [dp] : tensor<f32, #layout.dist<dp = local>> -> tensor<f32>
  func.return %a : tensor<f32>
}

// Over some of the axes.

// apply: coconet-split{op=a axes=tp}
func.func @axes_legal(%x: !both) -> tensor<?xf32> {
  %a = coll.all_reduce sum %x over [dp, tp] : !both -> tensor<?xf32>
  func.return %a : tensor<?xf32>
}

// apply: coconet-split{op=a axes=tp}
func.func @axes_refused(%x: !both) -> tensor<?xf32> {
  %a = coll.all_reduce sum %x over [dp, tp] {order = #coll.order<ranks>} : !both -> tensor<?xf32>
  func.return %a : tensor<?xf32>
}

// reduce and broadcast.

// apply: coconet-split{op=a into=reduce-broadcast}
func.func @root_legal(%x: tensor<f32, #layout.dist<dp = local>>) -> tensor<f32> {
  %a = coll.all_reduce avg %x over [dp] : tensor<f32, #layout.dist<dp = local>> -> tensor<f32>
  func.return %a : tensor<f32>
}
