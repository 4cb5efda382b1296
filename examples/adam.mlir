// Adam with decoupled weight decay (AdamW) in mixed precision, data parallel over dp.
//
// Gradients travel as f16, multiplied by a loss scale; the f32 master weights w and the moments m and v are state;
// the f16 parameters p are what the model computes with.
//
//     g  = inv_scale * f32(average over dp of grad)
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     w' = w - lr * (mh / (sqrt(vh) + eps) + decay * w)
//     p' = f16(w')
//
// A tensor of no elements stays empty; a tensor of one element is an ordinary case.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>

func.func @adam(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full

  // The gradient: averaged on the wire in f16, added up in f32, unscaled.
  %avg = coll.all_reduce avg %grad over [dp] {accumulate = f32} : !grad -> !half
  %avg32 = arith.extf %avg : !half to !full
  %inv_scale_t = tensor.splat %inv_scale[%n] : !full
  %g = arith.mulf %avg32, %inv_scale_t : !full

  // The moments.
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

  // Bias correction.
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !full
  %mh = arith.divf %mu, %bias1_t : !full
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !full
  %vh = arith.divf %vu, %bias2_t : !full

  // The step.
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
