// RUN: coconet-opt %s --split-input-file --verify-diagnostics -p coconet-bufferize

// What has no memory yet must be in kernels.

module attributes {coconet.level = "rank"} {
  func.func @outside(%x: tensor<?xf32>) -> tensor<?xf32> {
    // expected-error @+1 {{'math.exp' op computes outside of a kernel: run coconet-form-kernels first}}
    %y = math.exp %x : tensor<?xf32>
    func.return %y : tensor<?xf32>
  }
}

// -----

// expected-error @+1 {{is distributed, and coconet-bufferize reads level "rank": run coconet-lower-to-ranks first}}
module {
  func.func @distributed(%x: tensor<?xf32>) {
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @two_kernels(%x: tensor<?xf32>) -> tensor<?xf32> {
    // expected-error @+1 {{is not one kernel: 'y' needs 'n', which is reduced over everything: it is known only when its kernel has ended; run coconet-form-kernels first}}
    %k = coll.fused {
      %n = comp.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
      %s = tensor.extract %n[] : tensor<f32>
      %y = comp.scale %x by %s : tensor<?xf32>
      coll.yield %y : tensor<?xf32>
    }
    func.return %k : tensor<?xf32>
  }
}

// -----

module attributes {coconet.level = "rank"} {
  func.func @threads(%x: tensor<?x?xf32>) {
    // expected-error @+1 {{is not one kernel: 'y' reads %x in other threads than the one that would overwrite it; run coconet-form-kernels first}}
    coll.fused {
      %t = comp.transpose %x perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
      %y = arith.addf %t, %x : tensor<?x?xf32>
      %xu = comp.update %x, %y : tensor<?x?xf32>
      coll.yield
    }
    func.return
  }
}

// -----

module attributes {coconet.level = "rank"} {
  layout.mesh @mesh(dp = 2)
  func.func @overwritten(%x: tensor<?xf32>) -> tensor<?xf32> {
    %same = tensor.cast %x : tensor<?xf32> to tensor<?xf32>
    coll.fused {
      %y = math.exp %x : tensor<?xf32>
      %xu = comp.update %x, %y : tensor<?xf32>
      coll.yield
    } {coconet.name = "k"}
    // expected-error @+1 {{needs %x as it was before its update}}
    %late = nccl.permute %same over [dp] shift 1 : tensor<?xf32>
    func.return %late : tensor<?xf32>
  }
}
