// RUN: coconet-opt %s --split-input-file --verify-diagnostics -p coconet-form-kernels

// expected-error @+1 {{is distributed, and coconet-form-kernels reads level "rank": run coconet-lower-to-ranks first}}
module {
  func.func @distributed(%x: tensor<?xf32>) {
    func.return
  }
}

// -----

// expected-error @+1 {{is at level "buffer", and coconet-form-kernels reads level "rank": it is lowered further already}}
module attributes {coconet.level = "buffer"} {
  func.func @lower(%x: memref<?xf32>) {
    func.return
  }
}
