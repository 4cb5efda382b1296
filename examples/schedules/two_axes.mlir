// The paper's schedules of Adam, for a matrix whose columns are cut by tp already (`examples/two_axes.mlir`). Rows are
// cut by dp: a rank keeps the moments of its rows of its columns.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced over dp, then one kernel does the whole step on the columns.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %mu, %vu, %wu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq. The gradient is sent as bf16, the new weights as f32.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {dim = 0}
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wnew = transform.coconet.named "wnew" in %program
    %opt = transform.coconet.fuse %mu, %vu, %wnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): the same as one kernel, with the collectives at its ends.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {dim = 0}
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %avg_rs, %mu, %vu, %wu as "opt" {between}
    transform.yield
  }
}
