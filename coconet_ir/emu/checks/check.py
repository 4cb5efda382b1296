"""Checks kernels on n ranks: runs one schedule after another, and collects what is wrong.

plan = make_plan({"ranks": 2, ...}, ptx)
print(check(plan, schedules=1000))
assert_clean(plan)                                            # in a test
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from coconet_ir.diagnostics import IRError
from coconet_ir.emu.checks.answers import (
    Broken,
    Explore,
    Explored,
    Ran,
    Ready,
    RefusedPTX,
    Request,
    Turn,
    WrongPTX,
)
from coconet_ir.emu.checks.expected import Memories
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.emu.reports.report import Found, Report
from coconet_ir.emu.schedules.schedule import Name
from coconet_ir.process import Ended, Service, TimedOut, Worker

SCHEDULES = 100
MOST_FINDINGS = 10
TIME_LIMIT = 120.0
"""Seconds that making a job ready, or one schedule, may take."""


class Case(Protocol):
    """What is checked: a `Plan`, a `ProgramCase`."""

    @property
    def job(self) -> Job: ...

    def differences(self, memory: Memories) -> Iterable[Finding]:
        """How memory differs after a run from what is expected of it."""
        ...


class CheckFailed(IRError):
    """There is no verdict: the emulator broke, or took too long."""


def check(
    case: Case,
    *,
    schedules: int = SCHEDULES,
    seed: Name = 0,
    exhaustive: bool = False,
    most_findings: int = MOST_FINDINGS,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run schedules, of seeds from `seed` on, until all have run or so many different findings are there.

    `exhaustive` runs all schedules that may differ, or as many of them: `Report.complete` says which. A finding names
    its schedule; given as `seed`, that one runs alone.

    A schedule ends at its first finding; values are compared if it has none. Findings of one kind at the same
    instructions count as one. `progress` is told how many schedules have run, of how many.

    Raises `Refused` and `PTXError` for PTX that is not run, `CheckFailed` where there is no verdict.
    """
    with _service.worker() as worker:
        running = _Running(worker, case.job)
        if exhaustive:
            tried = running.explore(schedules)
        else:
            names = [seed] if isinstance(seed, str) else range(seed, seed + schedules)
            tried = (Explored(name, running.run(name), more=True) for name in names)
            schedules = len(names)
        report = _collect(case, running, tried, schedules, most_findings, progress)
        complete = report.complete if exhaustive else None
        return replace(report, complete=complete)


def run_once(job: Job, seed: Name = 0) -> Ran:
    """Run one schedule. Raises what `check` does."""
    with _service.worker() as worker:
        running = _Running(worker, job)
        ran = running.run(seed)
        return running.run(seed, traced=True) if ran.findings else ran


def assert_clean(
    case: Case, *, schedules: int = SCHEDULES, seed: Name = 0, exhaustive: bool = False
) -> Report:
    """Check in a test: an `AssertionError` shows what was found, or that there are more schedules than `schedules` if
    it is to be `exhaustive`. Raises what `check` does."""
    report = check(case, schedules=schedules, seed=seed, exhaustive=exhaustive)
    if not report.clean:
        raise AssertionError(f"\n{report}")
    if report.complete is False:
        raise AssertionError(f"there are more than {schedules} schedules")
    return report


def _collect(
    case: Case,
    running: _Running,
    tried: Iterable[Explored],
    most: int,
    most_findings: int,
    progress: Callable[[int, int], None] | None,
) -> Report:
    found: dict[Hashable, Found] = {}
    compared: Memories | None = None
    wrong: tuple[Finding, ...] = ()
    seconds = 0.0
    schedules, more = 0, True
    for number, one in enumerate(tried, 1):
        more = one.more
        if progress is not None:
            progress(number, most)
        if one.ran is None:
            continue
        schedules += 1
        seconds += one.ran.seconds
        findings = one.ran.findings
        if not findings:
            if one.ran.memory != compared:  # most schedules give the same
                compared, wrong = one.ran.memory, tuple(case.differences(one.ran.memory))
            findings = wrong
        for finding in findings:
            key = _identity(finding)
            if key in found:
                found[key] = replace(found[key], count=found[key].count + 1)
                continue
            if one.ran.findings:  # the same, with what is missing
                (finding,) = running.run(one.name, traced=True).findings
            found[key] = Found(replace(finding, schedule=one.name), 1)
        if len(found) >= most_findings:
            break
    return Report(
        tuple(found.values()), schedules, running.seconds, seconds, case.job.labels, not more
    )


def _identity(finding: Finding) -> Hashable:
    """What findings have in common that are one: their kind and instructions; without any, where they are."""
    lines = frozenset((one.kernel, one.line) for one in finding.places if one.line)
    return finding.kind, lines or finding.buffer or finding.message


_service = Service("-c", "from coconet_ir.emu.checks.worker import main; main()")


class _Running:
    """A job that the process has made ready."""

    def __init__(self, worker: Worker, job: Job):
        self._worker = worker
        answer = self._ask(job, "the kernels were compiled")
        assert isinstance(answer, Ready)
        self.seconds = answer.seconds
        """It took to compile them."""

    def run(self, name: Name, *, traced: bool = False) -> Ran:
        """Run a schedule; with a trace a race says what is missing. Raises what `check` does."""
        answer = self._ask(Turn(name, traced), f"the schedule of seed {name} ran")
        assert isinstance(answer, Ran)
        return answer

    def explore(self, most: int) -> Iterator[Explored]:
        """Run all schedules that may differ, or as many. Raises what `check` does."""
        for number in range(most):
            answer = self._ask(Explore(first=not number), f"schedule {number} of all ran")
            assert isinstance(answer, Explored)
            yield answer
            if not answer.more:
                return

    def _ask(self, request: Request, when: str) -> Ready | Ran | Explored:
        try:
            answer = pickle.loads(self._worker.ask(pickle.dumps(request), TIME_LIMIT))
        except TimedOut:
            raise CheckFailed(
                f"no end after {TIME_LIMIT:g} s while {when}: check smaller sizes; or a kernel loops for ever without "
                "an instruction that lets others run"
            ) from None
        except Ended as error:
            said = error.said.strip().splitlines()
            last = f": {said[-1]}" if said else ""
            raise CheckFailed(
                f"internal error: the emulator ended with {error} while {when}{last}; please report it"
            ) from None
        match answer:
            case RefusedPTX(what, line):
                raise Refused(what, line)
            case WrongPTX(message, line, column):
                raise PTXError(message, line, column)
            case Broken(message):
                raise CheckFailed(f"{message} (while {when})")
            case _:
                return answer
