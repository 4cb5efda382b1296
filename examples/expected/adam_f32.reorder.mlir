// From: coconet-opt examples/adam_f32.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// Each rank computes its slice from slices of the moments and weights; three values are gathered for their updates.

layout.mesh @mesh(dp = 8)

!grad = tensor<?xf32, #layout.dist<dp = local>>
!whole = tensor<?xf32>
!whole_slice = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @adam_f32(%grad: !grad, %w: !whole, %m: !whole {coconet.state}, %v: !whole {coconet.state},
                    %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %decay: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !whole -> !whole_slice
  %v_slice = layout.slice %v over [dp] dim 0 : !whole -> !whole_slice
  %w_slice = layout.slice %w over [dp] dim 0 : !whole -> !whole_slice
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !whole
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 : !grad -> !whole_slice
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m_slice by %beta1 : !whole_slice
  %madd = comp.scale %avg_rs by %rest1 : !whole_slice
  %mnew = arith.addf %mold, %madd : !whole_slice
  %mnew_ag = coll.all_gather %mnew over [dp] : !whole_slice -> !whole
  %mu = comp.update %m, %mnew_ag : !whole
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %avg_rs, %avg_rs : !whole_slice
  %vold = comp.scale %v_slice by %beta2 : !whole_slice
  %vadd = comp.scale %gg by %rest2 : !whole_slice
  %vnew = arith.addf %vold, %vadd : !whole_slice
  %vnew_ag = coll.all_gather %vnew over [dp] : !whole_slice -> !whole
  %vu = comp.update %v, %vnew_ag : !whole
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%n] : !whole_slice
  %mh = arith.divf %mnew, %bias1_t : !whole_slice
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%n] : !whole_slice
  %vh = arith.divf %vnew, %bias2_t : !whole_slice
  %root = math.sqrt %vh : !whole_slice
  %eps_t = tensor.splat %eps[%n] : !whole_slice
  %den = arith.addf %root, %eps_t : !whole_slice
  %dir = arith.divf %mh, %den : !whole_slice
  %shrink = comp.scale %w_slice by %decay : !whole_slice
  %total = arith.addf %dir, %shrink : !whole_slice
  %move = comp.scale %total by %lr : !whole_slice
  %wnew = arith.subf %w_slice, %move : !whole_slice
  %wnew_ag = coll.all_gather %wnew over [dp] : !whole_slice -> !whole
  %wu = comp.update %w, %wnew_ag : !whole
  func.return
}
