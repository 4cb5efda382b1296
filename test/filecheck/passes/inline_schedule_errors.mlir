// RUN: coconet-opt %s --split-input-file -p 'coconet-inline-schedule{op=o}' --verify-diagnostics

func.func @no_region(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'math.exp' op is no coll.fused, coll.overlap or coll.group: there is nothing to inline}}
  %o = math.exp %x : tensor<?xf32>
  func.return %o : tensor<?xf32>
}
