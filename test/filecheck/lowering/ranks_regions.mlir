// RUN: coconet-opt %s --split-input-file -p coconet-lower-to-ranks --no-aliases | filecheck %s
// RUN: coconet-opt %s --split-input-file -p coconet-lower-to-ranks --remarks 2>&1 >/dev/null | filecheck %s --check-prefix=REMARK

// The collectives of a fused operation are calls between its kernels.

layout.mesh @mesh(dp = 8)
!g = tensor<?xf16, #layout.dist<dp = local>>
!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>
!half = tensor<?xf16, #layout.dist<dp = sliced(0)>>
// CHECK-LABEL: func.func @step
func.func @step(%g: !g, %w: !part {coconet.state}, %p: tensor<?xf16>, %lr: f32) {
  // Scalars of arguments are the host's.
  // CHECK: %rate = arith.addf %lr, %lr : f32
  // CHECK: [[PACKED:%.*]] = coll.fused {
  // CHECK-NEXT: arith.extf %g
  // CHECK-NEXT: [[P:%.*]] = nccl.pack
  // CHECK-NEXT: coll.yield [[P]]
  // CHECK-NEXT: } {coconet.name = "opt_phase1"}
  // CHECK-NEXT: [[CALL:%.*]] = nccl.reduce_scatter avg [[PACKED]] over [dp]
  // CHECK-NEXT: [[PADDED:%.*]] = coll.fused {
  // CHECK-NEXT: tensor.extract_slice [[CALL]]
  // CHECK: comp.scale %{{.*}} by %rate
  // CHECK: comp.update %w
  // CHECK: [[Q:%.*]] = nccl.pad
  // CHECK-NEXT: coll.yield [[Q]]
  // CHECK-NEXT: } {coconet.name = "opt_phase2"}
  // CHECK-NEXT: [[ALL:%.*]] = nccl.all_gather [[PADDED]] over [dp]
  // CHECK-NEXT: coll.fused {
  // CHECK-NEXT: [[NEW:%.*]] = nccl.unpack [[ALL]]
  // CHECK-NEXT: comp.update %p, [[NEW]]
  // CHECK-NEXT: coll.yield
  // CHECK-NEXT: } {coconet.name = "opt_phase3"}
  // CHECK-NEXT: func.return
  // REMARK: ranks_regions.mlir:35:3: remark: lower-to-ranks 'opt': applied: its 2 collective(s) are calls of the library, and what is between them 3 kernel(s)
  coll.fused over [dp] {
    %avg = coll.reduce_scatter avg %g over [dp] dim 0 {accumulate = f32} : !g -> !part
    %rate = arith.addf %lr, %lr : f32
    %move = comp.scale %avg by %rate : !part
    %new = arith.subf %w, %move : !part
    %wu = comp.update %w, %new : !part
    %half = arith.truncf %new : !part to !half
    %all = coll.all_gather %half over [dp] : !half -> tensor<?xf16>
    %pu = comp.update %p, %all : tensor<?xf16>
    coll.yield
  } {coconet.name = "opt"}
  func.return
}

// -----

// Without collectives it stays one kernel; its scalars come from outside, and go there.

layout.mesh @mesh(dp = 8)
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<?xf32>, %s: f32) -> (tensor<?xf32>, f32) {
  // CHECK: %twice = arith.addf %s, %s : f32
  // CHECK-NEXT: [[Y:%.*]], [[N:%.*]] = coll.fused {
  // CHECK-NEXT: [[A:%.*]] = comp.scale %x by %twice : tensor<?xf32>
  // CHECK-NEXT: [[B:%.*]] = comp.reduce sum [[A]] dims [0] : tensor<?xf32> -> tensor<f32>
  // CHECK-NEXT: coll.yield [[A]], [[B]] : tensor<?xf32>, tensor<f32>
  // CHECK-NEXT: } {coconet.name = "y"}
  // CHECK-NEXT: [[T:%.*]] = tensor.extract [[N]][] : tensor<f32>
  // CHECK-NEXT: [[R:%.*]] = math.sqrt [[T]] : f32
  // CHECK-NEXT: func.return [[Y]], [[R]]
  // REMARK-NOT: 'y'
  %y, %r = coll.fused {
    %twice = arith.addf %s, %s : f32
    %a = comp.scale %x by %twice : tensor<?xf32>
    %n = comp.reduce sum %a dims [0] : tensor<?xf32> -> tensor<f32>
    %t = tensor.extract %n[] : tensor<f32>
    %r = math.sqrt %t : f32
    coll.yield %a, %r : tensor<?xf32>, f32
  }
  func.return %y, %r : tensor<?xf32>, f32
}

// -----

// The stages of an overlap run one behind the other.

layout.mesh @mesh(tp = 8)
!x = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!w = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!y = tensor<?x?xf32, #layout.dist<tp = partial(sum)>>
!s = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-LABEL: func.func @overlap
func.func @overlap(%x: !x, %w: !w) -> !s {
  // CHECK-NOT: coll.
  // CHECK: %y = comp.matmul %x, %w
  // CHECK: nccl.pack %y
  // CHECK: nccl.reduce_scatter
  // CHECK: %s = tensor.extract_slice
  // CHECK: func.return %s
  // REMARK: ranks_regions.mlir:95:3: remark: lower-to-ranks 's': applied: its stages run one behind the other
  %s = coll.overlap {
    %y = comp.matmul %x, %w : (!x, !w) -> !y
    %s = coll.reduce_scatter sum %y over [tp] dim 0 : !y -> !s
    coll.yield %s : !s
  } {dim = 0, chunks = 4}
  func.return %s : !s
}
