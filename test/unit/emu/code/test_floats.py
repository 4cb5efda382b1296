"""f32 and f64 against exact rational arithmetic that is rounded here."""

from __future__ import annotations
from typing import Any

def test_add(evaluate: Any, numbers: Any):
    import numpy as np
    a, b = numbers(32, 2)
    got = evaluate("add.rn.f32 d, a, b;", d="b32", a=a, b=b)
    with np.errstate(all="ignore"):
        want = a.view(np.float32) + b.view(np.float32)
    bits = np.where(np.isnan(want), 0x7FFFFFFF, want.view(np.uint32))
    np.testing.assert_array_equal(got, bits)
