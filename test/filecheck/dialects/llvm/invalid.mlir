// RUN: coconet-opt --split-input-file --verify-diagnostics %s

llvm.func @f(%a: i32, %x: f32) {
  // expected-error @+1 {{operand 'rhs' at position 1 does not verify: attribute i32 expected from variable 'T', but}}
  "llvm.add"(%a, %x) : (i32, f32) -> i32
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{expected a signless integer or a vector of them, but got f32}}
  %0 = llvm.add %x, %x : f32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{overflow flags are an i32 from 0 to 3, not 7 : i32}}
  "llvm.add"(%a, %a) <{overflowFlags = 7 : i32}> : (i32, i32) -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{expected nsw, nuw or both}}
  %0 = llvm.add %a, %a overflow<nsz> : i32
  llvm.return
}

// -----

llvm.func @f(%x: f80) {
  // expected-error @+1 {{expected f16, bf16, f32, f64 or a vector of them, but got f80}}
  %0 = llvm.fadd %x, %x : f80
  llvm.return
}

// -----

llvm.func @f(%x: vector<2x2xf32>) {
  // expected-error @+1 {{expected f16, bf16, f32, f64 or a vector of them, but got vector<2x2xf32>}}
  %0 = llvm.fneg %x : vector<2x2xf32>
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{'olt' is none of eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge}}
  %0 = llvm.icmp "olt" %a, %a : i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{10 is no predicate: there are eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge}}
  "llvm.icmp"(%a, %a) <{predicate = 10 : i64}> : (i32, i32) -> i1
  llvm.return
}

// -----

llvm.func @f(%a: vector<4xi32>) {
  // expected-error @+1 {{result 'res' at position 0 does not verify: expected vector<4xi1>, i1 in the shape and}}
  "llvm.icmp"(%a, %a) <{predicate = 0 : i64}> : (vector<4xi32>, vector<4xi32>) -> i1
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{'slt' is none of _false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, _true}}
  %0 = llvm.fcmp "slt" %x, %x : f32
  llvm.return
}

// -----

llvm.func @f(%c: vector<2xi1>, %x: f32) {
  // expected-error @+1 {{expected i1 or i1 in the shape of f32, but got vector<2xi1>}}
  %0 = llvm.select %c, %x, %x : vector<2xi1>, f32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{i32 is not wider than i32}}
  %0 = llvm.sext %a : i32 to i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{i32 is not wider than i64}}
  %0 = llvm.trunc %a : i32 to i64
  llvm.return
}

// -----

llvm.func @f(%a: vector<2xi32>) {
  // expected-error @+1 {{vector<2xi32> and vector<4xi64> differ in their number of lanes}}
  %0 = llvm.sext %a : vector<2xi32> to vector<4xi64>
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{f32 is not wider than f64}}
  %0 = llvm.fptrunc %x : f32 to f64
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{expected a signless integer or a vector of them, but got f32}}
  %0 = llvm.sitofp %x : f32 to f64
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{f32 and i64 have different numbers of bits}}
  %0 = llvm.bitcast %x : f32 to i64
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an alignment is a power of two as i64, not 3 : i64}}
  %0 = llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an alignment is a power of two as i64, not 4 : i32}}
  %0 = llvm.load %p {alignment = 4 : i32} : !llvm.ptr -> f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{"x" should be of base attribute integer}}
  %0 = llvm.load %p {alignment = "x"} : !llvm.ptr -> f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an atomic access states its alignment}}
  %0 = llvm.load %p atomic acquire : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an access of this kind cannot be release}}
  %0 = llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{identifier expected}}
  %0 = llvm.load %p atomic {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{'strong' is none of unordered, monotonic, acquire, release, acq_rel, seq_cst}}
  %0 = llvm.load %p atomic strong {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an atomic access takes an integer of 8, 16, 32 or 64 bits, a float or a pointer, not i128}}
  %0 = llvm.load %p atomic monotonic {alignment = 16 : i64} : !llvm.ptr -> i128
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an atomic access takes an integer of 8, 16, 32 or 64 bits, a float or a pointer, not}}
  %0 = llvm.load %p atomic monotonic {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{3 is no ordering: there are unordered, monotonic, acquire, release, acq_rel, seq_cst}}
  %0 = "llvm.load"(%p) <{ordering = 3 : i64, alignment = 4 : i64}> : (!llvm.ptr) -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{only an atomic access has a scope}}
  %0 = "llvm.load"(%p) <{syncscope = "device"}> : (!llvm.ptr) -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{expected a type of llvm that memory can hold, but got index}}
  %0 = llvm.load %p : !llvm.ptr -> index
  llvm.return
}

// -----

llvm.func @f(%p: i64) {
  // expected-error @+1 {{expected a pointer, but got i64}}
  %0 = llvm.load %p : i64 -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{an access of this kind cannot be acquire}}
  llvm.store %a, %p atomic acquire {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{'mul' is none of xchg, add, sub, _and, nand, _or, _xor, max, min, umax, umin, fadd, fsub, fmax, fmin,}}
  %0 = llvm.atomicrmw mul %p, %a monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{cannot fadd a value of type i32}}
  %0 = llvm.atomicrmw fadd %p, %a monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i7) {
  // expected-error @+1 {{cannot add a value of type i7}}
  %0 = llvm.atomicrmw add %p, %a monotonic : !llvm.ptr, i7
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %x: f32) {
  // expected-error @+1 {{expected an integer or a pointer, but got f32}}
  %0 = llvm.cmpxchg %p, %x, %x monotonic monotonic : !llvm.ptr, f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{a failed exchange stores nothing, so it cannot be release}}
  %0 = llvm.cmpxchg %p, %a, %a monotonic release : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{an exchange is at least monotonic}}
  %0 = llvm.cmpxchg %p, %a, %a unordered monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{a fence is acquire, release, acq_rel or seq_cst}}
  llvm.fence monotonic
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{both pointers are of the same address space}}
  %0 = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{index 2 leads to no element of !llvm.struct<(i32, f32)>}}
  %0 = llvm.getelementptr %p[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, f32)>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %i: i32) {
  // expected-error @+1 {{an index into a struct is a number}}
  %0 = llvm.getelementptr %p[0, %i] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.struct<(i32, f32)>
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{!llvm.ptr does not lead to !llvm.ptr<1>}}
  %0 = llvm.getelementptr %p[0] : (!llvm.ptr) -> !llvm.ptr<1>, f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{an index that is a number has 32 bits}}
  %0 = llvm.getelementptr %p[4294967296] : (!llvm.ptr) -> !llvm.ptr, f32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{the indices do not match the operands}}
  %0 = "llvm.getelementptr"(%p) <{elem_type = f32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr) -> !llvm.ptr
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{1 : i32 is no value of type i64}}
  %0 = llvm.mlir.constant(1 : i32) : i64
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{1.000000e+00 : f32 is no value of type i32}}
  %0 = llvm.mlir.constant(1.0 : f32) : i32
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{dense<1.000000e+00> : vector<4xf32> is no value of type vector<2xf32>}}
  %0 = llvm.mlir.constant(dense<1.0> : vector<4xf32>) : vector<2xf32>
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{Unexpected attribute "x"}}
  %0 = llvm.mlir.constant("x") : i32
  llvm.return
}

// -----

llvm.func @f(%v: f32, %a: i32) {
  // expected-error @+1 {{expected a vector of one dimension, but got f32}}
  %0 = llvm.extractelement %v[%a : i32] : f32
  llvm.return
}

// -----

llvm.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{the lanes are 0 to 7, or -1 for any}}
  %0 = llvm.shufflevector %v, %v [0, 8] : vector<4xf32>
  llvm.return
}

// -----

llvm.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{expected a number below 2147483648}}
  %0 = llvm.shufflevector %v, %v [0, 99999999999] : vector<4xf32>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>) {
  // expected-error @+1 {{index 2 leads to no element of !llvm.struct<(i32, i1)>}}
  %0 = llvm.extractvalue %s[2] : !llvm.struct<(i32, i1)>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>) {
  // expected-error @+1 {{index 1 leads to no element of i32}}
  %0 = llvm.extractvalue %s[0, 1] : !llvm.struct<(i32, i1)>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>) {
  // expected-error @+1 {{the part is i32, but the result i1}}
  %0 = "llvm.extractvalue"(%s) <{position = array<i64: 0>}> : (!llvm.struct<(i32, i1)>) -> i1
  llvm.return
}

// -----

llvm.func @f(%s: i32) {
  // expected-error @+1 {{index 0 leads to no element of i32}}
  %0 = llvm.insertvalue %s, %s[0] : i32
  llvm.return
}

// -----

// expected-error @+1 {{a function of llvm returns one value or none}}
llvm.func @f() -> (i32, i32)

// -----

// expected-error @+1 {{either all arguments have names or none has}}
llvm.func @f(i32, %x: i32)

// -----

// expected-error @+1 {{a kernel returns nothing}}
llvm.func @f() -> i32 attributes {nvvm.kernel}

// -----

// expected-error @+1 {{its first block does not take the arguments of its type}}
"llvm.func"() <{function_type = !llvm.func<void (i32)>, sym_name = "f"}> ({
  llvm.return
}) : () -> ()

// -----

// expected-error @+1 {{the linkage is one of external, internal, private, weak, linkonce, weak_odr, linkonce_odr}}
"llvm.func"() <{function_type = !llvm.func<void ()>, sym_name = "f", linkage = #llvm.linkage<common>}> ({
}) : () -> ()

// -----

// expected-error @+1 {{a kernel is marked by nvvm.kernel; there is no other convention}}
"llvm.func"() <{function_type = !llvm.func<void ()>, sym_name = "f", CConv = #llvm.cconv<fastcc>}> ({
}) : () -> ()

// -----

llvm.func @f() -> i32 {
  // expected-error @+1 {{gives !llvm.void, but its function returns i32}}
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{passes a block other values than its arguments}}
  llvm.br ^bb1(%a : i32)
^bb1:
  llvm.return
}

// -----

llvm.func @f(%c: i1, %a: i32) {
  // expected-error @+1 {{passes a block other values than its arguments}}
  llvm.cond_br %c, ^bb1, ^bb2(%a : i32)
^bb1:
  llvm.return
^bb2(%x: f32):
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{has two cases for one number}}
  llvm.switch %a : i32, ^bb1 [1: ^bb1, 1: ^bb1]
^bb1:
  llvm.return
}

// -----

llvm.func @f(%a: i8) {
  // expected-error @+1 {{Integer value 1000 is out of range for type i8 which supports values in the range [-128, 256)}}
  llvm.switch %a : i8, ^bb1 [1000: ^bb1]
^bb1:
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{the operand counts do not add up to the operands of its cases}}
  "llvm.switch"(%a)[^bb1, ^bb1] <{case_operand_segments = array<i32: 1>, case_values = dense<1> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{there is no llvm.func @nobody}}
  llvm.call @nobody(%a) : (i32) -> ()
  llvm.return
}

// -----

llvm.func @g(f32)
llvm.func @f(%a: i32) {
  // expected-error @+1 {{@g is of type !llvm.func<void (f32)>}}
  llvm.call @g(%a) : (i32) -> ()
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @+1 {{the dialect is 0 or 1}}
  "llvm.inline_asm"() <{asm_dialect = 2 : i64, asm_string = "", constraints = ""}> : () -> ()
  llvm.return
}

// -----

// expected-error @+1 {{1.000000e+00 : f32 is no value of type i32}}
llvm.mlir.global internal @g(1.0 : f32) {addr_space = 1 : i32} : i32

// -----

// expected-error @+1 {{an alignment is a power of two as i64, not 6 : i64}}
llvm.mlir.global internal @g() {addr_space = 1 : i32, alignment = 6 : i64} : i32

// -----

// expected-error @+1 {{expect symbol name}}
llvm.mlir.global common @g() {addr_space = 1 : i32} : i32

// -----

// expected-error @+1 {{"x" should be of base attribute integer}}
llvm.mlir.global internal @g() {addr_space = "x"} : i32

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{99 is no operation: there are xchg, add, sub, _and, nand, _or, _xor, max, min, umax,}}
  %0 = "llvm.atomicrmw"(%p, %a) <{bin_op = 99 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
  llvm.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error @+1 {{result 'res' at position 0 does not verify: expected !llvm.struct<(i32, i1)>, but got i32}}
  %0 = "llvm.cmpxchg"(%p, %a, %a) <{failure_ordering = 2 : i64, success_ordering = 2 : i64}> : (!llvm.ptr, i32, i32) -> i32
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{result 'res' at position 0 does not verify: expected !llvm.struct<(i32,}}
  %0 = "llvm.intr.uadd.with.overflow"(%a, %a) : (i32, i32) -> !llvm.struct<(i1, i32)>
  llvm.return
}

// -----

llvm.func @f(%v: vector<4xf32>, %a: i32) {
  // expected-error @+1 {{operand 'value' at position 1 does not verify: expected f32, but got i32}}
  %0 = "llvm.insertelement"(%v, %a, %a) : (vector<4xf32>, i32, i32) -> vector<4xf32>
  llvm.return
}

// -----

llvm.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{expected 2 lanes, but the result is vector<4xf32>}}
  %0 = "llvm.shufflevector"(%v, %v) <{mask = array<i32: 0, 1>}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>) {
  // expected-error @+1 {{the position is empty}}
  %0 = llvm.extractvalue %s[] : !llvm.struct<(i32, i1)>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>, %a: i32) {
  // expected-error @+1 {{expected the result !llvm.struct<(i32, i1)>}}
  %0 = "llvm.insertvalue"(%s, %a) <{position = array<i64: 0>}> : (!llvm.struct<(i32, i1)>, i32) -> !llvm.struct<(i32, i32)>
  llvm.return
}

// -----

llvm.func @f(%s: !llvm.struct<(i32, i1)>, %a: i32) {
  // expected-error @+1 {{the part is i1, but the value i32}}
  %0 = "llvm.insertvalue"(%s, %a) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i1)>, i32) -> !llvm.struct<(i32, i1)>
  llvm.return
}

// -----

// expected-error @+1 {{has other numbers of arguments and of attributes for them}}
"llvm.func"() <{function_type = !llvm.func<void (i32)>, sym_name = "f", arg_attrs = [{}, {}]}> ({
}) : () -> ()

// -----

func.func @f() {
  // expected-error @+1 {{leaves no llvm.func}}
  llvm.return
}

// -----

llvm.func @f(%x: f32) {
  // expected-error @+1 {{the value is an integer, not f32}}
  llvm.switch %x : f32, ^bb1 [1: ^bb1]
^bb1:
  llvm.return
}

// -----

llvm.func @f(%a: i32) {
  // expected-error @+1 {{has other numbers of cases, blocks and operand counts}}
  "llvm.switch"(%a)[^bb1, ^bb1] <{case_operand_segments = array<i32>, case_values = dense<1> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  llvm.return
}

// -----

// expected-error @+1 {{the linkage is one of external, internal, private, weak, linkonce, weak_odr,}}
"llvm.mlir.global"() <{global_type = i32, linkage = #llvm.linkage<common>, sym_name = "g"}> ({
}) : () -> ()

// -----

// expected-error @+1 {{an initial value is an attribute here, not a region}}
"llvm.mlir.global"() <{global_type = i32, linkage = #llvm.linkage<internal>, sym_name = "g"}> ({
  llvm.unreachable
}) : () -> ()
