// The sum of all elements: 1 read of 4 bytes an element.

!full = tensor<?xf32>

func.func @sum(%x: !full) -> tensor<f32> {
  %y = comp.reduce sum %x dims [0] : !full -> tensor<f32>
  func.return %y : tensor<f32>
}
