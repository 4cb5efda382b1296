"""Rules against the simulator's kernels: each built-in rule holds, and is no stricter than it needs to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coconet_ir.analysis.check_rule import CannotEvaluate, Part, Subject, violations
from coconet_ir.analysis.notation import REDUCTIONS, Reduction, Whole, pattern
from coconet_ir.sim.elements import Array

V, M, C, Q = "tensor<?xf32>", "tensor<?x?xf32>", "tensor<?x?x?xf32>", "tensor<?x?x?x?xf32>"
H = "tensor<?x?xbf16>"
OFFSETS = "tensor<?xi64>"
CONV = {"h": 5, "w": 4, "kh": 3, "kw": 2}
SEGMENTS = {"t": 3, "o": 4}
BUILT_IN: dict[str, tuple[str, dict[str, int]]] = {
    "matmul": (f"comp.matmul %({M}), %({M}) : ({M}, {M}) -> {M}", {}),
    "matmul of a batch": (f"comp.matmul %({C}), %({M}) : ({C}, {M}) -> {C}", {}),
    "batched matmul": (f"comp.matmul %({C}), %({C}) : ({C}, {C}) -> {C}", {}),
    "twice batched matmul": (f"comp.matmul %({Q}), %({Q}) : ({Q}, {Q}) -> {Q}", {}),
    "matmul bf16": (f"comp.matmul %({H}), %({H}) : ({H}, {H}) -> {H}", {}),
    "matmul i32": (
        "comp.matmul %(tensor<?x?xi32>), %(tensor<?x?xi32>) : "
        "(tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>",
        {},
    ),
    "conv2d": (f"comp.conv2d %({Q}), %({Q}) : ({Q}, {Q}) -> {Q}", CONV),
    "conv2d padded": (
        f"comp.conv2d %({Q}), %({Q}) {{strides = array<i64: 2, 1>, padding = array<i64: 1, 2>}} : "
        f"({Q}, {Q}) -> {Q}",
        CONV,
    ),
    **{
        f"reduce {kind} {dims}": (f"comp.reduce {kind} %({C}) dims {dims} : {C} -> {result}", {})
        for kind in ("sum", "prod", "max", "min")
        for dims, result in (("[1]", M), ("[0, 2]", V), ("[0, 1, 2]", "tensor<f32>"), ("[]", C))
    },
    "reduce i64": (
        "comp.reduce max %(tensor<?x?xi64>) dims [0] : tensor<?x?xi64> -> tensor<?xi64>",
        {},
    ),
    "reduce bf16": (f"comp.reduce sum %({H}) dims [1] : {H} -> tensor<?xbf16>", {}),
    "norm": (f"comp.norm %({M}) dims [1] : {M} -> {V}", {}),
    "norm of all": (f"comp.norm %({M}) : {M} -> tensor<f32>", {}),
    "mean": (f"comp.mean %({C}) dims [0] : {C} -> {M}", {}),
    "mean of all": (f"comp.mean %({H}) : {H} -> tensor<bf16>", {}),
    "softmax": (f"comp.softmax %({C}) dim 1 : {C}", {}),
    "softmax bf16": (f"comp.softmax %({H}) dim 1 : {H}", {}),
    "rms_norm": (
        f"comp.rms_norm %({C}), %({V}) {{eps = 1.0e-6 : f32}} : ({C}, {V}) -> {C}",
        {},
    ),
    "dropout": (f"comp.dropout %({C}), %(i64) {{p = 3.0e-1 : f32, id = 5 : i64}} : {C}", {}),
    "scale": (f"comp.scale %({M}) by %(f32) : {M}", {}),
    "scale i64": ("comp.scale %(tensor<?xi64>) by %(i64) : tensor<?xi64>", {}),
    "broadcast": (f"comp.broadcast %({M}) dims [0, 2] : {M} -> tensor<?x4x?xf32>", {}),
    "broadcast across": (f"comp.broadcast %({M}) dims [2, 0] : {M} -> tensor<?x4x?xf32>", {}),
    "broadcast like": (f"comp.broadcast %({V}) dims [1] like %({C}) : {V}, {C} -> {C}", {}),
    "broadcast of 0-d": (
        f"comp.broadcast %(tensor<f32>) dims [] like %({M}) : tensor<f32>, {M} -> {M}",
        {},
    ),
    "split a product": (
        "comp.reshape %(tensor<?x?xf32>) [b, (h d)] -> [b, h, d] : tensor<?x?xf32> -> tensor<?x?x4xf32>",
        {},
    ),
    "merge a product": (
        "comp.reshape %(tensor<?x?x4xf32>) [b, h, d] -> [b, (h d)] : tensor<?x?x4xf32> -> tensor<?x?xf32>",
        {},
    ),
    "merge two": (
        "comp.reshape %(tensor<?x3x2xf32>) [a, b, c] -> [(a b c)] : tensor<?x3x2xf32> -> tensor<?xf32>",
        {},
    ),
    "regroup": (
        "comp.reshape %(tensor<?x5xf32>) [(a b), c] -> [a, (b c)] : tensor<?x5xf32> -> tensor<?x15xf32>",
        {},
    ),
    "rename": (f"comp.reshape %({M}) [m, n] -> [m, n] : {M} -> {M}", {}),
    "transpose": (f"comp.transpose %({C}) perm [2, 0, 1] : {C} -> {C}", {}),
    "update": (f"comp.update %({M}), %({M}) : {M}", {}),
    **{
        f"segment_reduce {kind}": (
            f"comp.segment_reduce {kind} %({V}), %({OFFSETS}) : ({V}, {OFFSETS}) -> {V}",
            SEGMENTS,
        )
        for kind in ("sum", "prod", "max", "min")
    },
    "segment_broadcast": (
        f"comp.segment_broadcast %({V}), %({OFFSETS}) like %({V}) : ({V}, {OFFSETS}, {V}) -> {V}",
        SEGMENTS,
    ),
    "splat": (f"tensor.splat %(f32)[%(index), %(index)] : {M}", {}),
    "extract": (f"tensor.extract %({M})[%(index), %(index)] : {M}", {}),
    "dim": (f"tensor.dim %({M}), %(index) : {M}", {}),
    "constant": (
        "arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>",
        {"d0": 2, "d1": 3},
    ),
    "axis_size": ("layout.axis_size over [dp] : index", {}),
}
"""Operations of comp, tensor and layout, and the sizes of names for which they have a result."""


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
def test_rules_of_operations_hold(
    name: str, exact: bool, subject_of: Callable[..., Subject]
) -> None:
    line, sizes = BUILT_IN[name]
    assert violations(subject_of(line, exact=exact, sizes=sizes)) == []


def test_rules_of_elementwise_operations_hold(elementwise: list[tuple[str, Subject]]) -> None:
    for name, subject in elementwise:
        assert violations(subject) == [], name
    assert len({name for name, _ in elementwise}) > 70


TIED = {"conv2d": ("oh", "ow"), "conv2d padded": ("oh", "ow"), "segment_broadcast": ("t", "o")}
"""Whole names whose size follows from others, which no test can slice alone."""


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_dimension_is_whole_without_need(name: str, subject_of: Callable[..., Subject]) -> None:
    line, sizes = BUILT_IN[name]
    right = replace(subject_of(line, exact=True, sizes=sizes), budget=100)
    given = {n for shape in right.rule.results for factors in shape or () for n in factors}
    for dim, role in right.rule.roles:
        if (
            not isinstance(role, Whole)
            or dim in TIED.get(name, ("o",))
            or None in right.rule.results
        ):
            continue
        others = tuple(entry for entry in right.rule.roles if entry[0] != dim)
        kinds = () if dim in given else REDUCTIONS
        for roles in [(*others, (dim, Reduction(kind))) for kind in kinds] or [others]:
            wrong = replace(right, rule=replace(right.rule, roles=roles))
            assert [v.claim for v in violations(wrong)] == [dim]


# What has no result


def test_an_operation_without_any_result_cannot_be_evaluated() -> None:
    def refuse(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        raise CannotEvaluate("it needs seven dimensions")

    rule = pattern("[m] -> [m]").instantiate((1,))
    with pytest.raises(CannotEvaluate, match="seven dimensions"):
        violations(Subject(rule, (np.dtype(np.float32),), refuse))


def test_reductions_of_a_name_in_several_results() -> None:
    def both(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        (x,) = arrays
        return [x.sum(axis=1), x.max(axis=0, initial=-np.inf)]

    def role(text: str) -> list[str]:
        rule = pattern(f"[m, k] -> [m] [k], {text}").instantiate((2,))
        assert isinstance(rule.role["m"], Reduction)
        return [v.claim for v in violations(Subject(rule, (np.dtype(np.float64),), both))]

    assert role("m = reduction(max), k = reduction(sum)") == []
    assert role("m = reduction(sum), k = reduction(sum)") == ["m"]
    assert role("m = reduction(max), k = reduction(max)") == ["k"]


def test_rounding_is_forgiven_only_where_allowed() -> None:
    def unstable(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        (x,) = arrays
        return [x * (1 + 4e-16 * (x.shape[0] % 2))]

    rule = pattern("[m] -> [m]").instantiate((1,))
    case = Subject(rule, (np.dtype(np.float64),), unstable)
    assert violations(replace(case, bit_equal=False)) == []
    assert [v.claim for v in violations(case)] == ["m"]


def test_a_budget_still_tries_each_claim() -> None:
    calls: list[Any] = []

    def sums(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        calls.append(arrays)
        return [arrays[0].sum(axis=1)]

    rule = pattern("[m, k] -> [m], k = reduction(max)").instantiate((2,))
    found = violations(Subject(rule, (np.dtype(np.float64),), sums, budget=1))
    assert [v.claim for v in found] == ["k"]
    assert len(calls) < 20
