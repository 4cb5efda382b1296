// A gather or broadcast of an argument is a copy: what reads it after the argument's update keeps reading the copy.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p 'coconet-reorder{op=all}' | filecheck %s

layout.mesh @mesh(tp = 4)

!part = tensor<?xf32, #layout.dist<tp = sliced(0)>>
!root = tensor<?xf32, #layout.dist<tp = root(0)>>
!x = tensor<?xf32>

// CHECK-LABEL: func.func @after(
// CHECK: %all = coll.all_gather %x
// CHECK-NEXT: comp.update
// CHECK-NEXT: arith.addf %all, %all
func.func @after(%x: !part, %n: !part) -> !x {
  // expected-remark @+1 {{reorder 'all': declined [update-order]: 'y' cannot move: before the collective stands an argument that is updated before this operation reads it}}
  %all = coll.all_gather %x over [tp] : !part -> !x
  %u = comp.update %x, %n : !part
  %y = arith.addf %all, %all : !x
  func.return %y : !x
}

// CHECK-LABEL: func.func @before(
// CHECK-NEXT: %y = arith.addf %x, %x
// CHECK-NEXT: %y_ag = coll.all_gather %y
// CHECK-NEXT: comp.update %x, %n
func.func @before(%x: !part, %n: !part) -> !x {
  // expected-remark @+1 {{reorder 'all': applied}}
  %all = coll.all_gather %x over [tp] : !part -> !x
  %y = arith.addf %all, %all : !x
  %u = comp.update %x, %n : !part
  func.return %y : !x
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: %all = coll.broadcast %x
func.func @broadcast(%x: !root, %n: !root) -> !x {
  // expected-remark @+1 {{declined [update-order]}}
  %all = coll.broadcast %x over [tp] root 0 : !root -> !x
  %u = comp.update %x, %n : !root
  %y = arith.addf %all, %all : !x
  func.return %y : !x
}

// Another gather that the moved operation reads: its copy is sliced.
// CHECK-LABEL: func.func @other(
// CHECK-NEXT: %a = coll.all_gather %x
// CHECK-NEXT: %a_slice = layout.slice %a
// CHECK-NEXT: comp.update %x, %n
// CHECK-NEXT: %y = arith.addf %a_slice, %g
func.func @other(%x: !part, %n: !part, %g: !part) -> !x {
  // expected-remark @+1 {{reorder 'all': applied}}
  %all = coll.all_gather %g over [tp] : !part -> !x
  %a = coll.all_gather %x over [tp] : !part -> !x
  %u = comp.update %x, %n : !part
  %y = arith.addf %a, %all : !x
  func.return %y : !x
}

// The result of an update whose value is an argument that is updated after it.
// CHECK-LABEL: func.func @value(
// CHECK-NEXT: %u = comp.update %w, %v
// CHECK-NEXT: %u_slice = layout.slice %u
// CHECK-NEXT: comp.update %v, %nv
// CHECK-NEXT: %y = arith.addf %g, %u_slice
func.func @value(%g: !part, %w: !x, %v: !x, %nv: !x) -> !x {
  // expected-remark @+1 {{reorder 'all': applied}}
  %all = coll.all_gather %g over [tp] : !part -> !x
  %u = comp.update %w, %v : !x
  %u2 = comp.update %v, %nv : !x
  %y = arith.addf %all, %u : !x
  func.return %y : !x
}

// A gather that feeds only state once the rest has moved does not count afterwards.
// CHECK-LABEL: func.func @state(
// CHECK: coll.all_gather
func.func @state(%g: !part, %w: !x, %m: !x {coconet.state}) {
  // expected-remark @+1 {{reorder 'all': applied}}
  %all = coll.all_gather %g over [tp] : !part -> !x
  %mu = comp.update %m, %all : !x
  %new = arith.subf %w, %all : !x
  %wu = comp.update %w, %new : !x
  func.return
}
