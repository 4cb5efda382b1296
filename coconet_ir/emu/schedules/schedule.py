"""What a schedule decides: who runs next, what a strong read finds, in which order blocks begin, who is held back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Item, Run

Name: TypeAlias = int | str
"""A seed, or the decisions that `explore.py` made: by it a schedule can be run again."""


class Schedule(Protocol):
    """Decides in a run, from `begin` on."""

    looks: int
    """How often threads that wait may look again in vain, all together, before they hang."""
    is_holding: bool
    """Whether anybody is held back now."""

    @property
    def name(self) -> Name:
        """Runs the same schedule again."""
        ...

    def begin(self, run: Run) -> None:
        """A run begins."""
        ...

    def pick(self, ready: Sequence[Item]) -> int:
        """Which of those that are ready goes on."""
        ...

    def read(self, count: int) -> int:
        """Which of `count` messages, from the oldest, a read finds."""
        ...

    def order(self, blocks: int, room: int) -> list[int]:
        """In which order the blocks of a launch begin, of which the first `room` do at once."""
        ...

    def waits(self) -> None:
        """The thread that was picked has not done what it asks for: it waits."""
        ...

    def holds(self, rank: int, block: int, slot: int) -> bool:
        """Whether a rank, a block of a number or a thread of a slot is held back now."""
        ...

    def let_go(self) -> None:
        """Nobody else can run: whoever is held back goes on, and another may be chosen."""
        ...


class Seeded:
    """Decisions that a seed makes. Seed 0 runs in order, reads the newest and holds nobody back."""

    def __init__(self, seed: int):
        self.name: Name = seed
        self.looks = 1 << 14
        self.is_holding = False
        self._random = random.Random(seed)
        self._plain = seed == 0
        self._reading = self._random.choice(("newest", "newest", "oldest", "any", "any", "any"))
        self._victim: tuple[str, float] | None = None
        self._from = 0
        self._choose_victim()
        self._events = 0
        self._ranks = 0

    def _choose_victim(self) -> None:
        kind = self._random.choice(("nobody", "rank", "rank", "rank", "block", "thread"))
        self._victim = None if self._plain or kind == "nobody" else (kind, self._random.random())
        most = self._random.choice(
            (8, 8, 12)
        )  # short runs are held up in time, long ones also late
        self._from = int(2 ** (most * self._random.random()))
        self.is_holding = False

    def begin(self, run: Run) -> None:
        self._ranks = len(run.emulator.job.ranks)

    def pick(self, ready: Sequence[Item]) -> int:
        self._events += 1
        if self._plain:
            return 0
        if self._events == self._from:
            self.is_holding = self._victim is not None
        return int(self._random.random() * len(ready))

    def read(self, count: int) -> int:
        if self._plain or self._reading == "newest":
            return count - 1
        return 0 if self._reading == "oldest" else int(self._random.random() * count)

    def order(self, blocks: int, room: int) -> list[int]:
        found = list(range(blocks))
        if not self._plain:
            self._random.shuffle(found)
        return found

    def waits(self) -> None:
        pass

    def holds(self, rank: int, block: int, slot: int) -> bool:
        if self._victim is None or not self.is_holding:
            return False
        kind, share = self._victim
        if kind == "rank":
            return rank == int(share * self._ranks)
        number = block * self._ranks + rank if kind == "block" else slot
        mixed = number * 0x9E3779B97F4A7C15 + int(share * 2**64)
        return (mixed >> 32 & 0xFFFF) < 0x4000

    def let_go(self) -> None:
        self._choose_victim()
        self._from += self._events
