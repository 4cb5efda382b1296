// elements: f64 f32 f16 bf16
// sizes: a=NxM b=Mx7 s=3xNxM t=3xMx5
!t = tensor<?x?xELEMENT>
!s = tensor<?x?x?xELEMENT>
func.func @matmul(%a: !t, %b: !t, %s: !s, %t: !s) -> (!t, !s, !s) {
  %y = comp.matmul %a, %b : (!t, !t) -> !t
  %stack = comp.matmul %s, %b : (!s, !t) -> !s
  %each = comp.matmul %s, %t : (!s, !s) -> !s
  func.return %y, %stack, %each : !t, !s, !s
}
