// What reorder moves an all_gather or a broadcast below; reorder_stops.mlir has what stops it.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-reorder{op=y},coconet-reorder{op=wide allow-more-bytes=true},coconet-reorder{op=some ops=p,q},\
// RUN:    coconet-reorder{op=none ops=p,r},coconet-reorder{op=gap ops=q},coconet-reorder{op=step ops=n}' \
// RUN:   | filecheck %s

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)

// What reads the gathered value runs on slices: replicated operands are sliced, splats and constants made in parts, and
// what only moved operations read moves too. What is needed whole is gathered; sizes are read from the slice.

// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %n = tensor.dim %x, %c0 : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %t = tensor.splat %s[%n] : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %bias = comp.broadcast %b dims [1] like %w : tensor<8xf32>, tensor<?x8xf32> -> tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %a = arith.addf %x, %bias : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %d = comp.dropout %a, %seed {p = 1.000000e-01 : f32, id = 3 : i64} : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q = arith.mulf %d, %t : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %r = comp.scale %q by %s : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %z = arith.addf %r, %w_slice : tensor<?x8xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %z_ag = coll.all_gather %z over [tp] : tensor<?x8xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x8xf32>
// CHECK-NEXT: func.return %z_ag : tensor<?x8xf32>
func.func @pointwise(%x: tensor<?x8xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<?x8xf32>, %b: tensor<8xf32>, %s: f32, %seed: i64)
    -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{reorder 'y': applied: 7 operation(s) now run before all_gather over [tp]; a rank sends 32*x.0*(1 - 1/tp) bytes, before 32*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?x8xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x8xf32>
  %n = tensor.dim %y, %c0 : tensor<?x8xf32>
  %t = tensor.splat %s[%n] : tensor<?x8xf32>
  %bias = comp.broadcast %b dims [1] like %w : tensor<8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %a = arith.addf %y, %bias : tensor<?x8xf32>
  %d = comp.dropout %a, %seed {p = 0.1 : f32, id = 3 : i64} : tensor<?x8xf32>
  %q = arith.mulf %d, %t : tensor<?x8xf32>
  %r = comp.scale %q by %s : tensor<?x8xf32>
  %z = arith.addf %r, %w : tensor<?x8xf32>
  func.return %z : tensor<?x8xf32>
}

// A splat or constant that others read whole is made twice. A constant keeps its value.

// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: %k = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<5xf32>
// CHECK-NEXT: %k_slice = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<5xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %a = arith.addf %x, %k_slice : tensor<5xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %a_ag = coll.all_gather %a over [tp] : tensor<5xf32, #layout.dist<tp = sliced(0)>> -> tensor<5xf32>
// CHECK-NEXT: %other = arith.mulf %k, %k : tensor<5xf32>
// CHECK-NEXT: func.return %a_ag, %other : tensor<5xf32>, tensor<5xf32>
func.func @constants(%x: tensor<5xf32, #layout.dist<tp = sliced(0)>>) -> (tensor<5xf32>, tensor<5xf32>) {
  // expected-remark @+1 {{reorder 'y': applied}}
  %y = coll.all_gather %x over [tp] : tensor<5xf32, #layout.dist<tp = sliced(0)>> -> tensor<5xf32>
  %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %a = arith.addf %y, %k : tensor<5xf32>
  %other = arith.mulf %k, %k : tensor<5xf32>
  func.return %a, %other : tensor<5xf32>, tensor<5xf32>
}

// A value that one operation needs whole and another in slices is there in both forms.

// CHECK-LABEL: func.func @whole_too(
// CHECK-NEXT: %p = arith.addf %x, %x : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %e = tensor.extract %p_ag[%i] : tensor<?xf32>
// CHECK-NEXT: %q = arith.mulf %p, %p : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q_ag = coll.all_gather %q over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %e, %q_ag : f32, tensor<?xf32>
func.func @whole_too(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %i: index) -> (f32, tensor<?xf32>) {
  // expected-remark @+1 {{reorder 'wide': applied: 2 operation(s) now run before all_gather over [tp]; a rank sends 8*x.0*(1 - 1/tp) bytes, before 4*x.0*(1 - 1/tp); stops at 'e' [whole-dimension]: dimension 'd0' is needed whole}}
  %wide = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %wide, %wide : tensor<?xf32>
  %e = tensor.extract %p[%i] : tensor<?xf32>
  %q = arith.mulf %p, %p : tensor<?xf32>
  func.return %e, %q : f32, tensor<?xf32>
}

// An update stores the gathered value and its readers read the sliced one. Gathers for state alone do not count.

// CHECK-LABEL: func.func @updates(
// CHECK-NEXT: %m_slice = layout.slice %m over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %sum = arith.addf %x, %m_slice : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %sum_ag = coll.all_gather %sum over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %stored = comp.update %m, %sum_ag : tensor<?xf32>
// CHECK-NEXT: %new = arith.subf %w_slice, %sum : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %new_ag = coll.all_gather %new over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %weights = comp.update %w, %new_ag : tensor<?xf32>
// CHECK-NEXT: func.return
func.func @updates(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %m: tensor<?xf32> {coconet.state}, %w: tensor<?xf32>) {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s) now run before all_gather over [tp]; a rank sends 4*w.0*(1 - 1/tp) bytes, before 4*w.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %sum = arith.addf %y, %m : tensor<?xf32>
  %stored = comp.update %m, %sum : tensor<?xf32>
  %new = arith.subf %w, %stored : tensor<?xf32>
  %weights = comp.update %w, %new : tensor<?xf32>
  func.return
}

// A reduction over the sliced dimension becomes partial, and an all_reduce.

// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<8x3xf16> -> tensor<8x3xf16, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = comp.matmul %x, %w_slice {accumulate = f32} : (tensor<?x8xf16, #layout.dist<tp = sliced(1)>>, tensor<8x3xf16, #layout.dist<tp = sliced(0)>>) -> tensor<?x3xf16, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %p_ar = coll.all_reduce sum %p over [tp] : tensor<?x3xf16, #layout.dist<tp = partial(sum)>> -> tensor<?x3xf16>
// CHECK-NEXT: %most = comp.reduce max %x dims [1] : tensor<?x8xf16, #layout.dist<tp = sliced(1)>> -> tensor<?xf16, #layout.dist<tp = partial(max)>>
// CHECK-NEXT: %most_ar = coll.all_reduce max %most over [tp] : tensor<?xf16, #layout.dist<tp = partial(max)>> -> tensor<?xf16>
// CHECK-NEXT: func.return %p_ar, %most_ar : tensor<?x3xf16>, tensor<?xf16>
func.func @reductions(%x: tensor<?x8xf16, #layout.dist<tp = sliced(1)>>, %w: tensor<8x3xf16>) -> (tensor<?x3xf16>, tensor<?xf16>) {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s) now run before all_gather over [tp]; a rank sends 16*x.0*(1 - 1/tp) bytes, before 16*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?x8xf16, #layout.dist<tp = sliced(1)>> -> tensor<?x8xf16>
  %p = comp.matmul %y, %w {accumulate = f32} : (tensor<?x8xf16>, tensor<8x3xf16>) -> tensor<?x3xf16>
  %most = comp.reduce max %y dims [1] : tensor<?x8xf16> -> tensor<?xf16>
  func.return %p, %most : tensor<?x3xf16>, tensor<?xf16>
}

// Where a rule needs a dimension whole, the decomposition is used: its reduction runs on slices.

// CHECK-LABEL: func.func @norm(
// CHECK-NEXT: %n_extf = arith.extf %x : tensor<?xf16, #layout.dist<tp = sliced(0)>> to tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_mulf = arith.mulf %n_extf, %n_extf : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_reduce = comp.reduce sum %n_mulf dims [0] {accumulate = f32} : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %n_reduce_ar = coll.all_reduce sum %n_reduce over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32>
// CHECK-NEXT: %n_sqrt = math.sqrt %n_reduce_ar : tensor<f32>
// CHECK-NEXT: %n = arith.truncf %n_sqrt : tensor<f32> to tensor<f16>
// CHECK-NEXT: func.return %n : tensor<f16>
func.func @norm(%x: tensor<?xf16, #layout.dist<tp = sliced(0)>>) -> tensor<f16> {
  // expected-remark @+1 {{reorder 'y': applied: 3 operation(s) now run before all_gather over [tp]; a rank sends 0 bytes, before 2*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf16, #layout.dist<tp = sliced(0)>> -> tensor<?xf16>
  %n = comp.norm %y : tensor<?xf16> -> tensor<f16>
  func.return %n : tensor<f16>
}

// The name of an operation goes to the last step.

// CHECK-LABEL: func.func @named_norm(
// CHECK-NEXT: %length_mulf = arith.mulf %x, %x : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %length_reduce = comp.reduce sum %length_mulf dims [0] {accumulate = f32} : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %length_reduce_ar = coll.all_reduce sum %length_reduce over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32>
// CHECK-NEXT: %0 = math.sqrt %length_reduce_ar {coconet.name = "length"} : tensor<f32>
// CHECK-NEXT: func.return %0 : tensor<f32>
func.func @named_norm(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<f32> {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %0 = comp.norm %y {coconet.name = "length"} : tensor<?xf32> -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %n_reduce = comp.reduce sum %x dims [0] {accumulate = f32} : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<4xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %n_reduce_ar = coll.all_reduce sum %n_reduce over [tp] : tensor<4xf32, #layout.dist<tp = partial(sum)>> -> tensor<4xf32>
// CHECK-NEXT: %n_constant = arith.constant 1 : index
// CHECK-NEXT: %n_constant2 = arith.constant 0 : index
// CHECK-NEXT: %n_dim = tensor.dim %x, %n_constant2 : tensor<?x4xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_muli = arith.muli %n_constant, %n_dim : index
// CHECK-NEXT: %n_maxsi = arith.maxsi %n_muli, %n_constant : index
// CHECK-NEXT: %n_index_cast = arith.index_cast %n_maxsi : index to i64
// CHECK-NEXT: %n_sitofp = arith.sitofp %n_index_cast : i64 to f32
// CHECK-NEXT: %n_splat = tensor.splat %n_sitofp : tensor<4xf32>
// CHECK-NEXT: %n = arith.divf %n_reduce_ar, %n_splat : tensor<4xf32>
// CHECK-NEXT: func.return %n : tensor<4xf32>
func.func @mean(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>) -> tensor<4xf32> {
  // expected-remark @+1 {{reorder 'wide': applied}}
  %wide = coll.all_gather %x over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x4xf32>
  %n = comp.mean %wide dims [0] : tensor<?x4xf32> -> tensor<4xf32>
  func.return %n : tensor<4xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %p_reduce = comp.reduce max %x dims [1] : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?xf32, #layout.dist<tp = partial(max)>>
// CHECK-NEXT: %p_reduce_ar = coll.all_reduce max %p_reduce over [tp] : tensor<?xf32, #layout.dist<tp = partial(max)>> -> tensor<?xf32>
// CHECK-NEXT: %p_broadcast = comp.broadcast %p_reduce_ar dims [0] like %x : tensor<?xf32>, tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_subf = arith.subf %x, %p_broadcast : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_exp = math.exp %p_subf : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_reduce2 = comp.reduce sum %p_exp dims [1] {accumulate = f32} : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %p_reduce2_ar = coll.all_reduce sum %p_reduce2 over [tp] : tensor<?xf32, #layout.dist<tp = partial(sum)>> -> tensor<?xf32>
// CHECK-NEXT: %p_broadcast2 = comp.broadcast %p_reduce2_ar dims [0] like %x : tensor<?xf32>, tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p = arith.divf %p_exp, %p_broadcast2 : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32>
// CHECK-NEXT: func.return %p_ag : tensor<?x4xf32>
func.func @softmax(%x: tensor<?x4xf32, #layout.dist<tp = sliced(1)>>) -> tensor<?x4xf32> {
  // expected-remark @+1 {{reorder 'wide': applied}}
  %wide = coll.all_gather %x over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32>
  %p = comp.softmax %wide dim 1 : tensor<?x4xf32>
  func.return %p : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<4xf32> -> tensor<4xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_mulf = arith.mulf %x, %x : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_reduce = comp.reduce sum %p_mulf dims [1] {accumulate = f32} : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %p_reduce_ar = coll.all_reduce sum %p_reduce over [tp] : tensor<?xf32, #layout.dist<tp = partial(sum)>> -> tensor<?xf32>
// CHECK-NEXT: %p_constant = arith.constant 1 : index
// CHECK-NEXT: %p_constant2 = arith.constant 1 : index
// CHECK-NEXT: %p_dim = tensor.dim %x, %p_constant2 : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_muli = arith.muli %p_constant, %p_dim : index
// CHECK-NEXT: %p_maxsi = arith.maxsi %p_muli, %p_constant : index
// CHECK-NEXT: %p_index_cast = arith.index_cast %p_maxsi : index to i64
// CHECK-NEXT: %p_sitofp = arith.sitofp %p_index_cast : i64 to f32
// CHECK-NEXT: %p_constant3 = arith.constant 0 : index
// CHECK-NEXT: %p_dim2 = tensor.dim %p_reduce_ar, %p_constant3 : tensor<?xf32>
// CHECK-NEXT: %p_splat = tensor.splat %p_sitofp[%p_dim2] : tensor<?xf32>
// CHECK-NEXT: %p_divf = arith.divf %p_reduce_ar, %p_splat : tensor<?xf32>
// CHECK-NEXT: %p_constant4 = arith.constant 1.000000e-06 : f32
// CHECK-NEXT: %p_constant5 = arith.constant 0 : index
// CHECK-NEXT: %p_dim3 = tensor.dim %p_divf, %p_constant5 : tensor<?xf32>
// CHECK-NEXT: %p_splat2 = tensor.splat %p_constant4[%p_dim3] : tensor<?xf32>
// CHECK-NEXT: %p_addf = arith.addf %p_divf, %p_splat2 : tensor<?xf32>
// CHECK-NEXT: %p_sqrt = math.sqrt %p_addf : tensor<?xf32>
// CHECK-NEXT: %p_broadcast = comp.broadcast %p_sqrt dims [0] like %x : tensor<?xf32>, tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_divf2 = arith.divf %x, %p_broadcast : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_broadcast2 = comp.broadcast %w_slice dims [1] like %x : tensor<4xf32, #layout.dist<tp = sliced(0)>>, tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p = arith.mulf %p_divf2, %p_broadcast2 : tensor<?x4xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32>
// CHECK-NEXT: func.return %p_ag : tensor<?x4xf32>
func.func @rms_norm(%x: tensor<?x4xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-remark @+1 {{reorder 'wide': applied}}
  %wide = coll.all_gather %x over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x4xf32>
  %p = comp.rms_norm %wide, %w {eps = 1.0e-6 : f32} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %p : tensor<?x4xf32>
}

// Along another dimension the rule alone suffices.

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %p = comp.softmax %x dim 1 : tensor<?x4xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q = comp.rms_norm %p, %w {eps = 1.000000e-06 : f32} : (tensor<?x4xf32, #layout.dist<tp = sliced(0)>>, tensor<4xf32>) -> tensor<?x4xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q_ag = coll.all_gather %q over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x4xf32>
// CHECK-NEXT: func.return %q_ag : tensor<?x4xf32>
func.func @rows(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x4xf32>
  %p = comp.softmax %y dim 1 : tensor<?x4xf32>
  %q = comp.rms_norm %p, %w {eps = 1.0e-6 : f32} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %q : tensor<?x4xf32>
}

// Reductions of an argument that is sliced anyway work on its slice too, if nothing more is gathered for that.

// CHECK-LABEL: func.func @argument(
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = arith.addf %x, %w_slice : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_mulf = arith.mulf %w_slice, %w_slice : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_reduce = comp.reduce sum %n_mulf dims [0] {accumulate = f32} : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %n_reduce_ar = coll.all_reduce sum %n_reduce over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32>
// CHECK-NEXT: %n = math.sqrt %n_reduce_ar : tensor<f32>
// CHECK-NEXT: %e = tensor.extract %n[] : tensor<f32>
// CHECK-NEXT: %q = comp.scale %p by %e : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q_ag = coll.all_gather %q over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %q_ag : tensor<?xf32>
func.func @argument(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<?xf32>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': applied: 4 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %y, %w : tensor<?xf32>
  %n = comp.norm %w : tensor<?xf32> -> tensor<f32>
  %e = tensor.extract %n[] : tensor<f32>
  %q = comp.scale %p by %e : tensor<?xf32>
  func.return %q : tensor<?xf32>
}

// One value a segment: its all_reduce does not count.

// CHECK-LABEL: func.func @segments(
// CHECK-NEXT: %squares = arith.mulf %x, %x : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %sums = comp.segment_reduce sum %squares, %offsets : (tensor<?xf32, #layout.dist<tp = sliced(0)>>, tensor<?xi64>) -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %sums_ar = coll.all_reduce sum %sums over [tp] : tensor<?xf32, #layout.dist<tp = partial(sum)>> -> tensor<?xf32>
// CHECK-NEXT: %norms = math.sqrt %sums_ar : tensor<?xf32>
// CHECK-NEXT: %spread = comp.segment_broadcast %norms, %offsets like %x : (tensor<?xf32>, tensor<?xi64>, tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %z = arith.divf %x, %spread : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %z_ag = coll.all_gather %z over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %z_ag : tensor<?xf32>
func.func @segments(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %offsets: tensor<?xi64>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': applied: 4 operation(s) now run before all_gather over [tp]; a rank sends 4*x.0*(1 - 1/tp) bytes, before 4*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %squares = arith.mulf %y, %y : tensor<?xf32>
  %sums = comp.segment_reduce sum %squares, %offsets : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %norms = math.sqrt %sums : tensor<?xf32>
  %spread = comp.segment_broadcast %norms, %offsets like %y : (tensor<?xf32>, tensor<?xi64>, tensor<?xf32>) -> tensor<?xf32>
  %z = arith.divf %y, %spread : tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// The first factor of a product can be sliced, in units of the others.

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: %flat = comp.reshape %x [a, b] -> [(a b)] : tensor<?x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32, #layout.dist<tp = sliced(0, 6)>>
// CHECK-NEXT: %apart = comp.reshape %flat [(a b c)] -> [a, b, c] : tensor<?xf32, #layout.dist<tp = sliced(0, 6)>> -> tensor<?x2x3xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %moved = comp.transpose %apart perm [1, 2, 0] : tensor<?x2x3xf32, #layout.dist<tp = sliced(0)>> -> tensor<2x3x?xf32, #layout.dist<tp = sliced(2)>>
// CHECK-NEXT: %moved_ag = coll.all_gather %moved over [tp] : tensor<2x3x?xf32, #layout.dist<tp = sliced(2)>> -> tensor<2x3x?xf32>
// CHECK-NEXT: func.return %moved_ag : tensor<2x3x?xf32>
func.func @reshape(%x: tensor<?x6xf32, #layout.dist<tp = sliced(0)>>) -> tensor<2x3x?xf32> {
  // expected-remark @+1 {{reorder 'y': applied: 3 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x6xf32>
  %flat = comp.reshape %y [a, b] -> [(a b)] : tensor<?x6xf32> -> tensor<?xf32>
  %apart = comp.reshape %flat [(a b c)] -> [a, b, c] : tensor<?xf32> -> tensor<?x2x3xf32>
  %moved = comp.transpose %apart perm [1, 2, 0] : tensor<?x2x3xf32> -> tensor<2x3x?xf32>
  func.return %moved : tensor<2x3x?xf32>
}

// Several axes at once, and a dimension that other axes cut already.

// CHECK-LABEL: func.func @axes(
// CHECK-NEXT: %w_slice = layout.slice %w over [pp, tp] dim 0 : tensor<?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?xf32, #layout.dist<[dp, pp, tp] = sliced(0)>>
// CHECK-NEXT: %p = arith.addf %x, %w_slice : tensor<?xf32, #layout.dist<[dp, pp, tp] = sliced(0)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [pp, tp] : tensor<?xf32, #layout.dist<[dp, pp, tp] = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return %p_ag : tensor<?xf32, #layout.dist<dp = sliced(0)>>
func.func @axes(%x: tensor<?xf32, #layout.dist<[dp, pp, tp] = sliced(0)>>, %w: tensor<?xf32, #layout.dist<dp = sliced(0)>>)
    -> tensor<?xf32, #layout.dist<dp = sliced(0)>> {
  // expected-remark @+1 {{reorder 'y': applied: 1 operation(s) now run before all_gather over [pp, tp]; a rank sends 4*x.0*(1 - 1/pp/tp)/dp bytes, before 4*x.0*(1 - 1/pp/tp)/dp}}
  %y = coll.all_gather %x over [pp, tp] : tensor<?xf32, #layout.dist<[dp, pp, tp] = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
  %p = arith.addf %y, %w : tensor<?xf32, #layout.dist<dp = sliced(0)>>
  func.return %p : tensor<?xf32, #layout.dist<dp = sliced(0)>>
}

// Collectives over other axes are crossed, on another dimension.

// CHECK-LABEL: func.func @crossed(
// CHECK-NEXT: %sent = coll.permute %x over [pp] shift 1 : tensor<4x?xf32, #layout.dist<dp = local, pp = local, tp = sliced(1)>> -> tensor<4x?xf32, #layout.dist<dp = local, pp = local, tp = sliced(1)>>
// CHECK-NEXT: %sum = coll.all_reduce sum %sent over [dp] : tensor<4x?xf32, #layout.dist<dp = local, pp = local, tp = sliced(1)>> -> tensor<4x?xf32, #layout.dist<pp = local, tp = sliced(1)>>
// CHECK-NEXT: %part = layout.slice %sum over [dp] dim 0 : tensor<4x?xf32, #layout.dist<pp = local, tp = sliced(1)>> -> tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local, tp = sliced(1)>>
// CHECK-NEXT: %part_ag = coll.all_gather %part over [tp] : tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local, tp = sliced(1)>> -> tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local>>
// CHECK-NEXT: func.return %part_ag : tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local>>
func.func @crossed(%x: tensor<4x?xf32, #layout.dist<dp = local, pp = local, tp = sliced(1)>>)
    -> tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local>> {
  // expected-remark @+1 {{reorder 'y': applied: 3 operation(s) now run before all_gather over [tp]; a rank sends 16*x.1/tp + 32*x.1*(1 - 1/dp)/tp + 16*x.1*(1 - 1/tp)/dp bytes, before 16*x.1 + 32*x.1*(1 - 1/dp) + 16*x.1*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<4x?xf32, #layout.dist<dp = local, pp = local, tp = sliced(1)>> -> tensor<4x?xf32, #layout.dist<dp = local, pp = local>>
  %sent = coll.permute %y over [pp] shift 1 : tensor<4x?xf32, #layout.dist<dp = local, pp = local>> -> tensor<4x?xf32, #layout.dist<dp = local, pp = local>>
  %sum = coll.all_reduce sum %sent over [dp] : tensor<4x?xf32, #layout.dist<dp = local, pp = local>> -> tensor<4x?xf32, #layout.dist<pp = local>>
  %part = layout.slice %sum over [dp] dim 0 : tensor<4x?xf32, #layout.dist<pp = local>> -> tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local>>
  func.return %part : tensor<4x?xf32, #layout.dist<dp = sliced(0), pp = local>>
}

// Not on the same dimension: the blocks would be others.

// CHECK-LABEL: func.func @same_dimension(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<dp = local, tp = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = local>>
// CHECK-NEXT: %part = coll.reduce_scatter sum %y over [dp] dim 0 : tensor<?xf32, #layout.dist<dp = local>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return %part : tensor<?xf32, #layout.dist<dp = sliced(0)>>
func.func @same_dimension(%x: tensor<?xf32, #layout.dist<dp = local, tp = sliced(0)>>) -> tensor<?xf32, #layout.dist<dp = sliced(0)>> {
  // expected-remark @+1 {{reorder 'y': declined [layout-conflict]: 'part' cannot move: its result would be <[tp, dp] = sliced(0)>, which all_gather over [tp] does not make <dp = sliced(0)> again}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<dp = local, tp = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = local>>
  %part = coll.reduce_scatter sum %y over [dp] dim 0 : tensor<?xf32, #layout.dist<dp = local>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
  func.return %part : tensor<?xf32, #layout.dist<dp = sliced(0)>>
}

// CHECK-LABEL: func.func @outer_axis(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<[dp, tp] = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %whole = coll.all_gather %y over [dp] : tensor<?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %whole : tensor<?xf32>
func.func @outer_axis(%x: tensor<?xf32, #layout.dist<[dp, tp] = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': declined [layout-conflict]: 'whole' cannot move: [dp] must be the innermost axes that slice one dimension}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<[dp, tp] = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
  %whole = coll.all_gather %y over [dp] : tensor<?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?xf32>
  func.return %whole : tensor<?xf32>
}

// Two gathers become one, or as many as there are results.

// CHECK-LABEL: func.func @gathers(
// CHECK-NEXT: %p = arith.addf %x1, %x2 : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %q = arith.mulf %x1, %x2 : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q_ag = coll.all_gather %q over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %p_ag, %q_ag : tensor<?xf32>, tensor<?xf32>
func.func @gathers(%x1: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %x2: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> (tensor<?xf32>, tensor<?xf32>) {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s) now run before all_gather over [tp]; a rank sends 8*x1.0*(1 - 1/tp) bytes, before 8*x1.0*(1 - 1/tp)}}
  %y = coll.all_gather %x1 over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %y2 = coll.all_gather %x2 over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %y, %y2 : tensor<?xf32>
  %q = arith.mulf %y, %y2 : tensor<?xf32>
  func.return %p, %q : tensor<?xf32>, tensor<?xf32>
}

// slice(all_gather x) = x; a slice that the program has is used again.

// CHECK-LABEL: func.func @folds(
// CHECK-NEXT: %own = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = arith.addf %x, %own : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %q = arith.mulf %x, %own : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: func.return %p_ag, %q : tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>
func.func @folds(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-remark @+1 {{reorder 'y': applied: 1 operation(s) now run before all_gather over [tp]; a rank sends 4*x.0*(1 - 1/tp) bytes, before 4*x.0*(1 - 1/tp)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %y, %w : tensor<?xf32>
  %part = layout.slice %y over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  %own = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  %q = arith.mulf %part, %own : tensor<?xf32, #layout.dist<tp = sliced(0)>>
  func.return %p, %q : tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>
}

// Made names: a taken one gets a number; the attribute coconet.name counts before the result's name.

// CHECK-LABEL: func.func @names(
// CHECK-NEXT: %p_ag_slice = layout.slice %p_ag over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = arith.addf %x, %p_ag_slice : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_ag2 = arith.mulf %p_ag, %p_ag : tensor<?xf32>
// CHECK-NEXT: %p_ag2_slice = layout.slice %p_ag2 over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %total = arith.mulf %p_ag2_slice, %p {coconet.name = "square"} : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %square_ag = coll.all_gather %total over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %square_ag, %p_ag2 : tensor<?xf32>, tensor<?xf32>
func.func @names(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %p_ag: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  // expected-remark @+1 {{reorder 'y': applied}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %y, %p_ag : tensor<?xf32>
  %p_ag2 = arith.mulf %p_ag, %p_ag : tensor<?xf32>
  %total = arith.mulf %p_ag2, %p {coconet.name = "square"} : tensor<?xf32>
  func.return %total, %p_ag2 : tensor<?xf32>, tensor<?xf32>
}

// Custom operations move by their rule.

comp.define @swish rule [m, n] -> [m, n] {
^bb0(%v: tensor<?x?xf32>):
  %e = math.tanh %v : tensor<?x?xf32>
  comp.yield %e : tensor<?x?xf32>
}

comp.define @row_max rule [m, n] -> [m], n = reduction(max) {
^bb0(%v: tensor<?x?xf32>):
  %e = comp.reduce max %v dims [1] : tensor<?x?xf32> -> tensor<?xf32>
  comp.yield %e : tensor<?xf32>
}

// CHECK-LABEL: func.func @customs(
// CHECK-NEXT: %a = comp.custom @swish(%x) : (tensor<?x8xf32, #layout.dist<tp = sliced(1)>>) -> tensor<?x8xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %b = comp.custom @row_max(%a) : (tensor<?x8xf32, #layout.dist<tp = sliced(1)>>) -> tensor<?xf32, #layout.dist<tp = partial(max)>>
// CHECK-NEXT: %b_ar = coll.all_reduce max %b over [tp] : tensor<?xf32, #layout.dist<tp = partial(max)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %b_ar : tensor<?xf32>
func.func @customs(%x: tensor<?x8xf32, #layout.dist<tp = sliced(1)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?x8xf32, #layout.dist<tp = sliced(1)>> -> tensor<?x8xf32>
  %a = comp.custom @swish(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = comp.custom @row_max(%a) : (tensor<?x8xf32>) -> tensor<?xf32>
  func.return %b : tensor<?xf32>
}

// A broadcast: the operations run on the root alone, and replicated operands are relaxed to it.

// CHECK-LABEL: func.func @broadcast(
// CHECK-NEXT: %w_relax = layout.relax %w over [tp] root 1 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %m_relax = layout.relax %m over [tp] root 1 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %p = arith.addf %x, %w_relax : tensor<?xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %q = arith.mulf %p, %m_relax : tensor<?xf32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %q_bcast = coll.broadcast %q over [tp] root 1 : tensor<?xf32, #layout.dist<tp = root(1)>> -> tensor<?xf32>
// CHECK-NEXT: %u = comp.update %m, %q_bcast : tensor<?xf32>
// CHECK-NEXT: %n = comp.norm %q : tensor<?xf32, #layout.dist<tp = root(1)>> -> tensor<f32, #layout.dist<tp = root(1)>>
// CHECK-NEXT: %n_bcast = coll.broadcast %n over [tp] root 1 : tensor<f32, #layout.dist<tp = root(1)>> -> tensor<f32>
// CHECK-NEXT: func.return %n_bcast : tensor<f32>
func.func @broadcast(%x: tensor<?xf32, #layout.dist<tp = root(1)>>, %w: tensor<?xf32>, %m: tensor<?xf32> {coconet.state}) -> tensor<f32> {
  // expected-remark @+1 {{reorder 'y': applied: 3 operation(s) now run before broadcast over [tp]; a rank sends 4*(1 - 1/tp) bytes, before 4*x.0*(1 - 1/tp)}}
  %y = coll.broadcast %x over [tp] root 1 : tensor<?xf32, #layout.dist<tp = root(1)>> -> tensor<?xf32>
  %p = arith.addf %y, %w : tensor<?xf32>
  %q = arith.mulf %p, %m : tensor<?xf32>
  %u = comp.update %m, %q : tensor<?xf32>
  %n = comp.norm %u : tensor<?xf32> -> tensor<f32>
  func.return %n : tensor<f32>
}

// CHECK-LABEL: func.func @broadcast_roots(
// CHECK-NEXT: %w_relax = layout.relax %w over [dp, tp] root [0, 3] : tensor<?xf32, #layout.dist<pp = local>> -> tensor<?xf32, #layout.dist<dp = root(0), pp = local, tp = root(3)>>
// CHECK-NEXT: %l = layout.relax %x over [pp] : tensor<?xf32, #layout.dist<dp = root(0), tp = root(3)>> -> tensor<?xf32, #layout.dist<dp = root(0), pp = local, tp = root(3)>>
// CHECK-NEXT: %p = arith.addf %l, %w_relax : tensor<?xf32, #layout.dist<dp = root(0), pp = local, tp = root(3)>>
// CHECK-NEXT: %p_bcast = coll.broadcast %p over [dp, tp] root [0, 3] : tensor<?xf32, #layout.dist<dp = root(0), pp = local, tp = root(3)>> -> tensor<?xf32, #layout.dist<pp = local>>
// CHECK-NEXT: func.return %p_bcast : tensor<?xf32, #layout.dist<pp = local>>
func.func @broadcast_roots(%x: tensor<?xf32, #layout.dist<dp = root(0), tp = root(3)>>, %w: tensor<?xf32, #layout.dist<pp = local>>) -> tensor<?xf32, #layout.dist<pp = local>> {
  // expected-remark @+1 {{reorder 'y': applied: 2 operation(s) now run before broadcast over [dp, tp]}}
  %y = coll.broadcast %x over [dp, tp] root [0, 3] : tensor<?xf32, #layout.dist<dp = root(0), tp = root(3)>> -> tensor<?xf32>
  %l = layout.relax %y over [pp] : tensor<?xf32> -> tensor<?xf32, #layout.dist<pp = local>>
  %p = arith.addf %l, %w : tensor<?xf32, #layout.dist<pp = local>>
  func.return %p : tensor<?xf32, #layout.dist<pp = local>>
}

// `ops` names exactly what moves, all or nothing.

// CHECK-LABEL: func.func @some(
// CHECK-NEXT: %p = arith.addf %x, %x : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q = arith.mulf %p, %p : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q_ag = coll.all_gather %q over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %r = math.sqrt %q_ag : tensor<?xf32>
// CHECK-NEXT: func.return %r : tensor<?xf32>
func.func @some(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'some': applied: 2 operation(s)}}
  %some = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %some, %some : tensor<?xf32>
  %q = arith.mulf %p, %p : tensor<?xf32>
  %r = math.sqrt %q : tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @none(
// CHECK-NEXT: %none = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %p = arith.addf %none, %none : tensor<?xf32>
// CHECK-NEXT: %r = tensor.extract %p[%i] : tensor<?xf32>
// CHECK-NEXT: func.return %r : f32
func.func @none(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %i: index) -> f32 {
  // expected-remark @+1 {{reorder 'none': declined [whole-dimension]: 'r' cannot move: dimension 'd0' is needed whole}}
  %none = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %none, %none : tensor<?xf32>
  %r = tensor.extract %p[%i] : tensor<?xf32>
  func.return %r : f32
}

// CHECK-LABEL: func.func @gap(
// CHECK-NEXT: %gap = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %p = arith.addf %gap, %gap : tensor<?xf32>
// CHECK-NEXT: %q = arith.mulf %p, %p : tensor<?xf32>
// CHECK-NEXT: func.return %q : tensor<?xf32>
func.func @gap(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'gap': declined [nothing-to-move]: 'q' cannot move: it reads nothing that moves; name the operations in between too}}
  %gap = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %gap, %gap : tensor<?xf32>
  %q = arith.mulf %p, %p : tensor<?xf32>
  func.return %q : tensor<?xf32>
}

// CHECK-LABEL: func.func @step(
// CHECK-NEXT: %n_mulf = arith.mulf %x, %x : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %n_reduce = comp.reduce sum %n_mulf dims [0] {accumulate = f32} : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %n_reduce_ar = coll.all_reduce sum %n_reduce over [tp] : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32>
// CHECK-NEXT: %n = math.sqrt %n_reduce_ar : tensor<f32>
// CHECK-NEXT: func.return %n : tensor<f32>
func.func @step(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<f32> {
  // expected-remark @+1 {{reorder 'step': applied: 2 operation(s)}}
  %step = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %n = comp.norm %step : tensor<?xf32> -> tensor<f32>
  func.return %n : tensor<f32>
}

// Operations in regions do not move, and read the whole value.

// CHECK-LABEL: func.func @region(
// CHECK-NEXT: %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %z = coll.fused {
// CHECK-NEXT: %p = arith.addf %y, %y : tensor<?xf32>
// CHECK-NEXT: coll.yield %p : tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %z : tensor<?xf32>
func.func @region(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32> {
  // expected-remark @+1 {{reorder 'y': declined [nothing-to-move]: no operation that could move reads its result}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %z = coll.fused {
    %p = arith.addf %y, %y : tensor<?xf32>
    coll.yield %p : tensor<?xf32>
  }
  func.return %z : tensor<?xf32>
}

// A slice in a region stays there.

// CHECK-LABEL: func.func @slice_in_region(
// CHECK-NEXT: %w_slice = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p = arith.addf %x, %w_slice : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %p_ag = coll.all_gather %p over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %z = coll.fused {
// CHECK-NEXT: %part = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %q = arith.addf %part, %part : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: coll.yield %q : tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %p_ag, %z : tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>
func.func @slice_in_region(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<?xf32>)
    -> (tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-remark @+1 {{reorder 'y': applied: 1 operation(s)}}
  %y = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %p = arith.addf %y, %w : tensor<?xf32>
  %z = coll.fused {
    %part = layout.slice %w over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
    %q = arith.addf %part, %part : tensor<?xf32, #layout.dist<tp = sliced(0)>>
    coll.yield %q : tensor<?xf32, #layout.dist<tp = sliced(0)>>
  }
  func.return %p, %z : tensor<?xf32>, tensor<?xf32, #layout.dist<tp = sliced(0)>>
}
