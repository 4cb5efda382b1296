"""The emulator shows what PTX's memory model allows, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from coconet_ir.emu.machine import Emulator

FEWEST, MOST = 80, 1000
"""Schedules that are run: at least so many, and more until all is shown that should be, some of which is rare."""


def test_litmus(litmus: Any, form: Any) -> None:
    plan = form.plan(litmus)
    names = {memory.name: owner for owner, memory in plan.job.ranks[0].memory.items()}
    emulator = Emulator(plan.job)
    kinds: set[str] = set()
    seen: set[tuple[int, ...]] = set()
    for seed in range(MOST):
        if seed >= FEWEST and seen >= litmus.seen and bool(kinds) == bool(litmus.kinds):
            break
        outcome = emulator.run(seed)
        if outcome.findings:
            kinds.add(outcome.findings[0].kind)
            continue
        stored = [np.frombuffer(one[names["results"]], np.uint32) for one in outcome.memory]
        memory = np.frombuffer(outcome.memory[0][names["memory"]], np.uint32)
        seen.add(form.observed(litmus, [one.tolist() for one in stored], memory.tolist()))
    where = f"section {litmus.section}\n{form.kernel(litmus)}"
    assert kinds <= set(litmus.kinds), where
    assert bool(kinds) == bool(litmus.kinds), where
    assert seen <= litmus.allowed, where
    assert seen >= litmus.seen, where
