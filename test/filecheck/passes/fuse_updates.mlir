// RUN: coconet-opt %s -p 'coconet-fuse{ops=a,r,z between=true named=k}' --remarks --verify-diagnostics
// RUN: coconet-opt %s -p 'coconet-fuse{ops=a,r,z between=true named=k}' --no-aliases | filecheck %s

// What may read an argument inside the kernel that updates it.

layout.mesh @mesh(dp = 2)

!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!local = tensor<?xf32, #layout.dist<dp = local>>
!sum = tensor<f32, #layout.dist<dp = partial(sum)>>
!x = tensor<?xf32>

// The norm of %w is read before the all_reduce, and %w is overwritten behind it.

// CHECK-LABEL: func.func @norm(
// CHECK: coll.fused over [dp] {
// CHECK-NEXT: %a = coll.reduce_scatter sum %g over [dp] dim 0
// CHECK-NEXT: %r = comp.reduce sum %w dims [0]
// CHECK-NEXT: %norm = coll.all_reduce sum %r over [dp]
// CHECK-NEXT: %s = tensor.extract %norm[]
// CHECK-NEXT: %move = comp.scale %a by %s
// CHECK-NEXT: %new = arith.subf %w, %move
// CHECK-NEXT: %z = comp.update %w, %new
// CHECK-NEXT: coll.yield
func.func @norm(%g: !local, %w: !part) {
  // expected-remark @+1 {{fuse 'a': applied: 7 operation(s) are one kernel 'k' over [dp], which gives 0 value(s)}}
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %r = comp.reduce sum %w dims [0] : !part -> !sum
  %norm = coll.all_reduce sum %r over [dp] : !sum -> tensor<f32>
  %s = tensor.extract %norm[] : tensor<f32>
  %move = comp.scale %a by %s : !part
  %new = arith.subf %w, %move : !part
  %z = comp.update %w, %new : !part
  func.return
}

// All peers have read %w when the all_reduce is done.

// CHECK-LABEL: func.func @sent_before(
// CHECK: coll.fused over [dp]
func.func @sent_before(%w: !local, %g: !part) {
  // expected-remark @+1 {{fuse 'a': applied: 8 operation(s) are one kernel 'k' over [dp], which gives 0 value(s)}}
  %a = coll.reduce_scatter sum %w over [dp] dim 0 : !local -> !part
  %r = arith.addf %a, %g : !part
  %s = comp.reduce sum %r dims [0] : !part -> !sum
  %t = coll.all_reduce sum %s over [dp] : !sum -> tensor<f32>
  %n = tensor.extract %t[] : tensor<f32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %g, %c0 : !part
  %new = tensor.splat %n[%d] : !local
  %late = arith.addf %new, %w : !local
  %z = comp.update %w, %late : !local
  func.return
}

// A norm is there when all of %w has been read, and this rank alone stores into it.

// CHECK-LABEL: func.func @norm_of_own(
// CHECK: coll.fused {
// CHECK-NEXT: %a = comp.norm %w
func.func @norm_of_own(%w: !x) {
  // expected-remark @+1 {{fuse 'a': applied: 4 operation(s) are one kernel 'k', which gives 0 value(s)}}
  %a = comp.norm %w : !x -> tensor<f32>
  %s = tensor.extract %a[] : tensor<f32>
  %r = comp.scale %w by %s : !x
  %z = comp.update %w, %r : !x
  func.return
}

// Peers store into it here, and do not wait for this rank's norm.

// CHECK-LABEL: func.func @norm_of_all(
// CHECK-NOT: coll.fused
func.func @norm_of_all(%w: !x, %g: !part) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = comp.norm %w : !x -> tensor<f32>
  %s = tensor.extract %a[] : tensor<f32>
  %r = comp.scale %g by %s : !part
  %ag = coll.all_gather %r over [dp] : !part -> !x
  %z = comp.update %w, %ag : !x
  func.return
}

// The reduction of %w and the update wait for nothing in common.

// CHECK-LABEL: func.func @norm_unused(
// CHECK-NOT: coll.fused
func.func @norm_unused(%g: !local, %w: !part) -> !sum {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %r = comp.reduce sum %w dims [0] : !part -> !sum
  %new = arith.addf %w, %a : !part
  %z = comp.update %w, %new : !part
  func.return %r : !sum
}

// Peers store their slices of %w while this rank still reads all of it.

// CHECK-LABEL: func.func @read_whole(
// CHECK-NOT: coll.fused
func.func @read_whole(%g: !local, %w: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %r = math.exp %w : !x
  %ag = coll.all_gather %a over [dp] : !part -> !x
  %z = comp.update %w, %ag : !x
  func.return %r : !x
}

// Row i is stored by the thread of row i, and read by that of column i.

// CHECK-LABEL: func.func @reads_reversed(
// CHECK-NOT: coll.fused
func.func @reads_reversed(%x: tensor<3x3xf32>, %w: tensor<3x3xf32>) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = math.exp %x : tensor<3x3xf32>
  %t = comp.transpose %w perm [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %r = arith.addf %a, %t : tensor<3x3xf32>
  %z = comp.update %w, %r : tensor<3x3xf32>
  func.return
}

// The norm goes through the all_reduce, but the transposed %w also reaches the update past it.

// CHECK-LABEL: func.func @both_ways(
// CHECK-NOT: coll.fused
func.func @both_ways(%w: tensor<3x3xf32, #layout.dist<dp = local>>, %x: tensor<3x3xf32, #layout.dist<dp = local>>) {
  %t = comp.transpose %w perm [1, 0] : tensor<3x3xf32, #layout.dist<dp = local>> -> tensor<3x3xf32, #layout.dist<dp = local>>
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = arith.addf %t, %x : tensor<3x3xf32, #layout.dist<dp = local>>
  %q = comp.reduce sum %a dims [0, 1] : tensor<3x3xf32, #layout.dist<dp = local>> -> tensor<f32, #layout.dist<dp = local>>
  %r = coll.all_reduce sum %q over [dp] : tensor<f32, #layout.dist<dp = local>> -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %a by %s : tensor<3x3xf32, #layout.dist<dp = local>>
  %z = comp.update %w, %new : tensor<3x3xf32, #layout.dist<dp = local>>
  func.return
}

// Peers read %w while this rank overwrites it.

// CHECK-LABEL: func.func @sent(
// CHECK-NOT: coll.fused
func.func @sent(%w: !local, %g: !part) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element on the slice that a rank owns: another rank or thread may have overwritten it by then; let it run before, outside}}
  %a = coll.reduce_scatter sum %w over [dp] dim 0 : !local -> !part
  %r = arith.addf %a, %g : !part
  %ag = coll.all_gather %r over [dp] : !part -> !x
  %l = layout.relax %ag over [dp] : !x -> !local
  %z = comp.update %w, %l : !local
  func.return
}

// The read is element by element, but what is made of it moves on the way to the store.

// CHECK-LABEL: func.func @moved(
// CHECK-NOT: coll.fused
func.func @moved(%w: tensor<3x3xf32>, %s: f32) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.scale %w by %s : tensor<3x3xf32>
  %r = comp.transpose %a perm [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %z = comp.update %w, %r : tensor<3x3xf32>
  func.return
}

// CHECK-LABEL: func.func @normalised(
// CHECK-NOT: coll.fused
func.func @normalised(%w: tensor<3x3xf32>, %s: f32) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.scale %w by %s : tensor<3x3xf32>
  %r = comp.softmax %a dim 1 : tensor<3x3xf32>
  %z = comp.update %w, %r : tensor<3x3xf32>
  func.return
}

// Peers may still be reading %g for the all_reduce that begins the kernel.

// CHECK-LABEL: func.func @sent_whole(
// CHECK-NOT: coll.fused
func.func @sent_whole(%g: tensor<3x3xf32, #layout.dist<dp = local>>) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = coll.all_reduce sum %g over [dp] : tensor<3x3xf32, #layout.dist<dp = local>> -> tensor<3x3xf32>
  %r = comp.transpose %a perm [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %l = layout.relax %r over [dp] : tensor<3x3xf32> -> tensor<3x3xf32, #layout.dist<dp = local>>
  %z = comp.update %g, %l : tensor<3x3xf32, #layout.dist<dp = local>>
  func.return
}

// What is stored into %w is what is gathered into %m: peers store it.

// CHECK-LABEL: func.func @stored_twice(
// CHECK-NOT: coll.fused
func.func @stored_twice(%g: !local, %m: !x, %w: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = coll.reduce_scatter sum %g over [dp] dim 0 : !local -> !part
  %r = math.exp %w : !x
  %ag = coll.all_gather %a over [dp] : !part -> !x
  %u = comp.update %m, %ag : !x
  %z = comp.update %w, %u : !x
  func.return %r : !x
}

// One value a segment is there when the segment has been read.

// CHECK-LABEL: func.func @segments(
// CHECK: coll.fused {
func.func @segments(%w: tensor<64xf32>, %offsets: tensor<9xi64>) {
  // expected-remark @+1 {{fuse 'a': applied: 4 operation(s) are one kernel 'k', which gives 0 value(s)}}
  %a = comp.segment_reduce sum %w, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %r = comp.segment_broadcast %a, %offsets like %w : (tensor<8xf32>, tensor<9xi64>, tensor<64xf32>) -> tensor<64xf32>
  %new = arith.addf %w, %r : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return
}

// What is element by element over the segments keeps each to itself.

// CHECK-LABEL: func.func @segments_scaled(
// CHECK: coll.fused {
func.func @segments_scaled(%w: tensor<64xf32>, %offsets: tensor<9xi64>) -> tensor<8xf32> {
  %ww = arith.mulf %w, %w : tensor<64xf32>
  // expected-remark @+1 {{fuse 'a': applied: 6 operation(s) are one kernel 'k', which gives 1 value(s)}}
  %a = comp.segment_reduce sum %ww, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %r = math.sqrt %a : tensor<8xf32>
  %t = comp.segment_broadcast %r, %offsets like %w : (tensor<8xf32>, tensor<9xi64>, tensor<64xf32>) -> tensor<64xf32>
  %new = arith.divf %w, %t : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return %r : tensor<8xf32>
}

// An element waits for the segment of its number in other offsets, not for its own.

// CHECK-LABEL: func.func @segments_of_others(
// CHECK-NOT: coll.fused
func.func @segments_of_others(%w: tensor<64xf32>, %offsets: tensor<9xi64>, %others: tensor<9xi64>) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.segment_reduce sum %w, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %r = comp.segment_broadcast %a, %others like %w : (tensor<8xf32>, tensor<9xi64>, tensor<64xf32>) -> tensor<64xf32>
  %new = arith.addf %w, %r : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return
}

// CHECK-LABEL: func.func @segments_permuted(
// CHECK-NOT: coll.fused
func.func @segments_permuted(%w: tensor<64xf32>, %offsets: tensor<9xi64>) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.segment_reduce sum %w, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %rows = comp.reshape %a [(a b)] -> [a, b] : tensor<8xf32> -> tensor<4x2xf32>
  %columns = comp.transpose %rows perm [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %r = comp.reshape %columns [a, b] -> [(a b)] : tensor<2x4xf32> -> tensor<8xf32>
  %t = comp.segment_broadcast %r, %offsets like %w : (tensor<8xf32>, tensor<9xi64>, tensor<64xf32>) -> tensor<64xf32>
  %new = arith.addf %w, %t : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return
}

// Segments of what is moved need elements of other segments.

// CHECK-LABEL: func.func @segments_of_moved(
// CHECK-NOT: coll.fused
func.func @segments_of_moved(%w: tensor<64xf32>, %offsets: tensor<9xi64>) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.softmax %w dim 0 : tensor<64xf32>
  %s = comp.segment_reduce sum %a, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %r = comp.segment_broadcast %s, %offsets like %w : (tensor<8xf32>, tensor<9xi64>, tensor<64xf32>) -> tensor<64xf32>
  %new = arith.addf %w, %r : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return
}

// The norm of all segments needs all elements, wherever it goes then.

// CHECK-LABEL: func.func @all_segments(
// CHECK: coll.fused {
func.func @all_segments(%w: tensor<64xf32>, %offsets: tensor<9xi64>) {
  // expected-remark @+1 {{fuse 'a': applied: 5 operation(s) are one kernel 'k', which gives 0 value(s)}}
  %a = comp.segment_reduce sum %w, %offsets : (tensor<64xf32>, tensor<9xi64>) -> tensor<8xf32>
  %r = comp.norm %a : tensor<8xf32> -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %w by %s : tensor<64xf32>
  %z = comp.update %w, %new : tensor<64xf32>
  func.return
}

// One number is no reduction to one number: whoever needs an element can compute it.

// CHECK-LABEL: func.func @one_element(
// CHECK-NOT: coll.fused
func.func @one_element(%w: tensor<8xf32>, %i: index) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.softmax %w dim 0 : tensor<8xf32>
  %one = tensor.extract %a[%i] : tensor<8xf32>
  %r = tensor.splat %one : tensor<f32>
  %new = comp.broadcast %r dims [] : tensor<f32> -> tensor<8xf32>
  %z = comp.update %w, %new : tensor<8xf32>
  func.return
}

// CHECK-LABEL: func.func @one_scaled_element(
// CHECK-NOT: coll.fused
func.func @one_scaled_element(%w: tensor<8xf32>, %scale: f32, %i: index) {
  %a = comp.scale %w by %scale : tensor<8xf32>
  // expected-remark @-1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'one' reads other than element by element}}
  %one = tensor.extract %a[%i] : tensor<8xf32>
  %r = tensor.splat %one : tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = tensor.splat %s : tensor<8xf32>
  %z = comp.update %w, %new : tensor<8xf32>
  func.return
}

// A reduction of an element that is repeated needs no other.

// CHECK-LABEL: func.func @norm_of_one_element(
// CHECK-NOT: coll.fused
func.func @norm_of_one_element(%w: tensor<8xf32>, %i: index) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.softmax %w dim 0 : tensor<8xf32>
  %one = tensor.extract %a[%i] : tensor<8xf32>
  %all = tensor.splat %one : tensor<8xf32>
  %r = comp.norm %all : tensor<8xf32> -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %w by %s : tensor<8xf32>
  %z = comp.update %w, %new : tensor<8xf32>
  func.return
}

// CHECK-LABEL: func.func @norm_of_all_elements(
// CHECK: coll.fused {
func.func @norm_of_all_elements(%w: tensor<8xf32>) {
  // expected-remark @+1 {{fuse 'a': applied: 5 operation(s) are one kernel 'k', which gives 0 value(s)}}
  %a = comp.softmax %w dim 0 : tensor<8xf32>
  %r = comp.norm %a : tensor<8xf32> -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %w by %s : tensor<8xf32>
  %z = comp.update %w, %new : tensor<8xf32>
  func.return
}

// The softmax may be computed again for who returns it, behind the norm.

// CHECK-LABEL: func.func @returned_as_well(
// CHECK-NOT: coll.fused
func.func @returned_as_well(%w: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = comp.softmax %w dim 0 : tensor<8xf32>
  %r = comp.norm %a : tensor<8xf32> -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %w by %s : tensor<8xf32>
  %z = comp.update %w, %new : tensor<8xf32>
  func.return %a : tensor<8xf32>
}

// The store does not wait for the softmax, be it of %w or of what is made of %w for it.

// CHECK-LABEL: func.func @beside(
// CHECK-NOT: coll.fused
func.func @beside(%w: !x, %g: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = math.exp %g : !x
  %r = comp.softmax %w dim 0 : !x
  %new = arith.addf %w, %a : !x
  %z = comp.update %w, %new : !x
  func.return %r : !x
}

// CHECK-LABEL: func.func @beside_scaled(
// CHECK-NOT: coll.fused
func.func @beside_scaled(%w: !x, %s: f32) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.scale %w by %s : !x
  %r = comp.softmax %a dim 0 : !x
  %new = math.exp %w : !x
  %z = comp.update %w, %new : !x
  func.return %r : !x
}

// CHECK-LABEL: func.func @norm_of_scaled(
// CHECK-NOT: coll.fused
func.func @norm_of_scaled(%w: !x, %s: f32) -> tensor<f32> {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.scale %w by %s : !x
  %r = comp.norm %a : !x -> tensor<f32>
  %new = math.exp %w : !x
  %z = comp.update %w, %new : !x
  func.return %r : tensor<f32>
}

// %a is made once, since the store waits for it; who needs more of it takes it from there.

// CHECK-LABEL: func.func @made_once(
// CHECK: coll.fused {
func.func @made_once(%w: !x, %s: f32) -> !x {
  // expected-remark @+1 {{fuse 'a': applied: 4 operation(s) are one kernel 'k', which gives 1 value(s)}}
  %a = comp.scale %w by %s : !x
  %r = comp.softmax %a dim 0 : !x
  %new = math.exp %a : !x
  %z = comp.update %w, %new : !x
  func.return %r : !x
}

// CHECK-LABEL: func.func @norm_of_step(
// CHECK: coll.fused {
func.func @norm_of_step(%w: !x, %g: !x, %s: f32) -> tensor<f32> {
  // expected-remark @+1 {{fuse 'a': applied: 5 operation(s) are one kernel 'k', which gives 1 value(s)}}
  %a = comp.scale %w by %s : !x
  %new = arith.addf %a, %g : !x
  %step = math.sqrt %new : !x
  %r = comp.norm %step : !x -> tensor<f32>
  %z = comp.update %w, %new : !x
  func.return %r : tensor<f32>
}

// What is only copied is made of nothing: it may be read from %w.

// CHECK-LABEL: func.func @copied(
// CHECK-NOT: coll.fused
func.func @copied(%w: !x, %m: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.update %m, %w : !x
  %r = comp.softmax %a dim 0 : !x
  %new = math.exp %a : !x
  %z = comp.update %w, %new : !x
  func.return %r : !x
}

// The ranks meet before the store, but nobody says that they have come to the softmax by then.

// CHECK-LABEL: func.func @meet_beside(
// CHECK-NOT: coll.fused
func.func @meet_beside(%w: !x, %g: !part) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'r' reads other than element by element}}
  %a = comp.reduce sum %g dims [0] : !part -> !sum
  %r = comp.softmax %w dim 0 : !x
  %t = coll.all_reduce sum %a over [dp] : !sum -> tensor<f32>
  %s = tensor.extract %t[] : tensor<f32>
  %new = comp.scale %w by %s : !x
  %z = comp.update %w, %new : !x
  func.return %r : !x
}

// This rank has read what it needs of its peers when the norm is there, but a peer may still read here.

// CHECK-LABEL: func.func @norm_of_sum(
// CHECK-NOT: coll.fused
func.func @norm_of_sum(%w: !local) {
  // expected-remark @+1 {{fuse 'a': declined [in-place]: 'z' stores into an argument that 'a' reads other than element by element}}
  %a = coll.all_reduce sum %w over [dp] : !local -> !x
  %r = comp.norm %a : !x -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  %new = comp.scale %w by %s : !local
  %z = comp.update %w, %new : !local
  func.return
}
