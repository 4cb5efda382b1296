// A comment without its diagnostic and a diagnostic without its comment both fail.

// RUN: not coconet-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK:      {{.*}}unexpected.mlir:9:1: error: expected error was not reported: nothing is wrong here
// CHECK-NEXT: {{.*}}unexpected.mlir:17:22: error: unexpected error: undefined symbol alias '!real'
// CHECK-NOT:  {{.}}

// expected-error @+1 {{nothing is wrong here}}
func.func @fine() {
  func.return
}

// -----

// The place is a part of the expectation.
func.func @bad(%x  : !real) {}
