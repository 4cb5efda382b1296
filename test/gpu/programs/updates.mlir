// elements: f16 bf16
// sizes: g=NxM p=NxM w=NxM
!t = tensor<?x?xELEMENT>
!w = tensor<?x?xf32>
func.func @updates(%g: !t, %p: !t, %w: !w, %m: !w, %lr: f32) -> !t {
  %g32 = arith.extf %g : !t to !w
  %old = comp.scale %m by %lr : !w
  %new = arith.addf %old, %g32 : !w
  %mu = comp.update %m, %new : !w
  %step = comp.scale %mu by %lr : !w
  %next = arith.subf %w, %step : !w
  %wu = comp.update %w, %next : !w
  %narrow = arith.truncf %next : !w to !t
  %pu = comp.update %p, %narrow : !t
  %twice = arith.addf %pu, %g : !t
  func.return %twice : !t
}
