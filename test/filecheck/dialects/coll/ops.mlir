// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

!r = tensor<8x?xf32>
!h = tensor<8x?xf16>
!hl = tensor<8x?xf16, #layout.dist<dp = local, tp = local>>
!ht = tensor<8x?xf16, #layout.dist<tp = local>>
!pl = tensor<8x?xf32, #layout.dist<pp = local>>
!s0 = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
!s1 = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
!i = tensor<4xi64, #layout.dist<tp = local>>

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)

// CHECK-LABEL: func.func @all_reduce
func.func @all_reduce(%x: !hl, %i: !i, %s: !s1) {
  // CHECK: coll.all_reduce sum %{{.*}} over [tp] : tensor<8x?xf16, #layout.dist<dp = local, tp = local>> -> tensor<8x?xf16, #layout.dist<dp = local>>
  %0 = coll.all_reduce sum %x over [tp] : !hl -> tensor<8x?xf16, #layout.dist<dp = local>>
  // CHECK-NEXT: coll.all_reduce avg %{{.*}} over [dp, tp] {accumulate = f64, order = #coll.order<ranks>, wire = bf16} : {{.*}} -> tensor<8x?xf16>
  %1 = coll.all_reduce avg %x over [dp, tp] {accumulate = f64, order = #coll.order<ranks>, wire = bf16} : !hl -> !h
  // The result may have the type in which it was added.
  // CHECK-NEXT: coll.all_reduce prod %{{.*}} over [tp, dp] {accumulate = f32} : {{.*}} -> tensor<8x?xf32>
  %2 = coll.all_reduce prod %x over [tp, dp] {accumulate = f32} : !hl -> !r
  // CHECK-NEXT: coll.all_reduce max %{{.*}} over [tp] {order = #coll.order<any>} : tensor<4xi64, #layout.dist<tp = local>> -> tensor<4xi64>
  %3 = coll.all_reduce max %i over [tp] {order = #coll.order<any>} : !i -> tensor<4xi64>
  // CHECK-NEXT: coll.all_reduce min %{{.*}} over [tp] {my.note} : tensor<4xi64, #layout.dist<tp = local>> -> tensor<4xi64>
  %4 = coll.all_reduce min %i over [tp] {my.note} : !i -> tensor<4xi64>
  // CHECK-NEXT: comp.reduce
  %5 = comp.reduce sum %s dims [1] : !s1 -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: coll.all_reduce sum %{{.*}} over [tp] : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32>
  %6 = coll.all_reduce sum %5 over [tp] : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%x: !hl) {
  // CHECK: coll.reduce_scatter sum %{{.*}} over [tp] dim 1 : {{.*}} -> tensor<8x?xf16, #layout.dist<dp = local, tp = sliced(1)>>
  %0 = coll.reduce_scatter sum %x over [tp] dim 1 : !hl -> tensor<8x?xf16, #layout.dist<dp = local, tp = sliced(1)>>
  // CHECK-NEXT: coll.reduce_scatter avg %{{.*}} over [dp, tp] dim 0 {accumulate = f32, order = #coll.order<ranks>, unit = 8 : i64, wire = bf16} : {{.*}} -> tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 8)>>
  %1 = coll.reduce_scatter avg %x over [dp, tp] dim 0 {accumulate = f32, order = #coll.order<ranks>, unit = 8 : i64, wire = bf16} : !hl -> tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 8)>>
  // A dimension that another axis cuts is cut further, innermost.
  // CHECK-NEXT: coll.reduce_scatter max %{{.*}} over [dp] dim 1 : {{.*}} -> tensor<8x?xf16, #layout.dist<[tp, dp] = sliced(1)>>
  %2 = coll.reduce_scatter max %0 over [dp] dim 1 : tensor<8x?xf16, #layout.dist<dp = local, tp = sliced(1)>> -> tensor<8x?xf16, #layout.dist<[tp, dp] = sliced(1)>>
  func.return
}

// CHECK-LABEL: func.func @reduce_and_broadcast
func.func @reduce_and_broadcast(%x: !hl) {
  // CHECK: coll.reduce sum %{{.*}} over [tp] root 3 : {{.*}} -> tensor<8x?xf16, #layout.dist<dp = local, tp = root(3)>>
  %0 = coll.reduce sum %x over [tp] root 3 : !hl -> tensor<8x?xf16, #layout.dist<dp = local, tp = root(3)>>
  // CHECK-NEXT: coll.reduce avg %{{.*}} over [tp, dp] root [3, 0] {accumulate = f32, order = #coll.order<ranks>, wire = f16} : {{.*}} -> tensor<8x?xf16, #layout.dist<dp = root(0), tp = root(3)>>
  %1 = coll.reduce avg %x over [tp, dp] root [3, 0] {accumulate = f32, order = #coll.order<ranks>, wire = f16} : !hl -> tensor<8x?xf16, #layout.dist<dp = root(0), tp = root(3)>>
  // CHECK-NEXT: coll.broadcast %{{.*}} over [tp] root 3 : {{.*}} -> tensor<8x?xf16, #layout.dist<dp = root(0)>>
  %2 = coll.broadcast %1 over [tp] root 3 : tensor<8x?xf16, #layout.dist<dp = root(0), tp = root(3)>> -> tensor<8x?xf16, #layout.dist<dp = root(0)>>
  // CHECK-NEXT: coll.broadcast %{{.*}} over [dp, tp] root [0, 3] : {{.*}} -> tensor<8x?xf16>
  %3 = coll.broadcast %1 over [dp, tp] root [0, 3] : tensor<8x?xf16, #layout.dist<dp = root(0), tp = root(3)>> -> !h
  // What is local, from any rank.
  // CHECK-NEXT: coll.broadcast %{{.*}} over [dp] root 1 {my.note} : {{.*}} -> tensor<8x?xf16, #layout.dist<tp = local>>
  %4 = coll.broadcast %x over [dp] root 1 {my.note} : !hl -> !ht
  func.return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: !s1, %y: tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 2)>>, %f: tensor<4xf8E5M2, #layout.dist<tp = sliced(0)>>) {
  // CHECK: coll.all_gather %{{.*}} over [tp] : tensor<8x?xf32, #layout.dist<tp = sliced(1)>> -> tensor<8x?xf32>
  %0 = coll.all_gather %x over [tp] : !s1 -> !r
  // CHECK-NEXT: coll.all_gather %{{.*}} over [tp] : tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 2)>> -> tensor<8x?xf32, #layout.dist<dp = sliced(0, 2)>>
  %1 = coll.all_gather %y over [tp] : tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 2)>> -> tensor<8x?xf32, #layout.dist<dp = sliced(0, 2)>>
  // CHECK-NEXT: coll.all_gather %{{.*}} over [dp, tp] {my.note} : {{.*}} -> tensor<8x?xf32>
  %2 = coll.all_gather %y over [dp, tp] {my.note} : tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 2)>> -> !r
  // CHECK-NEXT: coll.all_gather %{{.*}} over [tp] : tensor<4xf8E5M2, #layout.dist<tp = sliced(0)>> -> tensor<4xf8E5M2>
  %3 = coll.all_gather %f over [tp] : tensor<4xf8E5M2, #layout.dist<tp = sliced(0)>> -> tensor<4xf8E5M2>
  // CHECK-NEXT: coll.all_to_all %{{.*}} over [tp] from 1 to 0 : tensor<8x?xf32, #layout.dist<tp = sliced(1)>> -> tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
  %4 = coll.all_to_all %x over [tp] from 1 to 0 : !s1 -> !s0
  // CHECK-NEXT: coll.all_to_all %{{.*}} over [dp, tp] from 0 to 1 {unit = 16 : i64} : {{.*}} -> tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(1, 16)>>
  %5 = coll.all_to_all %y over [dp, tp] from 0 to 1 {unit = 16 : i64} : tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(0, 2)>> -> tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(1, 16)>>
  func.return
}

// CHECK-LABEL: func.func @permute
func.func @permute(%x: !pl, %y: tensor<8x?xf32, #layout.dist<pp = local, tp = sliced(1)>>) {
  // CHECK: coll.permute %{{.*}} over [pp] shift 1 : tensor<8x?xf32, #layout.dist<pp = local>> -> tensor<8x?xf32, #layout.dist<pp = local>>
  %0 = coll.permute %x over [pp] shift 1 : !pl -> !pl
  // CHECK-NEXT: coll.permute %{{.*}} over [pp] shift -2 {my.note} :
  %1 = coll.permute %x over [pp] shift -2 {my.note} : !pl -> !pl
  // CHECK-NEXT: coll.permute %{{.*}} over [pp] pairs {{\[\[}}0, 1], [1, 2]] :
  %2 = coll.permute %x over [pp] pairs [[0, 1], [1, 2]] : !pl -> !pl
  // CHECK-NEXT: coll.permute %{{.*}} over [pp] pairs [] :
  %3 = coll.permute %x over [pp] pairs [] : !pl -> !pl
  // CHECK-NEXT: coll.permute %{{.*}} over [pp] shift 0 : tensor<8x?xf32, #layout.dist<pp = local, tp = sliced(1)>>
  %4 = coll.permute %y over [pp] shift 0 : tensor<8x?xf32, #layout.dist<pp = local, tp = sliced(1)>> -> tensor<8x?xf32, #layout.dist<pp = local, tp = sliced(1)>>
  func.return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: !ht, %y: !ht, %m: tensor<8x?xf16>) -> !h {
  // CHECK: %{{.*}}, %{{.*}} = coll.fused over [tp] {
  // CHECK-NEXT: coll.reduce_scatter
  // CHECK-NEXT: coll.all_gather
  // CHECK-NEXT: coll.yield %{{.*}}, %{{.*}} : tensor<8x?xf16, #layout.dist<tp = sliced(1)>>, tensor<8x?xf16>
  // CHECK-NEXT: } {coconet.name = "opt"}
  %a, %b = coll.fused over [tp] {
    %rs = coll.reduce_scatter sum %x over [tp] dim 1 : !ht -> tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
    %ag = coll.all_gather %rs over [tp] : tensor<8x?xf16, #layout.dist<tp = sliced(1)>> -> !h
    coll.yield %rs, %ag : tensor<8x?xf16, #layout.dist<tp = sliced(1)>>, !h
  } {coconet.name = "opt"}
  // Without collectives, and without results.
  // CHECK-NEXT: coll.fused {
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: comp.update
  // CHECK-NEXT: coll.yield
  // CHECK-NEXT: }
  coll.fused {
    %s = arith.addf %b, %b : !h
    %u = comp.update %m, %s : !h
    coll.yield
  }
  // CHECK-NEXT: coll.overlap {
  // CHECK-NEXT: coll.fused {
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: coll.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: coll.all_gather
  // CHECK-NEXT: coll.yield
  // CHECK-NEXT: } {{.*}}chunks = 8 : i64
  %c = coll.overlap {
    %p = coll.fused {
      %q = arith.mulf %a, %a : tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
      coll.yield %q : tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
    }
    %ag = coll.all_gather %p over [tp] : tensor<8x?xf16, #layout.dist<tp = sliced(1)>> -> !h
    coll.yield %ag : !h
  } {chunks = 8 : i64, dim = 1 : i64}
  // Without a dimension, the first that can be.
  // CHECK-NEXT: coll.overlap {
  // CHECK-NEXT: coll.reduce_scatter
  // CHECK-NEXT: coll.all_gather
  // CHECK-NEXT: coll.yield
  // CHECK-NEXT: } {my.note}
  coll.overlap {
    %rs = coll.reduce_scatter sum %x over [tp] dim 1 : !ht -> tensor<8x?xf16, #layout.dist<tp = sliced(1)>>
    %ag = coll.all_gather %rs over [tp] : tensor<8x?xf16, #layout.dist<tp = sliced(1)>> -> !h
    coll.yield
  } {my.note}
  // CHECK-NEXT: coll.group over [tp] {
  // CHECK-NEXT: coll.all_reduce
  // CHECK-NEXT: coll.all_reduce
  // CHECK-NEXT: coll.yield %{{.*}}, %{{.*}} : tensor<8x?xf16>, tensor<8x?xf16>
  // CHECK-NEXT: } {my.note}
  %g:2 = coll.group over [tp] {
    %0 = coll.all_reduce sum %x over [tp] : !ht -> !h
    %1 = coll.all_reduce sum %y over [tp] : !ht -> !h
    coll.yield %0, %1 : !h, !h
  } {my.note}
  func.return %c : !h
}
