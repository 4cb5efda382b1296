// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @wire_on_gather(%x: !s) {
  // expected-error @+1 {{'coll.all_gather' op has no attribute 'wire'; it has axes (a note of your own is 'my.wire')}}
  %0 = coll.all_gather %x over [tp] {wire = bf16} : !s -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_replicated(%x: !r) {
  // expected-error @+1 {{'coll.all_gather' op [tp] must be the innermost axes that slice one dimension, but the operand's layout is replicated}}
  %0 = coll.all_gather %x over [tp] : !r -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_local(%x: !l) {
  // expected-error @+1 {{'coll.all_gather' op [tp] must be the innermost axes that slice one dimension, but the operand's layout is <tp = local>}}
  %0 = coll.all_gather %x over [tp] : !l -> !r
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_partial(%x: !s) {
  %1 = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'coll.all_gather' op [tp] must be the innermost axes that slice one dimension, but the operand's layout is <tp = partial(sum)>}}
  %2 = coll.all_gather %1 over [tp] : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
!n = tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_outer(%x: !n) {
  // expected-error @+1 {{'coll.all_gather' op [dp] must be the innermost axes that slice one dimension, but the operand's layout is <[dp, tp] = sliced(1)>}}
  %0 = coll.all_gather %x over [dp] : !n -> !s
  func.return
}

// -----

!r = tensor<8x?xf32>
!n = tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_in_other_order(%x: !n) {
  // expected-error @+1 {{'coll.all_gather' op [tp, dp] must be the innermost axes that slice one dimension, but the operand's layout is <[dp, tp] = sliced(1)>}}
  %0 = coll.all_gather %x over [tp, dp] : !n -> !r
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_two_dims(%x: tensor<8x8xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>>) {
  // expected-error @+1 {{'coll.all_gather' op [dp, tp] must be the innermost axes that slice one dimension, but the operand's layout is <dp = sliced(0), tp = sliced(1)>}}
  %0 = coll.all_gather %x over [dp, tp] : tensor<8x8xf32, #layout.dist<dp = sliced(0), tp = sliced(1)>> -> tensor<8x8xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_element(%x: !s) {
  // expected-error @+1 {{'coll.all_gather' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %0 = coll.all_gather %x over [tp] : !s -> tensor<8x?xf16>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @gather_rank(%x: !s) {
  // expected-error @+1 {{'coll.all_gather' op result 0 must have 2 dimension(s), not 1}}
  %0 = coll.all_gather %x over [tp] : !s -> tensor<8xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_replicated(%x: !r) {
  // expected-error @+1 {{'coll.broadcast' op axis 'tp' is replicated in the operand, but a broadcast needs local or root(0): every rank has it already}}
  %0 = coll.broadcast %x over [tp] root 0 : !r -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_sliced(%x: !s) {
  // expected-error @+1 {{'coll.broadcast' op axis 'tp' is sliced(1) in the operand, but a broadcast needs local or root(0): gather it first}}
  %0 = coll.broadcast %x over [tp] root 0 : !s -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_other_root(%x: !root) {
  // expected-error @+1 {{'coll.broadcast' op axis 'tp' is root(1) in the operand, but a broadcast needs local or root(0): broadcast it from 1 first}}
  %0 = coll.broadcast %x over [tp] root 0 : !root -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!root = tensor<8x?xf32, #layout.dist<tp = root(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_roots(%x: !root) {
  // expected-error @+1 {{'coll.broadcast' op root [1, 2] does not fit [tp]: give one coordinate an axis}}
  %0 = coll.broadcast %x over [tp] root [1, 2] : !root -> !r
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_partial(%x: !s) {
  %1 = comp.reduce sum %x dims [1] : !s -> tensor<8xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'coll.broadcast' op axis 'tp' is partial(sum) in the operand, but a broadcast needs local or root(0): reduce it by sum first, or use layout.relax if the unreduced values}}
  %2 = coll.broadcast %1 over [tp] root 0 : tensor<8xf32, #layout.dist<tp = partial(sum)>> -> tensor<8xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
!s0 = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_replicated(%x: !r) {
  // expected-error @+1 {{'coll.all_to_all' op [tp] must be the innermost axes that slice dimension 1, but the operand's layout is replicated}}
  %0 = coll.all_to_all %x over [tp] from 1 to 0 : !r -> !s0
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_from(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op [tp] must be the innermost axes that slice dimension 0, but the operand's layout is <tp = sliced(1)>}}
  %0 = coll.all_to_all %x over [tp] from 0 to 1 : !s -> !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_same(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op `from` and `to` are both dimension 1; name two dimensions}}
  %0 = coll.all_to_all %x over [tp] from 1 to 1 : !s -> !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_range(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op dim 2 is out of range: the operand has 2 dimension(s)}}
  %0 = coll.all_to_all %x over [tp] from 1 to 2 : !s -> !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_source_range(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op dim 3 is out of range: the operand has 2 dimension(s)}}
  %0 = coll.all_to_all %x over [tp] from 3 to 0 : !s -> !s
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
!s0 = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_unit(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op unit 0 is out of range: a unit is at least 1 element}}
  %0 = coll.all_to_all %x over [tp] from 1 to 0 {unit = 0 : i64} : !s -> !s0
  func.return
}

// -----

!n = tensor<8x?xf32, #layout.dist<[dp, tp] = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_outer(%x: !n) {
  // expected-error @+1 {{'coll.all_to_all' op [dp] must be the innermost axes that slice dimension 1, but the operand's layout is <[dp, tp] = sliced(1)>}}
  %0 = coll.all_to_all %x over [dp] from 1 to 0 : !n -> !n
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @all_to_all_element(%x: !s) {
  // expected-error @+1 {{'coll.all_to_all' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %0 = coll.all_to_all %x over [tp] from 1 to 0 : !s -> tensor<8x?xf16, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_replicated(%x: !r) {
  // expected-error @+1 {{'coll.permute' op axis 'tp' is replicated in the operand, but it must be local there: use layout.relax first}}
  %0 = coll.permute %x over [tp] shift 1 : !r -> !r
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_sliced(%x: !s) {
  // expected-error @+1 {{'coll.permute' op axis 'tp' is sliced(1) in the operand, but it must be local there: gather it first}}
  %0 = coll.permute %x over [tp] shift 1 : !s -> !s
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_two_axes(%x: !l) {
  // expected-error @+1 {{'coll.permute' op a permute works over one axis, not [tp, dp]}}
  %0 = coll.permute %x over [tp, dp] shift 1 : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_without_route(%x: !l) {
  // expected-error @+1 {{expected `shift N` or `pairs [[from, to], …]`}}
  %0 = coll.permute %x over [tp] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_without_route_generic(%x: !l) {
  // expected-error @+1 {{'coll.permute' op a permute has either `shift` or `pairs`}}
  %0 = "coll.permute"(%x) <{axes = #coll.axes<tp>}> : (!l) -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_both(%x: !l) {
  // expected-error @+1 {{'coll.permute' op a permute has either `shift` or `pairs`}}
  %0 = "coll.permute"(%x) <{axes = #coll.axes<tp>, shift = 1 : i64, pairs = [array<i64: 0, 1>]}> : (!l) -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_send_twice(%x: !l) {
  // expected-error @+1 {{'coll.permute' op coordinate 0 sends twice; each may do so once}}
  %0 = coll.permute %x over [tp] pairs [[0, 1], [0, 2]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_receive_twice(%x: !l) {
  // expected-error @+1 {{'coll.permute' op coordinate 1 receives twice; each may do so once}}
  %0 = coll.permute %x over [tp] pairs [[0, 1], [2, 1]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_triple(%x: !l) {
  // expected-error @+1 {{'coll.permute' op each pair is [from, to] with coordinates of at least 0}}
  %0 = coll.permute %x over [tp] pairs [[0, 1, 2]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_empty_pair(%x: !l) {
  // expected-error @+1 {{'coll.permute' op each pair is [from, to] with coordinates of at least 0}}
  %0 = coll.permute %x over [tp] pairs [[]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_negative(%x: !l) {
  // expected-error @+1 {{expected a number of at least 0}}
  %0 = coll.permute %x over [tp] pairs [[0, -1]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_negative_generic(%x: !l) {
  // expected-error @+1 {{'coll.permute' op each pair is [from, to] with coordinates of at least 0}}
  %0 = "coll.permute"(%x) <{axes = #coll.axes<tp>, pairs = [array<i64: 0, -1>]}> : (!l) -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_flat(%x: !l) {
  // expected-error @+1 {{'[' expected}}
  %0 = coll.permute %x over [tp] pairs [0, 1] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_i32(%x: !l) {
  // expected-error @+1 {{'coll.permute' op Expected attribute i64 but got i32}}
  %0 = "coll.permute"(%x) <{axes = #coll.axes<tp>, pairs = [array<i32: 0, 1>]}> : (!l) -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_huge(%x: !l) {
  // expected-error @+1 {{integer does not fit into 64 bits}}
  %0 = coll.permute %x over [tp] shift 99999999999999999999999 : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_huge_pair(%x: !l) {
  // expected-error @+1 {{integer does not fit into 64 bits}}
  %0 = coll.permute %x over [tp] pairs [[0, 99999999999999999999999]] : !l -> !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @permute_element(%x: !l) {
  // expected-error @+1 {{'coll.permute' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %0 = coll.permute %x over [tp] shift 1 : !l -> tensor<8x?xf16, #layout.dist<tp = local>>
  func.return
}
