"""Every example on one rank, and scheduled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from coconet_ir.program import Program
from coconet_ir.sim.compare import difference, rounding

ROOT = Path(__file__).parents[2]
SHAPES: Mapping[str, Sequence[Mapping[str, Sequence[int | None]]]] = {
    name: [{argument: (n,)} for n in (0, 1, 2, 1023, 1024, 4099)]
    for name, argument in (
        ("adam", "w"),
        ("adam_f32", "w"),
        ("sgd", "w"),
        ("lamb", "w"),
        ("clip", "w"),
        ("hierarchical", "w"),
    )
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.mlir")), ids=lambda p: p.stem)
def test_example(path: Path, checked: Callable[[Program], Any]) -> None:
    """At the sizes that the simulator takes, and optimizers at sizes of all kinds."""
    one = checked(Program.load(str(path)).infer())
    for seed, shapes in enumerate(({}, *SHAPES.get(path.stem, ()))):
        one.check(one.inputs(shapes, {}, seed))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.mlir")), ids=lambda p: p.stem)
def test_emulated(path: Path, checked: Callable[[Program], Any]) -> None:
    """The emulator gives the device's bits, but for the sums of products, whose order is the library's."""
    from coconet_ir.emu.checks.program import run

    one = checked(Program.load(str(path)).infer())
    inputs = one.inputs({}, {}, 5)
    func = one.program.function()
    emulated = run(func, one.mesh, inputs).outputs
    found = one.run(inputs)
    exact = not any(op.name == "comp.matmul" for op in func.walk())
    for name, out in emulated.items():
        array = found[name].reshape(out.array.shape)
        if exact:
            assert array.tobytes() == out.array.tobytes(), name
        else:
            gap = difference(name, out.array, array)
            assert gap.within(rounding(out.array.dtype)), gap


SCHEDULES = sorted((ROOT / "examples" / "schedules").glob("*.mlir"))


@pytest.mark.parametrize("path", SCHEDULES, ids=lambda p: p.stem)
def test_schedules(path: Path, checked: Callable[[Program], Any]) -> None:
    """What schedules make of an example."""
    from xdsl.dialects.transform import NamedSequenceOp

    from coconet_ir.frontend import make_context, parse_program

    program = Program.load(str(ROOT / "examples" / path.name)).infer()
    module = parse_program(make_context(), path.read_text(), path.name)
    names = [op.sym_name.data for op in module.walk() if isinstance(op, NamedSequenceOp)]
    for name in names:
        one = checked(program.load_schedule(f"{path}:{name}").program)
        one.check(one.inputs({}, {}, 3))
