// The paper's three schedules of Adam (`examples/adam.mlir`), all from the same program.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced, then one kernel does the whole step.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %pu = transform.coconet.named "pu" in %program
    %opt = transform.coconet.fuse %mu, %vu, %pu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG: each rank works on its part of the weights and keeps that part of w, m and v alone. Three launches:
  // reduce_scatter, one kernel, all_gather.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %pnew = transform.coconet.named "pnew" in %program
    %opt = transform.coconet.fuse %mu, %vu, %wu, %pnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): the same as one kernel, with the collectives at its ends.
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
