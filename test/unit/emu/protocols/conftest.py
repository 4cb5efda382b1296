"""Protocol kernels, their mutants and their correct variants, for the tests in this folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

VARIANTS = 105


def _imported(name: str) -> Any:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


@pytest.fixture(scope="session")
def protocols() -> Any:
    """The module `protocols.py`, which makes and runs plans."""
    return _imported("protocols")


@pytest.fixture(scope="session")
def expectations() -> Any:
    """The module `expectations.py`, which says how mutants are found."""
    return _imported("expectations")


@pytest.fixture(scope="session")
def mutants() -> Any:
    """The module `mutants.py`, which makes mutants of a kernel."""
    return _imported("mutants")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with `protocol` is done for each protocol, one with `mutant` or `variant` for each of those of each."""
    protocols = _imported("protocols")
    names = list(protocols.PROTOCOLS)
    if "mutant" in metafunc.fixturenames:
        mutants = _imported("mutants").mutants
        pairs = [(name, one) for name in names for one in mutants(protocols.source(name))]
        ids = [f"{name}: {one}" for name, one in pairs]
        metafunc.parametrize(("protocol", "mutant"), pairs, ids=ids)
    elif "variant" in metafunc.fixturenames:
        made = _imported("variants").variants(protocols, VARIANTS)
        metafunc.parametrize("variant", made, ids=str)
    elif "protocol" in metafunc.fixturenames:
        metafunc.parametrize("protocol", names)
