"""An operation against its rule: sizes, layouts, and functions that are not inferred yet."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import REPLICATED, Cut, Dist, Kind
from coconet_ir.analysis.notation import RuleError, pattern
from coconet_ir.analysis.rules import (
    by_pattern,
    in_uninferred_function,
    is_uninferred,
    layout_problem,
    operand_dists,
    pointwise,
    rank_of,
    rule_of,
)
from coconet_ir.frontend import make_context

CONTEXT = make_context(allow_unregistered=True)


def parse(text: str) -> Operation:
    """The last operation of some generic text, without a check."""
    module = Parser(CONTEXT, text).parse_module()
    last = module.body.block.last_op
    assert last is not None
    return last


def op(name: str, operands: str, results: str, properties: str = "") -> Operation:
    """An operation on values of the types `operands`, which are separated by `;`."""
    types = [type.strip() for type in operands.split(";") if type.strip()]
    values = ", ".join(f"%{i}" for i in range(len(types)))
    made = f'{values} = "test.op"() : () -> ({", ".join(types)})\n' if types else ""
    count = len(results.split(";"))
    return parse(
        f'{made}%r:{count} = "{name}"({values}) <{{{properties}}}> : ({", ".join(types)}) -> '
        f"({results.replace(';', ',')})"
    )


def message(wrong: Operation) -> str:
    with pytest.raises(VerifyException) as error:
        wrong.verify()
    return str(error.value)


SUM_OF_COLUMNS = "kind = #coll.kind<sum>, dims = array<i64: 1>"


# Sizes


@pytest.mark.parametrize(
    ("name", "operands", "results", "properties", "expected"),
    [
        (
            "comp.matmul",
            "tensor<5x7xf32>; tensor<6x3xf32>",
            "tensor<5x3xf32>",
            "",
            "'k' is 7 in dimension 1 of operand 0, but 6 in dimension 0 of operand 1",
        ),
        (
            "comp.matmul",
            "tensor<5x?xf32>; tensor<6x3xf32>",
            "tensor<4x3xf32>",
            "",
            "'m' is 5 in dimension 0 of operand 0, but 4 in dimension 0 of result 0",
        ),
        (
            "comp.matmul",
            "tensor<2x5x7xf32>; tensor<3x7x3xf32>",
            "tensor<2x5x3xf32>",
            "",
            "'b.0' is 2 in dimension 0 of operand 0, but 3 in dimension 0 of operand 1",
        ),
        (
            "comp.broadcast",
            "tensor<5xf32>; tensor<3x4xf32>",
            "tensor<3x4xf32>",
            "dims = array<i64: 1>",
            "'r1' is 5 in dimension 0 of operand 0, but 4 in dimension 1 of operand 1",
        ),
        (
            "comp.reshape",
            "tensor<12xf32>",
            "tensor<?x4x5xf32>",
            "pattern = #comp.rule<[(a b c)] -> [a, b, c]>",
            "(a b c) is 12, which the other factors (20) do not divide",
        ),
    ],
)
def test_sizes_that_do_not_fit(
    name: str, operands: str, results: str, properties: str, expected: str
) -> None:
    assert expected in message(op(name, operands, results, properties))


@pytest.mark.parametrize(
    ("name", "operands", "results", "properties"),
    [
        ("comp.matmul", "tensor<?x7xf32>; tensor<7x?xf32>", "tensor<?x?xf32>", ""),
        ("comp.matmul", "tensor<?x?xf32>; tensor<7x3xf32>", "tensor<5x3xf32>", ""),
        ("comp.matmul", "tensor<0x0xf32>; tensor<0x0xf32>", "tensor<0x0xf32>", ""),
        ("comp.reduce", "tensor<?x9xf32>", "tensor<4xf32>", SUM_OF_COLUMNS),
    ],
)
def test_open_sizes_fit(name: str, operands: str, results: str, properties: str) -> None:
    op(name, operands, results, properties).verify()


# Layouts

SLICED = "#layout.dist<tp = sliced(1)>"
PARTIAL = "#layout.dist<tp = partial(sum)>"


def test_the_result_must_have_the_layout_that_the_rule_makes() -> None:
    wrong = op("comp.reduce", f"tensor<?x9xf32, {SLICED}>", "tensor<?xf32>", SUM_OF_COLUMNS)
    assert (
        "its result has the layout replicated, but the operands make it <tp = partial(sum)>"
        in message(wrong)
    )
    op("comp.reduce", f"tensor<?x9xf32, {SLICED}>", f"tensor<?xf32, {PARTIAL}>", SUM_OF_COLUMNS)


def test_layout_problem_names_the_result() -> None:
    rule = pattern("[m, k] -> [m] [k], m = whole, k = whole").instantiate((2,))
    local = "#layout.dist<tp = local>"
    two = op("test.two", f"tensor<2x3xf32, {local}>", f"tensor<2xf32, {local}>; tensor<3xf32>")
    problem = "result 1 has the layout replicated, but the operands make it <tp = local>"
    assert layout_problem(rule, two) == problem


def test_a_sliced_dimension_that_is_not_there() -> None:
    wrong = op("arith.negf", f"tensor<4xf32, {SLICED}>", f"tensor<4xf32, {SLICED}>")
    assert message(wrong).startswith("sliced(1) is out of range: the tensor has 1 dimension(s)")


def test_views_of_an_operation() -> None:
    matmul = op("comp.matmul", f"tensor<5x8xf32, {SLICED}>; tensor<8x2xf32>", "tensor<5x2xf32>")
    assert operand_dists(matmul) == (Dist.of([Cut(("tp",), 1)]), REPLICATED)
    assert [rank_of(value.type) for value in matmul.operands] == [2, 2]
    scalar = op("comp.scale", "tensor<f32>; f32", "tensor<f32>")
    assert [rank_of(value.type) for value in scalar.operands] == [0, None]
    assert rule_of(op("test.unknown", "f32", "f32")) is None


# Rules of an operation


def test_pointwise() -> None:
    rule = pointwise(op("test.x", "tensor<3x4xf32>; f32", "tensor<3x4xi1>"), frozenset({Kind.MAX}))
    assert str(rule) == "[d0, d1] () -> [d0, d1], joint(max)"
    assert str(pointwise(op("test.x", "f32", "index"))) == "() -> ()"
    with pytest.raises(RuleError, match="its tensors have different numbers of dimensions"):
        pointwise(op("test.x", "tensor<3xf32>; tensor<f32>", "tensor<3xf32>"))


def test_by_pattern() -> None:
    rule = pattern("[*b, n] () -> [*b], n = whole")
    found = by_pattern(op("test.x", "tensor<3x4xf32>; f32", "tensor<3xf32>"), rule)
    assert str(found) == "[b.0, n] () -> [b.0], n = whole"
    for results, expected in (
        ("tensor<f32>", "result 0 must be a tensor of 1 dimension(s)"),
        ("f32", "result 0 must be a tensor of 1 dimension(s)"),
        ("tensor<3xf32>; f32", "has 1 result(s), but the operation 2"),
    ):
        with pytest.raises(RuleError) as error:
            by_pattern(op("test.x", "tensor<3x4xf32>; f32", results), rule)
        assert expected in str(error.value)
    with pytest.raises(RuleError, match="result 0 must be no tensor"):
        by_pattern(op("test.x", "tensor<3xf32>", "tensor<f32>"), pattern("[n] -> (), n = whole"))


# Functions that are not inferred yet

BODY = """
  %1 = comp.matmul %x, %w : (tensor<5x8xf32{x}>, tensor<8x2xf32>) -> tensor<5x2xf32>
  func.return %1 : tensor<5x2xf32>
"""


def function(mark: str, result: str, layout: str) -> FuncOp:
    body = BODY.replace("{x}", layout)
    text = (
        f"func.func @f(%x: tensor<5x8xf32{layout}>{mark}, %w: tensor<8x2xf32>) "
        f"-> (tensor<5x2xf32>{result}) {{{body}}}"
    )
    func = parse(text)
    assert isinstance(func, FuncOp)
    return func


MARK = f" {{layout.of = {SLICED}}}"


@pytest.mark.parametrize(
    ("mark", "result", "uninferred"),
    [("", "", False), (MARK, "", True), ("", MARK, True), (" {coconet.state}", "", False)],
)
def test_a_function_with_layout_of_is_not_inferred_yet(
    mark: str, result: str, uninferred: bool
) -> None:
    func = function(mark, result, "")
    assert is_uninferred(func) == uninferred
    first = func.body.block.first_op
    assert first is not None
    assert in_uninferred_function(first) == uninferred
    assert not in_uninferred_function(func)


def test_layouts_are_checked_once_inferred() -> None:
    """In either order: what is seen in one function is not taken to hold in another."""
    for _ in range(2):
        function(MARK, "", f", {SLICED}").verify()
        with pytest.raises(VerifyException, match="dimension 'k' is sliced by"):
            function("", "", f", {SLICED}").verify()


def test_sizes_are_checked_before_inference() -> None:
    text = """
    func.func @f(%x: tensor<5x8xf32> {layout.of = #layout.dist<tp = local>}, %w: tensor<7x2xf32>) {
      %1 = comp.matmul %x, %w : (tensor<5x8xf32>, tensor<7x2xf32>) -> tensor<5x2xf32>
      func.return
    }"""
    with pytest.raises(VerifyException, match="'k' is 8 in dimension 1 of operand 0, but 7"):
        parse(text).verify()
