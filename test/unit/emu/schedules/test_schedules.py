"""Schedules find what needs somebody to stand still, or blocks that begin in another order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.checks.plan import make_plan
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.schedules.explore import explore
from coconet_ir.emu.schedules.schedule import Seeded

CAPACITY = 4
GATHER = (Path(__file__).parent / "gather.ptx").read_text()


def gather(counts: Sequence[int], depth: int, calls: int = 6, threads: int = 2) -> Emulator:
    """Calls of mixed sizes, at most `counts` elements from each rank."""
    ranks = len(counts)
    packets = {"type": "u64", "count": depth * ranks * CAPACITY, "content": 0}
    buffers: dict[str, Any] = {
        "packets": packets,
        "inboxes": {"pointers": "packets"},
        "epochs": {"type": "u32", "count": 1, "content": 0},
        "input": {"type": "u32", "count": CAPACITY, "content": {"random": [0, 99]}},
        "output": {"type": "u32", "count": CAPACITY * ranks},
    }
    steps: list[dict[str, Any]] = []
    for call in range(calls):
        sizes = [min(count, 1 + (7 * call + 3) % CAPACITY) for count in counts]
        buffers[f"counts{call}"] = {"type": "u32", "count": ranks, "content": sizes}
        numbers = [{"u32": "rank"}, {"u32": "ranks"}, {"u32": CAPACITY}, {"u32": depth}]
        given = ["inboxes", "epochs", f"counts{call}", "input", "output", *numbers]
        steps.append({"kernel": "gather", "grid": 1, "block": threads, "arguments": given})
    return Emulator(make_plan({"ranks": ranks, "buffers": buffers, "steps": steps}, GATHER).job)


class Uniform(Seeded):
    """Nobody is held back."""

    def _choose_victim(self) -> None:
        self._victim = None


REUSED = {
    "one place": ((4, 4), 1),
    "an empty slice": ((0, 4, 4), 2),
    "a broadcast": ((4, 0, 0), 2),
}
"""Counts and depths for which a packet may be overwritten before it is read (each rank that another one does not wait
for may be many calls behind it)."""


@pytest.mark.parametrize("name", REUSED)
def test_reuse_that_comes_too_early(name: str) -> None:
    emulator = gather(*REUSED[name])
    found = (one for seed in range(60) for one in emulator.run(seed).findings)
    assert next(found).kind == "hang"


@pytest.mark.parametrize("name", ["an empty slice", "a broadcast"])
def test_uniform_schedules_do_not_find_it(name: str) -> None:
    emulator = gather(*REUSED[name])
    assert not any(emulator.run(Uniform(seed)).findings for seed in range(1, 31))


def test_reuse_in_time() -> None:
    for counts in ((4, 4), (4, 2, 4)):
        emulator = gather(counts, 2)
        assert not any(emulator.run(seed).findings for seed in range(30))


@pytest.mark.parametrize("name", REUSED)
def test_all_schedules_of_reuse(name: str) -> None:
    counts, depth = REUSED[name]
    tried = explore(gather(counts[:2], depth, calls=depth + 1, threads=1))
    outcomes = [one.outcome for one in tried if one.outcome is not None]
    assert any(one.findings for one in outcomes)
    assert not all(one.findings for one in outcomes)


BODIES = {
    "the first for the others": "setp.eq.u32 %p0, %block, 0;\n@!%p0 bra OTHER;\nWAIT:\n"
    "ld.acquire.gpu.global.u32 %r0, [%x];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra WAIT;\nret;\n"
    "OTHER:\nst.release.gpu.global.u32 [%x], 1;",
    "the one before": "mul.wide.u32 %l0, %block, 4;\nadd.u64 %l0, %x, %l0;\n"
    "st.release.gpu.global.u32 [%l0+4], 1;\nWAIT:\n"
    "ld.acquire.gpu.global.u32 %r0, [%l0];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra WAIT;",
}
"""Block 0 waits for the others; each block waits for the one before, which may not have room."""


@pytest.mark.parametrize(
    ("name", "sms", "plain", "kinds"),
    [
        ("the first for the others", 4, (), {()}),
        ("the first for the others", 1, ("hang",), {(), ("hang",)}),
        ("the one before", 4, (), {()}),
        ("the one before", 1, (), {(), ("hang",)}),
        ("the one before", 2, (), {(), ("hang",)}),
    ],
)
def test_blocks_that_are_not_there(
    machine: Any, name: str, sms: int, plain: tuple[str, ...], kinds: set[tuple[str, ...]]
) -> None:
    first = (
        np.array([1, 0, 0, 0, 0], np.uint32) if name == "the one before" else np.zeros(5, np.uint32)
    )
    emulator = machine(BODIES[name], {"x": first}, grid=4, sms=sms).emulator

    def shown(outcome: Any) -> tuple[str, ...]:
        return tuple(one.kind for one in outcome.findings)

    assert shown(emulator.run(0)) == plain
    assert {shown(emulator.run(seed)) for seed in range(40)} == kinds
    outcomes = [one.outcome for one in explore(emulator)]
    assert {shown(one) for one in outcomes if one is not None} == kinds
