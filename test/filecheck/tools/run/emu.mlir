// Programs are compiled and run on emulated ranks.

// RUN: coconet-run %s --backend emu --mesh a=2,b=3 --against sim | filecheck %s
// RUN: coconet-run %s --backend emu --mesh a=1,b=2 --compare %s | filecheck %s --check-prefix=AGAIN
// RUN: not coconet-run %s --backend emu --inputs %t.none.npz 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not coconet-run %s --backend emu --exact 2>&1 | filecheck %s --check-prefix=EXACT
// RUN: not coconet-run %s --against sim 2>&1 | filecheck %s --check-prefix=AGAINST

// CHECK:      emu.mlir: @f on 6 rank(s) (a = 2, b = 3)
// CHECK:      result0 {{ *}}2x5 {{ *}}f32 {{ *}}a = local
// CHECK:      compared with simulated ranks
// CHECK:      result0 {{ *}}equal {{ *}}0 {{ *}}0 {{ *}}same
// CHECK-NEXT: result1 {{ *}}equal {{ *}}0 {{ *}}0 {{ *}}same

// AGAIN: @f on 2 rank(s) (a = 1, b = 2)
// AGAIN: compared with {{.*}}emu.mlir
// AGAIN: result1 {{ *}}equal {{.*}}same

// NONE: No such file or directory
// EXACT: --exact is for simulated ranks: kernels compute in the program's own types
// AGAINST: --against compares a run of kernels: it needs --backend emu or cuda

layout.mesh @mesh(a = 2, b = 2)

!x = tensor<5x3xf32, #layout.dist<a = local, b = local>>
!y = tensor<5x3xf32, #layout.dist<a = local>>
!rows = tensor<5xf32, #layout.dist<a = local>>

func.func @f(%x: !x) -> (!rows, !y) {
  %sum = coll.all_reduce sum %x over [b] : !x -> !y
  %rows = comp.reduce max %sum dims [1] : !y -> !rows
  %rows_t = comp.broadcast %rows dims [0] like %sum : !rows, !y -> !y
  %y = arith.divf %sum, %rows_t : !y
  func.return %rows, %y : !rows, !y
}
