"""What the emulator is given: kernels, the memory of each rank, and what each rank's stream does, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coconet_ir.runtime.steps import Place, Step


@dataclass(frozen=True)
class Memory:
    """A buffer before the run."""

    name: str
    bytes: int
    content: bytes | None = None
    """What is in it; None if nobody has written it yet, so that reading it is an error."""
    pointers: tuple[Place, ...] = ()
    """Addresses of 8 bytes each that it begins with, in place of `content`."""


@dataclass(frozen=True)
class Rank:
    """One device: its buffers by the numbers that `Place.owner` has, and the steps of its stream."""

    memory: Mapping[int, Memory]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Job:
    """A run of n ranks."""

    ptx: str
    ranks: tuple[Rank, ...]
    sms: int = 78
    """The processors of a device; a kernel has at most `sms` x its `.minnctapersm` (or 1) blocks at a time. The default
    is the smallest device of sm_90."""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])
    """What steps are called in messages, by their numbers."""
