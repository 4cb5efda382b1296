// From: coconet-opt examples/clip.mlir -p 'coconet-split{op=avg}'
//
// The all_reduce is a reduce_scatter of bf16 and an all_gather of the f32 result.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xbf16, #layout.dist<dp = local>>
!half = tensor<?xbf16>
!full = tensor<?xf32>
!full_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @clip(%grad: !grad, %p: !half,
                %w: !full {coconet.state}, %m: !full {coconet.state}, %v: !full {coconet.state}, %max_norm: f32,
                %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %guard = arith.constant 1.0e-6 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !full
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {accumulate = f32} : !grad -> !full_slice
  %avg_ag = coll.all_gather %avg_rs over [dp] : !full_slice -> !full
  %gn = comp.norm %avg_ag : !full -> tensor<f32>
  %gnorm = tensor.extract %gn[] : tensor<f32>
  %guarded = arith.addf %gnorm, %guard : f32
  %fit = arith.divf %max_norm, %guarded : f32
  %factor = arith.minimumf %fit, %one : f32
  %g = comp.scale %avg_ag by %factor : !full
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
  %total = arith.addf %dir, %shrink : !full
  %move = comp.scale %total by %lr : !full
  %wnew = arith.subf %w, %move : !full
  %wu = comp.update %w, %wnew : !full
  %pnew = arith.truncf %wu : !full to !half
  %pu = comp.update %p, %pnew : !half
  func.return
}
