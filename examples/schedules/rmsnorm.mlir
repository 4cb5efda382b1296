// Schedules of all_reduce, residual and RMSNorm (`examples/rmsnorm.mlir`), which the paper does not have.

module attributes {transform.with_named_sequence} {
  // One kernel. Every rank keeps the whole residual stream and normalises all of it.
  transform.named_sequence @fuse_ar_norm(%program: !transform.any_op) {
    %sum = transform.coconet.named "sum" in %program
    %su = transform.coconet.named "su" in %program
    %y = transform.coconet.named "y" in %program
    %norm = transform.coconet.fuse %sum, %su, %y as "norm" {between}
    transform.yield
  }

  // Sequence parallelism: each rank keeps its part of the stream alone, and only what the blocks read is gathered.
  transform.named_sequence @rs_norm_ag(%program: !transform.any_op) {
    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    transform.coconet.slice_state %program
    %snew = transform.coconet.named "snew" in %program
    %su = transform.coconet.named "su" in %program
    %y = transform.coconet.named "y" in %program
    %norm = transform.coconet.fuse %snew, %su, %y as "norm"
    transform.yield
  }

  // The same as one kernel, with the collectives at its ends.
  transform.named_sequence @fuse_rs_norm_ag(%program: !transform.any_op) {
    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    transform.coconet.slice_state %program
    %su = transform.coconet.named "su" in %program
    %y_ag = transform.coconet.named "y_ag" in %program
    %norm = transform.coconet.fuse %sum_rs, %su, %y_ag as "norm" {between}
    transform.yield
  }
}
