// A transposition in memory: 1 read and 1 write of 4 bytes an element.

!rows = tensor<?x?xf32>

func.func @transpose(%x: !rows) -> !rows {
  %y = comp.transpose %x perm [1, 0] : !rows -> !rows
  func.return %y : !rows
}
