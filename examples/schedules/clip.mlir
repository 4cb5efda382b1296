// The paper's schedules of an optimizer, for Adam behind clipping by the global norm (`examples/clip.mlir`). The norm
// needs every element of the gradient before the first one can be used.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced, then one kernel takes its norm and does the whole step on every rank.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %gn = transform.coconet.named "gn" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %gn, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq: each rank works on its part of the gradient, and keeps that part of w, m and v
  // alone. The norm is a sum over parts and an all_reduce of one number.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    // The sum of squares, before the all_reduce, and the rest behind it.
    %squares = transform.coconet.named "gn_mulf" in %program
    %total = transform.coconet.named "gn_reduce" in %program
    %norm = transform.coconet.fuse %squares, %total as "norm"
    %gn = transform.coconet.named "gn" in %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pnew = transform.coconet.named "pnew" in %program
    %opt = transform.coconet.fuse %gn, %mu, %vu, %wu, %pnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): one kernel from the gradients to the new parameters, in which the ranks meet to add up the norm.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %avg_rs, %mu, %vu, %wu, %pu as "opt" {between}
    transform.yield
  }
}
