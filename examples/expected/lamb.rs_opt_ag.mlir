// From: coconet-opt examples/lamb.mlir --schedule examples/schedules/lamb.mlir:rs_opt_ag
//
// Two kernels: what leads to the norms and the overflow check, and what follows from them. Between them the ranks add
// up three numbers in two launches.

!f16_dp_local = tensor<?xf16, #layout.dist<dp = local>>
!f32_dp_sliced_0 = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!f16_dp_sliced_0 = tensor<?xf16, #layout.dist<dp = sliced(0)>>
!i32_dp_sliced_0 = tensor<?xi32, #layout.dist<dp = sliced(0)>>
!i32_dp_partial_min = tensor<i32, #layout.dist<dp = partial(min)>>
!f32_dp_partial_sum = tensor<f32, #layout.dist<dp = partial(sum)>>
builtin.module {
  layout.mesh @mesh(dp = 8)
  func.func @lamb(%grad: !f16_dp_local, %p: tensor<?xf16>, %w: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %m: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %v: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
    %zero = arith.constant 0.000000e+00 : f32
    %one = arith.constant 1.000000e+00 : f32
    %none = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %n = tensor.dim %w, %c0 : !f32_dp_sliced_0
    %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !f16_dp_local -> !f16_dp_sliced_0
    %rest1 = arith.subf %one, %beta1 : f32
    %rest2 = arith.subf %one, %beta2 : f32
    %pow1 = math.powf %beta1, %step : f32
    %bias1 = arith.subf %one, %pow1 : f32
    %pow2 = math.powf %beta2, %step : f32
    %bias2 = arith.subf %one, %pow2 : f32
    %direction, %direction_mstep, %direction_vstep, %direction_r, %direction_wn_reduce, %direction_rn_reduce = coll.fused {
      %avg32 = arith.extf %avg_rs : !f16_dp_sliced_0 to !f32_dp_sliced_0
      %g = comp.scale %avg32 by %inv_scale : !f32_dp_sliced_0
      %finite = math.isfinite %avg_rs : !f16_dp_sliced_0
      %flags = arith.extui %finite : tensor<?xi1, #layout.dist<dp = sliced(0)>> to !i32_dp_sliced_0
      %least = comp.reduce min %flags dims [0] : !i32_dp_sliced_0 -> !i32_dp_partial_min
      %mold = comp.scale %m by %beta1 : !f32_dp_sliced_0
      %madd = comp.scale %g by %rest1 : !f32_dp_sliced_0
      %mstep = arith.addf %mold, %madd : !f32_dp_sliced_0
      %gg = arith.mulf %g, %g : !f32_dp_sliced_0
      %vold = comp.scale %v by %beta2 : !f32_dp_sliced_0
      %vadd = comp.scale %gg by %rest2 : !f32_dp_sliced_0
      %vstep = arith.addf %vold, %vadd : !f32_dp_sliced_0
      %bias1_t = tensor.splat %bias1[%n] : !f32_dp_sliced_0
      %mh = arith.divf %mstep, %bias1_t : !f32_dp_sliced_0
      %bias2_t = tensor.splat %bias2[%n] : !f32_dp_sliced_0
      %vh = arith.divf %vstep, %bias2_t : !f32_dp_sliced_0
      %root = math.sqrt %vh : !f32_dp_sliced_0
      %eps_t = tensor.splat %eps[%n] : !f32_dp_sliced_0
      %den = arith.addf %root, %eps_t : !f32_dp_sliced_0
      %dir = arith.divf %mh, %den : !f32_dp_sliced_0
      %shrink = comp.scale %w by %decay : !f32_dp_sliced_0
      %r = arith.addf %dir, %shrink : !f32_dp_sliced_0
      %wn_mulf = arith.mulf %w, %w : !f32_dp_sliced_0
      %wn_reduce = comp.reduce sum %wn_mulf dims [0] {accumulate = f32} : !f32_dp_sliced_0 -> !f32_dp_partial_sum
      %rn_mulf = arith.mulf %r, %r : !f32_dp_sliced_0
      %rn_reduce = comp.reduce sum %rn_mulf dims [0] {accumulate = f32} : !f32_dp_sliced_0 -> !f32_dp_partial_sum
      coll.yield %least, %mstep, %vstep, %r, %wn_reduce, %rn_reduce : !i32_dp_partial_min, !f32_dp_sliced_0, !f32_dp_sliced_0, !f32_dp_sliced_0, !f32_dp_partial_sum, !f32_dp_partial_sum
    }
    %least_ar = coll.all_reduce min %direction over [dp] : !i32_dp_partial_min -> tensor<i32>
    %least_s = tensor.extract %least_ar[] : tensor<i32>
    %ok = arith.cmpi ne, %least_s, %none : i32
    %totals, %totals_rn_reduce_ar = coll.group over [dp] {
      %wn_reduce_ar = coll.all_reduce sum %direction_wn_reduce over [dp] : !f32_dp_partial_sum -> tensor<f32>
      %rn_reduce_ar = coll.all_reduce sum %direction_rn_reduce over [dp] : !f32_dp_partial_sum -> tensor<f32>
      coll.yield %wn_reduce_ar, %rn_reduce_ar : tensor<f32>, tensor<f32>
    }
    %opt = coll.fused {
      %p_slice = layout.slice %p over [dp] dim 0 : tensor<?xf16> -> !f16_dp_sliced_0
      %mnew = arith.select %ok, %direction_mstep, %m : !f32_dp_sliced_0
      %mu = comp.update %m, %mnew : !f32_dp_sliced_0
      %vnew = arith.select %ok, %direction_vstep, %v : !f32_dp_sliced_0
      %vu = comp.update %v, %vnew : !f32_dp_sliced_0
      %wn = math.sqrt %totals : tensor<f32>
      %rn = math.sqrt %totals_rn_reduce_ar : tensor<f32>
      %wnorm = tensor.extract %wn[] : tensor<f32>
      %rnorm = tensor.extract %rn[] : tensor<f32>
      %ratio = arith.divf %wnorm, %rnorm : f32
      %has_w = arith.cmpf ogt, %wnorm, %zero : f32
      %has_r = arith.cmpf ogt, %rnorm, %zero : f32
      %has_both = arith.andi %has_w, %has_r : i1
      %trust = arith.select %has_both, %ratio, %one : f32
      %pace = arith.mulf %lr, %trust : f32
      %move = comp.scale %direction_r by %pace : !f32_dp_sliced_0
      %wstep = arith.subf %w, %move : !f32_dp_sliced_0
      %wnew = arith.select %ok, %wstep, %w : !f32_dp_sliced_0
      %wu = comp.update %w, %wnew : !f32_dp_sliced_0
      %pstep = arith.truncf %wstep : !f32_dp_sliced_0 to !f16_dp_sliced_0
      %pnew = arith.select %ok, %pstep, %p_slice : !f16_dp_sliced_0
      coll.yield %pnew : !f16_dp_sliced_0
    }
    %pnew_ag = coll.all_gather %opt over [dp] : !f16_dp_sliced_0 -> tensor<?xf16>
    %pu = comp.update %p, %pnew_ag : tensor<?xf16>
    func.return
  }
}
