// Schedules of a mixture of experts (`examples/moe.mlir`), which the paper does not have.

module attributes {transform.with_named_sequence} {
  // What happens to slots on their way is one kernel with the all_to_all: they are stored where the experts read them,
  // and back where the tokens are put together.
  transform.named_sequence @fuse_exchange(%program: !transform.any_op) {
    %arrived = transform.coconet.named "arrived" in %program
    %arrived_t = transform.coconet.named "arrived_t" in %program
    %act = transform.coconet.named "act" in %program
    %h = transform.coconet.named "h" in %program
    %out_t = transform.coconet.named "out_t" in %program
    %back = transform.coconet.named "back" in %program
    %dispatched = transform.coconet.fuse %arrived, %arrived_t as "dispatched" {between}
    %hidden = transform.coconet.fuse %act, %h as "hidden"
    %returned = transform.coconet.fuse %out_t, %back as "returned" {between}
    transform.yield
  }

  // The same, with all of it at once, expert by expert: while the slots of some experts travel to them or back, the
  // slots of others are multiplied.
  transform.named_sequence @ol_exchange(%program: !transform.any_op) {
    %arrived = transform.coconet.named "arrived" in %program
    %arrived_t = transform.coconet.named "arrived_t" in %program
    %act = transform.coconet.named "act" in %program
    %h = transform.coconet.named "h" in %program
    %out_t = transform.coconet.named "out_t" in %program
    %back = transform.coconet.named "back" in %program
    %dispatched = transform.coconet.fuse %arrived, %arrived_t as "dispatched" {between}
    %hidden = transform.coconet.fuse %act, %h as "hidden"
    %returned = transform.coconet.fuse %out_t, %back as "returned" {between}
    %up = transform.coconet.named "up" in %program
    %out = transform.coconet.named "out" in %program
    %experts = transform.coconet.overlap %dispatched, %up, %hidden, %out, %returned as "experts" {dim = 0, chunks = 4, between}
    transform.yield
  }
}
