// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

!t = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
!l = tensor<8x?xf32, #layout.dist<dp = local>>

layout.mesh @mesh(dp = 2, tp = 4)

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<8x?xf16>, %xs: tensor<8x?xf16, #layout.dist<tp = sliced(1)>>, %w: tensor<?x32xf16, #layout.dist<tp = sliced(0)>>,
    %b: tensor<2x3x8x?xf16>, %c: tensor<2x3x?x5xf16>, %v: tensor<?x5xf16>, %i: tensor<2x9x8x3xbf16, #layout.dist<dp = sliced(0)>>, %k: tensor<3x2x3x4xbf16>) {
  // CHECK: comp.matmul %{{.*}}, %{{.*}} : (tensor<8x?xf16>, tensor<?x5xf16>) -> tensor<8x5xf16>
  %0 = comp.matmul %x, %v : (tensor<8x?xf16>, tensor<?x5xf16>) -> tensor<8x5xf16>
  // CHECK-NEXT: comp.matmul %{{.*}}, %{{.*}} {accumulate = f32} : (tensor<8x?xf16, #layout.dist<tp = sliced(1)>>, tensor<?x32xf16, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  %1 = comp.matmul %xs, %w {accumulate = f32} : (tensor<8x?xf16, #layout.dist<tp = sliced(1)>>, tensor<?x32xf16, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: comp.matmul %{{.*}}, %{{.*}} : (tensor<2x3x8x?xf16>, tensor<?x5xf16>) -> tensor<2x3x8x5xf16>
  %2 = comp.matmul %b, %v : (tensor<2x3x8x?xf16>, tensor<?x5xf16>) -> tensor<2x3x8x5xf16>
  // CHECK-NEXT: comp.matmul %{{.*}}, %{{.*}} : (tensor<2x3x8x?xf16>, tensor<2x3x?x5xf16>) -> tensor<2x3x8x5xf16>
  %3 = comp.matmul %b, %c : (tensor<2x3x8x?xf16>, tensor<2x3x?x5xf16>) -> tensor<2x3x8x5xf16>
  // CHECK-NEXT: comp.conv2d %{{.*}}, %{{.*}} : (tensor<2x9x8x3xbf16, #layout.dist<dp = sliced(0)>>, tensor<3x2x3x4xbf16>) -> tensor<2x7x7x4xbf16, #layout.dist<dp = sliced(0)>>
  %4 = comp.conv2d %i, %k : (tensor<2x9x8x3xbf16, #layout.dist<dp = sliced(0)>>, tensor<3x2x3x4xbf16>) -> tensor<2x7x7x4xbf16, #layout.dist<dp = sliced(0)>>
  // CHECK-NEXT: comp.conv2d %{{.*}}, %{{.*}} {accumulate = f32, padding = array<i64: 1, 0>, strides = array<i64: 2, 3>} : {{.*}} -> tensor<2x5x3x4xf32, #layout.dist<dp = sliced(0)>>
  %5 = comp.conv2d %i, %k {accumulate = f32, padding = array<i64: 1, 0>, strides = array<i64: 2, 3>} : (tensor<2x9x8x3xbf16, #layout.dist<dp = sliced(0)>>, tensor<3x2x3x4xbf16>) -> tensor<2x5x3x4xf32, #layout.dist<dp = sliced(0)>>
  func.return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: !s, %y: !l, %h: tensor<2x3x?xf16>, %i: tensor<5xi32>) {
  // CHECK: comp.reduce sum %{{.*}} dims [0, 1] : {{.*}} -> tensor<f32, #layout.dist<tp = partial(sum)>>
  %0 = comp.reduce sum %x dims [0, 1] : !s -> tensor<f32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: comp.reduce prod %{{.*}} dims [0] {accumulate = f64} : {{.*}} -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  %1 = comp.reduce prod %x dims [0] {accumulate = f64} : !s -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: comp.reduce max %{{.*}} dims [0] : tensor<5xi32> -> tensor<i32>
  %2 = comp.reduce max %i dims [0] : tensor<5xi32> -> tensor<i32>
  // CHECK-NEXT: comp.reduce min %{{.*}} dims [] : tensor<5xi32> -> tensor<5xi32>
  %3 = comp.reduce min %i dims [] : tensor<5xi32> -> tensor<5xi32>
  // CHECK-NEXT: comp.norm %{{.*}} : tensor<8x?xf32, #layout.dist<dp = local>> -> tensor<f32, #layout.dist<dp = local>>
  %4 = comp.norm %y : !l -> tensor<f32, #layout.dist<dp = local>>
  // CHECK-NEXT: comp.norm %{{.*}} dims [2, 0] {accumulate = f32} : tensor<2x3x?xf16> -> tensor<3xf32>
  %5 = comp.norm %h dims [2, 0] {accumulate = f32} : tensor<2x3x?xf16> -> tensor<3xf32>
  // CHECK-NEXT: comp.mean %{{.*}} : tensor<2x3x?xf16> -> tensor<f16>
  %6 = comp.mean %h : tensor<2x3x?xf16> -> tensor<f16>
  // CHECK-NEXT: comp.mean %{{.*}} dims [0] {accumulate = f64} : {{.*}} -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  %7 = comp.mean %x dims [0] {accumulate = f64} : !s -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// CHECK-LABEL: func.func @normalisation
func.func @normalisation(%x: !s, %y: !l, %w: tensor<?xf32>, %seed: i64, %f: f32) {
  // CHECK: comp.softmax %{{.*}} dim 0 : tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
  %0 = comp.softmax %x dim 0 : !s
  // CHECK-NEXT: comp.softmax %{{.*}} dim 1 {accumulate = f64} : tensor<8x?xf32, #layout.dist<dp = local>>
  %1 = comp.softmax %y dim 1 {accumulate = f64} : !l
  // CHECK-NEXT: comp.rms_norm %{{.*}}, %{{.*}} {eps = 1.000000e-06 : f32} : (tensor<8x?xf32, #layout.dist<dp = local>>, tensor<?xf32>) -> tensor<8x?xf32, #layout.dist<dp = local>>
  %2 = comp.rms_norm %y, %w {eps = 1.0e-6 : f32} : (!l, tensor<?xf32>) -> !l
  // CHECK-NEXT: comp.rms_norm %{{.*}}, %{{.*}} {accumulate = f64, eps = 0.000000e+00 : f64} :
  %3 = comp.rms_norm %y, %w {accumulate = f64, eps = 0.0 : f64} : (!l, tensor<?xf32>) -> !l
  // CHECK-NEXT: comp.dropout %{{.*}}, %{{.*}} {id = 3 : i64, p = 1.000000e-01 : f32} : tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
  %4 = comp.dropout %x, %seed {id = 3 : i64, p = 1.0e-1 : f32} : !s
  // CHECK-NEXT: comp.scale %{{.*}} by %{{.*}} : tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
  %5 = comp.scale %x by %f : !s
  // CHECK-NEXT: comp.scale %{{.*}} by %{{.*}} {my.note} : tensor<8x?xf32, #layout.dist<dp = local>>
  %6 = comp.scale %y by %f {my.note} : !l
  // CHECK-NEXT: comp.reduce
  %7 = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: comp.scale %{{.*}} by %{{.*}} : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  %8 = comp.scale %7 by %f : tensor<8xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%b: tensor<?xf16>, %z: tensor<f16>, %x: tensor<2x3x?xf16>, %h: tensor<2x?x12xf16, #layout.dist<tp = sliced(2, 4)>>) {
  // CHECK: comp.broadcast %{{.*}} dims [1] : tensor<?xf16> -> tensor<4x?xf16>
  %0 = comp.broadcast %b dims [1] : tensor<?xf16> -> tensor<4x?xf16>
  // New dimensions may be made in parts.
  // CHECK-NEXT: comp.broadcast %{{.*}} dims [2] like %{{.*}} {my.note} : tensor<?xf16>, tensor<2x3x?xf16> -> tensor<2x3x?xf16, #layout.dist<dp = sliced(0), tp = sliced(1)>>
  %1 = comp.broadcast %b dims [2] like %x {my.note} : tensor<?xf16>, tensor<2x3x?xf16> -> tensor<2x3x?xf16, #layout.dist<dp = sliced(0), tp = sliced(1)>>
  // CHECK-NEXT: comp.broadcast %{{.*}} dims [] : tensor<f16> -> tensor<7xf16>
  %2 = comp.broadcast %z dims [] : tensor<f16> -> tensor<7xf16>
  // CHECK-NEXT: comp.reshape %{{.*}} [b, s, (h d)] -> [b, s, h, d] : tensor<2x?x12xf16, #layout.dist<tp = sliced(2, 4)>> -> tensor<2x?x3x4xf16, #layout.dist<tp = sliced(2)>>
  %3 = comp.reshape %h [b, s, (h d)] -> [b, s, h, d] : tensor<2x?x12xf16, #layout.dist<tp = sliced(2, 4)>> -> tensor<2x?x3x4xf16, #layout.dist<tp = sliced(2)>>
  // CHECK-NEXT: comp.reshape %{{.*}} [a, b, c] -> [(a b c)] {my.note} : tensor<2x3x?xf16> -> tensor<?xf16>
  %4 = comp.reshape %x [a, b, c] -> [(a b c)] {my.note} : tensor<2x3x?xf16> -> tensor<?xf16>
  // CHECK-NEXT: comp.reshape %{{.*}} [] -> [] : tensor<f16> -> tensor<f16>
  %5 = comp.reshape %z [] -> [] : tensor<f16> -> tensor<f16>
  // CHECK-NEXT: comp.transpose %{{.*}} perm [2, 0, 1] : tensor<2x3x?xf16> -> tensor<?x2x3xf16>
  %6 = comp.transpose %x perm [2, 0, 1] : tensor<2x3x?xf16> -> tensor<?x2x3xf16>
  // CHECK-NEXT: comp.transpose %{{.*}} perm [] : tensor<f16> -> tensor<f16>
  %7 = comp.transpose %z perm [] : tensor<f16> -> tensor<f16>
  func.return
}

// CHECK-LABEL: func.func @update
// CHECK-SAME: tensor<8x?xf32> {coconet.state}, %{{.*}}: tensor<8x?xf32> {coconet.scattered, coconet.state}
func.func @update(%m: !t {coconet.state}, %v: !t {coconet.scattered, coconet.state}) -> (!t, !t) {
  // CHECK: comp.update %{{.*}}, %{{.*}} : tensor<8x?xf32>
  %0 = comp.update %m, %v : !t
  // CHECK-NEXT: comp.update %{{.*}}, %{{.*}} {my.note} : tensor<8x?xf32>
  %1 = comp.update %v, %0 {my.note} : !t
  // The shape of a target may be read at any time.
  // CHECK-NEXT: arith.constant
  %i = arith.constant 1 : index
  // CHECK-NEXT: tensor.dim
  %n = tensor.dim %m, %i : !t
  func.return %0, %1 : !t, !t
}

// CHECK-LABEL: func.func @segments
func.func @segments(%x: tensor<?xf16, #layout.dist<dp = sliced(0)>>, %o: tensor<5xi64>, %y: tensor<?xf16>) {
  // CHECK: comp.segment_reduce sum %{{.*}}, %{{.*}} : (tensor<?xf16, #layout.dist<dp = sliced(0)>>, tensor<5xi64>) -> tensor<4xf16, #layout.dist<dp = partial(sum)>>
  %0 = comp.segment_reduce sum %x, %o : (tensor<?xf16, #layout.dist<dp = sliced(0)>>, tensor<5xi64>) -> tensor<4xf16, #layout.dist<dp = partial(sum)>>
  // CHECK-NEXT: comp.segment_reduce max %{{.*}}, %{{.*}} {accumulate = f32} : (tensor<?xf16>, tensor<5xi64>) -> tensor<4xf32>
  %1 = comp.segment_reduce max %y, %o {accumulate = f32} : (tensor<?xf16>, tensor<5xi64>) -> tensor<4xf32>
  // CHECK-NEXT: comp.segment_broadcast %{{.*}}, %{{.*}} like %{{.*}} : (tensor<4xf16, #layout.dist<dp = partial(sum)>>, tensor<5xi64>, tensor<?xf16>) -> tensor<?xf16, #layout.dist<dp = partial(sum)>>
  %2 = comp.segment_broadcast %0, %o like %y : (tensor<4xf16, #layout.dist<dp = partial(sum)>>, tensor<5xi64>, tensor<?xf16>) -> tensor<?xf16, #layout.dist<dp = partial(sum)>>
  // CHECK-NEXT: comp.segment_broadcast %{{.*}}, %{{.*}} like %{{.*}} : (tensor<4xf32>, tensor<5xi64>, tensor<?xf16>) -> tensor<?xf32, #layout.dist<dp = sliced(0, 8)>>
  %3 = comp.segment_broadcast %1, %o like %y : (tensor<4xf32>, tensor<5xi64>, tensor<?xf16>) -> tensor<?xf32, #layout.dist<dp = sliced(0, 8)>>
  func.return
}

// CHECK-LABEL: comp.define @gelu rule [m, n] -> [m, n] {
// CHECK-NEXT: ^{{.*}}(%{{.*}}: tensor<?x?xf32>):
// CHECK-NEXT: math.erf
// CHECK-NEXT: comp.yield %{{.*}} : tensor<?x?xf32>
comp.define @gelu rule [m, n] -> [m, n] {
^bb0(%x: tensor<?x?xf32>):
  %0 = math.erf %x : tensor<?x?xf32>
  comp.yield %0 : tensor<?x?xf32>
}

// Every clause of a rule, a device function, scalars, two results.
// CHECK: comp.define @sums rule [m, k] () [j] -> [m] [k] (), m = reduction(sum), k = reduction(sum), j = whole, linear(0), joint(max, min) attributes {my.note} symbol "sums_f32" {
comp.define @sums rule [m, k] () [j] -> [m] [k] (), m = reduction(sum), k = reduction(sum), j = whole, linear(0), joint(max, min) attributes {my.note} symbol "sums_f32" {
^bb0(%x: tensor<?x?xf32>, %s: f32, %y: tensor<?xf32>):
  %0 = comp.reduce sum %x dims [1] : tensor<?x?xf32> -> tensor<?xf32>
  %1 = comp.reduce sum %x dims [0] : tensor<?x?xf32> -> tensor<?xf32>
  comp.yield %0, %1, %s : tensor<?xf32>, tensor<?xf32>, f32
}

// CHECK: comp.define @seven rule -> [] {
comp.define @seven rule -> [] {
  %0 = arith.constant dense<7.0> : tensor<f32>
  comp.yield %0 : tensor<f32>
}

// CHECK-LABEL: func.func @customs
func.func @customs(%x: !s, %y: tensor<3x8xf32>, %f: f32, %j: tensor<5xf32>) {
  // CHECK: comp.custom @gelu(%{{.*}}) : (tensor<8x?xf32, #layout.dist<tp = sliced(1)>>) -> tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
  %0 = comp.custom @gelu(%x) : (!s) -> !s
  // CHECK-NEXT: comp.custom @sums(%{{.*}}, %{{.*}}, %{{.*}}) {my.note} : (tensor<3x8xf32>, f32, tensor<5xf32>) -> (tensor<3xf32>, tensor<8xf32>, f32)
  %1, %2, %3 = comp.custom @sums(%y, %f, %j) {my.note} : (tensor<3x8xf32>, f32, tensor<5xf32>) -> (tensor<3xf32>, tensor<8xf32>, f32)
  // CHECK-NEXT: comp.custom @seven() : () -> tensor<f32>
  %4 = comp.custom @seven() : () -> tensor<f32>
  func.return
}
