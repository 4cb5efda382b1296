// RUN: coconet-opt %s -p canonicalize,cse,dce --no-aliases | filecheck %s

// What clean-up passes make of the dialect: collectives are pure, since all ranks run the same program.

!t = tensor<?xf32>
!l = tensor<?xf32, #layout.dist<tp = local>>

layout.mesh @mesh(dp = 2, tp = 4)

// CHECK-LABEL: func.func @equal
func.func @equal(%x: !l) -> (!t, !t, !t, !t, !l, !l) {
  // CHECK-NEXT: %[[A:.*]] = coll.all_reduce sum %x over [tp] :
  %0 = coll.all_reduce sum %x over [tp] : !l -> !t
  %1 = coll.all_reduce sum %x over [tp] : !l -> !t
  // Another precision, or another order, is another value.
  // CHECK-NEXT: %[[B:.*]] = coll.all_reduce sum %x over [tp] {wire = bf16}
  %2 = coll.all_reduce sum %x over [tp] {wire = bf16} : !l -> !t
  // CHECK-NEXT: %[[C:.*]] = coll.all_reduce sum %x over [tp] {order = #coll.order<ranks>}
  %3 = coll.all_reduce sum %x over [tp] {order = #coll.order<ranks>} : !l -> !t
  // CHECK-NEXT: %[[D:.*]] = coll.permute %x over [tp] shift 1
  %4 = coll.permute %x over [tp] shift 1 : !l -> !l
  // CHECK-NEXT: %[[E:.*]] = coll.permute %x over [tp] shift -1
  %5 = coll.permute %x over [tp] shift -1 : !l -> !l
  // CHECK-NEXT: func.return %[[A]], %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
  func.return %0, %1, %2, %3, %4, %5 : !t, !t, !t, !t, !l, !l
}

// CHECK-LABEL: func.func @unused
func.func @unused(%x: !l) {
  %0 = coll.all_reduce sum %x over [tp] : !l -> !t
  %1 = coll.fused over [tp] {
    %2 = coll.all_reduce max %x over [tp] : !l -> !t
    coll.yield %2 : !t
  }
  // CHECK-NEXT: func.return
  func.return
}

// A region stays for what it stores.
// CHECK-LABEL: func.func @stores
func.func @stores(%m: !t, %x: !l) {
  // CHECK-NEXT: coll.fused over [tp] {
  // CHECK-NEXT: coll.all_reduce
  // CHECK-NEXT: comp.update
  // CHECK-NEXT: coll.yield
  coll.fused over [tp] {
    %0 = coll.all_reduce sum %x over [tp] : !l -> !t
    %1 = comp.update %m, %0 : !t
    coll.yield
  }
  func.return
}

// CHECK-LABEL: func.func @gathered_slice
func.func @gathered_slice(%x: !t) -> !t {
  %0 = layout.slice %x over [dp, tp] dim 0 {unit = 8 : i64} : !t -> tensor<?xf32, #layout.dist<[dp, tp] = sliced(0, 8)>>
  %1 = coll.all_gather %0 over [dp, tp] : tensor<?xf32, #layout.dist<[dp, tp] = sliced(0, 8)>> -> !t
  // CHECK-NEXT: func.return %x
  func.return %1 : !t
}

// A gather over some of the axes leaves the other cut.
// CHECK-LABEL: func.func @partly_gathered_slice
func.func @partly_gathered_slice(%x: !t) -> tensor<?xf32, #layout.dist<dp = sliced(0)>> {
  // CHECK-NEXT: layout.slice
  %0 = layout.slice %x over [dp, tp] dim 0 : !t -> tensor<?xf32, #layout.dist<[dp, tp] = sliced(0)>>
  // CHECK-NEXT: coll.all_gather
  %1 = coll.all_gather %0 over [tp] : tensor<?xf32, #layout.dist<[dp, tp] = sliced(0)>> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
  func.return %1 : tensor<?xf32, #layout.dist<dp = sliced(0)>>
}
