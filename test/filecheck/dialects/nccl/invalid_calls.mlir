// RUN: coconet-opt %s --split-input-file --verify-diagnostics

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @same(%x: memref<?xf32>) {
    // expected-error @+1 {{stores into what it reads: its buffers share no element}}
    nccl.permute_into %x, %x over [dp] shift 1 : memref<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @blocks(%x: memref<?x4xf32>, %y: memref<?x?x5xf32>) {
    // expected-error @+1 {{memref<?x?x5xf32> does not count blocks of memref<?x4xf32> in front}}
    nccl.all_gather_into %x, %y over [dp] : memref<?x4xf32>, memref<?x?x5xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @elements(%x: memref<?x4xf32>, %y: memref<?x?x4xf16>) {
    // expected-error @+1 {{its buffers differ in their elements}}
    nccl.all_gather_into %x, %y over [dp] : memref<?x4xf32>, memref<?x?x4xf16>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @kind(%x: memref<?xi32>) {
    // expected-error @+1 {{avg}}
    nccl.all_reduce_into avg %x, %x over [dp] : memref<?xi32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @roots(%x: memref<?xf32>) {
    // expected-error @+1 {{root [0, 1] does not fit [dp]: give one coordinate an axis}}
    nccl.broadcast_into %x, %x over [dp] root [0, 1] : memref<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @twice(%x: memref<?xf32>, %y: memref<?xf32>) {
    // expected-error @+1 {{coordinate 0 sends twice; each may do so once}}
    nccl.permute_into %x, %y over [dp] pairs [[0, 1], [0, 0]] : memref<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  layout.mesh @mesh(dp = 2)
  func.func @group(%x: memref<?xf32>, %y: memref<?xf32>) {
    // expected-error @+1 {{holds a call that uses the result of another: what one launch does cannot depend on itself}}
    nccl.group {
      nccl.all_reduce_into sum %x, %y over [dp] : memref<?xf32>
      nccl.all_reduce_into sum %y, %x over [dp] : memref<?xf32>
      nccl.yield
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @overlap(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
    // expected-error @+1 {{stores into what it reads: its output is a buffer of its own}}
    comp.matmul_into %a, %b, %a : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @rank(%a: memref<4xf32>, %b: memref<4x4xf32>, %c: memref<4xf32>) {
    // expected-error @+1 {{its buffers are no matrices, or stacks of them, that multiply}}
    comp.matmul_into %a, %b, %c : memref<4xf32>, memref<4x4xf32>, memref<4xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @product(%a: memref<4x4xf32>, %b: memref<4x4xf16>, %c: memref<4x4xf32>) {
    // expected-error @+1 {{its operands differ in their elements}}
    comp.matmul_into %a, %b, %c : memref<4x4xf32>, memref<4x4xf16>, memref<4x4xf32>
    func.return
  }
}
