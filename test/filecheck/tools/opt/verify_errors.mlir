// RUN: coconet-opt %s --split-input-file --verify-diagnostics

func.func @types(%x: f32) -> f64 {
  // expected-error @+1 {{'func.return' op Expected arguments to have the same types as the function output types}}
  func.return %x : f32
}

// -----

func.func @order(%x: f32) {
  // expected-error @+1 {{operand #0 (%z) is used before its definition; move this operation below it}}
  %y = arith.negf %z : f32
  // expected-note @+1 {{defined here}}
  %z = arith.negf %x : f32
  func.return
}

// -----

// The text of another function is no place to take values from.
func.func @taker(%x: f32) {
  // expected-error @+1 {{operand #0 (%y) is defined in another block or region}}
  %z = arith.negf %y : f32
  func.return
}

func.func @maker(%x: f32) {
  // expected-note @+1 {{defined here}}
  %y = arith.negf %x : f32
  func.return
}
