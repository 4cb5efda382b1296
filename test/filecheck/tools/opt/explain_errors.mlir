// What --explain cannot explain: names that nothing or two things have, and functions without layouts.

// RUN: not coconet-opt %s --split-input-file --explain op=a 2>&1 | filecheck %s
// RUN: not coconet-opt %s --split-input-file --explain arg=a 2>&1 | filecheck %s --check-prefix=ARG

// CHECK: {{.*}}explain_errors.mlir:{{.*}}error: 'builtin.module' op has no operation named 'a' (op=a); there are: b
// ARG: {{.*}}explain_errors.mlir:{{.*}}error: 'builtin.module' op has no argument named 'a' (arg=a); there are: x, y

layout.mesh @mesh(dp = 2)

func.func @unknown(%x: tensor<?xf32>, %y: tensor<?xf32>) {
  %b = arith.addf %x, %y : tensor<?xf32>
  func.return
}

// -----

// CHECK: {{.*}}explain_errors.mlir:24:3: error: 'math.sqrt' op is one of 2 operations named 'a'
// CHECK: {{.*}}explain_errors.mlir:23:3: note: another one is here
// ARG: {{.*}}error: 'builtin.module' op has 'a' (arg=a) as an operation, not as an argument; there are: x

func.func @twice(%x: tensor<?xf32>) {
  %a = math.exp %x : tensor<?xf32>
  %c = math.sqrt %x {coconet.name = "a"} : tensor<?xf32>
  func.return
}

// -----

// CHECK: {{.*}}error: 'func.func' op is not inferred yet: run coconet-infer first
// ARG: {{.*}}error: 'func.func' op is not inferred yet: run coconet-infer first

layout.mesh @mesh(dp = 2)

func.func @uninferred(%a: tensor<?xf32> {layout.of = #layout.dist<dp = sliced(0)>}) {
  %b = math.exp %a {coconet.name = "a"} : tensor<?xf32>
  func.return
}

// -----

// CHECK: {{.*}}error: 'builtin.module' op has 'a' (op=a) as an argument, not as an operation:

func.func @argument(%a: tensor<?xf32>) {
  func.return
}
