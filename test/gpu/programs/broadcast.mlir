// elements: f64 f32 f16 bf16
// sizes: x=NxM bias=M gain=N
!t = tensor<?x?xELEMENT>
!v = tensor<?xELEMENT>
func.func @broadcast(%x: !t, %bias: !v, %gain: !v, %a: ELEMENT) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : !t
  %m = tensor.dim %x, %c1 : !t
  %as = tensor.splat %a[%n, %m] : !t
  %bs = comp.broadcast %bias dims [1] like %x : !v, !t -> !t
  %gs = comp.broadcast %gain dims [0] like %x : !v, !t -> !t
  %xg = arith.mulf %x, %gs : !t
  %xgb = arith.addf %xg, %bs : !t
  %y = arith.addf %xgb, %as : !t
  func.return %y, %bs : !t, !t
}
