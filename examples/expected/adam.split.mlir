// From: coconet-opt examples/adam.mlir -p 'coconet-split{op=avg}'
//
// The all_reduce is a reduce_scatter and an all_gather; every reader reads the gathered value.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!half_slice = tensor<?xf16, #layout.dist<dp = sliced(0)>>

func.func @adam(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !half_slice
  %avg_ag = coll.all_gather %avg_rs over [dp] : !half_slice -> !half
  %avg32 = arith.extf %avg_ag : !half to !full
  %inv_scale_t = tensor.splat %inv_scale[%n] : !full
  %g = arith.mulf %avg32, %inv_scale_t : !full
  %beta1_t = tensor.splat %beta1[%n] : !full
  %rest1 = arith.subf %one, %beta1 : f32
  %rest1_t = tensor.splat %rest1[%n] : !full
  %mold = arith.mulf %m, %beta1_t : !full
  %madd = arith.mulf %g, %rest1_t : !full
  %mnew = arith.addf %mold, %madd : !full
  %mu = comp.update %m, %mnew : !full
  %beta2_t = tensor.splat %beta2[%n] : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %rest2_t = tensor.splat %rest2[%n] : !full
  %gg = arith.mulf %g, %g : !full
  %vold = arith.mulf %v, %beta2_t : !full
  %vadd = arith.mulf %gg, %rest2_t : !full
  %vnew = arith.addf %vold, %vadd : !full
  %vu = comp.update %v, %vnew : !full
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !full
  %mh = arith.divf %mu, %bias1_t : !full
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !full
  %vh = arith.divf %vu, %bias2_t : !full
  %root = math.sqrt %vh : !full
  %eps_t = tensor.splat %eps[%n] : !full
  %den = arith.addf %root, %eps_t : !full
  %dir = arith.divf %mh, %den : !full
  %decay_t = tensor.splat %decay[%n] : !full
  %shrink = arith.mulf %w, %decay_t : !full
  %total = arith.addf %dir, %shrink : !full
  %lr_t = tensor.splat %lr[%n] : !full
  %move = arith.mulf %total, %lr_t : !full
  %wnew = arith.subf %w, %move : !full
  %wu = comp.update %w, %wnew : !full
  %pnew = arith.truncf %wu : !full to !half
  %pu = comp.update %p, %pnew : !half
  func.return
}
