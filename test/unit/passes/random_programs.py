"""Random programs, random rewrites of them, and what must hold after each.

    python test/unit/passes/random_programs.py --count 2000 --seed 1

rewrites that many programs and prints how often each operation took part in each rewrite, and how often that was
declined and why. A program that a rewrite breaks is printed with the rewrites that led there. Each case follows from
its number alone. With 10,000 programs or more it is an error that a rewrite that docs/legality.md calls legal was
applied fewer than 50 times.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from legality_pairs import legal_pairs
from random_focus import FOCI
from random_generator import Generator
from random_invariants import round_trip
from random_rewrites import Case, Nothing
from random_running import Broken, Reference, bind, close, compare
from random_steps import STEPS
from random_tally import Tally
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, OpResult

from coconet_ir.analysis.dist import REPLICATED, Dist
from coconet_ir.analysis.rules import LAYOUT_OF
from coconet_ir.analysis.verifier import RESLICED
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import DistAttr, dist_of, with_dist
from coconet_ir.dialects.comp import DropoutOp
from coconet_ir.dialects.folds import lay
from coconet_ir.frontend import check
from coconet_ir.passes.infer import infer
from coconet_ir.sim.binding import the_function
from coconet_ir.xdsl_compat import print_module, set_type

__all__ = ["FOCI", "Broken", "Tally", "close", "legal_pairs", "main", "run_case"]

BATCH = 50
"""Programs that a process is given at once."""

MANY, LEAST = 10_000, 50
"""So many programs are enough for each rewrite that docs/legality.md calls legal to be applied so many times."""


def infer_again(case: Case) -> None:
    """Take the layouts out of a copy's types and infer them. Raises `Broken` if that gives another program."""
    module, tally = case.program.module.clone(), case.tally
    func = the_function(module, None)
    if not any(dist_of(type) for type in (*func.function_type.inputs, *func.function_type.outputs)):
        return  # nothing says that it is to be inferred
    if func.arg_attrs is not None and any(RESLICED in marks.data for marks in func.arg_attrs):
        return  # it says which layouts there were
    values = [*func.body.block.args, *(result for op in func.walk() for result in op.results)]
    marks = func.arg_attrs or [DictionaryAttr({})] * len(func.body.block.args)
    func.arg_attrs = ArrayAttr(
        DictionaryAttr({**mark.data, **layout_of(arg.type)})
        for mark, arg in zip(marks, func.body.block.args, strict=True)
    )
    outputs = func.function_type.outputs
    func.res_attrs = ArrayAttr(DictionaryAttr(layout_of(type)) for type in outputs)
    for value in values:
        if isinstance(value, OpResult):
            lay(value, REPLICATED)
        else:
            set_type(value, with_dist(value.type, REPLICATED))
    inputs = [arg.type for arg in func.body.block.args]
    results = [with_dist(type, REPLICATED) for type in outputs]
    func.function_type = FunctionType.from_lists(inputs, results)
    check(module)
    try:
        infer(func)
    except IRError:  # a splat, or a broadcast, that was cut as nothing asks for
        tally.declined["infer", "func.func", "error"] += 1
        return
    tally.applied["infer", "func.func"] += 1
    check(module)
    round_trip(module)
    if dropped(func) == dropped(case.func):  # a splat that is local draws other elements
        compare(func, case.reference, case.reassociated)


def dropped(func: FuncOp) -> list[Dist]:
    """The layouts of what is dropped out of: their local axes decide what is drawn."""
    return [dist_of(op.input.type) for op in func.walk() if isinstance(op, DropoutOp)]


def layout_of(type: Attribute) -> dict[str, Attribute]:
    """The attribute that stands for the layout of a type."""
    dist = dist_of(type)
    return {LAYOUT_OF: DistAttr(dist)} if dist else {}


def run_case(seed: int, tally: Tally) -> None:
    """One random program and its rewrites. Raises `Broken` with all that is needed to see why."""
    try:
        _rewritten(seed, tally, each=False)
    except Broken:
        _rewritten(seed, Tally(), each=True)  # the first rewrite that shows
        raise


def _rewritten(seed: int, tally: Tally, each: bool) -> None:
    rng = random.Random(seed)
    focus = FOCI[seed % len(FOCI)]
    make = Generator(rng, focus.axes)
    program = make.program(rng.choice((10, 10, 11, 13, 16)), STEPS, focus.motif)
    mesh, inputs = bind(rng, program)
    before = program.module.clone()
    reference = Reference(the_function(before, None), mesh, inputs)
    case = Case(rng, program, reference, tally, each)
    tally.programs += 1
    tally.operations += program.size
    try:
        check(program.module)
        if rng.random() < 0.12:
            infer_again(case)
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            case.rewrite()
        for rewrite in focus.rewrites:
            try:
                case.perform(partial(rewrite, case, program.aim))
            except Nothing:
                continue
        for _ in range(rng.choice((2, 3, 4))):
            case.rewrite()
        case.look()
        if rng.random() < 0.04:
            infer_again(case)
        if rng.random() < 0.1:
            case.replay()
    except Exception as error:
        steps = "".join(f"  {step}\n" for step in case.history)
        raise Broken(
            f"program {seed}:\n{print_module(before)}rewrites:\n{steps}now:\n"
            f"{print_module(program.module)}{describe(error)}"
        ) from error


def describe(error: Exception) -> str:
    """What went wrong, with the place if that is not plain."""
    if isinstance(error, Broken):
        return str(error)
    return "".join(traceback.format_exception(error)[-4:])


def run_batch(seeds: range) -> tuple[Tally, list[str]]:
    """The programs of these numbers: the tally, and the cases that broke."""
    tally, broken = Tally(), list[str]()
    for seed in seeds:
        try:
            run_case(seed, tally)
        except Broken as error:
            broken.append(str(error))
    return tally, broken


def run_all(seeds: range, jobs: int) -> Iterator[tuple[Tally, list[str]]]:
    """The programs of these numbers, batch by batch, in this process or in several."""
    batches = [seeds[first : first + BATCH] for first in range(0, len(seeds), BATCH)]
    if jobs == 1:
        yield from map(run_batch, batches)
        return
    with ProcessPoolExecutor(jobs) as processes:
        yield from processes.map(run_batch, batches)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite random programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    options = parser.parse_args(arguments)
    tally, broken, start = Tally(), 0, time.perf_counter()
    seeds = range(options.seed, options.seed + options.count)
    for part, failures in run_all(seeds, options.jobs):
        tally.add(part)
        broken += len(failures)
        for failure in failures:
            print(failure, end="\n\n", flush=True)
    print(tally.table())
    least = LEAST if options.count >= MANY else 0
    lacking = tally.lacking(legal_pairs(), least)
    for pair in lacking:
        print(f"applied fewer than {least} times, though it is legal: {pair}")
    seconds = time.perf_counter() - start
    print(
        f"{tally.programs} programs of {tally.operations} operations in {seconds:.1f} s, {broken} broken"
    )
    return 1 if broken or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
