// What a user sees: the place, the operation, what is wrong; for text that does not parse, the line.

// RUN: not coconet-opt %s --split-input-file 2>&1 | filecheck %s

func.func @order(%x: f32) {
  %y = arith.negf %z : f32
  %z = arith.negf %x : f32
  func.return
}
// CHECK:      {{.*}}diagnostics.mlir:6:3: error: 'arith.negf' op operand #0 (%z) is used before its definition
// CHECK-NEXT: {{.*}}diagnostics.mlir:7:3: note: defined here

// -----

func.func @unknown() {
  %c = arith.constnt 1.0 : f32
}
// CHECK-NEXT: {{.*}}diagnostics.mlir:16:8: error: operation 'arith.constnt' is not registered
// CHECK-NEXT:   %c = arith.constnt 1.0 : f32
// CHECK-NEXT: {{^}}       ^^^^^^^^^^^^^{{$}}
