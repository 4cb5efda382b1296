// f32 to bf16: 4 bytes read and 2 written an element.

!full = tensor<?xf32>
!half = tensor<?xbf16>

func.func @cast(%x: !full) -> !half {
  %y = arith.truncf %x : !full to !half
  func.return %y : !half
}
