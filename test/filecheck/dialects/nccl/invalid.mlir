// RUN: coconet-opt %s --split-input-file --verify-diagnostics

module attributes {coconet.level = "rank"} {
  // expected-note @+1 {{the mesh is here}}
  layout.mesh @mesh(dp = 2)
  func.func @axis(%x: tensor<?xf32>) {
    // expected-error @+1 {{names the axis 'tp', which the mesh lacks; it has dp}}
    %0 = nccl.all_reduce sum %x over [tp] : tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @elements(%x: tensor<?xi8>) {
    // expected-error @+1 {{i8 elements cannot be reduced}}
    %0 = nccl.all_reduce sum %x over [dp] : tensor<?xi8>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @average(%x: tensor<?x4xi32>) {
    // expected-error @+1 {{avg needs a floating-point element, not i32}}
    %0 = nccl.reduce_scatter avg %x over [dp] : tensor<?x4xi32> -> tensor<4xi32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2, tp = 2)
  func.func @root(%x: tensor<?xf32>) {
    // expected-error @+1 {{root [0] does not fit [dp, tp]: give one coordinate an axis}}
    %0 = nccl.broadcast %x over [dp, tp] root 0 : tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @gathered(%x: tensor<4x?xf32>) {
    // expected-error @+1 {{its result must be tensor<?x4x?xf32>, not tensor<2x4x?xf32>}}
    %0 = nccl.all_gather %x over [dp] : tensor<4x?xf32> -> tensor<2x4x?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @scattered(%x: tensor<?x8xf32>) {
    // expected-error @+1 {{its operand must be tensor<?x4xf32>, not tensor<?x8xf32>}}
    %0 = nccl.reduce_scatter sum %x over [dp] : tensor<?x8xf32> -> tensor<4xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @no_blocks(%x: tensor<f32>) {
    // expected-error @+1 {{its operand has no dimension in front that counts blocks}}
    %0 = nccl.all_to_all %x over [dp] : tensor<f32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2, tp = 2)
  func.func @permute_axes(%x: tensor<?xf32>) {
    // expected-error @+1 {{a permute works over one axis}}
    %0 = nccl.permute %x over [dp, tp] shift 1 : tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @permute_twice(%x: tensor<?xf32>) {
    // expected-error @+1 {{coordinate 1 receives twice; each may do so once}}
    %0 = nccl.permute %x over [dp] pairs [[0, 1], [1, 1]] : tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @dim(%x: tensor<?xf32>, %b: index) {
    // expected-error @+1 {{dim 1 is out of range: the tensor has 1 dimension(s)}}
    %0 = "nccl.pad"(%x, %b) <{dim = 1 : i64}> : (tensor<?xf32>, index) -> tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @packed(%x: tensor<4x?xf32>, %n: index) {
    // expected-error @+1 {{the blocks of tensor<4x?xf32> must be tensor<?x4x?xf32>}}
    %0 = nccl.pack %x dim 1 blocks [%n] of [%n] : tensor<4x?xf32> -> tensor<?x?x?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @levels(%x: tensor<?xf32>, %n: index) {
    // expected-error @+1 {{each level needs a number of blocks and the elements of a block, but there are 2 and 1}}
    %0 = nccl.pack %x dim 0 blocks [%n, %n] of [%n] : tensor<?xf32> -> tensor<?x?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @unpacked(%x: tensor<?x4xf32>, %n: index) {
    // expected-error @+1 {{the blocks of tensor<4xf32> must be tensor<?x?xf32>}}
    %0 = nccl.unpack %x dim 0 blocks [%n] of [%n] to %n : tensor<?x4xf32> -> tensor<4xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @dependent(%x: tensor<?xf32>) {
    // expected-error @+1 {{holds a call that uses the result of another: what one launch does cannot depend on itself}}
    %0, %1 = nccl.group {
      %a = nccl.all_reduce sum %x over [dp] : tensor<?xf32>
      %b = nccl.all_reduce sum %a over [dp] : tensor<?xf32>
      nccl.yield %a, %b : tensor<?xf32>, tensor<?xf32>
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @no_call(%x: tensor<?xf32>, %n: index) {
    // expected-error @+1 {{holds 'nccl.pad': a group holds calls alone}}
    %0 = nccl.group {
      %a = nccl.pad %x dim 0 to %n : tensor<?xf32> -> tensor<?xf32>
      nccl.yield %a : tensor<?xf32>
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @no_yield(%x: tensor<?xf32>) {
    // expected-error @+1 {{expected one block that ends in nccl.yield}}
    nccl.group {
    }
    func.return
  }
}

// -----

// Ranks are implicit at the distributed level.
layout.mesh @mesh(dp = 2)
func.func @level(%x: tensor<?xf32>) {
  // expected-error @+1 {{belongs to the program of one rank, which coconet-lower-to-ranks makes}}
  %0 = nccl.all_reduce sum %x over [dp] : tensor<?xf32>
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
func.func @level() -> index {
  // expected-error @+1 {{belongs to the program of one rank}}
  %0 = layout.coordinate over [dp] : index
  func.return %0 : index
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @empty() {
    // expected-error @+1 {{contains empty block in single-block region that expects at least a terminator}}
    "nccl.group"() ({
    ^body:
    }) : () -> ()
    func.return
  }
}
