// apply: coconet-fuse{ops=a,z between=true}

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<?x?xf32>
!v = tensor<?xf32>
!part = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!columns = tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
!local = tensor<?x?xf32, #layout.dist<dp = local>>
!sum = tensor<f32, #layout.dist<dp = partial(sum)>>

// Computations.

func.func @elementwise_legal(%x: !x, %w: !x) -> !x {
  %a = arith.addf %x, %w : !x
  %b = math.tanh %a : !x
  %z = arith.mulf %a, %b : !x
  func.return %z : !x
}

// A path from %a to %z leads over %b, which is not named.
// apply: coconet-fuse{ops=a,z}
func.func @elementwise_refused(%x: !x, %w: !x) -> !x {
  %a = arith.addf %x, %w : !x
  %b = math.tanh %a : !x
  %z = arith.mulf %a, %b : !x
  func.return %z : !x
}

func.func @reduction_legal(%x: !x, %w: !v) -> (!x, tensor<f32>) {
  %a = comp.softmax %x dim 1 : !x
  %b = comp.rms_norm %a, %w {eps = 1.0e-6 : f32} : (!x, !v) -> !x
  %m = comp.mean %b dims [1] : !x -> !v
  %r = comp.reduce max %m dims [0] : !v -> tensor<f32>
  %n = comp.norm %b : !x -> tensor<f32>
  %z = arith.addf %r, %n : tensor<f32>
  func.return %b, %z : !x, tensor<f32>
}

func.func @movement_legal(%x: tensor<7x6xf32>, %b: tensor<6xf32>, %seed: i64) -> tensor<42xf32> {
  %a = comp.dropout %x, %seed {p = 0.25 : f32, id = 1 : i64} : tensor<7x6xf32>
  %bias = comp.broadcast %b dims [1] : tensor<6xf32> -> tensor<7x6xf32>
  %c = arith.addf %a, %bias : tensor<7x6xf32>
  %t = comp.transpose %c perm [1, 0] : tensor<7x6xf32> -> tensor<6x7xf32>
  %z = comp.reshape %t [a, b] -> [(a b)] : tensor<6x7xf32> -> tensor<42xf32>
  func.return %z : tensor<42xf32>
}

func.func @views_legal(%w: !x, %s: f32) -> (!part, !local) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %w, %c0 : !x
  %t = tensor.splat %s[%m, %m] : !part
  %part = layout.slice %w over [dp] dim 0 : !x -> !part
  %a = arith.addf %part, %t : !part
  %l = layout.relax %w over [dp] : !x -> !local
  %b = math.exp %l : !local
  %z = math.sqrt %b : !local
  func.return %a, %z : !part, !local
}

func.func @segment_legal(%x: !v, %offsets: tensor<?xi64>) -> !v {
  %a = comp.segment_reduce sum %x, %offsets : (!v, tensor<?xi64>) -> !v
  %b = comp.segment_broadcast %a, %offsets like %x : (!v, tensor<?xi64>, !v) -> !v
  %z = arith.divf %x, %b : !v
  func.return %z : !v
}

func.func @extract_legal(%x: !v, %w: !v) -> !v {
  %c0 = arith.constant 0 : index
  %a = math.exp %x : !v
  %first = tensor.extract %a[%c0] : !v
  %z = comp.scale %w by %first : !v
  func.return %z : !v
}

comp.define @swish rule [m, n] -> [m, n] {
^bb0(%v: !x):
  %t = math.tanh %v : !x
  %r = arith.mulf %v, %t : !x
  comp.yield %r : !x
}

func.func @custom_legal(%x: !x) -> !x {
  %a = comp.custom @swish(%x) : (!x) -> !x
  %z = math.exp %a : !x
  func.return %z : !x
}

func.func @matmul_refused(%x: !x, %w: !x) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %z = math.exp %a : !x
  func.return %z : !x
}

func.func @conv2d_refused(%x: tensor<?x5x5x3xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32> {
  %a = comp.conv2d %x, %k : (tensor<?x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x3x3x4xf32>
  %z = math.exp %a : tensor<?x3x3x4xf32>
  func.return %z : tensor<?x3x3x4xf32>
}

func.func @no_rule_refused(%x: tensor<9x9xf32>) -> tensor<9x4xf32> {
  %a = math.exp %x : tensor<9x9xf32>
  %z = tensor.extract_slice %a[0, 0] [9, 4] [1, 1] : tensor<9x9xf32> to tensor<9x4xf32>
  func.return %z : tensor<9x4xf32>
}

func.func @region_refused(%x: !x) -> !x {
  %a = coll.fused {
    %b = math.exp %x : !x
    coll.yield %b : !x
  }
  %z = math.sqrt %a : !x
  func.return %z : !x
}

func.func @return_refused(%x: !x) -> !x {
  %a = math.exp %x : !x
  func.return {coconet.name = "z"} %a : !x
}

// Collectives.

func.func @reduce_scatter_legal(%x: !local, %w: !part) -> !part {
  %a = coll.reduce_scatter sum %x over [dp] dim 0 : !local -> !part
  %z = arith.addf %a, %w : !part
  func.return %z : !part
}

func.func @reduce_scatter_refused(%x: !local) -> !part {
  %a = math.exp %x : !local
  %z = coll.reduce_scatter sum %a over [dp] dim 0 : !local -> !part
  func.return %z : !part
}

func.func @all_reduce_legal(%x: !local, %w: !x) -> !x {
  %a = coll.all_reduce sum %x over [dp] : !local -> !x
  %z = arith.addf %a, %w : !x
  func.return %z : !x
}

// Two collectives bring something in.
// apply: coconet-fuse{ops=a,b,z}
func.func @all_reduce_refused(%x: !local, %w: !local) -> !x {
  %a = coll.all_reduce sum %x over [dp] : !local -> !x
  %b = coll.all_reduce sum %w over [dp] : !local -> !x
  %z = arith.addf %a, %b : !x
  func.return %z : !x
}

func.func @norm_legal(%x: !part, %w: !part) -> !part {
  %a = arith.addf %x, %w : !part
  %squares = arith.mulf %a, %a : !part
  %r = comp.reduce sum %squares dims [0, 1] : !part -> !sum
  %all = coll.all_reduce sum %r over [dp] : !sum -> tensor<f32>
  %s = tensor.extract %all[] : tensor<f32>
  %z = comp.scale %a by %s : !part
  func.return %z : !part
}

// What is reduced over the ranks is no result of a reduction.
func.func @norm_refused(%x: !local, %w: !local) -> !x {
  %a = arith.addf %x, %w : !local
  %all = coll.all_reduce sum %a over [dp] : !local -> !x
  %z = math.sqrt %all : !x
  func.return %z : !x
}

func.func @all_gather_legal(%x: !part, %w: !part) -> (!x, !x) {
  %a = arith.addf %x, %w : !part
  %b = coll.all_gather %a over [dp] : !part -> !x
  %c = math.exp %a : !part
  %z = coll.all_gather %c over [dp] : !part -> !x
  func.return %b, %z : !x, !x
}

func.func @all_gather_refused(%x: !part) -> !x {
  %a = coll.all_gather %x over [dp] : !part -> !x
  %z = math.exp %a : !x
  func.return %z : !x
}

func.func @permute_legal(%x: !local) -> !local {
  %a = math.exp %x : !local
  %z = coll.permute %a over [dp] shift 1 : !local -> !local
  func.return %z : !local
}

func.func @permute_refused(%x: !local) -> !local {
  %a = math.exp %x : !local
  %sent = coll.permute %a over [dp] shift 1 : !local -> !local
  %z = math.sqrt %sent : !local
  func.return %z : !local
}

func.func @all_to_all_legal(%x: !part) -> !part {
  %a = coll.all_to_all %x over [dp] from 0 to 1 : !part -> !columns
  %b = math.exp %a : !columns
  %z = coll.all_to_all %b over [dp] from 1 to 0 : !columns -> !part
  func.return %z : !part
}

// Exchanges belong to another kind of kernel than gathers.
func.func @all_to_all_refused(%x: !part) -> !x {
  %a = coll.all_to_all %x over [dp] from 0 to 1 : !part -> !columns
  %b = math.exp %a : !columns
  %z = coll.all_gather %b over [dp] : !columns -> !x
  func.return %z : !x
}

func.func @rooted_refused(%x: !local) -> !x {
  %a = coll.reduce sum %x over [dp] root 0 : !local -> tensor<?x?xf32, #layout.dist<dp = root(0)>>
  %b = math.exp %a : tensor<?x?xf32, #layout.dist<dp = root(0)>>
  %z = coll.broadcast %b over [dp] root 0 : tensor<?x?xf32, #layout.dist<dp = root(0)>> -> !x
  func.return %z : !x
}

!both = tensor<?x?xf32, #layout.dist<dp = local, tp = local>>
!both_part = tensor<?x?xf32, #layout.dist<[dp, tp] = sliced(0)>>

func.func @axes_legal(%x: !both, %w: !both_part) -> !x {
  %a = coll.reduce_scatter sum %x over [dp, tp] dim 0 : !both -> !both_part
  %b = arith.addf %a, %w : !both_part
  %z = coll.all_gather %b over [dp, tp] : !both_part -> !x
  func.return %z : !x
}

func.func @axes_refused(%x: !both, %w: !both_part) -> !part {
  %a = coll.reduce_scatter sum %x over [dp, tp] dim 0 : !both -> !both_part
  %b = arith.addf %a, %w : !both_part
  %z = coll.all_gather %b over [tp] : !both_part -> !part
  func.return %z : !part
}

// Updates in place.

func.func @update_legal(%g: !local, %w: !x) {
  %part = layout.slice %w over [dp] dim 0 : !x -> !part
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %new = arith.subf %part, %a : !part
  %all = coll.all_gather %new over [dp] : !part -> !x
  %z = comp.update %w, %all : !x
  func.return
}

// Peers store their slices of %w while this rank still reads all of it.
// apply: coconet-fuse{ops=a,old,z between=true}
func.func @update_refused(%g: !local, %w: !x) -> !x {
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %all = coll.all_gather %a over [dp] : !part -> !x
  %old = math.exp %w : !x
  %z = comp.update %w, %all : !x
  func.return %old : !x
}

// The norm is of what is stored.
// apply: coconet-fuse{ops=a,norm,z}
func.func @update_once_legal(%g: !x, %w: !x) -> tensor<f32> {
  %a = arith.addf %w, %g : !x
  %norm = comp.norm %a : !x -> tensor<f32>
  %z = comp.update %w, %a : !x
  func.return %norm : tensor<f32>
}

// The norm is of what is made for it alone.
// apply: coconet-fuse{ops=a,b,norm,z}
func.func @update_once_refused(%g: !x, %w: !x) -> tensor<f32> {
  %a = arith.addf %w, %g : !x
  %b = math.exp %w : !x
  %norm = comp.norm %b : !x -> tensor<f32>
  %z = comp.update %w, %a : !x
  func.return %norm : tensor<f32>
}

// All ranks have read %w once its sum is there.
func.func @update_after_legal(%g: !part, %w: !part) {
  %r = comp.reduce sum %w dims [0, 1] : !part -> !sum
  %a = coll.all_reduce sum %r over [dp] : !sum -> tensor<f32>
  %s = tensor.extract %a[] : tensor<f32>
  %new = comp.scale %g by %s : !part
  %z = comp.update %w, %new : !part
  func.return
}

// The update does not wait for the sum.
// apply: coconet-fuse{ops=r,a,z}
func.func @update_after_refused(%g: !part, %w: !part) -> tensor<f32> {
  %r = comp.reduce sum %w dims [0, 1] : !part -> !sum
  %a = coll.all_reduce sum %r over [dp] : !sum -> tensor<f32>
  %z = comp.update %w, %g : !part
  func.return %a : tensor<f32>
}

// All elements have been read once their norm is there, but not once one of them is.
func.func @update_alone_legal(%w: !v) {
  %a = comp.softmax %w dim 0 : !v
  %norm = comp.norm %a : !v -> tensor<f32>
  %s = tensor.extract %norm[] : tensor<f32>
  %new = comp.scale %w by %s : !v
  %z = comp.update %w, %new : !v
  func.return
}

func.func @update_alone_refused(%w: !v, %i: index) {
  %a = comp.softmax %w dim 0 : !v
  %s = tensor.extract %a[%i] : !v
  %one = tensor.splat %s : tensor<f32>
  %t = tensor.extract %one[] : tensor<f32>
  %new = comp.scale %w by %t : !v
  %z = comp.update %w, %new : !v
  func.return
}

func.func @update_segments_legal(%w: !v, %offsets: tensor<?xi64>) {
  %a = comp.segment_reduce sum %w, %offsets : (!v, tensor<?xi64>) -> !v
  %b = comp.segment_broadcast %a, %offsets like %w : (!v, tensor<?xi64>, !v) -> !v
  %new = arith.divf %w, %b : !v
  %z = comp.update %w, %new : !v
  func.return
}

// The element of one segment waits for another.
func.func @update_segments_refused(%w: !v, %offsets: tensor<?xi64>, %others: tensor<?xi64>) {
  %a = comp.segment_reduce sum %w, %offsets : (!v, tensor<?xi64>) -> !v
  %b = comp.segment_broadcast %a, %others like %w : (!v, tensor<?xi64>, !v) -> !v
  %new = arith.divf %w, %b : !v
  %z = comp.update %w, %new : !v
  func.return
}
