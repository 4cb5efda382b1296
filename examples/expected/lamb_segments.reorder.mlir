// From: coconet-opt examples/lamb_segments.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// The norms become segment sums of slices and all_reduces of a number a tensor; the trust ratios spread over slices.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!offsets = tensor<?xi64>
!list = tensor<?xf32>
!marks = tensor<?xi1>
!half_slice = tensor<?xf16, #layout.dist<dp = sliced(0)>>
!full_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!list_sum = tensor<?xf32, #layout.dist<dp = partial(sum)>>

func.func @lamb_segments(%grad: !grad {coconet.scattered}, %p: !half {coconet.scattered}, %offsets: !offsets,
                         %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                         %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !full -> !full_slice
  %v_slice = layout.slice %v over [dp] dim 0 : !full -> !full_slice
  %w_slice = layout.slice %w over [dp] dim 0 : !full -> !full_slice
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !half_slice
  %avg32 = arith.extf %avg_rs : !half_slice to !full_slice
  %g = comp.scale %avg32 by %inv_scale : !full_slice
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m_slice by %beta1 : !full_slice
  %madd = comp.scale %g by %rest1 : !full_slice
  %mnew = arith.addf %mold, %madd : !full_slice
  %mnew_ag = coll.all_gather %mnew over [dp] : !full_slice -> !full
  %mu = comp.update %m, %mnew_ag : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %g, %g : !full_slice
  %vold = comp.scale %v_slice by %beta2 : !full_slice
  %vadd = comp.scale %gg by %rest2 : !full_slice
  %vnew = arith.addf %vold, %vadd : !full_slice
  %vnew_ag = coll.all_gather %vnew over [dp] : !full_slice -> !full
  %vu = comp.update %v, %vnew_ag : !full
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !full_slice
  %mh = arith.divf %mnew, %bias1_t : !full_slice
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !full_slice
  %vh = arith.divf %vnew, %bias2_t : !full_slice
  %root = math.sqrt %vh : !full_slice
  %eps_t = tensor.splat %eps[%n] : !full_slice
  %den = arith.addf %root, %eps_t : !full_slice
  %dir = arith.divf %mh, %den : !full_slice
  %shrink = comp.scale %w_slice by %decay : !full_slice
  %r = arith.addf %dir, %shrink : !full_slice
  %ww = arith.mulf %w_slice, %w_slice : !full_slice
  %wsq = comp.segment_reduce sum %ww, %offsets : (!full_slice, !offsets) -> !list_sum
  %wsq_ar = coll.all_reduce sum %wsq over [dp] : !list_sum -> !list
  %wn = math.sqrt %wsq_ar : !list
  %rr = arith.mulf %r, %r : !full_slice
  %rsq = comp.segment_reduce sum %rr, %offsets : (!full_slice, !offsets) -> !list_sum
  %rsq_ar = coll.all_reduce sum %rsq over [dp] : !list_sum -> !list
  %rn = math.sqrt %rsq_ar : !list
  %count = tensor.dim %wsq_ar, %c0 : !list
  %zeros = tensor.splat %zero[%count] : !list
  %ones = tensor.splat %one[%count] : !list
  %ratio = arith.divf %wn, %rn : !list
  %has_w = arith.cmpf ogt, %wn, %zeros : !list
  %has_r = arith.cmpf ogt, %rn, %zeros : !list
  %has_both = arith.andi %has_w, %has_r : !marks
  %trust = arith.select %has_both, %ratio, %ones : !marks, !list
  %trust_t = comp.segment_broadcast %trust, %offsets like %r : (!list, !offsets, !full_slice) -> !full_slice
  %scaled = arith.mulf %r, %trust_t : !full_slice
  %move = comp.scale %scaled by %lr : !full_slice
  %wnew = arith.subf %w_slice, %move : !full_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !full_slice -> !full
  %wu = comp.update %w, %wnew_ag : !full
  %pnew = arith.truncf %wnew : !full_slice to !half_slice
  %pnew_ag = coll.all_gather %pnew over [dp] : !half_slice -> !half
  %pu = comp.update %p, %pnew_ag : !half
  func.return
}
