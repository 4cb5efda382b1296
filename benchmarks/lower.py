"""How long an example takes from text to PTX, by stage: our passes and emitter, xDSL's parser and verifier, LLVM.

    python benchmarks/lower.py [--target sm_90a] [--repeat 5] [EXAMPLE ...]

In this process, garbage collection off, the process of LLVM running: the best of `--repeat` runs. `verify` is what
coconet-opt checks at first and after each stage: xDSL's verification, dominance and the level. `command` is a whole
run of coconet-opt, from the start of Python and of LLVM's process on. The bounds are 1 s for an example, and 0.3 s of
it for what is ours, without parsing, verifying and LLVM.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from coconet_ir.frontend import check, make_context
from coconet_ir.lowering.emit.module import emit
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.lowering.ptx import compile_llvm
from coconet_ir.lowering.targets import TARGETS, Target, device_module
from coconet_ir.xdsl_compat import LocatedParser

EXAMPLES = Path(__file__).parent.parent / "examples"
OURS_BOUND, BOUND = 300, 1000
"""Milliseconds."""

THEIRS = ("parse", "verify", "LLVM")
"""The stages that are not ours."""

T = TypeVar("T")


def lower(path: Path, target: Target) -> dict[str, float]:
    """Milliseconds of each stage."""
    found: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        found[stage] = found.get(stage, 0.0) + (time.perf_counter() - start) * 1e3
        return result

    text, ctx = path.read_text(), make_context()
    module = timed("parse", LocatedParser(ctx, text, path.name).parse_module)
    timed("verify", lambda: check(module))
    for one in LowerPass(target.name).stages():
        stage = one.name.removeprefix("coconet-")
        timed(stage, lambda one=one: one.apply(ctx, module))
        timed("verify", lambda: check(module))
    ir = timed("emit", lambda: emit(device_module(module), target))
    timed("LLVM", lambda: compile_llvm(ir, target))
    return found


def best(path: Path, target: Target, repeat: int) -> dict[str, float]:
    """The fastest of several runs."""
    runs: list[dict[str, float]] = []
    for _ in range(repeat):
        gc.collect()
        runs.append(lower(path, target))
    return min(runs, key=lambda run: sum(run.values()))


def command(path: Path, target: Target, repeat: int) -> float:
    """Milliseconds of the fastest of several runs of the tool."""
    pipeline = f"coconet-lower{{target={target.name}}}"
    tool = [sys.executable, "-m", "coconet_ir.tools.opt", str(path), "-p", pipeline, "-t", "ptx"]
    runs: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
        runs.append((time.perf_counter() - start) * 1e3)
    return min(runs)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("examples", nargs="*", help="by default all")
    arguments.add_argument("--target", choices=tuple(TARGETS), default="sm_90a")
    arguments.add_argument("--repeat", type=int, default=5)
    options = arguments.parse_args()
    names = options.examples or sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
    target, figures = TARGETS[options.target], list[str]()
    gc.disable()
    lower(EXAMPLES / "sgd.mlir", target)  # imports, and LLVM's process
    for number, name in enumerate(names):
        path = EXAMPLES / f"{name}.mlir"
        stages = best(path, target, options.repeat)
        total, whole = sum(stages.values()), command(path, target, options.repeat)
        ours = total - sum(stages[stage] for stage in THEIRS)
        columns = {**stages, "ours": ours, "total": total, "command": whole}
        if number == 0:
            print(f"{'ms':16}", *(f"{column:>{max(6, len(column))}}" for column in columns))
        row = (f"{ms:{max(6, len(column))}.0f}" for column, ms in columns.items())
        print(f"{name:16}", *row, flush=True)
        figures += [
            f"figure: lower_ours_{name} = {ours:.0f} ms (bound {OURS_BOUND})",
            f"figure: lower_{name} = {total:.0f} ms (bound {BOUND})",
            f"figure: lower_command_{name} = {whole:.0f} ms",
        ]
    print(*figures, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
