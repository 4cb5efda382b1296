// RUN: coconet-opt %s -p canonicalize,cse,dce --no-aliases | filecheck %s

// What clean-up passes make of the dialect: all is pure but comp.update, which stays where it is.

!t = tensor<?xf32>

// CHECK: comp.define @twice
comp.define @twice rule [n] -> [n] {
^bb0(%x: tensor<?xf32>):
  %0 = arith.addf %x, %x : tensor<?xf32>
  comp.yield %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @updates
func.func @updates(%m: !t, %v: !t, %x: !t) {
  // CHECK-NEXT: arith.mulf %m, %x
  %0 = arith.mulf %m, %x : !t
  // CHECK-NEXT: comp.update %m
  %1 = comp.update %m, %0 : !t
  // CHECK-NEXT: comp.update %v
  %2 = comp.update %v, %0 : !t
  // CHECK-NEXT: func.return
  func.return
}

// Two masks are two values, and so is one that is drawn from another seed.
// CHECK-LABEL: func.func @dropouts
func.func @dropouts(%x: !t, %a: i64, %b: i64) -> (!t, !t, !t) {
  // CHECK-NEXT: comp.dropout %x, %a
  %0 = comp.dropout %x, %a {id = 0 : i64, p = 1.0e-1 : f32} : !t
  // CHECK-NEXT: comp.dropout %x, %a
  %1 = comp.dropout %x, %a {id = 1 : i64, p = 1.0e-1 : f32} : !t
  // CHECK-NEXT: comp.dropout %x, %b
  %2 = comp.dropout %x, %b {id = 2 : i64, p = 1.0e-1 : f32} : !t
  func.return %0, %1, %2 : !t, !t, !t
}

// CHECK-LABEL: func.func @equal
func.func @equal(%x: !t, %s: f32) -> (!t, !t, !t, !t, tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[A:.*]] = comp.custom @twice(%x)
  %0 = comp.custom @twice(%x) : (!t) -> !t
  %1 = comp.custom @twice(%x) : (!t) -> !t
  // CHECK-NEXT: %[[B:.*]] = comp.scale %x by %s
  %2 = comp.scale %x by %s : !t
  %3 = comp.scale %x by %s : !t
  // CHECK-NEXT: %[[C:.*]] = comp.reduce sum %x
  %4 = comp.reduce sum %x dims [0] : !t -> tensor<f32>
  // CHECK-NEXT: %[[D:.*]] = comp.reduce max %x
  %5 = comp.reduce max %x dims [0] : !t -> tensor<f32>
  %6 = comp.softmax %x dim 0 : !t
  // CHECK-NEXT: func.return %[[A]], %[[A]], %[[B]], %[[B]], %[[C]], %[[D]]
  func.return %0, %1, %2, %3, %4, %5 : !t, !t, !t, !t, tensor<f32>, tensor<f32>
}
