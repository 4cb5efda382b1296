// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{coconet.level = "ranks" is no level of this version; there are: rank}}
module attributes {coconet.level = "ranks"} {
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @layout(%x: tensor<?xf32>) {
    // expected-error @+1 {{cannot stand at level 'rank'}}
    %0 = layout.slice %x over [dp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<dp = sliced(0)>>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  // expected-error @+1 {{has the type tensor<?xf32, #layout.dist<dp = local>>: here are numbers, and tensors of these without layouts}}
  func.func @type(%x: tensor<?xf32, #layout.dist<dp = local>>) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-error @+1 {{cannot stand at level 'rank'}}
  comp.define @f rule [n] -> [n] {
  ^bb0(%x: tensor<?xf32>):
    comp.yield %x : tensor<?xf32>
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @memory(%n: index) {
    // expected-error @+1 {{cannot stand at level 'rank'}}
    %0 = memref.alloc(%n) : memref<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @kernel(%x: tensor<?xf32>) {
    // expected-error @+1 {{holds 'nccl.all_reduce', which is no part of a kernel}}
    %0 = coll.fused {
      %1 = nccl.all_reduce sum %x over [dp] : tensor<?xf32>
      coll.yield %1 : tensor<?xf32>
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  // expected-error @+1 {{has coconet.layout = <dp = sliced(1)>: sliced(1) is out of range: the tensor has 1 dimension(s)}}
  func.func @layout(%x: tensor<?xf32> {coconet.layout = #layout.dist<dp = sliced(1)>}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  // expected-error @+1 {{a dimension that is cut has no static size}}
  func.func @layout(%x: tensor<4xf32> {coconet.layout = #layout.dist<dp = sliced(0)>}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  // expected-error @+1 {{has coconet.layout = #layout.dist<dp = local> on a f32: it takes #layout.dist<…> of a tensor}}
  func.func @layout(%x: f32) -> (f32 {coconet.layout = #layout.dist<dp = local>}) {
    func.return %x : f32
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-error @+1 {{has coconet.size = "x.1", but no such dimension; there are: x.0}}
  func.func @size(%x: tensor<?xf32>, %n: index {coconet.size = "x.1"}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-error @+1 {{has coconet.size = "x.0" on a i64: it takes "name.dimension" of an index}}
  func.func @size(%x: tensor<?xf32>, %n: i64 {coconet.size = "x.0"}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-error @+1 {{has an unknown attribute 'coconet.sizes'}}
  func.func @mark(%x: tensor<?xf32>, %n: index {coconet.sizes = "x.0"}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @order(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
    // expected-note @+1 {{the update is here}}
    %u = comp.update %x, %y : tensor<?xf32>
    // expected-error @+1 {{reads %x after its update}}
    %z = arith.addf %x, %y : tensor<?xf32>
    func.return %z : tensor<?xf32>
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-note @+1 {{the mesh is here}}
  layout.mesh @mesh(dp = 2)
  func.func @axis() -> index {
    // expected-error @+1 {{names the axis 'tp', which the mesh lacks}}
    %0 = layout.coordinate over [tp] : index
    func.return %0 : index
  }
}

// -----

module attributes {coconet.level = "rank"} {
  // expected-error @+1 {{has coconet.global = tensor<8xf32> without coconet.layout, which says how it is cut}}
  func.func @whole(%x: tensor<?xf32> {coconet.global = tensor<8xf32>}) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  // expected-error @+1 {{has coconet.global = tensor<8x4xf32> on a tensor<?xf32>: it takes the type of the whole tensor, without layout}}
  func.func @whole(%x: tensor<?xf32> {coconet.layout = #layout.dist<dp = sliced(0)>, coconet.global = tensor<8x4xf32>}) {
    func.return
  }
}
