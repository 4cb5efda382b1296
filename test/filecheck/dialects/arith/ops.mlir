// RUN: ROUNDTRIP
// RUN: GENERIC_ROUNDTRIP

!f = tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
!i = tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
!b = tensor<4x?xi1, #layout.dist<dp = local, tp = sliced(0)>>
!n = tensor<4x?xindex, #layout.dist<dp = local, tp = sliced(0)>>

layout.mesh @mesh(dp = 2, tp = 4)

// CHECK-LABEL: func.func @floats
func.func @floats(%a: !f, %s: f32) {
  // CHECK: arith.addf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %0 = arith.addf %a, %a : !f
  // CHECK-NEXT: arith.subf %a, %a fastmath<reassoc,nnan> : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %1 = arith.subf %a, %a fastmath<nnan,reassoc> : !f
  // CHECK-NEXT: arith.mulf %a, %a fastmath<fast> : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %2 = arith.mulf %a, %a fastmath<fast> : !f
  // CHECK-NEXT: arith.divf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %3 = arith.divf %a, %a : !f
  // CHECK-NEXT: arith.remf %a, %a fastmath<ninf> : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %4 = arith.remf %a, %a fastmath<ninf> : !f
  // CHECK-NEXT: arith.negf %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %5 = arith.negf %a : !f
  // CHECK-NEXT: arith.maximumf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %6 = arith.maximumf %a, %a : !f
  // CHECK-NEXT: arith.minimumf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %7 = arith.minimumf %a, %a : !f
  // CHECK-NEXT: arith.maxnumf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %8 = arith.maxnumf %a, %a : !f
  // CHECK-NEXT: arith.minnumf %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %9 = arith.minnumf %a, %a : !f
  // CHECK-NEXT: arith.remf %s, %s : f32
  %10 = arith.remf %s, %s : f32
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%a: !i, %n: index) {
  // CHECK: arith.addi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %0 = arith.addi %a, %a : !i
  // CHECK-NEXT: arith.subi %a, %a overflow<nsw,nuw> : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %1 = arith.subi %a, %a overflow<nuw, nsw> : !i
  // CHECK-NEXT: arith.muli %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %2 = arith.muli %a, %a : !i
  // CHECK-NEXT: arith.divsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %3 = arith.divsi %a, %a : !i
  // CHECK-NEXT: arith.divui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %4 = arith.divui %a, %a : !i
  // CHECK-NEXT: arith.ceildivsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %5 = arith.ceildivsi %a, %a : !i
  // CHECK-NEXT: arith.ceildivui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %6 = arith.ceildivui %a, %a : !i
  // CHECK-NEXT: arith.floordivsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %7 = arith.floordivsi %a, %a : !i
  // CHECK-NEXT: arith.remsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %8 = arith.remsi %a, %a : !i
  // CHECK-NEXT: arith.remui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %9 = arith.remui %a, %a : !i
  // CHECK-NEXT: arith.maxsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %10 = arith.maxsi %a, %a : !i
  // CHECK-NEXT: arith.maxui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %11 = arith.maxui %a, %a : !i
  // CHECK-NEXT: arith.minsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %12 = arith.minsi %a, %a : !i
  // CHECK-NEXT: arith.minui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %13 = arith.minui %a, %a : !i
  // CHECK-NEXT: arith.andi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %14 = arith.andi %a, %a : !i
  // CHECK-NEXT: arith.ori %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %15 = arith.ori %a, %a : !i
  // CHECK-NEXT: arith.xori %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %16 = arith.xori %a, %a : !i
  // CHECK-NEXT: arith.shli %a, %a overflow<nsw> : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %17 = arith.shli %a, %a overflow<nsw> : !i
  // CHECK-NEXT: arith.shrsi %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %18 = arith.shrsi %a, %a : !i
  // CHECK-NEXT: arith.shrui %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %19 = arith.shrui %a, %a : !i
  // CHECK-NEXT: arith.addui_extended %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>, tensor<4x?xi1, #layout.dist<dp = local, tp = sliced(0)>>
  %sum, %carry = arith.addui_extended %a, %a : !i, !b
  // CHECK-NEXT: arith.addui_extended %n, %n : index, i1
  %sum_s, %carry_s = arith.addui_extended %n, %n : index, i1
  // CHECK-NEXT: arith.mulsi_extended %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %low, %high = arith.mulsi_extended %a, %a : !i
  // CHECK-NEXT: arith.mului_extended %a, %a : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %low_u, %high_u = arith.mului_extended %a, %a : !i
  func.return
}

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%a: !f, %i: !i, %n: index, %s: f64) -> (!b, !b, i1, i1) {
  // CHECK: arith.cmpf oeq, %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %0 = arith.cmpf oeq, %a, %a : !f
  // CHECK-NEXT: arith.cmpf false, %a, %a fastmath<nnan> : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %1 = arith.cmpf false, %a, %a fastmath<nnan> : !f
  // CHECK-NEXT: arith.cmpf uno, %s, %s {note = 1 : i32} : f64
  %2 = arith.cmpf uno, %s, %s {note = 1 : i32} : f64
  // CHECK-NEXT: arith.cmpi slt, %i, %i : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %3 = arith.cmpi slt, %i, %i : !i
  // CHECK-NEXT: arith.cmpi uge, %n, %n : index
  %4 = arith.cmpi uge, %n, %n : index
  // CHECK-NEXT: func.return
  // CHECK-SAME: : tensor<4x?xi1, #layout.dist<dp = local, tp = sliced(0)>>, tensor<4x?xi1, #layout.dist<dp = local, tp = sliced(0)>>, i1, i1
  func.return %0, %3, %2, %4 : !b, !b, i1, i1
}

// CHECK-LABEL: func.func @selects
func.func @selects(%a: !f, %c: !b, %s: i1, %n: index) {
  // CHECK: arith.select %c, %a, %a : tensor<4x?xi1, #layout.dist<dp = local, tp = sliced(0)>>, tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %0 = arith.select %c, %a, %a : !b, !f
  // CHECK-NEXT: arith.select %s, %a, %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %1 = arith.select %s, %a, %a : !f
  // CHECK-NEXT: arith.select %s, %a, %a {note} : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>>
  %2 = arith.select %s, %a, %a {note} : i1, !f
  // CHECK-NEXT: arith.select %s, %n, %n : index
  %3 = arith.select %s, %n, %n : index
  func.return
}

// CHECK-LABEL: func.func @conversions
func.func @conversions(%a: !f, %i: !i, %n: !n, %s: f32, %k: i64) {
  // CHECK: arith.sitofp %i : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xf16, #layout.dist<dp = local, tp = sliced(0)>>
  %0 = arith.sitofp %i : !i to tensor<4x?xf16, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.uitofp %k : i64 to f32
  %1 = arith.uitofp %k : i64 to f32
  // CHECK-NEXT: arith.fptosi %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %2 = arith.fptosi %a : !f to !i
  // CHECK-NEXT: arith.fptoui %s : f32 to i8
  %3 = arith.fptoui %s : f32 to i8
  // CHECK-NEXT: arith.extf %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xf64, #layout.dist<dp = local, tp = sliced(0)>>
  %4 = arith.extf %a : !f to tensor<4x?xf64, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.extf %s fastmath<nnan> : f32 to f64
  %5 = arith.extf %s fastmath<nnan> : f32 to f64
  // CHECK-NEXT: arith.truncf %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xbf16, #layout.dist<dp = local, tp = sliced(0)>>
  %6 = arith.truncf %a : !f to tensor<4x?xbf16, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.truncf %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xf8E4M3FN, #layout.dist<dp = local, tp = sliced(0)>>
  %7 = arith.truncf %a : !f to tensor<4x?xf8E4M3FN, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.truncf %s fastmath<ninf> : f32 to f8E5M2
  %8 = arith.truncf %s fastmath<ninf> : f32 to f8E5M2
  // CHECK-NEXT: arith.extsi %i : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi64, #layout.dist<dp = local, tp = sliced(0)>>
  %9 = arith.extsi %i : !i to tensor<4x?xi64, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.extui %i : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi64, #layout.dist<dp = local, tp = sliced(0)>>
  %10 = arith.extui %i : !i to tensor<4x?xi64, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.trunci %i : tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi8, #layout.dist<dp = local, tp = sliced(0)>>
  %11 = arith.trunci %i : !i to tensor<4x?xi8, #layout.dist<dp = local, tp = sliced(0)>>
  // CHECK-NEXT: arith.trunci %k overflow<nuw> : i64 to i1
  %12 = arith.trunci %k overflow<nuw> : i64 to i1
  // CHECK-NEXT: arith.index_cast %n : tensor<4x?xindex, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %13 = arith.index_cast %n : !n to !i
  // CHECK-NEXT: arith.index_castui %k : i64 to index
  %14 = arith.index_castui %k : i64 to index
  // CHECK-NEXT: arith.bitcast %a : tensor<4x?xf32, #layout.dist<dp = local, tp = sliced(0)>> to tensor<4x?xi32, #layout.dist<dp = local, tp = sliced(0)>>
  %15 = arith.bitcast %a : !f to !i
  func.return
}

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<4xf32, #layout.dist<tp = sliced(0)>>
  %0 = arith.constant dense<1.0> : tensor<4xf32, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: arith.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xbf16, #layout.dist<dp = root(1)>>
  %1 = arith.constant dense<[1.5, -2.0]> : tensor<2xbf16, #layout.dist<dp = root(1)>>
  // CHECK-NEXT: arith.constant dense<5.000000e-01> : tensor<3xf8E4M3FN>
  %2 = arith.constant dense<0.5> : tensor<3xf8E4M3FN>
  // CHECK-NEXT: arith.constant dense<5.000000e-01> : tensor<3xf8E5M2, #layout.dist<tp = local>>
  %3 = arith.constant dense<0.5> : tensor<3xf8E5M2, #layout.dist<tp = local>>
  // CHECK-NEXT: arith.constant dense<[true, false]> : tensor<2xi1, #layout.dist<tp = sliced(0)>>
  %4 = arith.constant dense<[true, false]> : tensor<2xi1, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: arith.constant dense<-3> : tensor<2x3xi8, #layout.dist<tp = sliced(1)>>
  %5 = arith.constant dense<-3> : tensor<2x3xi8, #layout.dist<tp = sliced(1)>>
  // CHECK-NEXT: arith.constant dense<> : tensor<0x3xindex, #layout.dist<tp = sliced(0)>>
  %6 = arith.constant dense<> : tensor<0x3xindex, #layout.dist<tp = sliced(0)>>
  // CHECK-NEXT: arith.constant 0x7f800000 : f32
  %7 = arith.constant 0x7F800000 : f32
  // CHECK-NEXT: arith.constant 1.000000e-06 : f32
  %8 = arith.constant 1.0e-6 : f32
  // CHECK-NEXT: arith.constant true
  %9 = arith.constant true
  func.return
}

// What passes through a reduction that is still to be done.
// CHECK-LABEL: func.func @partial
func.func @partial(
    %x: tensor<4x?xf32, #layout.dist<tp = sliced(0)>>,
    %i: tensor<4x?xi32, #layout.dist<tp = sliced(0)>>) {
  %s = comp.reduce sum %x dims [0] : tensor<4x?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32, #layout.dist<tp = partial(sum)>>
  %p = comp.reduce prod %i dims [0] : tensor<4x?xi32, #layout.dist<tp = sliced(0)>> -> tensor<?xi32, #layout.dist<tp = partial(prod)>>
  %m = comp.reduce max %x dims [0] : tensor<4x?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32, #layout.dist<tp = partial(max)>>
  %n = comp.reduce min %i dims [0] : tensor<4x?xi32, #layout.dist<tp = sliced(0)>> -> tensor<?xi32, #layout.dist<tp = partial(min)>>
  // CHECK: arith.addf
  %0 = arith.addf %s, %s : tensor<?xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: arith.subf
  %1 = arith.subf %s, %s : tensor<?xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: arith.negf
  %2 = arith.negf %s : tensor<?xf32, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: arith.truncf
  %3 = arith.truncf %s : tensor<?xf32, #layout.dist<tp = partial(sum)>> to tensor<?xf16, #layout.dist<tp = partial(sum)>>
  // CHECK-NEXT: arith.muli
  %4 = arith.muli %p, %p : tensor<?xi32, #layout.dist<tp = partial(prod)>>
  // CHECK-NEXT: arith.maximumf
  %5 = arith.maximumf %m, %m : tensor<?xf32, #layout.dist<tp = partial(max)>>
  // CHECK-NEXT: arith.extf
  %6 = arith.extf %m : tensor<?xf32, #layout.dist<tp = partial(max)>> to tensor<?xf64, #layout.dist<tp = partial(max)>>
  // CHECK-NEXT: arith.minsi
  %7 = arith.minsi %n, %n : tensor<?xi32, #layout.dist<tp = partial(min)>>
  func.return
}
