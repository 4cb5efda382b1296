// elements: f32 bf16
// sizes: x=NxMx12
!t = tensor<?x?x12xELEMENT>
!h = tensor<?x4x?x3xELEMENT>
func.func @heads(%x: !t, %scale: ELEMENT) -> !h {
  %split = comp.reshape %x [b, s, (h d)] -> [b, s, h, d] : !t -> tensor<?x?x4x3xELEMENT>
  %heads = comp.transpose %split perm [0, 2, 1, 3] : tensor<?x?x4x3xELEMENT> -> !h
  %y = comp.scale %heads by %scale : !h
  func.return %y : !h
}
