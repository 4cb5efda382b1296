// apply: coconet-slice{op=a over=tp}

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<?x9xf32>

func.func @replicated_legal(%x: !x) -> !x {
  %a = arith.addf %x, %x : !x
  %b = math.sqrt %a : !x
  func.return %b : !x
}

func.func @replicated_refused(%x: tensor<?x9xf32, #layout.dist<tp = local>>) -> tensor<?x9xf32, #layout.dist<tp = local>> {
  %a = arith.addf %x, %x : tensor<?x9xf32, #layout.dist<tp = local>>
  func.return %a : tensor<?x9xf32, #layout.dist<tp = local>>
}

// A dimension that dp cuts already is cut further, in the same unit.
// apply: coconet-slice{op=a over=tp dim=1 unit=2}
func.func @further_legal(%x: tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>) -> tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>> {
  %a = arith.addf %x, %x : tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>
  func.return %a : tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>
}

// apply: coconet-slice{op=a over=tp dim=1}
func.func @further_refused(%x: tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>) -> tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>> {
  %a = arith.addf %x, %x : tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>
  func.return %a : tensor<?x9xf32, #layout.dist<dp = sliced(1, 2)>>
}

func.func @scalar_refused(%x: !x) -> tensor<f32> {
  %a = comp.norm %x : !x -> tensor<f32>
  func.return %a : tensor<f32>
}

// An argument.

// apply: coconet-slice{arg=w over=tp}
func.func @argument_legal(%w: !x) -> !x {
  %b = math.sqrt %w : !x
  func.return %b : !x
}

// apply: coconet-slice{arg=w over=tp}
func.func @argument_refused(%w: tensor<?x9xf32, #layout.dist<tp = sliced(1)>>) -> tensor<?x9xf32, #layout.dist<tp = sliced(1)>> {
  %b = math.sqrt %w : tensor<?x9xf32, #layout.dist<tp = sliced(1)>>
  func.return %b : tensor<?x9xf32, #layout.dist<tp = sliced(1)>>
}
