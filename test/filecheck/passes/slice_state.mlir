// Which arguments are kept in slices, what that changes, and what declines.

// RUN: coconet-opt %s --split-input-file --remarks --verify-diagnostics --no-aliases -p coconet-slice-state | filecheck %s

!x = tensor<?xf32>
!s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
layout.mesh @mesh(dp = 4)

// Reads of the shape stay, readers of the update's result read the slice, and a gather that nobody else reads goes.

// CHECK-LABEL: func.func @state(
// CHECK-SAME: %g: tensor<?xf32, #layout.dist<dp = sliced(0)>>, %b: tensor<f32>,
// CHECK-SAME: %m: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state}, %w: tensor<?xf32>)
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %n = tensor.dim %m, %c0 : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %shape = comp.broadcast %b dims [] like %m : tensor<f32>, tensor<?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %sum = arith.addf %m, %g : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %inside = coll.fused {
// CHECK-NEXT:   %twice = arith.addf %m, %m : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT:   coll.yield %twice : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: }
// CHECK-NEXT: %size = tensor.dim %sum, %c0 : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %stored = comp.update %m, %sum : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %after = tensor.dim %stored, %c0 : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %product = arith.mulf %stored, %inside : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return %product, %n, %size, %after : tensor<?xf32, #layout.dist<dp = sliced(0)>>, index, index, index
// expected-remark @+1 {{slice-state 'm': applied: %m is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held; all_gather 'sum_ag' is gone}}
func.func @state(%g: !s, %b: tensor<f32>, %m: !x {coconet.state}, %w: !x) -> (!s, index, index, index) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %m, %c0 : !x
  %shape = comp.broadcast %b dims [] like %m : tensor<f32>, !x -> !x
  %m_slice = layout.slice %m over [dp] dim 0 : !x -> !s
  %m_slice2 = layout.slice %m over [dp] dim 0 {coconet.name = "other"} : !x -> !s
  %sum = arith.addf %m_slice, %g : !s
  %inside = coll.fused {
    %twice = arith.addf %m_slice, %m_slice2 : !s
    coll.yield %twice : !s
  }
  %sum_ag = coll.all_gather %sum over [dp] : !s -> !x
  %size = tensor.dim %sum_ag, %c0 : !x
  %stored = comp.update %m, %sum_ag : !x
  %after = tensor.dim %stored, %c0 : !x
  %stored_slice = layout.slice %stored over [dp] dim 0 : !x -> !s
  %product = arith.mulf %stored_slice, %inside : !s
  func.return %product, %n, %size, %after : !s, index, index, index
}

// Only read, only stored, stored from its own slice; a name is no condition.

// CHECK-LABEL: func.func @uses(
// CHECK-SAME: %0: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state}, %s: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state},
// CHECK-SAME: %c: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state},
// CHECK-NEXT: %stored = comp.update %s, %g : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %same = comp.update %c, %c : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return %0 : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// expected-remark @+3 {{slice-state 'arg0': applied: %arg0 is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held}}
// expected-remark @+2 {{slice-state 's': applied: %s is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held; all_gather 'g_ag' is gone}}
// expected-remark @+1 {{slice-state 'c': applied: %c is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held; all_gather 'c_ag' is gone}}
func.func @uses(%0: !x {coconet.state}, %s: !x {coconet.state}, %c: !x {coconet.state}, %g: !s) -> !s {
  %r_slice = layout.slice %0 over [dp] dim 0 : !x -> !s
  %g_ag = coll.all_gather %g over [dp] : !s -> !x
  %stored = comp.update %s, %g_ag : !x
  %c_slice = layout.slice %c over [dp] dim 0 : !x -> !s
  %c_ag = coll.all_gather %c_slice over [dp] : !s -> !x
  %same = comp.update %c, %c_ag : !x
  func.return %r_slice : !s
}

// A gather that somebody reads stays. It is a copy of %a from before the update.

// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %a: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state}, %b: tensor<?xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<?xf32>, coconet.state})
// CHECK-NEXT: %a_ag = coll.all_gather %a over [dp] : tensor<?xf32, #layout.dist<dp = sliced(0)>> -> tensor<?xf32>
// CHECK-NEXT: %b_new = comp.update %b, %a : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: %a_new = comp.update %a, %b_new : tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-NEXT: func.return %a_ag : tensor<?xf32>
// expected-remark @+2 {{slice-state 'a': applied: %a is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held; all_gather 'again' is gone}}
// expected-remark @+1 {{slice-state 'b': applied: %b is now kept as <dp = sliced(0)>: each rank holds 1/dp of what it held; all_gather 'a_ag' stays for 'func.return'}}
func.func @shared(%a: !x {coconet.state}, %b: !x {coconet.state}) -> !x {
  %a_slice = layout.slice %a over [dp] dim 0 : !x -> !s
  %a_ag = coll.all_gather %a_slice over [dp] : !s -> !x
  %b_new = comp.update %b, %a_ag : !x
  %b_slice = layout.slice %b_new over [dp] dim 0 : !x -> !s
  %again = coll.all_gather %b_slice over [dp] : !s -> !x
  %a_new = comp.update %a, %again : !x
  func.return %a_ag : !x
}

// -----

// A layout is refined: the other axes stay, and the first of all types is the one that is kept.

!x = tensor<?x6xf32, #layout.dist<tp = sliced(1)>>
!s = tensor<?x6xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>
!t = tensor<?x6xf32, #layout.dist<[dp, pp, ep] = sliced(0), tp = sliced(1)>>
layout.mesh @mesh(dp = 2, ep = 2, pp = 3, tp = 4)

// CHECK-LABEL: func.func @axes(
// CHECK-SAME: %m: tensor<?x6xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> {coconet.resliced = tensor<?x6xf32, #layout.dist<tp = sliced(1)>>, coconet.state}, %g: tensor<?x6xf32, #layout.dist<[dp, pp, ep] = sliced(0), tp = sliced(1)>>)
// CHECK-NEXT: %part_slice = layout.slice %m over [pp, ep] dim 0 : tensor<?x6xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> tensor<?x6xf32, #layout.dist<[dp, pp, ep] = sliced(0), tp = sliced(1)>>
// CHECK-NEXT: func.return %part_slice
// expected-remark @+1 {{slice-state 'm': applied: %m is now kept as <dp = sliced(0), tp = sliced(1)>: each rank holds 1/dp of what it held}}
func.func @axes(%m: !x {coconet.state}, %g: !t) -> !t {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %part_slice = layout.slice %part over [pp, ep] dim 0 : !s -> !t
  func.return %part_slice : !t
}

// CHECK-LABEL: func.func @second(
// CHECK-SAME: %m: tensor<?x6xf32, #layout.dist<[dp, pp, ep] = sliced(0), tp = sliced(1)>> {coconet.resliced = tensor<?x6xf32, #layout.dist<tp = sliced(1)>>, coconet.state})
// CHECK-NEXT: func.return %m
// expected-remark @+1 {{slice-state 'm': applied: %m is now kept as <[dp, pp, ep] = sliced(0), tp = sliced(1)>: each rank holds 1/(pp*ep) of what it held}}
func.func @second(%m: !s {coconet.resliced = !x, coconet.state}) -> !t {
  %part = layout.slice %m over [pp, ep] dim 0 : !s -> !t
  func.return %part : !t
}

// -----

!x = tensor<6x8xf32>
!s = tensor<6x8xf32, #layout.dist<dp = sliced(0)>>
!c = tensor<6x8xf32, #layout.dist<dp = sliced(1)>>
layout.mesh @mesh(dp = 4)

// CHECK-LABEL: func.func @declined(
// CHECK-SAME: %m: tensor<6x8xf32> {coconet.state},
// CHECK-NOT: coconet.resliced

// expected-remark @+1 {{slice-state 'm': declined [read-whole]: 'sum' reads %m whole: let it run on slices (coconet-reorder), or read a gathered copy (coconet-slice)}}
func.func @declined(%m: !x {coconet.state}, %g: !s) -> !s {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %sum = arith.addf %m, %m : !x
  func.return %part : !s
}

// expected-remark @+1 {{slice-state 'm': declined [read-whole]: the function returns %m whole}}
func.func @returned(%m: !x {coconet.state}) -> !x {
  func.return %m : !x
}

// expected-remark @+1 {{slice-state 'm': declined [read-whole]: 'stored' reads %m whole}}
func.func @elsewhere(%m: !x {coconet.state}, %w: !x) {
  %stored = comp.update %w, %m : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [read-whole]: 'sum' reads update 'stored' of %m whole: let it run on slices}}
func.func @result(%m: !x {coconet.state}, %g: !s) {
  %all = coll.all_gather %g over [dp] : !s -> !x
  %stored = comp.update %m, %all : !x
  %sum = arith.addf %stored, %all : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [read-whole]: the function returns update 'stored' of %m whole}}
func.func @result_returned(%m: !x {coconet.state}, %g: !s) -> !x {
  %all = coll.all_gather %g over [dp] : !s -> !x
  %stored = comp.update %m, %all : !x
  func.return %stored : !x
}

// expected-remark @+1 {{slice-state 'm': declined [stored-whole]: 'new', which update 'stored' stores into %m, is no all_gather: compute it on slices (coconet-reorder), or slice it (coconet-slice)}}
func.func @stored_whole(%m: !x {coconet.state}, %g: !x) {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %sum = arith.addf %part, %part : !s
  %new = arith.addf %g, %g : !x
  %stored = comp.update %m, %new : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [stored-whole]: 'g', which update 'stored' stores into %m, is no all_gather}}
func.func @stored_argument(%m: !x {coconet.state}, %g: !x) {
  %stored = comp.update %m, %g : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [stored-whole]: update 'stored' stores an all_gather from <dp = sliced(1)>, but %m is read as <dp = sliced(0)>: slice both alike}}
func.func @stored_otherwise(%m: !x {coconet.state}, %g: !c) {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %sum = arith.addf %part, %part : !s
  %all = coll.all_gather %g over [dp] : !c -> !x
  %stored = comp.update %m, %all : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [several-layouts]: %m is read as <dp = sliced(0)> in 'part', but as <dp = sliced(1)> in 'columns': slice it in one way}}
func.func @several_layouts(%m: !x {coconet.state}) -> (!s, !c) {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %columns = layout.slice %m over [dp] dim 1 : !x -> !c
  func.return %part, %columns : !s, !c
}

// expected-remark @+1 {{slice-state 'm': declined [several-layouts]: %m is read as <dp = sliced(0)> in 'part', but as <dp = sliced(1)> in 'columns': slice it in one way}}
func.func @several_after(%m: !x {coconet.state}, %g: !s) -> !c {
  %part = layout.slice %m over [dp] dim 0 : !x -> !s
  %sum = arith.addf %part, %g : !s
  %all = coll.all_gather %sum over [dp] : !s -> !x
  %stored = comp.update %m, %all : !x
  %columns = layout.slice %stored over [dp] dim 1 : !x -> !c
  func.return %columns : !c
}

// expected-remark @+1 {{slice-state 'm': declined [nested-region]: 'part' reads %m and stands in a region: inline it first}}
func.func @nested_slice(%m: !x {coconet.state}) -> !s {
  %inside = coll.fused {
    %part = layout.slice %m over [dp] dim 0 : !x -> !s
    coll.yield %part : !s
  }
  func.return %inside : !s
}

// expected-remark @+1 {{slice-state 'm': declined [nested-region]: 'coll.yield' reads update 'stored' of %m and stands in a region: inline it first}}
func.func @nested_result(%m: !x {coconet.state}, %g: !s) {
  %all = coll.all_gather %g over [dp] : !s -> !x
  %stored = comp.update %m, %all : !x
  %inside = coll.fused {
    coll.yield %stored : !x
  }
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [nested-region]: update 'stored' of %m stands in a region: inline it first}}
func.func @nested_update(%m: !x {coconet.state}, %g: !s) {
  %all = coll.all_gather %g over [dp] : !s -> !x
  coll.fused {
    %stored = comp.update %m, %all : !x
    coll.yield
  }
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [nested-region]: all_gather 'all', which update 'stored' stores, stands in a region: inline it first}}
func.func @nested_gather(%m: !x {coconet.state}, %g: !s) {
  %inside = coll.fused over [dp] {
    %sum = arith.addf %g, %g : !s
    %all = coll.all_gather %sum over [dp] : !s -> !x
    coll.yield %all : !x
  }
  %stored = comp.update %m, %inside : !x
  func.return
}

// Stored slices are copied when they are gathered; without the gather the update would store what is there by then.

// expected-remark @+1 {{slice-state 'm': declined [update-order]: 'all' is a copy of what update 'other' overwrites before 'stored' stores it: put 'stored' before 'other'}}
func.func @update_order(%m: !x {coconet.state}, %q: !s, %g: !s) {
  %all = coll.all_gather %q over [dp] : !s -> !x
  %other = comp.update %q, %g : !s
  %stored = comp.update %m, %all : !x
  func.return
}

// expected-remark @+1 {{slice-state 'm': declined [not-sliced]: %m is neither read in slices nor stored from an all_gather, so no layout follows for it: slice it (coconet-slice)}}
func.func @not_sliced(%m: !x {coconet.state}) -> index {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %m, %c0 : !x
  func.return %n : index
}
