// Schedules of SGD on several tensors (`examples/buckets.mlir`), with fewer launches for many tensors. The paper has
// this in one form only: all tensors as one.

module attributes {transform.with_named_sequence} {
  // AR-Opt: one launch averages all gradients, then one kernel a tensor does the step.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %up_avg = transform.coconet.named "up_avg" in %program
    %bias_avg = transform.coconet.named "bias_avg" in %program
    %down_avg = transform.coconet.named "down_avg" in %program
    %grads = transform.coconet.combine %up_avg, %bias_avg, %down_avg as "grads"

    %up_kept = transform.coconet.named "up_kept" in %program
    %up_uu = transform.coconet.named "up_uu" in %program
    %up_wu = transform.coconet.named "up_wu" in %program
    %up_opt = transform.coconet.fuse %up_kept, %up_uu, %up_wu as "up_opt" {between}
    %bias_kept = transform.coconet.named "bias_kept" in %program
    %bias_uu = transform.coconet.named "bias_uu" in %program
    %bias_wu = transform.coconet.named "bias_wu" in %program
    %bias_opt = transform.coconet.fuse %bias_kept, %bias_uu, %bias_wu as "bias_opt" {between}
    %down_kept = transform.coconet.named "down_kept" in %program
    %down_uu = transform.coconet.named "down_uu" in %program
    %down_wu = transform.coconet.named "down_wu" in %program
    %down_opt = transform.coconet.fuse %down_kept, %down_uu, %down_wu as "down_opt" {between}
    transform.yield
  }

  // RS-Opt-AG: each rank does its part of every step, and keeps that part of each velocity alone. One launch scatters
  // all gradients, one gathers all weights.
  transform.named_sequence @rs_opt_ag(%program: !transform.any_op) {
    %up_avg = transform.coconet.named "up_avg" in %program
    %up_rs, %up_ag = transform.coconet.split %up_avg {dim = 0}
    transform.coconet.reorder %up_ag
    %bias_avg = transform.coconet.named "bias_avg" in %program
    %bias_rs, %bias_ag = transform.coconet.split %bias_avg
    transform.coconet.reorder %bias_ag
    %down_avg = transform.coconet.named "down_avg" in %program
    %down_rs, %down_ag = transform.coconet.split %down_avg {dim = 0}
    transform.coconet.reorder %down_ag
    transform.coconet.slice_state %program

    %up_kept = transform.coconet.named "up_kept" in %program
    %up_uu = transform.coconet.named "up_uu" in %program
    %up_wnew = transform.coconet.named "up_wnew" in %program
    %up_opt = transform.coconet.fuse %up_kept, %up_uu, %up_wnew as "up_opt" {between}
    %bias_kept = transform.coconet.named "bias_kept" in %program
    %bias_uu = transform.coconet.named "bias_uu" in %program
    %bias_wnew = transform.coconet.named "bias_wnew" in %program
    %bias_opt = transform.coconet.fuse %bias_kept, %bias_uu, %bias_wnew as "bias_opt" {between}
    %down_kept = transform.coconet.named "down_kept" in %program
    %down_uu = transform.coconet.named "down_uu" in %program
    %down_wnew = transform.coconet.named "down_wnew" in %program
    %down_opt = transform.coconet.fuse %down_kept, %down_uu, %down_wnew as "down_opt" {between}

    %grads = transform.coconet.combine %up_rs, %bias_rs, %down_rs as "grads"
    %up_wnew_ag = transform.coconet.named "up_wnew_ag" in %program
    %bias_wnew_ag = transform.coconet.named "bias_wnew_ag" in %program
    %down_wnew_ag = transform.coconet.named "down_wnew_ag" in %program
    %weights = transform.coconet.combine %up_wnew_ag, %bias_wnew_ag, %down_wnew_ag as "weights"
    transform.yield
  }

  // fuse(RS-Opt-AG) for each tensor: one kernel with its collectives.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %up_avg = transform.coconet.named "up_avg" in %program
    %up_rs, %up_ag = transform.coconet.split %up_avg {dim = 0}
    transform.coconet.reorder %up_ag
    %bias_avg = transform.coconet.named "bias_avg" in %program
    %bias_rs, %bias_ag = transform.coconet.split %bias_avg
    transform.coconet.reorder %bias_ag
    %down_avg = transform.coconet.named "down_avg" in %program
    %down_rs, %down_ag = transform.coconet.split %down_avg {dim = 0}
    transform.coconet.reorder %down_ag
    transform.coconet.slice_state %program

    %up_uu = transform.coconet.named "up_uu" in %program
    %up_wu = transform.coconet.named "up_wu" in %program
    %up_opt = transform.coconet.fuse %up_rs, %up_uu, %up_wu as "up_opt" {between}
    %bias_uu = transform.coconet.named "bias_uu" in %program
    %bias_wu = transform.coconet.named "bias_wu" in %program
    %bias_opt = transform.coconet.fuse %bias_rs, %bias_uu, %bias_wu as "bias_opt" {between}
    %down_uu = transform.coconet.named "down_uu" in %program
    %down_wu = transform.coconet.named "down_wu" in %program
    %down_opt = transform.coconet.fuse %down_rs, %down_uu, %down_wu as "down_opt" {between}
    transform.yield
  }
}
