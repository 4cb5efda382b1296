// apply: coconet-inline-schedule{op=k}

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<9x9xf32>
!v = tensor<?xf32>
!local = tensor<?xf32, #layout.dist<tp = local>>

func.func @fused_legal(%x: !v) -> !v {
  %k = coll.fused {
    %a = math.exp %x : !v
    %b = math.sqrt %a : !v
    coll.yield %b : !v
  }
  func.return %k : !v
}

func.func @overlap_legal(%x: !x, %w: !x) -> !x {
  %k = coll.overlap {
    %a = comp.matmul %x, %w : (!x, !x) -> !x
    %b = comp.matmul %a, %w : (!x, !x) -> !x
    coll.yield %b : !x
  } {dim = 0 : i64}
  func.return %k : !x
}

func.func @group_legal(%x: !local, %w: !local) -> (!v, !v) {
  %k, %k_b = coll.group over [tp] {
    %a = coll.all_reduce sum %x over [tp] : !local -> !v
    %b = coll.all_reduce sum %w over [tp] : !local -> !v
    coll.yield %a, %b : !v, !v
  }
  func.return %k, %k_b : !v, !v
}
