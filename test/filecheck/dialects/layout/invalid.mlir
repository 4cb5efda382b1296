// RUN: coconet-opt %s --split-input-file --verify-diagnostics

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op names the axis 'dp', which the mesh lacks; it has tp}}
func.func @axis_of_a_type(%x: tensor<8xf32, #layout.dist<dp = local>>) {
  func.return
}

// -----

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(tp = 8, pp = 2)
func.func @axis_of_an_operation(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op names the axis 'dp', which the mesh lacks; it has pp, tp}}
  %0 = layout.slice %x over [dp] dim 0 : tensor<8xf32> -> tensor<8xf32, #layout.dist<dp = sliced(0)>>
  func.return
}

// -----

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(tp = 8)
func.func @axis_of_axis_size() {
  // expected-error @+1 {{'layout.axis_size' op names the axis 'dp', which the mesh lacks; it has tp}}
  %0 = layout.axis_size over [dp] : index
  func.return
}

// -----

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op names the axis 'dp', which the mesh lacks; it has tp}}
func.func @axis_of_layout_of(%x: tensor<8xf32> {layout.of = #layout.dist<dp = local>}) {
  func.return
}

// -----

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op names the axis 'dp', which the mesh lacks; it has tp}}
func.func @axis_of_a_result() -> tensor<8xf32, #layout.dist<dp = local>> {
  %0 = arith.constant dense<1.0> : tensor<8xf32, #layout.dist<dp = local>>
  func.return %0 : tensor<8xf32, #layout.dist<dp = local>>
}

// -----

// expected-error @+1 {{'func.func' op names the axis 'tp', but the module has no mesh: add layout.mesh @mesh(tp = 8)}}
func.func @no_mesh(%x: tensor<8xf32, #layout.dist<tp = local>>) {
  func.return
}

// -----

// expected-note @+1 {{the first mesh is here}}
layout.mesh @one(tp = 8)
// expected-error @+1 {{'layout.mesh' op is the second mesh: a module has one, with all axes}}
layout.mesh @two(dp = 8)

// -----

// expected-error @+1 {{axis 'tp' is named twice}}
layout.mesh @mesh(tp = 8, tp = 2)

// -----

// expected-error @+1 {{a mesh needs at least one axis, for example (dp = 8)}}
layout.mesh @mesh()

// -----

// expected-error @+1 {{'layout.mesh' op axis 'tp' has 0 ranks; it must have at least 1}}
layout.mesh @mesh(tp = 0)

// -----

// expected-error @+1 {{Expected '=' after the name of an axis}}
layout.mesh @mesh(tp)

// -----

// expected-error @+1 {{expected a number of at least 0}}
layout.mesh @mesh(tp = -1)

// -----

// expected-error @+1 {{integer does not fit into 64 bits}}
layout.mesh @mesh(tp = 99999999999999999999)

// -----

// expected-error @+1 {{'layout.mesh' op every axis of the mesh needs one size}}
"layout.mesh"() <{sym_name = "mesh", axes = #coll.axes<a, b>, sizes = array<i64: 2>}> : () -> ()

// -----

// expected-error @+1 {{an axis is named twice in [a, a]}}
"layout.mesh"() <{sym_name = "mesh", axes = #coll.axes<a, a>, sizes = array<i64: 2, 2>}> : () -> ()

// -----

// expected-error @+1 {{the list of axes is empty: name at least one axis of the mesh}}
"layout.mesh"() <{sym_name = "mesh", axes = #coll.axes<>, sizes = array<i64>}> : () -> ()

// -----

func.func @inside() {
  // expected-error @+1 {{'layout.mesh' op belongs at the top of the module}}
  layout.mesh @mesh(tp = 8)
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op has the layout <tp = sliced(1)>: sliced(1) is out of range: the tensor has 1 dimension(s)}}
func.func @dimension_out_of_range(%x: tensor<8xf32, #layout.dist<tp = sliced(1)>>) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op has the layout <tp = sliced(0)>: sliced(0) is out of range: the tensor has 0 dimension(s)}}
func.func @dimension_of_0d(%x: tensor<f32, #layout.dist<tp = sliced(0)>>) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @dimension_out_of_range_of_an_operation(%s: f32) {
  // expected-error @+1 {{'tensor.splat' op sliced(1) is out of range: the tensor has 1 dimension(s)}}
  %x = tensor.splat %s : tensor<8xf32, #layout.dist<tp = sliced(1)>>
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has the encoding "mine": a layout is #layout.dist<…>}}
func.func @encoding(%x: tensor<8xf32, "mine">) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op takes %x as <tp = partial(sum)>: an argument is never partial; make it local}}
func.func @partial_argument(%x: tensor<8xf32, #layout.dist<tp = partial(sum)>>) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op takes %x as <tp = partial(sum)>: an argument is never partial; make it local}}
func.func @layout_of_partial(%x: tensor<8xf32> {layout.of = #layout.dist<tp = partial(sum)>}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op has layout.of = #layout.dist<tp = local> on a f32: it takes #layout.dist<…> of a tensor}}
func.func @layout_of_scalar(%x: f32 {layout.of = #layout.dist<tp = local>}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op has layout.of = 1 : i64 on a tensor<8xf32>: it takes #layout.dist<…> of a tensor}}
func.func @layout_of_number(%x: tensor<8xf32> {layout.of = 1 : i64}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op gives %x a layout both in its type and elsewhere}}
func.func @layout_twice(%x: tensor<8xf32, #layout.dist<tp = local>> {layout.of = #layout.dist<tp = local>}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @layout_mixed(%x: tensor<8xf32> {layout.of = #layout.dist<tp = local>}, %y: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op has a layout in a function that is not inferred yet: leave layouts to layout.of and coconet-infer, or write them all}}
  %0 = layout.slice %y over [tp] dim 0 : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op marks a f32 as coconet.state: the mark takes no value and is for tensors}}
func.func @state_of_scalar(%x: f32 {coconet.state}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
// expected-error @+1 {{'func.func' op marks a tensor<8xf32> as coconet.state: the mark takes no value and is for tensors}}
func.func @state_with_value(%x: tensor<8xf32> {coconet.state = 1 : i64}) {
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_local(%x: tensor<8xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'layout.slice' op axis 'tp' is local in the operand, but it must be replicated there: reduce it or broadcast it first}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32, #layout.dist<tp = local>> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_sliced(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'layout.slice' op axis 'tp' is sliced(0) in the operand, but it must be replicated there: gather it first}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32, #layout.dist<tp = sliced(0)>> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_dim(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op dim 1 is out of range: the operand has 1 dimension(s)}}
  %0 = layout.slice %x over [tp] dim 1 : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(1)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_0d(%x: tensor<f32>) {
  // expected-error @+1 {{'layout.slice' op dim 0 is out of range: the operand has 0 dimension(s)}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<f32> -> tensor<f32>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_unit(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op unit 0 is out of range: a unit is at least 1 element}}
  %0 = layout.slice %x over [tp] dim 0 {unit = 0 : i64} : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_result(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op its result has the layout <tp = sliced(0)>, but the operands make it <tp = sliced(0, 4)>}}
  %0 = layout.slice %x over [tp] dim 0 {unit = 4 : i64} : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, tp = 8)
func.func @slice_other_unit(%x: tensor<8xf32, #layout.dist<dp = sliced(0, 4)>>) {
  // expected-error @+1 {{'layout.slice' op dimension 0 is already cut in units of 4; a further cut keeps that unit, but unit 1 was asked for}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32, #layout.dist<dp = sliced(0, 4)>> -> tensor<8xf32, #layout.dist<[dp, tp] = sliced(0, 4)>>
  func.return
}

// -----

layout.mesh @mesh(dp = 2, tp = 8)
func.func @slice_order(%x: tensor<8xf32, #layout.dist<dp = sliced(0)>>) {
  // expected-error @+1 {{'layout.slice' op its result has the layout <[tp, dp] = sliced(0)>, but the operands make it <[dp, tp] = sliced(0)>}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32, #layout.dist<dp = sliced(0)>> -> tensor<8xf32, #layout.dist<[tp, dp] = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_elements(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op its tensors must have one element type, not f32 and f16: cast before or after}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32> -> tensor<8xf16, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_shape(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op 'd0' is 8 in dimension 0 of operand 0, but 1 in dimension 0 of result 0}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32> -> tensor<1xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_rank(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op result 0 must have 1 dimension(s), not 2}}
  %0 = layout.slice %x over [tp] dim 0 : tensor<8xf32> -> tensor<8x1xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_twice(%x: tensor<8xf32>) {
  // expected-error @+1 {{an axis is named twice in [tp, tp]}}
  %0 = layout.slice %x over [tp, tp] dim 0 : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_none(%x: tensor<8xf32>) {
  // expected-error @+1 {{the list of axes is empty: name at least one axis of the mesh}}
  %0 = layout.slice %x over [] dim 0 : tensor<8xf32> -> tensor<8xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @slice_scalar(%x: f32) {
  // expected-error @+1 {{'layout.slice' op f32 should be of base attribute tensor}}
  %0 = layout.slice %x over [tp] dim 0 : f32 -> tensor<8xf32>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @relax_sliced(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>) {
  // expected-error @+1 {{'layout.relax' op axis 'tp' is sliced(0) in the operand, but only a replicated or partial value can be relaxed to local: gather it first}}
  %0 = layout.relax %x over [tp] : tensor<8xf32, #layout.dist<tp = sliced(0)>> -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @relax_local(%x: tensor<8xf32, #layout.dist<tp = local>>) {
  // expected-error @+1 {{'layout.relax' op axis 'tp' is local in the operand, but only a replicated or partial value can be relaxed to local: reduce it or broadcast it first}}
  %0 = layout.relax %x over [tp] : tensor<8xf32, #layout.dist<tp = local>> -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @relax_partial_to_root(%x: tensor<8xf32, #layout.dist<tp = sliced(0)>>) {
  %0 = comp.reduce sum %x dims [0] : tensor<8xf32, #layout.dist<tp = sliced(0)>> -> tensor<f32, #layout.dist<tp = partial(sum)>>
  // expected-error @+1 {{'layout.relax' op axis 'tp' is partial(sum) in the operand, but only a replicated value can be relaxed to root: reduce it by sum first}}
  %1 = layout.relax %0 over [tp] root 0 : tensor<f32, #layout.dist<tp = partial(sum)>> -> tensor<f32, #layout.dist<tp = root(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8, dp = 2)
func.func @relax_roots(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.relax' op root [0] does not fit [tp, dp]: give one coordinate an axis}}
  %0 = layout.relax %x over [tp, dp] root 0 : tensor<8xf32> -> tensor<8xf32, #layout.dist<dp = root(0), tp = root(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8, dp = 2)
func.func @relax_result(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.relax' op its result has the layout <tp = local>, but the operands make it <tp = root(1)>}}
  %0 = layout.relax %x over [tp] root 1 : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = local>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @relax_negative(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.relax' op root -1 is out of range: coordinates start at 0}}
  %0 = "layout.relax"(%x) <{axes = #coll.axes<tp>, roots = array<i64: -1>}> : (tensor<8xf32>) -> tensor<8xf32, #layout.dist<tp = root(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @relax_no_roots(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.relax' op root [] does not fit [tp]: give one coordinate an axis}}
  %0 = "layout.relax"(%x) <{axes = #coll.axes<tp>, roots = array<i64>}> : (tensor<8xf32>) -> tensor<8xf32, #layout.dist<tp = root(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @huge_root(%x: tensor<8xf32>) {
  // expected-error @+1 {{integer does not fit into 64 bits}}
  %0 = layout.relax %x over [tp] root 99999999999999999999 : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = root(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @dense() {
  // expected-error @+1 {{dense constant of 1,000,000,000 elements; the limit is 1,048,576 (spread a scalar constant with tensor.splat instead)}}
  %0 = arith.constant dense<1.0> : tensor<1000000000xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @axis_size_type() {
  // expected-error @+1 {{'layout.axis_size' op Expected attribute index but got i64}}
  %0 = layout.axis_size over [tp] : i64
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has no body: nothing outside the module can be called, so give it one}}
func.func private @declaration(tensor<8xf32>)

// -----

module {
  // expected-error @+1 {{'builtin.module' op is one of several modules of a file, or stands in another; a program is one module; parts between '// -----' lines are read apart with --split-input-file}}
  module {
    func.func @nested(%x: tensor<8xf32, #layout.dist<dp = local>>) {
      func.return
    }
  }
}

// -----

// expected-error @+1 {{'builtin.module' op coconet.level = "ranks" is no level of this version; there are: rank}}
module attributes {coconet.level = "ranks"} {
}

// -----

// expected-error @+1 {{'layout.mesh' op has no attribute 'note'; it has sym_name, axes, sizes (a note of your own is 'my.note')}}
layout.mesh @mesh(tp = 8) attributes {note}

// -----

layout.mesh @mesh(tp = 8)
func.func @misspelt(%x: tensor<8xf32>) {
  // expected-error @+1 {{'layout.slice' op has no attribute 'units'; it has dim, unit, axes (a note of your own is 'my.units')}}
  %0 = layout.slice %x over [tp] dim 0 {units = 4 : i64} : tensor<8xf32> -> tensor<8xf32, #layout.dist<tp = sliced(0)>>
  func.return
}

// -----

layout.mesh @mesh(tp = 8)
func.func @huge_dense_integer() {
  // expected-error @+1 {{dense constant of more than 9,223,372,036,854,775,807 elements; the limit is 1,048,576 (spread a scalar constant with tensor.splat instead)}}
  %0 = arith.constant dense<1> : tensor<99999999999x99999999999xi64>
  func.return
}

// -----

// A misspelt axis is named, rather than what follows from it for the layouts.
// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(dp = 4)
func.func @misspelt_axis(%x: tensor<?xf32, #layout.dist<dp = local>>) -> tensor<?xf32> {
  // expected-error @+1 {{'coll.all_reduce' op names the axis 'pd', which the mesh lacks; it has dp}}
  %s = coll.all_reduce sum %x over [pd] : tensor<?xf32, #layout.dist<dp = local>> -> tensor<?xf32>
  func.return %s : tensor<?xf32>
}

// -----

// expected-error @+1 {{'func.func' op has an unknown attribute 'coconet.stat'; here may stand coconet.state, coconet.scattered, coconet.resliced, layout.of}}
func.func @misspelt_mark(%x: tensor<?xf32> {coconet.stat}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has an unknown attribute 'coconet.state'; here may stand layout.of}}
func.func @mark_of_a_result(%x: tensor<?xf32>) -> (tensor<?xf32> {coconet.state}) {
  func.return %x : tensor<?xf32>
}

// -----

func.func @misspelt_name(%x: f32) {
  // expected-error @+1 {{'arith.negf' op has an unknown attribute 'coconet.nam'; here may stand coconet.name}}
  %y = arith.negf %x {coconet.nam = "y"} : f32
  func.return
}

// -----

func.func @name_of_two_words(%x: f32) {
  // expected-error @+1 {{'arith.negf' op has coconet.name = "my kernel", which cannot be a name: it takes letters, digits, _, $, . and -, and begins with no digit}}
  %y = arith.negf %x {coconet.name = "my kernel"} : f32
  func.return
}

// -----

func.func @name_in_a_region(%x: f32) {
  coll.fused {
    // expected-error @+1 {{'arith.negf' op has coconet.name = "2nd", which cannot be a name}}
    %y = arith.negf %x {coconet.name = "2nd"} : f32
    coll.yield
  }
  func.return
}

// -----

func.func @no_name(%x: f32) {
  // expected-error @+1 {{'coll.fused' op has coconet.name = "", which cannot be a name}}
  coll.fused {
    coll.yield
  } {coconet.name = ""}
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has coconet.name = "\C3\BC", which cannot be a name}}
func.func @letter_beyond_ascii(%x: f32) attributes {coconet.name = "ü"} {
  func.return
}

// -----

func.func @name_that_is_a_number(%x: f32) {
  // expected-error @+1 {{'arith.negf' op has coconet.name = 3 : i64: a name is a string}}
  %y = arith.negf %x {coconet.name = 3} : f32
  func.return
}

// -----

comp.define @name_in_a_definition rule [n] -> [n] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{'arith.addf' op has coconet.name = "a+b", which cannot be a name}}
  %y = arith.addf %x, %x {coconet.name = "a+b"} : tensor<?xf32>
  comp.yield %y : tensor<?xf32>
}

// -----

// expected-error @+1 {{'func.func' op has the type memref<4xf32>: a distributed program has floats, integers and index, and tensors of these}}
func.func @memory(%x: memref<4xf32>) {
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
// expected-error @+1 {{'func.func' op has coconet.resliced = tensor<6xf32> on a tensor<8xf32, #layout.dist<dp = sliced(0)>>: it takes a tensor type that differs from this in the layout alone}}
func.func @former_size(%m: tensor<8xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<6xf32>}) {
  func.return
}

// -----

layout.mesh @mesh(dp = 2)
// expected-error @+1 {{'func.func' op has coconet.resliced = tensor<8xf16> on a tensor<8xf32, #layout.dist<dp = sliced(0)>>: it takes a tensor type that differs}}
func.func @former_element(%m: tensor<8xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<8xf16>}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has coconet.resliced = tensor<8xf32> on a tensor<8xf32>: it takes a tensor type that differs}}
func.func @former_type_is_the_same(%m: tensor<8xf32> {coconet.resliced = tensor<8xf32>}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has coconet.resliced = f32 on a f32: it takes a tensor type that differs from this in the layout alone}}
func.func @former_scalar(%s: f32 {coconet.resliced = f32}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has coconet.resliced = 1 : i64 on a tensor<8xf32>: it takes a tensor type}}
func.func @former_number(%s: tensor<8xf32> {coconet.resliced = 1 : i64}) {
  func.return
}

// -----

// expected-note @+1 {{the mesh is here}}
layout.mesh @mesh(dp = 2)
// expected-error @+1 {{'func.func' op names the axis 'tp', which the mesh lacks; it has dp}}
func.func @former_axis(%m: tensor<8xf32, #layout.dist<dp = sliced(0)>> {coconet.resliced = tensor<8xf32, #layout.dist<tp = sliced(0)>>}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has an unknown attribute 'coconet.resliced'; here may stand layout.of}}
func.func @former_result(%x: tensor<8xf32>) -> (tensor<8xf32> {coconet.resliced = tensor<8xf32>}) {
  func.return %x : tensor<8xf32>
}

// -----

func.func @former_types_elsewhere(%x: f32) {
  // expected-error @+1 {{'arith.negf' op has an unknown attribute 'coconet.resliced'; here may stand coconet.name}}
  %y = arith.negf %x {coconet.resliced = f32} : f32
  func.return
}

// -----

// Generic text is checked as far as other checks lean on it.

// expected-error @+2 {{'layout.mesh' op i32 should be of base attribute coll.axes}}
"builtin.module"() ({
  "layout.mesh"() {sym_name = "mesh", axes = i32} : () -> ()
}) : () -> ()

// -----

// expected-error @+2 {{'func.func' op expected ArrayAttr attribute, but got}}
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x : f32):
    %y = "arith.negf"(%x) : (f32) -> f32
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (f32) -> (), arg_attrs = f32} : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{'builtin.module' op has 0 blocks: a module has one, without arguments}}
"builtin.module"() ({}) : () -> ()
