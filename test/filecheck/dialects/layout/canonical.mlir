// RUN: coconet-opt %s -p canonicalize,cse,dce --no-aliases | filecheck %s

// What clean-up passes make of the dialect.

!t = tensor<?x?xf32>
!s = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!n = tensor<?x?xf32, #layout.dist<[tp, dp] = sliced(1)>>
!l = tensor<?x?xf32, #layout.dist<tp = local>>

// CHECK: layout.mesh @mesh(dp = 2, tp = 4)
layout.mesh @mesh(dp = 2, tp = 4)

// The inner of two cuts is undone by a gather over its axis, and both by a gather over both.
// CHECK-LABEL: func.func @nested
func.func @nested(%x: !n) -> (!n, !n) {
  %0 = coll.all_gather %x over [dp] : !n -> !s
  %1 = layout.slice %0 over [dp] dim 1 : !s -> !n
  %2 = coll.all_gather %x over [tp, dp] : !n -> !t
  %3 = layout.slice %2 over [tp, dp] dim 1 : !t -> !n
  // CHECK-NEXT: func.return %x, %x
  func.return %1, %3 : !n, !n
}

// One slice in two steps keeps both: no fold makes an operation that was not there.
// CHECK-LABEL: func.func @steps
func.func @steps(%x: !t) -> !n {
  // CHECK-NEXT: layout.slice %x over [tp] dim 1
  %0 = layout.slice %x over [tp] dim 1 : !t -> !s
  // CHECK-NEXT: layout.slice %{{.*}} over [dp] dim 1
  %1 = layout.slice %0 over [dp] dim 1 : !s -> !n
  func.return %1 : !n
}

// Equal views are one; those that nothing reads go.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: !t) -> (!s, !s, !l, !l, index, index) {
  // CHECK-NEXT: %[[S:.*]] = layout.slice
  %0 = layout.slice %x over [tp] dim 1 : !t -> !s
  %1 = layout.slice %x over [tp] dim 1 : !t -> !s
  // CHECK-NEXT: %[[L:.*]] = layout.relax
  %2 = layout.relax %x over [tp] : !t -> !l
  %3 = layout.relax %x over [tp] : !t -> !l
  %4 = layout.relax %x over [dp] root 0 : !t -> tensor<?x?xf32, #layout.dist<dp = root(0)>>
  // CHECK-NEXT: %[[A:.*]] = layout.axis_size over [tp] : index
  %5 = layout.axis_size over [tp] : index
  %6 = layout.axis_size over [tp] : index
  // CHECK-NEXT: func.return %[[S]], %[[S]], %[[L]], %[[L]], %[[A]], %[[A]]
  func.return %0, %1, %2, %3, %5, %6 : !s, !s, !l, !l, index, index
}
