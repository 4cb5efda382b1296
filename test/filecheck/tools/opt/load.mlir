// RUN: coconet-opt %s --load %S/inputs/gelu.py | filecheck %s
// RUN: not coconet-opt %s 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not coconet-opt %s --load %s 2>&1 | filecheck %s --check-prefix=BROKEN

// MISSING: load.mlir:[[# @LINE + 5]]:3: error: 'comp.custom' op {{.*}}gelu
// BROKEN: error: {{.*}}load.mlir:{{[0-9]+}}: SyntaxError:

func.func @f(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // CHECK: comp.custom @gelu(%x) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %y = comp.custom @gelu(%x) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  func.return %y : tensor<4x?xf32>
}
