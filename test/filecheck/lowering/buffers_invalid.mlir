// RUN: coconet-opt %s --split-input-file --verify-diagnostics

module attributes {coconet.level = "buffer"} {
  // expected-error @+1 {{'func.func' op has the type memref<?xf32, strided<[2]>>: here are numbers, and tensors and dense buffers of these}}
  func.func @strided(%x: memref<?xf32, strided<[2]>>) {
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @outside(%x: memref<?xf32>) {
    // expected-error @+1 {{works on tensors outside of a kernel: what the host has are buffers}}
    %t = bufferization.to_tensor %x : memref<?xf32> to tensor<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @host(%x: memref<?xf32>, %i: index) {
    // expected-error @+1 {{'memref.load' op cannot stand outside of a kernel here}}
    %v = memref.load %x[%i] : memref<?xf32>
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @gives(%x: memref<?xf32>) {
    // expected-error @+1 {{'coll.fused' op gives values: a kernel on buffers stores what it computes}}
    %k = coll.fused {
      %t = bufferization.to_tensor %x : memref<?xf32> to tensor<?xf32>
      coll.yield %t : tensor<?xf32>
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @memory(%x: memref<?xf32>, %i: index) {
    // expected-error @+1 {{'coll.fused' op holds 'memref.dim', which is no part of a kernel}}
    coll.fused {
      %n = memref.dim %x, %i : memref<?xf32>
      coll.yield
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @update(%x: memref<?xf32>) {
    coll.fused {
      %t = bufferization.to_tensor %x : memref<?xf32> to tensor<?xf32>
      // expected-error @+1 {{'comp.update' op cannot stand at level 'buffer'}}
      %u = comp.update %t, %t : tensor<?xf32>
      coll.yield
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @behind(%x: memref<?xf32>, %y: memref<?xf32>) {
    coll.fused {
      %t = bufferization.to_tensor %x : memref<?xf32> to tensor<?xf32>
      %q = math.exp %t : tensor<?xf32>
      bufferization.materialize_in_destination %q in writable %x : (tensor<?xf32>, memref<?xf32>) -> ()
      // expected-error @+1 {{reads a buffer behind what the kernel stores: read before you store, or in a kernel behind}}
      %u = bufferization.to_tensor %x : memref<?xf32> to tensor<?xf32>
      bufferization.materialize_in_destination %u in writable %y : (tensor<?xf32>, memref<?xf32>) -> ()
      coll.yield
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "buffer"} {
  func.func @name_of_two_words() {
    // expected-error @+1 {{'coll.fused' op has coconet.name = "my kernel", which cannot be a name: it takes letters, digits, _, $, . and -, and begins with no digit}}
    coll.fused {
      coll.yield
    } {coconet.name = "my kernel"}
    func.return
  }
}
