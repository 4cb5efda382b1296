// elements: f64 f32 f16 bf16
// sizes: x=NxM w=M
!t = tensor<?x?xELEMENT>
!v = tensor<?xELEMENT>
!s = tensor<ELEMENT>
func.func @norms(%x: !t, %w: !v) -> (!s, !v, !s, !t, !t) {
  %norm = comp.norm %x : !t -> !s
  %rows = comp.norm %x dims [1] : !t -> !v
  %mean = comp.mean %x : !t -> !s
  %soft = comp.softmax %x dim 1 : !t
  %rms = comp.rms_norm %x, %w {eps = 1.0e-5 : f32} : (!t, !v) -> !t
  func.return %norm, %rows, %mean, %soft, %rms : !s, !v, !s, !t, !t
}
