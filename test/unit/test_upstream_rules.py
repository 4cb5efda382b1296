"""The dimension rules of `arith`, `math` and `tensor`, those of partial values against exact arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import Builtin, Float8E4M3FNType
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import REPLICATED, Cut, Dist, Kind, Partial
from coconet_ir.analysis.inference import propagate
from coconet_ir.analysis.notation import REDUCTIONS, Rule
from coconet_ir.analysis.rules import HasRule, rule_of
from coconet_ir.dialects import arith, layout, math, tensor
from coconet_ir.dialects.elements import element_of
from coconet_ir.schedule.remarks import Refused

PROGRAM = Path(__file__).with_name("upstream_operations.mlir").read_text()
SLICED = Dist.of([Cut(("tp",), 0)])
FRAME = "tensor<4x?x"
"""The type of every tensor operand in the program, but one without dimensions."""


def operations(
    keep: Callable[[str], bool] = lambda line: True, layout_text: str = ""
) -> list[Operation]:
    """The verified operations of the program's lines that are kept, their tensors in a layout."""
    lines = [line for line in PROGRAM.splitlines() if not line.startswith('  "') or keep(line)]
    text = "\n".join(lines)
    if layout_text:
        text = re.sub(r"(tensor<[\d?]+x[^<>]*)>", rf"\1, #layout.dist{layout_text}>", text)
    ctx = Context()
    for dialect in (Builtin, Func, arith.Arith, math.Math, tensor.Tensor, layout.Layout):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return [op for op in module.walk() if op.name.split(".")[0] in ("arith", "math", "tensor")]


def the_rule(op: Operation) -> Rule:
    """The rule of an operation that must have one."""
    rule = rule_of(op)
    assert rule is not None, op.name
    return rule


def test_each_operation_has_one_rule_and_no_effect() -> None:
    for op in operations():
        assert sum(isinstance(trait, HasRule) for trait in op.traits) == 1, op.name
        assert is_side_effect_free(op), op.name


def test_operations_that_state_no_rule_got_none() -> None:
    ruled = {"tensor.splat", "tensor.dim", "tensor.extract"}
    others = [op for op in tensor.Tensor.operations if op.name not in ruled]
    for op in (*others, *memref.MemRef.operations):
        assert not any(isinstance(trait, HasRule) for trait in op.traits), op.name


def test_operations_on_scalars_have_no_dimensions() -> None:
    for op in operations(lambda line: "tensor" not in line):
        rule = the_rule(op)
        assert {*rule.operands, *rule.results} == {None}
        assert propagate(rule, (SLICED,) * len(op.operands)) == (REPLICATED,) * len(op.results)


def test_operations_on_tensors_pass_slices_on() -> None:
    for op in operations(lambda line: FRAME in line and "tensor.dim" not in line, str(SLICED)):
        rule = the_rule(op)
        dists = tuple(REPLICATED if shape is None else SLICED for shape in rule.operands)
        assert propagate(rule, dists) == (SLICED,) * len(op.results), op.name
        assert not rule.role, op.name


MEANINGS: dict[str, Callable[..., Any]] = {
    "addf": np.add,
    "addi": np.add,
    "subf": np.subtract,
    "subi": np.subtract,
    "mulf": np.multiply,
    "muli": np.multiply,
    "negf": np.negative,
    "maximumf": np.maximum,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "minsi": np.minimum,
    "cmpf": np.less,
    "cmpi": np.less,
    "ori": np.bitwise_or,
    "andi": np.bitwise_and,
    "xori": np.bitwise_xor,
    "extf": np.positive,
    "truncf": np.positive,
}
"""Operations on numbers that are exact in every element type."""

FOLDS: dict[Kind, Callable[[Any, Any], Any]] = {
    Kind.SUM: np.add,
    Kind.PROD: np.multiply,
    Kind.MAX: np.maximum,
    Kind.MIN: np.minimum,
}


def is_jointly_linear(meaning: Callable[..., Any], kind: Kind, arity: int) -> bool:
    """Whether reducing, then computing, equals computing, then reducing, on 2 and on 3 ranks."""
    random = np.random.default_rng(5)
    fold = FOLDS[kind]
    for ranks in (2, 3):
        signs = random.choice([-1, 1], (arity, ranks, 40))
        numbers = random.integers(1, 9, (arity, ranks, 40)) * signs
        whole = meaning(*(reduce(fold, operand) for operand in numbers))
        parts = reduce(fold, [meaning(*numbers[:, rank]) for rank in range(ranks)])
        if not np.array_equal(whole, parts):
            return False
    return True


def test_partial_values_pass_exactly_where_arithmetic_allows() -> None:
    for op in operations(lambda line: FRAME in line):
        rule, name = the_rule(op), op.name.removeprefix("arith.")
        if name not in MEANINGS:
            assert not rule.joint, op.name
            continue
        for kind in REDUCTIONS:
            linear = is_jointly_linear(MEANINGS[name], kind, len(op.operands))
            # Rounding commutes with maxima, and with sums up to their own rounding; products stay out.
            expected = linear and not (name in ("extf", "truncf") and kind is Kind.PROD)
            if name == "truncf" and kind in (Kind.MAX, Kind.MIN):
                # f8E4M3FN has no infinity to round to, which the extreme of nothing is.
                expected = not isinstance(element_of(op.results[0].type), Float8E4M3FNType)
            assert (kind in rule.joint) == expected, (op.name, kind)


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_partial_values_are_refused_elsewhere(kind: Kind) -> None:
    partial = Dist.of(states=[("tp", Partial(kind))])
    for op in operations(lambda line: FRAME in line):
        rule = the_rule(op)
        dists = tuple(REPLICATED if shape is None else partial for shape in rule.operands)
        if op.name == "tensor.dim":
            assert propagate(rule, dists) == (REPLICATED,)
        elif kind in rule.joint:
            assert propagate(rule, dists) == (partial,) * len(op.results)
        else:
            with pytest.raises(Refused):
                propagate(rule, dists)


def test_only_replicated_tensors_give_up_an_element() -> None:
    value, place = (
        operations(lambda line: f'"tensor.{name}"' in line)[0] for name in ("extract", "dim")
    )
    assert propagate(the_rule(value), (REPLICATED,)) == (REPLICATED,)
    with pytest.raises(Refused):
        propagate(the_rule(value), (Dist.of(states=[("tp", Partial(Kind.SUM))]),))
    element = tensor.ExtractOp(place.operands[0], place.operands[1], place.operands[1])
    with pytest.raises(Refused, match="whole"):
        propagate(the_rule(element), (SLICED, REPLICATED, REPLICATED))


@pytest.mark.parametrize("layout_text", ["<tp = sliced(0)>", "<tp = local>", "<tp = root(3)>"])
def test_generators_take_any_layout(layout_text: str) -> None:
    assert operations(lambda line: '"arith.constant"' in line, layout_text)


@pytest.mark.parametrize("name", ["arith.constant", "tensor.splat"])
def test_generators_are_never_partial(name: str) -> None:
    with pytest.raises(VerifyException, match="the operands make it replicated"):
        operations(lambda line: f'"{name}"' in line, "<tp = partial(sum)>")
