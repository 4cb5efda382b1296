"""Protocol kernels are clean; whatever is deleted or weakened in one is found; correct variants are clean."""

from __future__ import annotations

import re
from typing import Any

import pytest

from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.reports.findings import Finding

SCHEDULES = 200
"""Of each kernel; `clean.py` runs more."""


@pytest.mark.parametrize("name", ["two ranks", "three ranks", "four ranks", "two warps"])
def test_clean(protocols: Any, expectations: Any, protocol: str, name: str) -> None:
    share, setting = expectations.CLEAN[name]
    plan = protocols.plan(protocol, setting, protocols.source(protocol))
    assert protocols.first_finding(plan, range(round(share * SCHEDULES))) is None


def test_kernels_are_clean_where_mutants_run(
    protocols: Any, expectations: Any, protocol: str
) -> None:
    for settings, schedules in ((expectations.SMALL, 60), (expectations.TWO_WARPS, 5)):
        plan = protocols.plan(protocol, settings[protocol], protocols.source(protocol))
        assert protocols.first_finding(plan, range(schedules)) is None


def test_mutant(protocols: Any, expectations: Any, protocol: str, mutant: Any) -> None:
    setting = expectations.setting(protocol, mutant.operator)
    plan = protocols.plan(protocol, setting, mutant.text)
    found = protocols.first_finding(plan, range(expectations.SCHEDULES))
    assert found is not None, "survives"
    assert found[1].kind in expectations.kinds(protocol, mutant.operator), found[1]


def test_variant(protocols: Any, variant: Any) -> None:
    plan = protocols.plan(variant.protocol, variant.setting, variant.text)
    assert protocols.first_finding(plan, range(5)) is None


def test_what_is_missing_is_said(protocols: Any, expectations: Any, mutants: Any) -> None:
    """Of a race the report names the line that was changed, or lines around it, but where nothing is left to name."""
    found: list[bool] = []
    for one in mutants.mutants(protocols.source("two_shot")):
        plan = protocols.plan("two_shot", expectations.setting("two_shot", one.operator), one.text)
        emulator = Emulator(plan.job)
        seed, first = next((s, f) for s in range(60) for f in emulator.run(s).findings)
        if first.kind == "data race":
            (first,) = emulator.run(seed, traced=True).findings
            found.append(_names(first, one.line))
    assert len(found) >= 25
    assert sum(found) >= 0.85 * len(found)


def _names(finding: Finding, line: int) -> bool:
    """Whether a place or a note names a line, at most three lines off, or two instructions that it stands between."""
    lines = [place.line for place in finding.places]
    for note in finding.notes:
        these = [int(text) for text in re.findall(r"at line (\d+)", note)]
        if note.startswith("no barrier") and min(these) <= line <= max(these):
            return True
        lines += these
    return any(abs(one - line) <= 3 for one in lines)
