// SGD with momentum on tensors of a model, each with a gradient of its own, data parallel over dp.
//
//     g  = average over dp of grad
//     u' = momentum * u + g
//     w' = w - lr * u'                   for the weights w of up, bias and down
//
// A model has hundreds of such tensors, most of them small: what their all_reduces cost is mostly the launch. A tensor
// of no elements stays empty.

layout.mesh @mesh(dp = 8)

!matrix_grad = tensor<?x?xf32, #layout.dist<dp = local>>
!matrix = tensor<?x?xf32>
!vector_grad = tensor<?xf32, #layout.dist<dp = local>>
!vector = tensor<?xf32>

func.func @buckets(%up_grad: !matrix_grad, %up: !matrix, %up_u: !matrix {coconet.state},
                   %bias_grad: !vector_grad, %bias: !vector, %bias_u: !vector {coconet.state},
                   %down_grad: !matrix_grad, %down: !matrix, %down_u: !matrix {coconet.state},
                   %lr: f32, %momentum: f32) {
  %up_avg = coll.all_reduce avg %up_grad over [dp] : !matrix_grad -> !matrix
  %up_kept = comp.scale %up_u by %momentum : !matrix
  %up_unew = arith.addf %up_kept, %up_avg : !matrix
  %up_uu = comp.update %up_u, %up_unew : !matrix
  %up_move = comp.scale %up_uu by %lr : !matrix
  %up_wnew = arith.subf %up, %up_move : !matrix
  %up_wu = comp.update %up, %up_wnew : !matrix

  %bias_avg = coll.all_reduce avg %bias_grad over [dp] : !vector_grad -> !vector
  %bias_kept = comp.scale %bias_u by %momentum : !vector
  %bias_unew = arith.addf %bias_kept, %bias_avg : !vector
  %bias_uu = comp.update %bias_u, %bias_unew : !vector
  %bias_move = comp.scale %bias_uu by %lr : !vector
  %bias_wnew = arith.subf %bias, %bias_move : !vector
  %bias_wu = comp.update %bias, %bias_wnew : !vector

  %down_avg = coll.all_reduce avg %down_grad over [dp] : !matrix_grad -> !matrix
  %down_kept = comp.scale %down_u by %momentum : !matrix
  %down_unew = arith.addf %down_kept, %down_avg : !matrix
  %down_uu = comp.update %down_u, %down_unew : !matrix
  %down_move = comp.scale %down_uu by %lr : !matrix
  %down_wnew = arith.subf %down, %down_move : !matrix
  %down_wu = comp.update %down, %down_wnew : !matrix
  func.return
}
