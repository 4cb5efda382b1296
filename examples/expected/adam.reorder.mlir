// From: coconet-opt examples/adam.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// Each rank computes its slice from the slices of the state. Four values are gathered: the new moments and master
// weights only for their updates (slice-state drops these gathers), and the parameters as f16.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!half_slice = tensor<?xf16, #layout.dist<dp = sliced(0)>>
!full_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @adam(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !full -> !full_slice
  %v_slice = layout.slice %v over [dp] dim 0 : !full -> !full_slice
  %w_slice = layout.slice %w over [dp] dim 0 : !full -> !full_slice
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !half_slice
  %avg32 = arith.extf %avg_rs : !half_slice to !full_slice
  %inv_scale_t = tensor.splat %inv_scale[%n] : !full_slice
  %g = arith.mulf %avg32, %inv_scale_t : !full_slice
  %beta1_t = tensor.splat %beta1[%n] : !full_slice
  %rest1 = arith.subf %one, %beta1 : f32
  %rest1_t = tensor.splat %rest1[%n] : !full_slice
  %mold = arith.mulf %m_slice, %beta1_t : !full_slice
  %madd = arith.mulf %g, %rest1_t : !full_slice
  %mnew = arith.addf %mold, %madd : !full_slice
  %mnew_ag = coll.all_gather %mnew over [dp] : !full_slice -> !full
  %mu = comp.update %m, %mnew_ag : !full
  %beta2_t = tensor.splat %beta2[%n] : !full_slice
  %rest2 = arith.subf %one, %beta2 : f32
  %rest2_t = tensor.splat %rest2[%n] : !full_slice
  %gg = arith.mulf %g, %g : !full_slice
  %vold = arith.mulf %v_slice, %beta2_t : !full_slice
  %vadd = arith.mulf %gg, %rest2_t : !full_slice
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
  %decay_t = tensor.splat %decay[%n] : !full_slice
  %shrink = arith.mulf %w_slice, %decay_t : !full_slice
  %total = arith.addf %dir, %shrink : !full_slice
  %lr_t = tensor.splat %lr[%n] : !full_slice
  %move = arith.mulf %total, %lr_t : !full_slice
  %wnew = arith.subf %w_slice, %move : !full_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !full_slice -> !full
  %wu = comp.update %w, %wnew_ag : !full
  %pnew = arith.truncf %wnew : !full_slice to !half_slice
  %pnew_ag = coll.all_gather %pnew over [dp] : !half_slice -> !half
  %pu = comp.update %p, %pnew_ag : !half
  func.return
}
