"""Every kernel of every example, and of what its schedules make of it, run by the emulator: nothing is wrong with them,
and they give what the simulator gives, also in unusual orders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from coconet_ir.emu.checks.program import bind_job, expected
from coconet_ir.emu.job import Job
from coconet_ir.emu.machine import Emulator
from coconet_ir.program import Program
from coconet_ir.runtime.compile import Compiled
from coconet_ir.runtime.steps import Collective, Launch, Step
from coconet_ir.sim.compare import compare, rounding

EXAMPLES = Path(__file__).parents[3] / "examples"
Shapes = Mapping[str, Sequence[int | None]]

FLAT = ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
BLOCKS = ("attention", "mlp", "pipeline")
SHAPES: Mapping[str, tuple[Shapes, Shapes]] = {
    **{name: ({"w": (1030,)}, {"w": (2051,)}) for name in FLAT},
    **{name: ({"residual": (2, 172, 4)}, {"residual": (1, 7, 3)}) for name in BLOCKS},
    "attention_full": (
        {"residual": (1, 24, 4), "wq": (None, 128)},
        {"residual": (1, 5, 3), "wq": (None, 192)},
    ),
    "two_axes": ({"w": (172, 6)}, {"w": (7, 5)}),
    "rmsnorm": ({"stream": (2, 4, 264)}, {"stream": (1, 7, 5)}),
    "moe": ({"x": (8, 6, 8), "w_up": (4, None, 40)}, {"x": (5, 3, 3), "w_up": (3, None, 5)}),
    "buckets": (
        {"up": (172, 6), "bias": (1030,), "down": (2, 2)},
        {"up": (7, 5), "bias": (3,), "down": (1, 1)},
    ),
}
"""Even and odd shapes of each example. Of each example some are so large that kernels move vectors, and some rest."""

REDUCING = ("lamb", "lamb_segments", "clip", "rmsnorm", "attention_full")
"""Examples with kernels that add in another order than the simulator. All others give its bits."""

SEVERAL = ((1, 1), (2, 1), (1, 3), (2, 2))
"""Ranks along two axes, 1 to 4 in all."""


def meshes(compiled: Compiled) -> Iterator[dict[str, int]]:
    """The program's mesh with 1 to 4 ranks."""
    axes = compiled.plan.entry.single.axes
    for ranks, counts in enumerate(SEVERAL, 1):
        yield dict(zip(axes, counts if len(axes) > 1 else (ranks,), strict=True))


def check(
    program: Program,
    compiled: Compiled,
    mesh: Mapping[str, int],
    shapes: Shapes,
    *,
    seed: int,
    exact: bool,
) -> None:
    """Assert that a schedule finds nothing, and that outputs are those of the simulator."""
    inputs = program.generate(mesh, {}, shapes, seed)
    job = bind_job(compiled, mesh, inputs)
    ran = Emulator(job.job).run(seed)
    assert ran.findings == (), mesh
    wanted = expected(program.function(), mesh, inputs)
    rows = compare(wanted, job.outcome(ran.memory))
    assert [row.name for row in rows] == list(wanted.outputs)
    for row in rows:
        tolerance = None if exact else rounding(wanted.outputs[row.name].array.dtype)
        assert row.within(tolerance), (mesh, row)


@cache
def example(name: str) -> tuple[Program, Compiled]:
    """An example, compiled."""
    program = Program.load(str(EXAMPLES / f"{name}.mlir")).infer()
    return program, program.compile(cache=False)


def kernels(ptx: str) -> set[str]:
    """The kernels of a module, whatever they are called and wherever they come from."""
    _, *found = re.split(r"^\.visible \.entry ", ptx, flags=re.MULTILINE)
    bodies: set[str] = set()
    for one in found:
        text = one[: one.index("\n}\n")].replace(one[: one.index("(")], "kernel")
        bodies.add(re.sub(r"\s*(?:\.loc\s.*|//.*)$", "", text, flags=re.MULTILINE))
    return bodies


@pytest.mark.parametrize("name", SHAPES)
def test_examples(name: str) -> None:
    """On 1 to 4 ranks, at an even and an odd size."""
    program, compiled = example(name)
    for ranks, mesh in enumerate(meshes(compiled)):
        for shapes in SHAPES[name]:
            check(program, compiled, mesh, shapes, seed=ranks, exact=name not in REDUCING)


def with_steps(job: Job, steps: Sequence[tuple[Step, ...]]) -> Job:
    """A job whose ranks do other steps."""
    ranks = zip(job.ranks, steps, strict=True)
    return replace(job, ranks=tuple(replace(rank, steps=one) for rank, one in ranks))


@pytest.mark.parametrize("name", ["lamb", "clip"])
def test_launches_that_do_not_wait(name: str) -> None:
    """A race, on that rank, unless a collective lies between them, for which all launches wait."""
    program, compiled = example(name)
    inputs = program.generate({"dp": 2}, {}, SHAPES[name][0], 0)
    job = bind_job(compiled, {"dp": 2}, inputs).job
    steps, seen = job.ranks[1].steps, set[bool]()
    for number, step in enumerate(steps):
        if not isinstance(step, Launch):
            continue
        for edge in step.after:
            loose = replace(step, after=tuple(one for one in step.after if one != edge))
            other = (*steps[:number], loose, *steps[number + 1 :])
            ordered = any(isinstance(one, Collective) for one in steps[edge:number])
            found = Emulator(with_steps(job, [job.ranks[0].steps, other])).run(number).findings
            assert [one.kind for one in found] == ([] if ordered else ["data race"])
            assert all(place.rank == 1 for one in found for place in one.places)
            seen.add(ordered)
    assert seen == {True, False}


def test_outputs_that_nobody_writes() -> None:
    """They are no numbers that anybody expects, such as 0."""
    program, compiled = example("moe")
    inputs = program.generate({"ep": 3}, {}, SHAPES["moe"][1], 0)
    bound = bind_job(compiled, {"ep": 3}, inputs)
    ran = Emulator(with_steps(bound.job, [()] * 3)).run(0)
    (output,) = bound.outcome(ran.memory).outputs.values()
    assert set(output.array.tobytes()) == {0xA5}


def test_calls_that_are_left_out() -> None:
    """Reads what nobody has written, or, where a place of the arena is used again, what was there before."""
    program, compiled = example("moe")
    inputs = program.generate({"ep": 2}, {}, SHAPES["moe"][1], 0)
    bound = bind_job(compiled, {"ep": 2}, inputs)
    wanted = expected(program.function(), {"ep": 2}, inputs)
    several = [rank.steps for rank in bound.job.ranks]
    kinds = set[str]()
    for number, one in enumerate(several[0]):
        if isinstance(one, Launch):
            continue
        left = [(*steps[:number], *steps[number + 1 :]) for steps in several]
        ran = Emulator(with_steps(bound.job, left)).run(number)
        kinds |= {finding.kind for finding in ran.findings}
        if not ran.findings:
            (row,) = compare(wanted, bound.outcome(ran.memory))
            assert not row.within(0.1)
    assert kinds == {"uninitialised read"}


@pytest.mark.parametrize("name", SHAPES)
def test_schedules(name: str, scheduled: Callable[[str], Mapping[str, Program]]) -> None:
    """Those that have kernels of their own, on three ranks, or two along each of two axes, at each of both sizes."""
    seen = kernels(example(name)[1].ptx)
    for number, program in enumerate(scheduled(name).values()):
        compiled = program.compile(cache=False)
        if (found := kernels(compiled.ptx)) <= seen:
            continue
        seen |= found
        several = list(meshes(compiled))
        mesh = several[3] if len(several[0]) > 1 else several[2]
        for shapes in SHAPES[name]:
            check(program, compiled, mesh, shapes, seed=number, exact=name not in REDUCING)
