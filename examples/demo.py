"""Adam from text, split and reordered, run on 8 simulated ranks and compared with the program as written.

    python examples/demo.py

Exits with status 1 if a bit of an output differs.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from coconet_ir.api import Outcome, Program, compare
from coconet_ir.sim.compare import describe, extremes

PROGRAM = Path(__file__).absolute().with_name("adam.mlir")
MESH = {"dp": 8}
ELEMENTS = 1_000_003  # a prime: no number of ranks divides it
SCALARS = {
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "decay": 0.01,
    "inv_scale": 1 / 1024,
    "step": 10.0,
}


def verdict(first: Outcome, second: Outcome) -> dict[str, str]:
    """For each output, whether all its bits agree."""
    return {
        row.name: "equal" if row.equal else row.problem or f"DIFFER by {row.absolute:g}"
        for row in compare(first, second)
    }


def relative(path: Path) -> str:
    """The path from the current folder, if it is in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def main() -> int:
    start = time.perf_counter()
    baseline = Program.parse(PROGRAM.read_text(), PROGRAM.name)
    sliced, reordered = baseline.schedule(), baseline.schedule()
    sliced.split("avg")
    reordered.split("avg")
    reordered.reorder("avg_ag")
    print(f"{PROGRAM.name}: AdamW in mixed precision, data parallel\n\nWhat the passes did:")
    for remark in reordered.remarks:
        print(f"  {remark.render()}")
    print(
        "  (p.0 is the size of dimension 0 of p; gathers of m, v and w, of which each rank needs only"
        "\n  its slice in the next step, do not count)"
    )

    inputs = baseline.generate(MESH, SCALARS, {"w": (ELEMENTS,)})
    programs = (baseline, sliced.program, reordered.program)
    want, *others = (program.run(MESH, inputs) for program in programs)
    verdicts = [verdict(want, other) for other in others]
    print(
        f"\n{ELEMENTS:,} elements on {MESH['dp']} simulated ranks, bits against the program as written:\n"
    )
    row = "{:6}  {:16}  {:>12}  {:>12}  {:9}  {}".format
    print(row("output", "type and shape", "least", "greatest", "split", "reordered"))
    print(row("-" * 6, "-" * 16, "-" * 12, "-" * 12, "-" * 9, "-" * 9))
    for name, output in want.outputs.items():
        least, greatest = extremes(output.array) or (0.0, 0.0)
        ends = f"{least:.6g}", f"{greatest:.6g}"
        print(row(name, describe(output.array), *ends, *(found[name] for found in verdicts)))
    tool = relative(Path(sys.executable).with_name("coconet-opt"))
    passes = "coconet-split{op=avg},coconet-reorder{op=avg_ag}"
    print(
        f"\ndone in {time.perf_counter() - start:.1f} s; to read the reordered program:\n"
        f"  {shlex.join([tool, relative(PROGRAM), '-p', passes])}"
    )
    return int(any(text != "equal" for found in verdicts for text in found.values()))


if __name__ == "__main__":
    sys.exit(main())
