// elements: f64 f32 f16 bf16
// sizes: x=NxM y=NxM
!t = tensor<?x?xELEMENT>
func.func @powers(%x: !t, %y: !t) -> (!t, !t, !t, !t, !t, !t, !t, !t, !t) {
  %size = math.absf %x : !t
  %p = math.powf %size, %y : !t
  %cube = math.cbrt %x : !t
  %e = math.exp2 %x : !t
  %m = math.expm1 %x : !t
  %l = math.log %size : !t
  %two = math.log2 %size : !t
  %ten = math.log10 %size : !t
  %root = math.sqrt %size : !t
  %rest = arith.remf %x, %y : !t
  func.return %p, %cube, %e, %m, %l, %two, %ten, %root, %rest : !t, !t, !t, !t, !t, !t, !t, !t, !t
}
