// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a number of at least 0}}
func.func @f(%x: tensor<8xf32, #layout.dist<tp = sliced(-1)>>)

// -----

// expected-error @+1 {{axis 'tp' is named twice; an axis has one state}}
func.func @f(%x: tensor<8xf32, #layout.dist<tp = sliced(0), tp = local>>)

// -----

// expected-error @+1 {{axis 'tp' is named twice; an axis has one state}}
func.func @f(%x: tensor<8xf32, #layout.dist<[tp, tp] = sliced(0)>>)

// -----

// expected-error @+1 {{dimension 0 is sliced by two entries; write one, [outer, inner] = sliced(0)}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<dp = sliced(0), tp = sliced(0)>>)

// -----

// expected-error @+1 {{one axis is written without brackets: `tp = sliced(0)`}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<[tp] = sliced(0)>>)

// -----

// expected-error @+1 {{one axis is written without brackets: `tp = sliced(0)`}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<[] = sliced(0)>>)

// -----

// expected-error @+1 {{entries are sorted by axis: write #layout.dist<dp = local, tp = sliced(0)>}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = sliced(0), dp = local>>)

// -----

// expected-error @+1 {{an empty layout is written by leaving the encoding out}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<>>)

// -----

// expected-error @+1 {{unit 1 is not written: `sliced(0)`}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = sliced(0, 1)>>)

// -----

// expected-error @+1 {{the unit of dimension 0 is 0; it must be at least 1}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = sliced(0, 0)>>)

// -----

// expected-error @+1 {{a list of axes is only for `sliced`; write one entry an axis}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<[dp, tp] = local>>)

// -----

// expected-error @+1 {{'replicated' is no state of an axis: expected sliced(dim), local, partial(sum|prod|max|min) or root(coordinate); a replicated axis is not named}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = replicated>>)

// -----

// expected-error @+1 {{partial(avg) does not exist; use partial(sum) and divide after the reduction}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = partial(avg)>>)

// -----

// expected-error @+1 {{expected a reduction: sum, prod, max, min, avg}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = partial(and)>>)

// -----

// expected-error @+1 {{one tensor is partial(max) and partial(sum); all partial axes of a tensor have one reduction}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<dp = partial(sum), tp = partial(max)>>)

// -----

// expected-error @+1 {{'(' expected}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = root>>)

// -----

// expected-error @+1 {{expected a number of at least 0}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp = root(-1)>>)

// -----

// expected-error @+1 {{Expected '=' after the axis of a layout}}
func.func @f(%x: tensor<8x8xf32, #layout.dist<tp sliced(0)>>)
