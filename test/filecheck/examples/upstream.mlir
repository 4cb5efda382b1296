// Every example in the generic form passes upstream's parser and verifier, and what that prints is a program again.

// REQUIRES: mlir-opt
// RUN: awk 'FNR == 1 && NR > 1 {print "// -----"} {print}' %examples/*.mlir > %t
// RUN: coconet-opt --split-input-file --print-op-generic %t \
// RUN:   | mlir-opt-22 --split-input-file --allow-unregistered-dialect \
// RUN:   | coconet-opt --split-input-file | filecheck %s
// RUN: awk 'FNR == 1 && NR > 1 {print "// -----"} {print}' %examples/expected/*.mlir > %t
// RUN: coconet-opt --split-input-file --print-op-generic %t \
// RUN:   | mlir-opt-22 --split-input-file --allow-unregistered-dialect \
// RUN:   | coconet-opt --split-input-file | filecheck %s --check-prefix=EXPECTED

// CHECK: func.func @adam(
// CHECK: func.func @adam_f32(
// CHECK: func.func @attention(
// CHECK: func.func @attention_full(
// CHECK: func.func @clip(
// CHECK: func.func @hierarchical(
// CHECK: func.func @lamb(
// CHECK: func.func @lamb_segments(
// CHECK: func.func @mlp(
// CHECK: func.func @moe(
// CHECK: func.func @pipeline(
// CHECK: func.func @rmsnorm(
// CHECK: func.func @sgd(
// CHECK: func.func @two_axes(

// EXPECTED-COUNT-2: func.func @adam(
// EXPECTED-COUNT-2: func.func @adam_f32(
// EXPECTED-COUNT-2: func.func @attention(
// EXPECTED-COUNT-2: func.func @attention_full(
// EXPECTED-COUNT-2: func.func @clip(
// EXPECTED-COUNT-2: func.func @hierarchical(
// EXPECTED-COUNT-2: func.func @lamb(
// EXPECTED-COUNT-2: func.func @lamb_segments(
// EXPECTED-COUNT-2: func.func @mlp(
// EXPECTED-COUNT-2: func.func @pipeline(
// EXPECTED-COUNT-2: func.func @rmsnorm(
// EXPECTED-COUNT-2: func.func @sgd(
// EXPECTED-COUNT-2: func.func @two_axes(
