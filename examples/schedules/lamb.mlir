// The paper's schedules of LAMB (`examples/lamb.mlir`). Its norms and its overflow check need all elements before the
// first weight can change.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced, and every rank does the whole step in one kernel. The norm of the old weights is
  // complete before it stores the new ones.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %avg32 = transform.coconet.named "avg32" in %program
    %finite = transform.coconet.named "finite" in %program
    %wn = transform.coconet.named "wn" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %avg32, %finite, %wn, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq: each rank works on its part of the gradient, and keeps that part of w, m and v
  // alone. The norms are sums over parts and one all_reduce of two numbers.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    // Up to the sums: the direction of the step, the sums of squares, the least flag.
    %avg32 = transform.coconet.named "avg32" in %program
    %least = transform.coconet.named "least" in %program
    %w_squares = transform.coconet.named "wn_reduce" in %program
    %r_squares = transform.coconet.named "rn_reduce" in %program
    %direction = transform.coconet.fuse %avg32, %least, %w_squares, %r_squares as "direction" {between}
    %w_total = transform.coconet.named "wn_reduce_ar" in %program
    %r_total = transform.coconet.named "rn_reduce_ar" in %program
    %totals = transform.coconet.combine %w_total, %r_total as "totals"

    // From the sums on.
    %wn = transform.coconet.named "wn" in %program
    %rn = transform.coconet.named "rn" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pnew = transform.coconet.named "pnew" in %program
    %opt = transform.coconet.fuse %wn, %rn, %mu, %vu, %wu, %pnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): one kernel from the gradients to the new parameters, in which the ranks meet to add up the norms
  // and the overflow check.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %w_squares = transform.coconet.named "wn_mulf" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %avg_rs, %w_squares, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }
}
