"""Each bug of the gallery is found, as what it is and where it is; its mended twin is clean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coconet_ir.emu.checks.plan import Plan, read_plan
from coconet_ir.emu.machine import Emulator

GALLERY = Path(__file__).parents[2] / "gallery"
MENDED = ".fixed"
MARK = re.compile(r"// finding: (.+)")
"""Stands where a bug shows."""
BUGS = sorted(path.stem for path in GALLERY.glob("*.ptx") if not path.stem.endswith(MENDED))


def _load(name: str) -> tuple[Plan, str]:
    ptx, plan = GALLERY / f"{name}.ptx", GALLERY / f"{name}.json"
    text = ptx.read_text()
    return read_plan(plan.read_text(), text, plan.name, str(GALLERY)), text


@pytest.mark.parametrize("bug", BUGS)
def test_bug_is_found(bug: str) -> None:
    plan, text = _load(bug)
    lines = enumerate(text.splitlines(), 1)
    marks = [(i, found[1]) for i, line in lines if (found := MARK.search(line))]
    assert len(marks) == 1
    emulator = Emulator(plan.job)
    first = next(one for seed in range(100) for one in emulator.run(seed).findings)
    assert first.kind == marks[0][1]
    assert marks[0][0] in {place.line for place in first.places}


@pytest.mark.parametrize("bug", BUGS)
def test_mended_twin_is_clean(bug: str) -> None:
    plan, _ = _load(f"{bug}{MENDED}")
    assert plan.expected
    emulator = Emulator(plan.job)
    for seed in range(100):
        outcome = emulator.run(seed)
        assert [*outcome.findings, *plan.differences(outcome.memory)] == []


def test_bugs_are_listed() -> None:
    text = (GALLERY / "README.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == BUGS
    assert len(BUGS) >= 7
