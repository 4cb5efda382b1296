// RMSNorm by rows, bf16 with f32 inside: 1 read and 1 write of 2 bytes an element; the weight stays in caches.

!rows = tensor<?x?xbf16>
!weight = tensor<?xbf16>

func.func @rmsnorm(%x: !rows, %weight: !weight) -> !rows {
  %y = comp.rms_norm %x, %weight {eps = 1.0e-6 : f32} : (!rows, !weight) -> !rows
  func.return %y : !rows
}
