"""Checks kernels on n ranks: runs one schedule after another, and collects what is wrong.

plan = make_plan({"ranks": 2, ...}, ptx)
print(check(plan, schedules=1000))
assert_clean(plan)                                            # in a test
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Protocol

from coconet_ir.diagnostics import IRError
from coconet_ir.emu.answers import Broken, Ran, Ready, RefusedPTX, Turn, WrongPTX
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.expected import Memories
from coconet_ir.emu.findings import Finding
from coconet_ir.emu.job import Job
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.report import Found, Report
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
    seed: int = 0,
    most_findings: int = MOST_FINDINGS,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run schedules, of seeds from `seed` on, until all have run or so many different findings are there.

    A schedule ends at its first finding; values are compared if it has none. Findings of one kind at the same
    instructions count as one. `progress` is told how many schedules have run, of how many.

    Raises `Refused` and `PTXError` for PTX that is not run, `CheckFailed` where there is no verdict.
    """
    with _service.worker() as worker:
        running = _Running(worker, case.job)
        return _explore(case, running, range(seed, seed + schedules), most_findings, progress)


def run_once(job: Job, seed: int = 0) -> Ran:
    """Run one schedule, that of a seed. Raises what `check` does."""
    with _service.worker() as worker:
        running = _Running(worker, job)
        ran = running.run(seed)
        return running.run(seed, traced=True) if ran.findings else ran


def assert_clean(case: Case, *, schedules: int = SCHEDULES, seed: int = 0) -> Report:
    """Check in a test: an `AssertionError` shows what was found. Raises what `check` does."""
    report = check(case, schedules=schedules, seed=seed)
    assert report.clean, f"\n{report}"
    return report


def _explore(
    case: Case,
    running: _Running,
    seeds: range,
    most_findings: int,
    progress: Callable[[int, int], None] | None,
) -> Report:
    found: dict[Hashable, Found] = {}
    compared: Memories | None = None
    wrong: tuple[Finding, ...] = ()
    seconds = 0.0
    number = 0
    for number, seed in enumerate(seeds, 1):
        ran = running.run(seed)
        seconds += ran.seconds
        findings = ran.findings
        if not findings:
            if ran.memory != compared:  # most schedules give the same
                compared, wrong = ran.memory, tuple(case.differences(ran.memory))
            findings = wrong
        for one in findings:
            key = _identity(one)
            if key in found:
                found[key] = replace(found[key], count=found[key].count + 1)
                continue
            if ran.findings:  # the same, with what is missing
                (one,) = running.run(seed, traced=True).findings
            found[key] = Found(replace(one, schedule=seed), 1)
        if progress is not None:
            progress(number, len(seeds))
        if len(found) >= most_findings:
            break
    return Report(tuple(found.values()), number, running.seconds, seconds, case.job.labels)


def _identity(finding: Finding) -> Hashable:
    """What findings have in common that are one: their kind and instructions; without any, where they are."""
    lines = frozenset((one.kernel, one.line) for one in finding.places if one.line)
    return finding.kind, lines or finding.buffer or finding.message


_service = Service("-c", "from coconet_ir.emu.worker import main; main()")


class _Running:
    """A job that the process has made ready."""

    def __init__(self, worker: Worker, job: Job):
        self._worker = worker
        answer = self._ask(job, "the kernels were compiled")
        assert isinstance(answer, Ready)
        self.seconds = answer.seconds
        """It took to compile them."""

    def run(self, seed: int, *, traced: bool = False) -> Ran:
        """Run a schedule; with a trace a race says what is missing. Raises what `check` does."""
        answer = self._ask(Turn(seed, traced), f"the schedule of seed {seed} ran")
        assert isinstance(answer, Ran)
        return answer

    def _ask(self, request: Job | Turn, when: str) -> Ready | Ran:
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
