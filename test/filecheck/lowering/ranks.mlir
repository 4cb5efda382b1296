// RUN: coconet-opt %s --split-input-file -p coconet-lower-to-ranks --no-aliases | filecheck %s
// RUN: coconet-opt %s --split-input-file -p coconet-lower-to-ranks | coconet-opt --split-input-file --no-aliases | filecheck %s
// RUN: %if mlir-opt %{ coconet-opt %s --split-input-file -p coconet-lower-to-ranks --print-op-generic | mlir-opt-22 --split-input-file --allow-unregistered-dialect > %t %}

// A program becomes one rank's: layouts are marks, unknown global sizes arguments, blocks arithmetic on indices.

// CHECK: builtin.module attributes {coconet.level = "rank"}
layout.mesh @mesh(dp = 8)
!part = tensor<?x4xf32, #layout.dist<dp = sliced(0)>>
// CHECK: func.func @slice(%w: tensor<?x4xf32>, %n: tensor<?xf32>, %w_d0: index {coconet.size = "w.0"}) -> (tensor<?x4xf32> {coconet.layout = #layout.dist<dp = sliced(0)>}) {
func.func @slice(%w: tensor<?x4xf32>, %n: tensor<?xf32>) -> !part {
  // CHECK-NEXT: %dp_ranks = layout.axis_size over [dp] : index
  // CHECK-NEXT: [[B:%.*]] = arith.ceildivui %w_d0, %dp_ranks : index
  // CHECK-NEXT: %dp = layout.coordinate over [dp] : index
  // CHECK-NEXT: [[AT:%.*]] = arith.muli %dp, [[B]] : index
  // CHECK-NEXT: [[START:%.*]] = arith.minui [[AT]], %w_d0 : index
  // CHECK-NEXT: [[LAST:%.*]] = arith.addi [[START]], [[B]] : index
  // CHECK-NEXT: [[END:%.*]] = arith.minui [[LAST]], %w_d0 : index
  // CHECK-NEXT: [[N:%.*]] = arith.subi [[END]], [[START]] : index
  // CHECK-NEXT: %s = tensor.extract_slice %w{{\[}}[[START]], 0] {{\[}}[[N]], 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  // CHECK-NEXT: func.return %s
  %s = layout.slice %w over [dp] dim 0 : tensor<?x4xf32> -> !part
  func.return %s : !part
}

// -----

// Sizes of dimensions that are tied are one argument; those that nothing needs are none, and static ones numbers.

layout.mesh @mesh(dp = 8)
!x = tensor<?x64xf32, #layout.dist<dp = sliced(1, 4)>>
// CHECK: func.func @sizes(%x: tensor<?x?xf32> {coconet.layout = #layout.dist<dp = sliced(1, 4)>, coconet.global = tensor<?x64xf32>}, %y: tensor<?x?xf32> {coconet.state, coconet.layout = #layout.dist<dp = sliced(1, 4)>, coconet.global = tensor<?x64xf32>}, %z: tensor<?x?xf32>, %s: f32, %x_d0: index {coconet.size = "x.0"})
func.func @sizes(%x: !x, %y: !x {coconet.state}, %z: tensor<?x?xf32>, %s: f32) -> (!x, index) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %y, %c0 : !x
  // In units of 4 elements there are 16.
  // CHECK: [[C16:%.*]] = arith.constant 16 : index
  // CHECK: [[U:%.*]] = arith.ceildivui [[C16]], %dp_ranks : index
  // CHECK: [[C4:%.*]] = arith.constant 4 : index
  // CHECK: arith.muli [[U]], [[C4]] : index
  // CHECK: tensor.splat %s[%x_d0, %{{.*}}] : tensor<?x?xf32>
  %t = tensor.splat %s[%n] : !x
  %sum = arith.addf %x, %t : !x
  %all = arith.mulf %sum, %y : !x
  // CHECK: func.return %all, %x_d0
  func.return %all, %n : !x, index
}

// -----

// A whole class that is known only as a product is asked for whole.

layout.mesh @mesh(tp = 8)
// CHECK: func.func @product(%x: tensor<?xf32>, %s: f32, %x_d0: index {coconet.size = "x.0"})
func.func @product(%x: tensor<?xf32>, %s: f32) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %y = comp.reshape %x [(h d)] -> [h, d] : tensor<?xf32> -> tensor<?x4xf32>
  // CHECK: [[H:%.*]] = arith.divui %x_d0, %{{.*}} : index
  %h = tensor.dim %y, %c0 : tensor<?x4xf32>
  // CHECK: tensor.splat %s{{\[}}[[H]]] : tensor<?x4xf32>
  %t = tensor.splat %s[%h] : tensor<?x4xf32>
  %sum = arith.addf %y, %t : tensor<?x4xf32>
  func.return %sum : tensor<?x4xf32>
}

// -----

// Contributions are added in `accumulate`.

layout.mesh @mesh(dp = 8)
!x = tensor<?xf16, #layout.dist<dp = local>>
// CHECK: func.func @all_reduce(%x: tensor<?xf16> {coconet.layout = #layout.dist<dp = local>}) -> tensor<?xf16> {
func.func @all_reduce(%x: !x) -> tensor<?xf16> {
  // CHECK-NEXT: [[WIDE:%.*]] = arith.extf %x : tensor<?xf16> to tensor<?xf32>
  // CHECK-NEXT: [[SUM:%.*]] = nccl.all_reduce avg [[WIDE]] over [dp] : tensor<?xf32>
  // CHECK-NEXT: %sum = arith.truncf [[SUM]] : tensor<?xf32> to tensor<?xf16>
  %sum = coll.all_reduce avg %x over [dp] : !x -> tensor<?xf16>
  func.return %sum : tensor<?xf16>
}

// -----

// A narrower wire, or the order of ranks: each rank adds one block itself.

layout.mesh @mesh(dp = 8)
!x = tensor<4x?xf32, #layout.dist<dp = local>>
// CHECK-LABEL: func.func @by_rank
func.func @by_rank(%x: !x, %s: tensor<f32, #layout.dist<dp = local>>) -> (tensor<4x?xf32>, tensor<f32>) {
  // CHECK: [[THIN:%.*]] = arith.truncf %x : tensor<4x?xf32> to tensor<4x?xbf16>
  // CHECK: [[PACK:%.*]] = nccl.pack [[THIN]] dim 1 blocks [%dp_ranks] of [%{{.*}}] : tensor<4x?xbf16> -> tensor<?x4x?xbf16>
  // CHECK-NEXT: [[ALL:%.*]] = nccl.all_to_all [[PACK]] over [dp] : tensor<?x4x?xbf16>
  // CHECK-NEXT: [[SUM:%.*]] = comp.reduce sum [[ALL]] dims [0] {accumulate = f32} : tensor<?x4x?xbf16> -> tensor<4x?xf32>
  // CHECK-NEXT: [[GATHER:%.*]] = nccl.all_gather [[SUM]] over [dp] : tensor<4x?xf32> -> tensor<?x4x?xf32>
  // CHECK-NEXT: %sum = nccl.unpack [[GATHER]] dim 1 blocks [%dp_ranks] of [%{{.*}}] to %x_d1 : tensor<?x4x?xf32> -> tensor<4x?xf32>
  %sum = coll.all_reduce sum %x over [dp] {wire = bf16} : !x -> tensor<4x?xf32>
  // CHECK-NEXT: [[EACH:%.*]] = nccl.all_gather %s over [dp] : tensor<f32> -> tensor<?xf32>
  // CHECK-NEXT: comp.reduce sum [[EACH]] dims [0] {accumulate = f32} : tensor<?xf32> -> tensor<f32>
  %one = coll.all_reduce sum %s over [dp] {order = #coll.order<ranks>} : tensor<f32, #layout.dist<dp = local>> -> tensor<f32>
  func.return %sum, %one : tensor<4x?xf32>, tensor<f32>
}

// -----

// Blocks are equal and stand in front; what is padding is cut off.

layout.mesh @mesh(dp = 2, tp = 4)
!x = tensor<?x?xf32, #layout.dist<dp = local, tp = local>>
!y = tensor<?x?xf32, #layout.dist<[tp, dp] = sliced(1)>>
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: !x) -> tensor<?x?xf32> {
  // CHECK: [[PACK:%.*]] = nccl.pack %x dim 1 blocks [%tp_ranks, %dp_ranks] of {{\[}}[[OUTER:%.*]], [[INNER:%.*]]] : tensor<?x?xf32> -> tensor<?x?x?xf32>
  // CHECK: [[CALL:%.*]] = nccl.reduce_scatter sum [[PACK]] over [tp, dp] : tensor<?x?x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: %y = tensor.extract_slice [[CALL]][0, 0] [%x_d0, [[N:%.*]]] [1, 1]
  %y = coll.reduce_scatter sum %x over [tp, dp] dim 1 : !x -> !y
  // CHECK-NEXT: [[PAD:%.*]] = nccl.pad %y dim 1 to [[INNER]] : tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: [[ALL:%.*]] = nccl.all_gather [[PAD]] over [tp, dp] : tensor<?x?xf32> -> tensor<?x?x?xf32>
  // CHECK-NEXT: %z = nccl.unpack [[ALL]] dim 1 blocks [%tp_ranks, %dp_ranks] of {{\[}}[[OUTER]], [[INNER]]] to %x_d1
  %z = coll.all_gather %y over [tp, dp] : !y -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}

// -----

layout.mesh @mesh(ep = 8)
!x = tensor<?x?xf32, #layout.dist<ep = sliced(0)>>
!y = tensor<?x?xf32, #layout.dist<ep = sliced(1)>>
// CHECK-LABEL: func.func @all_to_all
func.func @all_to_all(%x: !x) -> !y {
  // CHECK: [[PAD:%.*]] = nccl.pad %x dim 0 to [[ROWS:%.*]] : tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK: [[PACK:%.*]] = nccl.pack [[PAD]] dim 1 blocks [%ep_ranks] of {{\[}}[[COLUMNS:%.*]]] : tensor<?x?xf32> -> tensor<?x?x?xf32>
  // CHECK-NEXT: [[ALL:%.*]] = nccl.all_to_all [[PACK]] over [ep] : tensor<?x?x?xf32>
  // CHECK: [[Y:%.*]] = nccl.unpack [[ALL]] dim 0 blocks [%ep_ranks] of {{\[}}[[ROWS]]] to %x_d0
  // CHECK-NEXT: %y = tensor.extract_slice [[Y]][0, 0] [%x_d0, %{{.*}}] [1, 1]
  %y = coll.all_to_all %x over [ep] from 0 to 1 : !x -> !y
  func.return %y : !y
}

// -----

// Where a block lies decides what is dropped and to which segment an element belongs.

layout.mesh @mesh(pp = 2, tp = 4)
!x = tensor<?x8xf32, #layout.dist<pp = local, tp = sliced(0)>>
!flat = tensor<?xf32, #layout.dist<tp = sliced(0)>>
// CHECK-LABEL: func.func @places
func.func @places(%x: !x, %seed: i64, %flat: !flat, %ends: tensor<?xi64>, %each: tensor<?xf32>)
    -> (!x, tensor<?xf32, #layout.dist<tp = partial(sum)>>, !flat) {
  // CHECK: %kept = comp.dropout_block %x, %seed at [%x_d0_tp_start, %c0] of [%x_d0, %c8] coordinate %pp {p = 5.000000e-01 : f32, id = 1 : i64}
  %kept = comp.dropout %x, %seed {id = 1, p = 0.5 : f32} : !x
  // CHECK: %sums = comp.segment_reduce_block sum %flat, %ends at %flat_d0_tp_start : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
  %sums = comp.segment_reduce sum %flat, %ends : (!flat, tensor<?xi64>) -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
  // CHECK: %spread = comp.segment_broadcast_block %each, %ends at %flat_d0_tp_start size [%flat_d0_tp_extent]
  %spread = comp.segment_broadcast %each, %ends like %flat : (tensor<?xf32>, tensor<?xi64>, !flat) -> !flat
  func.return %kept, %sums, %spread : !x, tensor<?xf32, #layout.dist<tp = partial(sum)>>, !flat
}

// -----

// Bodies of custom operations take their place, on blocks; what is said by `like` alone is a shape.

layout.mesh @mesh(tp = 8)
!x = tensor<?x4xf32, #layout.dist<tp = sliced(0)>>
comp.define @half rule [n] -> [n] {
^bb0(%x: tensor<?xf32>):
  %c0 = arith.constant 0 : index
  %two = arith.constant 0.5 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %t = tensor.splat %two[%n] : tensor<?xf32>
  %y = arith.mulf %x, %t : tensor<?xf32>
  comp.yield %y : tensor<?xf32>
}
// CHECK-NOT: comp.define
// CHECK-LABEL: func.func @custom
func.func @custom(%v: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %like: tensor<?x4xf32>) -> !x {
  // CHECK: %t = tensor.splat %two[%v_d0_tp_extent] : tensor<?xf32>
  // CHECK-NEXT: %y = arith.mulf %v, %t : tensor<?xf32>
  %y = comp.custom @half(%v) : (tensor<?xf32, #layout.dist<tp = sliced(0)>>) -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: %x = comp.broadcast %y dims [0] : tensor<?xf32> -> tensor<?x4xf32>
  %x = comp.broadcast %y dims [0] like %like : tensor<?xf32, #layout.dist<tp = sliced(0)>>, tensor<?x4xf32> -> !x
  // CHECK: [[SHAPE:%.*]] = tensor.empty(%v_d0_tp_extent) : tensor<?x4xf32>
  // CHECK-NEXT: comp.broadcast %{{.*}} dims [] like [[SHAPE]] : tensor<f32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %ones = comp.broadcast %one dims [] like %x : tensor<f32>, !x -> !x
  %sum = arith.addf %x, %ones : !x
  func.return %sum : !x
}

// -----

// A group stays one launch.

layout.mesh @mesh(dp = 8)
!x = tensor<?xf32, #layout.dist<dp = local>>
!y = tensor<?xf32, #layout.dist<dp = sliced(0)>>
// CHECK-LABEL: func.func @group
func.func @group(%a: !x, %b: !x) -> (!y, !y) {
  // CHECK: [[A:%.*]] = nccl.pack %a
  // CHECK: [[B:%.*]] = nccl.pack %b
  // CHECK: [[C:%.*]], [[D:%.*]] = nccl.group {
  // CHECK-NEXT: [[E:%.*]] = nccl.reduce_scatter sum [[A]] over [dp]
  // CHECK-NEXT: [[F:%.*]] = nccl.reduce_scatter sum [[B]] over [dp]
  // CHECK-NEXT: nccl.yield [[E]], [[F]]
  // CHECK-NEXT: }
  // CHECK: %c = tensor.extract_slice [[C]]
  // CHECK: %d = tensor.extract_slice [[D]]
  %c, %d = coll.group over [dp] {
    %c = coll.reduce_scatter sum %a over [dp] dim 0 : !x -> !y
    %d = coll.reduce_scatter sum %b over [dp] dim 0 : !x -> !y
    coll.yield %c, %d : !y, !y
  }
  func.return %c, %d : !y, !y
}
