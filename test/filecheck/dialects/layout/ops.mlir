// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

// CHECK: layout.mesh @cluster(pp = 2, node = 1, tp = 8) attributes {my.note = 1 : i32}
layout.mesh @cluster(pp = 2, node = 1, tp = 8) attributes {my.note = 1 : i32}

// Every state of an axis.
// CHECK-LABEL: func.func @states
// CHECK-SAME: tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
// CHECK-SAME: tensor<8x?xf32, #layout.dist<tp = sliced(0, 4)>>
// CHECK-SAME: tensor<8x?xf32, #layout.dist<[pp, tp] = sliced(1, 64)>>
// CHECK-SAME: tensor<8x?xf32, #layout.dist<[tp, pp] = sliced(1)>>
// CHECK-SAME: tensor<8x?xf32, #layout.dist<pp = sliced(1), tp = sliced(0)>>
// CHECK-SAME: tensor<f32, #layout.dist<node = local, pp = root(1)>>
// CHECK-SAME: tensor<0x1xf8E4M3FN, #layout.dist<[node, pp] = sliced(0), tp = local>>
func.func @states(
  %0: tensor<8x?xf32, #layout.dist<tp = sliced(1)>>,
  %1: tensor<8x?xf32, #layout.dist<tp = sliced(0, 4)>>,
  %2: tensor<8x?xf32, #layout.dist<[pp, tp] = sliced(1, 64)>>,
  %3: tensor<8x?xf32, #layout.dist<[tp, pp] = sliced(1)>>,
  %4: tensor<8x?xf32, #layout.dist<pp = sliced(1), tp = sliced(0)>>,
  %5: tensor<f32, #layout.dist<node = local, pp = root(1)>>,
  %6: tensor<0x1xf8E4M3FN, #layout.dist<[node, pp] = sliced(0), tp = local>>
) {
  func.return
}

// CHECK-LABEL: func.func @partial
func.func @partial(%a: tensor<?xf32, #layout.dist<tp = local>>) {
  // CHECK: -> tensor<f32, #layout.dist<pp = partial(sum), tp = local>>
  %0 = layout.slice %a over [pp] dim 0 : tensor<?xf32, #layout.dist<tp = local>> -> tensor<?xf32, #layout.dist<pp = sliced(0), tp = local>>
  %1 = comp.reduce sum %0 dims [0] : tensor<?xf32, #layout.dist<pp = sliced(0), tp = local>> -> tensor<f32, #layout.dist<pp = partial(sum), tp = local>>
  // CHECK: -> tensor<f32, #layout.dist<pp = partial(prod), tp = local>>
  %2 = comp.reduce prod %0 dims [0] : tensor<?xf32, #layout.dist<pp = sliced(0), tp = local>> -> tensor<f32, #layout.dist<pp = partial(prod), tp = local>>
  // CHECK: -> tensor<f32, #layout.dist<pp = partial(max), tp = local>>
  %3 = comp.reduce max %0 dims [0] : tensor<?xf32, #layout.dist<pp = sliced(0), tp = local>> -> tensor<f32, #layout.dist<pp = partial(max), tp = local>>
  // CHECK: -> tensor<f32, #layout.dist<pp = partial(min), tp = local>>
  %4 = comp.reduce min %0 dims [0] : tensor<?xf32, #layout.dist<pp = sliced(0), tp = local>> -> tensor<f32, #layout.dist<pp = partial(min), tp = local>>
  func.return
}

// CHECK-LABEL: func.func @slice
func.func @slice(%a: tensor<8x?xf16>) {
  // CHECK: layout.slice %{{.*}} over [tp] dim 1 : tensor<8x?xf16> -> tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
  %0 = layout.slice %a over [tp] dim 1 : tensor<8x?xf16> -> tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
  // CHECK-NEXT: layout.slice %{{.*}} over [pp, tp] dim 0 {unit = 8 : i64} : tensor<8x?xf16> -> tensor<8x?xf16, #layout.dist<[pp, tp] = sliced(0, 8)>>
  %1 = layout.slice %a over [pp, tp] dim 0 {unit = 8 : i64} : tensor<8x?xf16> -> tensor<8x?xf16, #layout.dist<[pp, tp] = sliced(0, 8)>>
  // A dimension that is cut already is cut further, innermost.
  // CHECK-NEXT: layout.slice %{{.*}} over [pp] dim 1 : {{.*}} -> tensor<8x?xf16, #layout.dist<[tp, pp] = sliced(1)>>
  %2 = layout.slice %0 over [pp] dim 1 : tensor<8x?xf16, #layout.dist<tp = sliced(1)>> -> tensor<8x?xf16, #layout.dist<[tp, pp] = sliced(1)>>
  func.return
}

// CHECK-LABEL: func.func @relax
func.func @relax(%a: tensor<?xf32>, %p: tensor<?xf32, #layout.dist<tp = sliced(0)>>) {
  // CHECK: layout.relax %{{.*}} over [pp] : tensor<?xf32> -> tensor<?xf32, #layout.dist<pp = local>>
  %0 = layout.relax %a over [pp] : tensor<?xf32> -> tensor<?xf32, #layout.dist<pp = local>>
  // CHECK-NEXT: layout.relax %{{.*}} over [tp] root 7 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = root(7)>>
  %1 = layout.relax %a over [tp] root 7 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = root(7)>>
  // CHECK-NEXT: layout.relax %{{.*}} over [tp, pp] root [3, 1] {my.note} : tensor<?xf32> -> tensor<?xf32, #layout.dist<pp = root(1), tp = root(3)>>
  %2 = layout.relax %a over [tp, pp] root [3, 1] {my.note} : tensor<?xf32> -> tensor<?xf32, #layout.dist<pp = root(1), tp = root(3)>>
  // CHECK-NEXT: comp.reduce
  %3 = comp.reduce sum %p dims [0] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  // What is not reduced yet may be seen as it is.
  // CHECK-NEXT: layout.relax %{{.*}} over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = local>>
  %4 = layout.relax %3 over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = local>>
  func.return
}

// CHECK-LABEL: func.func @axis_size
func.func @axis_size() -> index {
  // CHECK: layout.axis_size over [pp, tp] : index
  %0 = layout.axis_size over [pp, tp] : index
  // CHECK-NEXT: layout.axis_size over [node] {my.note} : index
  %1 = layout.axis_size over [node] {my.note} : index
  func.return %0 : index
}

// Layouts on arguments and results before inference.
// CHECK-LABEL: func.func @uninferred
// CHECK-SAME: tensor<?xf32> {layout.of = #layout.dist<pp = local, tp = sliced(0)>}
// CHECK-SAME: -> (tensor<?xf32> {layout.of = #layout.dist<tp = sliced(0)>})
func.func @uninferred(%a: tensor<?xf32> {layout.of = #layout.dist<pp = local, tp = sliced(0)>}, %b: tensor<?xf32>)
    -> (tensor<?xf32> {layout.of = #layout.dist<tp = sliced(0)>}) {
  %0 = coll.all_reduce sum %a over [pp] : tensor<?xf32> -> tensor<?xf32>
  %1 = arith.addf %0, %b : tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
