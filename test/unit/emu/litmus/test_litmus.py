"""The emulator shows what PTX's memory model allows, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

SCHEDULES = 8
"""Those of seeds, which show nothing that the exhaustive search does not."""


def test_litmus(litmus: Any, form: Any) -> None:
    running = form.Running(litmus)
    shown: set[Any] = running.all()
    seeded = {running.run(seed) for seed in range(SCHEDULES)}
    kinds = {one for one in shown if isinstance(one, str)}
    seen = shown - kinds
    where = f"section {litmus.section}\n{form.kernel(litmus)}"
    assert kinds <= set(litmus.kinds), where
    assert bool(kinds) == bool(litmus.kinds), where
    assert seen <= litmus.allowed, where
    assert seen >= litmus.seen, where
    assert seeded <= shown | set(litmus.kinds), where


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed: int, random_programs: Any) -> None:
    assert random_programs.disagreements(random_programs.make(seed)) == []


SMALL = (7, 8, 9, 11, 13, 14, 16, 17, 18, 19, 20, 22, 25, 28, 33, 36, 37, 38, 42, 44)
"""Programs with several results and not too many orders."""


@pytest.mark.parametrize("seed", SMALL)
def test_all_orders_of_a_random_program(seed: int, orders: Any) -> None:
    shown, every = orders.compare(orders.make(seed))
    assert shown == every
