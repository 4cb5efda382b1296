"""The emulator shows what PTX's memory model allows, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

FEWEST, MOST = 60, 1000
"""Schedules that are run: at least so many, and more until all is shown that should be, some of which is rare."""


def test_litmus(litmus: Any, form: Any) -> None:
    running = form.Running(litmus)
    kinds: set[str] = set()
    seen: set[tuple[int, ...]] = set()
    for seed in range(MOST):
        if seed >= FEWEST and seen >= litmus.seen and bool(kinds) == bool(litmus.kinds):
            break
        shown = running.run(seed)
        if isinstance(shown, str):
            kinds.add(shown)
        else:
            seen.add(shown)
    where = f"section {litmus.section}\n{form.kernel(litmus)}"
    assert kinds <= set(litmus.kinds), where
    assert bool(kinds) == bool(litmus.kinds), where
    assert seen <= litmus.allowed, where
    assert seen >= litmus.seen, where


@pytest.mark.parametrize("seed", range(12))
def test_random_program(seed: int, random_programs: Any) -> None:
    assert random_programs.disagreements(random_programs.make(seed), 60) == []
