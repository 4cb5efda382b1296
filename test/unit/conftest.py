"""What holds for every unit test."""

from __future__ import annotations

import pytest

from coconet_ir.analysis import customs


@pytest.fixture(autouse=True)
def own_customs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Custom operations that a test declares are gone after it."""
    monkeypatch.setattr(customs, "_registered", dict[str, customs.Custom]())
