// From: coconet-opt examples/clip.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// The global norm becomes a sum of squares of slices and an all_reduce of one number; the parameters are gathered as
// bf16.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xbf16, #layout.dist<dp = local>>
!half = tensor<?xbf16>
!full = tensor<?xf32>
!full_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!half_slice = tensor<?xbf16, #layout.dist<dp = sliced(0)>>
!sum = tensor<f32, #layout.dist<dp = partial(sum)>>

func.func @clip(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state}, %max_norm: f32,
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !full -> !full_slice
  %v_slice = layout.slice %v over [dp] dim 0 : !full -> !full_slice
  %w_slice = layout.slice %w over [dp] dim 0 : !full -> !full_slice
  %one = arith.constant 1.0 : f32
  %guard = arith.constant 1.0e-6 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !full_slice
  %gn_mulf = arith.mulf %avg_rs, %avg_rs : !full_slice
  %gn_reduce = comp.reduce sum %gn_mulf dims [0] {accumulate = f32} : !full_slice -> !sum
  %gn_reduce_ar = coll.all_reduce sum %gn_reduce over [dp] : !sum -> tensor<f32>
  %gn = math.sqrt %gn_reduce_ar : tensor<f32>
  %gnorm = tensor.extract %gn[] : tensor<f32>
  %guarded = arith.addf %gnorm, %guard : f32
  %fit = arith.divf %max_norm, %guarded : f32
  %factor = arith.minimumf %fit, %one : f32
  %g = comp.scale %avg_rs by %factor : !full_slice
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m_slice by %beta1 : !full_slice
  %madd = comp.scale %g by %rest1 : !full_slice
  %mnew = arith.addf %mold, %madd : !full_slice
  %mnew_ag = coll.all_gather %mnew over [dp] : !full_slice -> !full
  %mu = comp.update %m, %mnew_ag : !full
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %g, %g : !full_slice
  %vold = comp.scale %v_slice by %beta2 : !full_slice
  %vadd = comp.scale %gg by %rest2 : !full_slice
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
  %shrink = comp.scale %w_slice by %decay : !full_slice
  %total = arith.addf %dir, %shrink : !full_slice
  %move = comp.scale %total by %lr : !full_slice
  %wnew = arith.subf %w_slice, %move : !full_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !full_slice -> !full
  %wu = comp.update %w, %wnew_ag : !full
  %pnew = arith.truncf %wnew : !full_slice to !half_slice
  %pnew_ag = coll.all_gather %pnew over [dp] : !half_slice -> !half
  %pu = comp.update %p, %pnew_ag : !half
  func.return
}
