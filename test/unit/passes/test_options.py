"""Options that name nothing, two things, or what cannot be: each is an error that says what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from coconet_ir import api
from coconet_ir.frontend import check
from coconet_ir.passes.infer import infer
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_value
from coconet_ir.passes.split import split
from coconet_ir.program import Program
from coconet_ir.tools.opt import main
from coconet_ir.xdsl_compat import print_module

PROGRAM = """\
layout.mesh @mesh(dp = 2, tp = 4)
!l = tensor<6x?xf32, #layout.dist<dp = local, tp = local>>
!x = tensor<6x?xf32>
func.func @first(%g: !l, %i: index) -> !x {
  %sum = coll.all_reduce sum %g over [dp, tp] : !l -> !x
  %scalar = coll.all_reduce sum %g over [dp, tp] {order = #coll.order<ranks>} : !l -> !x
  %one = arith.addf %sum, %sum : !x
  %two = arith.mulf %one, %sum {coconet.name = "one"} : !x
  %e = tensor.extract %sum[%i, %i] : !x
  %region = coll.fused {
    %inner = arith.mulf %two, %sum : !x
    coll.yield %inner : !x
  }
  func.return %region : !x
}
func.func @second(%x: tensor<?xf32, #layout.dist<tp = sliced(0)>>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %all = coll.all_gather %x over [tp] : tensor<?xf32, #layout.dist<tp = sliced(0)>> -> tensor<?xf32>
  %a = arith.addf %all, %w : tensor<?xf32>
  func.return %a : tensor<?xf32>
}
"""

UNINFERRED = """\
layout.mesh @mesh(tp = 4)
func.func @f(%x: tensor<?xf32> {layout.of = #layout.dist<tp = sliced(0)>}) -> tensor<?xf32> {
  %all = coll.all_gather %x over [tp] : tensor<?xf32> -> tensor<?xf32>
  func.return %all : tensor<?xf32>
}
"""


def error_of(text: str, pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = tmp_path / "p.mlir"
    path.write_text(text)
    assert main([str(path), "-p", pipeline]) == 1
    return capsys.readouterr().err


SELECTORS = {
    "coconet-split{op=none}": (
        "p.mlir:1:1: error: 'builtin.module' op has no operation named 'none' (op=none); there are: "
        "a, all, e, one, region, scalar, sum"
    ),
    "coconet-split{op=none func=second}": "has no operation named 'none' (op=none); there are: a, all",
    "coconet-split{op=sum func=third}": "has no function named 'third'; there are: first, second",
    "coconet-split{op=two}": "has no operation named 'two'",
    "coconet-slice{op=one over=tp}": (
        "p.mlir:8:3: error: 'arith.mulf' op is one of 2 operations named 'one'; give it a name of its own "
        "with the attribute coconet.name\n"
    ),
    "coconet-split{op=sum_1}": (
        "'sum_1' cannot select an operation: a name that ends in _ and digits is rewritten when the text is "
        "printed; name the operation with the attribute coconet.name"
    ),
    "coconet-slice{op=inner over=tp}": (
        "p.mlir:11:5: error: 'arith.mulf' op stands in a region, whose operations are not targets: inline it first"
    ),
    "coconet-reorder{op=all ops=a,b}": "'func.func' op has no operation named 'b' (ops=b); there are: a, all",
    "coconet-reorder{op=all ops=a_2}": "'a_2' cannot select an operation",
    "coconet-infer{func=third}": "has no function named 'third'; there are: first, second",
}


@pytest.mark.parametrize("pipeline", SELECTORS)
def test_selector_error(pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert SELECTORS[pipeline] in error_of(PROGRAM, pipeline, tmp_path, capsys)


def test_two_matches_are_both_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = error_of(PROGRAM, "coconet-slice{op=one over=tp}", tmp_path, capsys)
    assert "p.mlir:7:3: note: another one is here" in text


VALUES = {
    "coconet-split{op=one2}": "has no operation named 'one2'",
    "coconet-split{op=e}": "is no coll.all_reduce: only those can be split",
    "coconet-split{op=sum dim=2}": "dim=2 is out of range: it has 2 dimension(s)",
    "coconet-split{op=sum dim=-1}": "dim=-1 is out of range: it has 2 dimension(s)",
    "coconet-split{op=sum unit=0}": "unit=0 is out of range: a unit is at least 1 element",
    "coconet-split{op=sum axes=pp}": "works over [dp, tp], not over 'pp'",
    "coconet-split{op=sum axes=dp,dp}": "axes=dp,dp names an axis twice",
    "coconet-split{op=sum root=0,0}": "root belongs to into=reduce-broadcast",
    "coconet-split{op=sum into=reduce-broadcast root=0}": "root needs one coordinate of at least 0 for each of 2 axes",
    "coconet-split{op=sum into=reduce-broadcast dim=0}": "dim, unit and axes belong to into=rs-ag",
    "coconet-split{op=sum into=ring}": "option 'into' of pass 'coconet-split' takes rs-ag|reduce-broadcast, not ring",
    "coconet-slice{op=sum}": "pass 'coconet-slice' needs option 'over'",
    "coconet-slice{op=sum over=tp dim=2}": "dim=2 is out of range: the result has 2 dimension(s)",
    "coconet-slice{op=sum over=tp unit=-4}": "unit=-4 is out of range: a unit is at least 1 element",
    "coconet-slice{op=sum over=tp,tp}": "over=tp,tp names an axis twice",
    "coconet-slice{op=sum over=pp}": "cannot be sliced over 'pp': the mesh has dp, tp",
    "coconet-slice{op=e over=tp}": "makes no tensor that could be sliced",
    "coconet-reorder{op=sum}": "is neither a coll.all_gather nor a coll.broadcast",
}


@pytest.mark.parametrize("pipeline", VALUES)
def test_value_error(pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert VALUES[pipeline] in error_of(PROGRAM, pipeline, tmp_path, capsys)


@pytest.mark.parametrize("pipeline", ["coconet-reorder{op=all}", "coconet-slice{op=all over=tp}"])
def test_function_that_is_not_inferred(
    pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = error_of(UNINFERRED, pipeline, tmp_path, capsys)
    assert "p.mlir:2:1: error: 'func.func' op is not inferred yet: run coconet-infer first" in text


def test_require_turns_a_decline_into_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = error_of(PROGRAM, "coconet-split{op=scalar axes=dp require=true}", tmp_path, capsys)
    assert (
        "p.mlir:6:3: error: 'coll.all_reduce' op split declined [ordered-by-rank]: order = ranks fixes"
        in text
    )


def test_python_functions_do_what_the_passes_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = Program.parse(PROGRAM).module
    first, second = Program(module).function("first"), Program(module).function("second")
    with api.collect() as remarks:
        split(first, "sum", axes=("tp",), dim=0, unit=2)
        slice_value(first, "sum_ag", ("dp",), dim=1)
        reorder(second, "all", ops=("a",))
    check(module)
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    pipeline = (
        "coconet-split{op=sum axes=tp dim=0 unit=2},coconet-slice{op=sum_ag over=dp dim=1},"
        "coconet-reorder{op=all ops=a}"
    )
    assert main([str(path), "-p", pipeline]) == 0
    assert capsys.readouterr().out == print_module(module)
    assert [(r.rewrite, r.operation, r.applied) for r in remarks] == [
        ("split", "sum", True),
        ("slice", "sum_ag", True),
        ("reorder", "all", True),
    ]


def test_inference_says_what_it_inserted() -> None:
    module = Program.parse(UNINFERRED).module
    remark = infer(Program(module).function())
    assert remark is not None
    assert (remark.operation, remark.message) == ("f", "inserted nothing")
    assert infer(Program(module).function()) is None
