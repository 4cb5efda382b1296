// What overlap makes of a chain of producers and consumers. What it declines is in overlap_stops.mlir.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-overlap{ops=rs,mm dim=1 chunks=8},coconet-overlap{ops=chain,sent between=true named=all},\
// RUN: coconet-fuse{ops=scatter,keep between=true named=fused},coconet-overlap{ops=product,fused dim=0},\
// RUN: coconet-fuse{ops=act,bias named=made},coconet-overlap{ops=made,down},\
// RUN: coconet-overlap{ops=grad,reduced,stored between=true},coconet-overlap{ops=there,experts,back dim=0 between=true}' \
// RUN:   | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

!k = tensor<6x8x?xf32, #layout.dist<tp = sliced(2)>>
!rows = tensor<?x5xf32, #layout.dist<tp = sliced(0)>>
!terms = tensor<6x8x5xf32, #layout.dist<tp = partial(sum)>>
!slice = tensor<6x8x5xf32, #layout.dist<tp = sliced(1)>>
!whole = tensor<6x8x5xf32>

// A matmul and the reduction of its terms. What reads them stands behind.

// CHECK-LABEL: func.func @two_stages(
// CHECK-NEXT: %overlap_mm = coll.overlap {
// CHECK-NEXT: %mm = comp.matmul
// CHECK-NEXT: %rs = coll.reduce_scatter sum %mm over [tp] dim 1
// CHECK-NEXT: coll.yield %rs
// CHECK-NEXT: } {dim = 1 : i64, chunks = 8 : i64}
// CHECK-NEXT: %y = arith.addf %overlap_mm, %overlap_mm
// CHECK-NEXT: func.return %y
func.func @two_stages(%x: !k, %w: !rows) -> !slice {
  // expected-remark @+1 {{overlap 'mm': applied: stages 'mm' -> 'rs' work at once, in 8 chunk(s) along dimension 1 of 'mm'}}
  %mm = comp.matmul %x, %w : (!k, !rows) -> !terms
  %rs = coll.reduce_scatter sum %mm over [tp] dim 1 : !terms -> !slice
  %y = arith.addf %rs, %rs : !slice
  func.return %y : !slice
}

!square = tensor<8x8xf32, #layout.dist<tp = local>>
!blocks = tensor<2x32xf32, #layout.dist<tp = local>>

// What lies between is taken in, and the broadcast that only a member reads. The first dimension is one that all can work
// along, but the reshape keeps 4 rows together.

// CHECK-LABEL: func.func @between(
// CHECK-NEXT: %other = arith.addf %x, %x
// CHECK-NEXT: %all = coll.overlap {
// CHECK-NEXT: %bias = comp.broadcast %v dims [0]
// CHECK-NEXT: %chain = comp.matmul
// CHECK-NEXT: %soft = comp.softmax %chain dim 1
// CHECK-NEXT: %flat = comp.reshape %soft [(a b), c] -> [a, (b c)]
// CHECK-NEXT: %sum = arith.addf %flat, %bias
// CHECK-NEXT: %sent = coll.permute %sum over [tp] shift 1
// CHECK-NEXT: coll.yield %sent
// CHECK-NEXT: } {dim = 0 : i64}
// CHECK-NEXT: func.return %all, %other
func.func @between(%x: !square, %v: tensor<2xf32, #layout.dist<tp = local>>) -> (!blocks, !square) {
  %bias = comp.broadcast %v dims [0] : tensor<2xf32, #layout.dist<tp = local>> -> !blocks
  // expected-remark @+1 {{overlap 'chain': applied: stages 'chain' -> 'sent' work at once, chunk by chunk along dimension 0 of 'chain', cut in units of 4}}
  %chain = comp.matmul %x, %x : (!square, !square) -> !square
  %soft = comp.softmax %chain dim 1 : !square
  %other = arith.addf %x, %x : !square
  %flat = comp.reshape %soft [(a b), c] -> [a, (b c)] : !square -> !blocks
  %sum = arith.addf %flat, %bias : !blocks
  %sent = coll.permute %sum over [tp] shift 1 : !blocks -> !blocks
  func.return %sent, %other : !blocks, !square
}

// A fused operation as consumer, with collectives at its ends and an update inside.

// CHECK-LABEL: func.func @consumer(
// CHECK-NEXT: coll.overlap {
// CHECK-NEXT: %product = comp.matmul
// CHECK-NEXT: coll.fused over [tp] {
// CHECK-NEXT: layout.slice %m over [tp] dim 1
// CHECK-NEXT: coll.reduce_scatter sum %product over [tp] dim 1
// CHECK-NEXT: arith.addf
// CHECK-NEXT: coll.all_gather
// CHECK-NEXT: comp.update %m
// CHECK-NEXT: coll.yield
// CHECK-NEXT: }
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "overlap_product", dim = 0 : i64}
// CHECK-NEXT: func.return
func.func @consumer(%x: !k, %w: !rows, %m: !whole) {
  // expected-remark @+1 {{overlap 'product': applied: stages 'product' -> 'fused' work at once, chunk by chunk along dimension 0 of 'product'}}
  %product = comp.matmul %x, %w : (!k, !rows) -> !terms
  %old = layout.slice %m over [tp] dim 1 : !whole -> !slice
  // expected-remark @+1 {{fuse 'scatter': applied}}
  %scatter = coll.reduce_scatter sum %product over [tp] dim 1 : !terms -> !slice
  %new = arith.addf %old, %scatter : !slice
  %all = coll.all_gather %new over [tp] : !slice -> !whole
  %keep = comp.update %m, %all : !whole
  func.return
}

// A fused operation as producer: the dimension is counted in what it makes, and is found in what that is made of.

// CHECK-LABEL: func.func @producer(
// CHECK-NEXT: %overlap_made = coll.overlap {
// CHECK-NEXT: %made = coll.fused {
// CHECK: coll.yield %bias
// CHECK: %down = comp.matmul %made
// CHECK: } {dim = 0 : i64}
// CHECK-NEXT: func.return %overlap_made
func.func @producer(%x: tensor<5x4xf32>, %w: tensor<4x3xf32>) -> tensor<5x3xf32> {
  // expected-remark @+2 {{fuse 'act': applied}}
  // expected-remark @+1 {{overlap 'made': applied: stages 'made' -> 'down' work at once, chunk by chunk along dimension 0 of 'made'}}
  %act = comp.softmax %x dim 1 : tensor<5x4xf32>
  %bias = arith.addf %act, %x : tensor<5x4xf32>
  %down = comp.matmul %bias, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  func.return %down : tensor<5x3xf32>
}

!xt = tensor<4x?xf32, #layout.dist<dp = sliced(1)>>
!d = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!dw = tensor<4x?xf32, #layout.dist<dp = partial(sum)>>
!w = tensor<4x?xf32>

// An update that stands in no fused operation, of an argument that is read element by element for the same chunk.

// CHECK-LABEL: func.func @update(
// CHECK-NEXT: %overlap_grad = coll.overlap {
// CHECK-NEXT: comp.matmul
// CHECK-NEXT: coll.all_reduce
// CHECK-NEXT: arith.subf %w
// CHECK-NEXT: comp.update %w
// CHECK: } {dim = 0 : i64}
func.func @update(%x: !xt, %d: !d, %w: !w) -> !w {
  // expected-remark @+1 {{overlap 'grad': applied: stages 'grad' -> 'reduced' work at once, chunk by chunk along dimension 0 of 'grad'}}
  %grad = comp.matmul %x, %d : (!xt, !d) -> !dw
  %reduced = coll.all_reduce sum %grad over [dp] : !dw -> !w
  %new = arith.subf %w, %reduced : !w
  %stored = comp.update %w, %new : !w
  func.return %stored : !w
}

!experts = tensor<?x6x6xf32, #layout.dist<tp = sliced(0)>>
!tokens = tensor<?x?x6xf32, #layout.dist<tp = sliced(0)>>
!expert = tensor<?x?x6xf32, #layout.dist<tp = sliced(1)>>

// Both dimensions of an all_to_all are parallel.

// CHECK-LABEL: func.func @exchange(
// CHECK-NEXT: %overlap_there = coll.overlap {
// CHECK-NEXT: coll.all_to_all
// CHECK-NEXT: comp.transpose
// CHECK-NEXT: comp.matmul
// CHECK-NEXT: comp.transpose
// CHECK-NEXT: coll.all_to_all
// CHECK: } {dim = 0 : i64}
func.func @exchange(%x: !tokens, %w: !experts) -> !tokens {
  // expected-remark @+1 {{overlap 'there': applied: stages 'there' -> 'experts' -> 'back' work at once, chunk by chunk along dimension 0 of 'there'}}
  %there = coll.all_to_all %x over [tp] from 0 to 1 : !tokens -> !expert
  %t = comp.transpose %there perm [1, 0, 2] : !expert -> !tokens
  %experts = comp.matmul %t, %w : (!tokens, !experts) -> !tokens
  %s = comp.transpose %experts perm [1, 0, 2] : !tokens -> !expert
  %back = coll.all_to_all %s over [tp] from 1 to 0 : !expert -> !tokens
  func.return %back : !tokens
}
