// RUN: coconet-opt %s -p 'coconet-fuse{ops=a,z between=true named=k}' --remarks --verify-diagnostics
// RUN: coconet-opt %s -p 'coconet-fuse{ops=a,z between=true named=k}' --no-aliases | filecheck %s

layout.mesh @mesh(dp = 2, tp = 4)

!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!local = tensor<?xf32, #layout.dist<dp = local>>
!x = tensor<?xf32>

// Computations alone. What reads a member and is none stands behind; what is read stays in front.

// CHECK-LABEL: func.func @computations(
// CHECK-NEXT: %before = math.exp %x : tensor<?xf32>
// CHECK-NEXT: %k, %k_z = coll.fused {
// CHECK-NEXT: %a = arith.addf %x, %before : tensor<?xf32>
// CHECK-NEXT: %b = math.sqrt %a : tensor<?xf32>
// CHECK-NEXT: %z = arith.mulf %b, %a : tensor<?xf32>
// CHECK-NEXT: coll.yield %a, %z : tensor<?xf32>, tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %late = math.exp %k : tensor<?xf32>
// CHECK-NEXT: func.return %before, %late, %k_z : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
func.func @computations(%x: !x) -> (!x, !x, !x) {
  %before = math.exp %x : !x
  // expected-remark @+1 {{fuse 'a': applied: 3 operation(s) are one kernel 'k', which gives 2 value(s)}}
  %a = arith.addf %x, %before : !x
  %late = math.exp %a : !x
  %b = math.sqrt %a : !x
  %z = arith.mulf %b, %a : !x
  func.return %before, %late, %z : !x, !x, !x
}

// With the collectives at its ends. A splat, a slice and a product that only members read come in; the updated slice
// of %m is read element by element, and the gathered %z is only stored.

// CHECK-LABEL: func.func @collectives(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %n = tensor.dim %m, %c0 : tensor<?xf32>
// CHECK-NEXT: coll.fused over [dp] {
// CHECK-NEXT: %m_slice = layout.slice %m over [dp] dim 0
// CHECK-NEXT: %a = coll.reduce_scatter avg %g over [dp] dim 0
// CHECK-NEXT: %t = tensor.splat %s[%n]
// CHECK-NEXT: %old = arith.mulf %m_slice, %t
// CHECK-NEXT: %new = arith.addf %a, %old
// CHECK-NEXT: %new_ag = coll.all_gather %new over [dp]
// CHECK-NEXT: %z = comp.update %m, %new_ag
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "k"}
// CHECK-NEXT: func.return
func.func @collectives(%g: !local, %m: !x, %s: f32) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %m, %c0 : !x
  %m_slice = layout.slice %m over [dp] dim 0 : !x -> !part
  // expected-remark @+1 {{fuse 'a': applied: 7 operation(s) are one kernel 'k' over [dp], which gives 0 value(s)}}
  %a = coll.reduce_scatter avg %g over [dp] dim 0 : !local -> !part
  %t = tensor.splat %s[%n] : !part
  %old = arith.mulf %m_slice, %t : !part
  %new = arith.addf %a, %old : !part
  %new_ag = coll.all_gather %new over [dp] : !part -> !x
  %z = comp.update %m, %new_ag : !x
  func.return
}

// A send, and two exchanges.

// CHECK-LABEL: func.func @send(
// CHECK-NEXT: %k = coll.fused over [dp] {
// CHECK-NEXT: %a = math.exp %x
// CHECK-NEXT: %z = coll.permute %a over [dp] shift 1
// CHECK-NEXT: coll.yield %z
func.func @send(%x: !local) -> !local {
  // expected-remark @+1 {{fuse 'a': applied: 2 operation(s) are one kernel 'k' over [dp], which gives 1 value(s)}}
  %a = math.exp %x : !local
  %z = coll.permute %a over [dp] shift 1 : !local -> !local
  func.return %z : !local
}

!rows = tensor<4x?xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<4x?xf32, #layout.dist<tp = sliced(1)>>

// CHECK-LABEL: func.func @exchange(
// CHECK-NEXT: %k = coll.fused over [tp] {
// CHECK-NEXT: %a = coll.all_to_all %x over [tp] from 0 to 1
// CHECK-NEXT: %b = math.exp %a
// CHECK-NEXT: %z = coll.all_to_all %b over [tp] from 1 to 0
// CHECK-NEXT: coll.yield %z
func.func @exchange(%x: !rows) -> !rows {
  // expected-remark @+1 {{fuse 'a': applied: 3 operation(s) are one kernel 'k' over [tp], which gives 1 value(s)}}
  %a = coll.all_to_all %x over [tp] from 0 to 1 : !rows -> !columns
  %b = math.exp %a : !columns
  %z = coll.all_to_all %b over [tp] from 1 to 0 : !columns -> !rows
  func.return %z : !rows
}
