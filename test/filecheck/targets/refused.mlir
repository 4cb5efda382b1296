// What has no text, or makes no PTX, is refused at the operation, with what would do.

// RUN: coconet-opt --split-input-file -t ptx --target sm_80 --verify-diagnostics %s

// Names and kinds of functions

// expected-error @+1 {{PTX has no name 'a b': use letters, digits, _ and $, a letter first, and not WARP_SZ}}
llvm.func @"a b"() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{PTX has no name '1': use letters, digits, _ and $, a letter first, and not WARP_SZ}}
llvm.func @"1"() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{PTX has no name 'WARP_SZ'}}
llvm.func @WARP_SZ() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{PTX has no name 'x.y': use letters, digits, _ and $, a letter first, and not WARP_SZ}}
llvm.mlir.global internal @"x.y"() {addr_space = 3 : i32} : i32

// -----

// expected-error @+1 {{is a kernel, which only the host calls: its linkage is external}}
llvm.func internal @k() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{devices have no address space 9}}
llvm.func @k(%p: !llvm.ptr<9>) attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{has an argument with llvm.sret, which has no text in LLVM IR}}
llvm.func @k(%p: !llvm.ptr {llvm.sret = i32}) attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{has an argument with llvm.align = 3 : i64, which LLVM does not take}}
llvm.func @k(%p: !llvm.ptr {llvm.align = 3 : i64}) attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @+1 {{has an argument with llvm.dereferenceable = 0 : i64, which LLVM does not take}}
llvm.func @k(%p: !llvm.ptr {llvm.dereferenceable = 0 : i64}) attributes {nvvm.kernel} {
  llvm.return
}

// -----

// Initial values

// expected-error @+1 {{begins as a f16, which LLVM has no PTX for: make it an !llvm.array<1 x f16>}}
llvm.mlir.global external @half(1.0 : f16) {addr_space = 1 : i32} : f16

// -----

// expected-error @+1 {{begins as a bf16, which LLVM has no PTX for: make it an !llvm.array<1 x bf16>}}
llvm.mlir.global external @brain(1.0 : bf16) {addr_space = 1 : i32} : bf16

// -----

// Launch bounds

// expected-error @+1 {{states both nvvm.maxntid and nvvm.reqntid, of which PTX takes one}}
llvm.func @k() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 8>, nvvm.reqntid = array<i32: 8>} {
  llvm.return
}

// -----

// expected-error @+1 {{states nvvm.minctasm, which needs nvvm.maxntid or nvvm.reqntid}}
llvm.func @k() attributes {nvvm.kernel, nvvm.minctasm = 2 : i32} {
  llvm.return
}

// -----

// expected-error @+1 {{has nvvm.maxntid = array<i32: 8, 0>, which must be numbers from 1 on}}
llvm.func @k() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 8, 0>} {
  llvm.return
}

// -----

// expected-error @+1 {{has nvvm.maxntid = array<i32: 8, 1, 1, 1>, which must be numbers from 1 on}}
llvm.func @k() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 8, 1, 1, 1>} {
  llvm.return
}

// -----

// expected-error @+1 {{needs compute capability 9.0 for nvvm.cluster_dim, but sm_80 has 8.0}}
llvm.func @k() attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 2>} {
  llvm.return
}

// -----

// expected-error @+1 {{has the attribute nvvm.blocksareclusters, which has no text in LLVM IR}}
llvm.func @k() attributes {nvvm.kernel, nvvm.blocksareclusters} {
  llvm.return
}

// -----

// What a module does not hold

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{cannot stand in a kernel at level 'device': it is to be lowered to llvm or nvvm first}}
  %0 = arith.addf %x, %x : f32
  llvm.return
}

// -----

// expected-error @+1 {{branches back to its first block, which LLVM IR has no form for}}
llvm.func @f() {
^first:
  llvm.br ^first
}

// -----

// Calls and addresses

llvm.func @other() attributes {nvvm.kernel} {
  llvm.return
}

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{@other is no function that device code can call}}
  llvm.call @other() : () -> ()
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{calls 'llvm.nvvm.tanh.approx.f', which is none of llvm.nvvm.cos.approx.f, llvm.nvvm.div.approx.f,}}
  %0 = llvm.call_intrinsic "llvm.nvvm.tanh.approx.f"(%x) : (f32) -> f32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{calls 'llvm.nvvm.rcp.rn.d' with other types than (f64) -> f64}}
  %0 = llvm.call_intrinsic "llvm.nvvm.rcp.rn.d"(%x) : (f32) -> f64
  llvm.return
}

// -----

llvm.func @outside()

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{@outside is a function, whose address nobody needs}}
  %0 = llvm.mlir.addressof @outside : !llvm.ptr
  llvm.return
}

// -----

llvm.mlir.global internal @g() {addr_space = 3 : i32} : i32

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{@g is in address space 3: its address is !llvm.ptr<3>}}
  %0 = llvm.mlir.addressof @g : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{there is no function or global @nowhere in its module}}
  %0 = llvm.mlir.addressof @nowhere : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{has an option that PTX knows nothing of}}
  llvm.inline_asm asm_dialect = intel "exit;", "" : () -> ()
  llvm.return
}

// -----

// expected-error @+1 {{cannot be compiled: Invalid $ operand number in inline asm string: 'mov.b32 $9, 1;'}}
llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "mov.b32 $9, 1;", "r" %a : (i32) -> ()
  llvm.return
}

// -----

// Memory

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{would lose its order or scope: LLVM 22 makes every update relaxed and of the device. State}}
  %0 = llvm.atomicrmw add %p, %a acq_rel : !llvm.ptr<1>, i32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{would lose its order or scope: LLVM 22 makes every update relaxed and of the device. State}}
  %0 = llvm.atomicrmw add %p, %a syncscope("device") seq_cst : !llvm.ptr<1>, i32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{would lose its order or scope: LLVM 22 makes every update relaxed and of the device. State}}
  %0 = llvm.atomicrmw add %p, %a monotonic : !llvm.ptr<1>, i32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{has the scope "warp": there are "block", "cluster", "device", and none for the whole system}}
  llvm.fence syncscope("warp") seq_cst
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 9.0 for the scope of a cluster, but sm_80 has 8.0}}
  llvm.fence syncscope("cluster") seq_cst
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{has the scope "sys": there are "block", "cluster", "device", and none for the whole system}}
  %0 = llvm.load %p atomic syncscope("sys") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{is no cast that PTX has: cast to or from a generic pointer, !llvm.ptr}}
  %0 = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr<3>
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{gives a generic pointer: cast it for another address space}}
  %0 = llvm.alloca %a x i32 : (i32) -> !llvm.ptr<5>
  llvm.return
}

// -----

// Arithmetic

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{is only approximate on devices: allow that by {fastmathFlags = #llvm.fastmath<afn>}}}
  %0 = llvm.intr.sin(%x) : (f32) -> f32
  llvm.return
}

// -----

llvm.func @k(%d: f64) attributes {nvvm.kernel} {
  // expected-error @+1 {{cannot be compiled: no device computes exp2 of f64}}
  %0 = llvm.intr.exp2(%d) : (f64) -> f64
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{cannot be compiled: devices convert floats to and from at most i64, not i128}}
  %0 = llvm.fptosi %x : f32 to i128
  llvm.return
}

// -----

llvm.func @k(%z: i65) attributes {nvvm.kernel} {
  // expected-error @+1 {{cannot be compiled: devices convert floats to and from at most i64, not i65}}
  %0 = llvm.uitofp %z : i65 to f32
  llvm.return
}

// -----

// What the device lacks

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 9.0, but sm_80 has 8.0}}
  %0 = nvvm.elect.sync -> i1
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 9.0 for the kind async.global, but sm_80 has 8.0}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 10.0 for floats, but sm_80 has 8.0}}
  %0 = nvvm.redux.sync fmax %x, %a : f32 -> f32
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 9.0 for the scope of a cluster, but sm_80 has 8.0}}
  nvvm.memory.barrier <cluster>
  llvm.return
}

// -----

llvm.func @k(%p: !llvm.ptr<1>, %a: i32, %x: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{needs compute capability 8.9, but sm_80 has 8.0}}
  %0 = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)
  llvm.return
}
