// From: coconet-opt examples/buckets.mlir --schedule examples/schedules/buckets.mlir:rs_opt_ag
//
// One launch scatters all gradients, one gathers all weights; each velocity is kept in parts.

!tnxnxf32_dp_local = tensor<?x?xf32, #layout.dist<dp = local>>
!tnxnxf32_dp_sliced_0 = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!tnxf32_dp_local = tensor<?xf32, #layout.dist<dp = local>>
!tnxf32_dp_sliced_0 = tensor<?xf32, #layout.dist<dp = sliced(0)>>
builtin.module {
  layout.mesh @mesh(dp = 8)
  func.func @buckets(%up_grad: !tnxnxf32_dp_local, %up: tensor<?x?xf32>, %up_u: !tnxnxf32_dp_sliced_0 {coconet.resliced = tensor<?x?xf32>, coconet.state}, %bias_grad: !tnxf32_dp_local, %bias: tensor<?xf32>, %bias_u: !tnxf32_dp_sliced_0 {coconet.resliced = tensor<?xf32>, coconet.state}, %down_grad: !tnxnxf32_dp_local, %down: tensor<?x?xf32>, %down_u: !tnxnxf32_dp_sliced_0 {coconet.resliced = tensor<?x?xf32>, coconet.state}, %lr: f32, %momentum: f32) {
    %grads, %grads_bias_avg_rs, %grads_down_avg_rs = coll.group over [dp] {
      %up_avg_rs = coll.reduce_scatter avg %up_grad over [dp] dim 0 : !tnxnxf32_dp_local -> !tnxnxf32_dp_sliced_0
      %bias_avg_rs = coll.reduce_scatter avg %bias_grad over [dp] dim 0 : !tnxf32_dp_local -> !tnxf32_dp_sliced_0
      %down_avg_rs = coll.reduce_scatter avg %down_grad over [dp] dim 0 : !tnxnxf32_dp_local -> !tnxnxf32_dp_sliced_0
      coll.yield %up_avg_rs, %bias_avg_rs, %down_avg_rs : !tnxnxf32_dp_sliced_0, !tnxf32_dp_sliced_0, !tnxnxf32_dp_sliced_0
    }
    %up_opt = coll.fused {
      %up_slice = layout.slice %up over [dp] dim 0 : tensor<?x?xf32> -> !tnxnxf32_dp_sliced_0
      %up_kept = comp.scale %up_u by %momentum : !tnxnxf32_dp_sliced_0
      %up_unew = arith.addf %up_kept, %grads : !tnxnxf32_dp_sliced_0
      %up_uu = comp.update %up_u, %up_unew : !tnxnxf32_dp_sliced_0
      %up_move = comp.scale %up_unew by %lr : !tnxnxf32_dp_sliced_0
      %up_wnew = arith.subf %up_slice, %up_move : !tnxnxf32_dp_sliced_0
      coll.yield %up_wnew : !tnxnxf32_dp_sliced_0
    }
    %bias_opt = coll.fused {
      %bias_slice = layout.slice %bias over [dp] dim 0 : tensor<?xf32> -> !tnxf32_dp_sliced_0
      %bias_kept = comp.scale %bias_u by %momentum : !tnxf32_dp_sliced_0
      %bias_unew = arith.addf %bias_kept, %grads_bias_avg_rs : !tnxf32_dp_sliced_0
      %bias_uu = comp.update %bias_u, %bias_unew : !tnxf32_dp_sliced_0
      %bias_move = comp.scale %bias_unew by %lr : !tnxf32_dp_sliced_0
      %bias_wnew = arith.subf %bias_slice, %bias_move : !tnxf32_dp_sliced_0
      coll.yield %bias_wnew : !tnxf32_dp_sliced_0
    }
    %down_opt = coll.fused {
      %down_slice = layout.slice %down over [dp] dim 0 : tensor<?x?xf32> -> !tnxnxf32_dp_sliced_0
      %down_kept = comp.scale %down_u by %momentum : !tnxnxf32_dp_sliced_0
      %down_unew = arith.addf %down_kept, %grads_down_avg_rs : !tnxnxf32_dp_sliced_0
      %down_uu = comp.update %down_u, %down_unew : !tnxnxf32_dp_sliced_0
      %down_move = comp.scale %down_unew by %lr : !tnxnxf32_dp_sliced_0
      %down_wnew = arith.subf %down_slice, %down_move : !tnxnxf32_dp_sliced_0
      coll.yield %down_wnew : !tnxnxf32_dp_sliced_0
    }
    %weights, %weights_bias_wnew_ag, %weights_down_wnew_ag = coll.group over [dp] {
      %up_wnew_ag = coll.all_gather %up_opt over [dp] : !tnxnxf32_dp_sliced_0 -> tensor<?x?xf32>
      %bias_wnew_ag = coll.all_gather %bias_opt over [dp] : !tnxf32_dp_sliced_0 -> tensor<?xf32>
      %down_wnew_ag = coll.all_gather %down_opt over [dp] : !tnxnxf32_dp_sliced_0 -> tensor<?x?xf32>
      coll.yield %up_wnew_ag, %bias_wnew_ag, %down_wnew_ag : tensor<?x?xf32>, tensor<?xf32>, tensor<?x?xf32>
    }
    %up_wu = comp.update %up, %weights : tensor<?x?xf32>
    %bias_wu = comp.update %bias, %weights_bias_wnew_ag : tensor<?xf32>
    %down_wu = comp.update %down, %weights_down_wnew_ag : tensor<?x?xf32>
    func.return
  }
}
