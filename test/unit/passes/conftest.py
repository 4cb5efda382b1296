"""The random programs of this folder; they are a script too, so they are loaded by their path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def random_programs() -> Any:
    """The module `random_programs.py`."""
    path = Path(__file__).with_name("random_programs.py")
    spec = importlib.util.spec_from_file_location("coconet_random_programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
