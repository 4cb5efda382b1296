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
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
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
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{has the type f128, which devices have no registers for}}
    "gpu.func"() <{function_type = (memref<?xf128>) -> ()}> ({
    ^entry(%x: memref<?xf128>):
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
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
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
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

// -----

// What may stand at the level kernel.
module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{has no body: a kernel is one block that ends in gpu.return}}
    "gpu.func"() <{function_type = () -> ()}> ({}) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{must state how many threads a block of it has at most, 1 to 1024, as in coconet.threads = 128}}
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{must state how many threads a block of it has at most, 1 to 1024, as in coconet.threads = 128}}
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 0 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{must state how many threads a block of it has at most, 1 to 1024, as in coconet.threads = 128}}
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 1025 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // expected-error@below {{must state how many threads a block of it has at most, 1 to 1024, as in coconet.threads = 128}}
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = "128"} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (index) -> ()}> ({
    ^entry(%i: index):
      %a = "arith.constant"() <{value = 1.0 : f32}> : () -> f32
      // expected-error@below {{has the type vector<0xf32>: kernels have numbers, and vectors}}
      %v = "vector.broadcast"(%a) : (f32) -> vector<0xf32>
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  func.func @f() {
    %c = arith.constant 1 : index
    // expected-error@below {{launches @k: kernels stand in @kernels, and are named @kernels::@name}}
    %t = "gpu.launch_func"(%c, %c, %c, %c, %c, %c) <{kernel = @k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (index, index, index, index, index, index) -> !gpu.async.token
    func.return
  }
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  func.func @f() {
    %c = arith.constant 1 : index
    // expected-error@below {{launches @other::@k: kernels stand in @kernels, and are named @kernels::@name}}
    %t = "gpu.launch_func"(%c, %c, %c, %c, %c, %c) <{kernel = @other::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (index, index, index, index, index, index) -> !gpu.async.token
    func.return
  }
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = () -> ()}> ({
    ^entry:
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (i1, f32) -> ()}> ({
    ^entry(%c: i1, %f: f32):
      // expected-error@below {{has other types: its first region takes (), it is given (f32)}}
      %r = "scf.while"(%f) ({
      ^bb:
        "scf.condition"(%c) : (i1) -> ()
      }, {
      ^bb:
        scf.yield
      }) : (f32) -> f32
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (i1, f32) -> ()}> ({
    ^entry(%c: i1, %f: f32):
      // expected-error@below {{has other types: its second region takes (f64), its results are (f32)}}
      %r = "scf.while"(%f) ({
      ^bb(%x: f32):
        "scf.condition"(%c, %x) : (i1, f32) -> ()
      }, {
      ^bb(%x: f64):
        "scf.yield"(%f) : (f32) -> ()
      }) : (f32) -> f32
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (i1, f32) -> ()}> ({
    ^entry(%c: i1, %f: f32):
      // expected-error@below {{has other types: scf.condition gives (), its results are (f32)}}
      %r = "scf.while"(%f) ({
      ^bb(%x: f32):
        "scf.condition"(%c) : (i1) -> ()
      }, {
      ^bb(%x: f32):
        "scf.yield"(%x) : (f32) -> ()
      }) : (f32) -> f32
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}

// -----

module attributes {coconet.level = "kernel"} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (i1, f32) -> ()}> ({
    ^entry(%c: i1, %f: f32):
      // expected-error@below {{has other types: scf.yield gives (i1), its first region takes (f32)}}
      %r = "scf.while"(%f) ({
      ^bb(%x: f32):
        "scf.condition"(%c, %x) : (i1, f32) -> ()
      }, {
      ^bb(%x: f32):
        "scf.yield"(%c) : (i1) -> ()
      }) : (f32) -> f32
      "gpu.return"() : () -> ()
    }) {sym_name = "k", gpu.kernel, coconet.threads = 128 : i64} : () -> ()
  }) : () -> ()
}
