// elements: f64 f32 f16 bf16
// sizes: x=N offsets=6
!v = tensor<?xELEMENT>
func.func @segments(%x: !v, %offsets: tensor<?xi64>) -> (!v, !v) {
  %squares = arith.mulf %x, %x : !v
  %sums = comp.segment_reduce sum %squares, %offsets : (!v, tensor<?xi64>) -> !v
  %spread = comp.segment_broadcast %sums, %offsets like %x : (!v, tensor<?xi64>, !v) -> !v
  %y = arith.addf %x, %spread : !v
  func.return %sums, %y : !v, !v
}
