"""The table of litmus tests, as parameters of tests."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest


def _imported(name: str) -> Any:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


@pytest.fixture(scope="session")
def form() -> Any:
    """The module `litmus_form.py`, which makes kernels and plans of litmus tests."""
    return _imported("litmus_form")


@pytest.fixture(scope="session")
def random_programs() -> Any:
    """The module `litmus_random.py`, which compares random programs with the axioms."""
    return _imported("litmus_random")


@pytest.fixture(scope="session")
def orders() -> Any:
    """The module `litmus_orders.py`, which runs random programs in all orders."""
    return _imported("litmus_orders")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `litmus` is done for each of the table."""
    if "litmus" in metafunc.fixturenames:
        metafunc.parametrize("litmus", _imported("litmus_table").TESTS, ids=str)
