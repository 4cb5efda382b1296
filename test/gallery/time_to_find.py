"""Prints how long the emulator takes to find each bug of the gallery: `python test/gallery/time_to_find.py`."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

from coconet_ir.emu.checks.plan import read_plan
from coconet_ir.emu.machine import Emulator

HERE = Path(__file__).parent


def main() -> None:
    """Print a row of a Markdown table for each bug."""
    print("| bug | finding | seconds | of which compiling | schedules |\n|---|---|---|---|---|")
    for path in sorted(HERE.glob("*.ptx")):
        ptx, plan = path.read_text(), path.with_suffix(".json")
        if "// finding: " not in ptx:
            continue  # the mended twin of one
        start = time.perf_counter()
        emulator = Emulator(read_plan(plan.read_text(), ptx, plan.name).job)
        compiled = time.perf_counter() - start
        seed, kind = next(
            (seed, findings[0].kind)
            for seed in count()
            if (findings := emulator.run(seed).findings)
        )
        whole = time.perf_counter() - start
        print(f"| {path.stem} | {kind} | {whole:.2f} | {compiled:.2f} | {seed + 1} |")


if __name__ == "__main__":
    main()
