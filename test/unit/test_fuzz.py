"""A short run of the fuzzer; `test/fuzz/fuzz.py --count 50000` is the long one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).parents[1] / "fuzz" / "fuzz.py"


def test_damaged_programs_are_answered() -> None:
    run = subprocess.run(
        [sys.executable, str(FUZZER), "--count", "150", "--seed", "1"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
