// What slice makes of a replicated value or argument, and what it declines.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-slice{op=plain over=tp},coconet-slice{op=unit over=tp dim=1 unit=4},\
// RUN: coconet-slice{op=both over=dp,tp},coconet-slice{op=partial over=dp},coconet-slice{op=further over=dp dim=1 unit=2},\
// RUN: coconet-slice{op=stored over=tp},coconet-slice{op=taken over=tp},coconet-slice{op=sum over=tp},\
// RUN: coconet-slice{op=unread over=tp},coconet-slice{op=cut over=tp},coconet-slice{op=local over=dp,tp},\
// RUN: coconet-slice{op=units over=dp dim=1},coconet-slice{op=scalar over=tp},\
// RUN: coconet-slice{op=again over=tp},coconet-slice{arg=whole over=tp},coconet-slice{arg=none over=tp},coconet-slice{arg=rows over=dp unit=2},\
// RUN: coconet-slice{arg=cut over=tp},coconet-slice{arg=units over=dp dim=1},coconet-slice{arg=scalar over=tp}' \
// RUN:   | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

// The readers of the value read the gather of its slice.

// CHECK-LABEL: func.func @replicated(
// CHECK-NEXT: %plain = arith.addf %x, %x : tensor<6x?xf32>
// CHECK-NEXT: %plain_slice = layout.slice %plain over [tp] dim 0 : tensor<6x?xf32> -> tensor<6x?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %plain_ag = coll.all_gather %plain_slice over [tp] : tensor<6x?xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x?xf32>
// CHECK-NEXT: %reader = arith.mulf %plain_ag, %plain_ag : tensor<6x?xf32>
// CHECK-NEXT: %unit = arith.mulf %plain_ag, %reader : tensor<6x?xf32>
// CHECK-NEXT: %unit_slice = layout.slice %unit over [tp] dim 1 {unit = 4 : i64} : tensor<6x?xf32> -> tensor<6x?xf32, #layout.dist<tp = sliced(1, 4)>>
// CHECK-NEXT: %unit_ag = coll.all_gather %unit_slice over [tp] : tensor<6x?xf32, #layout.dist<tp = sliced(1, 4)>> -> tensor<6x?xf32>
// CHECK-NEXT: %both = arith.subf %unit_ag, %plain_ag : tensor<6x?xf32>
// CHECK-NEXT: %both_slice = layout.slice %both over [dp, tp] dim 0 : tensor<6x?xf32> -> tensor<6x?xf32, #layout.dist<[dp, tp] = sliced(0)>>
// CHECK-NEXT: %both_ag = coll.all_gather %both_slice over [dp, tp] : tensor<6x?xf32, #layout.dist<[dp, tp] = sliced(0)>> -> tensor<6x?xf32>
// CHECK-NEXT: %unread = arith.subf %unit_ag, %plain_ag : tensor<6x?xf32>
// CHECK-NEXT: %unread_slice = layout.slice %unread over [tp] dim 0 : tensor<6x?xf32> -> tensor<6x?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %unread_ag = coll.all_gather %unread_slice over [tp] : tensor<6x?xf32, #layout.dist<tp = sliced(0)>> -> tensor<6x?xf32>
// CHECK-NEXT: func.return %both_ag : tensor<6x?xf32>
func.func @replicated(%x: tensor<6x?xf32>) -> tensor<6x?xf32> {
  // expected-remark @+1 {{slice 'plain': applied}}
  %plain = arith.addf %x, %x : tensor<6x?xf32>
  %reader = arith.mulf %plain, %plain : tensor<6x?xf32>
  // expected-remark @+1 {{slice 'unit': applied}}
  %unit = arith.mulf %plain, %reader : tensor<6x?xf32>
  // expected-remark @+1 {{slice 'both': applied}}
  %both = arith.subf %unit, %plain : tensor<6x?xf32>
  // expected-remark @+1 {{slice 'unread': applied}}
  %unread = arith.subf %unit, %plain : tensor<6x?xf32>
  func.return %both : tensor<6x?xf32>
}

// Other axes stay as they are; a dimension that is cut already is cut further.

// CHECK-LABEL: func.func @other_axes(
// CHECK-NEXT: %partial = comp.matmul %x, %w : (tensor<6x?xf32, #layout.dist<tp = sliced(1)>>, tensor<?x8xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x8xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %partial_slice = layout.slice %partial over [dp] dim 0 : tensor<6x8xf32, #layout.dist<tp = partial(sum)>> -> tensor<6x8xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>>
// CHECK-NEXT: %partial_ag = coll.all_gather %partial_slice over [dp] : tensor<6x8xf32, #layout.dist<dp = sliced(0), tp = partial(sum)>> -> tensor<6x8xf32, #layout.dist<tp = partial(sum)>>
// CHECK-NEXT: %reduced = coll.all_reduce sum %partial_ag over [tp] : tensor<6x8xf32, #layout.dist<tp = partial(sum)>> -> tensor<6x8xf32>
// CHECK-NEXT: %further = arith.addf %y, %y : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
// CHECK-NEXT: %further_slice = layout.slice %further over [dp] dim 1 {unit = 2 : i64} : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>> -> tensor<6x8xf32, #layout.dist<[tp, dp] = sliced(1, 2)>>
// CHECK-NEXT: %further_ag = coll.all_gather %further_slice over [dp] : tensor<6x8xf32, #layout.dist<[tp, dp] = sliced(1, 2)>> -> tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
// CHECK-NEXT: func.return
func.func @other_axes(%x: tensor<6x?xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<?x8xf32, #layout.dist<tp = sliced(0)>>,
                      %y: tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>) {
  // expected-remark @+1 {{slice 'partial': applied}}
  %partial = comp.matmul %x, %w : (tensor<6x?xf32, #layout.dist<tp = sliced(1)>>, tensor<?x8xf32, #layout.dist<tp = sliced(0)>>) -> tensor<6x8xf32, #layout.dist<tp = partial(sum)>>
  %reduced = coll.all_reduce sum %partial over [tp] : tensor<6x8xf32, #layout.dist<tp = partial(sum)>> -> tensor<6x8xf32>
  // expected-remark @+1 {{slice 'further': applied}}
  %further = arith.addf %y, %y : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
  func.return
}

// An update stores the gathered value, and its result can be sliced like any other.

// CHECK-LABEL: func.func @update(
// CHECK-NEXT: %sum = arith.addf %m, %x : tensor<?xf32>
// CHECK-NEXT: %sum_slice = layout.slice %sum over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %sum_ag = coll.all_gather %sum_slice over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %stored = comp.update %m, %sum_ag : tensor<?xf32>
// CHECK-NEXT: %stored_slice = layout.slice %stored over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %stored_ag = coll.all_gather %stored_slice over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return %stored_ag : tensor<?xf32>
func.func @update(%m: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %sum = arith.addf %m, %x : tensor<?xf32>
  // expected-remark @-1 {{slice 'sum': applied}}
  // expected-remark @+1 {{slice 'stored': applied}}
  %stored = comp.update %m, %sum : tensor<?xf32>
  func.return %stored : tensor<?xf32>
}

// CHECK-LABEL: func.func @names(
// CHECK-NEXT: %taken = arith.addf %taken_slice, %taken_slice : tensor<?xf32>
// CHECK-NEXT: %taken_slice2 = layout.slice %taken over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %taken_ag2 = coll.all_gather %taken_slice2 over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %taken_ag = arith.addf %taken_ag2, %taken_slice : tensor<?xf32>
// CHECK-NEXT: func.return %taken_ag2, %taken_ag : tensor<?xf32>, tensor<?xf32>
func.func @names(%taken_slice: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  // expected-remark @+1 {{slice 'taken': applied: its readers now read all_gather 'taken_ag2' of slice 'taken_slice2'}}
  %taken = arith.addf %taken_slice, %taken_slice : tensor<?xf32>
  %taken_ag = arith.addf %taken, %taken_slice : tensor<?xf32>
  func.return %taken, %taken_ag : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @declined(
// CHECK-NEXT: %cut = arith.addf %x, %x : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
// CHECK-NEXT: %local = arith.addf %y, %y : tensor<6x8xf32, #layout.dist<tp = local>>
// CHECK-NEXT: %units = arith.addf %x, %x : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
// CHECK-NEXT: %scalar = arith.addf %z, %z : tensor<f32>
// CHECK-NEXT: func.return
func.func @declined(%x: tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>, %y: tensor<6x8xf32, #layout.dist<tp = local>>, %z: tensor<f32>) {
  // expected-remark @+1 {{slice 'cut': declined [not-replicated]: it is sliced(1, 2) on axis 'tp'; only a value that is replicated there can be sliced}}
  %cut = arith.addf %x, %x : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
  // expected-remark @+1 {{slice 'local': declined [not-replicated]: it is local on axis 'tp'; only a value that is replicated there can be sliced}}
  %local = arith.addf %y, %y : tensor<6x8xf32, #layout.dist<tp = local>>
  // expected-remark @+1 {{slice 'units': declined [unit-conflict]: dimension 1 is sliced in units of 2 already; use unit=2}}
  %units = arith.addf %x, %x : tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>
  // expected-remark @+1 {{slice 'scalar': declined [zero-dimensional]: a 0-d tensor has no dimension to slice}}
  %scalar = arith.addf %z, %z : tensor<f32>
  func.return
}

// What slices the value alike is the same slice, so it needs no gather.

// CHECK-LABEL: func.func @alike(
// CHECK-NEXT: %again = arith.addf %x, %x : tensor<?xf32>
// CHECK-NEXT: %again_slice2 = layout.slice %again over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %again_ag = coll.all_gather %again_slice2 over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %again_slice = layout.slice %again over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %other = layout.slice %again_ag over [dp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return
func.func @alike(%x: tensor<?xf32>) {
  // expected-remark @+1 {{slice 'again': applied: its readers now read all_gather 'again_ag' of slice 'again_slice2' over [tp] on dimension 0}}
  %again = arith.addf %x, %x : tensor<?xf32>
  %again_slice = layout.slice %again over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  %other = layout.slice %again over [dp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
  func.return
}

// All who read the data of an argument read the gather, in regions too, but those that slice it alike.

// CHECK-LABEL: func.func @argument(
// CHECK-NEXT: %whole_slice = layout.slice %whole over [tp] dim 0 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %whole_ag = coll.all_gather %whole_slice over [tp] : tensor<?x6xf32, #layout.dist<tp = sliced(0)>> -> tensor<?x6xf32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %n = tensor.dim %whole, %c0 : tensor<?x6xf32>
// CHECK-NEXT: %alike = layout.slice %whole over [tp] dim 0 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %columns = layout.slice %whole_ag over [tp] dim 1 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(1)>>
// CHECK-NEXT: %inside = coll.fused {
// CHECK-NEXT:   %sum = arith.addf %whole_ag, %x : tensor<?x6xf32>
// CHECK-NEXT:   %part = layout.slice %whole_ag over [tp] dim 0 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT:   coll.yield %sum : tensor<?x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %view = comp.transpose %whole_ag
// CHECK-NEXT: %copied = comp.update %x, %whole_ag : tensor<?x6xf32>
// CHECK-NEXT: %new = comp.update %whole, %inside : tensor<?x6xf32>
// CHECK-NEXT: func.return %n, %new : index, tensor<?x6xf32>
// expected-remark @+1 {{slice 'whole': applied: its readers now read all_gather 'whole_ag' of slice 'whole_slice' over [tp] on dimension 0}}
func.func @argument(%whole: tensor<?x6xf32>, %x: tensor<?x6xf32>) -> (index, tensor<?x6xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %whole, %c0 : tensor<?x6xf32>
  %alike = layout.slice %whole over [tp] dim 0 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(0)>>
  %columns = layout.slice %whole over [tp] dim 1 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(1)>>
  %inside = coll.fused {
    %sum = arith.addf %whole, %x : tensor<?x6xf32>
    %part = layout.slice %whole over [tp] dim 0 : tensor<?x6xf32> -> tensor<?x6xf32, #layout.dist<tp = sliced(0)>>
    coll.yield %sum : tensor<?x6xf32>
  }
  %view = comp.transpose %whole perm [1, 0] : tensor<?x6xf32> -> tensor<6x?xf32>
  %copied = comp.update %x, %whole : tensor<?x6xf32>
  %new = comp.update %whole, %inside : tensor<?x6xf32>
  func.return %n, %new : index, tensor<?x6xf32>
}

// CHECK-LABEL: func.func @argument_names(
// CHECK-NEXT: %none_slice = layout.slice %none over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-NEXT: %none_ag2 = coll.all_gather %none_slice over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: func.return
// expected-remark @+1 {{slice 'none': applied: its readers now read all_gather 'none_ag2' of slice 'none_slice' over [tp] on dimension 0}}
func.func @argument_names(%none: tensor<?xf32>, %none_ag: tensor<?xf32>) {
  func.return
}

// CHECK-LABEL: func.func @argument_further(
// CHECK-NEXT: %rows_slice = layout.slice %rows over [dp] dim 0 {unit = 2 : i64} : tensor<8xf32, #layout.dist<tp = sliced(0, 2)>> -> tensor<8xf32, #layout.dist<[tp, dp] = sliced(0, 2)>>
// CHECK-NEXT: %rows_ag = coll.all_gather %rows_slice over [dp] : tensor<8xf32, #layout.dist<[tp, dp] = sliced(0, 2)>> -> tensor<8xf32, #layout.dist<tp = sliced(0, 2)>>
// CHECK-NEXT: func.return %rows_ag : tensor<8xf32, #layout.dist<tp = sliced(0, 2)>>
// expected-remark @+1 {{slice 'rows': applied}}
func.func @argument_further(%rows: tensor<8xf32, #layout.dist<tp = sliced(0, 2)>>) -> tensor<8xf32, #layout.dist<tp = sliced(0, 2)>> {
  func.return %rows : tensor<8xf32, #layout.dist<tp = sliced(0, 2)>>
}

// CHECK-LABEL: func.func @argument_declined(
// CHECK-NEXT: func.return
// expected-remark @+3 {{slice 'cut': declined [not-replicated]: it is sliced(1, 2) on axis 'tp'; only a value that is replicated there can be sliced}}
// expected-remark @+2 {{slice 'units': declined [unit-conflict]: dimension 1 is sliced in units of 2 already; use unit=2}}
// expected-remark @+1 {{slice 'scalar': declined [zero-dimensional]: a 0-d tensor has no dimension to slice}}
func.func @argument_declined(%cut: tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>, %units: tensor<6x8xf32, #layout.dist<tp = sliced(1, 2)>>, %scalar: tensor<f32>) {
  func.return
}
