// elements: i64 i32
// sizes: x=NxM y=NxM
!t = tensor<?x?xELEMENT>
func.func @integers(%x: !t, %y: !t, %a: ELEMENT) -> (!t, !t, !t, !t, !t) {
  %xa = comp.scale %x by %a : !t
  %gap = arith.subi %xa, %y : !t
  %product = arith.muli %gap, %gap : !t
  %low = arith.minsi %gap, %y : !t
  %high = arith.maxsi %gap, %x : !t
  %bits = arith.xori %product, %low : !t
  %shifted = arith.shrsi %bits, %y : !t
  %less = arith.cmpi slt, %low, %high : !t
  %kept = arith.select %less, %bits, %shifted : tensor<?x?xi1>, !t
  func.return %product, %low, %high, %bits, %kept : !t, !t, !t, !t, !t
}
