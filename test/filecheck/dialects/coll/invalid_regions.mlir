// RUN: coconet-opt %s --split-input-file --verify-diagnostics

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @empty_fused() {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.fused {
  }
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @empty_overlap() {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.overlap {}
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @empty_group() {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.group over [tp] {}
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @no_yield(%x: !l) {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.fused over [tp] {
   %0 = coll.all_reduce sum %x over [tp] : !l -> !r
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @two_blocks(%x: !l) {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.fused {
   coll.yield
  ^bb1:
   coll.yield
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @other_yield(%x: !l) {
  // expected-error @+1 {{expected one block that ends in coll.yield}}
  coll.fused {
   func.return
  }
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @generic_empty() {
  // expected-error @+1 {{'coll.fused' op Region 'body' at position 0 expected a single block, but got 0 blocks}}
  "coll.fused"() ({}) : () -> ()
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @generic_empty_block() {
  // expected-error @+1 {{'coll.fused' op Operation coll.fused contains empty block in single-block region that expects at least a terminator}}
  "coll.fused"() ({
  ^bb0:
  }) : () -> ()
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @generic_no_region() {
  // expected-error @+1 {{'coll.fused' op Expected 1 region, but got 0}}
  "coll.fused"() : () -> ()
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @yield_types(%x: !l) {
  // expected-error @+1 {{'coll.fused' op result 0 is tensor<8x?xf32>, but its coll.yield gives tensor<8x?xf32, #layout.dist<tp = local>>}}
  %0 = "coll.fused"() ({
    "coll.yield"(%x) : (!l) -> ()
  }) : () -> !r
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @yield_count(%x: !l) {
  // expected-error @+1 {{'coll.fused' op has 2 result(s), but its coll.yield 1 operand(s)}}
  %0, %1 = "coll.fused"() ({
    "coll.yield"(%x) : (!l) -> ()
  }) : () -> (!l, !l)
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @yield_arity(%x: !l) {
  // expected-error @+1 {{Operation has 1 results, but was given 2 to bind.}}
  %0, %1 = coll.fused {
    coll.yield %x : !l
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @block_args(%x: !l) {
  // expected-error @+1 {{'coll.fused' op its body takes no arguments: it uses outer values directly}}
  "coll.fused"() ({
  ^bb0(%a: f32):
    "coll.yield"() : () -> ()
  }) : () -> ()
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @yield_elsewhere(%x: !l) {
  // expected-error @+1 {{'coll.yield' op 'coll.yield'}}
  coll.yield %x : !l
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_dim(%x: !l) {
  // expected-error @+1 {{'coll.overlap' op dim = -1 must be at least 0}}
  %0 = coll.overlap {
    coll.yield %x : !l
  } {dim = -1 : i64, chunks = 2 : i64}
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_chunks(%x: !l) {
  // expected-error @+1 {{'coll.overlap' op chunks = 0 must be at least 1}}
  %0 = coll.overlap {
    coll.yield %x : !l
  } {dim = 0 : i64, chunks = 0 : i64}
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_type(%x: !l) {
  // expected-error @+1 {{'coll.overlap' op Expected attribute i64 but got i32}}
  %0 = coll.overlap {
    coll.yield %x : !l
  } {dim = 0 : i32, chunks = 0.5 : f32}
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_no_over(%x: !l) {
  // expected-error @+1 {{Expected 'over'}}
  %0 = coll.group {
    coll.yield %x : !l
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @fused_other_axes(%x: !l) {
  // expected-error @+1 {{'coll.fused' op names [dp], but its collectives work over [tp]}}
  %0 = coll.fused over [dp] {
    %1 = coll.all_reduce sum %x over [tp] : !l -> !r
    coll.yield %1 : !r
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @fused_no_over(%x: !l) {
  // expected-error @+1 {{'coll.fused' op names no axes, but its collectives work over [tp]}}
  %0 = coll.fused {
    %1 = coll.all_reduce sum %x over [tp] : !l -> !r
    coll.yield %1 : !r
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @fused_no_collective(%x: !l) {
  // expected-error @+1 {{'coll.fused' op holds no collective: leave `over` out}}
  %0 = coll.fused over [tp] {
    %1 = arith.addf %x, %x : !l
    coll.yield %1 : !l
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_other(%x: !l) {
  // expected-error @+1 {{'coll.group' op names [dp], but holds a collective over [tp]}}
  %0 = coll.group over [dp] {
    %1 = coll.all_reduce sum %x over [tp] : !l -> !r
    coll.yield %1 : !r
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_computes(%x: !l) {
  // expected-error @+1 {{'coll.group' op holds something other than collectives: move it before or behind the group}}
  %0 = coll.group over [tp] {
    %1 = arith.addf %x, %x : !l
    coll.yield %1 : !l
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @used_outside(%x: !l) {
  %0 = coll.fused over [tp] {
    %1 = coll.all_reduce sum %x over [tp] : !l -> !r
    coll.yield %1 : !r
  }
  // expected-error @+1 {{%1 is used but never defined}}
  %2 = arith.addf %1, %1 : !r
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_kinds(%x: !l) {
  // expected-error @+1 {{'coll.group' op holds collectives that cannot be one launch: 'kind' is #coll.kind<sum> in one, #coll.kind<max> in another}}
  %0, %1 = coll.group over [tp] {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %b = coll.all_reduce max %x over [tp] : !l -> !r
    coll.yield %a, %b : !r, !r
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_dependent(%x: !l) {
  // expected-error @+1 {{'coll.group' op holds a collective that uses the result of another: what one launch does cannot depend on itself}}
  %0 = coll.group over [tp] {
    %a = coll.permute %x over [tp] shift 1 : !l -> !l
    %b = coll.permute %a over [tp] shift 1 : !l -> !l
    coll.yield %b : !l
  }
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @fused_two_axis_lists(%x: tensor<8xf32, #layout.dist<dp = local, tp = local>>) {
  // expected-error @+1 {{'coll.fused' op holds collectives over [tp] and over [dp]; one region has one list of axes}}
  %0 = coll.fused over [tp] {
    %a = coll.all_reduce sum %x over [tp] : tensor<8xf32, #layout.dist<dp = local, tp = local>> -> tensor<8xf32, #layout.dist<dp = local>>
    %b = coll.all_reduce sum %a over [dp] : tensor<8xf32, #layout.dist<dp = local>> -> tensor<8xf32>
    coll.yield %b : tensor<8xf32>
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_one_stage(%x: !l) {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: 'a' is the only stage: two or more matmuls, convolutions, collectives or coll.fused overlap, each reading what the one before makes}}
  %0 = coll.overlap {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %b = arith.addf %a, %a : !r
    coll.yield %b : !r
  }
  func.return
}

// -----

layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_nothing() {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: no stages: two or more}}
  coll.overlap {
    coll.yield
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_side_by_side(%x: !l, %y: !l) {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: 'b' reads nothing that 'a', the stage before, makes: stages overlap as one chain of producers and consumers; leave one of them out}}
  %0, %1 = coll.overlap {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %b = coll.all_reduce sum %y over [tp] : !l -> !r
    coll.yield %a, %b : !r, !r
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_nested(%x: !l) {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: 'b' is a coll.group, and an overlap holds no regions but coll.fused: inline it first}}
  %0 = coll.overlap {
    %a = coll.reduce_scatter sum %x over [tp] dim 0 : !l -> !s
    %b = coll.group over [tp] {
      %c = coll.all_gather %a over [tp] : !s -> !r
      coll.yield %c : !r
    }
    coll.yield %b : !r
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_range(%x: !l) {
  %0 = coll.overlap {
    // expected-error @+1 {{'coll.reduce_scatter' op makes 2 dimension(s) as the first stage of an overlap: dim=2 is out of range}}
    %a = coll.reduce_scatter sum %x over [tp] dim 0 : !l -> !s
    %b = coll.all_gather %a over [tp] : !s -> !r
    coll.yield %b : !r
  } {dim = 2 : i64}
  func.return
}

// -----

!x = tensor<6x6xf32>
!w = tensor<6x6xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_no_dimension(%x: !x, %w: !w) {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: no dimension of 'a' works; of the last, 1: 'b' reduces its dimension 'k', so that nothing is done before the last chunk; leave it behind the overlap}}
  %0 = coll.overlap {
    %a = comp.matmul %x, %w : (!x, !w) -> !x
    %s = comp.softmax %a dim 0 : !x
    %b = comp.matmul %s, %w : (!x, !w) -> !x
    coll.yield %b : !x
  }
  func.return
}

// -----

!l = tensor<8x8xf32, #layout.dist<tp = local>>
!r = tensor<8x8xf32>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @overlap_in_place(%x: !l, %w: !r) {
  // expected-error @+1 {{'coll.overlap' op cannot work chunk by chunk: 'u' stores chunks into an argument that 'm' may still have to read; put both into one coll.fused, or leave the update behind the overlap}}
  %0 = coll.overlap {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %m = comp.matmul %a, %w : (!r, !r) -> !r
    %u = comp.update %w, %m : !r
    coll.yield %u : !r
  } {dim = 0 : i64}
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!r = tensor<8x?xf32>
!l16 = tensor<8x?xf16, #layout.dist<tp = local>>
!r16 = tensor<8x?xf16>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_elements(%x: !l, %y: !l16) {
  // expected-error @+1 {{'coll.group' op holds collectives that cannot be one launch: the operand of one has f32 elements, that of another f16}}
  %0, %1 = coll.group over [tp] {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %b = coll.all_reduce sum %y over [tp] : !l16 -> !r16
    coll.yield %a, %b : !r, !r16
  }
  func.return
}

// -----

!l = tensor<8x?xf32, #layout.dist<tp = local>>
!r = tensor<8x?xf32>
!l16 = tensor<8x?xf16, #layout.dist<tp = local>>
!r16 = tensor<8x?xf16>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_results(%x: !l16) {
  // expected-error @+1 {{'coll.group' op holds collectives that cannot be one launch: the result of one has f16 elements, that of another f32}}
  %0, %1 = coll.group over [tp] {
    %a = coll.all_reduce sum %x over [tp] {accumulate = f32} : !l16 -> !r16
    %b = coll.all_reduce sum %x over [tp] {accumulate = f32} : !l16 -> !r
    coll.yield %a, %b : !r16, !r
  }
  func.return
}

// -----

!r = tensor<8x?xf32>
!l = tensor<8x?xf32, #layout.dist<tp = local>>
!s = tensor<8x?xf32, #layout.dist<tp = sliced(0)>>
layout.mesh @mesh(dp = 2, pp = 3, tp = 4)
func.func @group_operations(%x: !l, %y: !s) {
  // expected-error @+1 {{'coll.group' op holds collectives that cannot be one launch: one is a coll.all_reduce, another a coll.all_gather}}
  %0, %1 = coll.group over [tp] {
    %a = coll.all_reduce sum %x over [tp] : !l -> !r
    %b = coll.all_gather %y over [tp] : !s -> !r
    coll.yield %a, %b : !r, !r
  }
  func.return
}
