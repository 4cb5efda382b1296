// RUN: coconet-opt %s -p coconet-form-kernels --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-form-kernels | coconet-opt --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-form-kernels,coconet-form-kernels --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-form-kernels,coconet-bufferize,coconet-outline-kernels -o %t
// RUN: coconet-opt %s -p coconet-form-kernels --remarks -o %t 2>&1 | filecheck %s --check-prefix REMARK

!x = tensor<?xf32>
!h = tensor<?xf16>
!m = tensor<?x?xf32>

module attributes {coconet.level = "rank"} {
layout.mesh @mesh(dp = 2)

// What is computed element by element is one kernel, updates too. Scalars of arguments stay on the host; constants and
// splats go where they are read, and so do casts of what is in memory anyway.

// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %rest = arith.subf %one, %beta : f32
// CHECK-NEXT: %scaled_low, %scaled = coll.fused {
// CHECK-NEXT: %g32 = arith.extf %g : tensor<?xf16> to tensor<?xf32>
// CHECK-NEXT: %rest_t = tensor.splat %rest[%n] : tensor<?xf32>
// CHECK-NEXT: %new = arith.mulf %g32, %rest_t : tensor<?xf32>
// CHECK-NEXT: %mu = comp.update %m, %new : tensor<?xf32>
// CHECK-NEXT: %root = math.sqrt %new : tensor<?xf32>
// CHECK-NEXT: %low = arith.truncf %root : tensor<?xf32> to tensor<?xf16>
// CHECK-NEXT: %one_1 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %scaled_1 = comp.scale %root by %one_1 : tensor<?xf32>
// CHECK-NEXT: coll.yield %low, %scaled_1 : tensor<?xf16>, tensor<?xf32>
// CHECK-NEXT: } {coconet.name = "scaled"}
// CHECK-NEXT: func.return %scaled_low, %scaled : tensor<?xf16>, tensor<?xf32>
// REMARK: form-kernels 'pointwise': applied: 1 kernel(s): 'scaled'
func.func @pointwise(%g: !h, %m: !x, %beta: f32, %n: index {coconet.size = "g.0"}) -> (!h, !x) {
  %g32 = arith.extf %g : !h to !x
  %one = arith.constant 1.0 : f32
  %rest = arith.subf %one, %beta : f32
  %rest_t = tensor.splat %rest[%n] : !x
  %new = arith.mulf %g32, %rest_t : !x
  %mu = comp.update %m, %new : !x
  %root = math.sqrt %mu : !x
  %low = arith.truncf %root : !x to !h
  %scaled = comp.scale %root by %one : !x
  func.return %low, %scaled : !h, !x
}

// Rows: each is reduced, twice and one after the other, and the results are used for its elements again.

// CHECK-LABEL: func.func @softmax(
// CHECK: %y = coll.fused {
// CHECK-NEXT: %high = comp.reduce max
// CHECK: %sum = comp.reduce sum
// CHECK: %y_1 = arith.divf
// CHECK-NEXT: coll.yield %y_1 : tensor<?x?xf32>
// CHECK-NEXT: } {coconet.name = "y"}
// CHECK-NEXT: func.return %y : tensor<?x?xf32>
// REMARK: form-kernels 'softmax': applied: 1 kernel(s): 'y'
func.func @softmax(%x: !m) -> !m {
  %high = comp.reduce max %x dims [1] : !m -> !x
  %high_t = comp.broadcast %high dims [0] like %x : !x, !m -> !m
  %low = arith.subf %x, %high_t : !m
  %exp = math.exp %low : !m
  %sum = comp.reduce sum %exp dims [1] : !m -> !x
  %sum_t = comp.broadcast %sum dims [0] like %exp : !x, !m -> !m
  %y = arith.divf %exp, %sum_t : !m
  func.return %y : !m
}

// A reduction of everything ends a kernel. Both norms are one, since they reduce one space; what is computed from them
// runs in it too. What needs them for each element is the next kernel, which takes the scalar out of memory.

// CHECK-LABEL: func.func @norms(
// CHECK: %ratio_g2, %ratio = coll.fused {
// CHECK: %wn = comp.reduce sum
// CHECK: %gn = comp.reduce sum
// CHECK: %ratio_1 = arith.divf %wn, %gn : tensor<f32>
// CHECK-NEXT: coll.yield %g2, %ratio_1 : tensor<?xf32>, tensor<f32>
// CHECK-NEXT: } {coconet.name = "ratio"}
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %r = tensor.extract %ratio[] : tensor<f32>
// CHECK-NEXT: %pace = arith.mulf %lr, %r : f32
// CHECK-NEXT: %step = comp.scale %ratio_g2 by %pace : tensor<?xf32>
// CHECK-NEXT: %new = arith.subf %w, %step : tensor<?xf32>
// CHECK-NEXT: %wu = comp.update %w, %new : tensor<?xf32>
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "wu"}
// CHECK-NEXT: func.return
// REMARK: form-kernels 'norms': applied: 2 kernel(s): 'ratio', 'wu'
func.func @norms(%w: !x, %g: !x, %lr: f32) {
  %ww = arith.mulf %w, %w : !x
  %wn = comp.reduce sum %ww dims [0] : !x -> tensor<f32>
  %g2 = arith.addf %g, %w : !x
  %gg = arith.mulf %g2, %g2 : !x
  %gn = comp.reduce sum %gg dims [0] : !x -> tensor<f32>
  %ratio = arith.divf %wn, %gn : tensor<f32>
  %r = tensor.extract %ratio[] : tensor<f32>
  %pace = arith.mulf %lr, %r : f32
  %step = comp.scale %g2 by %pace : !x
  %new = arith.subf %w, %step : !x
  %wu = comp.update %w, %new : !x
  func.return
}

// Calls end kernels. What is only read in another order is computed in that order; what is read as it is too, is not.
// Where a result of the library only gets other dimensions, no kernel is needed, nor to store it into an argument.

// CHECK-LABEL: func.func @calls(
// CHECK-NEXT: %t = coll.fused {
// CHECK-NEXT: %e = math.exp %x : tensor<?x?xf32>
// CHECK-NEXT: %t_1 = comp.transpose %e perm [1, 0]
// CHECK-NEXT: coll.yield %t_1
// CHECK-NEXT: } {coconet.name = "t"}
// CHECK-NEXT: %p = comp.matmul %t, %x
// CHECK-NEXT: %s = nccl.all_reduce sum %p over [dp]
// CHECK-NEXT: %wu = comp.update %w, %s : tensor<?x?xf32>
// CHECK-NEXT: %a = coll.fused {
// CHECK-NEXT: %a_1 = math.absf %s : tensor<?x?xf32>
// CHECK-NEXT: coll.yield %a_1
// CHECK-NEXT: } {coconet.name = "a"}
// CHECK-NEXT: %both = coll.fused {
// CHECK-NEXT: %turned = comp.transpose %a perm [1, 0]
// CHECK-NEXT: %both_1 = arith.addf %a, %turned
// CHECK: } {coconet.name = "both"}
// CHECK-NEXT: %flat = comp.reshape %s [a, b] -> [(a b)] : tensor<?x?xf32> -> tensor<?xf32>
// CHECK-NEXT: func.return %both, %flat
// REMARK: form-kernels 'calls': applied: 3 kernel(s): 't', 'a', 'both'
func.func @calls(%x: !m, %w: !m) -> (!m, !x) {
  %e = math.exp %x : !m
  %t = comp.transpose %e perm [1, 0] : !m -> !m
  %p = comp.matmul %t, %x : (!m, !m) -> !m
  %s = nccl.all_reduce sum %p over [dp] : !m
  %wu = comp.update %w, %s : !m
  %a = math.absf %wu : !m
  %turned = comp.transpose %a perm [1, 0] : !m -> !m
  %both = arith.addf %a, %turned : !m
  %flat = comp.reshape %wu [a, b] -> [(a b)] : !m -> !x
  func.return %both, %flat : !m, !x
}

// An argument is not overwritten while other threads, or later kernels, read it: the update joins the last of them if
// that reads it element by element, else it stands alone.

// CHECK-LABEL: func.func @hazards(
// CHECK-NEXT: %turned = coll.fused {
// CHECK-NEXT: comp.transpose %m
// CHECK: } {coconet.name = "turned"}
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %mu = comp.update %m, %turned
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "mu"}
// CHECK-NEXT: %n_d, %n = coll.fused {
// CHECK-NEXT: %d = arith.addf
// CHECK-NEXT: comp.reduce sum
// CHECK: } {coconet.name = "n"}
// CHECK-NEXT: coll.fused {
// CHECK: %sum = arith.addf %late, %n_d
// CHECK-NEXT: %vu = comp.update %v, %n_d
// CHECK-NEXT: %wu = comp.update %v2, %sum
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "wu"}
// REMARK: form-kernels 'hazards': applied: 4 kernel(s): 'turned', 'mu', 'n', 'wu'
func.func @hazards(%m: !m, %v: !x, %v2: !x) {
  %turned = comp.transpose %m perm [1, 0] : !m -> !m
  %mu = comp.update %m, %turned : !m
  %d = arith.addf %v, %v : !x
  %n = comp.reduce sum %d dims [0] : !x -> tensor<f32>
  %s = tensor.extract %n[] : tensor<f32>
  %late = comp.scale %v by %s : !x
  %sum = arith.addf %late, %d : !x
  %vu = comp.update %v, %d : !x
  %wu = comp.update %v2, %sum : !x
  func.return
}

// Results have memory of their own: an argument is copied, a scalar from data is the element of a tensor, and what only
// has to be somewhere is made there. A tensor that nothing was stored into has memory too.

// CHECK-LABEL: func.func @results(
// CHECK: %none = tensor.empty() : tensor<0xf32>
// CHECK-NEXT: %empty = coll.fused {
// CHECK-NEXT: %empty_1 = arith.addf %none, %none
// CHECK: %full_1 = tensor.splat %lr[%n] : tensor<?xf32>
// CHECK: %s_2 = tensor.splat %s_1 : tensor<f32>
// CHECK: %tu = comp.update %t, %double
// CHECK: %sum = comp.reduce sum %x
// CHECK-NEXT: %x_2 = tensor.cast %x : tensor<?xf32> to tensor<?xf32>
// CHECK: %s_3 = tensor.extract %s[] : tensor<f32>
// CHECK-NEXT: %total = tensor.extract %x_sum[] : tensor<f32>
// CHECK-NEXT: func.return %s_3, %total, %x_1, %full, %empty, %half
func.func @results(%x: !x, %t: tensor<f32>, %lr: f32, %n: index) -> (f32, f32, !x, !x, tensor<0xf32>, f32) {
  %half = arith.addf %lr, %lr : f32
  %s = tensor.extract %t[] : tensor<f32>
  %sum = comp.reduce sum %x dims [0] : !x -> tensor<f32>
  %total = tensor.extract %sum[] : tensor<f32>
  %none = tensor.empty() : tensor<0xf32>
  %empty = arith.addf %none, %none : tensor<0xf32>
  %full = tensor.splat %lr[%n] : !x
  %double = arith.addf %t, %t : tensor<f32>
  %tu = comp.update %t, %double : tensor<f32>
  func.return %s, %total, %x, %full, %empty, %half : f32, f32, !x, !x, tensor<0xf32>, f32
}

// Segments: norms of each are one kernel, with what is computed of them; what spreads them again is another. Blocks are
// packed and padded where they are computed, and unpacked where they are read.

// CHECK-LABEL: func.func @segments(
// CHECK-NEXT: %trust_wt, %trust = coll.fused {
// CHECK: comp.segment_reduce_block sum
// CHECK: comp.segment_reduce_block sum
// CHECK-NEXT: %trust_1 = arith.divf
// CHECK: } {coconet.name = "trust"}
// CHECK-NEXT: %out = coll.fused {
// CHECK-NEXT: %spread = comp.segment_broadcast_block %trust, %ends
// CHECK: %scaled = arith.mulf
// CHECK-NEXT: %out_1 = nccl.pack %scaled
// CHECK: } {coconet.name = "out"}
// CHECK-NEXT: %sent = nccl.all_to_all %out over [dp]
// CHECK-NEXT: %back = coll.fused {
// CHECK-NEXT: %here = nccl.unpack %sent
// CHECK-NEXT: %back_1 = math.exp %here
// CHECK: } {coconet.name = "back"}
func.func @segments(%w: !x, %g: !x, %ends: tensor<?xi64>, %start: index, %n: index, %b: index, %r: index) -> (!x, !x) {
  %wt = arith.mulf %w, %g : !x
  %ww = comp.segment_reduce_block sum %wt, %ends at %start : !x, tensor<?xi64> -> !x
  %gg = comp.segment_reduce_block sum %g, %ends at %start : !x, tensor<?xi64> -> !x
  %trust = arith.divf %ww, %gg : !x
  %spread = comp.segment_broadcast_block %trust, %ends at %start size [%n] : !x, tensor<?xi64> -> !x
  %scaled = arith.mulf %wt, %spread : !x
  %out = nccl.pack %scaled dim 0 blocks [%r] of [%b] : !x -> tensor<?x?xf32>
  %sent = nccl.all_to_all %out over [dp] : tensor<?x?xf32>
  %here = nccl.unpack %sent dim 0 blocks [%r] of [%b] to %n : tensor<?x?xf32> -> !x
  %back = math.exp %here : !x
  func.return %back, %trust : !x, !x
}
}
