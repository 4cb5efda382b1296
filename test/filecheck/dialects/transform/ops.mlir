// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP

// CHECK: builtin.module attributes {transform.with_named_sequence} {
module attributes {transform.with_named_sequence} {
  // CHECK-NEXT: transform.named_sequence @all(%program: !transform.any_op) {
  transform.named_sequence @all(%program: !transform.any_op) {
    // CHECK-NEXT: %a = transform.coconet.named "a" in %program
    %a = transform.coconet.named "a" in %program
    // CHECK-NEXT: %b = transform.coconet.named "b" in %program {func = "f"}
    %b = transform.coconet.named "b" in %program {func = "f"}
    // CHECK-NEXT: %a_rs, %a_ag = transform.coconet.split %a
    %a_rs, %a_ag = transform.coconet.split %a {}
    // CHECK-NEXT: %b_rs, %b_ag = transform.coconet.split %b {dim = 1, unit = 8, axes = ["dp", "tp"], into = "rs-ag", root = [0, 1]}
    %b_rs, %b_ag = transform.coconet.split %b {root = [0, 1], into = "rs-ag", axes = ["dp", "tp"], unit = 8, dim = 1}
    // CHECK-NEXT: %s, %g = transform.coconet.slice %a_rs {over = ["dp"], dim = 0, unit = 2}
    %s, %g = transform.coconet.slice %a_rs {over = ["dp"], dim = 0, unit = 2}
    // CHECK-NEXT: %w_slice, %w_ag = transform.coconet.slice %program {over = ["dp"], arg = "w", func = "f"}
    %w_slice, %w_ag = transform.coconet.slice %program {arg = "w", over = ["dp"], func = "f"}
    // CHECK-NEXT: transform.coconet.reorder %a_ag
    transform.coconet.reorder %a_ag
    // CHECK-NEXT: transform.coconet.reorder %b_ag {ops = ["x", "y"], allow_more_bytes}
    transform.coconet.reorder %b_ag {allow_more_bytes, ops = ["x", "y"]}
    // CHECK-NEXT: transform.coconet.slice_state %program
    transform.coconet.slice_state %program
    // CHECK-NEXT: transform.coconet.slice_state %program {args = ["m", "v"], func = "f"}
    transform.coconet.slice_state %program {args = ["m", "v"], func = "f"}
    // CHECK-NEXT: %fused = transform.coconet.fuse %a_rs, %b_rs
    %fused = transform.coconet.fuse %a_rs, %b_rs
    // CHECK-NEXT: %opt = transform.coconet.fuse %g, %s as "opt" {between}
    %opt = transform.coconet.fuse %g, %s {named = "opt", between}
    // CHECK-NEXT: %o = transform.coconet.overlap %fused, %opt as "o" {dim = 1, chunks = 8, between}
    %o = transform.coconet.overlap %fused, %opt as "o" {between, chunks = 8, dim = 1}
    // CHECK-NEXT: %group = transform.coconet.combine %w_slice, %w_ag as "a \22group\22" {my.note = 3 : i32, my.list = [1]}
    %group = transform.coconet.combine %w_slice, %w_ag as "a \22group\22" {my.note = 3 : i32, my.list = [1]}
    // CHECK-NEXT: transform.coconet.inline %o
    transform.coconet.inline %o
    // CHECK-NEXT: transform.coconet.combine %program
    transform.coconet.combine %program
    // CHECK-NEXT: transform.coconet.combine %program {func = "f"}
    transform.coconet.combine %program {func = "f"}
    // CHECK-NEXT: transform.coconet.inline %program
    transform.coconet.inline %program
    // CHECK-NEXT: transform.coconet.inline %program {func = "f"}
    transform.coconet.inline %program {func = "f"}
    // CHECK-NEXT: transform.yield
    transform.yield
  }

  // CHECK: transform.named_sequence @empty(%{{.*}}: !transform.any_op {transform.readonly}) {
  // CHECK-NEXT: transform.yield
  transform.named_sequence @empty(%0: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}

// -----

// CHECK: builtin.module attributes {transform.with_named_sequence} {
// CHECK-NEXT: }
module attributes {transform.with_named_sequence} {
}
