"""Adam from text, split and reordered, run on 8 simulated ranks and compared with the program as written.

    python examples/demo.py

Exits with status 1 if a bit of an output differs.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.split import split
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.compare import compare, describe, extremes
from coconet_ir.sim.executor import Outcome, run
from coconet_ir.sim.inputs import generate

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


def load() -> tuple[ModuleOp, FuncOp]:
    """The example, checked, and its function."""
    module = parse_program(make_context(), PROGRAM.read_text(), PROGRAM.name)
    return module, the_function(module, None)


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
    _, baseline = load()
    module, sliced = load()
    split(sliced, "avg")
    check(module)
    module, reordered = load()
    remarks = [split(reordered, "avg"), reorder(reordered, "avg_ag")]
    check(module)
    print(f"{PROGRAM.name}: AdamW in mixed precision, data parallel\n\nWhat the passes did:")
    for remark in remarks:
        print(f"  {remark.render()}")
    print(
        "  (p.0 is the size of dimension 0 of p; gathers of m, v and w, of which each rank needs only"
        "\n  its slice in the next step, do not count)"
    )

    inputs = generate(baseline, bind_mesh(baseline, MESH), SCALARS, {"w": (ELEMENTS,)}, 0)
    want, *others = (run(func, MESH, inputs) for func in (baseline, sliced, reordered))
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
