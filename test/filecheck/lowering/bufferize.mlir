// RUN: coconet-opt %s -p coconet-bufferize --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-bufferize | coconet-opt --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-bufferize,coconet-outline-kernels -o %t
// RUN: coconet-opt %s -p coconet-bufferize --remarks -o %t 2>&1 | filecheck %s --check-prefix REMARK
// RUN: %if mlir-opt %{ coconet-opt %s -p coconet-bufferize --print-op-generic | mlir-opt-22 --allow-unregistered-dialect > %t %}

!x = tensor<?xf32>
!h = tensor<?xf16>
!m = tensor<?x?xf32>

module attributes {coconet.level = "rank"} {
layout.mesh @mesh(dp = 2)

// Updates and results are stored where they have to be in the end. What is as large as something that is read last,
// element by element, takes its place: here the cast gradient, its reduction, and the step.

// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %g: memref<?xf16> {coconet.layout = #layout.dist<dp = local>}, %m: memref<?xf32> {coconet.state}, %n: index {coconet.size = "g.0"},
// CHECK-SAME: %result0: memref<?xf32> {coconet.result = 0 : i64, coconet.layout = #layout.dist<dp = local>}) -> (index {my.note})
// CHECK-SAME: attributes {coconet.peak = "4*g.0"}
// CHECK: %[[SIZE:.*]] = arith.muli %{{.*}}, %n : index
// CHECK-NEXT: %[[C256:.*]] = arith.constant 256 : index
// CHECK-NEXT: %[[PLACES:.*]] = arith.ceildivui %[[SIZE]], %[[C256]] : index
// CHECK-NEXT: %[[END:.*]] = arith.muli %[[PLACES]], %[[C256]] : index
// CHECK-NEXT: %arena = memref.alloc(%[[END]]) {alignment = 256 : i64} : memref<?xi8>
// CHECK-NEXT: %g32_m = memref.view %arena[%{{.*}}][%n] : memref<?xi8> to memref<?xf32>
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %g_1 = bufferization.to_tensor %g : memref<?xf16> to tensor<?xf16>
// CHECK-NEXT: %wide = arith.extf %g_1
// CHECK-NEXT: bufferization.materialize_in_destination %wide in writable %g32_m : (tensor<?xf32>, memref<?xf32>) -> ()
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "g32"}
// CHECK-NEXT: nccl.all_reduce_into sum %g32_m, %g32_m over [dp] {coconet.name = "sum"} : memref<?xf32>
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %m_1 = bufferization.to_tensor %m
// CHECK-NEXT: %sum = bufferization.to_tensor %g32_m
// CHECK-NEXT: %new = arith.addf %m_1, %sum
// CHECK-NEXT: %half = arith.mulf %new, %sum
// CHECK-NEXT: bufferization.materialize_in_destination %new in writable %m
// CHECK-NEXT: bufferization.materialize_in_destination %half in writable %g32_m
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "step"}
// CHECK-NEXT: nccl.permute_into %g32_m, %result0 over [dp] shift 1 {coconet.name = "next"} : memref<?xf32>
// CHECK-NEXT: func.return %n : index
// REMARK: bufferize 'in_place': applied: 1 buffer(s) in an arena of 4*g.0 bytes, 0 copies
func.func @in_place(%g: !h {coconet.layout = #layout.dist<dp = local>}, %m: !x {coconet.state},
                    %n: index {coconet.size = "g.0"})
    -> (!x {coconet.layout = #layout.dist<dp = local>}, index {my.note}) {
  %g32 = coll.fused {
    %wide = arith.extf %g : !h to !x
    coll.yield %wide : !x
  } {coconet.name = "g32"}
  %sum = nccl.all_reduce sum %g32 over [dp] : !x
  %step = coll.fused {
    %new = arith.addf %m, %sum : !x
    %mu = comp.update %m, %new : !x
    %half = arith.mulf %mu, %sum : !x
    coll.yield %half : !x
  } {coconet.name = "step"}
  %next = nccl.permute %step over [dp] shift 1 : !x
  func.return %next, %n : !x, index
}

// A call stores into the argument that takes its result, or it is copied if the argument is read in between. So are
// arguments that are returned, and what is returned twice by calls; kernels store twice.

// CHECK-LABEL: func.func @copies(
// CHECK-SAME: attributes {coconet.peak = "4*x.0"}
// CHECK: nccl.broadcast_into %x, %a over [dp] root 0
// CHECK-NEXT: nccl.broadcast_into %x, %one_m over [dp] root 0 {coconet.name = "one"}
// CHECK-NEXT: coll.fused {
// CHECK: math.exp %{{.*}}
// CHECK-NEXT: materialize_in_destination %e in writable %result0
// CHECK-NEXT: materialize_in_destination %e in writable %result1
// CHECK: } {coconet.name = "k"}
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %one = bufferization.to_tensor %one_m
// CHECK-NEXT: materialize_in_destination %one in writable %b
// CHECK-NEXT: coll.yield
// CHECK-NEXT: } {coconet.name = "one_copy"}
// CHECK-NEXT: coll.fused {
// CHECK: materialize_in_destination %x_1 in writable %result2
// CHECK: } {coconet.name = "x_copy"}
// CHECK-NEXT: func.return
// REMARK: bufferize 'copies': applied: 1 buffer(s) in an arena of 4*x.0 bytes, 2 copies
func.func @copies(%x: !x, %a: !x, %b: !x) -> (!x, !x, !x) {
  %zero = nccl.broadcast %x over [dp] root 0 : !x
  %au = comp.update %a, %zero : !x
  %one = nccl.broadcast %x over [dp] root 0 : !x
  %k = coll.fused {
    %e = math.exp %b : !x
    coll.yield %e : !x
  }
  %bu = comp.update %b, %one : !x
  func.return %k, %k, %x : !x, !x, !x
}

// What is read under other dimensions is the same buffer. Scalars that are returned are buffers of one element.

// CHECK-LABEL: func.func @dimensions(
// CHECK-SAME: %result0: memref<f32> {coconet.result = 0 : i64}, %result1: memref<?x8xf32> {coconet.result = 1 : i64})
// CHECK-SAME: attributes {coconet.peak = "32*x.0"}
// CHECK: %p_m = memref.view
// CHECK: %q_m = memref.reinterpret_cast %p_m to offset: [0], sizes: [%{{.*}}, 2, 4], strides: [8, 4, 1] : memref<?x8xf32> to memref<?x2x4xf32>
// CHECK: comp.matmul_into %x, %w, %p_m {coconet.name = "p"}
// CHECK: comp.matmul_into %q_m, %v, %r_m {coconet.name = "r"}
// CHECK-NEXT: coll.fused {
// CHECK: materialize_in_destination %n in writable %result0 : (tensor<f32>, memref<f32>) -> ()
// CHECK: func.return
func.func @dimensions(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %v: tensor<?x4x4xf32>) -> (f32, tensor<?x8xf32>) {
  %p = comp.matmul %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = comp.reshape %p [b, (h d)] -> [b, h, d] : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %r = comp.matmul %q, %v : (tensor<?x2x4xf32>, tensor<?x4x4xf32>) -> tensor<?x2x4xf32>
  %n = coll.fused {
    %n = comp.reduce sum %r dims [0, 1, 2] : tensor<?x2x4xf32> -> tensor<f32>
    coll.yield %n : tensor<f32>
  }
  %s = tensor.extract %n[] : tensor<f32>
  %back = comp.reshape %r [b, h, d] -> [b, (h d)] : tensor<?x2x4xf32> -> tensor<?x8xf32>
  func.return %s, %back : f32, tensor<?x8xf32>
}

// One slot holds values of several sizes one after the other, as large as the largest of them. Nothing takes the place
// of what other threads still read.

// CHECK-LABEL: func.func @slots(
// CHECK-SAME: attributes {coconet.peak = "max(4*x.0*x.1, 4*y.0) + max(4*x.0*x.1, 2*z.0)"}
// CHECK: %[[LARGEST:.*]] = arith.maxui
// CHECK: %arena = memref.alloc
// CHECK-NEXT: %a_m = memref.view %arena[%[[FIRST:.*]]][%{{.*}}, %{{.*}}] : memref<?xi8> to memref<?x?xf32>
// CHECK-NEXT: %t_m = memref.view %arena[%[[SECOND:.*]]][%{{.*}}, %{{.*}}] : memref<?xi8> to memref<?x?xf32>
// CHECK-NEXT: %b_m = memref.view %arena[%[[FIRST]]][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK-NEXT: %c_m = memref.view %arena[%[[SECOND]]][%{{.*}}] : memref<?xi8> to memref<?xf16>
func.func @slots(%x: !m, %y: !x, %z: !h) -> (!m, !x, !h) {
  %a = coll.fused {
    %a = math.exp %x : !m
    coll.yield %a : !m
  }
  %t = coll.fused {
    %t = comp.transpose %a perm [1, 0] : !m -> !m
    coll.yield %t : !m
  }
  %ts = nccl.permute %t over [dp] shift 1 : !m
  %b = coll.fused {
    %b = math.exp %y : !x
    coll.yield %b : !x
  }
  %c = coll.fused {
    %c = math.exp %z : !h
    coll.yield %c : !h
  }
  %bs = nccl.permute %b over [dp] shift 1 : !x
  %cs = nccl.permute %c over [dp] shift 1 : !h
  func.return %ts, %bs, %cs : !m, !x, !h
}

// A group of calls is one launch still.

// CHECK-LABEL: func.func @group(
// CHECK: nccl.group {
// CHECK-NEXT: nccl.all_reduce_into sum %x, %result0 over [dp]
// CHECK-NEXT: nccl.all_reduce_into sum %y, %y over [dp]
// CHECK-NEXT: nccl.yield
// CHECK-NEXT: }
func.func @group(%x: !x, %y: !x) -> !x {
  %a, %b = nccl.group {
    %a = nccl.all_reduce sum %x over [dp] : !x
    %b = nccl.all_reduce sum %y over [dp] : !x
    nccl.yield %a, %b : !x, !x
  }
  %yu = comp.update %y, %b : !x
  func.return %a : !x
}
}
