// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a body of one block that ends in comp.yield}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  %0 = arith.negf %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{expected a body of one block that ends in comp.yield}}
comp.define @f rule [m] -> [m] {
}

// -----

// expected-error @+1 {{expected a body of one block that ends in comp.yield}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  func.return
}

// -----

// expected-error @+1 {{expected a body of one block that ends in comp.yield}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
^bb1:
  comp.yield
}

// -----

// expected-error @+1 {{'m' is missing in a result: it must be a reduction or whole}}
comp.define @f rule [m] -> [n] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{a rule needs at least one result}}
comp.define @f rule [m] -> {
^bb0(%x: tensor<?xf32>):
  comp.yield
}

// -----

// expected-error @+1 {{expected `whole` or `reduction(sum|prod|max|min)`}}
comp.define @f rule [m] -> [m], m = sliced {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{expected a reduction: sum, prod, max or min}}
comp.define @f rule [m] -> [], m = reduction(avg) {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{Expected '->' between the operands and results of a rule}}
comp.define @f rule m -> m {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{linear(1) names no tensor operand}}
comp.define @f rule [m] -> [m], linear(1) {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op its rule has 2 argument(s), but its body 1}}
comp.define @f rule [m] [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op its rule has 2 result(s), but its body 1}}
comp.define @f rule [m] -> [m] [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op argument 0 of its body is tensor<?xf32>, but its rule says a tensor of 2 dimension(s)}}
comp.define @f rule [m, n] -> [m, n] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op the rule of a body names each dimension once, without * or ( )}}
comp.define @f rule [*m] -> [*m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op the rule of a body names each dimension once, without * or ( )}}
comp.define @f rule [(m n)] -> [(m n)] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'m' is missing in a result: it must be a reduction or whole}}
comp.define @f rule [m] -> () {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

layout.mesh @m(tp = 2)
// expected-error @+1 {{'comp.define' op argument 0 of its body must have no layout}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32, #layout.dist<tp = local>>):
  comp.yield %x : tensor<?xf32, #layout.dist<tp = local>>
}

// -----

layout.mesh @m(tp = 2)
// expected-error @+1 {{'comp.define' op has 'layout.slice' in its body, which says what one rank computes: arith, math, tensor and comp operations that have a dimension rule, and no updates}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  %0 = layout.slice %x over [tp] dim 0 : tensor<?xf32> -> tensor<?xf32, #layout.dist<tp = sliced(0)>>
  comp.yield %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op has 'comp.update' in its body, which says what one rank computes: arith, math, tensor and comp operations that have a dimension rule, and no updates}}
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  %0 = comp.update %x, %x : tensor<?xf32>
  comp.yield %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{'m' is missing in a result: it must be a reduction or whole}}
comp.define @f rule [m] -> [] {
^bb0(%x: tensor<?xf32>):
  %0 = comp.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
  comp.yield %0 : tensor<f32>
}

// -----

// expected-error @+1 {{'comp.define' op does not compute what its rule says: 'n' is no reduction(max): with operands 3x5 on 2 ranks, the max of the ranks' results is 7.0 at [0], but the whole}}
comp.define @f rule [m, n] -> [m], n = reduction(max) {
^bb0(%x: tensor<?x?xf32>):
  %0 = comp.reduce sum %x dims [1] : tensor<?x?xf32> -> tensor<?xf32>
  comp.yield %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op does not compute what its rule says: 'n' is not parallel: with operands 3x5 on 2 ranks, the result put together from the ranks' blocks is}}
comp.define @f rule [m, n] -> [m, n] {
^bb0(%x: tensor<?x?xf32>):
  %0 = comp.softmax %x dim 1 : tensor<?x?xf32>
  comp.yield %0 : tensor<?x?xf32>
}

// -----

// expected-error @+1 {{'comp.define' op does not compute what its rule says: 'm' is not parallel: with operands 5, scalar on 2 ranks, the result put together from the ranks' blocks is}}
comp.define @f rule [m] () -> [m] {
^bb0(%x: tensor<?xf32>, %s: i64):
  %0 = comp.dropout %x, %s {p = 0.5 : f32, id = 1 : i64} : tensor<?xf32>
  comp.yield %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{'builtin.module' op Redefinition of symbol "f"}}
module {
  comp.define @f rule [m] -> [m] {
  ^bb0(%x: tensor<?xf32>):
    comp.yield %x : tensor<?xf32>
  }
  comp.define @f rule [m] -> [m] {
  ^bb0(%x: tensor<?xf32>):
    comp.yield %x : tensor<?xf32>
  }
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @g(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'comp.custom' op operand 0 is tensor<4x4xf32>, which does not fit tensor<?xf32> of its definition}}
  %0 = comp.custom @f(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @g(%x: tensor<4xf16>) {
  // expected-error @+1 {{'comp.custom' op operand 0 is tensor<4xf16>, which does not fit tensor<?xf32> of its definition}}
  %0 = comp.custom @f(%x) : (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @g(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.custom' op result 0 is tensor<4xf16>, which does not fit tensor<?xf32> of its definition}}
  %0 = comp.custom @f(%x) : (tensor<4xf32>) -> tensor<4xf16>
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @g(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.custom' op its rule [m] -> [m] has 1 result(s), but the operation 2}}
  %0, %1 = comp.custom @f(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @g(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.custom' op its rule [m] -> [m] has 1 operand(s), but the operation 2}}
  %0 = comp.custom @f(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
comp.define @g rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @h(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.custom' op no comp.define @gelu in the module and no custom operation of that name in Python (there are: f, g); --load reads a file that declares some}}
  %0 = comp.custom @gelu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 2)
comp.define @f rule [m] -> [m], m = whole {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @h(%x: tensor<4xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.custom' op dimension 'm' is needed whole, but is sliced by [tp]: gather it first}}
  %0 = comp.custom @f(%x) : (tensor<4xf32, #layout.dist<tp = sliced(0)>>) -> tensor<4xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 2)
comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @h(%x: tensor<4xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'comp.custom' op its result has the layout replicated, but the operands make it <tp = sliced(0)>}}
  %0 = comp.custom @f(%x) : (tensor<4xf32, #layout.dist<tp = sliced(0)>>) -> tensor<4xf32>
  func.return
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}
func.func @h(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.yield' op 'comp.yield'}}
  comp.yield %x : tensor<4xf32>
}

// -----

comp.define @f rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{%y is used but never defined}}
  comp.yield %y : tensor<?xf32>
}

// -----

func.func @h(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.define' op belongs at the top of the module}}
  "comp.define"() <{sym_name = "f", pattern = #comp.rule<[m] -> [m]>}> ({
  ^bb0(%y: tensor<?xf32>):
    comp.yield %y : tensor<?xf32>
  }) : () -> ()
  func.return
}

// -----

func.func @h(%x: tensor<4xf32>) {
  %0 = comp.custom @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// expected-error @+1 {{'comp.define' op Region 'body' at position 0 expected a single block, but got 0 blocks}}
"comp.define"() <{sym_name = "f", pattern = #comp.rule<[m] -> [m]>}> ({}) : () -> ()

// -----

func.func @h(%x: tensor<4xf32>) {
  %0 = comp.custom @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// expected-error @+1 {{'comp.define' op Operation comp.define contains empty block in single-block region that expects at least a terminator}}
"comp.define"() <{sym_name = "f", pattern = #comp.rule<[m] -> [m]>}> ({
^bb0(%y: tensor<?xf32>):
}) : () -> ()

// -----

func.func @h(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comp.custom' op its rule [m] [m] -> [m] has 2 operand(s), but the operation 1}}
  %0 = comp.custom @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
"comp.define"() <{sym_name = "f", pattern = #comp.rule<[m] [m] -> [m]>}> ({
^bb0(%y: tensor<?xf32>):
  comp.yield %y : tensor<?xf32>
}) : () -> ()

// -----

// expected-error @+1 {{'>' expected}}
"comp.define"() <{sym_name = "f", pattern = #comp.rule<[m] -> [m] x>}> ({
^bb0(%y: tensor<?xf32>):
  comp.yield %y : tensor<?xf32>
}) : () -> ()

// -----

// expected-error @+1 {{'comp.define' op 1 : i64 should be of base attribute comp.rule}}
"comp.define"() <{sym_name = "f", pattern = 1 : i64}> ({
^bb0(%y: tensor<?xf32>):
  comp.yield %y : tensor<?xf32>
}) : () -> ()

// -----

// expected-error @+1 {{'comp.define' op has no attribute 'note'; it has sym_name, pattern, symbol (a note of your own is 'my.note')}}
comp.define @f rule [m] -> [m] attributes {note} {
^bb0(%x: tensor<?xf32>):
  comp.yield %x : tensor<?xf32>
}

// -----

layout.mesh @m(tp = 2)
// expected-error @+1 {{'comp.define' op applies @outer in its body: write out what that computes}}
comp.define @outer rule [m] -> [m] {
^bb0(%x: tensor<?xf32>):
  %0 = comp.custom @outer(%x) : (tensor<?xf32>) -> tensor<?xf32>
  comp.yield %0 : tensor<?xf32>
}
