"""Apply a schedule that stands in a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.transform import NamedSequenceOp
from xdsl.passes import ModulePass

from coconet_ir.schedule.apply import apply_sequence
from coconet_ir.schedule.script import load_sequence


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Apply the schedule that stands in `file`, or with `FILE:name` the one of that name in `FILE`.

    Reads and leaves the distributed level. A step that is declined is an error.
    """

    name = "coconet-schedule"

    file: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_sequence(op, self._sequence)

    @cached_property
    def _sequence(self) -> NamedSequenceOp:
        """Read once: the file may be standard input, and the input of the pass have several parts."""
        return load_sequence(self.file)
