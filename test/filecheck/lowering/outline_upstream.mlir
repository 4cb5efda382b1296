// REQUIRES: mlir-opt
// RUN: coconet-opt %S/outline.mlir -p coconet-outline-kernels --print-op-generic | mlir-opt-22 | filecheck %s
// RUN: coconet-opt %S/outline_reductions.mlir -p coconet-outline-kernels --print-op-generic | mlir-opt-22 | filecheck %s

// Upstream knows every operation of this level, and its verifier finds nothing wrong.
// CHECK: gpu.launch_func async
// CHECK: gpu.func @{{.*}} kernel attributes {coconet.threads = {{[0-9]+}} : i64}
