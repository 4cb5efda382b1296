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
SIZES = (0, 1, 7, 16, 23)
FLAT = {name: "w" for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip")}
BLOCKS = {"attention": "residual", "attention_full": "residual", "mlp": "residual"}
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
            **{flat: {argument: (size,)} for flat, argument in FLAT.items()},
            **{block: {argument: (2, size, 3)} for block, argument in BLOCKS.items()},
            "hierarchical": {"w": (size,)},
            "two_axes": {"w": (size, 5)},
            "pipeline": {"residual": (2, size, 3)},
            "rmsnorm": {"stream": (2, size, 5)},
        }[name]
        for ranks in (1, 2, 3, 5, 7, 8):
            if len(axes) == 1:
                yield {axes[0]: ranks}, shape
                continue
            for outer in (outer for outer in (1, 2, ranks) if ranks % outer == 0):
                yield {axes[0]: outer, axes[1]: ranks // outer}, shape


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "expected").glob("*.mlir")), ids=lambda path: path.stem
)
def test_schedule_computes_what_the_example_computes(path: Path) -> None:
    name = path.name.split(".")[0]
    example, scheduled = load(EXAMPLES / f"{name}.mlir"), load(path)
    exact = path.stem in REASSOCIATED
    for mesh, shapes in bindings(name, example):
        inputs = generate(example, bind_mesh(example, mesh), {}, shapes, 1)
        rows = compare(
            run(example, mesh, inputs, exact=exact), run(scheduled, mesh, inputs, exact=exact)
        )
        assert rows
        assert all(row.within(EXACT_TOLERANCE if exact else None) for row in rows), (mesh, rows)
