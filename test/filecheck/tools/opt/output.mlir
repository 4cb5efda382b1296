// A file is written whole or not at all.

// RUN: echo old > %t
// RUN: not coconet-opt %s -o %t -p 'coconet-split{op=none}'
// RUN: filecheck %s --input-file %t --check-prefix=OLD
// RUN: coconet-opt %s -o %t
// RUN: filecheck %s --input-file %t

// OLD: {{^}}old{{$}}
// CHECK: func.func @f()
func.func @f() {
  func.return
}
