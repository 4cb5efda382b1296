// LAMB on all tensors of a model at once, in mixed precision, data parallel over dp.
//
// The tensors of the model lie one after the other in flat tensors: tensor t owns the elements from offsets[t] up to
// offsets[t + 1]. Gradients and parameters stay in the many buffers of the framework (coconet.scattered); master
// weights and moments are flat state. Trust ratios are one a tensor.
//
//     g  = inv_scale * f32(average over dp of grad)
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     r  = mh / (sqrt(vh) + eps) + decay * w
//     trust[t] = |w[t]| / |r[t]| if both norms are above 0, else 1
//     w' = w - lr * trust[tensor of the element] * r
//     p' = f16(w')
//
// A tensor of no elements in the list has norms 0 and trust ratio 1. A list of no tensors is offsets = [0].

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf16, #layout.dist<dp = local>>
!half = tensor<?xf16>
!full = tensor<?xf32>
!offsets = tensor<?xi64>
!list = tensor<?xf32>
!marks = tensor<?xi1>

func.func @lamb_segments(%grad: !grad {coconet.scattered}, %p: !half {coconet.scattered}, %offsets: !offsets,
                         %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state},
                         %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %inv_scale: f32, %step: f32) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full

  %avg = coll.all_reduce avg %grad over [dp] {accumulate = f32} : !grad -> !half
  %avg32 = arith.extf %avg : !half to !full
  %g = comp.scale %avg32 by %inv_scale : !full

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

  // The trust ratios, one a tensor.
  %ww = arith.mulf %w, %w : !full
  %wsq = comp.segment_reduce sum %ww, %offsets : (!full, !offsets) -> !list
  %wn = math.sqrt %wsq : !list
  %rr = arith.mulf %r, %r : !full
  %rsq = comp.segment_reduce sum %rr, %offsets : (!full, !offsets) -> !list
  %rn = math.sqrt %rsq : !list
  %count = tensor.dim %wsq, %c0 : !list
  %zeros = tensor.splat %zero[%count] : !list
  %ones = tensor.splat %one[%count] : !list
  %ratio = arith.divf %wn, %rn : !list
  %has_w = arith.cmpf ogt, %wn, %zeros : !list
  %has_r = arith.cmpf ogt, %rn, %zeros : !list
  %has_both = arith.andi %has_w, %has_r : !marks
  %trust = arith.select %has_both, %ratio, %ones : !marks, !list
  %trust_t = comp.segment_broadcast %trust, %offsets like %r : (!list, !offsets, !full) -> !full

  // The step.
  %scaled = arith.mulf %r, %trust_t : !full
  %move = comp.scale %scaled by %lr : !full
  %wnew = arith.subf %w, %move : !full
  %wu = comp.update %w, %wnew : !full
  %pnew = arith.truncf %wu : !full to !half
  %pu = comp.update %p, %pnew : !half
  func.return
}
