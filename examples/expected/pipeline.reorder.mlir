// From: coconet-opt examples/pipeline.mlir -p 'coconet-split{op=sum dim=1},coconet-reorder{op=sum_ag}'
//
// The all_gather has crossed the send: each rank of tp sends its slice of the sequence to the next stage.

layout.mesh @mesh(pp = 2, tp = 8)

!in = tensor<?x?x?xf16, #layout.dist<pp = local, tp = local>>
!bias = tensor<?xf16, #layout.dist<pp = local>>
!stage = tensor<?x?x?xf16, #layout.dist<pp = local>>
!slice = tensor<?x?x?xf16, #layout.dist<pp = local, tp = sliced(1)>>

func.func @pipeline(%in: !in, %bias: !bias, %residual: !stage, %seed: i64) -> !stage {
  %residual_slice = layout.slice %residual over [tp] dim 1 : !stage -> !slice
  %sum_rs = coll.reduce_scatter sum %in over [tp] dim 1 {accumulate = f32} : !in -> !slice
  %bias_t = comp.broadcast %bias dims [2] like %sum_rs : !bias, !slice -> !slice
  %shifted = arith.addf %sum_rs, %bias_t : !slice
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !slice
  %o = arith.addf %dropped, %residual_slice : !slice
  %next = coll.permute %o over [pp] shift 1 : !slice -> !slice
  %next_ag = coll.all_gather %next over [tp] : !slice -> !stage
  func.return %next_ag : !stage
}
