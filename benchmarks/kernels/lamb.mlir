// One step of LAMB in f32: three kernels. The first computes the moments and the parts of two norms, the second adds
// the parts, the third scales the step by the trust ratio.

!full = tensor<?xf32>

func.func @lamb(%g: !full, %w: !full, %m: !full, %v: !full,
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full

  // The moments.
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m by %beta1 : !full
  %madd = comp.scale %g by %rest1 : !full
  %mnew = arith.addf %mold, %madd : !full
  %mu = comp.update %m, %mnew : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %g, %g : !full
  %vold = comp.scale %v by %beta2 : !full
  %vadd = comp.scale %gg by %rest2 : !full
  %vnew = arith.addf %vold, %vadd : !full
  %vu = comp.update %v, %vnew : !full

  // Bias correction and direction.
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
  %wnew = arith.subf %w, %move : !full
  %wu = comp.update %w, %wnew : !full
  func.return
}
