// apply: coconet-reorder{op=y}

layout.mesh @mesh(dp = 2, tp = 4)

!v = tensor<?xf32>
!x = tensor<?x?xf32>
!part = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!rows = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>

// Data movement, what is made in parts, updates.

func.func @broadcast_legal(%x: !part, %w: !x) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %bias = comp.broadcast %y dims [1] like %w : !v, !x -> !x
  %a = arith.addf %w, %bias : !x
  %p = comp.reduce max %a dims [0] : !x -> !v
  func.return %p : !v
}

func.func @broadcast_refused(%x: !part, %w: !x) -> !x {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = comp.broadcast %y dims [1] like %w : !v, !x -> !x
  func.return %p : !x
}

func.func @made_legal(%x: tensor<7x?xf32, #layout.dist<tp = sliced(0)>>, %b: !v, %s: f32) -> tensor<7x?xf32> {
  %c1 = arith.constant 1 : index
  %y = coll.all_gather %x over [tp] : tensor<7x?xf32, #layout.dist<tp = sliced(0)>> -> tensor<7x?xf32>
  %n = tensor.dim %y, %c1 : tensor<7x?xf32>
  %t = tensor.splat %s[%n] : tensor<7x?xf32>
  %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<7xf32>
  %column = comp.broadcast %k dims [0] like %y : tensor<7xf32>, tensor<7x?xf32> -> tensor<7x?xf32>
  %row = comp.broadcast %b dims [1] like %y : !v, tensor<7x?xf32> -> tensor<7x?xf32>
  %a = arith.addf %y, %t : tensor<7x?xf32>
  %c = arith.mulf %a, %column : tensor<7x?xf32>
  %p = arith.addf %c, %row : tensor<7x?xf32>
  func.return %p : tensor<7x?xf32>
}

func.func @merge_legal(%x: tensor<?x6xf32, #layout.dist<tp = sliced(0)>>) -> !v {
  %y = coll.all_gather %x over [tp] : tensor<?x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x6xf32>
  %p = comp.reshape %y [a, b] -> [(a b)] : tensor<?x6xf32> -> !v
  func.return %p : !v
}

func.func @merge_refused(%x: tensor<?x6xf32, #layout.dist<tp = sliced(1)>>) -> !v {
  %y = coll.all_gather %x over [tp] : tensor<?x6xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x6xf32>
  %p = comp.reshape %y [a, b] -> [(a b)] : tensor<?x6xf32> -> !v
  func.return %p : !v
}

func.func @unmerge_legal(%x: tensor<42xf32, #layout.dist<tp = sliced(0, 6)>>) -> tensor<7x6xf32> {
  %y = coll.all_gather %x over [tp] : tensor<42xf32, #layout.dist<tp = sliced(0, 6)>> -> tensor<42xf32>
  %p = comp.reshape %y [(a b)] -> [a, b] : tensor<42xf32> -> tensor<7x6xf32>
  func.return %p : tensor<7x6xf32>
}

func.func @unmerge_refused(%x: tensor<42xf32, #layout.dist<tp = sliced(0)>>) -> tensor<7x6xf32> {
  %y = coll.all_gather %x over [tp] : tensor<42xf32, #layout.dist<tp = sliced(0)>> -> tensor<42xf32>
  %p = comp.reshape %y [(a b)] -> [a, b] : tensor<42xf32> -> tensor<7x6xf32>
  func.return %p : tensor<7x6xf32>
}

func.func @transpose_legal(%x: !rows) -> !x {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = comp.transpose %y perm [1, 0] : !x -> !x
  func.return %p : !x
}

func.func @update_legal(%x: !part, %m: !v) -> tensor<f32> {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %new = arith.addf %m, %y : !v
  %stored = comp.update %m, %new : !v
  %p = comp.reduce max %stored dims [0] : !v -> tensor<f32>
  func.return %p : tensor<f32>
}

// The gathered copy is what %x was before its update.
func.func @update_refused(%x: !part, %new: !part) -> !v {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %stored = comp.update %x, %new : !part
  %p = math.exp %y : !v
  func.return %p : !v
}

// Collectives and changes of layout.

!local = tensor<3x?xf32, #layout.dist<dp = local>>
!local_columns = tensor<3x?xf32, #layout.dist<dp = local, tp = sliced(1)>>
!dp_columns = tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
!dp_rows = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>

func.func @permute_legal(%x: !local_columns) -> !local {
  %y = coll.all_gather %x over [tp] : !local_columns -> !local
  %p = coll.permute %y over [dp] shift 1 : !local -> !local
  func.return %p : !local
}

func.func @all_reduce_legal(%x: !local_columns) -> tensor<3x?xf32> {
  %y = coll.all_gather %x over [tp] : !local_columns -> !local
  %p = coll.all_reduce sum %y over [dp] : !local -> tensor<3x?xf32>
  func.return %p : tensor<3x?xf32>
}

!halves = tensor<?xf16, #layout.dist<dp = local>>

// The sums, which are gathered then, are four times as wide as what is summed.
func.func @all_reduce_refused(%x: tensor<?xf16, #layout.dist<dp = local, tp = sliced(0)>>) -> tensor<?xf64> {
  %y = coll.all_gather %x over [tp] : tensor<?xf16, #layout.dist<dp = local, tp = sliced(0)>> -> !halves
  %p = coll.all_reduce sum %y over [dp] {accumulate = f64} : !halves -> tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @rooted_legal(%x: !local_columns) -> tensor<3x?xf32> {
  %y = coll.all_gather %x over [tp] : !local_columns -> !local
  %r = coll.reduce sum %y over [dp] root 0 : !local -> tensor<3x?xf32, #layout.dist<dp = root(0)>>
  %p = coll.broadcast %r over [dp] root 0 : tensor<3x?xf32, #layout.dist<dp = root(0)>> -> tensor<3x?xf32>
  func.return %p : tensor<3x?xf32>
}

!some_rows = tensor<3x?xf32, #layout.dist<dp = sliced(0)>>
!some_columns = tensor<3x?xf32, #layout.dist<dp = sliced(1)>>
!local_pairs = tensor<3x?xf32, #layout.dist<dp = local, tp = sliced(1, 2)>>

func.func @reduce_scatter_legal(%x: !local_columns) -> !some_rows {
  %y = coll.all_gather %x over [tp] : !local_columns -> !local
  %p = coll.reduce_scatter sum %y over [dp] dim 0 : !local -> !some_rows
  func.return %p : !some_rows
}

func.func @reduce_scatter_refused(%x: !local_columns) -> !some_columns {
  %y = coll.all_gather %x over [tp] : !local_columns -> !local
  %p = coll.reduce_scatter sum %y over [dp] dim 1 : !local -> !some_columns
  func.return %p : !some_columns
}

func.func @reduce_scatter_unit_refused(%x: !local_pairs) -> !some_columns {
  %y = coll.all_gather %x over [tp] : !local_pairs -> !local
  %p = coll.reduce_scatter sum %y over [dp] dim 1 : !local -> !some_columns
  func.return %p : !some_columns
}

func.func @all_gather_legal(%x: tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>) -> !x {
  %y = coll.all_gather %x over [tp] : tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> !dp_rows
  %p = coll.all_gather %y over [dp] : !dp_rows -> !x
  func.return %p : !x
}

func.func @all_gather_refused(%x: tensor<?x?xf32, #layout.dist<[dp, tp] = sliced(0)>>) -> !x {
  %y = coll.all_gather %x over [tp] : tensor<?x?xf32, #layout.dist<[dp, tp] = sliced(0)>> -> !dp_rows
  %p = coll.all_gather %y over [dp] : !dp_rows -> !x
  func.return %p : !x
}

!cube = tensor<3x5x?xf32, #layout.dist<dp = sliced(0)>>
!exchanged = tensor<3x5x?xf32, #layout.dist<dp = sliced(1)>>

func.func @all_to_all_legal(%x: tensor<3x5x?xf32, #layout.dist<dp = sliced(0), tp = sliced(2)>>) -> !exchanged {
  %y = coll.all_gather %x over [tp] : tensor<3x5x?xf32, #layout.dist<dp = sliced(0), tp = sliced(2)>> -> !cube
  %p = coll.all_to_all %y over [dp] from 0 to 1 : !cube -> !exchanged
  func.return %p : !exchanged
}

func.func @all_to_all_refused(%x: tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>) -> !dp_columns {
  %y = coll.all_gather %x over [tp] : tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> !dp_rows
  %p = coll.all_to_all %y over [dp] from 0 to 1 : !dp_rows -> !dp_columns
  func.return %p : !dp_columns
}

func.func @slice_legal(%x: !rows) -> !dp_columns {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = layout.slice %y over [dp] dim 1 : !x -> !dp_columns
  func.return %p : !dp_columns
}

func.func @slice_refused(%x: !rows) -> !dp_rows {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = layout.slice %y over [dp] dim 0 : !x -> !dp_rows
  func.return %p : !dp_rows
}

func.func @own_slice_legal(%x: !rows) -> !rows {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = layout.slice %y over [tp] dim 0 : !x -> !rows
  func.return %p : !rows
}

func.func @own_slice_refused(%x: !rows) -> !columns {
  %y = coll.all_gather %x over [tp] : !rows -> !x
  %p = layout.slice %y over [tp] dim 1 : !x -> !columns
  func.return %p : !columns
}

func.func @relax_legal(%x: !part) -> tensor<?xf32, #layout.dist<dp = local>> {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = layout.relax %y over [dp] : !v -> tensor<?xf32, #layout.dist<dp = local>>
  func.return %p : tensor<?xf32, #layout.dist<dp = local>>
}

func.func @relax_refused(%x: !part) -> tensor<?xf32, #layout.dist<tp = local>> {
  %y = coll.all_gather %x over [tp] : !part -> !v
  %p = layout.relax %y over [tp] : !v -> tensor<?xf32, #layout.dist<tp = local>>
  func.return %p : tensor<?xf32, #layout.dist<tp = local>>
}
