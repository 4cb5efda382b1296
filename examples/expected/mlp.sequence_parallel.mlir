// From: coconet-opt examples/mlp.mlir --schedule examples/schedules/mlp.mlir:sequence_parallel
//
// The input and the residual arrive in parts of the sequence. Both matmuls overlap with the collective next to them.

!tnxnxnxbf16_tp_sliced_1 = tensor<?x?x?xbf16, #layout.dist<tp = sliced(1)>>
!tnxnxbf16_tp_sliced_1 = tensor<?x?xbf16, #layout.dist<tp = sliced(1)>>
!tnxbf16_tp_sliced_0 = tensor<?xbf16, #layout.dist<tp = sliced(0)>>
!tnxnxbf16_tp_sliced_0 = tensor<?x?xbf16, #layout.dist<tp = sliced(0)>>
!f32_tp_sliced_2 = tensor<?x?x?xf32, #layout.dist<tp = sliced(2)>>
!f32_tp_sliced_0 = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!bf16_tp_sliced_2 = tensor<?x?x?xbf16, #layout.dist<tp = sliced(2)>>
!bf16_tp_partial_sum = tensor<?x?x?xbf16, #layout.dist<tp = partial(sum)>>
builtin.module {
  layout.mesh @mesh(tp = 8)
  func.func @mlp(%x: !tnxnxnxbf16_tp_sliced_1 {coconet.resliced = tensor<?x?x?xbf16>}, %w_up: !tnxnxbf16_tp_sliced_1, %b_up: !tnxbf16_tp_sliced_0, %w_down: !tnxnxbf16_tp_sliced_0, %b_down: tensor<?xbf16>, %residual: !tnxnxnxbf16_tp_sliced_1 {coconet.resliced = tensor<?x?x?xbf16>}, %seed: i64) -> tensor<?x?x?xbf16> {
    %in = coll.overlap {
      %x_ag = coll.all_gather %x over [tp] : !tnxnxnxbf16_tp_sliced_1 -> tensor<?x?x?xbf16>
      %up = comp.matmul %x_ag, %w_up {accumulate = f32} : (tensor<?x?x?xbf16>, !tnxnxbf16_tp_sliced_1) -> !f32_tp_sliced_2
      coll.yield %up : !f32_tp_sliced_2
    } {dim = 1 : i64, chunks = 8 : i64}
    %half = arith.constant 5.000000e-01 : f32
    %one = arith.constant 1.000000e+00 : f32
    %two = arith.constant 2.000000e+00 : f32
    %root2 = math.sqrt %two : f32
    %inv_root2 = arith.divf %one, %root2 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %batch = tensor.dim %in, %c0 : !f32_tp_sliced_2
    %length = tensor.dim %in, %c1 : !f32_tp_sliced_2
    %width = tensor.dim %in, %c2 : !f32_tp_sliced_2
    %act = coll.fused {
      %b_up32 = arith.extf %b_up : !tnxbf16_tp_sliced_0 to !f32_tp_sliced_0
      %b_up_t = comp.broadcast %b_up32 dims [2] like %in : !f32_tp_sliced_0, !f32_tp_sliced_2 -> !f32_tp_sliced_2
      %z = arith.addf %in, %b_up_t : !f32_tp_sliced_2
      %ones = tensor.splat %one[%batch, %length, %width] : !f32_tp_sliced_2
      %scaled = comp.scale %z by %inv_root2 : !f32_tp_sliced_2
      %erf = math.erf %scaled : !f32_tp_sliced_2
      %cdf2 = arith.addf %erf, %ones : !f32_tp_sliced_2
      %cdf = comp.scale %cdf2 by %half : !f32_tp_sliced_2
      %gelu = arith.mulf %z, %cdf : !f32_tp_sliced_2
      %h = arith.truncf %gelu : !f32_tp_sliced_2 to !bf16_tp_sliced_2
      coll.yield %h : !bf16_tp_sliced_2
    }
    %out = coll.overlap {
      %mm = comp.matmul %act, %w_down {accumulate = f32} : (!bf16_tp_sliced_2, !tnxnxbf16_tp_sliced_0) -> !bf16_tp_partial_sum
      %c = coll.fused over [tp] {
        %sum_rs = coll.reduce_scatter sum %mm over [tp] dim 1 {accumulate = f32} : !bf16_tp_partial_sum -> !tnxnxnxbf16_tp_sliced_1
        %bias_t = comp.broadcast %b_down dims [2] like %sum_rs : tensor<?xbf16>, !tnxnxnxbf16_tp_sliced_1 -> !tnxnxnxbf16_tp_sliced_1
        %shifted = arith.addf %sum_rs, %bias_t : !tnxnxnxbf16_tp_sliced_1
        %dropped = comp.dropout %shifted, %seed {p = 1.000000e-01 : f32, id = 1 : i64} : !tnxnxnxbf16_tp_sliced_1
        %y = arith.addf %dropped, %residual : !tnxnxnxbf16_tp_sliced_1
        coll.yield %y : !tnxnxnxbf16_tp_sliced_1
      }
      coll.yield %c : !tnxnxnxbf16_tp_sliced_1
    } {dim = 1 : i64, chunks = 8 : i64}
    %y_ag = coll.all_gather %out over [tp] : !tnxnxnxbf16_tp_sliced_1 -> tensor<?x?x?xbf16>
    func.return %y_ag : tensor<?x?x?xbf16>
  }
}
