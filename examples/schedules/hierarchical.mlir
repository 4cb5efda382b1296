// Schedules of SGD on a machine of two levels (`examples/hierarchical.mlir`). The first two are the paper's, which take
// all ranks alike; the others send less between nodes, where links are slow.

module attributes {transform.with_named_sequence} {
  // AR-Opt: one all_reduce over all ranks, then one kernel does the whole step.
  transform.named_sequence @ar_opt(%program: !transform.any_op) {
    %move = transform.coconet.named "move" in %program
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %move, %wu as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG) over all ranks at once.
  transform.named_sequence @fuse_rs_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.coconet.reorder %avg_ag
    %wu = transform.coconet.named "wu" in %program
    %opt = transform.coconet.fuse %avg_rs, %wu as "opt" {between}
    transform.yield
  }

  // reduce_scatter within the node, all_reduce of a gpu-th of the gradient between nodes, all_gather within the node.
  // The step runs on the parts, in one kernel with the all_reduce: a kernel has collectives of one list of axes.
  transform.named_sequence @rs_fuse_ar_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {axes = ["gpu"]}
    transform.coconet.reorder %avg_ag
    %avg_ar = transform.coconet.named "avg_ar" in %program
    %wnew = transform.coconet.named "wnew" in %program
    %opt = transform.coconet.fuse %avg_ar, %wnew as "opt" {between}
    transform.yield
  }

  // fuse(RS-Opt-AG) between nodes, within reduce_scatter and all_gather in the node: as few bytes as before, and each
  // rank does its part of all ranks' step.
  transform.named_sequence @rs_fuse_rs_opt_ag_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {axes = ["gpu"]}
    transform.coconet.reorder %avg_ag
    %avg_ar = transform.coconet.named "avg_ar" in %program
    %node_rs, %node_ag = transform.coconet.split %avg_ar {dim = 0}
    transform.coconet.reorder %node_ag
    %wnew = transform.coconet.named "wnew" in %program
    %node_wnew = transform.coconet.named "wnew_ag2" in %program
    %opt = transform.coconet.fuse %node_rs, %wnew, %node_wnew as "opt" {between}
    transform.yield
  }

  // As `rs_fuse_ar_opt_ag`, with the links within the node and between nodes at work at once, on different chunks.
  transform.named_sequence @ol_rs_fuse_ar_opt_ag(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {axes = ["gpu"]}
    transform.coconet.reorder %avg_ag
    %avg_ar = transform.coconet.named "avg_ar" in %program
    %wnew = transform.coconet.named "wnew" in %program
    %wnew_ag = transform.coconet.named "wnew_ag" in %program
    %opt = transform.coconet.fuse %avg_ar, %wnew as "opt" {between}
    %step = transform.coconet.overlap %avg_rs, %opt, %wnew_ag as "step" {chunks = 8}
    transform.yield
  }
}
