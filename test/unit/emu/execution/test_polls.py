"""Loops that only wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.execution.polls import polls

LOAD = "ld.acquire.sys.global.u32 %r0, [%x];\n"
TEST = "setp.eq.u32 %p0, %r0, 0;\n"
AGAIN = "@%p0 bra WAIT;\n"


@pytest.mark.parametrize(
    ("loop", "waits"),
    [
        (LOAD + TEST + AGAIN, True),
        (LOAD + "sub.u32 %r0, %r0, %r1;\n" + TEST + AGAIN, True),
        (LOAD + TEST + "nanosleep.u32 20;\n" + AGAIN, True),
        (LOAD + "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra OUT;\nbra WAIT;\n", True),
        (LOAD + "add.u32 %r1, %r1, 1;\n" + TEST + AGAIN, False),  # it counts
        (LOAD + TEST + "@%p0 mov.u32 %r2, %r0;\n" + AGAIN, False),  # it may keep what it saw
        (LOAD + TEST + "@!%p0 bra OUT;\nmov.u32 %r2, %r0;\n" + AGAIN, False),
        (LOAD + "st.global.u32 [%y], %r0;\n" + TEST + AGAIN, False),
        (LOAD + "ld.relaxed.sys.global.u32 %r1, [%y];\n" + TEST + AGAIN, False),
        (LOAD + "fence.acq_rel.sys;\n" + TEST + AGAIN, False),
        ("add.u32 %r1, %r1, 1;\n" + LOAD + TEST + AGAIN, False),
        (LOAD + TEST, False),
    ],
)
def test_polls(machine: Any, loop: str, waits: bool) -> None:
    ones = np.ones(1, np.uint32)
    body = f"mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nWAIT:\n{loop}OUT:\nst.global.u32 [%y], %r2;"
    made = machine(body, {"x": ones, "y": ones})
    code = made.emulator.code
    lines = made.ptx.splitlines()
    found = {
        lines[code.sites[load].instruction.line - 1]: lines[branch - 1]
        for load, branch in polls(code).items()
    }
    branch = "bra WAIT;" if "bra OUT" in loop else AGAIN.strip()
    assert found == ({LOAD.strip(): branch} if waits else {})
