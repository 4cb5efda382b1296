"""What Python programs import: programs, their schedules and runs, and how operations are declared.

    from coconet_ir.api import Program

    adam = Program.load("examples/adam.mlir")
    fast = adam.schedule()
    fast.split("avg")
    fast.reorder("avg_ag")
    fast.save("fast.mlir")
    print(fast.program)

Every error of a program or a schedule is a `DiagnosticException` (ours: `IRError`) or a `ParseError`; `explain` turns
either into the lines that the tools print. `check` raises `Refused` or `PTXError` for PTX that is not run, and `custom`
`RuleError` for a rule that does not parse, and `ValueError` for a name that is taken.
"""

from __future__ import annotations

from coconet_ir.analysis.customs import custom
from coconet_ir.analysis.totals import Totals
from coconet_ir.diagnostics import IRError, Unavailable, diagnose, render
from coconet_ir.emu.checks.check import CheckFailed, assert_clean, check
from coconet_ir.emu.checks.plan import Plan, make_plan, read_plan
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.reports.report import Report
from coconet_ir.program import Handle, Program, Schedule
from coconet_ir.schedule.remarks import Remark, collect
from coconet_ir.sim.compare import Difference, compare
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.inputs import load as read_arrays
from coconet_ir.sim.inputs import save as write_arrays

__all__ = [
    "CheckFailed",
    "Difference",
    "Handle",
    "IRError",
    "Outcome",
    "Output",
    "PTXError",
    "Plan",
    "Program",
    "Refused",
    "Remark",
    "Report",
    "Schedule",
    "Totals",
    "Unavailable",
    "assert_clean",
    "check",
    "collect",
    "compare",
    "custom",
    "explain",
    "make_plan",
    "read_arrays",
    "read_plan",
    "write_arrays",
]


def explain(error: Exception) -> str:
    """What the tools print for an error of a program or a schedule. Raises `error` itself when it is none."""
    found = diagnose(error)
    if found is None:
        raise error
    return render(found)
