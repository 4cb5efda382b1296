// elements: f64 f32 f16 bf16
// sizes: x=NxM y=NxM
!t = tensor<?x?xELEMENT>
func.func @arithmetic(%x: !t, %y: !t, %a: ELEMENT) -> (!t, !t, !t, !t, !t) {
  %xa = comp.scale %x by %a : !t
  %sum = arith.addf %xa, %y : !t
  %gap = arith.subf %x, %y : !t
  %ratio = arith.divf %gap, %y : !t
  %least = arith.minimumf %ratio, %sum : !t
  %most = arith.maxnumf %ratio, %x : !t
  %above = arith.cmpf ogt, %gap, %least : !t
  %kept = arith.select %above, %gap, %most : tensor<?x?xi1>, !t
  %minus = arith.negf %kept : !t
  func.return %sum, %ratio, %least, %most, %minus : !t, !t, !t, !t, !t
}
