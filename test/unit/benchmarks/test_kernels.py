"""The programs that `benchmarks/kernels.py` times: what they give and move, and the PTX that their speed rests on."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.program import Program
from coconet_ir.runtime.steps import Launch

FOLDER = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """The benchmark's module, which imports no torch."""
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("kernels")
    finally:
        sys.path.remove(str(FOLDER))


NAMES = (
    *("adam_f32", "adam_mixed", "lamb", "bias_dropout_residual", "rmsnorm"),
    *("softmax", "cast", "transpose", "sum", "norm", "chain"),
)


def case(benchmark: Any, name: str) -> Any:
    """The case of that name."""
    return next(one for one in (*benchmark.CASES, benchmark.CHAIN) if one.name == name)


def test_every_program_is_a_case(benchmark: Any) -> None:
    assert sorted(NAMES) == sorted(path.stem for path in (FOLDER / "kernels").glob("*.mlir"))
    assert set(NAMES) == {one.name for one in (*benchmark.CASES, benchmark.CHAIN)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [{"n": 1000, "r": 8, "c": 64}, {"n": 97, "r": 5, "c": 13}])
def test_programs_give_what_the_references_give(
    benchmark: Any, name: str, shape: dict[str, int]
) -> None:
    one = case(benchmark, name)
    arrays = one.draw(shape, len(name))
    outputs = Program.load(one.path).run({}, {**arrays, **one.scalars}).outputs
    for output, want in one.reference(arrays, one.scalars).items():
        found = outputs["result0" if output == "out" else output].array
        tolerance = benchmark.TOLERANCES[one.arrays(shape)[output][1]]
        assert benchmark.error(found, np.asarray(want)) < tolerance, output


@pytest.mark.parametrize(
    ("name", "bytes"),
    [
        ("adam_f32", 28 * 334_000_000),
        ("adam_mixed", 28 * 334_000_000),
        ("lamb", 40 * 334_000_000),
        ("bias_dropout_residual", 6 * 16_384 * 8_192 + 2 * 8_192),
        ("rmsnorm", 4 * 16_384 * 8_192 + 2 * 8_192),
        ("cast", 6 * 334_000_000),
        ("sum", 4 * 334_000_000),
    ],
)
def test_what_moves(benchmark: Any, name: str, bytes: int) -> None:
    one = case(benchmark, name)
    assert one.bytes(one.shape) == bytes


def compiled(benchmark: Any, name: str) -> tuple[list[Launch], dict[str, list[str]]]:
    """The launches of a program at its size, and the instructions of each kernel."""
    one = case(benchmark, name)
    found: Any = Program.load(one.path).compile("sm_90a")
    arrays = one.arrays(one.shape)
    shapes = {name: dims for name, (dims, _, _) in arrays.items() if name != "out"}
    steps = found.plan.bind(shapes, one.scalars).steps
    bodies = re.split(r"^\.visible \.entry ", found.ptx, flags=re.MULTILINE)[1:]
    kernels = {body.partition("(")[0]: body.splitlines() for body in bodies}
    return list(steps), kernels


def places(lines: list[str], pattern: str) -> list[int]:
    """The lines that hold an instruction."""
    return [
        number
        for number, line in enumerate(lines)
        if re.match(rf"\s+(@!?%p\d+ )?{pattern}\b", line)
    ]


@pytest.mark.parametrize(("name", "loads", "stores"), [("adam_f32", 4, 3), ("adam_mixed", 4, 4)])
def test_all_is_loaded_before_anything_is_computed(
    benchmark: Any, name: str, loads: int, stores: int
) -> None:
    """One vector of each buffer a thread, of 16 bytes or, of bf16 beside f32, of 8."""
    (launch,), kernels = compiled(benchmark, name)
    assert launch.block == (128, 1, 1)
    assert launch.grid == (-(-334_000_000 // 512), 1, 1)
    lines = kernels[launch.kernel]
    loaded = places(lines, r"ld\.global\.v[24]\.b32")
    assert len(loaded) == loads
    assert len(places(lines, r"st\.global\.v[24]\.b32")) == stores
    assert loaded[-1] < min(places(lines, r"(mul|fma|div|sqrt)\.rn\.f32"))


def test_one_generator_call_for_four_elements(benchmark: Any) -> None:
    """Sixteen elements a thread: four calls of ten rounds of two products; one call where elements go alone."""
    (launch,), kernels = compiled(benchmark, "bias_dropout_residual")
    lines = kernels[launch.kernel]
    assert len(places(lines, r"mul\.(wide\.u32|lo\.s64)")) <= (4 + 1) * 20 + 8
    assert len(places(lines, r"ld\.global\.v4\.b32")) == 6
    assert len(places(lines, r"st\.global\.v4\.b32")) == 2
    divisions = places(lines, r"(div|rem)\.u64")
    assert divisions
    assert places(lines, r"ld\.global\.v4\.b32")[3] < divisions[0]


def test_rows_are_read_once(benchmark: Any) -> None:
    """Four vectors of 16 bytes a thread stay in registers over the barrier; one reciprocal for the row."""
    (launch,), kernels = compiled(benchmark, "rmsnorm")
    assert launch.block == (256, 1, 1)
    lines = kernels[launch.kernel]
    barrier = places(lines, r"bar(rier)?(\.cta)?\.sync")[0]
    loaded = places(lines, r"ld\.global\.v4\.b32")
    assert sum(place < barrier for place in loaded) == 4
    store = places(lines, r"st\.global\.v4\.b32")[0]
    assert sum(barrier < place < store for place in loaded) == 1  # the weight's


def test_launches(benchmark: Any) -> None:
    """LAMB's two large kernels and the one between; five in a chain; no more partial results than one block adds."""
    steps, _ = compiled(benchmark, "lamb")
    assert len(steps) == 3
    assert steps[0].grid[0] <= 1 << 15
    assert steps[1].grid == (1, 1, 1)
    steps, _ = compiled(benchmark, "chain")
    assert len(steps) == 5
