// What stops an operation from moving, one function a reason.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p 'coconet-reorder{op=y}' | filecheck %s

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)

// CHECK-LABEL: func.func @no_rule(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<6x8xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x8xf32>
// CHECK-NEXT: %p = tensor.extract_slice %y[0, 0] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
// CHECK-NEXT: func.return %p : tensor<6x4xf32>
func.func @no_rule(%x: tensor<6x8xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x4xf32> {
  // expected-remark @+1 {{reorder 'y': declined [no-rule]: 'p' cannot move: tensor.extract_slice states no dimension rule, so it never moves}}
  %y = coll.all_gather %x over [tp] : tensor<6x8xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x8xf32>
  %p = tensor.extract_slice %y[0, 0] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  func.return %p : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<2x5x5x3xf32, #layout.dist<tp = sliced(1)>> -> tensor<2x5x5x3xf32>
// CHECK-NEXT: %p = comp.conv2d %y, %k : (tensor<2x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x3x3x4xf32>
// CHECK-NEXT: func.return %p : tensor<2x3x3x4xf32>
func.func @whole(%x: tensor<2x5x5x3xf32, #layout.dist<tp = sliced(1)>>, %k: tensor<3x3x3x4xf32>) -> tensor<2x3x3x4xf32> {
  // expected-remark @+1 {{reorder 'y': declined [whole-dimension]: 'p' cannot move: dimension 'h' is needed whole, but is sliced by [tp]: gather it first}}
  %y = coll.all_gather %x over [tp] : tensor<2x5x5x3xf32, #layout.dist<tp = sliced(1)>> -> tensor<2x5x5x3xf32>
  %p = comp.conv2d %y, %k : (tensor<2x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x3x3x4xf32>
  func.return %p : tensor<2x3x3x4xf32>
}

// CHECK-LABEL: func.func @inner_factor(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<6x8xf32, #layout.dist<tp = sliced(1)>> -> tensor<6x8xf32>
// CHECK-NEXT: %p = comp.reshape %y [a, b] -> [(a b)] : tensor<6x8xf32> -> tensor<48xf32>
// CHECK-NEXT: func.return %p : tensor<48xf32>
func.func @inner_factor(%x: tensor<6x8xf32, #layout.dist<tp = sliced(1)>>) -> tensor<48xf32> {
  // expected-remark @+1 {{reorder 'y': declined [not-first-factor]: 'p' cannot move: 'b' is sliced and would be an inner factor of the product (a b) in the result: gather it first}}
  %y = coll.all_gather %x over [tp] : tensor<6x8xf32, #layout.dist<tp = sliced(1)>> -> tensor<6x8xf32>
  %p = comp.reshape %y [a, b] -> [(a b)] : tensor<6x8xf32> -> tensor<48xf32>
  func.return %p : tensor<48xf32>
}

// CHECK-LABEL: func.func @unit(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<48xf32, #layout.dist<tp = sliced(0)>> -> tensor<48xf32>
// CHECK-NEXT: %p = comp.reshape %y [(a b)] -> [a, b] : tensor<48xf32> -> tensor<6x8xf32>
// CHECK-NEXT: func.return %p : tensor<6x8xf32>
func.func @unit(%x: tensor<48xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x8xf32> {
  // expected-remark @+1 {{reorder 'y': declined [unit-not-static]: 'p' cannot move: dimension 0 of operand 0 is the product (a b) and is sliced in units of 1; only multiples of 8 keep whole rows of (b): slice it with unit 8}}
  %y = coll.all_gather %x over [tp] : tensor<48xf32, #layout.dist<tp = sliced(0)>> -> tensor<48xf32>
  %p = comp.reshape %y [(a b)] -> [a, b] : tensor<48xf32> -> tensor<6x8xf32>
  func.return %p : tensor<6x8xf32>
}

// CHECK-LABEL: func.func @conflict(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<6x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x6xf32>
// CHECK-NEXT: %p = comp.matmul %y, %y : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
// CHECK-NEXT: func.return %p : tensor<6x6xf32>
func.func @conflict(%x: tensor<6x6xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x6xf32> {
  // expected-remark @+1 {{reorder 'y': declined [layout-conflict]: 'p' cannot move: axis 'tp' slices both 'm' and 'k'; an axis can slice one dimension of an operation: gather one of the operands first}}
  %y = coll.all_gather %x over [tp] : tensor<6x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x6xf32>
  %p = comp.matmul %y, %y : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  func.return %p : tensor<6x6xf32>
}

// CHECK-LABEL: func.func @local_root(
// CHECK-NEXT: %y = coll.broadcast %x over [tp] root 2 : tensor<?xf32, #layout.dist<tp = local>> -> tensor<?xf32>
// CHECK-NEXT: %p = arith.addf %y, %y : tensor<?xf32>
// CHECK-NEXT: func.return %p : tensor<?xf32>
func.func @local_root(%x: tensor<?xf32, #layout.dist<tp = local>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': declined [layout-conflict]: its operand is local on [tp]; only a value on the root alone, as coll.reduce makes it, can be worked on before the broadcast}}
  %y = coll.broadcast %x over [tp] root 2 : tensor<?xf32, #layout.dist<tp = local>> -> tensor<?xf32>
  %p = arith.addf %y, %y : tensor<?xf32>
  func.return %p : tensor<?xf32>
}

// CHECK-LABEL: func.func @beside_partial(
// CHECK-NEXT: %y = coll.broadcast %x over [tp] root 0 : tensor<6x8xf32, #layout.dist<tp = root(0)>> -> tensor<6x8xf32>
// CHECK-NEXT: %sum = comp.matmul %l, %k : (tensor<8x4xf32, #layout.dist<tp = sliced(1)>>, tensor<4x3xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x3xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %p = comp.matmul %y, %sum : (tensor<6x8xf32>, tensor<8x3xf32, #layout.dist<tp = partial(sum)>>) -> tensor<6x3xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %z = coll.all_reduce sum %p over [tp] : tensor<6x3xf32, #layout.dist<tp = partial(sum)>> -> tensor<6x3xf32>
// CHECK-NEXT: func.return %z : tensor<6x3xf32>
func.func @beside_partial(%x: tensor<6x8xf32, #layout.dist<tp = root(0)>>, %l: tensor<8x4xf32, #layout.dist<tp = sliced(1)>>,
                          %k: tensor<4x3xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x3xf32> {
  // expected-remark @+1 {{reorder 'y': declined [needs-reduction]: 'p' cannot move: axis 'tp' is root(0) in one operand and partial(sum) in operand 1: reduce it first, or say that the unreduced values are meant (layout.relax … over [tp])}}
  %y = coll.broadcast %x over [tp] root 0 : tensor<6x8xf32, #layout.dist<tp = root(0)>> -> tensor<6x8xf32>
  %sum = comp.matmul %l, %k : (tensor<8x4xf32, #layout.dist<tp = sliced(1)>>, tensor<4x3xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x3xf32, #layout.dist<tp = partial(sum)>>
  %p = comp.matmul %y, %sum : (tensor<6x8xf32>, tensor<8x3xf32, #layout.dist<tp = partial(sum)>>) -> tensor<6x3xf32, #layout.dist<tp = partial(sum)>>
  %z = coll.all_reduce sum %p over [tp] : tensor<6x3xf32, #layout.dist<tp = partial(sum)>> -> tensor<6x3xf32>
  func.return %z : tensor<6x3xf32>
}

comp.define @any rule [m, n] -> [m], n = reduction(max) {
^bb0(%v: tensor<?x?xi1>):
  %wide = arith.extui %v : tensor<?x?xi1> to tensor<?x?xi32>
  %most = comp.reduce max %wide dims [1] : tensor<?x?xi32> -> tensor<?xi32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %most, %c0 : tensor<?xi32>
  %zero = arith.constant 0 : i32
  %zeros = tensor.splat %zero[%n] : tensor<?xi32>
  %r = arith.cmpi sgt, %most, %zeros : tensor<?xi32>
  comp.yield %r : tensor<?xi1>
}

// CHECK-LABEL: func.func @no_reduction_of_bits(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<6x8xi1, #layout.dist<tp = sliced(1)>> -> tensor<6x8xi1>
// CHECK-NEXT: %p = comp.custom @any(%y) : (tensor<6x8xi1>) -> tensor<6xi1>
// CHECK-NEXT: func.return %p : tensor<6xi1>
func.func @no_reduction_of_bits(%x: tensor<6x8xi1, #layout.dist<tp = sliced(1)>>) -> tensor<6xi1> {
  // expected-remark @+1 {{reorder 'y': declined [needs-reduction]: 'p' cannot move: its result would be <tp = partial(max)>, but i1 elements cannot be reduced}}
  %y = coll.all_gather %x over [tp] : tensor<6x8xi1, #layout.dist<tp = sliced(1)>> -> tensor<6x8xi1>
  %p = comp.custom @any(%y) : (tensor<6x8xi1>) -> tensor<6xi1>
  func.return %p : tensor<6xi1>
}

// CHECK-LABEL: func.func @own_axes(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %l = layout.relax %y over [tp] : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = local>>
// CHECK-NEXT: %z = coll.all_reduce sum %l over [tp] : tensor<?xf32, #layout.dist<tp = local>> -> tensor<?xf32>
// CHECK-NEXT: func.return %z : tensor<?xf32>
func.func @own_axes(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': declined [own-axes]: 'l' cannot move: axis 'tp' is sliced(0) in the operand, but only a replicated or partial value can be relaxed to local: gather it first}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %l = layout.relax %y over [tp] : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = local>>
  %z = coll.all_reduce sum %l over [tp] : tensor<?xf32, #layout.dist<tp = local>> -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// CHECK-LABEL: func.func @only_stored(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %u = comp.update %m, %y : tensor<?xf32>
// CHECK-NEXT: func.return
func.func @only_stored(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %m: tensor<?xf32>) {
  // expected-remark @+1 {{reorder 'y': declined [nothing-to-move]: no operation that could move reads its result}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %u = comp.update %m, %y : tensor<?xf32>
  func.return
}

// CHECK-LABEL: func.func @widened(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf16, #layout.dist<tp = sliced(0)>> -> tensor<?xf16>
// CHECK-NEXT: %p = arith.extf %y : tensor<?xf16> to tensor<?xf32>
// CHECK-NEXT: func.return %p : tensor<?xf32>
func.func @widened(%x: tensor<?xf16, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': declined [more-bytes]: a rank would send 4*x.0*(1 - 1/tp) bytes instead of 2*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf16, #layout.dist<tp = sliced(0)>> -> tensor<?xf16>
  %p = arith.extf %y : tensor<?xf16> to tensor<?xf32>
  func.return %p : tensor<?xf32>
}

// CHECK-LABEL: func.func @scalar(
// CHECK-NEXT: %y = coll.broadcast %x over [tp] root 0 : tensor<f32, #layout.dist<tp = root(0)>> -> tensor<f32>
// CHECK-NEXT: %p = tensor.extract %y[] : tensor<f32>
// CHECK-NEXT: func.return %p : f32
func.func @scalar(%x: tensor<f32, #layout.dist<tp = root(0)>>) -> f32 {
  // expected-remark @+1 {{reorder 'y': declined [scalar-result]: 'p' cannot move: scalars are replicated, so the tensor must be replicated on every axis: gather or reduce it first}}
  %y = coll.broadcast %x over [tp] root 0 : tensor<f32, #layout.dist<tp = root(0)>> -> tensor<f32>
  %p = tensor.extract %y[] : tensor<f32>
  func.return %p : f32
}
