// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @mul_partials(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'arith.mulf' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = arith.mulf %p, %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @add_max_partials(%x: !s) {
  %p = comp.reduce max %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{'arith.addf' op operand 0 is partial(max) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = arith.addf %p, %p : tensor<8xf32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @add_partial_replicated(%x: !s, %r: tensor<8xf32>) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'arith.addf' op operand 'rhs' at position 1 does not verify: attribute tensor<8xf32, #layout.dist<tp = partial(sum)>> expected from variable 'T', but got tensor<8xf32>}}
  %1 = "arith.addf"(%p, %r) : (tensor<8xf32, #layout.dist<tp = partial(sum)>>, tensor<8xf32>) -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @bias_to_partial(%x: !s, %w: tensor<?x32xf32, #layout.dist<tp = sliced(0)>>, %b: tensor<32xf32>) {
  %p = comp.matmul %x, %w : (!s, tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.broadcast' op its result has the layout <tp = partial(sum)>, but the operands make it replicated; what ranks have alike is not partial, so use it after the}}
  %1 = comp.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  %2 = arith.addf %p, %1 : tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @max_of_sum(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'arith.maximumf' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %1 = arith.maximumf %p, %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @sqrt(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'math.sqrt' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax …}}
  %1 = math.sqrt %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @cmp(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'arith.cmpf' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = arith.cmpf olt, %p, %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @trunc_prod(%x: !s) {
  %p = comp.reduce prod %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(prod)>>
  // expected-error @+1 {{'arith.truncf' op operand 0 is partial(prod) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %1 = arith.truncf %p : tensor<8xf32, #layout.dist<tp = partial(prod)>> to tensor<8xf16, #layout.dist<tp = partial(prod)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @partial_constant() {
  // expected-error @+1 {{'arith.constant' op its result has the layout <tp = partial(sum)>, but the operands make it replicated; what ranks have alike is not partial, so use it after the}}
  %1 = arith.constant dense<1.0> : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @partial_splat(%s: f32) {
  // expected-error @+1 {{'tensor.splat' op its result has the layout <tp = partial(sum)>, but the operands make it replicated; what ranks have alike is not partial, so use it after the reduction}}
  %1 = tensor.splat %s : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @update_partial(%m: tensor<8xf32>, %x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.update' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = comp.update %p, %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_max_of_sum(%x: tensor<8x8xf32, #layout.dist<tp = sliced(1)>>) {
  %p = comp.reduce sum %x dims [1] : tensor<8x8xf32, #layout.dist<tp = sliced(1)>> -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.reduce' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = comp.reduce max %p dims [0] : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @two_reductions(%x: tensor<8x8xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>) {
  %p = comp.reduce sum %x dims [1] : tensor<8x8xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> tensor<8xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>>
  // expected-error @+1 {{'comp.reduce' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = comp.reduce max %p dims [0] : tensor<8xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @norm_partial(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.norm' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax …}}
  %1 = comp.norm %p : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @dropout_partial(%x: !s, %seed: i64) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.dropout' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %1 = comp.dropout %p, %seed {p = 0.5 : f32, id = 1 : i64} : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @softmax_partial(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.softmax' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %1 = comp.softmax %p dim 0 : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scale_max(%x: !s, %s: f32) {
  %p = comp.reduce max %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{'comp.scale' op operand 0 is partial(max) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %1 = comp.scale %p by %s : tensor<8xf32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_of_partials(%x: tensor<4x8xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<8x4xf32, #layout.dist<tp = sliced(0)>>) {
  %p = comp.matmul %x, %w : (tensor<4x8xf32, #layout.dist<tp = sliced(1)>>, tensor<8x4xf32, #layout.dist<tp = sliced(0)>>) -> tensor<4x4xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'comp.matmul' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax}}
  %q = comp.matmul %p, %p : (tensor<4x4xf32, #layout.dist<tp = partial(sum)>>, tensor<4x4xf32, #layout.dist<tp = partial(sum)>>) -> tensor<4x4xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @extract_partial(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>) {
  %p = comp.reduce sum %x dims [0] : tensor<8xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'tensor.extract' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %s = tensor.extract %p[] : tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_reduce_of_product(%x: !s) {
  %p = comp.reduce prod %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(prod)>>
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is partial(prod) in the operand, but a sum over it needs local or partial(sum): reduce it by prod first, or use layout.relax if the}}
  %q = coll.all_reduce sum %p over [tp] : tensor<8xf32, #layout.dist<tp = partial(prod)>> -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @slice_of_partial(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'layout.slice' op axis 'tp' is partial(sum) in the operand, but it must be replicated there: reduce it by sum first}}
  %q = layout.slice %p over [tp] dim 0 : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_of_partial(%x: !s) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'coll.permute' op axis 'tp' is partial(sum) in the operand, but it must be local there: reduce it by sum first, or use layout.relax if the unreduced values are meant}}
  %q = coll.permute %p over [tp] shift 1 : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @partial_is_not_local(%x: !s) {
  // expected-error @+1 {{'comp.reduce' op its result has the layout <tp = local>, but the operands make it <tp = partial(sum)>}}
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @partial_is_not_replicated(%x: !s) {
  // expected-error @+1 {{'comp.reduce' op its result has the layout replicated, but the operands make it <tp = partial(sum)>}}
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @select_partial(%x: !s, %c: i1) {
  %p = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'arith.select' op operand 1 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %q = arith.select %c, %p, %p : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}
