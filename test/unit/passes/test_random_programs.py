"""Rewrites of random programs keep what they compute; those that a wrong rule or pass breaks are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from coconet_ir.analysis import chunks, dependences, inference
from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.notation import Reduction, Role, Rule
from coconet_ir.dialects import comp
from coconet_ir.dialects.comp import SoftmaxOp
from coconet_ir.passes import combine as combine_pass
from coconet_ir.passes import fuse as fuse_pass
from coconet_ir.passes import split as split_pass

APPLIED = (
    ("infer", "func.func"),
    *(("split", f"coll.all_reduce {kind}") for kind in ("sum", "avg", "max", "min")),
    ("split axes", "coll.all_reduce"),
    ("split reduce-broadcast", "coll.all_reduce"),
    ("slice", "coll.all_reduce"),
    ("slice", "argument"),
    *(
        ("reorder all_gather", op)
        for op in (
            *("arith.addf", "arith.select", "comp.matmul", "comp.broadcast", "comp.reshape"),
            *("comp.transpose", "comp.dropout", "comp.reduce", "comp.scale", "coll.permute"),
        )
    ),
    ("reorder broadcast", "arith.addf"),
    ("reorder broadcast", "comp.matmul"),
    ("slice-state", "comp.update"),
    *(("fuse", op) for op in ("arith.addf", "comp.update", "coll.all_gather")),
    *(("fuse", op) for op in ("coll.reduce_scatter", "coll.all_reduce", "coll.permute")),
    *(("overlap", op) for op in ("comp.matmul", "coll.all_reduce", "coll.fused")),
    *(("combine", op) for op in ("coll.all_reduce", "coll.all_gather")),
    *(("inline-schedule", op) for op in ("coll.fused", "coll.overlap", "coll.group")),
)
"""Rewrites that the few programs here must be enough for."""


def test_rewrites_keep_what_a_program_computes(random_programs: Any) -> None:
    tally = random_programs.Tally()
    for seed in range(1, 101):
        random_programs.run_case(seed, tally)
    assert tally.operations >= 10 * tally.programs
    missing = tally.lacking(APPLIED, 1)
    assert 6 * len(missing) <= len(APPLIED), missing


def test_every_pair_that_is_legal_can_be_counted(random_programs: Any) -> None:
    tally = random_programs.Tally()
    tally.applied["fuse", "arith.addf"] = 50
    pairs = [("fuse", "arith.addf"), ("fuse", "arith.mulf")]
    assert tally.lacking(pairs, 50) == ["fuse, arith.mulf: 0"]
    assert ("fuse", "arith.addf") in random_programs.legal_pairs()


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What was inferred under a wrong rule is forgotten."""
    memoised = (inference.propagate, inference.align, inference.withdraw)
    for function in memoised:
        function.cache_clear()
    yield
    for function in memoised:
        function.cache_clear()


def breaks(random_programs: Any, motif: str) -> str:
    """What the first program, of those about a motif, shows that does not survive its rewrites."""
    foci = random_programs.FOCI
    about = [n for n, focus in enumerate(foci) if motif in focus.motif.__qualname__]
    for turn in range(300 // len(about)):
        for number in about:
            try:
                random_programs.run_case(turn * len(foci) + number, random_programs.Tally())
            except random_programs.Broken as error:
                return str(error)
    return ""


def ignore(*_: object) -> tuple[object, ...]:
    """Takes the place of a check, or of what one looks at."""
    return ()


def first_name(op: Operation, rule: Rule, names: Sequence[str]) -> str:
    """Chunks of any dimension."""
    return names[0]


def test_a_wrong_rule_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[[SoftmaxOp], Rule] = SoftmaxOp.rule

    def wrong(op: SoftmaxOp) -> Rule:
        return Rule(right(op).operands, right(op).results)

    monkeypatch.setattr(SoftmaxOp, "rule", wrong)
    assert "softmax" in breaks(random_programs, "read_by")


def test_a_wrong_reduction_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Rule] = comp._reduction_rule  # pyright: ignore[reportPrivateUsage]

    def wrong(rank: int, dims: tuple[int, ...], role: Role, joint: frozenset[Kind]) -> Rule:
        return right(
            rank, dims, Reduction(Kind.MAX) if role == Reduction(Kind.SUM) else role, joint
        )

    monkeypatch.setattr(comp, "_reduction_rule", wrong)
    assert "all_reduce max" in breaks(random_programs, "read_by")


@pytest.mark.usefixtures("forgetful")
def test_a_wrong_unit_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rule: Rule, factors: Sequence[str]) -> int:
        return 1

    monkeypatch.setattr(Rule, "inner_size", wrong)
    assert "reshape" in breaks(random_programs, "read_by")


def test_a_wrong_split_shows(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = split_pass.ReduceScatterOp

    def wrong(input: Any, kind: Kind, *rest: Any, **properties: Any) -> Any:
        return right(input, Kind.MAX if kind is Kind.MIN else kind, *rest, **properties)

    monkeypatch.setattr(split_pass, "ReduceScatterOp", wrong)
    assert "reduce_scatter max" in breaks(random_programs, "reduced")


def test_sets_that_are_not_convex_show(
    random_programs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse_pass, "check_convex", ignore)
    assert breaks(random_programs, "overtaken")


def test_forgotten_reads_of_what_is_overwritten_show(
    random_programs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependences, "data_uses", ignore)
    assert breaks(random_programs, "overtaken")


def test_wrong_chunks_show(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_the_name", first_name)
    assert "changes early" in breaks(random_programs, "pipeline")


def test_dependent_collectives_show(random_programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine_pass, "_check_independent", ignore)
    assert breaks(random_programs, "twins")


def test_what_counts_as_close(random_programs: Any) -> None:
    old = np.asarray([1.0, 1e6, np.inf, np.nan])
    assert random_programs.close(old + np.asarray([0, 1e-7, 0, 0]), old)
    assert not random_programs.close(old + np.asarray([0, 1e-5, 0, 0]), old)
    assert not random_programs.close(np.asarray([1.0, 1e6, 0.0, np.nan]), old)
    assert not random_programs.close(np.asarray([1, 2], np.int32), np.asarray([1, 3], np.int32))
