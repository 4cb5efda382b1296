// RUN: coconet-opt %s -p 'coconet-split{op=avg}' 2>&1 | filecheck %s --check-prefix=SILENT
// RUN: coconet-opt %s -p 'coconet-split{op=avg}' --remarks -o %t 2>&1 | filecheck %s
// RUN: coconet-opt %s -p 'coconet-split{op=avg}' --remarks=json -o %t 2>&1 | filecheck %s --check-prefix=JSON
// RUN: coconet-opt %s -p 'coconet-split{op=avg}' --remarks --verify-diagnostics

// SILENT-NOT: remark:
// CHECK: {{.*}}remarks.mlir:13:3: remark: split 'avg': applied:
// JSON: {"rewrite": "split", "operation": "avg", "location": "{{.*}}remarks.mlir:13:3", "applied": true, "reason": null, "message": "{{.*}}"}

layout.mesh @mesh(dp = 4)
func.func @f(%x: tensor<?xf32, #layout.dist<dp = local>>) -> tensor<?xf32> {
  // expected-remark @+1 {{split 'avg': applied:}}
  %avg = coll.all_reduce avg %x over [dp] : tensor<?xf32, #layout.dist<dp = local>> -> tensor<?xf32>
  func.return %avg : tensor<?xf32>
}
