"""Runs each protocol under so many schedules, 1000 if not told, and ends with 1 after findings.

python test/unit/emu/protocols/clean.py [SCHEDULES]
"""

from __future__ import annotations

import sys

import expectations
import protocols


def main() -> int:
    """Print what each protocol gives in each setting."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wrong = 0
    for protocol in protocols.PROTOCOLS:
        for name, (share, setting) in expectations.CLEAN.items():
            plan = protocols.plan(protocol, setting, protocols.source(protocol))
            count = round(share * total)
            found = protocols.first_finding(plan, range(count))
            wrong += found is not None
            print(f"{protocol}, {name}: {count} schedules, {found or 'clean'}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
