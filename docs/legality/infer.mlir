// apply: coconet-infer

layout.mesh @mesh(dp = 2, tp = 4)

!v = tensor<?xf32>
!x = tensor<?x?xf32>

func.func @operands_legal(%x: !v {layout.of = #layout.dist<tp = sliced(0)>}, %w: !v) -> !v {
  %a = arith.addf %x, %w : !v
  %b = coll.all_gather %a over [tp] : !v -> !v
  func.return %b : !v
}

// One operand lies in rows, the other in columns.
func.func @operands_refused(%x: !x {layout.of = #layout.dist<tp = sliced(0)>}, %w: !x {layout.of = #layout.dist<tp = sliced(1)>}) -> !x {
  %a = arith.addf %x, %w : !x
  func.return %a : !x
}

func.func @promised_legal(%x: !v) -> (!v {layout.of = #layout.dist<tp = sliced(0)>}) {
  %a = math.exp %x : !v
  func.return %a : !v
}

func.func @promised_refused(%x: !v {layout.of = #layout.dist<tp = sliced(0)>}) -> !v {
  %a = math.exp %x : !v
  func.return %a : !v
}
