"""Every reason code is one that a pass gives, shown by a test of what that pass prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from coconet_ir.schedule.remarks import Reason

PASSES = Path(__file__).parents[2] / "filecheck" / "passes"


@pytest.mark.parametrize("reason", Reason)
def test_reason_occurs_in_a_filecheck_test(reason: Reason) -> None:
    texts = [path.read_text() for path in PASSES.glob("*.mlir")]
    assert any(f"declined [{reason}]" in text for text in texts)
