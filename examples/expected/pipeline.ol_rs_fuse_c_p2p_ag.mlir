// From: coconet-opt examples/pipeline.mlir --schedule examples/schedules/pipeline.mlir:ol_rs_fuse_c_p2p_ag
//
// While one chunk of the sequence is sent to the next stage, the next chunk is reduced and the one before gathered.

!f16_pp_local_tp_local = tensor<?x?x?xf16, #layout.dist<pp = local, tp = local>>
!tnxf16_pp_local = tensor<?xf16, #layout.dist<pp = local>>
!tnxnxnxf16_pp_local = tensor<?x?x?xf16, #layout.dist<pp = local>>
!f16_pp_local_tp_sliced_1 = tensor<?x?x?xf16, #layout.dist<pp = local, tp = sliced(1)>>
builtin.module {
  layout.mesh @mesh(pp = 2, tp = 8)
  func.func @pipeline(%in: !f16_pp_local_tp_local, %bias: !tnxf16_pp_local, %residual: !tnxnxnxf16_pp_local, %seed: i64) -> !tnxnxnxf16_pp_local {
    %out = coll.overlap {
      %sum_rs = coll.reduce_scatter sum %in over [tp] dim 1 {accumulate = f32} : !f16_pp_local_tp_local -> !f16_pp_local_tp_sliced_1
      %send = coll.fused over [pp] {
        %residual_slice = layout.slice %residual over [tp] dim 1 : !tnxnxnxf16_pp_local -> !f16_pp_local_tp_sliced_1
        %bias_t = comp.broadcast %bias dims [2] like %sum_rs : !tnxf16_pp_local, !f16_pp_local_tp_sliced_1 -> !f16_pp_local_tp_sliced_1
        %shifted = arith.addf %sum_rs, %bias_t : !f16_pp_local_tp_sliced_1
        %dropped = comp.dropout %shifted, %seed {p = 1.000000e-01 : f32, id = 1 : i64} : !f16_pp_local_tp_sliced_1
        %o = arith.addf %dropped, %residual_slice : !f16_pp_local_tp_sliced_1
        %next = coll.permute %o over [pp] shift 1 : !f16_pp_local_tp_sliced_1 -> !f16_pp_local_tp_sliced_1
        coll.yield %next : !f16_pp_local_tp_sliced_1
      }
      %next_ag = coll.all_gather %send over [tp] : !f16_pp_local_tp_sliced_1 -> !tnxnxnxf16_pp_local
      coll.yield %next_ag : !tnxnxnxf16_pp_local
    } {dim = 1 : i64, chunks = 8 : i64}
    func.return %out : !tnxnxnxf16_pp_local
  }
}
