"""All schedules of the protocol kernels, in small: three calls of two ranks with one block each."""

from __future__ import annotations

from typing import Any

import pytest

from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.schedules.explore import explore

SIZES = {"push": (4, (3, 5, 4)), "two_shot": (2, (1, 3, 2)), "one_shot": (4, (5, 0, 4))}
"""Threads of a block, and elements of each call."""
MOST = 2000


def first_finding(protocols: Any, protocol: str, ptx: str) -> tuple[str, str] | None:
    """The first schedule that shows something wrong, and what; None if all are clean."""
    plan = protocols.plan(protocol, protocols.Setting(2, 1, *SIZES[protocol]), ptx)
    for number, tried in enumerate(explore(Emulator(plan.job))):
        assert number < MOST
        if tried.outcome is not None:
            for finding in tried.outcome.findings or plan.differences(tried.outcome.memory):
                return tried.name, finding.kind
    return None


def test_clean(protocols: Any, protocol: str) -> None:
    assert first_finding(protocols, protocol, protocols.source(protocol)) is None


FOUND = [
    ("push", "delete barrier", 87),
    ("push", "never waits", 84),
    ("push", "never waits", 112),
    ("push", "delete fence", 106),
    ("push", "number is not kept", 135),
    ("two_shot", "never waits", 68),
    ("two_shot", "never waits", 119),
    ("two_shot", "acquire -> relaxed", 65),
    ("two_shot", "number of the call before", 113),
    ("one_shot", "one half alone", 54),
    ("one_shot", "no packet for nothing", 57),
    ("one_shot", "never waits", 96),
    ("one_shot", "number is not kept", 113),
]
"""Mutants by operator and line. Some need a rank or a thread to stand still at one place."""


@pytest.mark.parametrize(("kernel", "operator", "line"), FOUND)
def test_mutant_is_found(
    protocols: Any, mutants: Any, expectations: Any, kernel: str, operator: str, line: int
) -> None:
    made = mutants.mutants(protocols.source(kernel))
    (mutant,) = [one for one in made if (one.operator, one.line) == (operator, line)]
    found = first_finding(protocols, kernel, mutant.text)
    assert found is not None
    name, kind = found
    assert kind in expectations.kinds(kernel, operator)
    plan = protocols.plan(kernel, protocols.Setting(2, 1, *SIZES[kernel]), mutant.text)
    outcome = Emulator(plan.job).run(name)
    (again,) = [*(outcome.findings or plan.differences(outcome.memory))][:1]
    assert again.kind == kind
