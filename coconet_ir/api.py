"""What Python programs import: programs, their schedules and runs, and how operations are declared.

    from coconet_ir.api import Program

    adam = Program.load("examples/adam.mlir")
    fast = adam.schedule()
    fast.split("avg")
    fast.reorder("avg_ag")
    fast.save("fast.mlir")
    print(fast.program)

Every error of a program or a schedule is a `DiagnosticException` (ours: `IRError`) or a `ParseError`; `explain` turns
either into the lines that the tools print. `custom` raises `RuleError` for a rule that does not parse, and
`ValueError` for a name that is taken.
"""

from __future__ import annotations

from coconet_ir.analysis.customs import custom
from coconet_ir.analysis.totals import Totals
from coconet_ir.diagnostics import IRError, Unavailable, diagnose, render
from coconet_ir.program import Handle, Program, Schedule
from coconet_ir.schedule.remarks import Remark, collect
from coconet_ir.sim.compare import Difference, compare
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.inputs import load as read_arrays
from coconet_ir.sim.inputs import save as write_arrays

__all__ = [
    "Difference",
    "Handle",
    "IRError",
    "Outcome",
    "Output",
    "Program",
    "Remark",
    "Schedule",
    "Totals",
    "Unavailable",
    "collect",
    "compare",
    "custom",
    "explain",
    "read_arrays",
    "write_arrays",
]


def explain(error: Exception) -> str:
    """What the tools print for an error of a program or a schedule. Raises `error` itself when it is none."""
    found = diagnose(error)
    if found is None:
        raise error
    return render(found)
