// elements: f64 f32 f16 bf16
// sizes: g=NxM
!t = tensor<?x?xELEMENT>
!s = tensor<ELEMENT>
func.func @clipped(%g: !t, %limit: ELEMENT) -> (!t, ELEMENT) {
  %one = arith.constant 1.0 : ELEMENT
  %norm = comp.norm %g : !t -> !s
  %n = tensor.extract %norm[] : !s
  %ratio = arith.divf %limit, %n : ELEMENT
  %scale = arith.minimumf %ratio, %one : ELEMENT
  %y = comp.scale %g by %scale : !t
  %u = comp.update %g, %y : !t
  func.return %u, %n : !t, ELEMENT
}
