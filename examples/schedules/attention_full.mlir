// The paper's schedules of the end of self-attention, for all of it (`examples/attention_full.mlir`). C is what follows
// the all_reduce: bias, dropout, residual.

module attributes {transform.with_named_sequence} {
  // MM-AR-C: matmul, all_reduce, and C as one kernel, which every rank runs on everything.
  transform.named_sequence @mm_ar_c(%program: !transform.any_op) {
    // The softmax and what is around it.
    %scaled = transform.coconet.named "scaled" in %program
    %probs = transform.coconet.named "probs" in %program
    %attend = transform.coconet.fuse %scaled, %probs as "attend" {between}

    %shifted = transform.coconet.named "shifted" in %program
    %y = transform.coconet.named "y" in %program
    %c = transform.coconet.fuse %shifted, %y as "c" {between}
    transform.yield
  }

  // MM-RS-C-AG, the paper's GShard-Eq: each rank runs C on its part of the sequence.
  transform.named_sequence @mm_rs_c_ag(%program: !transform.any_op) {
    // The softmax and what is around it.
    %scaled = transform.coconet.named "scaled" in %program
    %probs = transform.coconet.named "probs" in %program
    %attend = transform.coconet.fuse %scaled, %probs as "attend" {between}

    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    %shifted = transform.coconet.named "shifted" in %program
    %y = transform.coconet.named "y" in %program
    %c = transform.coconet.fuse %shifted, %y as "c" {between}
    transform.yield
  }

  // ol(MM, fuse(RS-C-AG)): the collectives and C are one kernel, which starts on a chunk of the sequence as soon as the
  // last matmul has made it.
  transform.named_sequence @ol_mm_fuse_rs_c_ag(%program: !transform.any_op) {
    // The softmax and what is around it.
    %scaled = transform.coconet.named "scaled" in %program
    %probs = transform.coconet.named "probs" in %program
    %attend = transform.coconet.fuse %scaled, %probs as "attend" {between}

    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    %mm = transform.coconet.named "mm" in %program
    %y_ag = transform.coconet.named "y_ag" in %program
    %c = transform.coconet.fuse %sum_rs, %y_ag as "c" {between}
    %out = transform.coconet.overlap %mm, %c as "out" {dim = 1, chunks = 8}
    transform.yield
  }

  // Sequence parallelism, not in the paper: x and the residual arrive in parts of the sequence. The gather of x overlaps
  // with the first matmul that reads it, the last matmul with the reduce_scatter and C.
  transform.named_sequence @sequence_parallel(%program: !transform.any_op) {
    // The softmax and what is around it.
    %scaled = transform.coconet.named "scaled" in %program
    %probs = transform.coconet.named "probs" in %program
    %attend = transform.coconet.fuse %scaled, %probs as "attend" {between}

    %x_slice, %x_ag = transform.coconet.slice %program {arg = "x", over = ["tp"], dim = 1}

    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    transform.coconet.slice_state %program {args = ["x", "residual"]}

    %q_flat = transform.coconet.named "q_flat" in %program
    %in = transform.coconet.overlap %x_ag, %q_flat as "in" {dim = 1, chunks = 8}
    %mm = transform.coconet.named "mm" in %program
    %y = transform.coconet.named "y" in %program
    %c = transform.coconet.fuse %sum_rs, %y as "c" {between}
    %out = transform.coconet.overlap %mm, %c as "out" {dim = 1, chunks = 8}
    transform.yield
  }
}
