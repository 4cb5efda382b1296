// RUN: coconet-opt %s --split-input-file --verify-diagnostics

func.func @predicate(%a: f32) {
  // expected-error @+1 {{'slt' is no predicate; there are false, oeq, ogt}}
  %0 = arith.cmpf slt, %a, %a : f32
  func.return
}

// -----

func.func @predicate_number(%a: i32) {
  // expected-error @+1 {{the predicate must be an i64 from 0 to 9, but it is 10 : i64}}
  %0 = "arith.cmpi"(%a, %a) <{predicate = 10 : i64}> : (i32, i32) -> i1
  func.return
}

// -----

func.func @predicate_type(%a: f32) {
  // expected-error @+1 {{the predicate must be an i64 from 0 to 15, but it is 1 : i32}}
  %0 = "arith.cmpf"(%a, %a) <{predicate = 1 : i32}> : (f32, f32) -> i1
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @compare_loses_layout(%a: tensor<4xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{expected tensor<4xi1, #layout.dist<tp = sliced(0)>>, i1 in the shape and layout of the operands, but got tensor<4xi1>}}
  %0 = "arith.cmpf"(%a, %a) <{predicate = 1 : i64}> : (tensor<4xf32, #layout.dist<tp = sliced(0)>>, tensor<4xf32, #layout.dist<tp = sliced(0)>>) -> tensor<4xi1>
  func.return
}

// -----

func.func @compare_scalar(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected tensor<4xi1>, i1 in the shape and layout of the operands, but got i1}}
  %0 = "arith.cmpf"(%a, %a) <{predicate = 1 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> i1
  func.return
}

// -----

func.func @compare_floats_as_integers(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected signless integers or index, or a tensor of them, but got tensor<4xf32>}}
  %0 = "arith.cmpi"(%a, %a) <{predicate = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @layouts_differ(%a: tensor<4xf32>, %b: tensor<4xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{attribute tensor<4xf32> expected from variable 'T', but got tensor<4xf32, #layout.dist<tp = local>>}}
  %0 = "arith.addf"(%a, %b) : (tensor<4xf32>, tensor<4xf32, #layout.dist<tp = local>>) -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @condition_of_other_layout(%a: tensor<4xf32, #layout.dist<tp = sliced(0)>>, %c: tensor<4xi1>) {
  // expected-error @+1 {{'d0' is sliced by [tp] in one operand, but not in dimension 0 of operand 0}}
  %0 = arith.select %c, %a, %a : tensor<4xi1>, tensor<4xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

func.func @condition_of_other_shape(%a: tensor<?xf32>, %c: tensor<4xi1>) {
  // expected-error @+1 {{the condition must be i1, or i1 in the shape and layout of the result: tensor<?xi1>, but it is tensor<4xi1>}}
  %0 = arith.select %c, %a, %a : tensor<4xi1>, tensor<?xf32>
  func.return
}

// -----

func.func @condition_is_a_number(%a: tensor<4xf32>, %c: tensor<4xi8>) {
  // expected-error @+1 {{the condition must be i1, or i1 in the shape and layout of the result: tensor<4xi1>, but it is tensor<4xi8>}}
  %0 = arith.select %c, %a, %a : tensor<4xi8>, tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @cast_changes_layout(%a: tensor<4xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{its result has the layout replicated, but the operands make it <tp = sliced(0)>}}
  %0 = arith.truncf %a : tensor<4xf32, #layout.dist<tp = sliced(0)>> to tensor<4xf16>
  func.return
}

// -----

func.func @cast_changes_size(%a: tensor<4xi32>) {
  // expected-error @+1 {{'d0' is 4 in dimension 0 of operand 0, but 5 in dimension 0 of result 0}}
  %0 = arith.sitofp %a : tensor<4xi32> to tensor<5xf32>
  func.return
}

// -----

func.func @cast_forgets_size(%a: tensor<4xi32>) {
  // expected-error @+1 {{expected the result tensor<4xf32>, in the shape and layout of the operand tensor<4xi32>, but got tensor<?xf32>}}
  %0 = arith.sitofp %a : tensor<4xi32> to tensor<?xf32>
  func.return
}

// -----

func.func @cast_to_scalar(%a: tensor<4xi32>) {
  // expected-error @+1 {{expected the result tensor<4xf32>, in the shape and layout of the operand tensor<4xi32>, but got f32}}
  %0 = arith.sitofp %a : tensor<4xi32> to f32
  func.return
}

// -----

func.func @cast_of_floats(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected signless integers, or a tensor of them, but got tensor<4xf32>}}
  %0 = "arith.sitofp"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  func.return
}

// -----

func.func @cast_to_index(%a: f32) {
  // expected-error @+1 {{expected signless integers, or a tensor of them, but got index}}
  %0 = "arith.fptosi"(%a) : (f32) -> index
  func.return
}

// -----

func.func @extf_same_width(%a: tensor<4xf16>) {
  // expected-error @+1 {{'arith.extf' op bf16 is not wider than f16}}
  %0 = arith.extf %a : tensor<4xf16> to tensor<4xbf16>
  func.return
}

// -----

func.func @extf_narrows(%a: f32) {
  // expected-error @+1 {{'arith.extf' op f16 is not wider than f32}}
  %0 = arith.extf %a : f32 to f16
  func.return
}

// -----

func.func @truncf_widens(%a: f16) {
  // expected-error @+1 {{'arith.truncf' op f32 is not narrower than f16}}
  %0 = arith.truncf %a : f16 to f32
  func.return
}

// -----

func.func @extsi_narrows(%a: i32) {
  // expected-error @+1 {{'arith.extsi' op i8 is not wider than i32}}
  %0 = arith.extsi %a : i32 to i8
  func.return
}

// -----

func.func @extui_same(%a: i32) {
  // expected-error @+1 {{'arith.extui' op i32 is not wider than i32}}
  %0 = arith.extui %a : i32 to i32
  func.return
}

// -----

func.func @trunci_same(%a: tensor<4xi32>) {
  // expected-error @+1 {{'arith.trunci' op i32 is not narrower than i32}}
  %0 = arith.trunci %a : tensor<4xi32> to tensor<4xi32>
  func.return
}

// -----

func.func @index_to_index(%a: index) {
  // expected-error @+1 {{one of operand and result must be index, but they are index and index}}
  %0 = arith.index_cast %a : index to index
  func.return
}

// -----

func.func @integer_to_integer(%a: tensor<4xi32>) {
  // expected-error @+1 {{one of operand and result must be index, but they are i32 and i64}}
  %0 = arith.index_castui %a : tensor<4xi32> to tensor<4xi64>
  func.return
}

// -----

func.func @bitcast_width(%a: tensor<4xf32>) {
  // expected-error @+1 {{f32 and f16 have different numbers of bits}}
  %0 = arith.bitcast %a : tensor<4xf32> to tensor<4xf16>
  func.return
}

// -----

func.func @bitcast_index(%a: index) {
  // expected-error @+1 {{expected signless integers or floats, or a tensor of them, but got index}}
  %0 = "arith.bitcast"(%a) : (index) -> i64
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @carry_loses_layout(%a: tensor<4xi32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{expected tensor<4xi1, #layout.dist<tp = local>>, i1 in the shape and layout of the operands, but got tensor<4xi1>}}
  %0, %1 = "arith.addui_extended"(%a, %a) : (tensor<4xi32, #layout.dist<tp = local>>, tensor<4xi32, #layout.dist<tp = local>>) -> (tensor<4xi32, #layout.dist<tp = local>>, tensor<4xi1>)
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @partial_product(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce sum %x dims [0] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<4xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it}}
  %0 = arith.mulf %a, %a : tensor<4xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @negated_maximum(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce max %x dims [0] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<4xf32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{operand 0 is partial(max) on axis 'tp', and the operation is not linear in it}}
  %0 = arith.negf %a : tensor<4xf32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @unsigned_maximum(%x: tensor<?x4xi32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce max %x dims [0] : tensor<?x4xi32, #layout.dist<tp = sliced(0)>> -> tensor<4xi32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{operand 0 is partial(max) on axis 'tp', and the operation is not linear in it}}
  %0 = arith.maxui %a, %a : tensor<4xi32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @maximum_that_drops_nan(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce max %x dims [0] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<4xf32, #layout.dist<tp = partial(max)>>
  // expected-error @+1 {{operand 0 is partial(max) on axis 'tp', and the operation is not linear in it}}
  %0 = arith.maxnumf %a, %a : tensor<4xf32, #layout.dist<tp = partial(max)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @partial_constant() {
  // expected-error @+1 {{its result has the layout <tp = partial(sum)>, but the operands make it replicated}}
  %0 = arith.constant dense<1.0> : tensor<4xf32, #layout.dist<tp = partial(sum)>>
  func.return
}
