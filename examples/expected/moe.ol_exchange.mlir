// From: coconet-opt examples/moe.mlir --schedule examples/schedules/moe.mlir:ol_exchange
//
// Slots are stored where they are needed as they arrive, and travel while those of other experts are multiplied.

!tnxnxnxbf16_ep_sliced_0 = tensor<?x?x?xbf16, #layout.dist<ep = sliced(0)>>
!tnxnx4xnxbf16_ep_sliced_0 = tensor<?x?x4x?xbf16, #layout.dist<ep = sliced(0)>>
!bf16_ep_sliced_1 = tensor<?x?x4x?xbf16, #layout.dist<ep = sliced(1)>>
!f32_ep_sliced_0 = tensor<?x?x?xf32, #layout.dist<ep = sliced(0)>>
builtin.module {
  layout.mesh @mesh(ep = 8)
  comp.define @silu rule [e, t, f] -> [e, t, f] {
  ^bb0(%z: tensor<?x?x?xf32>):
    %one = arith.constant 1.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %experts = tensor.dim %z, %c0 : tensor<?x?x?xf32>
    %rows = tensor.dim %z, %c1 : tensor<?x?x?xf32>
    %width = tensor.dim %z, %c2 : tensor<?x?x?xf32>
    %ones = tensor.splat %one[%experts, %rows, %width] : tensor<?x?x?xf32>
    %minus = arith.negf %z : tensor<?x?x?xf32>
    %exp = math.exp %minus : tensor<?x?x?xf32>
    %den = arith.addf %exp, %ones : tensor<?x?x?xf32>
    %silu = arith.divf %z, %den : tensor<?x?x?xf32>
    comp.yield %silu : tensor<?x?x?xf32>
  }
  func.func @moe(%x: !tnxnxnxbf16_ep_sliced_0, %dispatch: !tnxnxnxbf16_ep_sliced_0, %combine: !tnxnxnxbf16_ep_sliced_0, %w_up: !tnxnxnxbf16_ep_sliced_0, %w_down: !tnxnxnxbf16_ep_sliced_0) -> !tnxnxnxbf16_ep_sliced_0 {
    %slots = comp.matmul %dispatch, %x {accumulate = f32} : (!tnxnxnxbf16_ep_sliced_0, !tnxnxnxbf16_ep_sliced_0) -> !tnxnxnxbf16_ep_sliced_0
    %experts = coll.overlap {
      %dispatched = coll.fused over [ep] {
        %slots_split = comp.reshape %slots [g, (e c), m] -> [g, e, c, m] : !tnxnxnxbf16_ep_sliced_0 -> !tnxnx4xnxbf16_ep_sliced_0
        %arrived = coll.all_to_all %slots_split over [ep] from 0 to 1 : !tnxnx4xnxbf16_ep_sliced_0 -> !bf16_ep_sliced_1
        %arrived_t = comp.transpose %arrived perm [1, 0, 2, 3] : !bf16_ep_sliced_1 -> !tnxnx4xnxbf16_ep_sliced_0
        coll.yield %arrived_t : !tnxnx4xnxbf16_ep_sliced_0
      }
      %in = comp.reshape %dispatched [e, g, c, m] -> [e, (g c), m] : !tnxnx4xnxbf16_ep_sliced_0 -> !tnxnxnxbf16_ep_sliced_0
      %up = comp.matmul %in, %w_up {accumulate = f32} : (!tnxnxnxbf16_ep_sliced_0, !tnxnxnxbf16_ep_sliced_0) -> !f32_ep_sliced_0
      %hidden = coll.fused {
        %act = comp.custom @silu(%up) : (!f32_ep_sliced_0) -> !f32_ep_sliced_0
        %h = arith.truncf %act : !f32_ep_sliced_0 to !tnxnxnxbf16_ep_sliced_0
        coll.yield %h : !tnxnxnxbf16_ep_sliced_0
      }
      %out = comp.matmul %hidden, %w_down {accumulate = f32} : (!tnxnxnxbf16_ep_sliced_0, !tnxnxnxbf16_ep_sliced_0) -> !tnxnxnxbf16_ep_sliced_0
      %returned = coll.fused over [ep] {
        %out_split = comp.reshape %out [e, (g c), m] -> [e, g, c, m] : !tnxnxnxbf16_ep_sliced_0 -> !tnxnx4xnxbf16_ep_sliced_0
        %out_t = comp.transpose %out_split perm [1, 0, 2, 3] : !tnxnx4xnxbf16_ep_sliced_0 -> !bf16_ep_sliced_1
        %back = coll.all_to_all %out_t over [ep] from 1 to 0 : !bf16_ep_sliced_1 -> !tnxnx4xnxbf16_ep_sliced_0
        coll.yield %back : !tnxnx4xnxbf16_ep_sliced_0
      }
      coll.yield %returned : !tnxnx4xnxbf16_ep_sliced_0
    } {dim = 0 : i64, chunks = 4 : i64}
    %results = comp.reshape %experts [g, e, c, m] -> [g, (e c), m] : !tnxnx4xnxbf16_ep_sliced_0 -> !tnxnxnxbf16_ep_sliced_0
    %y = comp.matmul %combine, %results {accumulate = f32} : (!tnxnxnxbf16_ep_sliced_0, !tnxnxnxbf16_ep_sliced_0) -> !tnxnxnxbf16_ep_sliced_0
    func.return %y : !tnxnxnxbf16_ep_sliced_0
  }
}
