"""Each example with every rank a process of its own, bit-equal to the simulation in one process.

With three processes also what its schedules make of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import make_context, parse_program
from coconet_ir.program import Program
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate, load, save

EXAMPLES = Path(__file__).parents[3] / "examples"
SHAPES: dict[str, list[dict[str, list[int]]]] = {
    **{
        name: [{"w": [size]} for size in (0, 1, 7)]
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    **{
        name: [{"residual": list(shape)} for shape in ((2, 7, 3), (0, 1, 1))]
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "rmsnorm": [{"stream": [2, 7, 3]}, {"stream": [1, 0, 2]}],
    "two_axes": [{"w": [7, 5]}, {"w": [1, 0]}],
    "buckets": [{"up": [7, 5], "bias": [5], "down": [4, 7]}, {"up": [0, 1], "down": [1, 0]}],
    "moe": [{"x": [7, 5, 3]}, {"x": [0, 1, 2]}],
}
"""Every example, and the shapes that it runs with."""


Scheduled: TypeAlias = Callable[[str], Mapping[str, Program]]


def plan(processes: int, programs: Mapping[Path, str]) -> list[dict[str, Any]]:
    """Every program, with the shapes of its example, on meshes of that many ranks."""
    cases: list[dict[str, Any]] = []
    for path, example in programs.items():
        axes = bind_mesh(function(path), {}).axes
        sizes = [[processes]] if len(axes) == 1 else [[1, processes], [processes, 1]]
        cases += [
            {"program": str(path), "mesh": dict(zip(axes, size, strict=True)), "shapes": shapes}
            for size in sizes
            for shapes in SHAPES[example]
        ]
    return cases


def written(scheduled: Scheduled, folder: Path) -> dict[Path, str]:
    """Files of what the schedules make of the examples, and the example of each."""
    found: dict[Path, str] = {}
    for example in SHAPES:
        for name, program in scheduled(example).items():
            path = folder / f"{example}.{name}.mlir"
            path.write_text(str(program))
            found[path] = example
    return found


@cache
def function(path: Path) -> FuncOp:
    return the_function(parse_program(make_context(), path.read_text(), str(path)), None)


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
def test_processes_compute_what_one_process_computes(
    processes: int, scheduled: Scheduled, tmp_path: Path
) -> None:
    programs = {path: path.stem for path in sorted(EXAMPLES.glob("*.mlir"))}
    if processes == 3:
        programs |= written(scheduled, tmp_path)
    cases = plan(processes, programs)
    (tmp_path / "plan.json").write_text(json.dumps(cases))
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "mpirun"),
            "-n",
            str(processes),
            sys.executable,
            str(Path(__file__).with_name("run_over_mpi.py")),
            str(tmp_path / "plan.json"),
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for index, case in enumerate(cases):
        func = function(Path(case["program"]))
        inputs = generate(func, bind_mesh(func, case["mesh"]), {}, case["shapes"], 1)
        outcome = run(func, case["mesh"], inputs)
        save(str(tmp_path / "sim.npz"), {name: out.array for name, out in outcome.outputs.items()})
        want, got = load(str(tmp_path / "sim.npz")), load(str(tmp_path / f"{index}.npz"))
        assert want.keys() == got.keys()
        for name, array in want.items():
            assert array.dtype == got[name].dtype, (case, name)
            np.testing.assert_array_equal(array, got[name], err_msg=f"{case} {name}")
