"""What a schedule decides: who runs next, what a strong read finds, and who is held back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Schedule:
    """Decisions that a seed makes. Seed 0 runs in order, reads the newest and holds nobody back."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._plain = seed == 0
        self._reading = self._random.choice(("newest", "oldest", "any", "any", "any", "any"))
        self._victim: tuple[str, float] | None = None
        self._from = 0
        self._choose_victim()
        self._events = 0

    def _choose_victim(self) -> None:
        kind = self._random.choice(("nobody", "rank", "rank", "block", "block", "thread"))
        self._victim = None if self._plain or kind == "nobody" else (kind, self._random.random())
        self._from = int(2 ** (10 * self._random.random()))

    def pick(self, count: int) -> int:
        """Which of `count` that are ready goes on."""
        self._events += 1
        return 0 if self._plain else int(self._random.random() * count)

    def read(self, count: int) -> int:
        """Which of `count` messages, from the oldest, a read finds."""
        if self._plain or self._reading == "newest":
            return count - 1
        return 0 if self._reading == "oldest" else int(self._random.random() * count)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """In which order blocks begin."""
        found = list(items)
        if not self._plain:
            self._random.shuffle(found)
        return found

    @property
    def is_holding(self) -> bool:
        """Whether anybody is held back now."""
        return self._victim is not None and self._events >= self._from

    def holds(self, ranks: int, rank: int, block: int, slot: int) -> bool:
        """Whether a rank, a block of a number or a thread of a slot is held back now."""
        if self._victim is None or not self.is_holding:
            return False
        kind, share = self._victim
        if kind == "rank":
            return rank == int(share * ranks)
        mixed = (block if kind == "block" else slot) * 0x9E3779B97F4A7C15 + int(share * 2**64)
        return (mixed >> 32 & 0xFFFF) < 0x4000

    def let_go(self) -> None:
        """Nobody else can run: whoever is held back goes on, and another may be chosen."""
        self._choose_victim()
        self._from += self._events
