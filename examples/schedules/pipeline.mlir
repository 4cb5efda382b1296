// The paper's schedules of pipeline parallelism (`examples/pipeline.mlir`). C is bias, dropout, residual; P2P is the
// send to the next stage.

module attributes {transform.with_named_sequence} {
  // AR-C-P2P-AG: every rank of a stage has the whole result, so each sends a tp-th of it and the next stage gathers.
  transform.named_sequence @ar_c_p2p_ag(%program: !transform.any_op) {
    %shifted = transform.coconet.named "shifted" in %program
    %o = transform.coconet.named "o" in %program
    %o_slice, %o_ag = transform.coconet.slice %o {over = ["tp"], dim = 1}
    transform.coconet.reorder %o_ag {ops = ["next"]}
    %c = transform.coconet.fuse %shifted, %o as "c" {between}
    transform.yield
  }

  // RS-C-P2P-AG, the paper's GShard-Eq: each rank also runs C on its tp-th alone.
  transform.named_sequence @rs_c_p2p_ag(%program: !transform.any_op) {
    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    %shifted = transform.coconet.named "shifted" in %program
    %o = transform.coconet.named "o" in %program
    %c = transform.coconet.fuse %shifted, %o as "c" {between}
    transform.yield
  }

  // ol(RS, fuse(C-P2P), AG): C and the send are one kernel, and while it sends one chunk of the sequence, the next one
  // is reduced and the one before is gathered.
  transform.named_sequence @ol_rs_fuse_c_p2p_ag(%program: !transform.any_op) {
    %sum = transform.coconet.named "sum" in %program
    %sum_rs, %sum_ag = transform.coconet.split %sum {dim = 1}
    transform.coconet.reorder %sum_ag

    %shifted = transform.coconet.named "shifted" in %program
    %next = transform.coconet.named "next" in %program
    %next_ag = transform.coconet.named "next_ag" in %program
    %send = transform.coconet.fuse %shifted, %next as "send" {between}
    %out = transform.coconet.overlap %sum_rs, %send, %next_ag as "out" {dim = 1, chunks = 8}
    transform.yield
  }
}
