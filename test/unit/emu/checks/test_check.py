"""Checks: which schedules run, what counts as one finding, and what is said when the emulator fails.

The emulator is one whose "PTX" is Python: what `run(seed)` gives is what a schedule shows.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.emu.checks import check as check_module
from coconet_ir.emu.checks.check import CheckFailed, assert_clean, check
from coconet_ir.emu.checks.expected import Memories
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.process import Service

START = """
import sys, types

class Emulator:
    def __init__(self, job):
        self.names = {}
        exec(job.ptx, self.names)

    def run(self, seed, traced):
        self.names["traced"] = traced
        return self.names["run"](seed)

machine = types.ModuleType("coconet_ir.emu.machine")
machine.Emulator = Emulator
sys.modules[machine.__name__] = machine
from coconet_ir.emu.checks.worker import main; main()
"""
PREAMBLE = """
from types import SimpleNamespace
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.reports.findings import Finding, Where
from coconet_ir.emu.ptx.parse import PTXError

def outcome(*findings, memory=b""):
    return SimpleNamespace(findings=findings, memory=({0: memory},))

def race(line, other=7, rank=0):
    return Finding("data race", f"seen by rank {rank}", (Where(rank, "k", line=line), Where(1, "k", line=other)))
"""


@dataclass
class Case:
    """Python for PTX; memory is wrong unless it is `expected`."""

    source: str
    expected: bytes = b""
    compared: int = field(default=0, init=False)

    @property
    def job(self) -> Job:
        return Job(PREAMBLE + self.source, (), labels={0: "the first"})

    def differences(self, memory: Memories) -> Iterator[Finding]:
        self.compared += 1
        if memory[0][0] != self.expected:
            yield Finding("wrong value", f"it is {memory[0][0]!r}", buffer="x")


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """The process that runs an emulator of Python."""
    found = Service("-c", START)
    monkeypatch.setattr(check_module, "_service", found)
    yield found
    found.stop()


def process(service: Service) -> subprocess.Popen[bytes]:
    internals: Any = service
    return internals._worker._process


def test_clean() -> None:
    told: list[tuple[int, int]] = []
    case = Case("def run(seed): return outcome()")
    report = check(case, schedules=3, progress=lambda done, total: told.append((done, total)))
    assert (report.clean, report.schedules, report.labels) == (True, 3, {0: "the first"})
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert case.compared == 1  # all left the same memory
    assert assert_clean(case, schedules=2).schedules == 2


def test_findings_at_the_same_instructions_are_one() -> None:
    source = """
def run(seed):
    if seed == 5: return outcome()
    return outcome(race(40 + seed % 2, rank=seed))
"""
    report = check(Case(source), schedules=6, seed=3)
    found = [
        (one.finding.places[0].line, one.finding.schedule, one.count) for one in report.findings
    ]
    assert found == [(41, 3, 2), (40, 4, 3)]
    assert [one.finding.message for one in report.findings] == ["seen by rank 3", "seen by rank 4"]
    again = check(Case(source), schedules=1, seed=4)
    assert [one.finding for one in again.findings] == [report.findings[1].finding]


def test_races_are_the_same_either_way() -> None:
    report = check(
        Case("def run(seed): return outcome(race(*((1, 2), (2, 1))[seed % 2]))"), schedules=4
    )
    assert [one.count for one in report.findings] == [4]


def test_first_of_a_kind_is_explained() -> None:
    run = """
def run(seed):
    one = race(seed // 2)
    return outcome(Finding(one.kind, one.message, one.places, notes=(f"of seed {seed}",) if traced else ()))
"""
    report = check(Case(run), schedules=6)
    assert [one.finding.notes for one in report.findings] == [
        (f"of seed {seed}",) for seed in (0, 2, 4)
    ]
    assert [one.count for one in report.findings] == [2, 2, 2]


def test_the_most_findings() -> None:
    report = check(Case("def run(seed): return outcome(race(seed + 10))"), most_findings=3)
    assert (len(report.findings), report.schedules) == (3, 3)


def test_values_are_compared_if_nothing_else_is_wrong() -> None:
    source = """
def run(seed):
    return outcome(*[race(1)] * (seed == 1), memory=(b"a", b"wrong", b"a", b"b", b"b")[seed])
"""
    case = Case(source, b"a")
    report = check(case, schedules=5)
    found = [(one.finding.kind, one.finding.schedule, one.count) for one in report.findings]
    assert found == [("data race", 1, 1), ("wrong value", 3, 2)]
    assert case.compared == 2  # b"a", which the third leaves again, and b"b"


def test_assert_clean_shows_what_was_found() -> None:
    with pytest.raises(AssertionError, match="error: data race: seen by rank 0") as raised:
        assert_clean(Case("def run(seed): return outcome(race(1))"), schedules=2)
    assert "--seed 0 --schedules 1 shows it again" in str(raised.value)


def test_ptx_that_is_not_run() -> None:
    with pytest.raises(Refused) as refused:
        check(Case("raise Refused('`mma`: no', 12)"))
    assert (refused.value.what, refused.value.line) == ("`mma`: no", 12)
    with pytest.raises(PTXError) as wrong:
        check(Case("raise PTXError('expected ;', 3, 4)"))
    assert (wrong.value.message, wrong.value.line, wrong.value.column) == ("expected ;", 3, 4)
    assert check(Case("def run(seed): return outcome()"), schedules=1).clean


def failure(source: str, **options: Any) -> str:
    with pytest.raises(CheckFailed) as raised:
        check(Case(source), **options)
    assert isinstance(raised.value, IRError)
    return raised.value.message


def test_an_error_of_the_emulator() -> None:
    message = failure("def run(seed): return [][seed]", seed=7)
    assert message.startswith("internal error: IndexError: list index out of range at <string>:")
    assert message.endswith("please report it (while the schedule of seed 7 ran)")


def test_memory_that_is_not_there() -> None:
    assert failure("raise MemoryError") == (
        "the run needs more memory than there is: check smaller sizes (while the kernels were compiled)"
    )


def test_a_crash_names_the_schedule_and_the_next_check_runs() -> None:
    source = """
import os, signal, sys
def run(seed):
    if seed == 2:
        print("LLVM ERROR: out of ideas", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    return outcome()
"""
    assert failure(source) == (
        "internal error: the emulator ended with signal SIGSEGV while the schedule of seed 2 ran: "
        "LLVM ERROR: out of ideas; please report it"
    )
    assert check(Case(source), schedules=2).clean


def test_what_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    check(Case("def run(seed): return outcome()"), schedules=1)  # the process has started
    monkeypatch.setattr(check_module, "TIME_LIMIT", 0.2)
    message = failure("def run(seed):\n  while True: pass")
    assert message.startswith(
        "no end after 0.2 s while the schedule of seed 0 ran: check smaller sizes"
    )


def test_one_process_serves_all_checks_until_it_is_gone(service: Service) -> None:
    case = Case("def run(seed): print('no message'); return outcome()")
    check(case, schedules=2)
    first = process(service).pid
    check(case, schedules=2)
    assert process(service).pid == first
    os.kill(first, signal.SIGKILL)
    process(service).wait()
    assert check(case, schedules=2).clean
    assert process(service).pid != first
