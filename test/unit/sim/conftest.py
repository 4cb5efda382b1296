"""Programs for the tests in this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import make_context, parse_program
from coconet_ir.sim.binding import the_function
from coconet_ir.sim.executor import run

Array = npt.NDArray[Any]


def parse(text: str) -> FuncOp:
    """The function of a program, checked."""
    return the_function(parse_program(make_context(), text, "test.mlir"), None)


@pytest.fixture
def program() -> Callable[[str], FuncOp]:
    """From text to its one function."""
    return parse


@pytest.fixture
def outputs() -> Callable[..., dict[str, Array]]:
    """Run a program's text: `outputs(text, mesh, exact=False, **inputs)` gives its outputs by name."""

    def outputs(
        text: str, mesh: Mapping[str, int], exact: bool = False, **inputs: npt.ArrayLike
    ) -> dict[str, Array]:
        outcome = run(parse(text), mesh, inputs, exact=exact)
        return {name: np.asarray(out.array) for name, out in outcome.outputs.items()}

    return outputs
