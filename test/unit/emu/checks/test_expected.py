"""What memory should hold: which elements count as wrong, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from coconet_ir.emu.checks.expected import Expected, difference, mismatch
from coconet_ir.runtime.steps import Place


def test_a_difference_is_found_where_it_is() -> None:
    want = np.arange(5, dtype=np.float32)
    have = np.array([0, 1, 2.5, 3, 7], np.float32)
    memory = [{}, {4: b"12345678" + have.tobytes() + b"behind"}]
    found = difference(Expected(1, Place(4, 8), "y", want), memory)
    assert found is not None
    assert found.kind == "wrong value"
    assert found.message == "element 2 of y of rank 1 is 2.5, not 2.0; 2 of 5 elements are wrong"
    assert (found.buffer, found.offset) == ("y of rank 1", 16)
    memory[1][4] = b"12345678" + want.tobytes()
    assert difference(Expected(1, Place(4, 8), "y", want), memory) is None


def test_elements_are_called_by_their_indices() -> None:
    want = np.zeros((3, 4), np.int32)
    have = want.copy()
    have[1, 2] = 9
    assert mismatch("w", have, want, 0) == (
        6,
        "element (1, 2) of w is 9, not 0; 1 of 12 elements are wrong",
    )
    one = np.array(1, np.int32)
    assert mismatch("w", one, one + 1, 0) == (0, "w is 1, not 2; 1 of 1 elements are wrong")


@pytest.mark.parametrize(
    ("have", "want", "tolerance", "wrong"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, []),
        ([0.0], [-0.0], 0, [0]),
        ([np.nan], [np.nan], 0, []),
        ([np.nan], [1.0], 0.5, [0]),
        ([1.0], [np.nan], 0.5, [0]),
        ([np.inf], [np.inf], 0.1, []),
        ([np.inf], [1.0], 0.1, [0]),
        ([1.0], [np.inf], 0.1, [0]),
        ([-np.inf], [np.inf], 0.1, [0]),
        ([0.0, 100.9], [-0.0, 100.0], 0.01, []),
        ([0.9, 100.0], [0.0, 100.0], 0.01, []),  # relative to the largest
        ([1.1, 100.0], [0.0, 100.0], 0.01, [0]),
        ([1.1, np.inf], [0.0, np.inf], 0.01, [0]),  # to the largest that is finite
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, bfloat16])
def test_which_elements_are_wrong(
    have: list[float], want: list[float], tolerance: float, wrong: list[int], dtype: Any
) -> None:
    found = mismatch("x", np.array(have, dtype), np.array(want, dtype), tolerance)
    assert (found is not None) == bool(wrong)
    if found is not None:
        assert found[0] == wrong[0]
        assert f"{len(wrong)} of {len(want)} elements" in found[1]
