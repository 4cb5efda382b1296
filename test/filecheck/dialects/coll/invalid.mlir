// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_reduce_replicated(%x: !r) {
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is replicated in the operand, but a sum over it needs local or partial(sum): every rank has the same, which would count once a rank}}
  %0 = coll.all_reduce sum %x over [tp] : !r -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_reduce_sliced(%x: !s) {
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is sliced(1) in the operand, but a sum over it needs local or partial(sum): gather it first}}
  %0 = coll.all_reduce sum %x over [tp] : !s -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_reduce_root(%x: !root) {
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is root(1) in the operand, but a sum over it needs local or partial(sum): broadcast it from 1 first}}
  %0 = coll.all_reduce sum %x over [tp] : !root -> !r
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_reduce_of_other_kind(%x: !s) {
  %1 = comp.reduce max %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is partial(max) in the operand, but a sum over it needs local or partial(sum): reduce it by max first, or use layout.relax if the}}
  %2 = coll.all_reduce sum %1 over [tp] : tensor<8xf32, #layout.dist<tp = partial(max)>> -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @avg_of_partial(%x: !s) {
  %1 = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'coll.all_reduce' op axis 'tp' is partial(sum) in the operand, but an avg over it needs local: reduce it by sum first, or use layout.relax if the unreduced values are}}
  %2 = coll.all_reduce avg %1 over [tp] : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @other_axis_partial(%x: tensor<8xf32, #layout.dist<dp = local, tp = sliced(0)>>) {
  %1 = comp.reduce sum %x dims [0] : tensor<8xf32, #layout.dist<dp = local, tp = sliced(0)>> -> tensor<f32, #layout.dist<dp = local, tp = partial(sum)>>
  // expected-error @+1 {{'coll.all_reduce' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %2 = coll.all_reduce max %1 over [dp] : tensor<f32, #layout.dist<dp = local, tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @avg_other_axis_partial(%x: tensor<8xf32, #layout.dist<dp = local, tp = sliced(0)>>) {
  %1 = comp.reduce sum %x dims [0] : tensor<8xf32, #layout.dist<dp = local, tp = sliced(0)>> -> tensor<f32, #layout.dist<dp = local, tp = partial(sum)>>
  // expected-error @+1 {{'coll.all_reduce' op operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant}}
  %2 = coll.all_reduce avg %1 over [dp] : tensor<f32, #layout.dist<dp = local, tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @partly_replicated(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op axis 'dp' is replicated in the operand, but a sum over it needs local or partial(sum): every rank has the same, which would count once a rank}}
  %0 = coll.all_reduce sum %x over [dp, tp] : !l -> !r
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @result_stays_local(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op its result has the layout <tp = local>, but the operands make it replicated}}
  %0 = coll.all_reduce sum %x over [tp] : !l -> !l
  func.return
}

// -----

!i = tensor<8xi64, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @avg_of_integers(%x: !i) {
  // expected-error @+1 {{'coll.all_reduce' op avg needs a floating-point element, not i64: sum and divide explicitly}}
  %0 = coll.all_reduce avg %x over [tp] : !i -> tensor<8xi64>
  func.return
}

// -----

!b = tensor<8xi1, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @sum_of_bits(%x: !b) {
  // expected-error @+1 {{'coll.all_reduce' op i1 elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %0 = coll.all_reduce sum %x over [tp] : !b -> tensor<8xi1>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @sum_of_f8(%x: tensor<8xf8E4M3FNUZ, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'coll.all_reduce' op f8E4M3FNUZ elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %0 = coll.all_reduce sum %x over [tp] : tensor<8xf8E4M3FNUZ, #layout.dist<tp = local>> -> tensor<8xf8E4M3FNUZ>
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @unknown_kind(%x: !l) {
  // expected-error @+1 {{expected a reduction: sum, prod, max, min, avg}}
  %0 = coll.all_reduce xor %x over [tp] : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @wire_integer(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op wire = i32 does not fit f32 elements: both must be floats or integers}}
  %0 = coll.all_reduce sum %x over [tp] {wire = i32} : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @wire_bits(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op wire = i1: i1 elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %0 = coll.all_reduce sum %x over [tp] {wire = i1} : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @wire_tensor(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op wire = tensor<4xf32>: tensor<4xf32> elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %0 = coll.all_reduce sum %x over [tp] {wire = tensor<4xf32>} : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @accumulate_bits(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op accumulate = index: index elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %0 = coll.all_reduce sum %x over [tp] {accumulate = index} : !l -> !r
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @result_element(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op the result's elements must be f32 (the operand's or `accumulate`), not f64}}
  %0 = coll.all_reduce sum %x over [tp] : !l -> tensor<8x?xf64>
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @result_narrower(%x: !l) {
  // expected-error @+1 {{'coll.all_reduce' op the result's elements must be f32 or f64 (the operand's or `accumulate`), not f16}}
  %0 = coll.all_reduce sum %x over [tp] {accumulate = f64} : !l -> tensor<8x?xf16>
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @order_unknown(%x: !l) {
  // expected-error @+1 {{expected an order: any, ranks}}
  %0 = coll.all_reduce sum %x over [tp] {order = #coll.order<fast>} : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_replicated(%x: !r) {
  // expected-error @+1 {{'coll.reduce_scatter' op axis 'tp' is replicated in the operand, but a sum over it needs local or partial(sum): every rank has the same, which would count once a rank}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 1 : !r -> !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_sliced(%x: !s) {
  // expected-error @+1 {{'coll.reduce_scatter' op axis 'tp' is sliced(1) in the operand, but a sum over it needs local or partial(sum): gather it first}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 1 : !s -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_dim(%x: !l) {
  // expected-error @+1 {{'coll.reduce_scatter' op dim 2 is out of range: the operand has 2 dimension(s)}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 2 : !l -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_negative(%x: !l) {
  // expected-error @+1 {{'coll.reduce_scatter' op dim -1 is out of range: the operand has 2 dimension(s)}}
  %0 = coll.reduce_scatter sum %x over [tp] dim -1 : !l -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_unit(%x: !l) {
  // expected-error @+1 {{'coll.reduce_scatter' op unit -4 is out of range: a unit is at least 1 element}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 1 {unit = -4 : i64} : !l -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_wrong_result(%x: !l) {
  // expected-error @+1 {{'coll.reduce_scatter' op its result has the layout <tp = sliced(1)>, but the operands make it <tp = sliced(0)>}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 0 : !l -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_size(%x: !l) {
  // expected-error @+1 {{'coll.reduce_scatter' op 'd0' is 8 in dimension 0 of operand 0, but 2 in dimension 0 of result 0}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 0 : !l -> tensor<2x?xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @scatter_0d(%x: tensor<f32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'coll.reduce_scatter' op dim 0 is out of range: the operand has 0 dimension(s)}}
  %0 = coll.reduce_scatter sum %x over [tp] dim 0 : tensor<f32, #layout.dist<tp = local>> -> tensor<f32>
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_roots(%x: !l) {
  // expected-error @+1 {{'coll.reduce' op root [] does not fit [tp]: give one coordinate an axis}}
  %0 = coll.reduce sum %x over [tp] root [] : !l -> !root
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_root_negative(%x: !l) {
  // expected-error @+1 {{expected a number of at least 0}}
  %0 = coll.reduce sum %x over [tp] root -1 : !l -> !root
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_result(%x: !l) {
  // expected-error @+1 {{'coll.reduce' op its result has the layout <tp = root(1)>, but the operands make it <tp = root(0)>}}
  %0 = coll.reduce sum %x over [tp] root 0 : !l -> !root
  func.return
}

// -----

!r = tensor<8x?xf32>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reduce_replicated(%x: !r) {
  // expected-error @+1 {{'coll.reduce' op axis 'tp' is replicated in the operand, but a sum over it needs local or partial(sum): every rank has the same, which would count once a rank}}
  %0 = coll.reduce sum %x over [tp] root 1 : !r -> !root
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @no_axes(%x: !l) {
  // expected-error @+1 {{the list of axes is empty: name at least one axis of the mesh}}
  %0 = coll.all_reduce sum %x over [] : !l -> !l
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @axis_twice(%x: !l) {
  // expected-error @+1 {{an axis is named twice in [tp, tp]}}
  %0 = coll.all_reduce sum %x over [tp, tp] : !l -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @no_over(%x: !l) {
  // expected-error @+1 {{Expected 'over'}}
  %0 = coll.all_reduce sum %x [tp] : !l -> !r
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @wire_that_wraps(%x: tensor<8xi64, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'coll.all_reduce' op wire = i32 would wrap i64 elements: it must be at least as wide}}
  %y = coll.all_reduce min %x over [tp] {wire = i32} : tensor<8xi64, #layout.dist<tp = local>> -> tensor<8xi64>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @wire_without_infinity(%x: tensor<8xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'coll.all_reduce' op wire = f8E4M3FN has no infinity, which a rank without elements contributes to a min: use f8E5M2 or a wider type}}
  %y = coll.all_reduce min %x over [tp] {wire = f8E4M3FN} : tensor<8xf32, #layout.dist<tp = local>> -> tensor<8xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @extremes_without_infinity(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>) {
  %m = comp.reduce max %x dims [0] : tensor<8xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{'arith.truncf' op operand 0 is partial(max) on axis 'tp', and the operation is not linear in it}}
  %y = arith.truncf %m : tensor<f32, #layout.dist<tp = partial(max)>> to tensor<f8E4M3FN, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @layout_without_a_rule(%x: tensor<8xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'tensor.cast' op states no dimension rule, so its tensors must be replicated}}
  %y = tensor.cast %x : tensor<8xf32, #layout.dist<tp = local>> to tensor<?xf32>
  func.return
}

// -----

func.func @callee(%x: f32) {
  func.return
}
func.func @call(%x: f32) {
  // expected-error @+1 {{'func.call' op calls a function: a distributed program has no calls, so write it out here}}
  func.call @callee(%x) : (f32) -> ()
  func.return
}
