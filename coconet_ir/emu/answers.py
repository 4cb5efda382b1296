"""What the process in which kernels run is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from coconet_ir.emu.findings import Finding


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
    """A schedule to run: that of a seed."""

    seed: int
    traced: bool = False
    """Whether a race says what is missing."""


Answer: TypeAlias = Ready | Ran | RefusedPTX | WrongPTX | Broken
