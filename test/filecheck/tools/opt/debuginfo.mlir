// RUN: coconet-opt %s --print-debuginfo | filecheck %s
// RUN: coconet-opt %s --print-debuginfo | coconet-opt --print-debuginfo | filecheck %s

// Operations and arguments know where they stand, through a second file too.

// CHECK: func.func @f(%x: f32 loc("{{.*}}debuginfo.mlir":[[# @LINE + 1]]:14)) -> f32 {
func.func @f(%x: f32) -> f32 {
  // CHECK-NEXT: %y = arith.negf %x : f32 loc("{{.*}}debuginfo.mlir":9:8)
       %y = arith.negf %x : f32
  // CHECK-NEXT: %z = arith.negf %y : f32 loc("elsewhere":7:1)
  %z = arith.negf %y : f32 loc("elsewhere":7:1)
  // CHECK-NEXT: func.return %z : f32 loc("{{.*}}debuginfo.mlir":13:3)
  func.return %z : f32
}
