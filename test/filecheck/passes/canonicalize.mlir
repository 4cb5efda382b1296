// RUN: coconet-opt %s -p canonicalize --no-aliases | filecheck %s

layout.mesh @mesh(dp = 4, tp = 2)

!s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!f = tensor<?xf32>

// slice(all_gather x) = x and all_gather(slice x) = x.
// CHECK-LABEL: func.func @inverse
func.func @inverse(%x: !s, %y: !f) -> (!s, !f) {
  %g = coll.all_gather %x over [dp] : !s -> !f
  %gs = layout.slice %g over [dp] dim 0 : !f -> !s
  %ys = layout.slice %y over [dp] dim 0 : !f -> !s
  %yg = coll.all_gather %ys over [dp] : !s -> !f
  // CHECK-NEXT: func.return %x, %y
  func.return %gs, %yg : !s, !f
}

// A slice over other axes, or with another unit, is not what was gathered.
// CHECK-LABEL: func.func @different
func.func @different(%x: !s) -> (tensor<?xf32, #layout.dist<tp = sliced(0)>>,
                                 tensor<?xf32, #layout.dist<dp = sliced(0, 4)>>) {
  // CHECK-NEXT: coll.all_gather
  %g = coll.all_gather %x over [dp] : !s -> !f
  // CHECK-NEXT: layout.slice {{.*}} over [tp] dim 0
  %a = layout.slice %g over [tp] dim 0 : !f -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: layout.slice {{.*}} over [dp] dim 0 {unit = 4 : i64}
  %b = layout.slice %g over [dp] dim 0 {unit = 4 : i64} : !f -> tensor<?xf32, #layout.dist<dp = sliced(0, 4)>>
  func.return %a, %b : tensor<?xf32, #layout.dist<tp = sliced(0)>>, tensor<?xf32, #layout.dist<dp = sliced(0, 4)>>
}

// A slice of a broadcast along a new dimension is the broadcast with the sliced type; along one of its operand's it stays.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%b: !f, %like: tensor<?x?xf32>)
    -> (tensor<?x?xf32, #layout.dist<dp = sliced(0)>>, tensor<?x?xf32, #layout.dist<dp = sliced(1)>>) {
  // CHECK-NEXT: %y = comp.broadcast %b dims [1] like %like : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: comp.broadcast %b dims [1] like %like : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
  %y = comp.broadcast %b dims [1] like %like : !f, tensor<?x?xf32> -> tensor<?x?xf32>
  %rows = layout.slice %y over [dp] dim 0 : tensor<?x?xf32> -> tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
  // CHECK-NEXT: layout.slice %y over [dp] dim 1
  %columns = layout.slice %y over [dp] dim 1 : tensor<?x?xf32> -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
  func.return %rows, %columns : tensor<?x?xf32, #layout.dist<dp = sliced(0)>>, tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
}

// A slice of a splat or constant is the splat or constant with the sliced type.
// CHECK-LABEL: func.func @made
func.func @made(%k: f32, %n: index) -> (!s, tensor<5xf32, #layout.dist<dp = sliced(0)>>) {
  // CHECK-NEXT: tensor.splat %k[%n] : tensor<?xf32, #layout.dist<dp = sliced(0)>>
  %t = tensor.splat %k[%n] : !f
  %ts = layout.slice %t over [dp] dim 0 : !f -> !s
  // CHECK-NEXT: arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<5xf32, #layout.dist<dp = sliced(0)>>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %cs = layout.slice %c over [dp] dim 0 : tensor<5xf32> -> tensor<5xf32, #layout.dist<dp = sliced(0)>>
  // CHECK-NEXT: func.return
  func.return %ts, %cs : !s, tensor<5xf32, #layout.dist<dp = sliced(0)>>
}

// A gather of an argument that is updated is a copy, and stays one.
// CHECK-LABEL: func.func @copies
// CHECK-NEXT: coll.all_gather %x
// CHECK-NEXT: comp.update %x
// CHECK-NEXT: layout.slice
func.func @copies(%x: !s, %n: !s) -> !s {
  %g = coll.all_gather %x over [dp] : !s -> !f
  %u = comp.update %x, %n : !s
  %gs = layout.slice %g over [dp] dim 0 : !f -> !s
  func.return %gs : !s
}
