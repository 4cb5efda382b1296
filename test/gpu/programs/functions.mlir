// elements: f64 f32 f16 bf16
// sizes: x=NxM
!t = tensor<?x?xELEMENT>
func.func @functions(%x: !t) -> (!t, !t, !t, !t, !t, !t) {
  %size = math.absf %x : !t
  %e = math.exp %x : !t
  %l = math.log1p %size : !t
  %t = math.tanh %x : !t
  %r = math.rsqrt %e : !t
  %s = math.sin %x : !t
  %g = math.erf %x : !t
  %both = arith.addf %t, %g : !t
  func.return %e, %l, %t, %r, %s, %both : !t, !t, !t, !t, !t, !t
}
