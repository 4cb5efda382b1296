"""A program as a case of a check: its outputs must be those of the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from coconet_ir.diagnostics import IRError
from coconet_ir.emu.checks.expected import Memories, mismatch
from coconet_ir.emu.checks.program import ProgramJob, expected, job_of
from coconet_ir.emu.job import Job
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.sim.binding import Input
from coconet_ir.sim.compare import rounding
from coconet_ir.sim.executor import Outcome

REPEAT = 3
"""Calls in a row: signals and buffers that are not made ready for the next call show at the second or third."""


@dataclass(frozen=True)
class ProgramCase:
    """A compiled program with inputs."""

    program: ProgramJob
    expected: Outcome

    @property
    def job(self) -> Job:
        return self.program.job

    def differences(self, memory: Memories) -> Iterator[Finding]:
        """How outputs differ from the simulator's by more than the rounding of their type."""
        try:
            outcome = self.program.outcome(memory)
        except IRError as error:  # ranks that differ where all should have the same
            yield Finding("wrong value", error.message)
            return
        for name, output in self.expected.outputs.items():
            have, want = outcome.outputs[name].array, output.array
            found = mismatch(name, have, want, rounding(want.dtype))
            if found is not None:
                yield Finding("wrong value", found[1], buffer=name)


def program_case(
    func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input], repeat: int = REPEAT
) -> ProgramCase:
    """A verified function, called several times in a row with the same buffers.

    Raises `IRError` for inputs that do not fit, and for what is not lowered.
    """
    return ProgramCase(job_of(func, mesh, inputs, repeat), expected(func, mesh, inputs, repeat))
