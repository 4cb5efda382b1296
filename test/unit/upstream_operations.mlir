// Each operation of arith, math and tensor that programs use, in generic form: on tensors, and mostly on scalars.
// Tests put layouts on the tensors, take lines out, and show it to upstream's mlir-opt.
func.func @all(%f: tensor<4x?xf32>, %h: tensor<4x?xf16>, %i: tensor<4x?xi32>, %b: tensor<4x?xi1>, %n: tensor<4x?xindex>, %sf: f64, %si: i64, %sb: i1, %sn: index, %t: tensor<bf16>) {
  "arith.addf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.addf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.subf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.subf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.mulf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.mulf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.divf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.divf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.remf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.remf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.maximumf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.maximumf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.minimumf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.minimumf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.maxnumf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.maxnumf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.minnumf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.minnumf"(%sf, %sf) <{fastmath = #arith.fastmath<nnan,afn>}> : (f64, f64) -> f64
  "arith.addi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.addi"(%sn, %sn) : (index, index) -> index
  "arith.subi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.subi"(%sn, %sn) : (index, index) -> index
  "arith.muli"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.muli"(%sn, %sn) : (index, index) -> index
  "arith.divsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.divsi"(%sn, %sn) : (index, index) -> index
  "arith.divui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.divui"(%sn, %sn) : (index, index) -> index
  "arith.ceildivsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.ceildivsi"(%sn, %sn) : (index, index) -> index
  "arith.ceildivui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.ceildivui"(%sn, %sn) : (index, index) -> index
  "arith.floordivsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.floordivsi"(%sn, %sn) : (index, index) -> index
  "arith.remsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.remsi"(%sn, %sn) : (index, index) -> index
  "arith.remui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.remui"(%sn, %sn) : (index, index) -> index
  "arith.maxsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.maxsi"(%sn, %sn) : (index, index) -> index
  "arith.maxui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.maxui"(%sn, %sn) : (index, index) -> index
  "arith.minsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.minsi"(%sn, %sn) : (index, index) -> index
  "arith.minui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.minui"(%sn, %sn) : (index, index) -> index
  "arith.andi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.andi"(%sn, %sn) : (index, index) -> index
  "arith.ori"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.ori"(%sn, %sn) : (index, index) -> index
  "arith.xori"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.xori"(%sn, %sn) : (index, index) -> index
  "arith.shli"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.shli"(%sn, %sn) : (index, index) -> index
  "arith.shrsi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.shrsi"(%sn, %sn) : (index, index) -> index
  "arith.shrui"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "arith.shrui"(%sn, %sn) : (index, index) -> index
  "arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<nsw, nuw>}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.absf"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.absf"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.acos"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.acos"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.acosh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.acosh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.asin"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.asin"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.asinh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.asinh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.atan"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.atan"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.atanh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.atanh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.cbrt"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.cbrt"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.ceil"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.ceil"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.cos"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.cos"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.cosh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.cosh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.erf"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.erf"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.exp"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.exp"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.exp2"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.exp2"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.expm1"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.expm1"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.floor"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.floor"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.log"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.log"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.log10"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.log10"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.log1p"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.log1p"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.log2"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.log2"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.round"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.round"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.roundeven"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.roundeven"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.rsqrt"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.rsqrt"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.sin"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.sin"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.sinh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.sinh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.sqrt"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.sqrt"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.tan"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.tan"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.tanh"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.tanh"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.trunc"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.trunc"(%sf) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  "math.absi"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.absi"(%si) : (i64) -> i64
  "math.ctlz"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.ctlz"(%si) : (i64) -> i64
  "math.ctpop"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.ctpop"(%si) : (i64) -> i64
  "math.cttz"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.cttz"(%si) : (i64) -> i64
  "math.atan2"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.copysign"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.powf"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.isnan"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi1>
  "math.isnan"(%sf) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> i1
  "math.isinf"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi1>
  "math.isinf"(%sf) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> i1
  "math.isfinite"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi1>
  "math.isfinite"(%sf) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> i1
  "math.isnormal"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi1>
  "math.isnormal"(%sf) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> i1
  "math.fma"(%f, %f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "math.ipowi"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi32>
  "math.fpowi"(%f, %i) : (tensor<4x?xf32>, tensor<4x?xi32>) -> tensor<4x?xf32>
  "math.fpowi"(%sf, %si) <{fastmath = #arith.fastmath<nsz>}> : (f64, i64) -> f64
  "arith.negf"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.cmpf"(%f, %f) <{predicate = 0 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 1 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 2 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 3 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 4 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 5 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 6 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 7 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 8 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 9 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 10 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 11 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 12 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 13 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 14 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpf"(%f, %f) <{predicate = 15 : i64}> : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 0 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 1 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 2 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 3 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 4 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 5 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 6 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 7 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 8 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpi"(%i, %i) <{predicate = 9 : i64}> : (tensor<4x?xi32>, tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.cmpf"(%sf, %sf) <{predicate = 1 : i64, fastmath = #arith.fastmath<reassoc>}> : (f64, f64) -> i1
  "arith.cmpi"(%sn, %sn) <{predicate = 6 : i64}> : (index, index) -> i1
  "arith.select"(%b, %f, %f) : (tensor<4x?xi1>, tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.select"(%sb, %f, %f) {note = 1 : i32} : (i1, tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  "arith.select"(%sb, %sn, %sn) : (i1, index, index) -> index
  "arith.addui_extended"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> (tensor<4x?xi32>, tensor<4x?xi1>)
  "arith.addui_extended"(%sn, %sn) : (index, index) -> (index, i1)
  "arith.mulsi_extended"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> (tensor<4x?xi32>, tensor<4x?xi32>)
  "arith.mului_extended"(%i, %i) : (tensor<4x?xi32>, tensor<4x?xi32>) -> (tensor<4x?xi32>, tensor<4x?xi32>)
  "arith.sitofp"(%i) : (tensor<4x?xi32>) -> tensor<4x?xf16>
  "arith.uitofp"(%i) : (tensor<4x?xi32>) -> tensor<4x?xf32>
  "arith.fptosi"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi32>
  "arith.fptoui"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi8>
  "arith.extf"(%h) : (tensor<4x?xf16>) -> tensor<4x?xf32>
  "arith.extf"(%h) <{fastmath = #arith.fastmath<nnan>}> : (tensor<4x?xf16>) -> tensor<4x?xf32>
  "arith.truncf"(%f) : (tensor<4x?xf32>) -> tensor<4x?xf8E4M3FN>
  "arith.truncf"(%sf) <{fastmath = #arith.fastmath<none>}> : (f64) -> bf16
  "arith.extsi"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi64>
  "arith.extui"(%b) : (tensor<4x?xi1>) -> tensor<4x?xi32>
  "arith.trunci"(%i) : (tensor<4x?xi32>) -> tensor<4x?xi1>
  "arith.trunci"(%si) <{overflowFlags = #arith.overflow<nsw>}> : (i64) -> i8
  "arith.index_cast"(%i) : (tensor<4x?xi32>) -> tensor<4x?xindex>
  "arith.index_castui"(%n) : (tensor<4x?xindex>) -> tensor<4x?xi32>
  "arith.bitcast"(%f) : (tensor<4x?xf32>) -> tensor<4x?xi32>
  "arith.constant"() <{value = dense<1.0> : tensor<4x3xf32>}> : () -> tensor<4x3xf32>
  "arith.constant"() <{value = dense<[0.5, -2.0]> : tensor<2xbf16>}> : () -> tensor<2xbf16>
  "arith.constant"() <{value = dense<1.5> : tensor<5xf8E5M2>}> : () -> tensor<5xf8E5M2>
  "arith.constant"() <{value = dense<[true, false]> : tensor<2xi1>}> : () -> tensor<2xi1>
  "arith.constant"() <{value = dense<-3> : tensor<7xi8>}> : () -> tensor<7xi8>
  "arith.constant"() <{value = dense<9> : tensor<1xindex>}> : () -> tensor<1xindex>
  "arith.constant"() <{value = 0x7FC00000 : f32}> : () -> f32
  "arith.constant"() <{value = true}> : () -> i1
  "tensor.splat"(%sf) : (f64) -> tensor<4xf64>
  "tensor.splat"(%sn, %sn, %sn) : (index, index, index) -> tensor<?x3x?xindex>
  "tensor.dim"(%f, %sn) : (tensor<4x?xf32>, index) -> index
  "tensor.extract"(%t) : (tensor<bf16>) -> bf16
  func.return
}
