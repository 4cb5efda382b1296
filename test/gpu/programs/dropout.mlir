// elements: f64 f32 f16 bf16
// sizes: x=NxM
!t = tensor<?x?xELEMENT>
func.func @dropout(%x: !t, %seed: i64) -> (!t, !t) {
  %first = comp.dropout %x, %seed {id = 3 : i64, p = 3.0e-1 : f32} : !t
  %half = arith.addf %x, %first : !t
  %second = comp.dropout %half, %seed {id = 4 : i64, p = 5.0e-1 : f32} : !t
  func.return %first, %second : !t, !t
}
