// The Euclidean norm of all elements: 1 read of 4 bytes an element.

!full = tensor<?xf32>

func.func @norm(%x: !full) -> tensor<f32> {
  %y = comp.norm %x : !full -> tensor<f32>
  func.return %y : tensor<f32>
}
