// The dependence graph for Graphviz: regions as nested clusters, dashed edges where memory alone ties operations.

// RUN: coconet-opt %s --show-dependences | filecheck %s --strict-whitespace --match-full-lines
// RUN: coconet-opt %s --show-dependences=dot -o %t && filecheck %s --strict-whitespace --match-full-lines < %t
// RUN: coconet-opt %s -p 'coconet-inline-schedule' --show-dependences | filecheck %s --check-prefix=INLINED

layout.mesh @mesh(dp = 2)

!x = tensor<?xf32>
!local = tensor<?xf32, #layout.dist<dp = local>>
!part = tensor<?xf32, #layout.dist<dp = sliced(0)>>

func.func @step(%w: !x, %grad: !local) -> !x {
  %norm = comp.norm %w : !x -> tensor<f32>
  %part = layout.slice %w over [dp] dim 0 : !x -> !part
  %all = coll.overlap {
    %kernel = coll.fused over [dp] {
      %rs = coll.reduce_scatter sum %grad over [dp] dim 0 : !local -> !part
      %new = arith.addf %rs, %part : !part
      coll.yield %new : !part
    }
    %ag = coll.all_gather %kernel over [dp] : !part -> !x
    coll.yield %ag : !x
  }
  %stored = comp.update %w, %all {coconet.name = "a.name-2"} : !x
  func.return %stored : !x
}

func.func @empty() {
  func.return
}

// CHECK:digraph dependences {
// CHECK-NEXT:  graph [fontname=Helvetica, fontsize=10];
// CHECK-NEXT:  node [fontname=Helvetica, fontsize=10];
// CHECK-NEXT:  subgraph cluster_0_0 {
// CHECK-NEXT:    label="@step";
// CHECK-NEXT:    f0n0 [label="w\ntensor<?xf32>", shape=ellipse, style=filled, fillcolor=lightgray];
// CHECK-NEXT:    f0n1 [label="grad\ntensor<?xf32, #layout.dist<dp = local>>", shape=ellipse, style=filled, fillcolor=lightgray];
// CHECK-NEXT:    f0n2 [label="norm\ncomp.norm\ntensor<f32>", shape=box];
// CHECK-NEXT:    f0n3 [label="part\nlayout.slice\ntensor<?xf32, #layout.dist<dp = sliced(0)>>", shape=box, style=dashed];
// CHECK-NEXT:    subgraph cluster_0_1 {
// CHECK-NEXT:      label="all\ncoll.overlap";
// CHECK-NEXT:      subgraph cluster_0_2 {
// CHECK-NEXT:        label="kernel\ncoll.fused";
// CHECK-NEXT:        f0n4 [label="rs\ncoll.reduce_scatter\ntensor<?xf32, #layout.dist<dp = sliced(0)>>", shape=box, style="filled,bold", fillcolor=lightblue];
// CHECK-NEXT:        f0n5 [label="new\narith.addf\ntensor<?xf32, #layout.dist<dp = sliced(0)>>", shape=box];
// CHECK-NEXT:      }
// CHECK-NEXT:      f0n6 [label="ag\ncoll.all_gather\ntensor<?xf32>", shape=box, style="filled,bold", fillcolor=lightblue];
// CHECK-NEXT:    }
// CHECK-NEXT:    f0n7 [label="a.name-2\ncomp.update\ntensor<?xf32>", shape=box, style=filled, fillcolor=orange];
// CHECK-NEXT:    f0n8 [label="func.return", shape=ellipse, style=filled, fillcolor=lightgray];
// CHECK-NEXT:  }
// CHECK-NEXT:  f0n0 -> f0n2;
// CHECK-NEXT:  f0n0 -> f0n3;
// CHECK-NEXT:  f0n1 -> f0n4;
// CHECK-NEXT:  f0n4 -> f0n5;
// CHECK-NEXT:  f0n3 -> f0n5;
// CHECK-NEXT:  f0n5 -> f0n6;
// CHECK-NEXT:  f0n6 -> f0n7;
// CHECK-NEXT:  f0n7 -> f0n8;
// CHECK-NEXT:  f0n0 -> f0n7 [style=dashed];
// CHECK-NEXT:  f0n2 -> f0n7 [style=dashed];
// CHECK-NEXT:  f0n5 -> f0n7 [style=dashed];
// CHECK-NEXT:  subgraph cluster_1_0 {
// CHECK-NEXT:    label="@empty";
// CHECK-NEXT:    f1n0 [label="func.return", shape=ellipse, style=filled, fillcolor=lightgray];
// CHECK-NEXT:  }
// CHECK-NEXT:}

// INLINED-NOT: coll.overlap
// INLINED: f0n4 -> f0n5;
// INLINED-NOT: coll.fused
