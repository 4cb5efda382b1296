// The text of LLVM IR, of which LLVM makes PTX: what each operation is written as.

// RUN: coconet-opt -t nvptx-llvm --target sm_90a %s | filecheck %s

// CHECK: target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
// CHECK-NEXT: target triple = "nvptx64-nvidia-cuda"

// CHECK: @tile = internal addrspace(3) global [256 x float] undef, align 16
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
// CHECK: @dynamic = external addrspace(3) global [0 x i8], align 1
llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
// CHECK: @table = internal addrspace(4) constant [2 x float] [float 0x3FF0000000000000, float 0x3FB99999A0000000], align 4
llvm.mlir.global internal constant @table(dense<[1.0, 0.1]> : tensor<2xf32>) {addr_space = 4 : i32} : !llvm.array<2 x f32>
// CHECK: @count = addrspace(1) global i64 7, align 8
llvm.mlir.global external @count(7 : i64) {addr_space = 1 : i32} : i64

// CHECK: declare noundef i32 @outside(i32) convergent
llvm.func @outside(i32) -> (i32 {llvm.noundef})

// CHECK-LABEL: define internal float @helper(float %x) alwaysinline convergent
llvm.func internal @helper(%x: f32) -> f32 attributes {always_inline} {
  // CHECK: ret float %x
  llvm.return %x : f32
}

// CHECK-LABEL: define ptx_kernel void @bounds(ptr addrspace(1) noalias align 16 %p, ptr byval([4 x i64]) "nvvm.grid_constant" %s) "nvvm.maxntid"="256,1,1" "nvvm.minctasm"="2"
llvm.func @bounds(%p: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %s: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32} {
  // CHECK: ret void
  llvm.return
}

// CHECK-LABEL: define void @values(i32 %a, float %x, <4 x float> %v, ptr addrspace(1) %p, i64 %i, i1 %c) convergent
llvm.func @values(%a: i32, %x: f32, %v: vector<4xf32>, %p: !llvm.ptr<1>, %i: i64, %c: i1) {
  // CHECK: %sum = add nuw nsw i32 %a, %a
  %sum = llvm.add %a, %a overflow<nsw, nuw> : i32
  // CHECK: %quotient = udiv exact i32 %a, %a
  %quotient = llvm.udiv exact %a, %a : i32
  // CHECK: %either = or disjoint i32 %a, %a
  %either = llvm.or disjoint %a, %a : i32
  // CHECK: %product = fmul float %x, %x
  %product = llvm.fmul %x, %x : f32
  // CHECK: %total = fadd nnan contract <4 x float> %v, %v
  %total = llvm.fadd %v, %v {fastmathFlags = #llvm.fastmath<nnan, contract>} : vector<4xf32>
  // CHECK: %fast = fneg fast float %x
  %fast = llvm.fneg %x {fastmathFlags = #llvm.fastmath<fast>} : f32
  // CHECK: %less = icmp slt i32 %a, %a
  %less = llvm.icmp "slt" %a, %a : i32
  // CHECK: %always = fcmp true float %x, %x
  %always = llvm.fcmp "_true" %x, %x : f32
  // CHECK: %chosen = select i1 %c, ptr addrspace(1) %p, ptr addrspace(1) %p
  %chosen = llvm.select %c, %p, %p : i1, !llvm.ptr<1>
  // CHECK: %wide = zext nneg i32 %a to i64
  %wide = llvm.zext nneg %a : i32 to i64
  // CHECK: %generic = addrspacecast ptr addrspace(1) %p to ptr
  %generic = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
  // CHECK: %root = call float @llvm.sqrt.f32(float %x)
  %root = llvm.intr.sqrt(%x) : (f32) -> f32
  // CHECK: %larger = call <4 x float> @llvm.maxnum.v4f32(<4 x float> %v, <4 x float> %v)
  %larger = llvm.intr.maxnum(%v, %v) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: %zeros = call i32 @llvm.ctlz.i32(i32 %a, i1 false)
  %zeros = "llvm.intr.ctlz"(%a) <{is_zero_poison = false}> : (i32) -> i32
  // CHECK: %power = call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)
  %power = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x) : (f32) -> f32
  // CHECK: %called = call float @helper(float %x)
  %called = llvm.call @helper(%x) : (f32) -> f32
  // CHECK: %moved = call i32 asm sideeffect "mov.b32 $0, $1;", "=r,r"(i32 %a) convergent
  %moved = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %a : (i32) -> i32
  // CHECK: ret void
  llvm.return
}

// CHECK-LABEL: define void @memory(i32 %a, <4 x float> %v, ptr addrspace(1) %p, i64 %i) convergent
llvm.func @memory(%a: i32, %v: vector<4xf32>, %p: !llvm.ptr<1>, %i: i64) {
  // CHECK: %plain = load double, ptr addrspace(1) %p, align 8
  %plain = llvm.load %p : !llvm.ptr<1> -> f64
  // CHECK: %once = load <4 x float>, ptr addrspace(1) %p, align 16, !invariant.load {{![0-9]+}}, !nontemporal {{![0-9]+}}
  %once = llvm.load %p invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: %ordered = load atomic volatile i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  %ordered = llvm.load volatile %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: store <4 x float> %v, ptr addrspace(1) %p, align 16
  llvm.store %v, %p : vector<4xf32>, !llvm.ptr<1>
  // CHECK: store atomic i32 %a, ptr addrspace(1) %p release, align 4
  llvm.store %a, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK: %before = atomicrmw or ptr addrspace(1) %p, i32 %a syncscope("device") monotonic, align 4
  %before = llvm.atomicrmw _or %p, %a syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK: %pair = cmpxchg ptr addrspace(1) %p, i32 %a, i32 %a syncscope("block") acq_rel monotonic, align 4
  %pair = llvm.cmpxchg %p, %a, %a syncscope("block") acq_rel monotonic : !llvm.ptr<1>, i32
  // CHECK: fence syncscope("device") seq_cst
  llvm.fence syncscope("device") seq_cst
  // CHECK: %local = alloca float, i32 %a, align 4
  %local = llvm.alloca %a x f32 : (i32) -> !llvm.ptr
  // CHECK: %element = getelementptr inbounds nuw { i32, [4 x float] }, ptr addrspace(1) %p, i32 4, i32 1, i64 %i
  %element = llvm.getelementptr inbounds|nuw %p[4, 1, %i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.struct<(i32, array<4 x f32>)>
  // CHECK: ret void
  llvm.return
}

// CHECK-LABEL: define void @parts(i32 %a, float %x, half %h, <4 x float> %v, { i32, [2 x float] } %s) convergent
llvm.func @parts(%a: i32, %x: f32, %h: f16, %v: vector<4xf32>, %s: !llvm.struct<(i32, array<2 x f32>)>) {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %tenth = llvm.mlir.constant(0.1 : f32) : f32
  %half = llvm.mlir.constant(0.5 : f16) : f16
  %ones = llvm.mlir.constant(dense<1.0> : vector<4xf32>) : vector<4xf32>
  %none = llvm.mlir.poison : vector<4xf32>
  // CHECK: store float 0x3FB99999A0000000, ptr addrspace(3) @tile, align 4
  llvm.store %tenth, %tile : f32, !llvm.ptr<3>
  // CHECK: %twice = fadd half %h, 0xH3800
  %twice = llvm.fadd %h, %half : f16
  // CHECK: %more = fadd <4 x float> %v, <float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000>
  %more = llvm.fadd %v, %ones : vector<4xf32>
  // CHECK: %lane = extractelement <4 x float> %v, i32 %a
  %lane = llvm.extractelement %v[%a : i32] : vector<4xf32>
  // CHECK: %first = insertelement <4 x float> poison, float %x, i32 %a
  %first = llvm.insertelement %x, %none[%a : i32] : vector<4xf32>
  // CHECK: %mixed = shufflevector <4 x float> %v, <4 x float> poison, <3 x i32> <i32 0, i32 5, i32 poison>
  %mixed = llvm.shufflevector %v, %none [0, 5, -1] : vector<4xf32>
  // CHECK: %member = extractvalue { i32, [2 x float] } %s, 1, 0
  %member = llvm.extractvalue %s[1, 0] : !llvm.struct<(i32, array<2 x f32>)>
  // CHECK: %changed = insertvalue { i32, [2 x float] } %s, i32 %a, 0
  %changed = llvm.insertvalue %a, %s[0] : !llvm.struct<(i32, array<2 x f32>)>
  // CHECK: ret void
  llvm.return
}

// CHECK-LABEL: define i32 @branches(i1 %c, i32 %a) convergent
llvm.func @branches(%c: i1, %a: i32) -> i32 {
  // CHECK: br i1 %c, label %loop, label %end
  llvm.cond_br %c, ^loop(%a : i32), ^end(%a : i32)
^loop(%i: i32):
  // CHECK: %next = add i32 %i, %a
  %next = llvm.add %i, %a : i32
  // CHECK: switch i32 %next, label %loop [ i32 7, label %end i32 -1, label %never ]
  llvm.switch %next : i32, ^loop(%next : i32) [7: ^end(%next : i32), -1: ^never]
^never:
  // CHECK: unreachable
  llvm.unreachable
^end(%r: i32):
  // CHECK: ret i32 %r
  llvm.return %r : i32
}

// CHECK-LABEL: define void @device(i32 %m, float %x, ptr addrspace(3) %b, ptr %g, ptr addrspace(1) %from, i32 %n) convergent
llvm.func @device(%m: i32, %x: f32, %b: !llvm.ptr<3>, %g: !llvm.ptr, %from: !llvm.ptr<1>, %n: i32) {
  // CHECK: %thread = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %thread = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
  // CHECK: %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 %m, float %x, i32 %n, i32 %n)
  %other = nvvm.shfl.sync bfly %m, %x, %n, %n : f32 -> f32
  // CHECK: %v1 = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)
  // CHECK: %elected = extractvalue { i32, i1 } %v1, 1
  %elected = nvvm.elect.sync -> i1
  // CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %m, i32 %n)
  nvvm.barrier id = %m number_of_threads = %n
  // CHECK: call void @llvm.nvvm.membar.gl()
  nvvm.memory.barrier <gpu>
  // CHECK: call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %b, i32 %n)
  nvvm.mbarrier.init %b, %n : !llvm.ptr<3>, i32
  // CHECK: %v2 = addrspacecast ptr %g to ptr addrspace(3)
  // CHECK: %v0 = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) %v2, i32 %n)
  nvvm.mbarrier.arrive.expect_tx %g, %n : !llvm.ptr, i32 -> i64
  // CHECK: call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %b, ptr addrspace(1) %from)
  nvvm.cp.async.shared.global %b, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)
  nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK: call void @llvm.nvvm.prefetch.global.L2.evict.last(ptr addrspace(1) %from)
  nvvm.prefetch level = L2, evict_priority = evict_last, %from : !llvm.ptr<1>
  // CHECK: ret void
  llvm.return
}
