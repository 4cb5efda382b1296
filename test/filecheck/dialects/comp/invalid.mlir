// RUN: coconet-opt %s --split-input-file --verify-diagnostics

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_SS_misaligned(%x: !s, %w: tensor<?x32xf32, #layout.dist<tp = sliced(1)>>) {
  // expected-error @+1 {{'comp.matmul' op axis 'tp' slices both 'k' and 'n'; an axis can slice one dimension of an operation: gather one of the operands first}}
  %p = comp.matmul %x, %w : (!s, tensor<?x32xf32, #layout.dist<tp = sliced(1)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_SR(%x: !s, %w: tensor<?x32xf32>) {
  // expected-error @+1 {{'comp.matmul' op dimension 'k' is sliced by [tp] in one operand, but not in dimension 0 of operand 1: slice that one too (layout.slice), or gather}}
  %p = comp.matmul %x, %w : (!s, tensor<?x32xf32>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!r = tensor<8x?xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_RS(%x: !r, %w: tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.matmul' op dimension 'k' is sliced by [tp] in one operand, but not in dimension 1 of operand 0: slice that one too (layout.slice), or gather}}
  %p = comp.matmul %x, %w : (!r, tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_units(%x: tensor<8x?xf32, #layout.dist<tp = sliced(1, 4)>>, %w: tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.matmul' op dimension 'k' is sliced by [tp] in units of 4 in one operand and by [tp] in operand 1; every operand that has it must be sliced alike}}
  %p = comp.matmul %x, %w : (tensor<8x?xf32, #layout.dist<tp = sliced(1, 4)>>, tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_sliced_local(%x: !s, %w: tensor<?x32xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'comp.matmul' op axis 'tp' slices one operand and is local in operand 1; sliced does not combine with local, partial or root: gather the sliced one first}}
  %p = comp.matmul %x, %w : (!s, tensor<?x32xf32, #layout.dist<tp = local>>) -> tensor<8x32xf32, #layout.dist<tp = local>>
  func.return
}

// -----

!s = tensor<8x?xf32, #layout.dist<tp = sliced(1)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_result(%x: !s, %w: tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.matmul' op its result has the layout <tp = local>, but the operands make it <tp = partial(sum)>}}
  %p = comp.matmul %x, %w : (!s, tensor<?x32xf32, #layout.dist<tp = sliced(0)>>) -> tensor<8x32xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_1d(%x: tensor<8xf32>, %w: tensor<8x3xf32>) {
  // expected-error @+1 {{'comp.matmul' op a matmul needs operands of at least two dimensions}}
  %p = comp.matmul %x, %w : (tensor<8xf32>, tensor<8x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_sizes(%x: tensor<4x8xf32>, %w: tensor<7x3xf32>) {
  // expected-error @+1 {{'comp.matmul' op 'k' is 8 in dimension 1 of operand 0, but 7 in dimension 0 of operand 1}}
  %p = comp.matmul %x, %w : (tensor<4x8xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_elements(%x: tensor<4x8xf32>, %w: tensor<8x3xf16>) {
  // expected-error @+1 {{'comp.matmul' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %p = comp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x3xf16>) -> tensor<4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_batch_ranks(%x: tensor<2x4x8xf32>, %w: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{'comp.matmul' op operand 1 must have the dimensions [*b, k, n], but it has 4}}
  %p = comp.matmul %x, %w : (tensor<2x4x8xf32>, tensor<2x2x8x3xf32>) -> tensor<2x4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_result_rank(%x: tensor<2x4x8xf32>, %w: tensor<8x3xf32>) {
  // expected-error @+1 {{'comp.matmul' op result 0 must be a tensor of 3 dimension(s)}}
  %p = comp.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_accumulate(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) {
  // expected-error @+1 {{'comp.matmul' op accumulate = i32 does not fit f32 elements: both must be floats or integers}}
  %p = comp.matmul %x, %w {accumulate = i32} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_bits(%x: tensor<4x8xi1>, %w: tensor<8x3xi1>) {
  // expected-error @+1 {{'comp.matmul' op i1 elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: cast first}}
  %p = comp.matmul %x, %w : (tensor<4x8xi1>, tensor<8x3xi1>) -> tensor<4x3xi1>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @matmul_misspelt(%x: tensor<4x8xf16>, %w: tensor<8x3xf16>) {
  // expected-error @+1 {{'comp.matmul' op has no attribute 'acumulate'; it has accumulate (a note of your own is 'my.acumulate')}}
  %p = comp.matmul %x, %w {acumulate = f32} : (tensor<4x8xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_strides(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op strides = [1] must be two numbers of at least 1}}
  %p = comp.conv2d %x, %w {strides = array<i64: 1>} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_zero_stride(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op strides = [1, 0] must be two numbers of at least 1}}
  %p = comp.conv2d %x, %w {strides = array<i64: 1, 0>} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_padding(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op padding = [-1, 0] must be two numbers of at least 0}}
  %p = comp.conv2d %x, %w {padding = array<i64: -1, 0>} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_height(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op the result's height must be 2, not 3}}
  %p = comp.conv2d %x, %w : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x3x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_channels(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x3x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op 'c' is 2 in dimension 3 of operand 0, but 3 in dimension 2 of operand 1}}
  %p = comp.conv2d %x, %w : (tensor<1x4x4x2xf32>, tensor<3x3x3x5xf32>) -> tensor<1x2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_rows_sliced(%x: tensor<1x4x4x2xf32, #layout.dist<tp = sliced(1)>>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op dimension 'h' is needed whole, but is sliced by [tp]: gather it first}}
  %p = comp.conv2d %x, %w : (tensor<1x4x4x2xf32, #layout.dist<tp = sliced(1)>>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32, #layout.dist<tp = sliced(1)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_rank(%x: tensor<4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op operand 0 must have the dimensions [n, h, w, c], but it has 3}}
  %p = comp.conv2d %x, %w : (tensor<4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @conv_i32_strides(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'comp.conv2d' op Expected attribute i64 but got i32}}
  %p = comp.conv2d %x, %w {strides = array<i32: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @sliced_and_local(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>, %y: tensor<8xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'arith.addf' op operand 'rhs' at position 1 does not verify: attribute tensor<8xf32, #layout.dist<tp = sliced(0)>> expected from variable 'T', but got tensor<8xf32}}
  %p = "arith.addf"(%x, %y) : (tensor<8xf32, #layout.dist<tp = sliced(0)>>, tensor<8xf32, #layout.dist<tp = local>>) -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @slices_of_two_dimensions(%c: tensor<8x8xi1, #layout.dist<tp = sliced(0)>>, %x: tensor<8x8xf32, #layout.dist<tp = sliced(1)>>) {
  // expected-error @+1 {{'arith.select' op axis 'tp' slices both 'd0' and 'd1'; an axis can slice one dimension of an operation: gather one of the operands first}}
  %p = arith.select %c, %x, %x : tensor<8x8xi1, #layout.dist<tp = sliced(0)>>, tensor<8x8xf32, #layout.dist<tp = sliced(1)>>
  func.return
}
