// What split makes of an all_reduce, and what it declines.

// RUN: coconet-opt %s --remarks --verify-diagnostics --no-aliases -p \
// RUN:   'coconet-split{op=largest},coconet-split{op=first},coconet-split{op=open},coconet-split{op=uncut},\
// RUN: coconet-split{op=given dim=0 unit=4},coconet-split{op=further dim=0 unit=2},coconet-split{op=kept},\
// RUN: coconet-split{op=wide},coconet-split{op=levels axes=gpu},coconet-split{op=counts axes=node dim=0},\
// RUN: coconet-split{op=plain axes=gpu},coconet-split{op=narrow axes=gpu},coconet-split{op=all axes=gpu,node},\
// RUN: coconet-split{op=rooted into=reduce-broadcast},coconet-split{op=roots into=reduce-broadcast root=3,1},\
// RUN: coconet-split{op=scalar into=reduce-broadcast},coconet-split{op=zero},coconet-split{op=full},\
// RUN: coconet-split{op=units dim=0},coconet-split{op=ordered axes=gpu},coconet-split{op=taken},\
// RUN: coconet-split{op=chosen},coconet-split{op=same func=second},coconet-split{op=every}' \
// RUN:   | filecheck %s

layout.mesh @mesh(node = 4, gpu = 8, tp = 2)

// The default dimension: of those that no axis cuts the largest, of equal ones the first; ? is above all numbers.

// CHECK-LABEL: func.func @dimension
func.func @dimension(%w: tensor<3x5x4xf32, #layout.dist<gpu = local>>,
                     %x: tensor<7x7xf32, #layout.dist<gpu = partial(max)>>,
                     %y: tensor<900x?x?xf32, #layout.dist<gpu = local>>,
                     %z: tensor<9x?x2xf32, #layout.dist<gpu = local, tp = sliced(1)>>) {
  func.return
}
