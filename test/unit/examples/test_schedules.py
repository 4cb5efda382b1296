"""Each example against what its schedules make of it, and against its forms in examples/expected/.

The bits are the same, or close where a schedule adds sums up in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from coconet_ir.program import Program
from coconet_ir.sim.binding import Input, bind_mesh
from coconet_ir.sim.compare import EXACT_TOLERANCE, compare

EXAMPLES = Path(__file__).parents[3] / "examples"
RANKS = (1, 2, 3, 5, 7, 8)
PRIME = 23
OPEN = -1
SHAPES: dict[str, dict[str, tuple[int | None, ...]]] = {
    **{
        name: {"w": (OPEN,)}
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    "two_axes": {"w": (OPEN, 5)},
    "buckets": {"up": (OPEN, 3), "bias": (OPEN,), "down": (5, OPEN)},
    **{
        name: {"residual": (2, OPEN, 3)}
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "rmsnorm": {"stream": (2, OPEN, 5)},
    "moe": {"x": (OPEN, 3, 2), "w_up": (OPEN, None, 3)},
}
"""The examples and shapes of arguments, `OPEN` where they take each of the sizes."""
REASSOCIATED = {
    *(
        f"{name}.{schedule}"
        for name in ("lamb", "lamb_segments", "clip")
        for schedule in ("reorder", "rs_opt_ag", "fuse_rs_opt_ag")
    ),
    *(
        f"hierarchical.{schedule}"
        for schedule in (
            "split",
            "reorder",
            "rs_fuse_ar_opt_ag",
            "rs_fuse_rs_opt_ag_ag",
            "ol_rs_fuse_ar_opt_ag",
        )
    ),
}
"""These add up in another order, so they are compared in f64."""

Scheduled: TypeAlias = Callable[[str], Mapping[str, Program]]


@cache
def load(name: str) -> Program:
    return Program.load(str(EXAMPLES / f"{name}.mlir"))


def forms(name: str, scheduled: Scheduled) -> dict[str, Program]:
    """What the schedules of an example make of it, by the names that `REASSOCIATED` has."""
    return {f"{name}.{schedule}": program for schedule, program in scheduled(name).items()}


def expected(name: str) -> dict[str, Program]:
    """The forms of an example in examples/expected/, by the names that `REASSOCIATED` has."""
    found = sorted((EXAMPLES / "expected").glob(f"{name}.*.mlir"))
    return {path.stem: load(f"expected/{path.stem}") for path in found}


def meshes(program: Program) -> Iterator[dict[str, int]]:
    """Every number of ranks, on two axes in every way that has 1, 2 or all of them outside."""
    axes = list(bind_mesh(program.function(), {}).axes)
    for ranks in RANKS:
        if len(axes) == 1:
            yield {axes[0]: ranks}
            continue
        for outer in dict.fromkeys(outer for outer in (1, 2, ranks) if ranks % outer == 0):
            yield {axes[0]: outer, axes[1]: ranks // outer}


def sizes(ranks: int) -> tuple[int, ...]:
    """None, one, a prime that only one rank divides, and what all ranks divide."""
    return (0, 1, PRIME, 3 * ranks)


def inputs_of(name: str, mesh: Mapping[str, int], size: int) -> dict[str, Input]:
    shapes = {
        argument: tuple(size if extent == OPEN else extent for extent in shape)
        for argument, shape in SHAPES[name].items()
    }
    return load(name).generate(mesh, shapes=shapes, seed=1)


def check(
    name: str, compared: Mapping[str, Program], mesh: dict[str, int], inputs: dict[str, Input]
) -> None:
    """Each form gives what the example gives, bit for bit or, with another order of additions, in f64."""
    for exact in (False, True):
        chosen = {key: form for key, form in compared.items() if exact == (key in REASSOCIATED)}
        if not chosen:
            continue
        want = load(name).run(mesh, inputs, exact=exact)
        for key, form in chosen.items():
            rows = compare(want, form.run(mesh, inputs, exact=exact))
            assert rows
            tolerance = EXACT_TOLERANCE if exact else None
            assert all(row.within(tolerance) for row in rows), (key, mesh, rows)


@pytest.mark.parametrize("name", SHAPES)
def test_schedules_compute_what_the_example_computes(name: str, scheduled: Scheduled) -> None:
    compared = forms(name, scheduled)
    for mesh in meshes(load(name)):
        for size in sizes(prod(mesh.values())):
            check(name, compared, mesh, inputs_of(name, mesh, size))


@pytest.mark.parametrize("name", SHAPES)
def test_expected_forms_compute_what_the_example_computes(name: str) -> None:
    for mesh in meshes(load(name)):
        check(name, expected(name), mesh, inputs_of(name, mesh, PRIME))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_schedules_of_lamb_keep_everything_on_overflow(bad: float, scheduled: Scheduled) -> None:
    compared, example = forms("lamb", scheduled), load("lamb")
    for ranks in RANKS:
        inputs = example.generate({"dp": ranks}, shapes={"w": (7,)}, seed=1)
        grad = np.array(inputs["grad"])
        grad[ranks - 1, 6] = bad
        check("lamb", compared, {"dp": ranks}, {**inputs, "grad": grad})


def test_every_example_has_schedules(scheduled: Scheduled) -> None:
    names = {path.stem for path in EXAMPLES.glob("*.mlir")}
    assert names == {path.stem for path in (EXAMPLES / "schedules").glob("*.mlir")} == SHAPES.keys()
    found = {key for name in names for key in (*forms(name, scheduled), *expected(name))}
    assert found >= REASSOCIATED
