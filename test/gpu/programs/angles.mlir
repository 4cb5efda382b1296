// elements: f64 f32 f16 bf16
// sizes: x=NxM
!t = tensor<?x?xELEMENT>
func.func @angles(%x: !t) -> (!t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t) {
  %c = math.cos %x : !t
  %t = math.tan %x : !t
  %as = math.asin %x : !t
  %ac = math.acos %x : !t
  %at = math.atan %x : !t
  %at2 = math.atan2 %x, %c : !t
  %sh = math.sinh %x : !t
  %ch = math.cosh %x : !t
  %ash = math.asinh %x : !t
  %size = math.absf %x : !t
  %one = arith.divf %size, %size : !t
  %above = arith.addf %one, %size : !t
  %ach = math.acosh %above : !t
  %ath = math.atanh %x : !t
  func.return %c, %t, %as, %ac, %at, %at2, %sh, %ch, %ash, %ach, %ath : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t
}
