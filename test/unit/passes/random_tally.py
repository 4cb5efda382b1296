"""How often each operation was rewritten in random programs, and how often that was declined and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from coconet_ir.schedule.remarks import Remark

Pair = tuple[str, str]
"""A rewrite, and the operation that it was applied to or that took part in it."""


@dataclass
class Tally:
    """Counts over programs; those of several processes add."""

    applied: Counter[Pair] = field(default_factory=Counter[Pair])
    declined: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    programs: int = 0
    operations: int = 0

    def note(self, rewrite: str, ops: Iterable[str], remark: Remark) -> Remark:
        """Count what came of a rewrite, for each kind of operation in it."""
        for op in set(ops):
            if remark.reason is None:
                self.applied[rewrite, op] += 1
            else:
                self.declined[rewrite, op, str(remark.reason)] += 1
        return remark

    def add(self, other: Tally) -> None:
        """Add what another process counted."""
        self.applied.update(other.applied)
        self.declined.update(other.declined)
        self.programs += other.programs
        self.operations += other.operations

    def lacking(self, pairs: Iterable[Pair], least: int) -> list[str]:
        """Those of the pairs that were applied fewer times, and how often."""
        return [
            f"{rewrite}, {op}: {self.applied[rewrite, op]}"
            for rewrite, op in sorted(pairs)
            if self.applied[rewrite, op] < least
        ]

    def table(self) -> str:
        """One line an operation and rewrite, with the reasons of those that were declined."""
        why: dict[Pair, Counter[str]] = {pair: Counter() for pair in self.applied}
        for (rewrite, op, reason), count in self.declined.items():
            why.setdefault((rewrite, op), Counter())[reason] += count
        lines = [f"{'rewrite':22} {'operation':24} {'applied':>8} {'declined':>8}  why"]
        for (rewrite, op), found in sorted(why.items()):
            reasons = ", ".join(f"{reason} {count}" for reason, count in found.most_common())
            counts = f"{self.applied[rewrite, op]:8} {found.total():8}"
            lines.append(f"{rewrite:22} {op:24} {counts}  {reasons}".rstrip())
        return "\n".join(lines)
