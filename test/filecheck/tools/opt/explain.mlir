// What --explain prints: the program as it is after the pipeline, and each rewrite that could concern the target.

// RUN: coconet-opt %s --explain op=avg | filecheck %s --strict-whitespace --match-full-lines
// RUN: coconet-opt %s -p 'coconet-split{op=avg}' --explain op=avg_ag | filecheck %s --check-prefix=MOVED --strict-whitespace --match-full-lines
// RUN: coconet-opt %s -p 'coconet-split{op=avg},coconet-reorder{op=avg_ag}' --explain=arg=w | filecheck %s --check-prefix=STATE --strict-whitespace --match-full-lines

layout.mesh @mesh(dp = 2, tp = 4)

!local = tensor<?x8xf32, #layout.dist<dp = local, tp = local>>
!x = tensor<?x8xf32>

func.func @step(%grad: !local, %w: !x {coconet.state}, %lr: f32) {
  %avg = coll.all_reduce avg %grad over [dp, tp] : !local -> !x
  %step = comp.scale %avg by %lr : !x
  %new = arith.subf %w, %step : !x
  %stored = comp.update %w, %new : !x
  func.return
}

// CHECK:{{.*}}explain.mlir:13:3: 'avg' in @step: coll.all_reduce : tensor<?x8xf32>
// CHECK-NEXT:  now: bytes sent 64*w.0*(1 - 1/dp/tp), bytes of state 32*w.0, bytes of arguments 64*w.0, launches 3
// CHECK-NEXT:  coconet-split{op=avg dim=0}: applies: reduce_scatter 'avg_rs' and all_gather 'avg_ag' over [dp, tp] on dimension 0; in all launches 3 -> 4
// CHECK-NEXT:  coconet-split{op=avg dim=1}: applies: reduce_scatter 'avg_rs' and all_gather 'avg_ag' over [dp, tp] on dimension 1; in all launches 3 -> 4
// CHECK-NEXT:  coconet-split{op=avg axes=dp}: applies: reduce_scatter 'avg_rs' and all_gather 'avg_ag' over [dp] on dimension 0, all_reduce 'avg_ar' over [tp] between; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/tp)/dp, launches 3 -> 5
// CHECK-NEXT:  coconet-split{op=avg axes=tp}: applies: reduce_scatter 'avg_rs' and all_gather 'avg_ag' over [tp] on dimension 0, all_reduce 'avg_ar' over [dp] between; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp)/tp + 64*w.0*(1 - 1/tp), launches 3 -> 5
// CHECK-NEXT:  coconet-split{op=avg into=reduce-broadcast}: applies: reduce 'avg_reduce' and broadcast 'avg_bcast' over [dp, tp] through root [0, 0]; in all launches 3 -> 4
// CHECK-NEXT:  coconet-slice{op=avg over=dp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 3 -> 4
// CHECK-NEXT:  coconet-slice{op=avg over=dp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 3 -> 4
// CHECK-NEXT:  coconet-slice{op=avg over=tp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 3 -> 4
// CHECK-NEXT:  coconet-slice{op=avg over=tp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 3 -> 4
// CHECK-NEXT:  coconet-fuse{ops=avg,step between=true}: applies: {{.*}}; in all launches 3 -> 2
// CHECK-NEXT:  does not concern it: reorder (only a coll.all_gather or coll.broadcast), overlap (only with a stage that it reads or that reads it, and there is none), combine (only with a collective alike, and there is none), inline-schedule (only a region)

// MOVED:{{.*}}explain.mlir:13:3: 'avg_ag' in @step: coll.all_gather : tensor<?x8xf32>
// MOVED-NEXT:  now: bytes sent 64*w.0*(1 - 1/dp/tp), bytes of state 32*w.0, bytes of arguments 64*w.0, launches 4
// MOVED-NEXT:  coconet-slice{op=avg_ag over=dp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 4 -> 5
// MOVED-NEXT:  coconet-slice{op=avg_ag over=dp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 4 -> 5
// MOVED-NEXT:  coconet-slice{op=avg_ag over=tp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 4 -> 5
// MOVED-NEXT:  coconet-slice{op=avg_ag over=tp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 4 -> 5
// MOVED-NEXT:  coconet-reorder{op=avg_ag}: applies: {{.*}}; in all as before
// MOVED-NEXT:  coconet-fuse{ops=avg_rs,avg_ag between=true}: applies: {{.*}}; in all launches 4 -> 3
// MOVED-NEXT:  coconet-fuse{ops=avg_ag,step between=true}: declines [collective-order]: {{.+}}
// MOVED-NEXT:  coconet-overlap{ops=avg_rs,avg_ag between=true}: applies: {{.*}}; in all launches 4 -> 3
// MOVED-NEXT:  does not concern it: split (only a coll.all_reduce), combine (only with a collective alike, and there is none), inline-schedule (only a region)

// STATE:{{.*}}explain.mlir:12:32: 'w' in @step: argument : tensor<?x8xf32>
// STATE-NEXT:  now: bytes sent 64*w.0*(1 - 1/dp/tp), bytes of state 32*w.0, bytes of arguments 64*w.0, launches 4
// STATE-NEXT:  coconet-slice{arg=w over=dp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 4 -> 5
// STATE-NEXT:  coconet-slice{arg=w over=dp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp) + 64*w.0*(1 - 1/dp/tp), launches 4 -> 5
// STATE-NEXT:  coconet-slice{arg=w over=tp dim=0}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 4 -> 5
// STATE-NEXT:  coconet-slice{arg=w over=tp dim=1}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 64*w.0*(1 - 1/dp/tp) + 32*w.0*(1 - 1/tp), launches 4 -> 5
// STATE-NEXT:  coconet-slice-state{args=w}: applies: {{.*}}; in all bytes sent 64*w.0*(1 - 1/dp/tp) -> 32*w.0*(1 - 1/dp/tp), bytes of state 32*w.0 -> 32*w.0/dp/tp, bytes of arguments 64*w.0 -> 32*w.0 + 32*w.0/dp/tp, launches 4 -> 3
