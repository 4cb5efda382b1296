// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP

layout.mesh @mesh(dp = 2, tp = 4)

// CHECK-LABEL: func.func @splat
func.func @splat(%s: f32, %k: i64, %c: i1, %n: index) {
  // CHECK: tensor.splat %s : tensor<f32, #layout.dist<dp = local>>
  %0 = tensor.splat %s : tensor<f32, #layout.dist<dp = local>>
  // CHECK-NEXT: tensor.splat %s[%n, %n] : tensor<?x3x?xf32, #layout.dist<dp = sliced(2), tp = sliced(0)>>
  %1 = tensor.splat %s[%n, %n] : tensor<?x3x?xf32, #layout.dist<dp = sliced(2), tp = sliced(0)>>
  // CHECK-NEXT: tensor.splat %k {note = 1 : i32} : tensor<0xi64>
  %2 = tensor.splat %k {note = 1 : i32} : tensor<0xi64>
  // CHECK-NEXT: tensor.splat %c[%n] : tensor<?xi1, #layout.dist<dp = root(1)>>
  %3 = tensor.splat %c[%n] : tensor<?xi1, #layout.dist<dp = root(1)>>
  // CHECK-NEXT: tensor.splat %n : tensor<7xindex, #layout.dist<dp = sliced(0, 4)>>
  %4 = tensor.splat %n : tensor<7xindex, #layout.dist<dp = sliced(0, 4)>>
  func.return
}

// Sizes are global, whatever the layout.
// CHECK-LABEL: func.func @dim
func.func @dim(%x: tensor<8x?x3xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>, %n: index) {
  %a = comp.reduce sum %x dims [0] : tensor<8x?x3xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> tensor<?x3xf32, #layout.dist<dp = partial(sum), tp = sliced(0)>>
  // CHECK: tensor.dim %a, %n : tensor<?x3xf32, #layout.dist<dp = partial(sum), tp = sliced(0)>>
  %0 = tensor.dim %a, %n : tensor<?x3xf32, #layout.dist<dp = partial(sum), tp = sliced(0)>>
  func.return
}

// CHECK-LABEL: func.func @extract
func.func @extract(%a: tensor<?x3xf16>, %b: tensor<i1>, %n: index) -> (f16, i1) {
  // CHECK: tensor.extract %a[%n, %n] : tensor<?x3xf16>
  %0 = tensor.extract %a[%n, %n] : tensor<?x3xf16>
  // CHECK-NEXT: tensor.extract %b[] : tensor<i1>
  %1 = tensor.extract %b[] : tensor<i1>
  // CHECK-NEXT: func.return
  // CHECK-SAME: : f16, i1
  func.return %0, %1 : f16, i1
}
