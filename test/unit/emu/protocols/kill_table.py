"""Prints what mutants are found as: `python test/unit/emu/protocols/kill_table.py`, in about a minute."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import expectations
import mutants
import protocols


@dataclass
class Row:
    """The mutants of an operator."""

    sites: int = 0
    kinds: set[str] = field(default_factory=set[str])
    first: int = 0
    """How many the first schedule shows, which runs in order and reads the newest values."""
    latest: int = 0
    """The schedule that the last one needs, from 1."""
    missed: int = 0


def main() -> None:
    """Print a Markdown table for each protocol."""
    for protocol in protocols.PROTOCOLS:
        rows: dict[str, Row] = defaultdict(Row)
        for one in mutants.mutants(protocols.source(protocol)):
            row = rows[one.operator]
            row.sites += 1
            setting = expectations.setting(protocol, one.operator)
            plan = protocols.plan(protocol, setting, one.text)
            found = protocols.first_finding(plan, range(expectations.SCHEDULES))
            if found is None:
                row.missed += 1
            else:
                row.kinds.add(found[1].kind)
                row.first += found[0] == 0
                row.latest = max(row.latest, found[0] + 1)
        print(f"\n| {protocol} | sites | found as | first schedule | latest | missed |")
        print("|---|---|---|---|---|---|")
        for operator, row in rows.items():
            kinds = ", ".join(sorted(row.kinds))
            print(
                f"| {operator} | {row.sites} | {kinds} | {row.first} | {row.latest} | {row.missed} |"
            )


if __name__ == "__main__":
    main()
