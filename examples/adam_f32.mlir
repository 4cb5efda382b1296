// Adam with decoupled weight decay (AdamW), all in f32, data parallel over dp.
//
//     g  = average over dp of grad
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     w' = w - lr * (mh / (sqrt(vh) + eps) + decay * w)
//
// The moments are state; the weights w are read whole by the next forward pass.
// A tensor of no elements stays empty; a tensor of one element is an ordinary case.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf32, #layout.dist<dp = local>>
!whole = tensor<?xf32>

func.func @adam_f32(%grad: !grad, %w: !whole, %m: !whole {coconet.state}, %v: !whole {coconet.state},
                    %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !whole
  %avg = coll.all_reduce avg %grad over [dp] : !grad -> !whole

  // The moments.
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m by %beta1 : !whole
  %madd = comp.scale %avg by %rest1 : !whole
  %mnew = arith.addf %mold, %madd : !whole
  %mu = comp.update %m, %mnew : !whole
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %avg, %avg : !whole
  %vold = comp.scale %v by %beta2 : !whole
  %vadd = comp.scale %gg by %rest2 : !whole
  %vnew = arith.addf %vold, %vadd : !whole
  %vu = comp.update %v, %vnew : !whole

  // Bias correction.
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !whole
  %mh = arith.divf %mu, %bias1_t : !whole
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !whole
  %vh = arith.divf %vu, %bias2_t : !whole

  // The step.
  %root = math.sqrt %vh : !whole
  %eps_t = tensor.splat %eps[%n] : !whole
  %den = arith.addf %root, %eps_t : !whole
  %dir = arith.divf %mh, %den : !whole
  %shrink = comp.scale %w by %decay : !whole
  %total = arith.addf %dir, %shrink : !whole
  %move = comp.scale %total by %lr : !whole
  %wnew = arith.subf %w, %move : !whole
  %wu = comp.update %w, %wnew : !whole
  func.return
}
