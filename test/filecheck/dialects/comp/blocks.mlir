// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP
// RUN: %if mlir-opt %{ UPSTREAM_ROUNDTRIP %}

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2, tp = 4)

  // CHECK-LABEL: func.func @dropout
  func.func @dropout(%x: tensor<8x?xbf16>, %s: tensor<f32>, %seed: i64, %n: index) {
    // CHECK-NEXT: %{{.*}} = layout.coordinate over [dp, tp] {my.note} : index
    %c = layout.coordinate over [dp, tp] {my.note} : index
    // CHECK-NEXT: comp.dropout_block %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] of [%{{.*}}, %{{.*}}] coordinate %{{.*}} {id = 3 : i64, p = 1.000000e-01 : f32} : tensor<8x?xbf16>
    %0 = comp.dropout_block %x, %seed at [%c, %n] of [%n, %n] coordinate %c {id = 3, p = 0.1 : f32} : tensor<8x?xbf16>
    // CHECK-NEXT: comp.dropout_block %{{.*}}, %{{.*}} at [] of [] coordinate %{{.*}} {id = 4 : i64, p = 1.000000e-01 : f32} : tensor<f32>
    %1 = comp.dropout_block %s, %seed at [] of [] coordinate %c {id = 4, p = 0.1 : f32} : tensor<f32>
    func.return
  }

  // CHECK-LABEL: func.func @segments
  func.func @segments(%x: tensor<?xf16>, %ends: tensor<4xi64>, %each: tensor<3xf32>, %at: index, %n: index) {
    // CHECK-NEXT: comp.segment_reduce_block sum %{{.*}}, %{{.*}} at %{{.*}} {accumulate = f32} : tensor<?xf16>, tensor<4xi64> -> tensor<3xf32>
    %0 = comp.segment_reduce_block sum %x, %ends at %at {accumulate = f32} : tensor<?xf16>, tensor<4xi64> -> tensor<3xf32>
    // CHECK-NEXT: comp.segment_broadcast_block %{{.*}}, %{{.*}} at %{{.*}} size [%{{.*}}] : tensor<3xf32>, tensor<4xi64> -> tensor<?xf32>
    %1 = comp.segment_broadcast_block %each, %ends at %at size [%n] : tensor<3xf32>, tensor<4xi64> -> tensor<?xf32>
    // CHECK-NEXT: comp.segment_broadcast_block %{{.*}}, %{{.*}} at %{{.*}} size [] {my.note} : tensor<3xf32>, tensor<4xi64> -> tensor<7xf32>
    %2 = comp.segment_broadcast_block %each, %ends at %at size [] {my.note} : tensor<3xf32>, tensor<4xi64> -> tensor<7xf32>
    func.return
  }
}
