// RUN: not coconet-opt %s -p no-such-pass 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not coconet-opt %s -p 'coconet-split{opp=x}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not coconet-opt %s -p 'coconet-split{dim=first}' 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not coconet-opt %s -p 'coconet-split{' 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: coconet-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: coconet-opt %s -p canonicalize,cse,dce --print-between-passes --time-passes 2>&1 | filecheck %s --check-prefix=BETWEEN

// PASS:   error: unknown pass 'no-such-pass' (the passes: {{.*}}canonicalize, {{.*}}coconet-split, {{.*}})
// OPTION: error: pass 'coconet-split' has no option 'opp'; did you mean 'op'? (its options: {{.*}})
// TYPE:   error: option 'dim' of pass 'coconet-split' takes int, not first
// SYNTAX: error: pipeline 'coconet-split{': unexpected end: expected argument name here

// LIST:     canonicalize
// LIST:     coconet-split
// LIST:           dim: int
// LIST:           into: rs-ag|reduce-broadcast

// BETWEEN:      // after canonicalize
// BETWEEN-NEXT: builtin.module {
// BETWEEN:      // after cse
// BETWEEN-NOT:  // after dce
// BETWEEN:      parse
// BETWEEN-NEXT: canonicalize {{.*}} ms
// BETWEEN:      total {{.*}} ms

func.func @f() {
  func.return
}
