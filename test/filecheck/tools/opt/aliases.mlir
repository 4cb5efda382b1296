// RUN: coconet-opt %s | filecheck %s
// RUN: coconet-opt %s --no-aliases | filecheck %s --check-prefix=FULL
// RUN: coconet-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: coconet-opt %s | coconet-opt --print-op-generic | coconet-opt --no-aliases | filecheck %s --check-prefix=FULL

layout.mesh @mesh(dp = 4, tp = 2)

// A type with a layout gets an alias when it occurs twice; its name tells element and layout, and the
// shape where that would not do.

// CHECK:      !f32_dp_local = tensor<8xf32, #layout.dist<dp = local>>
// CHECK-NEXT: !tnxf32_dp_sliced_0 = tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: !t8xf32_dp_sliced_0 = tensor<8xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NOT:  tensor<8xf32, #layout.dist
// CHECK:      func.func @f(%x: !f32_dp_local, %y: !tnxf32_dp_sliced_0, %z: tensor<8xf16, #layout.dist<[dp, tp] = sliced(0)>>) -> !tnxf32_dp_sliced_0

// FULL-NOT: {{^!}}
// FULL: func.func @f(%x: tensor<8xf32, #layout.dist<dp = local>>, %y: tensor<?xf32, #layout.dist<dp = sliced(0)>>

// GENERIC: "coll.reduce_scatter"(%x) {{.*}} : (!f32_dp_local) -> !t8xf32_dp_sliced_0
func.func @f(%x: tensor<8xf32, #layout.dist<dp = local>>, %y: tensor<?xf32, #layout.dist<dp = sliced(0)>>, %z: tensor<8xf16, #layout.dist<[dp, tp] = sliced(0)>>) -> tensor<?xf32, #layout.dist<dp = sliced(0)>> {
  %s = coll.reduce_scatter sum %x over [dp] dim 0 : tensor<8xf32, #layout.dist<dp = local>> -> tensor<8xf32, #layout.dist<dp = sliced(0)>>
  %t = arith.addf %s, %s : tensor<8xf32, #layout.dist<dp = sliced(0)>>
  func.return %y : tensor<?xf32, #layout.dist<dp = sliced(0)>>
}
