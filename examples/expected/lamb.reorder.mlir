// From: coconet-opt examples/lamb.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// Both norms and the overflow check become reductions of slices and small all_reduces, so that the state is read as
// slices only.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!bits = tensor<?xi1>
!flags = tensor<?xi32>
!half_slice = tensor<?xf16, #layout.dist<dp = sliced(0)>>
!full_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!bits_slice = tensor<?xi1, #layout.dist<dp = sliced(0)>>
!flags_slice = tensor<?xi32, #layout.dist<dp = sliced(0)>>
!sum = tensor<f32, #layout.dist<dp = partial(sum)>>
!min = tensor<i32, #layout.dist<dp = partial(min)>>

func.func @lamb(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !full -> !full_slice
  %v_slice = layout.slice %v over [dp] dim 0 : !full -> !full_slice
  %w_slice = layout.slice %w over [dp] dim 0 : !full -> !full_slice
  %p_slice = layout.slice %p over [dp] dim 0 : !half -> !half_slice
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !half_slice
  %avg32 = arith.extf %avg_rs : !half_slice to !full_slice
  %g = comp.scale %avg32 by %inv_scale : !full_slice
  %finite = math.isfinite %avg_rs : !half_slice
  %flags = arith.extui %finite : !bits_slice to !flags_slice
  %least = comp.reduce min %flags dims [0] : !flags_slice -> !min
  %least_ar = coll.all_reduce min %least over [dp] : !min -> tensor<i32>
  %least_s = tensor.extract %least_ar[] : tensor<i32>
  %ok = arith.cmpi ne, %least_s, %none : i32
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m_slice by %beta1 : !full_slice
  %madd = comp.scale %g by %rest1 : !full_slice
  %mstep = arith.addf %mold, %madd : !full_slice
  %mnew = arith.select %ok, %mstep, %m_slice : !full_slice
  %mnew_ag = coll.all_gather %mnew over [dp] : !full_slice -> !full
  %mu = comp.update %m, %mnew_ag : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %g, %g : !full_slice
  %vold = comp.scale %v_slice by %beta2 : !full_slice
  %vadd = comp.scale %gg by %rest2 : !full_slice
  %vstep = arith.addf %vold, %vadd : !full_slice
  %vnew = arith.select %ok, %vstep, %v_slice : !full_slice
  %vnew_ag = coll.all_gather %vnew over [dp] : !full_slice -> !full
  %vu = comp.update %v, %vnew_ag : !full
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !full_slice
  %mh = arith.divf %mstep, %bias1_t : !full_slice
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !full_slice
  %vh = arith.divf %vstep, %bias2_t : !full_slice
  %root = math.sqrt %vh : !full_slice
  %eps_t = tensor.splat %eps[%n] : !full_slice
  %den = arith.addf %root, %eps_t : !full_slice
  %dir = arith.divf %mh, %den : !full_slice
  %shrink = comp.scale %w_slice by %decay : !full_slice
  %r = arith.addf %dir, %shrink : !full_slice
  %wn_mulf = arith.mulf %w_slice, %w_slice : !full_slice
  %wn_reduce = comp.reduce sum %wn_mulf dims [0] {accumulate = f32} : !full_slice -> !sum
  %wn_reduce_ar = coll.all_reduce sum %wn_reduce over [dp] : !sum -> tensor<f32>
  %wn = math.sqrt %wn_reduce_ar : tensor<f32>
  %rn_mulf = arith.mulf %r, %r : !full_slice
  %rn_reduce = comp.reduce sum %rn_mulf dims [0] {accumulate = f32} : !full_slice -> !sum
  %rn_reduce_ar = coll.all_reduce sum %rn_reduce over [dp] : !sum -> tensor<f32>
  %rn = math.sqrt %rn_reduce_ar : tensor<f32>
  %wnorm = tensor.extract %wn[] : tensor<f32>
  %rnorm = tensor.extract %rn[] : tensor<f32>
  %ratio = arith.divf %wnorm, %rnorm : f32
  %has_w = arith.cmpf ogt, %wnorm, %zero : f32
  %has_r = arith.cmpf ogt, %rnorm, %zero : f32
  %has_both = arith.andi %has_w, %has_r : i1
  %trust = arith.select %has_both, %ratio, %one : f32
  %pace = arith.mulf %lr, %trust : f32
  %move = comp.scale %r by %pace : !full_slice
  %wstep = arith.subf %w_slice, %move : !full_slice
  %wnew = arith.select %ok, %wstep, %w_slice : !full_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !full_slice -> !full
  %wu = comp.update %w, %wnew_ag : !full
  %pstep = arith.truncf %wstep : !full_slice to !half_slice
  %pnew = arith.select %ok, %pstep, %p_slice : !half_slice
  %pnew_ag = coll.all_gather %pnew over [dp] : !half_slice -> !half
  %pu = comp.update %p, %pnew_ag : !half
  func.return
}
