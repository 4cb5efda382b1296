// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{operation 'arith.constnt' is not registered}}
func.func @unknown() {
  %c = arith.constnt 1.0 : f32
}

// -----

// expected-error @+1 {{'layout.dust' is not registered}}
func.func @unknown_attribute(%x: tensor<4xf32, #layout.dust<dp = local>>) {}

// -----

func.func @stray_quote() {
  // expected-error @+1 {{string literal is not closed}}
  %c = arith.constant "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa : f32
}

// -----

func.func @large() {
  // expected-error @+1 {{dense constant of 99,999,999,999 elements; the limit is 1,048,576 (spread a scalar constant with tensor.splat instead)}}
  %c = arith.constant dense<1.0> : tensor<99999999999xf32>
}

// -----

// expected-error @+1 {{dimension is larger than 9223372036854775807}}
func.func @dimension(%x: tensor<99999999999999999999xf32>) {}

// -----

// expected-error @below {{integer types are 1 to 1024 bits wide}}
func.func @width(%x: i16777216) {}

// -----

// expected-error @+1 {{undefined symbol alias '!real'}}
func.func @alias(%x: !real) {}

// -----

func.func @undefined() {
  // expected-error @+1 {{%x is used but never defined}}
  %y = arith.addf %x, %x : f32
  func.return
}

// -----

func.func @junk() {
  // expected-error @+1 {{expected an operation, a block label or '}', found '='}}
  = arith.addf
}

// -----

func.func @type(%x: f32, %y: f64) {
  // expected-error @+1 {{operand is used with type f32, but has been previously used or defined with type f64}}
  %z = arith.addf %x, %y : f32
}
