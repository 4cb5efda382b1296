// What split makes of an all_reduce, and what it declines.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-split{op=largest},coconet-split{op=first},coconet-split{op=open},coconet-split{op=uncut},\
// RUN: coconet-split{op=given dim=0 unit=4},coconet-split{op=further dim=0 unit=2},coconet-split{op=kept},\
// RUN: coconet-split{op=wide},coconet-split{op=levels axes=gpu},coconet-split{op=counts axes=node dim=0},\
// RUN: coconet-split{op=plain axes=gpu},coconet-split{op=narrow axes=gpu},coconet-split{op=all axes=gpu,node},\
// RUN: coconet-split{op=rooted into=reduce-broadcast},coconet-split{op=roots into=reduce-broadcast root=3,1},\
// RUN: coconet-split{op=scalar into=reduce-broadcast},coconet-split{op=zero},coconet-split{op=full},\
// RUN: coconet-split{op=units dim=0},coconet-split{op=ordered axes=gpu},coconet-split{op=taken},\
// RUN: coconet-split{op=chosen},coconet-split{op=same func=second},coconet-split{op=every}' \
// RUN:   | filecheck %s

layout.mesh @mesh(node = 4, gpu = 8, tp = 2)

// The default dimension: of those that no axis cuts the largest, of equal ones the first; ? is above all numbers.

// CHECK-LABEL: func.func @dimension(
// CHECK-NEXT: %largest_rs = coll.reduce_scatter sum %w over [gpu] dim 1 : tensor<3x5x4xf32, #layout.dist<gpu = local>> -> tensor<3x5x4xf32, #layout.dist<gpu = sliced(1)>>
// CHECK-NEXT: %largest_ag = coll.all_gather %largest_rs over [gpu] : tensor<3x5x4xf32, #layout.dist<gpu = sliced(1)>> -> tensor<3x5x4xf32>
// CHECK-NEXT: %first_rs = coll.reduce_scatter max %x over [gpu] dim 0 : tensor<7x7xf32, #layout.dist<gpu = local>> -> tensor<7x7xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %first_ag = coll.all_gather %first_rs over [gpu] : tensor<7x7xf32, #layout.dist<gpu = sliced(0)>> -> tensor<7x7xf32>
// CHECK-NEXT: %open_rs = coll.reduce_scatter sum %y over [gpu] dim 1 : tensor<900x?x?xf32, #layout.dist<gpu = local>> -> tensor<900x?x?xf32, #layout.dist<gpu = sliced(1)>>
// CHECK-NEXT: %open_ag = coll.all_gather %open_rs over [gpu] : tensor<900x?x?xf32, #layout.dist<gpu = sliced(1)>> -> tensor<900x?x?xf32>
// CHECK-NEXT: %uncut_rs = coll.reduce_scatter sum %z over [gpu] dim 0 : tensor<9x?x2xf32, #layout.dist<gpu = local, tp = sliced(1)>> -> tensor<9x?x2xf32, #layout.dist<gpu = sliced(0), tp = sliced(1)>>
// CHECK-NEXT: %uncut_ag = coll.all_gather %uncut_rs over [gpu] : tensor<9x?x2xf32, #layout.dist<gpu = sliced(0), tp = sliced(1)>> -> tensor<9x?x2xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: func.return
func.func @dimension(%w: tensor<3x5x4xf32, #layout.dist<gpu = local>>,
                     %x: tensor<7x7xf32, #layout.dist<gpu = local>>,
                     %y: tensor<900x?x?xf32, #layout.dist<gpu = local>>,
                     %z: tensor<9x?x2xf32, #layout.dist<gpu = local, tp = sliced(1)>>) {
  // expected-remark @+1 {{split 'largest': applied: reduce_scatter 'largest_rs' and all_gather 'largest_ag' over [gpu] on dimension 1}}
  %largest = coll.all_reduce sum %w over [gpu] : tensor<3x5x4xf32, #layout.dist<gpu = local>> -> tensor<3x5x4xf32>
  // expected-remark @+1 {{split 'first': applied: reduce_scatter 'first_rs' and all_gather 'first_ag' over [gpu] on dimension 0}}
  %first = coll.all_reduce max %x over [gpu] : tensor<7x7xf32, #layout.dist<gpu = local>> -> tensor<7x7xf32>
  // expected-remark @+1 {{split 'open': applied: reduce_scatter 'open_rs' and all_gather 'open_ag' over [gpu] on dimension 1}}
  %open = coll.all_reduce sum %y over [gpu] : tensor<900x?x?xf32, #layout.dist<gpu = local>> -> tensor<900x?x?xf32>
  // expected-remark @+1 {{split 'uncut': applied: reduce_scatter 'uncut_rs' and all_gather 'uncut_ag' over [gpu] on dimension 0}}
  %uncut = coll.all_reduce sum %z over [gpu] : tensor<9x?x2xf32, #layout.dist<gpu = local, tp = sliced(1)>> -> tensor<9x?x2xf32, #layout.dist<tp = sliced(1)>>
  func.return
}

// A dimension and unit that are given; a dimension that an axis cuts already is cut further, in its unit.

// CHECK-LABEL: func.func @unit(
// CHECK-NEXT: %given_rs = coll.reduce_scatter sum %x over [gpu] dim 0 {unit = 4 : i64} : tensor<9x90xf32, #layout.dist<gpu = local>> -> tensor<9x90xf32, #layout.dist<gpu = sliced(0, 4)>>
// CHECK-NEXT: %given_ag = coll.all_gather %given_rs over [gpu] : tensor<9x90xf32, #layout.dist<gpu = sliced(0, 4)>> -> tensor<9x90xf32>
// CHECK-NEXT: %further_rs = coll.reduce_scatter sum %y over [gpu] dim 0 {unit = 2 : i64} : tensor<9x90xf32, #layout.dist<gpu = local, tp = sliced(0, 2)>> -> tensor<9x90xf32, #layout.dist<[tp, gpu] = sliced(0, 2)>>
// CHECK-NEXT: %further_ag = coll.all_gather %further_rs over [gpu] : tensor<9x90xf32, #layout.dist<[tp, gpu] = sliced(0, 2)>> -> tensor<9x90xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: %units = coll.all_reduce sum %y over [gpu] : tensor<9x90xf32, #layout.dist<gpu = local, tp = sliced(0, 2)>> -> tensor<9x90xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: func.return
func.func @unit(%x: tensor<9x90xf32, #layout.dist<gpu = local>>,
                %y: tensor<9x90xf32, #layout.dist<gpu = local, tp = sliced(0, 2)>>) {
  // expected-remark @+1 {{split 'given': applied: reduce_scatter 'given_rs' and all_gather 'given_ag' over [gpu] on dimension 0}}
  %given = coll.all_reduce sum %x over [gpu] : tensor<9x90xf32, #layout.dist<gpu = local>> -> tensor<9x90xf32>
  // expected-remark @+1 {{split 'further': applied}}
  %further = coll.all_reduce sum %y over [gpu] : tensor<9x90xf32, #layout.dist<gpu = local, tp = sliced(0, 2)>> -> tensor<9x90xf32, #layout.dist<tp = sliced(0, 2)>>
  // expected-remark @+1 {{split 'units': declined [unit-conflict]: dimension 0 is sliced in units of 2 already; use unit=2}}
  %units = coll.all_reduce sum %y over [gpu] : tensor<9x90xf32, #layout.dist<gpu = local, tp = sliced(0, 2)>> -> tensor<9x90xf32, #layout.dist<tp = sliced(0, 2)>>
  func.return
}

// Wire, accumulate, order and the type of the result stay; the gather sends the result's type.

// CHECK-LABEL: func.func @precision(
// CHECK-NEXT: %kept_rs = coll.reduce_scatter avg %x over [gpu] dim 0 {wire = bf16, accumulate = f64, order = #coll.order<ranks>} : tensor<?xf16, #layout.dist<gpu = local>> -> tensor<?xf16, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %kept_ag = coll.all_gather %kept_rs over [gpu] : tensor<?xf16, #layout.dist<gpu = sliced(0)>> -> tensor<?xf16>
// CHECK-NEXT: %wide_rs = coll.reduce_scatter sum %x over [gpu] dim 0 {accumulate = f32} : tensor<?xf16, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %wide_ag = coll.all_gather %wide_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return
func.func @precision(%x: tensor<?xf16, #layout.dist<gpu = local>>) {
  // expected-remark @+1 {{split 'kept': applied}}
  %kept = coll.all_reduce avg %x over [gpu] {wire = bf16, accumulate = f64, order = #coll.order<ranks>} : tensor<?xf16, #layout.dist<gpu = local>> -> tensor<?xf16>
  // expected-remark @+1 {{split 'wide': applied}}
  %wide = coll.all_reduce sum %x over [gpu] {accumulate = f32} : tensor<?xf16, #layout.dist<gpu = local>> -> tensor<?xf32>
  func.return
}

// Some of the axes: an all_reduce over the others stands between, in `accumulate` where that is wider.

// CHECK-LABEL: func.func @levels(
// CHECK-NEXT: %levels_rs = coll.reduce_scatter avg %x over [gpu] dim 0 {wire = bf16, accumulate = f32} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>>
// CHECK-NEXT: %levels_ar = coll.all_reduce avg %levels_rs over [node] {wire = bf16, accumulate = f32} : tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %levels_trunc = arith.truncf %levels_ar : tensor<?xf32, #layout.dist<gpu = sliced(0)>> to tensor<?xf16, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %levels_ag = coll.all_gather %levels_trunc over [gpu] : tensor<?xf16, #layout.dist<gpu = sliced(0)>> -> tensor<?xf16>
// CHECK-NEXT: %counts_rs = coll.reduce_scatter sum %y over [node] dim 0 {accumulate = i64} : tensor<5x7xi32, #layout.dist<gpu = local, node = local>> -> tensor<5x7xi64, #layout.dist<gpu = local, node = sliced(0)>>
// CHECK-NEXT: %counts_ar = coll.all_reduce sum %counts_rs over [gpu] {accumulate = i64} : tensor<5x7xi64, #layout.dist<gpu = local, node = sliced(0)>> -> tensor<5x7xi64, #layout.dist<node = sliced(0)>>
// CHECK-NEXT: %counts_trunc = arith.trunci %counts_ar : tensor<5x7xi64, #layout.dist<node = sliced(0)>> to tensor<5x7xi32, #layout.dist<node = sliced(0)>>
// CHECK-NEXT: %counts_ag = coll.all_gather %counts_trunc over [node] : tensor<5x7xi32, #layout.dist<node = sliced(0)>> -> tensor<5x7xi32>
// CHECK-NEXT: %plain_rs = coll.reduce_scatter sum %z over [gpu] dim 0 {accumulate = f32} : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>>
// CHECK-NEXT: %plain_ar = coll.all_reduce sum %plain_rs over [node] {accumulate = f32} : tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %plain_ag = coll.all_gather %plain_ar over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %narrow_rs = coll.reduce_scatter sum %z over [gpu] dim 0 {accumulate = f16} : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>>
// CHECK-NEXT: %narrow_ar = coll.all_reduce sum %narrow_rs over [node] {accumulate = f16} : tensor<?xf32, #layout.dist<gpu = sliced(0), node = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %narrow_ag = coll.all_gather %narrow_ar over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %all_rs = coll.reduce_scatter sum %z over [node, gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32, #layout.dist<[node, gpu] = sliced(0)>>
// CHECK-NEXT: %all_ag = coll.all_gather %all_rs over [node, gpu] : tensor<?xf32, #layout.dist<[node, gpu] = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %ordered = coll.all_reduce sum %z over [node, gpu] {order = #coll.order<ranks>} : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
// CHECK-NEXT: func.return
func.func @levels(%x: tensor<?xf16, #layout.dist<gpu = local, node = local>>,
                  %y: tensor<5x7xi32, #layout.dist<gpu = local, node = local>>,
                  %z: tensor<?xf32, #layout.dist<gpu = local, node = local>>) {
  // expected-remark @+1 {{split 'levels': applied: reduce_scatter 'levels_rs' and all_gather 'levels_ag' over [gpu] on dimension 0, all_reduce 'levels_ar' over [node] between}}
  %levels = coll.all_reduce avg %x over [node, gpu] {wire = bf16} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf16>
  // expected-remark @+1 {{split 'counts': applied}}
  %counts = coll.all_reduce sum %y over [node, gpu] {accumulate = i64} : tensor<5x7xi32, #layout.dist<gpu = local, node = local>> -> tensor<5x7xi32>
  // expected-remark @+1 {{split 'plain': applied}}
  %plain = coll.all_reduce sum %z over [node, gpu] : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'narrow': applied}}
  %narrow = coll.all_reduce sum %z over [node, gpu] {accumulate = f16} : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'all': applied: reduce_scatter 'all_rs' and all_gather 'all_ag' over [node, gpu] on dimension 0}}
  %all = coll.all_reduce sum %z over [node, gpu] : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'ordered': declined [ordered-by-rank]: order = ranks fixes the order of the additions over all axes; split without `axes`, or drop the order}}
  %ordered = coll.all_reduce sum %z over [node, gpu] {order = #coll.order<ranks>} : tensor<?xf32, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
  func.return
}

// Through a root, which also splits what has no dimension.

// CHECK-LABEL: func.func @roots(
// CHECK-NEXT: %rooted_reduce = coll.reduce sum %x over [node, gpu] root [0, 0] {accumulate = f32} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf32, #layout.dist<gpu = root(0), node = root(0)>>
// CHECK-NEXT: %rooted_bcast = coll.broadcast %rooted_reduce over [node, gpu] root [0, 0] : tensor<?xf32, #layout.dist<gpu = root(0), node = root(0)>> -> tensor<?xf32>
// CHECK-NEXT: %roots_reduce = coll.reduce sum %x over [node, gpu] root [3, 1] {wire = bf16} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf16, #layout.dist<gpu = root(1), node = root(3)>>
// CHECK-NEXT: %roots_bcast = coll.broadcast %roots_reduce over [node, gpu] root [3, 1] : tensor<?xf16, #layout.dist<gpu = root(1), node = root(3)>> -> tensor<?xf16>
// CHECK-NEXT: %scalar_reduce = coll.reduce sum %s over [gpu] root 0 : tensor<f32, #layout.dist<gpu = local>> -> tensor<f32, #layout.dist<gpu = root(0)>>
// CHECK-NEXT: %scalar_bcast = coll.broadcast %scalar_reduce over [gpu] root 0 : tensor<f32, #layout.dist<gpu = root(0)>> -> tensor<f32>
// CHECK-NEXT: %zero = coll.all_reduce sum %s over [gpu] : tensor<f32, #layout.dist<gpu = local>> -> tensor<f32>
// CHECK-NEXT: func.return
func.func @roots(%x: tensor<?xf16, #layout.dist<gpu = local, node = local>>, %s: tensor<f32, #layout.dist<gpu = local>>) {
  // expected-remark @+1 {{split 'rooted': applied: reduce 'rooted_reduce' and broadcast 'rooted_bcast' over [node, gpu] through root [0, 0]}}
  %rooted = coll.all_reduce sum %x over [node, gpu] {accumulate = f32} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'roots': applied: reduce 'roots_reduce' and broadcast 'roots_bcast' over [node, gpu] through root [3, 1]}}
  %roots = coll.all_reduce sum %x over [node, gpu] {wire = bf16} : tensor<?xf16, #layout.dist<gpu = local, node = local>> -> tensor<?xf16>
  // expected-remark @+1 {{split 'scalar': applied}}
  %scalar = coll.all_reduce sum %s over [gpu] : tensor<f32, #layout.dist<gpu = local>> -> tensor<f32>
  // expected-remark @+1 {{split 'zero': declined [zero-dimensional]: a 0-d tensor has no dimension to scatter; into=reduce-broadcast splits it}}
  %zero = coll.all_reduce sum %s over [gpu] : tensor<f32, #layout.dist<gpu = local>> -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @full(
// CHECK-NEXT: %full = coll.all_reduce sum %x over [gpu] : tensor<4x6xf32, #layout.dist<gpu = local, node = sliced(1), tp = sliced(0)>> -> tensor<4x6xf32, #layout.dist<node = sliced(1), tp = sliced(0)>>
// CHECK-NEXT: func.return
func.func @full(%x: tensor<4x6xf32, #layout.dist<gpu = local, node = sliced(1), tp = sliced(0)>>) {
  // expected-remark @+1 {{split 'full': declined [no-free-dimension]: every dimension is sliced by another axis already; name one with dim= to cut it further}}
  %full = coll.all_reduce sum %x over [gpu] : tensor<4x6xf32, #layout.dist<gpu = local, node = sliced(1), tp = sliced(0)>> -> tensor<4x6xf32, #layout.dist<node = sliced(1), tp = sliced(0)>>
  func.return
}

// Made names: a taken one gets a number. An operation may be named by an attribute.

// CHECK-LABEL: func.func @names(
// CHECK-NEXT: %taken_rs2 = coll.reduce_scatter sum %taken_rs over [gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %taken_ag = coll.all_gather %taken_rs2 over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %chosen_rs = coll.reduce_scatter sum %taken_rs over [gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %chosen_ag = coll.all_gather %chosen_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %taken_ag : tensor<?xf32>
func.func @names(%taken_rs: tensor<?xf32, #layout.dist<gpu = local>>, %taken_ag2: f32) -> tensor<?xf32> {
  // expected-remark @+1 {{split 'taken': applied: reduce_scatter 'taken_rs2' and all_gather 'taken_ag' over}}
  %taken = coll.all_reduce sum %taken_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'chosen': applied: reduce_scatter 'chosen_rs' and all_gather 'chosen_ag' over}}
  %0 = coll.all_reduce sum %taken_rs over [gpu] {coconet.name = "chosen"} : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  func.return %taken : tensor<?xf32>
}

// `func` restricts a pass; without it every function that has the operation is taken.

// CHECK-LABEL: func.func @first(
// CHECK-NEXT: %same = coll.all_reduce sum %x over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
// CHECK-NEXT: %every_rs = coll.reduce_scatter sum %x over [gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %every_ag = coll.all_gather %every_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return
func.func @first(%x: tensor<?xf32, #layout.dist<gpu = local>>) {
  %same = coll.all_reduce sum %x over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'every': applied}}
  %every = coll.all_reduce sum %x over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  func.return
}

// CHECK-LABEL: func.func @second(
// CHECK-NEXT: %same_rs = coll.reduce_scatter sum %x over [gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %same_ag = coll.all_gather %same_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %every_rs = coll.reduce_scatter sum %x over [gpu] dim 0 : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32, #layout.dist<gpu = sliced(0)>>
// CHECK-NEXT: %every_ag = coll.all_gather %every_rs over [gpu] : tensor<?xf32, #layout.dist<gpu = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return
func.func @second(%x: tensor<?xf32, #layout.dist<gpu = local>>) {
  // expected-remark @+1 {{split 'same': applied}}
  %same = coll.all_reduce sum %x over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  // expected-remark @+1 {{split 'every': applied}}
  %every = coll.all_reduce sum %x over [gpu] : tensor<?xf32, #layout.dist<gpu = local>> -> tensor<?xf32>
  func.return
}
