// From: coconet-opt examples/adam.mlir --schedule examples/schedules/adam.mlir:fuse_rs_opt_ag
//
// One kernel: the gradients are reduced and scattered, each rank works on its part of w, m and v, which it alone
// keeps, and the new parameters are gathered.

!f16_dp_local = tensor<?xf16, #layout.dist<dp = local>>
!f32_dp_sliced_0 = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!f16_dp_sliced_0 = tensor<?xf16, #layout.dist<dp = sliced(0)>>
builtin.module {
  layout.mesh @mesh(dp = 8)
  func.func @adam(%grad: !f16_dp_local, %p: tensor<?xf16>, %w: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %m: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %v: !f32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
    %one = arith.constant 1.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %n = tensor.dim %w, %c0 : !f32_dp_sliced_0
    %rest1 = arith.subf %one, %beta1 : f32
    %rest2 = arith.subf %one, %beta2 : f32
    %pow1 = math.powf %beta1, %step : f32
    %bias1 = arith.subf %one, %pow1 : f32
    %pow2 = math.powf %beta2, %step : f32
    %bias2 = arith.subf %one, %pow2 : f32
    coll.fused over [dp] {
      %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !f16_dp_local -> !f16_dp_sliced_0
      %avg32 = arith.extf %avg_rs : !f16_dp_sliced_0 to !f32_dp_sliced_0
      %inv_scale_t = tensor.splat %inv_scale[%n] : !f32_dp_sliced_0
      %g = arith.mulf %avg32, %inv_scale_t : !f32_dp_sliced_0
      %beta1_t = tensor.splat %beta1[%n] : !f32_dp_sliced_0
      %rest1_t = tensor.splat %rest1[%n] : !f32_dp_sliced_0
      %mold = arith.mulf %m, %beta1_t : !f32_dp_sliced_0
      %madd = arith.mulf %g, %rest1_t : !f32_dp_sliced_0
      %mnew = arith.addf %mold, %madd : !f32_dp_sliced_0
      %mu = comp.update %m, %mnew : !f32_dp_sliced_0
      %beta2_t = tensor.splat %beta2[%n] : !f32_dp_sliced_0
      %rest2_t = tensor.splat %rest2[%n] : !f32_dp_sliced_0
      %gg = arith.mulf %g, %g : !f32_dp_sliced_0
      %vold = arith.mulf %v, %beta2_t : !f32_dp_sliced_0
      %vadd = arith.mulf %gg, %rest2_t : !f32_dp_sliced_0
      %vnew = arith.addf %vold, %vadd : !f32_dp_sliced_0
      %vu = comp.update %v, %vnew : !f32_dp_sliced_0
      %bias1_t = tensor.splat %bias1[%n] : !f32_dp_sliced_0
      %mh = arith.divf %mnew, %bias1_t : !f32_dp_sliced_0
      %bias2_t = tensor.splat %bias2[%n] : !f32_dp_sliced_0
      %vh = arith.divf %vnew, %bias2_t : !f32_dp_sliced_0
      %root = math.sqrt %vh : !f32_dp_sliced_0
      %eps_t = tensor.splat %eps[%n] : !f32_dp_sliced_0
      %den = arith.addf %root, %eps_t : !f32_dp_sliced_0
      %dir = arith.divf %mh, %den : !f32_dp_sliced_0
      %decay_t = tensor.splat %decay[%n] : !f32_dp_sliced_0
      %shrink = arith.mulf %w, %decay_t : !f32_dp_sliced_0
      %total = arith.addf %dir, %shrink : !f32_dp_sliced_0
      %lr_t = tensor.splat %lr[%n] : !f32_dp_sliced_0
      %move = arith.mulf %total, %lr_t : !f32_dp_sliced_0
      %wnew = arith.subf %w, %move : !f32_dp_sliced_0
      %wu = comp.update %w, %wnew : !f32_dp_sliced_0
      %pnew = arith.truncf %wnew : !f32_dp_sliced_0 to !f16_dp_sliced_0
      %pnew_ag = coll.all_gather %pnew over [dp] : !f16_dp_sliced_0 -> tensor<?xf16>
      %pu = comp.update %p, %pnew_ag : tensor<?xf16>
      coll.yield
    } {coconet.name = "opt"}
    func.return
  }
}
