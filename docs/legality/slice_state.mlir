// apply: coconet-slice-state{args=m}

layout.mesh @mesh(dp = 2, tp = 4)

!x = tensor<?x9xf32>
!part = tensor<?x9xf32, #layout.dist<tp = sliced(0)>>
!columns = tensor<?x9xf32, #layout.dist<tp = sliced(1)>>

func.func @reads_legal(%m: !x, %g: !part) -> !part {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = arith.addf %a, %g : !part
  func.return %b : !part
}

func.func @reads_refused(%m: !x, %g: !part) -> (!part, !x) {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = arith.addf %a, %g : !part
  %c = math.exp %m : !x
  func.return %b, %c : !part, !x
}

func.func @layouts_legal(%m: !x) -> (!part, !part) {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = layout.slice %m over [tp] dim 0 : !x -> !part
  func.return %a, %b : !part, !part
}

func.func @layouts_refused(%m: !x) -> (!part, !columns) {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = layout.slice %m over [tp] dim 1 : !x -> !columns
  func.return %a, %b : !part, !columns
}

func.func @not_sliced_legal(%m: !x, %g: !part) {
  %all = coll.all_gather %g over [tp] : !part -> !x
  %stored = comp.update %m, %all : !x
  func.return
}

// Nobody reads more than the size of %m.
func.func @not_sliced_refused(%m: !x) -> index {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %m, %c0 : !x
  func.return %n : index
}

func.func @update_legal(%m: !x, %g: !part) {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = arith.addf %a, %g : !part
  %all = coll.all_gather %b over [tp] : !part -> !x
  %stored = comp.update %m, %all : !x
  func.return
}

func.func @update_refused(%m: !x, %g: !x) {
  %stored = comp.update %m, %g : !x
  func.return
}

func.func @copy_legal(%m: !x, %q: !part, %g: !part) {
  %all = coll.all_gather %q over [tp] : !part -> !x
  %stored = comp.update %m, %all : !x
  %other = comp.update %q, %g : !part
  func.return
}

// %all is a copy of what %q was before its update; without it the new %q would be stored.
func.func @copy_refused(%m: !x, %q: !part, %g: !part) {
  %all = coll.all_gather %q over [tp] : !part -> !x
  %other = comp.update %q, %g : !part
  %stored = comp.update %m, %all : !x
  func.return
}

func.func @region_legal(%m: !x) -> !part {
  %a = layout.slice %m over [tp] dim 0 : !x -> !part
  %b = coll.fused {
    %c = math.exp %a : !part
    coll.yield %c : !part
  }
  func.return %b : !part
}

func.func @region_refused(%m: !x) -> !part {
  %b = coll.fused {
    %a = layout.slice %m over [tp] dim 0 : !x -> !part
    %c = math.exp %a : !part
    coll.yield %c : !part
  }
  func.return %b : !part
}
