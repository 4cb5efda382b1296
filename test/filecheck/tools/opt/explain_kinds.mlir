// --explain of collectives, a matmul, a region and what stands in it, in every function that has the name.

// RUN: coconet-opt %s --explain op=ag | filecheck %s --strict-whitespace --match-full-lines
// RUN: coconet-opt %s --explain op=kernel | filecheck %s --check-prefix=REGION --strict-whitespace --match-full-lines
// RUN: coconet-opt %s --explain op=square | filecheck %s --check-prefix=INSIDE --strict-whitespace --match-full-lines

layout.mesh @mesh(dp = 2, tp = 4)

!part = tensor<8x6xf32, #layout.dist<dp = partial(sum)>>
!sum = tensor<8x6xf32>
!cut = tensor<8x6xf32, #layout.dist<dp = sliced(0)>>
!columns = tensor<8x4xf32, #layout.dist<dp = sliced(1)>>
!rows = tensor<4x6xf32, #layout.dist<dp = sliced(0)>>
!slice = tensor<6xf16, #layout.dist<dp = sliced(0)>>

func.func @layer(%x: !columns, %w: !rows) -> !sum {
  %mm = comp.matmul %x, %w : (!columns, !rows) -> !part
  %rs = coll.reduce_scatter sum %mm over [dp] dim 0 : !part -> !cut
  %kernel = coll.fused {
    %square = arith.mulf %rs, %rs : !cut
    %root = math.sqrt %square : !cut
    coll.yield %root : !cut
  }
  %ag = coll.all_gather %kernel over [dp] : !cut -> !sum
  %other = coll.all_gather %rs over [dp] : !cut -> !sum
  %y = arith.addf %ag, %other : !sum
  func.return %y : !sum
}

func.func @cast(%half: !slice, %w: tensor<6xf16>) -> (tensor<6xf32>, tensor<6xf16>) {
  %ag = coll.all_gather %half over [dp] : !slice -> tensor<6xf16>
  %wide = arith.extf %ag : tensor<6xf16> to tensor<6xf32>
  %same = arith.addf %ag, %w : tensor<6xf16>
  func.return %wide, %same : tensor<6xf32>, tensor<6xf16>
}

// CHECK:{{.*}}explain_kinds.mlir:24:3: 'ag' in @layer: coll.all_gather : tensor<8x6xf32>
// CHECK-NEXT:  now: bytes sent 576*(1 - 1/dp), bytes of state 0, bytes of arguments 224/dp, launches 6
// CHECK-NEXT:  coconet-slice{op=ag over=dp dim=0 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 768*(1 - 1/dp), launches 6 -> 7
// CHECK-NEXT:  coconet-slice{op=ag over=dp dim=1 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 768*(1 - 1/dp), launches 6 -> 7
// CHECK-NEXT:  coconet-slice{op=ag over=tp dim=0 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 576*(1 - 1/dp) + 192*(1 - 1/tp), launches 6 -> 7
// CHECK-NEXT:  coconet-slice{op=ag over=tp dim=1 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 576*(1 - 1/dp) + 192*(1 - 1/tp), launches 6 -> 7
// CHECK-NEXT:  coconet-reorder{op=ag func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 384*(1 - 1/dp), launches 6 -> 5
// CHECK-NEXT:  coconet-fuse{ops=kernel,ag between=true func=layer}: declines [nested-region]: {{.+}}
// CHECK-NEXT:  coconet-fuse{ops=rs,ag between=true func=layer}: declines [nested-region]: {{.+}}
// CHECK-NEXT:  coconet-fuse{ops=ag,y between=true func=layer}: declines [collective-order]: {{.+}}
// CHECK-NEXT:  coconet-overlap{ops=kernel,ag between=true func=layer}: applies: {{.*}}; in all launches 6 -> 5
// CHECK-NEXT:  coconet-combine{ops=ag,other func=layer}: applies: {{.*}}; in all launches 6 -> 5
// CHECK-NEXT:  does not concern it: split (only a coll.all_reduce), inline-schedule (only a region)
// CHECK-EMPTY:
// CHECK-NEXT:{{.*}}explain_kinds.mlir:31:3: 'ag' in @cast: coll.all_gather : tensor<6xf16>
// CHECK-NEXT:  now: bytes sent 12*(1 - 1/dp), bytes of state 0, bytes of arguments 12 + 12/dp, launches 3
// CHECK-NEXT:  coconet-slice{op=ag over=dp dim=0 func=cast}: applies: {{.*}}; in all bytes sent 12*(1 - 1/dp) -> 24*(1 - 1/dp), launches 3 -> 4
// CHECK-NEXT:  coconet-slice{op=ag over=tp dim=0 func=cast}: applies: {{.*}}; in all bytes sent 12*(1 - 1/dp) -> 12*(1 - 1/dp) + 12*(1 - 1/tp), launches 3 -> 4
// CHECK-NEXT:  coconet-reorder{op=ag func=cast}: declines [more-bytes]: {{.+}}
// CHECK-NEXT:  coconet-reorder{op=ag func=cast allow-more-bytes=true}: applies: {{.*}}; in all bytes sent 12*(1 - 1/dp) -> 36*(1 - 1/dp), launches 3 -> 4
// CHECK-NEXT:  coconet-reorder{op=ag ops=wide func=cast}: declines [more-bytes]: {{.+}}
// CHECK-NEXT:  coconet-reorder{op=ag ops=wide func=cast allow-more-bytes=true}: applies: {{.*}}; in all bytes sent 12*(1 - 1/dp) -> 36*(1 - 1/dp), launches 3 -> 4
// CHECK-NEXT:  coconet-reorder{op=ag ops=same func=cast}: declines [more-bytes]: {{.+}}
// CHECK-NEXT:  coconet-reorder{op=ag ops=same func=cast allow-more-bytes=true}: applies: {{.*}}; in all bytes sent 12*(1 - 1/dp) -> 24*(1 - 1/dp), launches 3 -> 4
// CHECK-NEXT:  coconet-fuse{ops=ag,wide between=true func=cast}: declines [collective-order]: {{.+}}
// CHECK-NEXT:  coconet-fuse{ops=ag,same between=true func=cast}: declines [collective-order]: {{.+}}
// CHECK-NEXT:  does not concern it: split (only a coll.all_reduce), overlap (only with a stage that it reads or that reads it, and there is none), combine (only with a collective alike, and there is none), inline-schedule (only a region)

// REGION:{{.*}}explain_kinds.mlir:19:3: 'kernel' in @layer: coll.fused : tensor<8x6xf32, #layout.dist<dp = sliced(0)>>
// REGION-NEXT:  now: bytes sent 576*(1 - 1/dp), bytes of state 0, bytes of arguments 224/dp, launches 6
// REGION-NEXT:  coconet-slice{op=kernel over=tp dim=0 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 576*(1 - 1/dp) + 192*(1 - 1/tp)/dp, launches 6 -> 7
// REGION-NEXT:  coconet-slice{op=kernel over=tp dim=1 func=layer}: applies: {{.*}}; in all bytes sent 576*(1 - 1/dp) -> 576*(1 - 1/dp) + 192*(1 - 1/tp)/dp, launches 6 -> 7
// REGION-NEXT:  coconet-fuse{ops=rs,kernel between=true func=layer}: declines [nested-region]: {{.+}}
// REGION-NEXT:  coconet-fuse{ops=kernel,ag between=true func=layer}: declines [nested-region]: {{.+}}
// REGION-NEXT:  coconet-overlap{ops=rs,kernel between=true func=layer}: applies: {{.*}}; in all launches 6 -> 5
// REGION-NEXT:  coconet-overlap{ops=kernel,ag between=true func=layer}: applies: {{.*}}; in all launches 6 -> 5
// REGION-NEXT:  coconet-inline-schedule{op=kernel func=layer}: applies: {{.*}}; in all launches 6 -> 7
// REGION-NEXT:  does not concern it: split (only a coll.all_reduce), reorder (only a coll.all_gather or coll.broadcast), combine (only a collective)

// INSIDE:{{.*}}explain_kinds.mlir:20:5: 'square' in @layer: arith.mulf : tensor<8x6xf32, #layout.dist<dp = sliced(0)>>
// INSIDE-NEXT:  now: bytes sent 576*(1 - 1/dp), bytes of state 0, bytes of arguments 224/dp, launches 6
// INSIDE-NEXT:  coconet-inline-schedule{op=kernel func=layer}: applies: {{.*}}; in all launches 6 -> 7
// INSIDE-NEXT:  does not concern it: every other rewrite (it stands in coll.fused 'kernel', and what stands in a region is no target: inline it first)
