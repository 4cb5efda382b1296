// RUN: coconet-opt %s --split-input-file --verify-diagnostics

func.func @test_of_integers(%a: tensor<4xi32>) {
  // expected-error @+1 {{expected floats, or a tensor of them, but got tensor<4xi32>}}
  %0 = "math.isnan"(%a) : (tensor<4xi32>) -> tensor<4xi1>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @test_loses_layout(%a: tensor<4xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{expected tensor<4xi1, #layout.dist<tp = local>>, i1 in the shape and layout of the operands, but got tensor<4xi1>}}
  %0 = "math.isfinite"(%a) : (tensor<4xf32, #layout.dist<tp = local>>) -> tensor<4xi1>
  func.return
}

// -----

func.func @test_of_other_size(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected tensor<4xi1>, i1 in the shape and layout of the operands, but got tensor<5xi1>}}
  %0 = "math.isinf"(%a) : (tensor<4xf32>) -> tensor<5xi1>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @power_of_other_layout(%a: tensor<4xf32>, %n: tensor<4xi32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{its result has the layout replicated, but the operands make it <tp = local>}}
  %0 = math.fpowi %a, %n : tensor<4xf32>, tensor<4xi32, #layout.dist<tp = local>>
  func.return
}

// -----

func.func @power_of_unknown_size(%a: tensor<4xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{expected the power tensor<4xi32>, in the shape and layout of the base tensor<4xf32>, but got tensor<?xi32>}}
  %0 = math.fpowi %a, %n : tensor<4xf32>, tensor<?xi32>
  func.return
}

// -----

func.func @power_of_other_size(%a: tensor<4xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'d0' is 4 in dimension 0 of operand 0, but 5 in dimension 0 of operand 1}}
  %0 = math.fpowi %a, %n : tensor<4xf32>, tensor<5xi32>
  func.return
}

// -----

func.func @scalar_power(%a: tensor<4xf32>, %n: i32) {
  // expected-error @+1 {{expected the power tensor<4xi32>, in the shape and layout of the base tensor<4xf32>, but got i32}}
  %0 = math.fpowi %a, %n : tensor<4xf32>, i32
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @partial(%x: tensor<?x4xf32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce sum %x dims [0] : tensor<?x4xf32, #layout.dist<tp = sliced(0)>> -> tensor<4xf32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it}}
  %0 = math.sqrt %a : tensor<4xf32, #layout.dist<tp = partial(sum)>>
  func.return
}
