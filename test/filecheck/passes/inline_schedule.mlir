// RUN: coconet-opt %s --split-input-file -p 'coconet-inline-schedule{op=o}' --no-aliases --remarks --verify-diagnostics
// RUN: coconet-opt %s -p 'coconet-inline-schedule' --no-aliases | filecheck %s
// RUN: coconet-opt %s -p 'coconet-inline-schedule{op=o}' --no-aliases | filecheck %s --check-prefix=ONE
// RUN: coconet-opt %s -p 'coconet-inline-schedule,coconet-fuse{ops=c,ag named=f},coconet-overlap{ops=rs,f named=o}' -o %t
// RUN: coconet-opt %t -p 'coconet-inline-schedule' --no-aliases | filecheck %s

layout.mesh @mesh(tp = 4)

!local = tensor<?x?xf32, #layout.dist<tp = local>>
!part = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!x = tensor<?x?xf32>

// Names inside stay; the region's name is gone.

// CHECK-LABEL: func.func @nested(
// CHECK-NEXT: %rs = coll.reduce_scatter sum %x over [tp] dim 0
// CHECK-NEXT: %c = math.exp %rs
// CHECK-NEXT: %ag = coll.all_gather %c over [tp]
// CHECK-NEXT: %z = math.sqrt %ag
// CHECK-NEXT: func.return %z

// ONE-LABEL: func.func @nested(
// ONE-NEXT: %rs = coll.reduce_scatter sum %x over [tp] dim 0
// ONE-NEXT: %f = coll.fused over [tp] {
// ONE-NEXT: %c = math.exp %rs
// ONE-NEXT: %ag = coll.all_gather %c over [tp]
// ONE-NEXT: coll.yield %ag
// ONE-NEXT: }
// ONE-NEXT: %z = math.sqrt %f
func.func @nested(%x: !local) -> !x {
  // expected-remark @+1 {{inline-schedule 'o': applied: its 2 operation(s) stand in its place}}
  %o = coll.overlap {
    %rs = coll.reduce_scatter sum %x over [tp] dim 0 : !local -> !part
    %f = coll.fused over [tp] {
      %c = math.exp %rs : !part
      %ag = coll.all_gather %c over [tp] : !part -> !x
      coll.yield %ag : !x
    }
    coll.yield %f : !x
  } {dim = 0 : i64, chunks = 4 : i64}
  %z = math.sqrt %o : !x
  func.return %z : !x
}
