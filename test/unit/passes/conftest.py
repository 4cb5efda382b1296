"""The random programs of this folder, which are a script too: they are imported from its path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def random_programs() -> Any:
    """The module `random_programs.py`."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return importlib.import_module("random_programs")
    finally:
        del sys.path[0]
