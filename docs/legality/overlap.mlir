// apply: coconet-overlap{ops=a,z between=true}

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<9x9xf32>
!rows = tensor<9x9xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<9x9xf32, #layout.dist<tp = sliced(1)>>
!local = tensor<9x9xf32, #layout.dist<tp = local>>
!terms = tensor<9x9xf32, #layout.dist<tp = partial(sum)>>

// Stages.

func.func @chain_legal(%x: !columns, %w: !rows) -> !x {
  %a = comp.matmul %x, %w : (!columns, !rows) -> !terms
  %z = coll.all_reduce sum %a over [tp] : !terms -> !x
  func.return %z : !x
}

// Neither reads what the other makes.
func.func @chain_refused(%x: !local, %w: !x) -> (!x, !x) {
  %a = comp.matmul %w, %w : (!x, !x) -> !x
  %z = coll.all_reduce sum %x over [tp] : !local -> !x
  func.return %a, %z : !x, !x
}

func.func @convex_legal(%x: !x, %w: !x) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = math.exp %a : !x
  %z = comp.matmul %b, %w : (!x, !x) -> !x
  func.return %z : !x
}

// A path from %a to %z leads over %b, which is not named.
// apply: coconet-overlap{ops=a,z}
func.func @convex_refused(%x: !x, %w: !x) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = math.exp %a : !x
  %z = comp.matmul %b, %w : (!x, !x) -> !x
  func.return %z : !x
}

// apply: coconet-overlap{ops=a,z dim=0}
func.func @matmul_legal(%x: !rows, %w: !x) -> !x {
  %a = coll.all_gather %x over [tp] : !rows -> !x
  %z = comp.matmul %a, %w : (!x, !x) -> !x
  func.return %z : !x
}

// The columns of %a are summed.
// apply: coconet-overlap{ops=a,z dim=1}
func.func @matmul_refused(%x: !rows, %w: !x) -> !x {
  %a = coll.all_gather %x over [tp] : !rows -> !x
  %z = comp.matmul %a, %w : (!x, !x) -> !x
  func.return %z : !x
}

!image = tensor<?x5x5x3xf32, #layout.dist<tp = sliced(3)>>
!filters = tensor<3x3x3x4xf32, #layout.dist<tp = sliced(2)>>
!convolved = tensor<?x3x3x4xf32, #layout.dist<tp = partial(sum)>>

// apply: coconet-overlap{ops=a,z dim=0}
func.func @conv2d_legal(%x: !image, %k: !filters) -> tensor<?x3x3x4xf32> {
  %a = comp.conv2d %x, %k : (!image, !filters) -> !convolved
  %z = coll.all_reduce sum %a over [tp] : !convolved -> tensor<?x3x3x4xf32>
  func.return %z : tensor<?x3x3x4xf32>
}

// Rows of the image need the rows around them.
// apply: coconet-overlap{ops=a,z dim=1}
func.func @conv2d_refused(%x: !image, %k: !filters) -> tensor<?x3x3x4xf32> {
  %a = comp.conv2d %x, %k : (!image, !filters) -> !convolved
  %z = coll.all_reduce sum %a over [tp] : !convolved -> tensor<?x3x3x4xf32>
  func.return %z : tensor<?x3x3x4xf32>
}

// The dimension that is scattered, exchanged and gathered, too.
// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @collective_legal(%x: !local) -> !x {
  %s = coll.permute %x over [tp] shift 1 {coconet.name = "a"} : !local -> !local
  %r = coll.reduce_scatter sum %s over [tp] dim 0 : !local -> !rows
  %t = coll.all_to_all %r over [tp] from 0 to 1 : !rows -> !columns
  %z = coll.all_gather %t over [tp] : !columns -> !x
  func.return %z : !x
}

func.func @collective_refused(%x: tensor<f32, #layout.dist<tp = local>>) -> tensor<f32> {
  %a = coll.permute %x over [tp] shift 1 : tensor<f32, #layout.dist<tp = local>> -> tensor<f32, #layout.dist<tp = local>>
  %z = coll.all_reduce sum %a over [tp] : tensor<f32, #layout.dist<tp = local>> -> tensor<f32>
  func.return %z : tensor<f32>
}

func.func @rooted_legal(%x: !local) -> !x {
  %a = coll.reduce sum %x over [tp] root 0 : !local -> tensor<9x9xf32, #layout.dist<tp = root(0)>>
  %z = coll.broadcast %a over [tp] root 0 : tensor<9x9xf32, #layout.dist<tp = root(0)>> -> !x
  func.return %z : !x
}

func.func @fused_legal(%x: !x, %w: !x) -> !x {
  %a = coll.fused {
    %b = comp.softmax %x dim 1 : !x
    %c = arith.addf %b, %x : !x
    coll.yield %c : !x
  }
  %z = comp.matmul %a, %w : (!x, !x) -> !x
  func.return %z : !x
}

func.func @fused_refused(%x: !local, %w: !local) -> (!x, !x) {
  %a = coll.permute %x over [tp] shift 1 : !local -> !local
  %z, %other = coll.group over [tp] {
    %b = coll.all_reduce sum %a over [tp] : !local -> !x
    %c = coll.all_reduce sum %w over [tp] : !local -> !x
    coll.yield %b, %c : !x, !x
  }
  func.return %z, %other : !x, !x
}

// Between the stages.

func.func @elementwise_legal(%x: !x, %w: !x, %seed: i64) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = comp.dropout %a, %seed {p = 0.25 : f32, id = 1 : i64} : !x
  %c = arith.addf %b, %x : !x
  %z = comp.matmul %c, %w : (!x, !x) -> !x
  func.return %z : !x
}

// %b would come in rows and in columns.
func.func @elementwise_refused(%x: !x, %w: !x) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %t = comp.transpose %a perm [1, 0] : !x -> !x
  %b = arith.addf %a, %t : !x
  %z = comp.matmul %b, %w : (!x, !x) -> !x
  func.return %z : !x
}

func.func @reduction_legal(%x: !x, %w: !x, %v: tensor<9xf32>) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = comp.softmax %a dim 1 : !x
  %c = comp.rms_norm %b, %v {eps = 1.0e-6 : f32} : (!x, tensor<9xf32>) -> !x
  %z = comp.matmul %c, %w : (!x, !x) -> !x
  func.return %z : !x
}

// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @reduction_refused(%x: !x, %w: !x) -> !x {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = comp.softmax %a dim 0 : !x
  %z = comp.matmul %b, %w : (!x, !x) -> !x
  func.return %z : !x
}

// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @merge_legal(%x: tensor<7x6x5xf32>, %w: tensor<5x5xf32>) -> tensor<42x5xf32> {
  %a = comp.matmul %x, %w : (tensor<7x6x5xf32>, tensor<5x5xf32>) -> tensor<7x6x5xf32>
  %b = comp.reshape %a [a, b, c] -> [(a b), c] : tensor<7x6x5xf32> -> tensor<42x5xf32>
  %z = comp.matmul %b, %w : (tensor<42x5xf32>, tensor<5x5xf32>) -> tensor<42x5xf32>
  func.return %z : tensor<42x5xf32>
}

// apply: coconet-overlap{ops=a,z between=true dim=1}
func.func @merge_refused(%x: tensor<7x6x5xf32>, %w: tensor<5x5xf32>) -> tensor<42x5xf32> {
  %a = comp.matmul %x, %w : (tensor<7x6x5xf32>, tensor<5x5xf32>) -> tensor<7x6x5xf32>
  %b = comp.reshape %a [a, b, c] -> [(a b), c] : tensor<7x6x5xf32> -> tensor<42x5xf32>
  %z = comp.matmul %b, %w : (tensor<42x5xf32>, tensor<5x5xf32>) -> tensor<42x5xf32>
  func.return %z : tensor<42x5xf32>
}

// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @unit_legal(%x: tensor<42x5xf32>, %w: tensor<5x5xf32>) -> tensor<7x6x5xf32> {
  %a = comp.matmul %x, %w : (tensor<42x5xf32>, tensor<5x5xf32>) -> tensor<42x5xf32>
  %b = comp.reshape %a [(a b), c] -> [a, b, c] : tensor<42x5xf32> -> tensor<7x6x5xf32>
  %z = comp.matmul %b, %w : (tensor<7x6x5xf32>, tensor<5x5xf32>) -> tensor<7x6x5xf32>
  func.return %z : tensor<7x6x5xf32>
}

// How many rows belong together is not known.
// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @unit_refused(%x: tensor<?x5xf32>, %w: tensor<5x5xf32>) -> tensor<7x?x5xf32> {
  %a = comp.matmul %x, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %b = comp.reshape %a [(a b), c] -> [a, b, c] : tensor<?x5xf32> -> tensor<7x?x5xf32>
  %z = comp.matmul %b, %w : (tensor<7x?x5xf32>, tensor<5x5xf32>) -> tensor<7x?x5xf32>
  func.return %z : tensor<7x?x5xf32>
}

func.func @update_legal(%x: !columns, %g: !rows, %w: !x) {
  %a = comp.matmul %x, %g : (!columns, !rows) -> !terms
  %r = coll.all_reduce sum %a over [tp] : !terms -> !x
  %new = arith.subf %w, %r : !x
  %stored = comp.update %w, %new {coconet.name = "z"} : !x
  func.return
}

// The next chunk still reads all of %w.
// apply: coconet-overlap{ops=a,z between=true dim=0}
func.func @update_refused(%g: !local, %w: !x) {
  %a = coll.all_reduce sum %g over [tp] : !local -> !x
  %b = comp.matmul %a, %w : (!x, !x) -> !x
  %stored = comp.update %w, %b {coconet.name = "z"} : !x
  func.return
}

func.func @no_rule_refused(%x: !x, %w: !x) -> tensor<9x4xf32> {
  %a = comp.matmul %x, %w : (!x, !x) -> !x
  %b = tensor.extract_slice %a[0, 0] [9, 4] [1, 1] : !x to tensor<9x4xf32>
  %z = comp.matmul %w, %b : (!x, tensor<9x4xf32>) -> tensor<9x4xf32>
  func.return %z : tensor<9x4xf32>
}
