// The paper's schedules of LAMB on all tensors of a model at once (`examples/lamb_segments.mlir`), its scattered
// tensors. Each tensor has its norms; what a rank has of a norm is the sum over its part of the tensor.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradients are all_reduced, and every rank does the whole step in one kernel.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %avg32 = transform.coconet.named "avg32" in %program
    %ww = transform.coconet.named "ww" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %avg32, %ww, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq: each rank works on its part of all tensors together, and keeps that part of w, m
  // and v alone. The norms of all tensors are one all_reduce.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    // Up to the sums: the moments, the direction of the step, the sums of squares a tensor.
    %avg32 = transform.coconet.named "avg32" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %w_squares = transform.coconet.named "wsq" in %program
    %r_squares = transform.coconet.named "rsq" in %program
    %direction = transform.coconet.fuse %avg32, %mu, %vu, %w_squares, %r_squares as "direction" {between}
    %w_total = transform.coconet.named "wsq_ar" in %program
    %r_total = transform.coconet.named "rsq_ar" in %program
    %totals = transform.coconet.combine %w_total, %r_total as "totals"

    // From the sums on.
    %wn = transform.coconet.named "wn" in %program
    %rn = transform.coconet.named "rn" in %program
    %wu = transform.coconet.named "wu" in %program
    %pnew = transform.coconet.named "pnew" in %program
    %opt = transform.coconet.fuse %wn, %rn, %wu, %pnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): one kernel from the gradients to the new parameters, in which the ranks meet to add up the norms.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %ww = transform.coconet.named "ww" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %avg_rs, %ww, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }
}
