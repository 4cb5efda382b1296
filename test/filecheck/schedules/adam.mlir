// A schedule from its file: read, printed, applied.

// RUN: coconet-opt %s | coconet-opt | filecheck %s
// RUN: coconet-opt --print-op-generic %s | coconet-opt | filecheck %s
// RUN: coconet-opt %examples/adam.mlir --schedule %s --remarks 2>&1 | filecheck %s --check-prefix=APPLIED
// RUN: coconet-opt %examples/adam.mlir -p cse --schedule %s:fast --print-between-passes --time-passes -o %t 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: coconet-run %examples/adam.mlir --schedule %s:fast --compare %examples/adam.mlir --mesh dp=3 --shape w=5 | filecheck %s --check-prefix=SIM

// CHECK:      builtin.module attributes {transform.with_named_sequence} {
// CHECK-NEXT:   transform.named_sequence @fast(%program: !transform.any_op) {
// CHECK-NEXT:     %avg = transform.coconet.named "avg" in %program
// CHECK-NEXT:     %avg_rs, %avg_ag = transform.coconet.split %avg {dim = 0}
// CHECK-NEXT:     transform.coconet.reorder %avg_ag
// CHECK-NEXT:     transform.coconet.slice_state %program {args = ["m", "v"]}
// CHECK-NEXT:     transform.yield
// CHECK-NEXT:   }
// CHECK-NEXT: }

module attributes {transform.with_named_sequence} {
  transform.named_sequence @fast(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg {dim = 0}
    transform.coconet.reorder %avg_ag
    transform.coconet.slice_state %program {args = ["m", "v"]}
    transform.yield
  }
}

// APPLIED-DAG: adam.mlir:29:3: remark: split 'avg': applied: reduce_scatter 'avg_rs' and all_gather 'avg_ag' over [dp] on dimension 0
// APPLIED-DAG: adam.mlir:29:3: remark: reorder 'avg_ag': applied:
// APPLIED-DAG: adam.mlir:22:{{44|71}}: remark: slice-state 'm': applied:
// APPLIED-DAG: adam.mlir:22:{{44|71}}: remark: slice-state 'v': applied:
// APPLIED-DAG: %avg_rs = coll.reduce_scatter avg %grad over [dp] dim 0
// APPLIED-DAG: %wnew_ag = coll.all_gather %wnew over [dp]

// BETWEEN:      // after cse
// BETWEEN:      cse {{.*}} ms
// BETWEEN:      coconet-schedule {{.*}} ms

// SIM: adam.mlir + {{.*}}adam.mlir:fast: @adam on 3 rank(s) (dp = 3)
// SIM: m {{.*}} dp = sliced(0)
// SIM: compared with {{.*}}adam.mlir
// SIM: m {{ *}} equal {{.*}} same
// SIM: p {{ *}} equal {{.*}} same
