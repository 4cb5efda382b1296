// The whole way down, and what its stages leave.

// RUN: coconet-opt %examples/sgd.mlir -p 'coconet-lower{target=sm_80}' --print-between-passes -o %t.mlir 2>&1 | filecheck %s --check-prefix=STAGES
// RUN: coconet-opt %t.mlir -t ptx | filecheck %s --check-prefix=PTX
// RUN: not coconet-opt %examples/sgd.mlir -p 'coconet-lower{target=sm_70}' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not coconet-opt %examples/sgd.mlir -p coconet-lower,coconet-lower 2>&1 | filecheck %s --check-prefix=TWICE

// STAGES:      // after coconet-lower-to-ranks
// STAGES-NEXT: coconet.level = "rank"
// STAGES:      // after coconet-form-kernels
// STAGES-NEXT: coconet.level = "rank"
// STAGES:      // after coconet-bufferize
// STAGES-NEXT: coconet.level = "buffer"
// STAGES:      // after coconet-outline-kernels
// STAGES-NEXT: coconet.level = "kernel"
// STAGES-NOT:  // after

// PTX:     .version 8.0
// PTX:     .target sm_80
// PTX:     .visible .entry

// TARGET: error: there is no target 'sm_70': there are sm_80, sm_90a, sm_100a

// TWICE: sgd.mlir:1:1: error: 'builtin.module' op is at level "device": only a distributed program has ranks to lower to
