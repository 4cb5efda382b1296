// The paper's schedules of Adam in one precision (`examples/adam_f32.mlir`): its moments are state, its weights are
// read whole by the next forward pass.

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced, then one kernel does the whole step on every rank.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %mu, %vu, %wu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq: each rank does its part of the step, and keeps that part of the moments alone.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
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
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %mu = transform.coconet.named "mu" in %program
    %vu = transform.coconet.named "vu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %avg_rs, %mu, %vu, %wu as "opt" {between}
    transform.yield
  }
}
