// RUN: coconet-opt %s --split-input-file --verify-diagnostics

module attributes {coconet.level = "rank"} {
  func.func @elements(%x: tensor<?xi32>, %seed: i64, %n: index) {
    // expected-error @+1 {{its elements must be f64, f32, f16 or bf16, not i32: cast first}}
    %0 = comp.dropout_block %x, %seed at [%n] of [%n] coordinate %n {p = 0.1 : f32, id = 1} : tensor<?xi32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @place(%x: tensor<?x?xf32>, %seed: i64, %n: index) {
    // expected-error @+1 {{`of` must have 2 numbers, one a dimension, not 1}}
    %0 = comp.dropout_block %x, %seed at [%n, %n] of [%n] coordinate %n {p = 0.1 : f32, id = 1} : tensor<?x?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @probability(%x: tensor<?xf32>, %seed: i64, %n: index) {
    // expected-error @+1 {{p = 1.0 must be at least 0 and below 1}}
    %0 = comp.dropout_block %x, %seed at [%n] of [%n] coordinate %n {p = 1.0 : f32, id = 1} : tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @flat(%x: tensor<?x?xf32>, %ends: tensor<?xi64>, %n: index) {
    // expected-error @+1 {{its tensors must have one dimension, not 2}}
    %0 = comp.segment_reduce_block sum %x, %ends at %n : tensor<?x?xf32>, tensor<?xi64> -> tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @average(%x: tensor<?xf32>, %ends: tensor<?xi64>, %n: index) {
    // expected-error @+1 {{avg exists on collectives only: sum and divide}}
    %0 = comp.segment_reduce_block avg %x, %ends at %n : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @offsets(%x: tensor<?xf32>, %ends: tensor<4xi64>, %n: index) {
    // expected-error @+1 {{4 segments need 5 offsets, but there are 4}}
    %0 = comp.segment_reduce_block sum %x, %ends at %n : tensor<?xf32>, tensor<4xi64> -> tensor<4xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @size(%x: tensor<3xf32>, %ends: tensor<4xi64>, %n: index) {
    // expected-error @+1 {{the result has 1 dimension(s) of unknown size, but 0 size(s) are given}}
    %0 = comp.segment_broadcast_block %x, %ends at %n size [] : tensor<3xf32>, tensor<4xi64> -> tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @types(%x: tensor<3xf32>, %ends: tensor<4xi64>, %n: index) {
    // expected-error @+1 {{its tensors must have one element type, not f32 and f16: cast before or after}}
    %0 = comp.segment_broadcast_block %x, %ends at %n size [%n] : tensor<3xf32>, tensor<4xi64> -> tensor<?xf16>
    func.return
  }
}

// -----

func.func @level(%x: tensor<?xf32>, %seed: i64, %n: index) {
  // expected-error @+1 {{belongs to the program of one rank}}
  %0 = comp.dropout_block %x, %seed at [%n] of [%n] coordinate %n {p = 0.1 : f32, id = 1} : tensor<?xf32>
  func.return
}
