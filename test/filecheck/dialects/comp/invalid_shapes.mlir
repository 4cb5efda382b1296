// RUN: coconet-opt %s --split-input-file --verify-diagnostics

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_count(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op dims must say where each of the operand's 1 dimension(s) goes}}
  %p = comp.broadcast %x dims [] : tensor<5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_range(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op dims [2] are out of range: the result has 2 dimension(s)}}
  %p = comp.broadcast %x dims [2] : tensor<5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_twice(%x: tensor<5x5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op a dimension is named twice in [1, 1]}}
  %p = comp.broadcast %x dims [1, 1] : tensor<5x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_size(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op 'r0' is 5 in dimension 0 of operand 0, but 3 in dimension 0 of result 0}}
  %p = comp.broadcast %x dims [0] : tensor<5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_unknown(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op the size of dimension 0 is not known: add `like %x` with a tensor of the result's shape}}
  %p = comp.broadcast %x dims [1] : tensor<5xf32> -> tensor<?x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_like_rank(%x: tensor<5xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op operand 1 must have 2 dimension(s), not 1}}
  %p = comp.broadcast %x dims [1] like %y : tensor<5xf32>, tensor<5xf32> -> tensor<?x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_element(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %p = comp.broadcast %x dims [1] : tensor<5xf32> -> tensor<3x5xf16>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_sliced(%x: tensor<5xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.broadcast' op its result has the layout replicated, but the operands make it <tp = sliced(1)>}}
  %p = comp.broadcast %x dims [1] : tensor<5xf32, #layout.dist<tp = sliced(0)>> -> tensor<3x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @broadcast_local(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.broadcast' op its result has the layout <tp = local>, but the operands make it replicated}}
  %p = comp.broadcast %x dims [1] : tensor<5xf32> -> tensor<3x5xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_order(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op both sides must name the same factors in the same order, each once: a reshape moves nothing (use comp.transpose for that)}}
  %p = comp.reshape %x [a, b] -> [b, a] : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_lost(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'b' is missing in a result: it must be a reduction or whole}}
  %p = comp.reshape %x [a, b] -> [a] : tensor<3x4xf32> -> tensor<3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_role(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op a reshape names dimensions only; it states no roles}}
  %p = comp.reshape %x [a, b] -> [(a b)], a = whole : tensor<3x4xf32> -> tensor<12xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_two(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op a reshape names the dimensions of one operand and one result}}
  %p = comp.reshape %x [a] [b] -> [a, b] : tensor<3x4xf32> -> tensor<12xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_star(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op a reshape names every dimension; `*` is not allowed}}
  %p = comp.reshape %x [*a] -> [*a] : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_rank(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op the operand has 2 dimension(s), but 3 are named}}
  %p = comp.reshape %x [a, b, c] -> [a, b, c] : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_rank2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op the result has 1 dimension(s), but 2 are named}}
  %p = comp.reshape %x [a, b] -> [a, b] : tensor<3x4xf32> -> tensor<12xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_product(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'comp.reshape' op (a b) is 12, but its dimension is 13}}
  %p = comp.reshape %x [a, b] -> [(a b)] : tensor<3x4xf32> -> tensor<13xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_divide(%x: tensor<13xf32>) {
  // expected-error @+1 {{'comp.reshape' op (a b) is 13, which the other factors (3) do not divide}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<13xf32> -> tensor<3x?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_two_unknown(%x: tensor<?xf32>) {
  // expected-error @+1 {{'comp.reshape' op the product (a b) has more than one factor of unknown size: make all but one static}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<?xf32> -> tensor<?x?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_two_unknown_static(%x: tensor<12xf32>) {
  // expected-error @+1 {{'comp.reshape' op the product (a b) has more than one factor of unknown size: make all but one static}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<12xf32> -> tensor<?x?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_two_unknown_mixed(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'comp.reshape' op the product (a b) has more than one factor of unknown size: make all but one static}}
  %p = comp.reshape %x [(a b), c] -> [a, (b c)] : tensor<?x?xf32> -> tensor<?x?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_zero(%x: tensor<0xf32>) {
  // expected-error @+1 {{'comp.reshape' op the product (a b) is 0 whatever 'a' is: make that one static too}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<0xf32> -> tensor<?x0xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_zero_other(%x: tensor<5xf32>) {
  // expected-error @+1 {{'comp.reshape' op (a b) is 5, which the other factors (0) do not divide}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<5xf32> -> tensor<?x0xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_zero_open(%x: tensor<?xf32>) {
  // expected-error @+1 {{'comp.reshape' op the product (a b) is 0 whatever 'a' is: make that one static too}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<?xf32> -> tensor<?x0xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_static_change(%x: tensor<3xf32>) {
  // expected-error @+1 {{'comp.reshape' op 'a' is both 3 and 4}}
  %p = comp.reshape %x [a] -> [a] : tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_inner_sliced(%x: tensor<3x4xf32, #layout.dist<tp = sliced(1)>>) {
  // expected-error @+1 {{'comp.reshape' op 'b' is sliced and would be an inner factor of the product (a b) in the result: gather it first}}
  %p = comp.reshape %x [a, b] -> [(a b)] : tensor<3x4xf32, #layout.dist<tp = sliced(1)>> -> tensor<12xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_unit(%x: tensor<12xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.reshape' op dimension 0 of operand 0 is the product (a b) and is sliced in units of 1; only multiples of 4 keep whole rows of (b): slice it with unit 4}}
  %p = comp.reshape %x [(a b)] -> [a, b] : tensor<12xf32, #layout.dist<tp = sliced(0)>> -> tensor<3x4xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @reshape_element(%x: tensor<12xf32>) {
  // expected-error @+1 {{'comp.reshape' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %p = comp.reshape %x [a] -> [a] : tensor<12xf32> -> tensor<12xf16>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @transpose_perm(%x: !r) {
  // expected-error @+1 {{'comp.transpose' op perm must name each of the 2 dimension(s) once, but is [0, 0]}}
  %p = comp.transpose %x perm [0, 0] : !r -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @transpose_short(%x: !r) {
  // expected-error @+1 {{'comp.transpose' op perm must name each of the 2 dimension(s) once, but is [0]}}
  %p = comp.transpose %x perm [0] : !r -> !r
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @transpose_rank(%x: !r) {
  // expected-error @+1 {{'comp.transpose' op result 0 must have 2 dimension(s), not 1}}
  %p = comp.transpose %x perm [1, 0] : !r -> tensor<?xf32>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @transpose_layout(%x: !s) {
  // expected-error @+1 {{'comp.transpose' op its result has the layout <tp = sliced(1)>, but the operands make it <tp = sliced(0)>}}
  %p = comp.transpose %x perm [1, 0] : !s -> tensor<?x8xf32, #layout.dist<tp = sliced(1)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @transpose_element(%x: !s) {
  // expected-error @+1 {{'comp.transpose' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %p = comp.transpose %x perm [1, 0] : !s -> tensor<?x8xf16, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_offsets(%x: tensor<?xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'comp.segment_reduce' op offsets must be i64, not i32}}
  %p = comp.segment_reduce sum %x, %o : (tensor<?xf32>, tensor<5xi32>) -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_count(%x: tensor<?xf32>, %o: tensor<5xi64>) {
  // expected-error @+1 {{'comp.segment_reduce' op 5 segments need 6 offsets, but there are 5}}
  %p = comp.segment_reduce sum %x, %o : (tensor<?xf32>, tensor<5xi64>) -> tensor<5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_sliced_offsets(%x: tensor<?xf32>, %o: tensor<5xi64, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.segment_reduce' op dimension 'o' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.segment_reduce sum %x, %o : (tensor<?xf32>, tensor<5xi64, #layout.dist<tp = sliced(0)>>) -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_avg(%x: tensor<?xf32>, %o: tensor<5xi64>) {
  // expected-error @+1 {{'comp.segment_reduce' op avg exists on collectives only: sum and divide}}
  %p = comp.segment_reduce avg %x, %o : (tensor<?xf32>, tensor<5xi64>) -> tensor<4xf32>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_rank(%x: !r, %o: tensor<5xi64>) {
  // expected-error @+1 {{'comp.segment_reduce' op operand 0 must have the dimensions [n], but it has 2}}
  %p = comp.segment_reduce sum %x, %o : (!r, tensor<5xi64>) -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_broadcast_count(%x: tensor<5xf32>, %o: tensor<5xi64>, %y: tensor<?xf32>) {
  // expected-error @+1 {{'comp.segment_broadcast' op 5 segments need 6 offsets, but there are 5}}
  %p = comp.segment_broadcast %x, %o like %y : (tensor<5xf32>, tensor<5xi64>, tensor<?xf32>) -> tensor<?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_broadcast_elements(%x: tensor<4xf32>, %o: tensor<5xi64>, %y: tensor<?xf32>) {
  // expected-error @+1 {{'comp.segment_broadcast' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %p = comp.segment_broadcast %x, %o like %y : (tensor<4xf32>, tensor<5xi64>, tensor<?xf32>) -> tensor<?xf16>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @segments_result_sliced(%x: tensor<?xf32>, %o: tensor<5xi64>) {
  // expected-error @+1 {{'comp.segment_reduce' op its result has the layout <tp = sliced(0)>, but the operands make it replicated}}
  %p = comp.segment_reduce sum %x, %o : (tensor<?xf32>, tensor<5xi64>) -> tensor<4xf32, #layout.dist<tp = sliced(0)>>
  func.return
}
