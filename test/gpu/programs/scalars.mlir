// elements: f64 f32
// sizes: x=N
!v = tensor<?xELEMENT>
func.func @scalars(%x: !v, %a: ELEMENT, %k: i32, %l: i64, %on: i1, %h: f16, %b: bf16) -> (!v, ELEMENT, i64, i32) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !v
  %power = math.powf %a, %a : ELEMENT
  %kf = arith.sitofp %k : i32 to ELEMENT
  %lf = arith.sitofp %l : i64 to ELEMENT
  %scaled = arith.mulf %power, %kf : ELEMENT
  %chosen = arith.select %on, %scaled, %lf : ELEMENT
  %cs = tensor.splat %chosen[%n] : !v
  %ks = tensor.splat %k[%n] : tensor<?xi32>
  %hs = tensor.splat %h[%n] : tensor<?xf16>
  %bs = tensor.splat %b[%n] : tensor<?xbf16>
  %os = tensor.splat %on[%n] : tensor<?xi1>
  %kfs = arith.sitofp %ks : tensor<?xi32> to !v
  %hfs = arith.extf %hs : tensor<?xf16> to !v
  %bfs = arith.extf %bs : tensor<?xbf16> to !v
  %one = arith.addf %x, %cs : !v
  %two = arith.addf %one, %kfs : !v
  %three = arith.addf %two, %hfs : !v
  %four = arith.addf %three, %bfs : !v
  %y = arith.select %os, %four, %x : tensor<?xi1>, !v
  func.return %y, %power, %l, %k : !v, ELEMENT, i64, i32
}
