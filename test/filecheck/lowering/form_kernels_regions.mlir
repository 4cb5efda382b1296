// RUN: coconet-opt %s -p coconet-form-kernels --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-form-kernels | coconet-opt --no-aliases | filecheck %s
// RUN: coconet-opt %s -p coconet-form-kernels,coconet-bufferize,coconet-outline-kernels -o %t
// RUN: coconet-opt %s -p coconet-form-kernels --remarks -o %t 2>&1 | filecheck %s --check-prefix REMARK

// What a schedule has put together stays one kernel where it can be one.

!x = tensor<?xf32>
!m = tensor<?x?xf32>

module attributes {coconet.level = "rank"} {

// One kernel stays one, and takes in nothing but what is free. Updates follow what they store.

// CHECK-LABEL: func.func @stays(
// CHECK-NEXT: %before = coll.fused {
// CHECK-NEXT: math.exp %x
// CHECK: } {coconet.name = "before"}
// CHECK-NEXT: %step_b = coll.fused {
// CHECK-NEXT: %a = arith.addf %before, %x
// CHECK-NEXT: %s_t = tensor.splat %s[%n]
// CHECK-NEXT: %b = arith.mulf %a, %s_t
// CHECK-NEXT: %mu = comp.update %m, %b
// CHECK-NEXT: coll.yield %b
// CHECK-NEXT: } {coconet.name = "step", my.note = "mine"}
// CHECK-NEXT: %after = coll.fused {
// CHECK-NEXT: math.sqrt %step_b
// CHECK: } {coconet.name = "after"}
// REMARK-NOT: form-kernels 'step'
// REMARK: form-kernels 'stays': applied: 3 kernel(s): 'before', 'step', 'after'
func.func @stays(%x: !x, %m: !x, %s: f32, %n: index) -> !x {
  %before = math.exp %x : !x
  %s_t = tensor.splat %s[%n] : !x
  %step = coll.fused {
    %a = arith.addf %before, %x : !x
    %b = arith.mulf %a, %s_t : !x
    coll.yield %b : !x
  } {coconet.name = "step", my.note = "mine"}
  %mu = comp.update %m, %step : !x
  %after = math.sqrt %step : !x
  func.return %after : !x
}

// A reduction of everything that is used inside ends a kernel.

// CHECK-LABEL: func.func @whole_reduction(
// CHECK-NEXT: %k_phase1_n = coll.fused {
// CHECK: comp.reduce sum
// CHECK: } {coconet.name = "k_phase1"}
// CHECK-NEXT: coll.fused {
// CHECK-NEXT: %s = tensor.extract %k_phase1_n[]
// CHECK-NEXT: %y = comp.scale %x by %s
// CHECK-NEXT: %xu = comp.update %x, %y
// CHECK: } {coconet.name = "k_phase2"}
// CHECK-NEXT: %s_1 = tensor.extract %k_phase1_n[]
// REMARK: form-kernels 'k': applied: it is cut into 2 kernels, 'k_phase1', 'k_phase2': 'y' needs 'n', which is reduced over everything: it is known only when its kernel has ended
func.func @whole_reduction(%x: !x) -> f32 {
  %k = coll.fused {
    %sq = arith.mulf %x, %x : !x
    %n = comp.reduce sum %sq dims [0] : !x -> tensor<f32>
    %s = tensor.extract %n[] : tensor<f32>
    %y = comp.scale %x by %s : !x
    %xu = comp.update %x, %y : !x
    coll.yield %s : f32
  }
  func.return %k : f32
}

// What is computed is not read in another order.

// CHECK-LABEL: func.func @transposed(
// CHECK: } {coconet.name = "t_phase1"}
// CHECK: comp.transpose %t_phase1_a
// CHECK: } {coconet.name = "t_phase2"}
// REMARK: form-kernels 't': applied: it is cut into 2 kernels, 't_phase1', 't_phase2': 'c' needs other elements of 'a' than its own, which other threads compute
func.func @transposed(%x: !m) -> !m {
  %t = coll.fused {
    %a = math.exp %x : !m
    %b = comp.transpose %a perm [1, 0] : !m -> !m
    %c = arith.addf %a, %b : !m
    coll.yield %c : !m
  }
  func.return %t : !m
}

// A kernel runs over one space of elements and reduces it over some dimensions.

// CHECK-LABEL: func.func @spaces(
// CHECK: } {coconet.name = "s_phase1"}
// CHECK: } {coconet.name = "s_phase2"}
// CHECK: } {coconet.name = "s_phase3"}
// REMARK: form-kernels 's': applied: it is cut into 3 kernels, 's_phase1', 's_phase2', 's_phase3': 'a' has y.0 element(s), and a kernel runs over one space of elements, here x.0*x.1; 'columns' reduces another tensor than 'rows', or over other dimensions, and a kernel reduces one shape
func.func @spaces(%x: !m, %y: !x) -> (!x, !x, !x) {
  %s, %s2, %s3 = coll.fused {
    %rows = comp.reduce sum %x dims [1] : !m -> !x
    %a = math.exp %y : !x
    %columns = comp.reduce sum %x dims [0] : !m -> !x
    coll.yield %rows, %columns, %a : !x, !x, !x
  } {coconet.name = "s"}
  func.return %s, %s2, %s3 : !x, !x, !x
}

// An argument is not overwritten while other threads read it.

// CHECK-LABEL: func.func @in_place(
// CHECK: comp.transpose %x
// CHECK: } {coconet.name = "p_phase1"}
// CHECK: comp.update %x, %p_phase1_y
// CHECK: } {coconet.name = "p_phase2"}
// REMARK: form-kernels 'p': applied: it is cut into 2 kernels, 'p_phase1', 'p_phase2': 'y' reads %x in other threads than the one that would overwrite it
func.func @in_place(%x: !m) {
  coll.fused {
    %t = comp.transpose %x perm [1, 0] : !m -> !m
    %y = arith.addf %t, %x : !m
    %xu = comp.update %x, %y : !m
    coll.yield
  } {coconet.name = "p"}
  func.return
}
}
