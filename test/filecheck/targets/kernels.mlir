// One kernel for each target: y := a * x + y, four elements a thread.

// RUN: coconet-opt -t ptx --target sm_80 %s | filecheck %s --check-prefixes=CHECK,SM80
// RUN: coconet-opt -t ptx --target sm_90a %s | filecheck %s --check-prefixes=CHECK,SM90
// RUN: coconet-opt -t ptx --target sm_100a %s | filecheck %s --check-prefixes=CHECK,SM100

// SM80: .version 8.0
// SM80-NEXT: .target sm_80
// SM90: .version 8.1
// SM90-NEXT: .target sm_90a
// SM100: .version 8.6
// SM100-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

"gpu.module"() <{sym_name = "kernels"}> ({

// CHECK-LABEL: .visible .entry axpy(
// CHECK-NEXT: .param .u64 .ptr .global .align 16 axpy_param_0,
// CHECK-NEXT: .param .u64 .ptr .global .align 16 axpy_param_1,
// CHECK-NEXT: .param .f32 axpy_param_2,
// CHECK-NEXT: .param .u32 axpy_param_3
// CHECK: .maxntid 256
llvm.func @axpy(%x: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64, llvm.readonly},
                %y: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %a: f32, %n: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256>} {
  // CHECK: mov.u32 {{%r[0-9]+}}, %ctaid.x;
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK: mov.u32 {{%r[0-9]+}}, %ntid.x;
  %size = nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK: mov.u32 {{%r[0-9]+}}, %tid.x;
  %thread = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
  // CHECK: mad.lo.s32
  %first = llvm.mul %block, %size : i32
  %i = llvm.add %first, %thread : i32
  // CHECK: setp.ge.u32
  %inside = llvm.icmp "ult" %i, %n : i32
  // CHECK: @{{%p[0-9]+}} bra
  llvm.cond_br %inside, ^compute, ^done
^compute:
  %position = llvm.zext %i : i32 to i64
  %from = llvm.getelementptr %x[%position] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
  %to = llvm.getelementptr %y[%position] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
  // CHECK: ld.global.nc.v{{(4.b32|2.b64)}}
  %0 = llvm.load %from invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: ld.global.v{{(4.b32|2.b64)}}
  %1 = llvm.load %to {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %zero = llvm.mlir.constant(0 : i32) : i32
  %none = llvm.mlir.poison : vector<4xf32>
  %one = llvm.insertelement %a, %none[%zero : i32] : vector<4xf32>
  %splat = llvm.shufflevector %one, %none [0, 0, 0, 0] : vector<4xf32>
  // SM80-COUNT-4: mul.rn.f32{{[[:space:]]}}
  // SM90-COUNT-4: mul.rn.f32{{[[:space:]]}}
  // SM100-COUNT-2: mul.rn.f32x2
  %2 = llvm.fmul %0, %splat : vector<4xf32>
  // SM80-COUNT-4: add.rn.f32{{[[:space:]]}}
  // SM90-COUNT-4: add.rn.f32{{[[:space:]]}}
  // SM100-COUNT-2: add.rn.f32x2
  %3 = llvm.fadd %2, %1 : vector<4xf32>
  // CHECK: st.global.v{{(4.b32|2.b64)}}
  llvm.store %3, %to {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT: fma
  // CHECK: ret;
  llvm.br ^done
^done:
  llvm.return
}

}) : () -> ()
