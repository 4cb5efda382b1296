// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// Options.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @unknown_option(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.split' op has no option 'dims'; it has dim, unit, axes, into, root}}
    %rs, %ag = transform.coconet.split %a {dims = 0}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @no_options(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.inline' op has no option 'named'; it has func}}
    transform.coconet.inline %a as "x"
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @text_for_number(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'dim' takes a number of at most 2^62 as i64, not "x"}}
    %rs, %ag = transform.coconet.split %a {dim = "x"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @other_width(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'unit' takes a number of at most 2^62 as i64, not 1 : i32}}
    %rs, %ag = transform.coconet.split %a {unit = 1 : i32}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @too_large(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    %b = transform.coconet.named "b" in %program
    // expected-error @+1 {{option 'chunks' takes a number of at most 2^62 as i64, not 9223372036854775807}}
    %o = transform.coconet.overlap %a, %b {chunks = 9223372036854775807}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @empty_list(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'over' takes names, as in ["x", "y"], not []}}
    %s, %ag = transform.coconet.slice %a {over = []}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @one_name_for_a_list(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'ops' takes names, as in ["x", "y"], not "b"}}
    transform.coconet.reorder %a {ops = "b"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @mixed_list(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'root' takes numbers, as in [0, 1], not [0, "x"]}}
    %rs, %ag = transform.coconet.split %a {root = [0, "x"]}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @other_words(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'into' takes "rs-ag" or "reduce-broadcast", not "ring"}}
    %rs, %ag = transform.coconet.split %a {into = "ring"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @value_for_a_flag(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'allow_more_bytes' takes no value: write it alone, or leave it out, not true}}
    transform.coconet.reorder %a {allow_more_bytes = true}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @empty_name(%program: !transform.any_op) {
    // expected-error @+1 {{option 'op' takes a name, as in "x", not ""}}
    %a = transform.coconet.named "" in %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @missing_option(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.slice' op needs the option over, the axes to slice over: over = ["dp"]}}
    %s, %ag = transform.coconet.slice %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @function_without_argument(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'func' goes with 'arg': handles stand for operations of their functions}}
    %s, %ag = transform.coconet.slice %a {over = ["tp"], func = "f"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @given_twice(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'named' is given twice}}
    %f = transform.coconet.fuse %a as "x" {named = "y"}
    transform.yield
  }
}

// -----

// Handles.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @consumed(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-note @+1 {{the split is here}}
    %rs, %ag = transform.coconet.split %a
    // expected-error @+1 {{'transform.coconet.reorder' op takes %a, which stands for nothing any more: split made something else of its operation}}
    transform.coconet.reorder %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @consumed_by_fuse(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    %b = transform.coconet.named "b" in %program
    // expected-note @+1 {{the fuse is here}}
    %f = transform.coconet.fuse %a, %b
    // expected-error @+1 {{takes %b, which stands for nothing any more: fuse made something else of its operation}}
    %s, %ag = transform.coconet.slice %b {over = ["tp"]}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @consumed_without_a_name(%program: !transform.any_op) {
    %0 = transform.coconet.named "a" in %program
    // expected-note @+1 {{the reorder is here}}
    transform.coconet.reorder %0
    // expected-error @+1 {{takes a handle, which stands for nothing any more: reorder made something else}}
    transform.coconet.inline %0
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @twice(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.combine' op takes %a twice}}
    %g = transform.coconet.combine %a, %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @too_many(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    %b = transform.coconet.named "b" in %program
    // expected-error @+1 {{'transform.coconet.split' op Expected 1 operand, but got 2}}
    %rs, %ag = transform.coconet.split %a, %b
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @none(%program: !transform.any_op) {
    // expected-error @+1 {{'transform.coconet.fuse' op takes at least one handle}}
    %f = "transform.coconet.fuse"() : () -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @program_for_operation(%program: !transform.any_op) {
    // expected-error @+1 {{takes an operation, not the program: name one with transform.coconet.named "…"}}
    %rs, %ag = transform.coconet.split %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @slice_of_the_program(%program: !transform.any_op) {
    // expected-error @+1 {{takes an operation, not the program: name one with transform.coconet.named "…", or an argument with arg =}}
    %s, %ag = transform.coconet.slice %program {over = ["tp"]}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @argument_of_an_operation(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{takes the program with arg =, that is the argument of the schedule, not an operation}}
    %s, %ag = transform.coconet.slice %a {arg = "w", over = ["tp"]}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @named_in_an_operation(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.named' op takes the program, that is the argument of the schedule, not an operation}}
    %b = transform.coconet.named "b" in %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @before_its_definition(%program: !transform.any_op) {
    // expected-error @+1 {{'transform.coconet.reorder' op operand #0 (%ag) is used before its definition; move this operation below it}}
    transform.coconet.reorder %ag
    %a = transform.coconet.named "a" in %program
    // expected-note @+1 {{defined here}}
    %rs, %ag = transform.coconet.split %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @no_program(%program: !transform.any_op) {
    // expected-error @+1 {{expected the program behind the name: "a" in %program}}
    %a = transform.coconet.named "a"
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @no_handle(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{expected a handle, as in transform.coconet.split %a}}
    %rs, %ag = transform.coconet.split
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @key_twice(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'dim' is given twice}}
    %rs, %ag = transform.coconet.split %a {dim = 0, dim = 1}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @parentheses(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{options stand in braces: {dim = 0}}}
    %rs, %ag = transform.coconet.split %a (dim = 0)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @handle_type(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{handles have one type, which is left out}}
    %rs, %ag = transform.coconet.split %a {dim = 0} : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @bare_option(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{options stand in braces: {between}}}
    %f = transform.coconet.fuse %a as "k" between
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @bare_value(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{options stand in braces: {dim}}}
    %rs, %ag = transform.coconet.split %a dim = 0
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @no_axes(%program: !transform.any_op) {
    // expected-error @+1 {{needs the option over, the axes to slice over: over = ["dp"]}}
    %s, %ag = transform.coconet.slice %program {arg = "w"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @upstream_word(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{operation 'transform.split' is not registered; did you mean 'transform.coconet.split'?}}
    %rs, %ag = transform.split %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @misspelt(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{operation 'transform.coconet.splitt' is not registered; did you mean 'transform.coconet.split'?}}
    %rs, %ag = transform.coconet.splitt %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @other_word(%program: !transform.any_op) {
    // expected-error @+1 {{operation 'transform.coconet.match' is not registered; did you mean 'transform.coconet.named'?}}
    %a = transform.coconet.match "a" in %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @program_and_handle(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{'transform.coconet.combine' op takes the program beside operations: it takes one or the other}}
    transform.coconet.combine %program, %a
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @name_for_all(%program: !transform.any_op) {
    // expected-error @+1 {{'transform.coconet.combine' op makes any number of groups: leave the name out}}
    transform.coconet.combine %program as "g"
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @handle_to_all(%program: !transform.any_op) {
    // expected-error @+1 {{Operation has 0 results, but was given 1 to bind}}
    %g = transform.coconet.combine %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @function_of_handles(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{option 'func' goes with the program: handles stand for operations of their functions}}
    transform.coconet.inline %a {func = "f"}
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @handle_of_all(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    // expected-error @+1 {{gives a handle to the group of what it takes, and none where it takes the program}}
    "transform.coconet.combine"(%a) : (!transform.any_op) -> ()
    transform.yield
  }
}
