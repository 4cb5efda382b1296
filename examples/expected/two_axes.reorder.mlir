// From: coconet-opt examples/two_axes.mlir -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}'
//
// Each rank computes a block that both axes cut.

layout.mesh @mesh(dp = 4, tp = 2)

!grad = tensor<?x?xf32, #layout.dist<dp = local, tp = sliced(1)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!block = tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>

func.func @two_axes(%grad: !grad, %w: !columns, %m: !columns {coconet.state}, %v: !columns {coconet.state},
                    %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %step: f32) {
  %m_slice = layout.slice %m over [dp] dim 0 : !columns -> !block
  %v_slice = layout.slice %v over [dp] dim 0 : !columns -> !block
  %w_slice = layout.slice %w over [dp] dim 0 : !columns -> !block
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %w, %c0 : !columns
  %cols = tensor.dim %w, %c1 : !columns
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {wire = bf16, accumulate = f32} : !grad -> !block
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m_slice by %beta1 : !block
  %madd = comp.scale %avg_rs by %rest1 : !block
  %mnew = arith.addf %mold, %madd : !block
  %mnew_ag = coll.all_gather %mnew over [dp] : !block -> !columns
  %mu = comp.update %m, %mnew_ag : !columns
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %avg_rs, %avg_rs : !block
  %vold = comp.scale %v_slice by %beta2 : !block
  %vadd = comp.scale %gg by %rest2 : !block
  %vnew = arith.addf %vold, %vadd : !block
  %vnew_ag = coll.all_gather %vnew over [dp] : !block -> !columns
  %vu = comp.update %v, %vnew_ag : !columns
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%rows, %cols] : !block
  %mh = arith.divf %mnew, %bias1_t : !block
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%rows, %cols] : !block
  %vh = arith.divf %vnew, %bias2_t : !block
  %root = math.sqrt %vh : !block
  %eps_t = tensor.splat %eps[%rows, %cols] : !block
  %den = arith.addf %root, %eps_t : !block
  %dir = arith.divf %mh, %den : !block
  %move = comp.scale %dir by %lr : !block
  %wnew = arith.subf %w_slice, %move : !block
  %wnew_ag = coll.all_gather %wnew over [dp] : !block -> !columns
  %wu = comp.update %w, %wnew_ag : !columns
  func.return
}
