// Softmax by rows, bf16 with f32 inside: 1 read and 1 write of 2 bytes an element.

!rows = tensor<?x?xbf16>

func.func @softmax(%x: !rows) -> !rows {
  %y = comp.softmax %x dim 1 : !rows
  func.return %y : !rows
}
