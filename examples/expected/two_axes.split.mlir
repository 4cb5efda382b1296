// From: coconet-opt examples/two_axes.mlir -p 'coconet-split{op=avg}'
//
// Only the reduce_scatter sends bf16: the all_gather sends what was added up, in f32. Columns are cut already, so dim
// is 0.

layout.mesh @mesh(dp = 4, tp = 2)

!grad = tensor<?x?xf32, #layout.dist<dp = local, tp = sliced(1)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!block = tensor<?x?xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>

func.func @two_axes(%grad: !grad, %w: !columns, %m: !columns {coconet.state}, %v: !columns {coconet.state},
                    %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %w, %c0 : !columns
  %cols = tensor.dim %w, %c1 : !columns
  %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0 {wire = bf16, accumulate = f32} : !grad -> !block
  %avg_ag = coll.all_gather %avg_rs over [dp] : !block -> !columns
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m by %beta1 : !columns
  %madd = comp.scale %avg_ag by %rest1 : !columns
  %mnew = arith.addf %mold, %madd : !columns
  %mu = comp.update %m, %mnew : !columns
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %avg_ag, %avg_ag : !columns
  %vold = comp.scale %v by %beta2 : !columns
  %vadd = comp.scale %gg by %rest2 : !columns
  %vnew = arith.addf %vold, %vadd : !columns
  %vu = comp.update %v, %vnew : !columns
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%rows, %cols] : !columns
  %mh = arith.divf %mu, %bias1_t : !columns
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%rows, %cols] : !columns
  %vh = arith.divf %vu, %bias2_t : !columns
  %root = math.sqrt %vh : !columns
  %eps_t = tensor.splat %eps[%rows, %cols] : !columns
  %den = arith.addf %root, %eps_t : !columns
  %dir = arith.divf %mh, %den : !columns
  %move = comp.scale %dir by %lr : !columns
  %wnew = arith.subf %w, %move : !columns
  %wu = comp.update %w, %wnew : !columns
  func.return
}
