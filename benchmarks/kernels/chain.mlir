// Five kernels, each of which waits for the one before: how much a graph of them takes beyond what each takes alone.

!full = tensor<?xf32>

func.func @chain(%x: !full, %s: f32) -> !full {
  %a = coll.fused {
    %r = comp.scale %x by %s : !full
    coll.yield %r : !full
  } {coconet.name = "first"}
  %b = coll.fused {
    %r = arith.addf %a, %x : !full
    coll.yield %r : !full
  } {coconet.name = "second"}
  %c = coll.fused {
    %r = comp.scale %b by %s : !full
    coll.yield %r : !full
  } {coconet.name = "third"}
  %d = coll.fused {
    %r = arith.addf %c, %x : !full
    coll.yield %r : !full
  } {coconet.name = "fourth"}
  %e = coll.fused {
    %r = arith.mulf %d, %d : !full
    coll.yield %r : !full
  } {coconet.name = "fifth"}
  func.return %e : !full
}
