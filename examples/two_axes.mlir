// Adam on a weight matrix that is cut by tp, with data parallel gradients over dp, sent as bf16.
//
//     g  = average over dp of bf16(grad)
//     m' = beta1 * m + (1 - beta1) * g
//     v' = beta2 * v + (1 - beta2) * g^2
//     mh = m' / (1 - beta1^step)          vh = v' / (1 - beta2^step)          step counts from 1
//     w' = w - lr * mh / (sqrt(vh) + eps)
//
// Each coordinate of tp owns a block of the columns; the average runs among the ranks that own the same block. Split
// and reordered, the state is cut by both axes: rows by dp, columns by tp.
// A matrix without rows or columns stays empty; a matrix of one element is an ordinary case.

layout.mesh @mesh(dp = 4, tp = 2)

!grad = tensor<?x?xf32, #layout.dist<dp = local, tp = sliced(1)>>
!columns = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>

func.func @two_axes(%grad: !grad, %w: !columns, %m: !columns {coconet.state}, %v: !columns {coconet.state},
                    %lr: f32, %beta1: f32, %beta2: f32, %eps: f32, %step: f32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %w, %c0 : !columns
  %cols = tensor.dim %w, %c1 : !columns
  %avg = coll.all_reduce avg %grad over [dp] {wire = bf16, accumulate = f32} : !grad -> !columns

  // The moments.
  %rest1 = arith.subf %one, %beta1 : f32
  %mold = comp.scale %m by %beta1 : !columns
  %madd = comp.scale %avg by %rest1 : !columns
  %mnew = arith.addf %mold, %madd : !columns
  %mu = comp.update %m, %mnew : !columns
  %rest2 = arith.subf %one, %beta2 : f32
  %gg = arith.mulf %avg, %avg : !columns
  %vold = comp.scale %v by %beta2 : !columns
  %vadd = comp.scale %gg by %rest2 : !columns
  %vnew = arith.addf %vold, %vadd : !columns
  %vu = comp.update %v, %vnew : !columns

  // Bias correction.
  %pow1 = math.powf %beta1, %step : f32
  %bias1 = arith.subf %one, %pow1 : f32
  %bias1_t = tensor.splat %bias1[%rows, %cols] : !columns
  %mh = arith.divf %mu, %bias1_t : !columns
  %pow2 = math.powf %beta2, %step : f32
  %bias2 = arith.subf %one, %pow2 : f32
  %bias2_t = tensor.splat %bias2[%rows, %cols] : !columns
  %vh = arith.divf %vu, %bias2_t : !columns

  // The step.
  %root = math.sqrt %vh : !columns
  %eps_t = tensor.splat %eps[%rows, %cols] : !columns
  %den = arith.addf %root, %eps_t : !columns
  %dir = arith.divf %mh, %den : !columns
  %move = comp.scale %dir by %lr : !columns
  %wnew = arith.subf %w, %move : !columns
  %wu = comp.update %w, %wnew : !columns
  func.return
}
