// Bias, dropout and residual of a block, in bf16: 2 reads and 1 write of 2 bytes an element; the bias stays in caches.

!rows = tensor<?x?xbf16>
!bias = tensor<?xbf16>

func.func @bias_dropout_residual(%x: !rows, %bias: !bias, %residual: !rows, %seed: i64) -> !rows {
  %spread = comp.broadcast %bias dims [1] like %x : !bias, !rows -> !rows
  %shifted = arith.addf %x, %spread : !rows
  %dropped = comp.dropout %shifted, %seed {p = 1.0e-1 : f32, id = 1 : i64} : !rows
  %y = arith.addf %dropped, %residual : !rows
  func.return %y : !rows
}
