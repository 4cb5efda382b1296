// RUN: coconet-opt %s -p coconet-lower-kernels --split-input-file --verify-diagnostics

// expected-error@below {{is at level "buffer", and coconet-lower-kernels reads level "kernel": run coconet-outline-kernels first}}
module attributes {coconet.level = "buffer"} {
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf8E8M0FNU>, index) -> ()}> ({
    ^entry(%x: memref<?xf8E8M0FNU>, %i: index):
      %a = memref.load %x[%i] : memref<?xf8E8M0FNU>
      // expected-error@below {{has f8E8M0FNU, which kernels do not convert; of 8 bits they do}}
      %b = arith.extf %a : f8E8M0FNU to f32
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (i32) -> ()}> ({
    ^entry(%x: i32):
      // expected-error@below {{is no exchange of all 32 lanes of a warp by xor}}
      %y, %v = "gpu.shuffle"(%x, %x, %x) <{mode = #gpu<shuffle_mode idx>}> : (i32, i32, i32) -> (i32, i1)
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{has the type f128, which devices have no registers for}}
    "gpu.func"() <{function_type = (memref<?xf128>) -> ()}> ({
    ^entry(%x: memref<?xf128>):
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{must be one block that ends in gpu.return}}
    "gpu.func"() <{function_type = () -> ()}> ({
    ^first:
      "gpu.return"() : () -> ()
    ^second:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel} : () -> ()
  }) : () -> ()
}

// -----

// What may stand at the level device.
module attributes {coconet.level = "device"} {
  func.func @f() {
    func.return
  }
  // expected-error@below {{must state its device, as in coconet.target = "sm_90a"}}
  "gpu.module"() <{sym_name = "kernels"}> ({
    llvm.func @k() attributes {nvvm.kernel} {
      llvm.return
    }
  }) : () -> ()
}

// -----

module attributes {coconet.level = "device"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    llvm.func @k() attributes {nvvm.kernel} {
      // expected-error@below {{cannot stand in a kernel at level 'device'}}
      %a = arith.constant 1 : i32
      llvm.return
    }
  }) {coconet.target = "sm_90a"} : () -> ()
}
