// apply: coconet-combine{ops=a,b}

layout.mesh @mesh(dp = 2, tp = 4)

!v = tensor<?xf32>
!x = tensor<?x9xf32>
!local_v = tensor<?xf32, #layout.dist<tp = local>>
!local = tensor<?x9xf32, #layout.dist<tp = local>>

func.func @alike_legal(%x: !local_v, %w: !local) -> (!v, !x) {
  %a = coll.all_reduce sum %x over [tp] : !local_v -> !v
  %b = coll.all_reduce sum %w over [tp] : !local -> !x
  func.return %a, %b : !v, !x
}

// Of two kinds.
func.func @alike_refused(%x: !local_v, %w: !local) -> (!v, !x) {
  %a = coll.all_reduce sum %x over [tp] : !local_v -> !v
  %b = coll.all_reduce max %w over [tp] : !local -> !x
  func.return %a, %b : !v, !x
}

func.func @independent_legal(%x: !local_v, %w: !local_v) -> (!v, !local_v) {
  %a = coll.permute %x over [tp] shift 1 : !local_v -> !local_v
  %b = coll.permute %w over [tp] shift 1 : !local_v -> !local_v
  %c = arith.addf %a, %b : !local_v
  %s = coll.all_reduce sum %c over [tp] : !local_v -> !v
  func.return %s, %b : !v, !local_v
}

// The second sends what the first has received.
func.func @independent_refused(%x: !local_v) -> !local_v {
  %a = coll.permute %x over [tp] shift 1 : !local_v -> !local_v
  %c = math.exp %a : !local_v
  %b = coll.permute %c over [tp] shift 1 : !local_v -> !local_v
  func.return %b : !local_v
}

// All that can be.

!part = tensor<?x9xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<?x9xf32, #layout.dist<tp = sliced(1)>>
!root = tensor<?x9xf32, #layout.dist<tp = root(0)>>

// apply: coconet-combine
func.func @all_legal(%x: !local, %w: !local) -> (!x, !x, !x, !x, !local, !local) {
  %rs = coll.reduce_scatter sum %x over [tp] dim 0 : !local -> !part
  %rs_w = coll.reduce_scatter sum %w over [tp] dim 0 : !local -> !part
  %a2a = coll.all_to_all %rs over [tp] from 0 to 1 : !part -> !columns
  %a2a_w = coll.all_to_all %rs_w over [tp] from 0 to 1 : !part -> !columns
  %ag = coll.all_gather %a2a over [tp] : !columns -> !x
  %ag_w = coll.all_gather %a2a_w over [tp] : !columns -> !x
  %r = coll.reduce sum %x over [tp] root 0 : !local -> !root
  %r_w = coll.reduce sum %w over [tp] root 0 : !local -> !root
  %b = coll.broadcast %r over [tp] root 0 : !root -> !x
  %b_w = coll.broadcast %r_w over [tp] root 0 : !root -> !x
  %p = coll.permute %x over [tp] shift 1 : !local -> !local
  %p_w = coll.permute %w over [tp] shift 1 : !local -> !local
  func.return %ag, %ag_w, %b, %b_w, %p, %p_w : !x, !x, !x, !x, !local, !local
}

// apply: coconet-combine
func.func @all_refused(%x: !local_v, %s: !local_v) -> (!v, !v) {
  %a = coll.all_reduce sum %x over [tp] : !local_v -> !v
  %b = coll.all_reduce max %s over [tp] : !local_v -> !v
  func.return %a, %b : !v, !v
}
