// elements: f64 f32 f16 bf16
// sizes: x=NxM
!t = tensor<?x?xELEMENT>
!v = tensor<?xELEMENT>
!s = tensor<ELEMENT>
func.func @sums(%x: !t) -> (!s, !v, !v, !s, !s) {
  %all = comp.reduce sum %x dims [0, 1] : !t -> !s
  %rows = comp.reduce sum %x dims [1] : !t -> !v
  %columns = comp.reduce sum %x dims [0] : !t -> !v
  %most = comp.reduce max %x dims [0, 1] : !t -> !s
  %least = comp.reduce min %columns dims [0] : !v -> !s
  func.return %all, %rows, %columns, %most, %least : !s, !v, !v, !s, !s
}
