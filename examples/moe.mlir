// Mixture of experts with fixed capacity: tokens travel to the ranks of their experts and back.
//
// Tokens come in groups; in each group an expert has room for 4 tokens. The caller's router has decided:
// dispatch[g, (e c), s] is 1 where token s of group g sits in slot c of expert e, else 0;
// combine[g, s, (e c)] is the weight with which that slot's result goes into the token's result, else 0.
//
//     slots[g, (e c), :] = sum over s of dispatch[g, (e c), s] * x[g, s, :]
//     out of expert e    = silu(slots of e w_up[e]) w_down[e]                   silu(z) = z / (1 + exp(-z))
//     y[g, s, :]         = sum over (e c) of combine[g, s, (e c)] * out[g, (e c), :]
//
// ep cuts the groups outside and the experts inside; the two all_to_alls exchange these cuts. A token that found no
// room has combine weights 0 and so y = 0. Without experts y is 0; without groups, tokens or features it is empty.

layout.mesh @mesh(ep = 8)

// [group, token, feature], [group, slot, token], [group, token, slot], [group, slot, feature]: cut by groups
!tokens = tensor<?x?x?xbf16, #layout.dist<ep = sliced(0)>>
// [group, expert, 4, feature], cut by groups and cut by experts
!by_group = tensor<?x?x4x?xbf16, #layout.dist<ep = sliced(0)>>
!by_expert = tensor<?x?x4x?xbf16, #layout.dist<ep = sliced(1)>>
// [expert, group, 4, feature], [expert, group * 4, feature] and the weights [expert, feature, feature]: cut by experts
!gathered = tensor<?x?x4x?xbf16, #layout.dist<ep = sliced(0)>>
!batch = tensor<?x?x?xbf16, #layout.dist<ep = sliced(0)>>
!batch32 = tensor<?x?x?xf32, #layout.dist<ep = sliced(0)>>

comp.define @silu rule [e, t, f] -> [e, t, f] {
^bb0(%z: tensor<?x?x?xf32>):
  %one = arith.constant 1.0 : f32
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

func.func @moe(%x: !tokens, %dispatch: !tokens, %combine: !tokens, %w_up: !batch, %w_down: !batch) -> !tokens {
  // To the experts.
  %slots = comp.matmul %dispatch, %x {accumulate = f32} : (!tokens, !tokens) -> !tokens
  %slots_split = comp.reshape %slots [g, (e c), m] -> [g, e, c, m] : !tokens -> !by_group
  %arrived = coll.all_to_all %slots_split over [ep] from 0 to 1 : !by_group -> !by_expert
  %arrived_t = comp.transpose %arrived perm [1, 0, 2, 3] : !by_expert -> !gathered
  %in = comp.reshape %arrived_t [e, g, c, m] -> [e, (g c), m] : !gathered -> !batch

  // The experts.
  %up = comp.matmul %in, %w_up {accumulate = f32} : (!batch, !batch) -> !batch32
  %act = comp.custom @silu(%up) : (!batch32) -> !batch32
  %h = arith.truncf %act : !batch32 to !batch
  %out = comp.matmul %h, %w_down {accumulate = f32} : (!batch, !batch) -> !batch

  // And back.
  %out_split = comp.reshape %out [e, (g c), m] -> [e, g, c, m] : !batch -> !gathered
  %out_t = comp.transpose %out_split perm [1, 0, 2, 3] : !gathered -> !by_expert
  %back = coll.all_to_all %out_t over [ep] from 1 to 0 : !by_expert -> !by_group
  %results = comp.reshape %back [g, e, c, m] -> [g, (e c), m] : !by_group -> !tokens
  %y = comp.matmul %combine, %results {accumulate = f32} : (!tokens, !tokens) -> !tokens
  func.return %y : !tokens
}
