// The boundary between two pipeline stages: the last block of a stage ends, its result is sent to the next stage.
//
//     o      = dropout(sum over tp of in + bias) + residual
//     result = o of the stage before                   stage 0 gets that of the last stage
//
// Each stage of pp has values of its own (local); within a stage, tp holds the terms of a sum. Stages draw different
// dropout masks, since the layout is local over pp. Split along the sequence (dim=1) and reordered, each rank of a
// stage sends a tp-th of the elements. With one stage, the permute is the identity.

layout.mesh @mesh(pp = 2, tp = 8)

!in = tensor<?x?x?xf16, #layout.dist<pp = local, tp = local>>
!bias = tensor<?xf16, #layout.dist<pp = local>>
!stage = tensor<?x?x?xf16, #layout.dist<pp = local>>

func.func @pipeline(%in: !in, %bias: !bias, %residual: !stage, %seed: i64) -> !stage {
  %sum = coll.all_reduce sum %in over [tp] {accumulate = f32} : !in -> !stage
  %bias_t = comp.broadcast %bias dims [2] like %sum : !bias, !stage -> !stage
  %shifted = arith.addf %sum, %bias_t : !stage
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !stage
  %o = arith.addf %dropped, %residual : !stage
  %next = coll.permute %o over [pp] shift 1 : !stage -> !stage
  func.return %next : !stage
}
