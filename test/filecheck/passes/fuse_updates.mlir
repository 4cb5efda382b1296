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
