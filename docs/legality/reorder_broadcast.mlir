// apply: coconet-reorder{op=y}

layout.mesh @mesh(dp = 2, tp = 4)

!v = tensor<?xf32>
!x = tensor<?x?xf32>
!rows = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!root = tensor<?x?xf32, #layout.dist<tp = root(0)>>
!root_v = tensor<?xf32, #layout.dist<tp = root(0)>>

func.func @elementwise_legal(%x: !root_v, %w: !v, %s: f32, %seed: i64) -> !v {
  %c0 = arith.constant 0 : index
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %a = arith.addf %y, %w : !v
  %b = comp.scale %a by %s : !v
  %d = comp.dropout %b, %seed {p = 0.25 : f32, id = 1 : i64} : !v
  %n = tensor.dim %w, %c0 : !v
  %t = tensor.splat %s[%n] : !v
  %p = arith.mulf %d, %t : !v
  func.return %p : !v
}

func.func @elementwise_refused(%x: !root_v) -> tensor<?xf64> {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %p = arith.extf %y : !v to tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @whole_legal(%x: !root, %w: !v) -> tensor<f32> {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %s = comp.softmax %y dim 1 : !x
  %r = comp.rms_norm %s, %w {eps = 1.0e-6 : f32} : (!x, !v) -> !x
  %m = comp.mean %r dims [0] : !x -> !v
  %p = comp.norm %m : !v -> tensor<f32>
  func.return %p : tensor<f32>
}

func.func @reduce_legal(%x: !root) -> !v {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = comp.reduce sum %y dims [0] : !x -> !v
  func.return %p : !v
}

// The sums are wider than what is summed.
func.func @reduce_refused(%x: !root) -> tensor<?xf64> {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = comp.reduce sum %y dims [0] {accumulate = f64} : !x -> tensor<?xf64>
  func.return %p : tensor<?xf64>
}

func.func @moved_legal(%x: tensor<7x6xf32, #layout.dist<tp = root(0)>>) -> tensor<42xf32> {
  %y = coll.broadcast %x over [tp] root 0 : tensor<7x6xf32, #layout.dist<tp = root(0)>> -> tensor<7x6xf32>
  %t = comp.transpose %y perm [1, 0] : tensor<7x6xf32> -> tensor<6x7xf32>
  %p = comp.reshape %t [a, b] -> [(a b)] : tensor<6x7xf32> -> tensor<42xf32>
  func.return %p : tensor<42xf32>
}

func.func @broadcast_legal(%x: !root_v, %w: !x) -> !v {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %bias = comp.broadcast %y dims [1] like %w : !v, !x -> !x
  %a = arith.addf %w, %bias : !x
  %p = comp.reduce max %a dims [0] : !x -> !v
  func.return %p : !v
}

func.func @broadcast_refused(%x: !root_v, %w: !x) -> !x {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %p = comp.broadcast %y dims [1] like %w : !v, !x -> !x
  func.return %p : !x
}

func.func @segment_legal(%x: !root_v, %offsets: tensor<?xi64>) -> !v {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %sums = comp.segment_reduce sum %y, %offsets : (!v, tensor<?xi64>) -> !v
  %spread = comp.segment_broadcast %sums, %offsets like %y : (!v, tensor<?xi64>, !v) -> !v
  %p = arith.divf %y, %spread : !v
  func.return %p : !v
}

func.func @matmul_legal(%x: tensor<?x9xf32, #layout.dist<tp = root(0)>>, %w: tensor<9x5xf32>) -> tensor<?x5xf32> {
  %y = coll.broadcast %x over [tp] root 0 : tensor<?x9xf32, #layout.dist<tp = root(0)>> -> tensor<?x9xf32>
  %p = comp.matmul %y, %w : (tensor<?x9xf32>, tensor<9x5xf32>) -> tensor<?x5xf32>
  func.return %p : tensor<?x5xf32>
}

func.func @matmul_refused(%x: !root, %w: !columns) -> !columns {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = comp.matmul %y, %w : (!x, !columns) -> !columns
  func.return %p : !columns
}

!image = tensor<?x5x5x3xf32, #layout.dist<tp = root(0)>>
!some_filters = tensor<5x5x3x4xf32, #layout.dist<tp = sliced(3)>>
!some_channels = tensor<?x1x1x4xf32, #layout.dist<tp = sliced(3)>>

func.func @conv2d_legal(%x: !image, %k: tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32> {
  %y = coll.broadcast %x over [tp] root 0 : !image -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32>
  func.return %p : tensor<?x3x3x4xf32>
}

// Each rank has some of the filters.
func.func @conv2d_refused(%x: !image, %k: !some_filters) -> !some_channels {
  %y = coll.broadcast %x over [tp] root 0 : !image -> tensor<?x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<?x5x5x3xf32>, !some_filters) -> !some_channels
  func.return %p : !some_channels
}

!terms = tensor<?x?xf32, #layout.dist<tp = partial(sum)>>

func.func @partial_refused(%x: !root, %w: !columns, %k: !rows) -> !x {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %terms = comp.matmul %w, %k : (!columns, !rows) -> !terms
  %q = comp.matmul %y, %terms : (!x, !terms) -> !terms
  %p = coll.all_reduce sum %q over [tp] : !terms -> !x
  func.return %p : !x
}

comp.define @attend rule [m, n] -> [m, n], n = whole {
^bb0(%v: !x):
  %r = comp.softmax %v dim 1 : !x
  comp.yield %r : !x
}

func.func @custom_legal(%x: !root) -> !x {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = comp.custom @attend(%y) : (!x) -> !x
  func.return %p : !x
}

func.func @update_legal(%x: !root_v, %m: !v {coconet.state}) -> tensor<f32> {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %new = arith.addf %m, %y : !v
  %stored = comp.update %m, %new : !v
  %p = comp.reduce max %stored dims [0] : !v -> tensor<f32>
  func.return %p : tensor<f32>
}

// The copy that was sent is what %x was before its update.
func.func @update_refused(%x: !root_v, %new: !root_v) -> !v {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %stored = comp.update %x, %new : !root_v
  %p = math.exp %y : !v
  func.return %p : !v
}

!local = tensor<?x?xf32, #layout.dist<dp = local>>

func.func @collective_legal(%x: tensor<?x?xf32, #layout.dist<dp = local, tp = root(0)>>) -> !x {
  %y = coll.broadcast %x over [tp] root 0 : tensor<?x?xf32, #layout.dist<dp = local, tp = root(0)>> -> !local
  %s = coll.permute %y over [dp] shift 1 : !local -> !local
  %r = coll.reduce_scatter sum %s over [dp] dim 0 : !local -> tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
  %t = coll.all_to_all %r over [dp] from 0 to 1 : tensor<?x?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
  %p = coll.all_gather %t over [dp] : tensor<?x?xf32, #layout.dist<dp = sliced(1)>> -> !x
  func.return %p : !x
}

func.func @reducing_legal(%x: tensor<?x?xf32, #layout.dist<dp = local, tp = root(0)>>, %w: !x) -> !x {
  %y = coll.broadcast %x over [tp] root 0 : tensor<?x?xf32, #layout.dist<dp = local, tp = root(0)>> -> !local
  %r = coll.reduce sum %y over [dp] root 0 : !local -> tensor<?x?xf32, #layout.dist<dp = root(0)>>
  %b = coll.broadcast %r over [dp] root 0 : tensor<?x?xf32, #layout.dist<dp = root(0)>> -> !x
  %m = coll.all_reduce max %y over [dp] : !local -> !x
  %p = arith.addf %b, %m : !x
  func.return %p : !x
}

func.func @slice_legal(%x: !root) -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>> {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = layout.slice %y over [dp] dim 1 : !x -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
  func.return %p : tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
}

func.func @slice_refused(%x: !root) -> !rows {
  %y = coll.broadcast %x over [tp] root 0 : !root -> !x
  %p = layout.slice %y over [tp] dim 0 : !x -> !rows
  func.return %p : !rows
}

func.func @relax_legal(%x: !root_v) -> tensor<?xf32, #layout.dist<dp = local>> {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %p = layout.relax %y over [dp] : !v -> tensor<?xf32, #layout.dist<dp = local>>
  func.return %p : tensor<?xf32, #layout.dist<dp = local>>
}

func.func @relax_refused(%x: !root_v) -> tensor<?xf32, #layout.dist<tp = local>> {
  %y = coll.broadcast %x over [tp] root 0 : !root_v -> !v
  %p = layout.relax %y over [tp] : !v -> tensor<?xf32, #layout.dist<tp = local>>
  func.return %p : tensor<?xf32, #layout.dist<tp = local>>
}

func.func @extract_refused(%x: tensor<f32, #layout.dist<tp = root(0)>>) -> f32 {
  %y = coll.broadcast %x over [tp] root 0 : tensor<f32, #layout.dist<tp = root(0)>> -> tensor<f32>
  %p = tensor.extract %y[] : tensor<f32>
  func.return %p : f32
}

func.func @local_refused(%x: tensor<?xf32, #layout.dist<tp = local>>) -> !v {
  %y = coll.broadcast %x over [tp] root 0 : tensor<?xf32, #layout.dist<tp = local>> -> !v
  %p = math.exp %y : !v
  func.return %p : !v
}
