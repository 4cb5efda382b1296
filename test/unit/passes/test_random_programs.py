"""Rewrites of random programs keep what they compute; those that a wrong rule or pass breaks are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from coconet_ir.analysis import inference
from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.notation import Reduction, Role, Rule
from coconet_ir.dialects import comp
from coconet_ir.dialects.comp import SoftmaxOp
from coconet_ir.passes import split as split_pass

APPLIED = (
    ("infer", "func.func"),
    *(("split", f"all_reduce {kind}") for kind in ("sum", "avg", "max", "min")),
    ("split axes", "all_reduce sum"),
    ("split reduce-broadcast", "all_reduce sum"),
    ("slice", "arith.addf"),
    ("slice", "coll.all_reduce"),
    *(
        ("reorder all_gather", op)
        for op in (
            *(
                "arith.addf",
                "arith.mulf",
                "arith.subf",
                "comp.matmul",
                "comp.broadcast",
                "comp.reshape",
            ),
            *("comp.transpose", "comp.dropout", "comp.reduce", "layout.slice", "comp.scale"),
        )
    ),
    ("reorder broadcast", "arith.addf"),
    ("reorder broadcast", "comp.matmul"),
)
"""Rewrites that the few programs here must be enough for."""


def test_rewrites_keep_what_a_program_computes(random_programs: Any) -> None:
    tally = random_programs.Tally()
    for seed in range(1, 101):
        random_programs.run_case(seed, tally)
    assert tally.operations > 6 * tally.programs
    missing = [pair for pair in APPLIED if not tally.applied[pair]]
    assert len(missing) <= 3, missing


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What was inferred under a wrong rule is forgotten."""
    memoised = (inference.propagate, inference.align, inference.withdraw)
    for function in memoised:
        function.cache_clear()
    yield
    for function in memoised:
        function.cache_clear()


def breaks(random_programs: Any, first: int = 0) -> str:
    """What the first program, from that number on, shows that does not survive its rewrites."""
    for seed in range(first, first + 300):
        try:
            random_programs.run_case(seed, random_programs.Tally())
        except random_programs.Broken as error:
            return str(error)
    return ""


def test_a_wrong_rule_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[[SoftmaxOp], Rule] = SoftmaxOp.rule

    def wrong(op: SoftmaxOp) -> Rule:
        return Rule(right(op).operands, right(op).results)

    monkeypatch.setattr(SoftmaxOp, "rule", wrong)
    assert "softmax" in breaks(random_programs)


def test_a_wrong_reduction_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Rule] = comp._reduction_rule  # pyright: ignore[reportPrivateUsage]

    def wrong(rank: int, dims: tuple[int, ...], role: Role, joint: frozenset[Kind]) -> Rule:
        return right(
            rank, dims, Reduction(Kind.MAX) if role == Reduction(Kind.SUM) else role, joint
        )

    monkeypatch.setattr(comp, "_reduction_rule", wrong)
    assert "all_reduce max" in breaks(random_programs)


@pytest.mark.usefixtures("forgetful")
def test_a_wrong_unit_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rule: Rule, factors: Sequence[str]) -> int:
        return 1

    monkeypatch.setattr(Rule, "inner_size", wrong)
    assert "reshape" in breaks(random_programs, first=120)


def test_a_wrong_split_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = split_pass.ReduceScatterOp

    def wrong(input: Any, kind: Kind, *rest: Any, **properties: Any) -> Any:
        return right(input, Kind.MAX if kind is Kind.MIN else kind, *rest, **properties)

    monkeypatch.setattr(split_pass, "ReduceScatterOp", wrong)
    assert "reduce_scatter max" in breaks(random_programs)


def test_what_counts_as_close(random_programs: Any) -> None:
    old = np.asarray([1.0, 1e6, np.inf, np.nan])
    assert random_programs.close(old + np.asarray([0, 1e-7, 0, 0]), old)
    assert not random_programs.close(old + np.asarray([0, 1e-5, 0, 0]), old)
    assert not random_programs.close(np.asarray([1.0, 1e6, 0.0, np.nan]), old)
    assert not random_programs.close(np.asarray([1, 2], np.int32), np.asarray([1, 3], np.int32))
