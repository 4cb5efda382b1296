// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// What a module of schedules may hold.

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'func.func' op is no part of a schedule: such a module holds transform.named_sequence alone, and a program stands in a file of its own}}
  func.func @f() {
    func.return
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'layout.mesh' op is no part of a schedule}}
  layout.mesh @mesh(dp = 4)
}

// -----

// expected-error @+1 {{'builtin.module' op holds schedules, which have no level: leave coconet.level out}}
module attributes {transform.with_named_sequence, coconet.level = "rank"} {
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @payload_operation(%program: !transform.any_op) {
    // expected-error @+1 {{'arith.constant' op is no step of a schedule; there are transform.coconet.named, transform.coconet.split, transform.coconet.slice, transform.coconet.reorder, transform.coconet.slice_state, transform.coconet.fuse, transform.coconet.overlap, transform.coconet.combine, transform.coconet.inline}}
    %one = arith.constant 1 : i64
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @upstream_operation(%program: !transform.any_op) {
    // expected-error @+1 {{'transform.structured.match' op is no step of a schedule; there are}}
    %m = transform.structured.match ops {["coll.all_reduce"]} in %program : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'transform.named_sequence' op is no schedule: a schedule takes one argument, the program as !transform.any_op, and gives no result}}
  transform.named_sequence @two_arguments(%program: !transform.any_op, %other: !transform.any_op) {
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{is no schedule: a schedule takes one argument}}
  transform.named_sequence @other_argument(%program: !transform.any_value) {
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{is no schedule: a schedule takes one argument, the program as !transform.any_op, and gives no result}}
  transform.named_sequence @result(%program: !transform.any_op) -> !transform.any_op {
    transform.yield %program : !transform.any_op
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'transform.named_sequence' op Region 'body' at position 0 expected a single block, but got 0 blocks}}
  "transform.named_sequence"() <{sym_name = "no_body", function_type = (!transform.any_op) -> ()}> ({}) : () -> ()
}

// -----

// Schedules in a program.

// expected-error @+1 {{'transform.named_sequence' op is part of a schedule, not of a program: schedules stand in files of their own, in a module with the attribute transform.with_named_sequence}}
transform.named_sequence @no_attribute(%program: !transform.any_op) {
  transform.yield
}

// -----

// expected-error @+1 {{'func.func' op has the type !transform.any_op: a distributed program has floats, integers and index, and tensors of these}}
func.func @step_in_a_function(%program: !transform.any_op) {
  %a = transform.coconet.named "a" in %program
  func.return
}

// -----

func.func @end_of_a_schedule() {
  // expected-error @+1 {{'transform.yield' op is part of a schedule, not of a program}}
  "transform.yield"() : () -> ()
}

// -----

// expected-error @+1 {{'builtin.module' op is one of several modules of a file, or stands in another; schedules are one module: put its sequences into it}}
module attributes {transform.with_named_sequence} {
}
layout.mesh @mesh(dp = 2)

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'transform.named_sequence' op does not end in transform.yield}}
  transform.named_sequence @no_end(%program: !transform.any_op) {
    transform.coconet.slice_state %program
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'transform.named_sequence' op does not end in transform.yield}}
  transform.named_sequence @nothing(%program: !transform.any_op) {
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{'transform.named_sequence' op is named 'a:b', which FILE:NAME cannot select: a name has no ':'}}
  transform.named_sequence @"a:b"(%program: !transform.any_op) {
    transform.yield
  }
}
