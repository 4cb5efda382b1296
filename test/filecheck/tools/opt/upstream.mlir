// Upstream's mlir-opt reads our generic form, and we read what it prints.

// REQUIRES: mlir-opt
// RUN: UPSTREAM_ROUNDTRIP

layout.mesh @mesh(dp = 4)

// CHECK: func.func @f({{%.*}}: tensor<8xf32, #layout.dist<dp = local>>) -> tensor<8xf32, #layout.dist<dp = sliced(0)>>
// CHECK: coll.reduce_scatter sum {{%.*}} over [dp] dim 0 : tensor<8xf32, #layout.dist<dp = local>> -> tensor<8xf32, #layout.dist<dp = sliced(0)>>
func.func @f(%x: tensor<8xf32, #layout.dist<dp = local>>) -> tensor<8xf32, #layout.dist<dp = sliced(0)>> {
  %s = coll.reduce_scatter sum %x over [dp] dim 0 : tensor<8xf32, #layout.dist<dp = local>> -> tensor<8xf32, #layout.dist<dp = sliced(0)>>
  func.return %s : tensor<8xf32, #layout.dist<dp = sliced(0)>>
}
