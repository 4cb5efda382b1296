// The paper's schedules of SGD (`examples/sgd.mlir`).

module attributes {transform.with_named_sequence} {
  // AR-Opt: the gradient is all_reduced, then one kernel does the whole step on every rank.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %decayed = transform.coconet.named "decayed" in %program
    %uu = transform.coconet.named "uu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %decayed, %uu, %wu as "opt" {between}
    transform.yield
  }

  // RS-Opt-AG, the paper's GShard-Eq: each rank does its part of the step, and keeps that part of the velocity alone.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %decayed = transform.coconet.named "decayed" in %program
    %uu = transform.coconet.named "uu" in %program
    %wnew = transform.coconet.named "wnew" in %program
    %opt = transform.coconet.fuse %decayed, %uu, %wnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG): the same as one kernel, with the collectives at its ends.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program

    %uu = transform.coconet.named "uu" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %avg_rs, %uu, %wu as "opt" {between}
    transform.yield
  }
}
