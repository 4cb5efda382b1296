// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_avg(%x: !r) {
  // expected-error @+1 {{'comp.reduce' op avg exists on collectives only: use comp.mean}}
  %p = comp.reduce avg %x dims [0] : !r -> tensor<?xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_range(%x: !r) {
  // expected-error @+1 {{'comp.reduce' op dim 2 is out of range: the operand has 2 dimension(s)}}
  %p = comp.reduce sum %x dims [2] : !r -> tensor<?xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_twice(%x: !r) {
  // expected-error @+1 {{'comp.reduce' op a dimension is named twice in [0, 0]}}
  %p = comp.reduce sum %x dims [0, 0] : !r -> tensor<?xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_rank(%x: !r) {
  // expected-error @+1 {{'comp.reduce' op the result must have 1 dimension(s): those reduced vanish}}
  %p = comp.reduce sum %x dims [0] : !r -> tensor<8x?xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_result(%x: !s) {
  // expected-error @+1 {{'comp.reduce' op its result has the layout replicated, but the operands make it <tp = partial(sum)>}}
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_result2(%x: !s) {
  // expected-error @+1 {{'comp.reduce' op its result has the layout <tp = sliced(0)>, but the operands make it <tp = partial(sum)>}}
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_result3(%x: !s) {
  // expected-error @+1 {{'comp.reduce' op its result has the layout <tp = partial(max)>, but the operands make it <tp = partial(sum)>}}
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_negative(%x: !r) {
  // expected-error @+1 {{expected a number of at least 0}}
  %p = comp.reduce sum %x dims [-1] : !r -> tensor<?xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_element(%x: !r) {
  // expected-error @+1 {{'comp.reduce' op the result's elements must be f32 (the operand's or `accumulate`), not f64}}
  %p = comp.reduce sum %x dims [0] : !r -> tensor<?xf64>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_index(%x: tensor<8xindex>) {
  // expected-error @+1 {{'comp.reduce' op index elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %p = comp.reduce sum %x dims [0] : tensor<8xindex> -> tensor<index>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @norm_sliced(%x: !s) {
  // expected-error @+1 {{'comp.norm' op dimension 'd1' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.norm %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @norm_sliced_scalar(%x: !s) {
  // expected-error @+1 {{'comp.norm' op dimension 'd1' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.norm %x : !s -> tensor<f32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @norm_integers(%x: tensor<8xi32>) {
  // expected-error @+1 {{'comp.norm' op its elements must be f64, f32, f16 or bf16, not i32: cast first}}
  %p = comp.norm %x : tensor<8xi32> -> tensor<i32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @norm_f8(%x: tensor<8xf8E5M2>) {
  // expected-error @+1 {{'comp.norm' op its elements must be f64, f32, f16 or bf16, not f8E5M2: cast first}}
  %p = comp.norm %x : tensor<8xf8E5M2> -> tensor<f8E5M2>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @mean_sliced(%x: !s) {
  // expected-error @+1 {{'comp.mean' op dimension 'd1' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.mean %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @mean_range(%x: !s) {
  // expected-error @+1 {{'comp.mean' op dim 5 is out of range: the operand has 2 dimension(s)}}
  %p = comp.mean %x dims [5] : !s -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @softmax_sliced(%x: !s) {
  // expected-error @+1 {{'comp.softmax' op dimension 'd1' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.softmax %x dim 1 : !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @softmax_range(%x: !s) {
  // expected-error @+1 {{'comp.softmax' op dim 2 is out of range: the operand has 2 dimension(s)}}
  %p = comp.softmax %x dim 2 : !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @softmax_negative(%x: !s) {
  // expected-error @+1 {{'comp.softmax' op dim -1 is out of range: the operand has 2 dimension(s)}}
  %p = comp.softmax %x dim -1 : !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @rms_sliced(%x: !s, %w: tensor<?xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.rms_norm' op dimension 'n' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.rms_norm %x, %w {eps = 1.0e-6 : f32} : (!s, tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> !s
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @rms_weight2(%x: tensor<8x5xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'comp.rms_norm' op 'n' is 5 in dimension 1 of operand 0, but 4 in dimension 0 of operand 1}}
  %p = comp.rms_norm %x, %w {eps = 1.0e-6 : f32} : (tensor<8x5xf32>, tensor<4xf32>) -> tensor<8x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @rms_eps(%x: tensor<8x5xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{'comp.rms_norm' op eps = -9.999999974752427e-07 must be at least 0}}
  %p = comp.rms_norm %x, %w {eps = -1.0e-6 : f32} : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @rms_eps_nan(%x: tensor<8x5xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{'comp.rms_norm' op eps = nan must be at least 0}}
  %p = comp.rms_norm %x, %w {eps = 0x7FC00000 : f32} : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @rms_no_eps(%x: tensor<8x5xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{'comp.rms_norm' op property 'eps' expected in operation 'comp.rms_norm'}}
  %p = comp.rms_norm %x, %w : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_1(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op p = 1.0 must be at least 0 and below 1}}
  %p = comp.dropout %x, %seed {p = 1.0 : f32, id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_nearly_1(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op p = 0.99999999 must be at least 0 and below 1, rounded to f32 too}}
  %p = comp.dropout %x, %seed {p = 0.99999999 : f64, id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_negative(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op p = -0.5 must be at least 0 and below 1}}
  %p = comp.dropout %x, %seed {p = -0.5 : f32, id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_nan(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op p = nan must be at least 0 and below 1}}
  %p = comp.dropout %x, %seed {p = 0x7FC00000 : f32, id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_missing(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op property 'p' expected in operation 'comp.dropout'}}
  %p = comp.dropout %x, %seed {id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_p_integer(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op 0 : i64 should be of base attribute float}}
  %p = comp.dropout %x, %seed {p = 0 : i64, id = 3 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_id_missing(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op property 'id' expected in operation 'comp.dropout'}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_id_negative(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op id = -1 must be at least 0 and below 2^32}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32, id = -1 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_id_wide(%x: !r, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op id = 4294967296 must be at least 0 and below 2^32}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32, id = 4294967296 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_seed(%x: !r, %seed: i32) {
  // expected-error @+1 {{'comp.dropout' op operand 'seed' at position 1 does not verify: Expected attribute i64 but got i32}}
  %p = "comp.dropout"(%x, %seed) <{p = 0.5 : f32, id = 1 : i64}> : (!r, i32) -> !r
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_integers(%x: tensor<8xi32>, %seed: i64) {
  // expected-error @+1 {{'comp.dropout' op its elements must be f64, f32, f16 or bf16, not i32: cast first}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32, id = 1 : i64} : tensor<8xi32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_same_id(%x: !r, %seed: i64) {
  // expected-note @+1 {{the other one is here}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32, id = 1 : i64} : !r
  // expected-error @+1 {{'comp.dropout' op has the id 1 of another dropout; give each its own, or both drop the same elements}}
  %q = comp.dropout %p, %seed {p = 0.5 : f32, id = 1 : i64} : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_same_id_region(%x: !r, %seed: i64) {
  // expected-note @+1 {{the other one is here}}
  %p = comp.dropout %x, %seed {p = 0.5 : f32, id = 1 : i64} : !r
  coll.fused {
    // expected-error @+1 {{'comp.dropout' op has the id 1 of another dropout; give each its own, or both drop the same elements}}
    %q = comp.dropout %p, %seed {p = 0.5 : f32, id = 1 : i64} : !r
    coll.yield
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scale_type(%x: !r, %s: f64) {
  // expected-error @+1 {{'comp.scale' op the factor must have the type of the elements, f32, not f64}}
  %p = "comp.scale"(%x, %s) : (!r, f64) -> !r
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scale_bits(%x: tensor<8xi1>, %s: i1) {
  // expected-error @+1 {{'comp.scale' op i1 elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %p = comp.scale %x by %s : tensor<8xi1>
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scale_layout(%x: !s, %s: f32) {
  // expected-error @+1 {{'comp.scale' op result 'output' at position 0 does not verify: attribute tensor<8x?xf32, #layout.dist<tp = sliced(1)>> expected from variable 'T', but got tensor<8x?xf32>}}
  %p = "comp.scale"(%x, %s) : (!s, f32) -> !r
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @extract_local(%x: tensor<f32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'tensor.extract' op scalars are replicated, so the tensor must be replicated on every axis: gather or reduce it first}}
  %p = tensor.extract %x[] : tensor<f32, #layout.dist<tp = local>>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @control_flow(%c: i1, %x: !r) {
  // expected-error @+1 {{'scf.if' op has a region: a distributed program has no control flow}}
  %p = scf.if %c -> (!r) {
    scf.yield %x : !r
  } else {
    scf.yield %x : !r
  }
  func.return
}
