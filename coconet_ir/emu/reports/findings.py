"""What can be wrong with a run, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from coconet_ir.emu.ptx.syntax import Location
from coconet_ir.emu.schedules.schedule import Name

Kind: TypeAlias = Literal[
    "data race",
    "mixed-size race",
    "lost update",
    "uninitialised read",
    "out of bounds",
    "misaligned access",
    "hang",
    "wrong value",
    "invalid",
]
"""`invalid` is what else PTX leaves undefined: a barrier that others miss, a trap."""

Triple: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Where:
    """Who did something, and at which instruction. What the host does has no kernel."""

    rank: int
    kernel: str | None = None
    step: int = 0
    """The number of the step of the rank's stream."""
    block: Triple = (0, 0, 0)
    thread: Triple = (0, 0, 0)
    line: int = 0
    """Of the PTX text; 0 if none is known."""
    text: str = ""
    """The instruction, or what the host does."""
    location: Location | None = None


@dataclass(frozen=True)
class Finding:
    """Something wrong."""

    kind: Kind
    message: str
    """One sentence."""
    places: tuple[Where, ...] = ()
    """Who; of a race the access that was found first, then the earlier one."""
    buffer: str | None = None
    """The name of the buffer, with its rank."""
    offset: int = 0
    """Bytes from its beginning."""
    notes: tuple[str, ...] = ()
    """What is missing, or who waits for what."""
    schedule: Name = 0
    """Shows it again."""


def who(where: Where) -> str:
    """Who it was, in words."""
    if where.kernel is None:
        return f"rank {where.rank} ({where.text})"
    block, thread = _index(where.block), _index(where.thread)
    return f"rank {where.rank} block {block} thread {thread}"


def _index(triple: Triple) -> str:
    x, y, z = triple
    return str(x) if not y and not z else f"({x}, {y}, {z})"
