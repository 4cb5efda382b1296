"""How fast the emulator is, on one core, with everything checked: instructions of pointwise Adam, and schedules.

    python benchmarks/emu.py [--elements 262144] [--schedules 1000] [--repeat 3]

`adam`: the kernel of `kernels/adam_f32.mlir` for so many elements; PTX instructions of all threads over the seconds of
one schedule, the best of `--repeat`. Instructions are counted by a kernel that adds to a counter where each basic block
begins, run for one block of threads and for two. `two_shot`: the all-reduce that nvcc compiled, 4 ranks x 2 blocks x 64
threads, 4 KiB, two launches, one schedule after the other, each with its seed. Compilation is printed apart.
Seconds are those that the processor worked.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kernel_cases import CASES, TOLERANCES, error

from coconet_ir.api import Program
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator, Outcome
from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import Function, Instruction
from coconet_ir.runtime.steps import Launch, Place

ROOT = Path(__file__).parent.parent
ALL_REDUCE = ROOT / "test/unit/emu/foreign/ptx/all_reduce.ptx"

RATE_BOUND, SCHEDULES_BOUND = 20.0, 15.0
"""Millions of instructions a second, and seconds of 1,000 schedules."""

THREAD_ELEMENTS = 4
RANKS, BLOCKS, THREADS, BYTES, LAUNCHES = 4, 2, 64, 4096, 2
COUNTER = 99
"""The number of the buffer that instructions are counted in."""


ADAM = next(one for one in CASES if one.name == "adam_f32")


def adam(elements: int) -> Job:
    """AdamW of random arrays."""
    compiled: Any = Program.load(ADAM.path).compile("sm_90a", cache=False)
    arrays = ADAM.draw({"n": elements}, 0)
    bound = compiled.plan.bind({name: one.shape for name, one in arrays.items()}, ADAM.scalars)
    memory = {
        compiled.plan.arguments[name]: Memory(name, one.nbytes, one.tobytes())
        for name, one in arrays.items()
    }
    return Job(compiled.ptx, (Rank(memory, bound.steps),))


def check(job: Job, outcome: Outcome, elements: int) -> None:
    """That nothing was found, and that the results are those of the reference."""
    assert outcome.findings == (), outcome.findings
    numbers = {one.name: number for number, one in job.ranks[0].memory.items()}
    for name, want in ADAM.reference(ADAM.draw({"n": elements}, 0), ADAM.scalars).items():
        found = np.frombuffer(outcome.memory[0][numbers[name]], np.float32)
        assert error(found, want) <= TOLERANCES["f32"], name


def block_starts(function: Function) -> dict[int, int]:
    """How many instructions each basic block has, by the line of its first one."""
    found: dict[int, int] = {}
    start: int | None = None
    for item in function.body:
        if not isinstance(item, Instruction):
            start = None
            continue
        if start is None:
            start = item.line
        found[start] = found.get(start, 0) + 1
        if item.opcode in ("bra", "brx", "ret", "exit"):
            start = None
    return found


def counting(ptx: str) -> str:
    """The text of one kernel that takes a counter at the end, and adds to it all instructions of each basic block."""
    (function,) = parse_ptx(ptx).functions.values()
    starts, lines = block_starts(function), list[str]()
    last, counter = function.parameters[-1].name, f"{function.name}_counter"
    for number, line in enumerate(ptx.splitlines(), 1):
        if number in starts:
            lines.append(f"red.relaxed.gpu.global.add.u64 [%counter], {starts[number]};")
        if number == min(starts):
            lines[-1:-1] = [".reg .b64 %counter;", f"ld.param.b64 %counter, [{counter}];"]
        declares = line.lstrip().startswith(".param") and line.split()[-1] == last
        lines.append(f"{line},\n.param .b64 {counter}" if declares else line)
    return "\n".join(lines)


def instructions(job: Job, threads: int) -> float:
    """The PTX instructions of a thread, by the counting kernel."""
    (rank,) = job.ranks
    (step,) = rank.steps
    assert isinstance(step, Launch)
    counted = replace(step, arguments=(*step.arguments, Place(COUNTER)))
    memory = {**rank.memory, COUNTER: Memory("counter", 8, bytes(8))}
    outcome = Emulator(Job(counting(job.ptx), (Rank(memory, (counted,)),))).run(0)
    assert outcome.findings == (), outcome.findings
    (total,) = np.frombuffer(outcome.memory[0][COUNTER], np.uint64)
    return int(total) / threads


def rate(elements: int, repeat: int) -> float:
    """Print and give the millions of instructions of a second."""
    block = 128 * THREAD_ELEMENTS
    assert elements % block == 0, elements
    each, same = (instructions(adam(n * block), n * 128) for n in (1, 2))
    assert each == same, (each, same)
    start = time.process_time()
    job = adam(elements)
    emulator = Emulator(job)
    compiled = time.process_time() - start
    seconds: list[float] = []
    for seed in range(repeat):
        start = time.process_time()
        outcome = emulator.run(seed)
        seconds.append(time.process_time() - start)
        check(job, outcome, elements)
    total = each * elements / THREAD_ELEMENTS
    found = total / min(seconds) / 1e6
    print(
        f"adam: {elements} elements, {each:.0f} instructions a thread, {total / 1e6:.1f} M in {min(seconds):.2f} s: "
        f"{found:.1f} M/s (bound {RATE_BOUND:.0f}); made ready in {compiled:.2f} s"
    )
    return found


def two_shot() -> tuple[Job, np.ndarray[Any, Any]]:
    """The all-reduce, and the sum that all ranks must have."""
    inputs = np.random.default_rng(0).standard_normal((RANKS, BYTES // 4)).astype(np.float32)
    table = tuple(Place(owner, rank=rank) for rank in range(RANKS) for owner in (1, 2, 3))
    ranks: list[Rank] = []
    for rank in range(RANKS):
        memory = {
            0: Memory("peers", 8 * len(table), pointers=table),
            1: Memory("input", BYTES, inputs[rank].tobytes()),
            2: Memory("shares", BYTES),
            3: Memory("flags", 4 * BLOCKS * RANKS, bytes(4 * BLOCKS * RANKS)),
            4: Memory("epochs", 4 * BLOCKS, bytes(4 * BLOCKS)),
            **{5 + launch: Memory(f"output {launch}", BYTES) for launch in range(LAUNCHES)},
        }
        numbers = [np.int32(one).tobytes() for one in (rank, RANKS, BYTES // 16)]
        steps = tuple(
            Launch(
                *("two_shot", (BLOCKS, 1, 1), (THREADS, 1, 1)),
                (Place(0), *numbers, Place(5 + launch), Place(4)),
                after=(launch - 1,) if launch else (),
            )
            for launch in range(LAUNCHES)
        )
        ranks.append(Rank(memory, steps))
    total = inputs[0]
    for one in inputs[1:]:
        total = total + one
    return Job(ALL_REDUCE.read_text(), tuple(ranks)), total


def schedules(count: int) -> float:
    """Print and give the seconds of so many schedules."""
    job, want = two_shot()
    start = time.process_time()
    emulator = Emulator(job)
    compiled = time.process_time() - start
    start = time.process_time()
    for seed in range(count):
        outcome = emulator.run(seed)
        assert outcome.findings == (), outcome.findings
        for memory in outcome.memory:
            for launch in range(LAUNCHES):
                assert np.array_equal(np.frombuffer(memory[5 + launch], np.float32), want)
    found = time.process_time() - start
    print(
        f"two_shot: {count} schedules of {RANKS} ranks x {BLOCKS} blocks x {THREADS} threads, {BYTES} bytes, "
        f"{LAUNCHES} launches: {found:.1f} s, {1e3 * found / count:.1f} ms each "
        f"(bound {SCHEDULES_BOUND:.0f} s of 1,000); made ready in {compiled:.2f} s"
    )
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--elements", type=int, default=1 << 18, help="a multiple of 512")
    arguments.add_argument("--schedules", type=int, default=1000)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    speed = rate(options.elements, options.repeat)
    seconds = schedules(options.schedules) * 1000 / options.schedules
    print(
        f"figure: emu_adam_rate = {speed:.1f} M/s (bound {RATE_BOUND:.0f})",
        f"figure: emu_two_shot_1000 = {seconds:.1f} s (bound {SCHEDULES_BOUND:.0f})",
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
