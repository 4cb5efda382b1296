// elements: i64 i32
// sizes: x=NxM
!t = tensor<?x?xELEMENT>
!v = tensor<?xELEMENT>
!s = tensor<ELEMENT>
func.func @integer_sums(%x: !t) -> (!s, !v, !v, !s) {
  %all = comp.reduce sum %x dims [0, 1] : !t -> !s
  %rows = comp.reduce prod %x dims [1] : !t -> !v
  %columns = comp.reduce max %x dims [0] : !t -> !v
  %least = comp.reduce min %x dims [0, 1] : !t -> !s
  func.return %all, %rows, %columns, %least : !s, !v, !v, !s
}
