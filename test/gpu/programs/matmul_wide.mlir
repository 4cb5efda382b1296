// elements: f16 bf16
// sizes: a=NxM b=Mx7
!t = tensor<?x?xELEMENT>
!w = tensor<?x?xf32>
func.func @matmul_wide(%a: !t, %b: !t, %bias: tensor<?xf32>) -> !w {
  %y = comp.matmul %a, %b {accumulate = f32} : (!t, !t) -> !w
  %bs = comp.broadcast %bias dims [1] like %y : tensor<?xf32>, !w -> !w
  %z = arith.addf %y, %bs : !w
  func.return %z : !w
}
