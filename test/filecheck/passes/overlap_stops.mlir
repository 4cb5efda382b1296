// What stops an overlap, one function a case. Without a dimension, all of the first stage's result are tried.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-overlap{ops=a,b},coconet-overlap{ops=c,d between=true dim=0},coconet-overlap{ops=e,f between=true dim=1},\
// RUN: coconet-fuse{ops=g,h between=true named=k},coconet-overlap{ops=k,l,o between=true dim=0},\
// RUN: coconet-fuse{ops=r,s between=true named=u},coconet-overlap{ops=q,u dim=0}' \
// RUN:   | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<8x8xf32>
!l = tensor<8x8xf32, #layout.dist<tp = local>>
!s = tensor<8x8xf32, #layout.dist<tp = sliced(0)>>
!open = tensor<?x?xf32>

// CHECK-NOT: coll.overlap

// Stages that are no chain.

func.func @alone(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'a': declined [no-chain]: 'a' is the only stage: two or more matmuls, convolutions, collectives or coll.fused overlap, each reading what the one before makes}}
  %a = comp.matmul %x, %x : (!x, !x) -> !x
  %b = arith.addf %a, %a : !x
  func.return %b : !x
}

func.func @side_by_side(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'a': declined [no-chain]: 'b' reads nothing that 'a', the stage before, makes: stages overlap as one chain of producers and consumers; leave one of them out}}
  %a = comp.matmul %x, %x : (!x, !x) -> !x
  %b = comp.matmul %x, %x : (!x, !x) -> !x
  %y = arith.addf %a, %b : !x
  func.return %y : !x
}

func.func @branches(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [no-chain]: 'two' reads nothing that 'one', the stage before, makes}}
  %c = comp.matmul %x, %x : (!x, !x) -> !x
  %one = comp.matmul %c, %x : (!x, !x) -> !x
  %two = comp.matmul %c, %x : (!x, !x) -> !x
  %sum = arith.addf %one, %two : !x
  %d = comp.matmul %sum, %x : (!x, !x) -> !x
  func.return %d : !x
}

// Only the shape of %a is read.

func.func @shape(%g: !l, %v: tensor<8xf32>) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [no-chain]: 'd' reads nothing that 'c', the stage before, makes}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %t = comp.broadcast %v dims [0] like %c : tensor<8xf32>, !x -> !x
  %d = comp.matmul %t, %t : (!x, !x) -> !x
  func.return %d : !x
}

func.func @not_convex(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'a': declined [not-convex]: a path leaves the set and enters it again: 'a' -> 'y' -> 'b'; take in what lies between, or leave out one end}}
  %a = comp.matmul %x, %x : (!x, !x) -> !x
  %y = arith.addf %a, %a : !x
  %b = comp.matmul %a, %y : (!x, !x) -> !x
  func.return %b : !x
}

func.func @nested(%g: !l, %h: !l) -> (!x, !x) {
  // expected-remark @+1 {{overlap 'a': declined [nested-region]: 'b' is a coll.group, and an overlap holds no regions but coll.fused: inline it first}}
  %a = coll.permute %g over [tp] shift 1 : !l -> !l
  %b, %c = coll.group over [tp] {
    %y = coll.all_reduce sum %a over [tp] : !l -> !x
    %z = coll.all_reduce sum %h over [tp] : !l -> !x
    coll.yield %y, %z : !x, !x
  }
  func.return %b, %c : !x, !x
}

func.func @no_rule(%x: !x) -> tensor<8x4xf32> {
  // expected-remark @+1 {{overlap 'c': declined [no-rule]: 'p' (tensor.extract_slice) states no dimension rule}}
  %c = comp.matmul %x, %x : (!x, !x) -> !x
  %p = tensor.extract_slice %c[0, 0] [8, 4] [1, 1] : !x to tensor<8x4xf32>
  %d = comp.matmul %x, %p : (!x, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %d : tensor<8x4xf32>
}

// Dimensions that chunks cannot be followed along.

func.func @scalars(%x: tensor<f32, #layout.dist<tp = local>>) -> tensor<f32, #layout.dist<tp = local>> {
  // expected-remark @+1 {{overlap 'a': declined [zero-dimensional]: 'a' makes no dimension that could be cut into chunks; begin with another stage}}
  %a = coll.permute %x over [tp] shift 1 : tensor<f32, #layout.dist<tp = local>> -> tensor<f32, #layout.dist<tp = local>>
  %b = coll.permute %a over [tp] shift 1 : tensor<f32, #layout.dist<tp = local>> -> tensor<f32, #layout.dist<tp = local>>
  func.return %b : tensor<f32, #layout.dist<tp = local>>
}

func.func @summed(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'e': declined [chunked-dimension]: 'f' reduces its dimension 'k', so that nothing is done before the last chunk; overlap along another dimension, or leave it behind the overlap}}
  %e = comp.matmul %x, %x : (!x, !x) -> !x
  %f = comp.matmul %e, %x : (!x, !x) -> !x
  func.return %f : !x
}

func.func @normalised(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [whole-dimension]: 'norm' needs its dimension 'd0' whole; overlap along}}
  %c = comp.matmul %x, %x : (!x, !x) -> !x
  %norm = comp.norm %c : !x -> tensor<f32>
  %n = comp.broadcast %norm dims [] : tensor<f32> -> !x
  %y = arith.divf %c, %n : !x
  %d = comp.matmul %y, %x : (!x, !x) -> !x
  func.return %d : !x
}

func.func @first_whole(%x: tensor<2x9x9x3xf32>, %k: tensor<3x3x3x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x7x7x4xf32> {
  // expected-remark @+1 {{overlap 'e': declined [whole-dimension]: 'e' needs its dimension 'oh' whole}}
  %e = comp.conv2d %x, %k : (tensor<2x9x9x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x7x7x4xf32>
  %f = comp.matmul %e, %w : (tensor<2x7x7x4xf32>, tensor<4x4xf32>) -> tensor<2x7x7x4xf32>
  func.return %f : tensor<2x7x7x4xf32>
}

func.func @inner_factor(%x: !x, %w: tensor<64x2xf32>) -> tensor<1x2xf32> {
  // expected-remark @+1 {{overlap 'e': declined [not-first-factor]: 'b' is an inner factor of the product (a b) in 'flat'; overlap along}}
  %e = comp.matmul %x, %x : (!x, !x) -> !x
  %flat = comp.reshape %e [a, b] -> [(a b)] : !x -> tensor<64xf32>
  %row = comp.broadcast %flat dims [1] : tensor<64xf32> -> tensor<1x64xf32>
  %f = comp.matmul %row, %w : (tensor<1x64xf32>, tensor<64x2xf32>) -> tensor<1x2xf32>
  func.return %f : tensor<1x2xf32>
}

func.func @open_unit(%x: !open) -> !open {
  // expected-remark @+1 {{overlap 'c': declined [unit-not-static]: the inner factors of the product (a b) in 'flat' are not static, so that chunks might cut through them; overlap along}}
  %c = comp.matmul %x, %x : (!open, !open) -> !open
  %flat = comp.reshape %c [a, b] -> [(a b)] : !open -> tensor<?xf32>
  %column = comp.broadcast %flat dims [0] like %x : tensor<?xf32>, !open -> !open
  %d = comp.matmul %column, %x : (!open, !open) -> !open
  func.return %d : !open
}

func.func @two_dimensions(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [chunked-dimension]: 'd' would get chunks of its dimensions 'm' and 'k' at once; overlap along}}
  %c = comp.matmul %x, %x : (!x, !x) -> !x
  %d = comp.matmul %c, %c : (!x, !x) -> !x
  func.return %d : !x
}

func.func @transposed(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'e': declined [chunked-dimension]: 'sum' would get chunks of its dimensions 'd1' and 'd0' at once; overlap along}}
  %e = comp.matmul %x, %x : (!x, !x) -> !x
  %t = comp.transpose %e perm [1, 0] : !x -> !x
  %sum = arith.addf %e, %t : !x
  %f = comp.matmul %sum, %x : (!x, !x) -> !x
  func.return %f : !x
}

func.func @no_dimension(%x: !x) -> !x {
  // expected-remark @+1 {{overlap 'a': declined [chunked-dimension]: no dimension of 'a' works; of the last, 1: 'b' would get chunks of its dimensions 'k' and 'n' at once; leave it behind the overlap}}
  %a = comp.matmul %x, %x : (!x, !x) -> !x
  %b = comp.matmul %a, %a : (!x, !x) -> !x
  func.return %b : !x
}

// A fused operation that makes two values: along the first, the stage that reads the second gets no chunks.

func.func @no_chunks(%x: !x, %w: !x) -> (!x, !x) {
  // expected-remark @+2 {{fuse 'g': applied}}
  // expected-remark @+1 {{overlap 'k': declined [chunked-dimension]: 'o' gets no chunks, since what it reads is made as a whole; overlap along}}
  %g = arith.addf %x, %x : !x
  %h = arith.addf %w, %w : !x
  %l = math.exp %g : !x
  %o = comp.matmul %h, %x : (!x, !x) -> !x
  func.return %l, %o : !x, !x
}

// A fused operation whose result is made of one value in chunks of two dimensions.

func.func @inside(%x: !x, %w: !x) -> (!x, !x) {
  // expected-remark @+2 {{fuse 'g': applied}}
  // expected-remark @+1 {{overlap 'k': declined [chunked-dimension]: 'g_t' would get chunks of its dimensions 'd0' and 'd1' at once; overlap along}}
  %g = arith.addf %x, %x : !x
  %t = comp.transpose %g perm [1, 0] {coconet.name = "g_t"} : !x -> !x
  %h = arith.addf %g, %t : !x
  %l = math.exp %h : !x
  %o = comp.matmul %l, %x : (!x, !x) -> !x
  func.return %l, %o : !x, !x
}

// Updates of what another chunk may still read: by a stage, which reads all of it;

func.func @weights(%g: !l, %w: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [in-place]: 'd' stores chunks into an argument that 'm' may still have to read; put both into one coll.fused, or leave the update behind the overlap}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %m = comp.matmul %c, %w : (!x, !x) -> !x
  %d = comp.update %w, %m : !x
  func.return %d : !x
}

// by an operation at an earlier place of the chain;

func.func @earlier(%g: !l, %w: !x, %v: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [in-place]: 'd' stores chunks into an argument that 'old' may still have to read}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %old = arith.addf %c, %w : !x
  %m = comp.matmul %old, %v : (!x, !x) -> !x
  %new = arith.addf %m, %m : !x
  %d = comp.update %w, %new : !x
  func.return %d : !x
}

// by one that works on other chunks;

func.func @other_chunks(%g: !l, %w: !x, %v: !x) -> (!x, !x) {
  // expected-remark @+1 {{overlap 'c': declined [in-place]: 'd' stores chunks into an argument that 'old' may still have to read}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %m = comp.matmul %c, %v : (!x, !x) -> !x
  %old = arith.addf %m, %w : !x
  %t = comp.transpose %old perm [1, 0] : !x -> !x
  %d = comp.update %w, %t : !x
  func.return %m, %d : !x, !x
}

// by one that reads other elements;

func.func @other_elements(%g: !l, %w: !x, %v: !x) -> !x {
  // expected-remark @+1 {{overlap 'c': declined [in-place]: 'd' stores chunks into an argument that 'old' may still have to read}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %m = comp.matmul %c, %v : (!x, !x) -> !x
  %wt = comp.transpose %w perm [1, 0] : !x -> !x
  %old = arith.addf %m, %wt : !x
  %d = comp.update %w, %old : !x
  func.return %d : !x
}

// by anybody, where the stage itself may store its result.

func.func @stored_by_stage(%g: !l, %w: !x, %v: !x) -> (!x, !x) {
  // expected-remark @+1 {{overlap 'c': declined [in-place]: 'd' stores chunks into an argument that 'diff' may still have to read}}
  %c = coll.all_reduce sum %g over [tp] : !l -> !x
  %sum = comp.matmul %c, %v : (!x, !x) -> !x
  %diff = arith.subf %sum, %w : !x
  %d = comp.update %w, %sum : !x
  func.return %diff, %d : !x, !x
}

// A fused operation that updates what a stage before reads.

func.func @before_fused(%x: !x, %w: !x) -> !x {
  // expected-remark @+1 {{overlap 'q': declined [in-place]: 's' stores chunks into an argument that 'q' may still have to read}}
  %q = comp.matmul %x, %w : (!x, !x) -> !x
  // expected-remark @+1 {{fuse 'r': applied}}
  %r = arith.addf %q, %x : !x
  %s = comp.update %w, %r : !x
  func.return %s : !x
}

// In a fused operation, what reads element by element may read other chunks than are stored.

func.func @within_fused(%x: !x, %w: !x) -> (!x, !x) {
  // expected-remark @+1 {{overlap 'q': declined [in-place]: 's' stores chunks into an argument that 'r' may still have to read}}
  %q = comp.matmul %x, %x : (!x, !x) -> !x
  // expected-remark @+1 {{fuse 'r': applied}}
  %r = arith.addf %q, %w : !x
  %t = comp.transpose %q perm [1, 0] : !x -> !x
  %s = comp.update %w, %t : !x
  func.return %r, %s : !x, !x
}
