// What combine makes of independent collectives of one kind, and what it declines: named ones, then all there are.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-combine{ops=b,a func=named},coconet-combine{ops=p,q named=both func=named},\
// RUN: coconet-combine{ops=a,b func=stops},coconet-combine{ops=a,c func=stops},coconet-combine{ops=a,d func=stops},\
// RUN: coconet-combine{ops=a,e func=stops},coconet-combine{ops=e,f func=stops},coconet-combine{ops=a,h func=stops},\
// RUN: coconet-combine{ops=i,g func=stops},coconet-combine{func=all},coconet-combine{func=crossed},coconet-combine{func=none}' \
// RUN:   | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
!v = tensor<?xf32>
!vs = tensor<?xf32, #layout.dist<dp = local, tp = sliced(0)>>
!vg = tensor<?xf32, #layout.dist<dp = local>>

// Shapes and other layouts may differ. What waits for one of them stands behind.

// CHECK-LABEL: func.func @named(
// CHECK-NEXT: %g = arith.addf %w, %w
// CHECK-NEXT: %group_a, %group_a_b = coll.group over [tp] {
// CHECK-NEXT: %a = coll.all_gather %x over [tp]
// CHECK-NEXT: %b = coll.all_gather %v over [tp]
// CHECK-NEXT: coll.yield %a, %b
// CHECK-NEXT: }
// CHECK-NEXT: %y = arith.addf %group_a, %w
// CHECK-NEXT: %both, %both_q = coll.group over [tp] {
// CHECK-NEXT: %p = coll.all_reduce max %z over [tp]
// CHECK-NEXT: %q = coll.all_reduce max %z over [tp]
// CHECK-NEXT: coll.yield %p, %q
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %group_a_b, %both, %both_q
func.func @named(%x: !s, %v: !vs, %w: !x, %z: !l) -> (!x, !vg, !x, !x) {
  // expected-remark @+1 {{combine 'a': applied: 2 launches of coll.all_gather over [tp] are one, 'group_a'}}
  %a = coll.all_gather %x over [tp] : !s -> !x
  %y = arith.addf %a, %w : !x
  %g = arith.addf %w, %w : !x
  %b = coll.all_gather %v over [tp] : !vs -> !vg
  // expected-remark @+1 {{combine 'p': applied: 2 launches of coll.all_reduce over [tp] are one, 'both'}}
  %p = coll.all_reduce max %z over [tp] : !l -> !x
  %q = coll.all_reduce max %z over [tp] : !l -> !x
  func.return %y, %b, %p, %q : !x, !vg, !x, !x
}

!h = tensor<8x?xf16, #layout.dist<tp = local>>
!both = tensor<8x?xf32, #layout.dist<dp = local, tp = local>>

// CHECK-LABEL: func.func @stops(
// CHECK-NOT: coll.group
func.func @stops(%x: !l, %s: !s, %y: !h, %z: tensor<8x?xf32, #layout.dist<dp = local>>) {
  // expected-remark @+5 {{combine 'a': declined [not-alike]: 'a' and 'b' cannot be one launch: 'kind' is #coll.kind<sum> in one, #coll.kind<max> in another}}
  // expected-remark @+4 {{combine 'a': declined [not-alike]: 'a' and 'c' cannot be one launch: one is a coll.all_reduce, another a coll.all_gather}}
  // expected-remark @+3 {{combine 'a': declined [not-alike]: 'a' and 'd' cannot be one launch: 'axes' is #coll.axes<tp> in one, #coll.axes<dp> in another}}
  // expected-remark @+2 {{combine 'a': declined [not-alike]: 'a' and 'e' cannot be one launch: 'accumulate' is not given in one, f32 in another}}
  // expected-remark @+1 {{combine 'a': declined [not-alike]: 'a' and 'h' cannot be one launch: the operand of one has f32 elements, that of another f16}}
  %a = coll.all_reduce sum %x over [tp] : !l -> !x
  %b = coll.all_reduce max %x over [tp] : !l -> !x
  %c = coll.all_gather %s over [tp] : !s -> !x
  %d = coll.all_reduce sum %z over [dp] : tensor<8x?xf32, #layout.dist<dp = local>> -> !x
  // expected-remark @+1 {{combine 'e': declined [not-alike]: 'e' and 'f' cannot be one launch: the result of one has f16 elements, that of another f32}}
  %e = coll.all_reduce sum %y over [tp] {accumulate = f32} : !h -> tensor<8x?xf16>
  %f = coll.all_reduce sum %y over [tp] {accumulate = f32} : !h -> !x
  %h = coll.all_reduce sum %y over [tp] : !h -> tensor<8x?xf16>
  // expected-remark @+1 {{combine 'g': declined [dependent]: 'i' waits for 'g': 'g' -> 'between' -> 'i'; combine them with others}}
  %g = coll.permute %x over [tp] shift 1 : !l -> !l
  %between = arith.addf %g, %x : !l
  %i = coll.permute %between over [tp] shift 1 : !l -> !l
  func.return
}

// All there are: each joins the first group that takes it. %c waits for %a, so it opens a group, which %d joins; nothing
// goes with %e.

// CHECK-LABEL: func.func @all(
// CHECK: %group_a, %group_a_b = coll.group over [tp] {
// CHECK-NEXT: %a = coll.permute
// CHECK-NEXT: %b = coll.permute
// CHECK-NEXT: coll.yield
// CHECK-NEXT: }
// CHECK-NEXT: %group_c, %group_c_d = coll.group over [tp] {
// CHECK-NEXT: %c = coll.permute %group_a over
// CHECK-NEXT: %d = coll.permute %group_a_b over
// CHECK-NEXT: coll.yield
// CHECK-NEXT: }
// CHECK-NEXT: %e = coll.permute %group_c over [tp] shift 2
// CHECK-NEXT: func.return %group_c_d, %e
func.func @all(%x: !l, %y: !l) -> (!l, !l) {
  // expected-remark @+1 {{combine 'a': applied: 2 launches of coll.permute over [tp] are one, 'group_a'}}
  %a = coll.permute %x over [tp] shift 1 : !l -> !l
  // expected-remark @+1 {{combine 'c': applied: 2 launches of coll.permute over [tp] are one, 'group_c'}}
  %c = coll.permute %a over [tp] shift 1 : !l -> !l
  %b = coll.permute %y over [tp] shift 1 : !l -> !l
  %d = coll.permute %b over [tp] shift 1 : !l -> !l
  %e = coll.permute %c over [tp] shift 2 : !l -> !l
  func.return %d, %e : !l, !l
}

// Groups must not wait for each other: with %b and %c launched as one, %a and %d cannot be.

// CHECK-LABEL: func.func @crossed(
// CHECK-NEXT: %a = coll.permute
// CHECK-NEXT: %group_b, %group_b_c = coll.group over [tp] {
// CHECK-NEXT: %b = coll.permute
// CHECK-NEXT: %c = coll.permute
// CHECK-NEXT: coll.yield
// CHECK-NEXT: }
// CHECK-NEXT: %d = coll.permute %group_b
// CHECK-NEXT: func.return
func.func @crossed(%x: !l, %y: !l) -> (!l, !l) {
  %a = coll.permute %x over [tp] shift 1 : !l -> !l
  // expected-remark @+1 {{combine 'b': applied: 2 launches of coll.permute over [tp] are one, 'group_b'}}
  %b = coll.permute %y over [tp] shift 2 : !l -> !l
  %c = coll.permute %a over [tp] shift 2 : !l -> !l
  %d = coll.permute %b over [tp] shift 1 : !l -> !l
  func.return %c, %d : !l, !l
}

// CHECK-LABEL: func.func @none(
// CHECK-NOT: coll.group
// expected-remark @+1 {{combine 'none': declined [nothing-to-combine]: no two of its collectives are alike and independent of each other}}
func.func @none(%x: !l) -> (!x, !l) {
  %a = coll.all_reduce sum %x over [tp] : !l -> !x
  %b = coll.permute %x over [tp] shift 1 : !l -> !l
  func.return %a, %b : !x, !l
}
