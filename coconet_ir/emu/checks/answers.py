"""What the process in which kernels run is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from coconet_ir.emu.job import Job
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.emu.schedules.schedule import Name


@dataclass(frozen=True)
class Ready:
    """The job can be run."""

    seconds: float


@dataclass(frozen=True)
class Ran:
    """What a schedule gave."""

    findings: tuple[Finding, ...]
    memory: tuple[Mapping[int, bytes], ...]
    seconds: float


@dataclass(frozen=True)
class Explored:
    """What one of all schedules gave."""

    name: Name
    ran: Ran | None
    """None if it was given up, as what was left of it repeats another one."""
    more: bool
    """Whether there are others."""


@dataclass(frozen=True)
class RefusedPTX:
    """The emulator does not run this PTX."""

    what: str
    line: int


@dataclass(frozen=True)
class WrongPTX:
    """The text is not PTX."""

    message: str
    line: int
    column: int


@dataclass(frozen=True)
class Broken:
    """The emulator has an error: its diagnostic."""

    message: str


@dataclass(frozen=True)
class Turn:
    """A schedule to run."""

    name: Name
    traced: bool = False
    """Whether a race says what is missing."""


@dataclass(frozen=True)
class Explore:
    """Run the next of all schedules, or the first one."""

    first: bool


Request: TypeAlias = Job | Turn | Explore
Answer: TypeAlias = Ready | Ran | Explored | RefusedPTX | WrongPTX | Broken
