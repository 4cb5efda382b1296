// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP

!f = tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
!i = tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
!b = tensor<4x?xi1, #layout.dist<dp = root(1), tp = sliced(1)>>

layout.mesh @mesh(dp = 2, tp = 4)

// CHECK-LABEL: func.func @unary
func.func @unary(%a: !f, %s: bf16) {
  // CHECK: math.absf %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %0 = math.absf %a : !f
  // CHECK-NEXT: math.acos %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %1 = math.acos %a : !f
  // CHECK-NEXT: math.acosh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %2 = math.acosh %a : !f
  // CHECK-NEXT: math.asin %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %3 = math.asin %a : !f
  // CHECK-NEXT: math.asinh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %4 = math.asinh %a : !f
  // CHECK-NEXT: math.atan %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %5 = math.atan %a : !f
  // CHECK-NEXT: math.atanh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %6 = math.atanh %a : !f
  // CHECK-NEXT: math.cbrt %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %7 = math.cbrt %a : !f
  // CHECK-NEXT: math.ceil %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %8 = math.ceil %a : !f
  // CHECK-NEXT: math.cos %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %9 = math.cos %a : !f
  // CHECK-NEXT: math.cosh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %10 = math.cosh %a : !f
  // CHECK-NEXT: math.erf %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %11 = math.erf %a : !f
  // CHECK-NEXT: math.exp %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %12 = math.exp %a : !f
  // CHECK-NEXT: math.exp2 %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %13 = math.exp2 %a : !f
  // CHECK-NEXT: math.expm1 %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %14 = math.expm1 %a : !f
  // CHECK-NEXT: math.floor %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %15 = math.floor %a : !f
  // CHECK-NEXT: math.log %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %16 = math.log %a : !f
  // CHECK-NEXT: math.log10 %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %17 = math.log10 %a : !f
  // CHECK-NEXT: math.log1p %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %18 = math.log1p %a : !f
  // CHECK-NEXT: math.log2 %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %19 = math.log2 %a : !f
  // CHECK-NEXT: math.round %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %20 = math.round %a : !f
  // CHECK-NEXT: math.roundeven %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %21 = math.roundeven %a : !f
  // CHECK-NEXT: math.rsqrt %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %22 = math.rsqrt %a : !f
  // CHECK-NEXT: math.sin %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %23 = math.sin %a : !f
  // CHECK-NEXT: math.sinh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %24 = math.sinh %a : !f
  // CHECK-NEXT: math.sqrt %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %25 = math.sqrt %a : !f
  // CHECK-NEXT: math.tan %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %26 = math.tan %a : !f
  // CHECK-NEXT: math.tanh %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %27 = math.tanh %a : !f
  // CHECK-NEXT: math.trunc %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %28 = math.trunc %a : !f
  // CHECK-NEXT: math.sqrt %a fastmath<afn> {note = 1 : i32} : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %29 = math.sqrt %a fastmath<afn> {note = 1 : i32} : !f
  // CHECK-NEXT: math.tanh %s : bf16
  %30 = math.tanh %s : bf16
  func.return
}

// CHECK-LABEL: func.func @others
func.func @others(%a: !f, %s: f64, %k: i64) {
  // CHECK: math.atan2 %a, %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %0 = math.atan2 %a, %a : !f
  // CHECK-NEXT: math.copysign %a, %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %1 = math.copysign %a, %a : !f
  // CHECK-NEXT: math.powf %a, %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %2 = math.powf %a, %a : !f
  // CHECK-NEXT: math.fma %a, %a, %a fastmath<contract> : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %3 = math.fma %a, %a, %a fastmath<contract> : !f
  // CHECK-NEXT: math.fpowi %s, %k fastmath<fast> : f64, i64
  %4 = math.fpowi %s, %k fastmath<fast> : f64, i64
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%a: !f, %i: !i) {
  // CHECK: math.absi %i : tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %0 = math.absi %i : !i
  // CHECK-NEXT: math.ctlz %i : tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %1 = math.ctlz %i : !i
  // CHECK-NEXT: math.ctpop %i : tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %2 = math.ctpop %i : !i
  // CHECK-NEXT: math.cttz %i : tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %3 = math.cttz %i : !i
  // CHECK-NEXT: math.ipowi %i, %i : tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %4 = math.ipowi %i, %i : !i
  // CHECK-NEXT: math.fpowi %a, %i : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>, tensor<4x?xi32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %5 = math.fpowi %a, %i : !f, !i
  func.return
}

// CHECK-LABEL: func.func @tests
func.func @tests(%a: !f, %s: f16) -> (!b, i1) {
  // CHECK: math.isnan %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %0 = math.isnan %a : !f
  // CHECK-NEXT: math.isinf %a : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %1 = math.isinf %a : !f
  // CHECK-NEXT: math.isfinite %a {fastmath = #arith.fastmath<nnan>} : tensor<4x?xf32, #layout.dist<dp = root(1), tp = sliced(1)>>
  %2 = math.isfinite %a {fastmath = #arith.fastmath<nnan>} : !f
  // CHECK-NEXT: math.isnormal %s {note = 1 : i32} : f16
  %3 = math.isnormal %s {note = 1 : i32} : f16
  // CHECK-NEXT: func.return
  // CHECK-SAME: : tensor<4x?xi1, #layout.dist<dp = root(1), tp = sliced(1)>>, i1
  func.return %0, %3 : !b, i1
}
