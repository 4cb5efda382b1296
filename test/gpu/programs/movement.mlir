// elements: f64 f32 f16 bf16 i64 i32 i16 i8 i1 f8E4M3FN f8E5M2
// sizes: x=NxMx3 m=NxM
!t = tensor<?x?x3xELEMENT>
!m = tensor<?x?xELEMENT>
func.func @movement(%x: !t, %m: !m) -> (tensor<3x?x?xELEMENT>, tensor<?xELEMENT>, !m, tensor<?x3x?xELEMENT>) {
  %turned = comp.transpose %x perm [2, 0, 1] : !t -> tensor<3x?x?xELEMENT>
  %flat = comp.reshape %x [a, b, c] -> [(a b c)] : !t -> tensor<?xELEMENT>
  %crossed = comp.transpose %m perm [1, 0] : !m -> !m
  %swapped = comp.transpose %x perm [0, 2, 1] : !t -> tensor<?x3x?xELEMENT>
  func.return %turned, %flat, %crossed, %swapped : tensor<3x?x?xELEMENT>, tensor<?xELEMENT>, !m, tensor<?x3x?xELEMENT>
}
