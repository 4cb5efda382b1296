// LAMB on one tensor in mixed precision, with an overflow check, data parallel over dp.
//
//     g  = inv_scale * f32(average over dp of grad)
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     r  = mh / (sqrt(vh) + eps) + decay * w
//     trust = |w| / |r| if both norms are above 0, else 1
//     w' = w - lr * trust * r
//     p' = f16(w')
//
// If an element of the averaged gradient is not finite, the step changes nothing: w, m, v and p keep their values and
// the caller lowers its loss scale.
//
// A tensor of no elements stays empty: its norms are 0, the trust ratio is 1 and no element of it is not finite.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!bits = tensor<?xi1>
!flags = tensor<?xi32>

func.func @lamb(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full

  %avg = coll.all_reduce avg %grad over [dp] {accumulate = f32} : !grad -> !half
  %avg32 = arith.extf %avg : !half to !full
  %g = comp.scale %avg32 by %inv_scale : !full

  // ok: the least flag is not 0. The minimum of no flags is the largest i32: an empty tensor is ok.
  %finite = math.isfinite %avg : !half
  %flags = arith.extui %finite : !bits to !flags
  %least = comp.reduce min %flags dims [0] : !flags -> tensor<i32>
  %least_s = tensor.extract %least[] : tensor<i32>
  %ok = arith.cmpi ne, %least_s, %none : i32

  // The moments.
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m by %beta1 : !full
  %madd = comp.scale %g by %rest1 : !full
  %mstep = arith.addf %mold, %madd : !full
  %mnew = arith.select %ok, %mstep, %m : !full
  %mu = comp.update %m, %mnew : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %g, %g : !full
  %vold = comp.scale %v by %beta2 : !full
  %vadd = comp.scale %gg by %rest2 : !full
  %vstep = arith.addf %vold, %vadd : !full
  %vnew = arith.select %ok, %vstep, %v : !full
  %vu = comp.update %v, %vnew : !full

  // Bias correction and direction.
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !full
  %mh = arith.divf %mstep, %bias1_t : !full
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !full
  %vh = arith.divf %vstep, %bias2_t : !full
  %root = math.sqrt %vh : !full
  %eps_t = tensor.splat %eps[%n] : !full
  %den = arith.addf %root, %eps_t : !full
  %dir = arith.divf %mh, %den : !full
  %shrink = comp.scale %w by %decay : !full
  %r = arith.addf %dir, %shrink : !full

  // The trust ratio.
  %wn = comp.norm %w : !full -> tensor<f32>
  %rn = comp.norm %r : !full -> tensor<f32>
  %wnorm = tensor.extract %wn[] : tensor<f32>
  %rnorm = tensor.extract %rn[] : tensor<f32>
  %ratio = arith.divf %wnorm, %rnorm : f32
  %has_w = arith.cmpf ogt, %wnorm, %zero : f32
  %has_r = arith.cmpf ogt, %rnorm, %zero : f32
  %has_both = arith.andi %has_w, %has_r : i1
  %trust = arith.select %has_both, %ratio, %one : f32

  // The step.
  %pace = arith.mulf %lr, %trust : f32
  %move = comp.scale %r by %pace : !full
  %wstep = arith.subf %w, %move : !full
  %wnew = arith.select %ok, %wstep, %w : !full
  %wu = comp.update %w, %wnew : !full
  %pstep = arith.truncf %wstep : !full to !half
  %pnew = arith.select %ok, %pstep, %p : !half
  %pu = comp.update %p, %pnew : !half
  func.return
}
