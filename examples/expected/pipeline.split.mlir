// From: coconet-opt examples/pipeline.mlir -p 'coconet-split{op=sum dim=1}'
//
// The all_reduce is a reduce_scatter and an all_gather along the sequence.

layout.mesh @mesh(pp = 2, tp = 8)

!in = tensor<?x?x?xf16, #layout.dist<pp = local, tp = local>>
!bias = tensor<?xf16, #layout.dist<pp = local>>
!stage = tensor<?x?x?xf16, #layout.dist<pp = local>>
!slice = tensor<?x?x?xf16, #layout.dist<pp = local, tp = sliced(1)>>

func.func @pipeline(%in: !in, %bias: !bias, %residual: !stage, %seed: i64) -> !stage {
  %sum_rs = coll.reduce_scatter sum %in over [tp] dim 1 {accumulate = f32} : !in -> !slice
  %sum_ag = coll.all_gather %sum_rs over [tp] : !slice -> !stage
  %bias_t = comp.broadcast %bias dims [2] like %sum_ag : !bias, !stage -> !stage
  %shifted = arith.addf %sum_ag, %bias_t : !stage
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !stage
  %o = arith.addf %dropped, %residual : !stage
  %next = coll.permute %o over [pp] shift 1 : !stage -> !stage
  func.return %next : !stage
}
