// RUN: coconet-opt %s --split-input-file -p 'coconet-fuse{ops=a,z}' --remarks --verify-diagnostics

// What cannot be one kernel.

layout.mesh @mesh(dp = 2, tp = 4)
!x = tensor<?x?xf32>
!part = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
!local = tensor<?x?xf32, #layout.dist<dp = local>>
!both = tensor<?x?xf32, #layout.dist<dp = local, tp = local>>

func.func @not_convex(%x: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-convex]: a path leaves the set and enters it again: 'a' -> 'b' -> 'c' -> 'z'; take in what lies between, or leave out one end}}
  %a = math.exp %x : !x
  %b = math.sqrt %a : !x
  %c = math.sqrt %b : !x
  %z = arith.addf %a, %c : !x
  func.return %z : !x
}

// The path leads through the memory of %m: its update waits for all that reads it.
func.func @not_convex_in_memory(%m: !x, %y: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-convex]: a path leaves the set and enters it again: 'a' -> 'u' -> 'z'; take in what lies between, or leave out one end}}
  %a = math.exp %m : !x
  %u = comp.update %m, %y : !x
  %z = math.sqrt %u : !x
  func.return %a : !x
}

func.func @several_axes(%x: !both) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [several-axes]: 'a' works over [dp] and 'z' over [tp]; one fused operation has one list of axes}}
  %a = coll.all_reduce sum %x over [dp] : !both -> tensor<?x?xf32, #layout.dist<tp = local>>
  %z = coll.all_reduce sum %a over [tp] : tensor<?x?xf32, #layout.dist<tp = local>> -> !x
  func.return %z : !x
}

func.func @matmul(%x: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-fusable]: 'a' is a kernel of its own; leave it outside, and overlap it with what reads it}}
  %a = comp.matmul %x, %x : (!x, !x) -> !x
  %z = math.exp %a : !x
  func.return %z : !x
}

func.func @rooted(%x: !local) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-fusable]: 'a' works with one rank alone; split into reduce_scatter and all_gather instead}}
  %a = coll.reduce sum %x over [dp] root 0 : !local -> tensor<?x?xf32, #layout.dist<dp = root(0)>>
  %z = coll.broadcast %a over [dp] root 0 : tensor<?x?xf32, #layout.dist<dp = root(0)>> -> !x
  func.return %z : !x
}

func.func @returns(%x: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-fusable]: 'z' ends the function}}
  %a = math.exp %x : !x
  func.return {coconet.name = "z"} %a : !x
}

func.func @no_rule(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
  // expected-remark @+1 {{fuse 'a': declined [no-rule]: 'z' (tensor.extract_slice) states no dimension rule}}
  %a = math.exp %x : tensor<6x8xf32>
  %z = tensor.extract_slice %a[0, 0] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

func.func @nested(%x: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [nested-region]: 'a' is a coll.fused, and a fused operation holds no regions: inline it first}}
  %a = coll.fused {
    %b = math.exp %x : !x
    coll.yield %b : !x
  }
  %z = math.sqrt %a : !x
  func.return %z : !x
}

// Collectives at places where they cannot be run.

func.func @reduced_inside(%x: !local) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'z' reduces what is computed inside; only the all_reduce of a reduction's result may, so begin the fused operation with it}}
  %a = math.exp %x : !local
  %z = coll.all_reduce sum %a over [dp] : !local -> !x
  func.return %z : !x
}

func.func @gathered_and_read(%x: !part) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'a' is read inside; a fused operation ends with its gathers, so leave the readers out}}
  %a = coll.all_gather %x over [dp] : !part -> !x
  %z = math.exp %a : !x
  func.return %z : !x
}

func.func @two_reductions(%x: !local, %y: !local) -> (!part, !x) {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'a' and 'z' both bring something in; one fused operation begins with one collective}}
  %a = coll.reduce_scatter sum %x over [dp] dim 0 : !local -> !part
  %z = coll.all_reduce sum %y over [dp] : !local -> !x
  func.return %a, %z : !part, !x
}

func.func @two_permutes(%x: !local, %y: !local) -> (!local, !local) {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'a' and 'z' both send; one fused operation has one permute, or one all_to_all at either end}}
  %a = coll.permute %x over [dp] shift 1 : !local -> !local
  %z = coll.permute %y over [dp] shift 1 : !local -> !local
  func.return %a, %z : !local, !local
}

func.func @reduced_and_sent(%x: !local, %y: !local) -> (!part, !local) {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'z' and 'a' belong to two kinds of kernel: one that sends to chosen ranks, and one that reduces and gathers; fuse the computation with one of them}}
  %a = coll.reduce_scatter sum %x over [dp] dim 0 : !local -> !part
  %z = coll.permute %y over [dp] shift 1 : !local -> !local
  func.return %a, %z : !part, !local
}

// What an update stores is the value itself: to compute with its result is to read the gather.
func.func @gathered_stored_and_read(%x: !part, %m: !x) -> !x {
  // expected-remark @+1 {{fuse 'a': declined [not-convex]: a path leaves the set and enters it again: 'a' -> 'u' -> 'z'; take in what lies between, or leave out one end}}
  %a = coll.all_gather %x over [dp] : !part -> !x
  %u = comp.update %m, %a : !x
  %z = math.exp %u : !x
  func.return %z : !x
}

func.func @three_exchanges(%x: !part, %y: !part) -> (tensor<?x?xf32, #layout.dist<dp = sliced(1)>>, tensor<?x?xf32, #layout.dist<dp = sliced(1)>>) {
  // expected-remark @+1 {{fuse 'a': declined [collective-order]: 'a' and 'z' both send; one fused operation has one permute, or one all_to_all at either end}}
  %a = coll.all_to_all %x over [dp] from 0 to 1 : !part -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
  %z = coll.all_to_all %y over [dp] from 0 to 1 : !part -> tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
  func.return %a, %z : tensor<?x?xf32, #layout.dist<dp = sliced(1)>>, tensor<?x?xf32, #layout.dist<dp = sliced(1)>>
}

// -----

// Errors: options that fit nothing.

// expected-error @+1 {{'func.func' op has no operation named 'z' (ops=z); there are: a}}
func.func @f(%x: tensor<?xf32>) {
  %a = math.exp %x : tensor<?xf32>
  func.return
}

// -----

func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %k = coll.fused {
    // expected-error @+1 {{'math.exp' op stands in a region, whose operations are not targets: inline it first}}
    %a = math.exp %x : tensor<?xf32>
    coll.yield %a : tensor<?xf32>
  }
  %z = math.exp %k : tensor<?xf32>
  func.return %z : tensor<?xf32>
}
