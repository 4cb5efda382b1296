// Layouts from arguments and results: what infer inserts, and where it stops because a collective would be needed.

// RUN: coconet-opt %s --split-input-file --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-infer' | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

// Replicated operands are sliced to fit the others, each once; splats are made in parts.

// CHECK-LABEL: func.func @sliced(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %n = tensor.dim %x, %c0 : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %t = tensor.splat %s[%n] : tensor<?x8xf32>
// CHECK-NEXT: %whole = arith.addf %w, %t : tensor<?x8xf32>
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 {unit = 2 : i64} : tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %a = arith.addf %x, %w_slice : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %b = arith.mulf %a, %w_slice : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %t_slice = tensor.splat %s[%n] : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %c = arith.mulf %b, %t_slice : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: func.return %c, %whole : tensor<?x8xf32, #layout.dist<tp = sliced(0, 2)>>, tensor<?x8xf32>
// expected-remark @+1 {{infer 'sliced': applied: inserted 1 layout.slice and 1 tensor.splat}}
func.func @sliced(%x: tensor<?x8xf32> {layout.of = #layout.dist<tp = sliced(0, 2)>}, %w: tensor<?x8xf32>, %s: f32)
    -> (tensor<?x8xf32> {layout.of = #layout.dist<tp = sliced(0, 2)>}, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %t = tensor.splat %s[%n] : tensor<?x8xf32>
  %whole = arith.addf %w, %t : tensor<?x8xf32>
  %a = arith.addf %x, %w : tensor<?x8xf32>
  %b = arith.mulf %a, %w : tensor<?x8xf32>
  %c = arith.mulf %b, %t : tensor<?x8xf32>
  func.return %c, %whole : tensor<?x8xf32>, tensor<?x8xf32>
}

// A constant that has one reader takes its layout.

// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %two = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<5xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %a = arith.addf %x, %two : tensor<5xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: func.return %a : tensor<5xf32, #layout.dist<tp = sliced(0)>>
// expected-remark @+1 {{infer 'constant': applied: inserted nothing}}
func.func @constant(%x: tensor<5xf32> {layout.of = #layout.dist<tp = sliced(0)>}) -> (tensor<5xf32> {layout.of = #layout.dist<tp = sliced(0)>}) {
  %two = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %a = arith.addf %x, %two : tensor<5xf32>
  func.return %a : tensor<5xf32>
}

// Replicated operands beside local and rooted ones are relaxed; a matmul needs that of none.

// CHECK-LABEL: func.func @relaxed(
// CHECK-NEXT: %w_relax = layout.relax %w over [dp] : tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<dp = local>>
// CHECK-NEXT: %a = arith.addf %x, %w_relax : tensor<?x8xf32, #layout.dist<dp = local>>
// CHECK-NEXT: %b = comp.matmul %a, %k : (tensor<?x8xf32, #layout.dist<dp = local>>, tensor<8x3xf32>) -> tensor<?x3xf32, #layout.dist<dp = local>>
// CHECK-NEXT: %w_relax2 = layout.relax %w over [tp] root 1 : tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %c = arith.mulf %w_relax2, %r : tensor<?x8xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %w_relax3 = layout.relax %w over [tp] : tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<tp = local>>
// CHECK-NEXT: func.return %b, %c, %w_relax3 : tensor<?x3xf32, #layout.dist<dp = local>>, tensor<?x8xf32, #layout.dist<tp = root(1)>>, tensor<?x8xf32, #layout.dist<tp = local>>
// expected-remark @+1 {{infer 'relaxed': applied: inserted 3 layout.relax}}
func.func @relaxed(%x: tensor<?x8xf32> {layout.of = #layout.dist<dp = local>}, %r: tensor<?x8xf32> {layout.of = #layout.dist<tp = root(1)>},
                   %w: tensor<?x8xf32>, %k: tensor<8x3xf32>)
    -> (tensor<?x3xf32> {layout.of = #layout.dist<dp = local>}, tensor<?x8xf32> {layout.of = #layout.dist<tp = root(1)>}, tensor<?x8xf32> {layout.of = #layout.dist<tp = local>}) {
  %a = arith.addf %x, %w : tensor<?x8xf32>
  %b = comp.matmul %a, %k : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
  %c = arith.mulf %w, %r : tensor<?x8xf32>
  func.return %b, %c, %w : tensor<?x3xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// Collectives that the program states give their results' layouts; regions mean their body.

// CHECK-LABEL: func.func @collectives(
// CHECK-NEXT: %y = coll.overlap {
// CHECK-NEXT: %k_slice = layout.slice %k over [tp] dim 0 : tensor<8x3xf32> -> tensor<8x3xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = comp.matmul %x, %k_slice : (tensor<?x8xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>, tensor<8x3xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?x3xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>>
// CHECK-NEXT: %q = coll.all_reduce sum %p over [tp] : tensor<?x3xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>> -> tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: coll.yield %q : tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: }
// CHECK-NEXT: %g_slice = layout.slice %g over [dp] dim 0 : tensor<?x3xf32> -> tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %s = arith.addf %y, %g_slice : tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %u = comp.update %m, %s : tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %z = coll.all_gather %u over [dp] : tensor<?x3xf32, #layout.dist<dp = sliced(0)>> -> tensor<?x3xf32>
// CHECK-NEXT: func.return %z : tensor<?x3xf32>
// expected-remark @+1 {{infer 'collectives': applied: inserted 2 layout.slice}}
func.func @collectives(%x: tensor<?x8xf32> {layout.of = #layout.dist<dp = sliced(0), tp = sliced(1)>}, %k: tensor<8x3xf32>,
                       %m: tensor<?x3xf32> {layout.of = #layout.dist<dp = sliced(0)>, coconet.state}, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = coll.overlap {
    %p = comp.matmul %x, %k : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
    %q = coll.all_reduce sum %p over [tp] : tensor<?x3xf32> -> tensor<?x3xf32>
    coll.yield %q : tensor<?x3xf32>
  }
  %s = arith.addf %y, %g : tensor<?x3xf32>
  %u = comp.update %m, %s : tensor<?x3xf32>
  %z = coll.all_gather %u over [dp] : tensor<?x3xf32> -> tensor<?x3xf32>
  func.return %z : tensor<?x3xf32>
}

// A function without `layout.of` has its layouts, and stays.

// CHECK-LABEL: func.func @inferred(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %y : tensor<?xf32>
func.func @inferred(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

layout.mesh @mesh(dp = 2)
func.func @no_rule(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}) {
  // expected-error @+1 {{states no dimension rule, so its operands must be replicated}}
  %y = tensor.extract_slice %x[0, 0] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @whole(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}) {
  // expected-error @+1 {{cannot be inferred: dimension 'd1' is needed whole, but is sliced by [dp]: gather it first}}
  %y = comp.softmax %x dim 1 : tensor<6x8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @two_ways(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(0)>}, %y: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}) {
  // expected-error @+1 {{cannot be inferred: axis 'dp' slices both 'd0' and 'd1'; an axis can slice one dimension of an operation: gather one of the operands first}}
  %z = arith.addf %x, %y : tensor<6x8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @partial(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}, %k: tensor<8x3xf32>) {
  %y = comp.matmul %x, %k : (tensor<6x8xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
  // expected-error @+1 {{cannot be inferred: operand 0 is partial(sum) on axis 'dp', and the operation is not linear in it: reduce it first, or say that the unreduced values are meant (layout.relax … over [dp])}}
  %z = math.exp %y : tensor<6x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @returns_partial(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}, %k: tensor<8x3xf32>) -> tensor<6x3xf32> {
  %y = comp.matmul %x, %k : (tensor<6x8xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
  // expected-error @+1 {{returns result 0 as <dp = partial(sum)>, but the function promises replicated: reduce it with coll.all_reduce sum over [dp] first}}
  func.return %y : tensor<6x3xf32>
}

// -----

layout.mesh @mesh(dp = 2)
func.func @never_a_relax_of_partial(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}, %k: tensor<8x3xf32>)
    -> (tensor<6x3xf32> {layout.of = #layout.dist<dp = local>}) {
  %y = comp.matmul %x, %k : (tensor<6x8xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
  // expected-error @+1 {{returns result 0 as <dp = partial(sum)>, but the function promises <dp = local>: reduce it with coll.all_reduce sum over [dp] first}}
  func.return %y : tensor<6x3xf32>
}

// -----

layout.mesh @mesh(dp = 2)
func.func @returns_sliced(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}) -> tensor<6x8xf32> {
  // expected-error @+1 {{returns result 0 as <dp = sliced(1)>, but the function promises replicated: gather it with coll.all_gather over [dp] first}}
  func.return %x : tensor<6x8xf32>
}

// -----

layout.mesh @mesh(dp = 2)
func.func @returns_local(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = local>}) -> tensor<6x8xf32> {
  // expected-error @+1 {{returns result 0 as <dp = local>, but the function promises replicated: make it replicated with coll.all_reduce or coll.broadcast over [dp] first}}
  func.return %x : tensor<6x8xf32>
}

// -----

layout.mesh @mesh(dp = 2)
func.func @update(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}, %m: tensor<6x8xf32>) {
  // expected-error @+1 {{cannot be inferred: the value is <dp = sliced(1)>, but the target replicated: gather it with coll.all_gather over [dp] first}}
  %u = comp.update %m, %x : tensor<6x8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, tp = 4)
func.func @gather(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}) {
  // expected-error @+1 {{cannot be inferred: [tp] must be the innermost axes that slice one dimension, but the operand's layout is <dp = sliced(1)>}}
  %y = coll.all_gather %x over [tp] : tensor<6x8xf32> -> tensor<6x8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @replicated_reduction(%x: tensor<6x8xf32>, %l: tensor<6x8xf32> {layout.of = #layout.dist<dp = local>}) {
  // expected-error @+1 {{cannot be inferred: axis 'dp' is replicated in the operand, but a sum over it needs local or partial(sum): every rank has the same, which would count once a rank (layout.relax, if that is meant)}}
  %y = coll.all_reduce sum %x over [dp] : tensor<6x8xf32> -> tensor<6x8xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @scalar(%x: tensor<6x8xf32> {layout.of = #layout.dist<dp = sliced(1)>}, %i: index) {
  // expected-error @+1 {{cannot be inferred: dimension 'd1' is needed whole, but is sliced by [dp]: gather it first}}
  %y = tensor.extract %x[%i, %i] : tensor<6x8xf32>
  func.return
}
