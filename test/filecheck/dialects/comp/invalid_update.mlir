// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @update_value(%x: !r, %y: !r) {
  %s = arith.addf %x, %y : !r
  // expected-error @+1 {{'comp.update' op updates a value that is no argument of the function: only those are stored into}}
  %p = comp.update %s, %y : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @update_types(%x: !r, %y: !s) {
  // expected-error @+1 {{'comp.update' op operand 'value' at position 1 does not verify: attribute tensor<8x?xf32> expected from variable 'T', but got tensor<8x?xf32, #layout.dist<tp =}}
  %p = "comp.update"(%x, %y) : (!r, !s) -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @update_twice(%x: !r, %y: !r) {
  // expected-note @+1 {{the first update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'comp.update' op updates %x a second time; an argument is updated once}}
  %q = comp.update %x, %p : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after(%x: !r, %y: !r) {
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.addf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.addf %x, %p : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_slice(%x: !r, %y: !r) {
  %v = layout.slice %x over [tp] dim 1 : !r -> !s
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.addf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.addf %v, %v : !s
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_relax(%x: !r, %y: !r) {
  %v = layout.relax %x over [tp] : !r -> !l
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.addf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.addf %v, %v : !l
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_reshape(%x: !r, %y: !r) {
  %v = comp.reshape %x [a, b] -> [(a b)] : !r -> tensor<?xf32>
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.negf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.negf %v : tensor<?xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_transpose(%x: !r, %y: !r) {
  %v = comp.transpose %x perm [1, 0] : !r -> tensor<?x8xf32>
  %w = comp.transpose %v perm [1, 0] : tensor<?x8xf32> -> !r
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.negf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.negf %w : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_region(%x: !r, %y: !r) {
  %v = coll.fused {
    coll.yield %x : !r
  }
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'arith.negf' op reads %x after its update; read the update's result instead, or read before it}}
  %q = arith.negf %v : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_after_by_update(%x: !r, %y: !r) {
  // expected-note @+1 {{the update is here}}
  %p = comp.update %x, %y : !r
  // expected-error @+1 {{'comp.update' op reads %x after its update; read the update's result instead, or read before it}}
  %q = comp.update %y, %x : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @read_in_region(%x: !r, %y: !r) {
  coll.fused {
    // expected-note @+1 {{the update is here}}
    %p = comp.update %x, %y : !r
    coll.yield
  }
  coll.fused {
    // expected-error @+1 {{'arith.negf' op reads %x after its update; read the update's result instead, or read before it}}
    %q = arith.negf %x : !r
    coll.yield
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
func.func @returned(%x: !r, %y: !r) -> !r {
  // expected-note @+1 {{the update is here}}
  %0 = comp.update %x, %y : !r
  // expected-error @+1 {{'func.return' op reads %x after its update; read the update's result instead, or read before it}}
  func.return %x : !r
}
