// RUN: coconet-opt %s --split-input-file --verify-diagnostics

func.func @too_few_sizes(%s: f32) {
  // expected-error @+1 {{number of dynamic sizes must equal number of unknown dimensions in result tensor}}
  %0 = tensor.splat %s : tensor<?xf32>
  func.return
}

// -----

func.func @too_many_sizes(%s: f32, %n: index) {
  // expected-error @+1 {{number of dynamic sizes must equal number of unknown dimensions in result tensor}}
  %0 = tensor.splat %s[%n] : tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @partial_splat(%s: f32) {
  // expected-error @+1 {{its result has the layout <tp = partial(sum)>, but the operands make it replicated}}
  %0 = tensor.splat %s : tensor<4xf32, #layout.dist<tp = partial(sum)>>
  func.return
}

// -----

func.func @no_dimension(%a: tensor<f32>, %n: index) {
  // expected-error @+1 {{cannot get dim of 0-rank tensor}}
  %0 = tensor.dim %a, %n : tensor<f32>
  func.return
}

// -----

func.func @too_few_indices(%a: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{expected 2 indices, one a dimension, but got 1}}
  %0 = tensor.extract %a[%n] : tensor<4x?xf32>
  func.return
}

// -----

func.func @too_many_indices(%a: tensor<f32>, %n: index) {
  // expected-error @+1 {{expected 0 indices, one a dimension, but got 1}}
  %0 = tensor.extract %a[%n] : tensor<f32>
  func.return
}

// -----

func.func @extract_other_type(%a: tensor<f32>) {
  // expected-error @+1 {{attribute f32 expected from variable 'E', but got f16}}
  %0 = "tensor.extract"(%a) : (tensor<f32>) -> f16
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @extract_from_sliced(%a: tensor<4xf32, #layout.dist<tp = sliced(0)>>, %n: index) {
  // expected-error @+1 {{dimension 'd0' is needed whole, but is sliced by [tp]: gather it first}}
  %0 = tensor.extract %a[%n] : tensor<4xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @extract_from_local(%a: tensor<f32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{scalars are replicated, so the tensor must be replicated on every axis: gather or reduce it first}}
  %0 = tensor.extract %a[] : tensor<f32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(tp = 4)

func.func @extract_from_partial(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>) {
  %a = comp.reduce sum %x dims [0] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{operand 0 is partial(sum) on axis 'tp', and the operation is not linear in it}}
  %0 = tensor.extract %a[] : tensor<f32, #layout.dist<tp = partial(sum)>>
  func.return
}
