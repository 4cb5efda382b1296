"""What holds for every unit test, and what the examples' schedules give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.transform import NamedSequenceOp

from coconet_ir.analysis import customs
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.program import Program

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def own_customs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Custom operations that a test declares are gone after it."""
    monkeypatch.setattr(customs, "_registered", dict[str, customs.Custom]())


@cache
def schedules(name: str) -> dict[str, Program]:
    """What each of the schedules of an example makes of it, by their names. Applied once for all tests."""
    path = EXAMPLES / "schedules" / f"{name}.mlir"
    example = Program.load(str(EXAMPLES / f"{name}.mlir"))
    module = parse_program(make_context(), path.read_text(), str(path))
    found = [op.sym_name.data for op in module.walk() if isinstance(op, NamedSequenceOp)]
    return {one: example.load_schedule(f"{path}:{one}").program for one in found}


@pytest.fixture
def scheduled() -> Callable[[str], Mapping[str, Program]]:
    """What the schedules of an example make of it, by their names."""
    return schedules
