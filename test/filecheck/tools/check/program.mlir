// RUN: coconet-check %s --mesh dp=3 --schedules 3 | filecheck %s
// RUN: coconet-check %s --schedules 2 --format json | filecheck %s --check-prefix=JSON
// RUN: not coconet-check %s --mesh pp=3 2>&1 | filecheck %s --check-prefix=MESH
// RUN: not coconet-check %s --seed x1=99 2>&1 | filecheck %s --check-prefix=SEED
// RUN: coconet-check --list-opcodes | filecheck %s --check-prefix=OPCODES

// CHECK: clean in 3 schedules ({{.*}} s to compile, {{.*}} ms a schedule)
// JSON: {"clean": true, "schedules": 2, "compile_seconds": {{.*}}, "run_seconds": {{.*}}, "findings": []}
// MESH: error: {{.*}}pp
// SEED: error: there is no such schedule{{.*}}seed x1=99
// OPCODES: abs

layout.mesh @mesh(dp = 2)
!local = tensor<5xf32, #layout.dist<dp = local>>
func.func @f(%x: !local) -> tensor<5xf32> {
  %sum = coll.all_reduce sum %x over [dp] : !local -> tensor<5xf32>
  func.return %sum : tensor<5xf32>
}
