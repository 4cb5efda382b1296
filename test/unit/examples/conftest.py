"""Runs of the example programs for the tests in this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.program import Program
from coconet_ir.sim.executor import run

EXAMPLES = Path(__file__).parents[3] / "examples"


@cache
def load(name: str) -> Program:
    """An example. Parsed once for all tests."""
    return Program.load(str(EXAMPLES / f"{name}.mlir"))


@pytest.fixture
def simulate() -> Callable[
    [str, Mapping[str, int], Mapping[str, npt.NDArray[Any]], bool], dict[str, npt.NDArray[Any]]
]:
    """Run an example on a mesh: its outputs by name; values with their leading axes in mesh order."""

    def simulate(
        name: str, mesh: Mapping[str, int], inputs: Mapping[str, npt.NDArray[Any]], exact: bool
    ) -> dict[str, npt.NDArray[Any]]:
        outcome = run(load(name).function(), mesh, inputs, exact=exact)
        return {name: np.asarray(output.array) for name, output in outcome.outputs.items()}

    return simulate
