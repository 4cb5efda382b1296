"""How long the compiler takes a program, beside what stock xDSL takes to parse, verify and print as many operations.

    python benchmarks/compile.py [--sizes 1000,10000,100000] [--repeat 3]

Ours: a module of copies of `examples/adam.mlir`, parsed, verified, split, reordered, its state sliced, fused and
printed, and verified after each pass, as coconet-opt does. Stock: un-encoded `arith` operations on f32 in one
function, parsed, verified and printed by plain xDSL. Both in this process, garbage collection off, the best of
`--repeat` runs; the bound on the ratio is 4, and 2.5 without slicing state and fusing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_stock_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline

from coconet_ir.frontend import check, make_context
from coconet_ir.passes import get_all_passes
from coconet_ir.xdsl_compat import LocatedParser, print_module

ADAM = Path(__file__).parent.parent / "examples" / "adam.mlir"
PASSES = {
    "split": "coconet-split{op=avg}",
    "reorder": "coconet-reorder{op=avg_ag}",
    "slice-state": "coconet-slice-state",
    "fuse": "coconet-fuse{ops=avg_rs,mu,vu,wu,pu between=true named=opt}",
}
BOUND, MOVING_BOUND = 4, 2.5
STAGES = ("parse", "verify", *(stage for name in PASSES for stage in (name, "verify")), "print")
SCHEDULED = slice(STAGES.index("slice-state"), -1)
"""The stages that come to split and reorder."""


def stock_context() -> Context:
    """A context with xDSL's dialects as they are."""
    ctx = Context()
    for name, factory in get_stock_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def arith_text(operations: int) -> str:
    """A function of that many additions of scalars, each reading the one before."""
    names = ["a", *(f"v{i}" for i in range(operations))]
    lines = [f"  %{new} = arith.addf %{old}, %b : f32" for old, new in pairwise(names)]
    return "\n".join(["func.func @f(%a: f32, %b: f32) {", *lines, "  func.return", "}"])


def adam_text(operations: int) -> tuple[str, int]:
    """Copies of Adam with at least that many operations together, and how many there are."""
    text = ADAM.read_text()
    start = text.index("func.func")
    each = sum(1 for _ in LocatedParser(make_context(), text, "adam").parse_module().walk()) - 2
    copies = -(-operations // each)
    body = text[start:]
    functions = [body.replace("@adam", f"@adam{i}") for i in range(copies)]
    return text[:start] + "\n".join(functions), copies * each


def laps(steps: list[Callable[[], object]]) -> list[float]:
    """Seconds of each step, run one after the other without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        seconds: list[float] = []
        for step in steps:
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        return seconds
    finally:
        gc.enable()


def stock(text: str) -> list[float]:
    """Seconds to parse, verify and print with plain xDSL."""
    module = ModuleOp([])

    def parse() -> None:
        nonlocal module
        module = Parser(stock_context(), text).parse_module()

    return laps([parse, lambda: module.verify(), lambda: str(module)])


def ours(text: str) -> list[float]:
    """Seconds of each of `STAGES`."""
    ctx = make_context()
    module = ModuleOp([])

    def parse() -> None:
        nonlocal module
        module = LocatedParser(ctx, text, "adam").parse_module()

    def apply(spec: str) -> Callable[[], None]:
        return lambda: PassPipeline.parse_spec(get_all_passes(), spec).apply(ctx, module)

    def verify() -> None:
        check(module)

    passes = [step for spec in PASSES.values() for step in (apply(spec), verify)]
    return laps([parse, verify, *passes, lambda: print_module(module)])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sizes", default="1000,10000,100000", help="numbers of operations")
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    print(f"{'operations':>10} {'stock s':>8} {'ours s':>8} {'ratio':>6} {'us/op':>6}  by stage")
    for size in map(int, options.sizes.split(",")):
        text, count = adam_text(size)
        reference = min(sum(stock(arith_text(size))) for _ in range(options.repeat))
        best = min((ours(text) for _ in range(options.repeat)), key=sum)
        total = sum(best)
        ratio = total / count / (reference / size)
        stages = " ".join(f"{name} {s:.3f}" for name, s in zip(STAGES, best, strict=True))
        print(
            f"{count:>10} {reference:>8.3f} {total:>8.3f} {ratio:>6.2f} {total / count * 1e6:>6.0f}  "
            f"{stages}",
            flush=True,
        )
        moving = (total - sum(best[SCHEDULED])) / count / (reference / size)
        print(f"figure: compile_ratio_{size} = {ratio:.2f} x (bound {BOUND})")
        print(f"figure: compile_moving_ratio_{size} = {moving:.2f} x (bound {MOVING_BOUND})")
        print(f"figure: compile_per_operation_{size} = {total / count * 1e6:.0f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
