"""Comparing the outputs of two runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import f32

from coconet_ir.sim.compare import (
    canonical,
    checksum,
    compare,
    difference,
    extremes,
    rounding,
)
from coconet_ir.sim.elements import BF16, ELEMENTS, F32, Array, float_limits
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.mesh import ONE_RANK


def _outcome(**arrays: Array) -> Outcome:
    return Outcome({name: Output(array, f32) for name, array in arrays.items()}, ONE_RANK)


def test_equal_close_and_far() -> None:
    x = np.array([1.0, -4.0, np.nan, np.inf], F32)
    assert difference("x", x, x.copy()).within(None)
    close = difference("x", x, x + np.array([1e-6, 0, 0, 0], F32))
    assert not close.equal
    assert not close.within(None)
    assert close.within(1e-6)
    assert close.relative == pytest.approx(close.absolute / 4)
    assert difference("x", x, -x).absolute == math.inf
    assert difference("x", x, np.where(np.isnan(x), 0, x).astype(F32)).absolute == math.inf
    zeros = difference("x", np.zeros(2, F32), np.array([0.0, -0.0], F32))
    assert (zeros.equal, zeros.absolute, zeros.relative) == (False, 0.0, 0.0)
    assert difference("x", np.zeros(1), np.ones(1)).relative == math.inf
    assert difference("x", np.zeros((0, 3)), np.zeros((0, 3))).equal


def test_what_cannot_be_compared() -> None:
    rows = compare(
        _outcome(a=np.ones(2, F32), b=np.ones(2, F32), c=np.ones(1)),
        _outcome(a=np.ones(3, F32), b=np.ones(2, BF16), d=np.ones(1)),
    )
    assert [(row.name, row.problem) for row in rows] == [
        ("a", "f32 2 and f32 3"),
        ("b", "f32 2 and bf16 2"),
        ("c", "the second program has no such output"),
        ("d", "the first program has no such output"),
    ]
    assert not any(row.within(1.0) for row in rows)


def test_integers() -> None:
    row = difference("n", np.array([1, 10]), np.array([1, 7]))
    assert (row.absolute, row.relative) == (3.0, math.inf)
    assert not row.within(1.0)
    huge = difference("n", np.array([2**60 + 7]), np.array([2**60 - 7]))
    assert not huge.within(1e-12)
    assert difference("b", np.array([True]), np.array([False])).absolute == 1.0


def test_checksums_take_every_nan_for_one() -> None:
    one = np.array([0x7FC00000, 0x3F800000], np.uint32).view(F32)
    other = np.array([0xFFC00001, 0x3F800000], np.uint32).view(F32)
    assert checksum(one) == checksum(other)
    assert checksum(one) != checksum(one[::-1])
    assert checksum(np.ones((2, 3))) == checksum(np.ones((3, 2)).T)
    assert canonical(np.array([np.nan], BF16)).dtype == BF16


def test_extremes() -> None:
    assert extremes(np.array([3, -2, 7])) == (-2.0, 7.0)
    assert extremes(np.zeros(0)) is None
    assert math.isnan((extremes(np.array([1.0, np.nan], BF16)) or (0, 0))[0])


@pytest.mark.parametrize(("name", "steps"), [("f16", 2), ("bf16", 2), ("f8E5M2", 2), ("f32", 80)])
def test_rounding(name: str, steps: int) -> None:
    """Outputs may differ by some steps at the largest magnitude, by twice as many not; integers by nothing."""
    dtype = ELEMENTS[name]
    step = float(float_limits(dtype).eps)
    one = np.array([1.0, 0.25], dtype)
    near, far = (np.array([1.0 + n * steps * step, 0.25], dtype) for n in (1, 3))
    assert difference("x", one, near).within(rounding(dtype))
    assert not difference("x", one, far).within(rounding(dtype))
    whole = np.array([100, 3], np.int64)
    assert not difference("x", whole, whole + 1).within(rounding(whole.dtype))
    assert difference("x", whole, whole.copy()).within(rounding(whole.dtype))
