// AdamW behind a gradient clipped by its global norm, bf16 gradients and parameters, data parallel over dp.
//
//     a  = average over dp of grad, kept in f32
//     g  = a * min(1, max_norm / (|a| + 1e-6))
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     w' = w - lr * (mh / (sqrt(vh) + eps) + decay * w)
//     p' = bf16(w')
//
// A gradient of norm 0 (or of no elements) is not clipped: the factor is 1 for every max_norm of at least 1e-6.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xbf16, #layout.dist<dp = local>>
!half = tensor<?xbf16>
!full = tensor<?xf32>

func.func @clip(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state}, %max_norm: f32,
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %guard = arith.constant 1.0e-6 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full

  // The result is kept in the type that it was added up in.
  %avg = coll.all_reduce avg %grad over [dp] {accumulate = f32} : !grad -> !full

  // The clip.
  %gn = comp.norm %avg : !full -> tensor<f32>
  %gnorm = tensor.extract %gn[] : tensor<f32>
  %guarded = arith.addf %gnorm, %guard : f32
  %fit = arith.divf %max_norm, %guarded : f32
  %factor = arith.minimumf %fit, %one : f32
  %g = comp.scale %avg by %factor : !full

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
  %shrink = comp.scale %w by %decay : !full
  %total = arith.addf %dir, %shrink : !full
  %move = comp.scale %total by %lr : !full
  %wnew = arith.subf %w, %move : !full
  %wu = comp.update %w, %wnew : !full
  %pnew = arith.truncf %wu : !full to !half
  %pu = comp.update %p, %pnew : !half
  func.return
}
