"""Each example against its split and its reordered form: the same bits, or close where sums are added otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import make_context, parse_program
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.compare import EXACT_TOLERANCE, compare
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate

EXAMPLES = Path(__file__).parents[3] / "examples"
SIZES = (0, 1, 23)
OPEN = 0
SHAPES = {
    **{
        name: {"w": (OPEN,)}
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    "two_axes": {"w": (OPEN, 5)},
    **{
        name: {"residual": (2, OPEN, 3)}
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "rmsnorm": {"stream": (2, OPEN, 5)},
}
"""The examples and the shape of one argument, `OPEN` where it takes each of `SIZES`."""
REASSOCIATED = {
    "lamb.reorder",
    "lamb_segments.reorder",
    "clip.reorder",
    "hierarchical.split",
    "hierarchical.reorder",
}
"""These add up in another order, so they are compared in f64."""


def load(path: Path) -> FuncOp:
    return the_function(parse_program(make_context(), path.read_text(), str(path)), None)


def bindings(
    name: str, func: FuncOp
) -> Iterator[tuple[dict[str, int], dict[str, tuple[int, ...]]]]:
    """Meshes and shapes: every number of ranks with every size."""
    axes = list(bind_mesh(func, {}).axes)
    for size in SIZES:
        shape = {
            key: tuple(size if n == OPEN else n for n in given)
            for key, given in SHAPES[name].items()
        }
        for ranks in (1, 2, 3, 5, 7, 8):
            if len(axes) == 1:
                yield {axes[0]: ranks}, shape
                continue
            for outer in (outer for outer in (1, 2, ranks) if ranks % outer == 0):
                yield {axes[0]: outer, axes[1]: ranks // outer}, shape


@pytest.mark.parametrize("name", SHAPES)
def test_schedules_compute_what_the_example_computes(name: str) -> None:
    example = load(EXAMPLES / f"{name}.mlir")
    scheduled = {
        path.stem: load(path) for path in sorted((EXAMPLES / "expected").glob(f"{name}.*.mlir"))
    }
    assert scheduled
    for mesh, shapes in bindings(name, example):
        inputs = generate(example, bind_mesh(example, mesh), {}, shapes, 1)
        for exact in {stem in REASSOCIATED for stem in scheduled}:
            want = run(example, mesh, inputs, exact=exact)
            for stem, func in scheduled.items():
                if exact != (stem in REASSOCIATED):
                    continue
                rows = compare(want, run(func, mesh, inputs, exact=exact))
                assert rows
                tolerance = EXACT_TOLERANCE if exact else None
                assert all(row.within(tolerance) for row in rows), (stem, mesh, rows)
