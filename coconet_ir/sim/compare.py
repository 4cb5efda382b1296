"""Whether two runs gave the same."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from coconet_ir.sim.elements import (
    Array,
    DType,
    describe,
    element_name,
    float_limits,
    is_float,
    round_to,
    same_bits,
)
from coconet_ir.sim.executor import Outcome

EXACT_TOLERANCE = 1e-12
"""How far outputs may lie apart in the exact mode, relative to the largest magnitude of the output."""

_ROUNDING = {"f64": 1e-12, "f32": 1e-5}


def rounding(dtype: DType) -> float:
    """How far outputs of a type may lie apart that were added up in different orders, relative likewise.

    Short floats may differ by two steps at the largest magnitude, integers not at all.
    """
    if not is_float(dtype):
        return 0.0
    return _ROUNDING.get(element_name(dtype)) or 2 * float(float_limits(dtype).eps)


@dataclass(frozen=True)
class Difference:
    """How one output of two runs differs."""

    name: str
    equal: bool
    """Whether all bits are equal (every NaN equals every other)."""
    absolute: float
    """The largest difference of two elements; infinite where only one is NaN or infinite."""
    relative: float
    """`absolute` divided by the largest finite magnitude of the first run's output; infinite for integers."""
    problem: str | None = None
    """Why the two cannot be compared."""

    def within(self, tolerance: float | None) -> bool:
        """Whether the outputs are equal, or, with a tolerance, close enough."""
        if self.problem is not None:
            return False
        return self.equal or (tolerance is not None and self.relative <= tolerance)


def compare(first: Outcome, second: Outcome) -> list[Difference]:
    """One entry for each output that either run has."""
    rows: list[Difference] = []
    for name in dict.fromkeys((*first.outputs, *second.outputs)):
        if name not in second.outputs or name not in first.outputs:
            which = "second" if name not in second.outputs else "first"
            rows.append(_incomparable(name, f"the {which} program has no such output"))
        else:
            rows.append(difference(name, first.outputs[name].array, second.outputs[name].array))
    return rows


def difference(name: str, a: Array, b: Array) -> Difference:
    """How two arrays differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return _incomparable(name, f"{describe(a)} and {describe(b)}")
    if same_bits(a, b):
        return Difference(name, True, 0.0, 0.0)
    x, y = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        gaps = np.where(same, 0.0, np.abs(x - y))
        absolute = float(np.max(np.where(np.isnan(gaps), np.inf, gaps), initial=0.0))
        scale = float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0))
        relative = absolute / scale if scale else (np.inf if absolute else 0.0)
    if not is_float(a.dtype):
        relative = np.inf  # integers are equal or not
    return Difference(name, False, absolute, relative)


def _incomparable(name: str, problem: str) -> Difference:
    return Difference(name, False, float("inf"), float("inf"), problem)


def _wide(x: Array) -> Array:
    return round_to(x, np.dtype(np.float64)) if is_float(x.dtype) else x.astype(np.float64)


def checksum(x: Array) -> str:
    """Eight hexadecimal digits that are equal for equal bits (every NaN counting as one)."""
    return f"{zlib.crc32(canonical(x).tobytes()):08x}"


def canonical(x: Array) -> Array:
    """The array in row-major order with one bit pattern for every NaN."""
    x = np.asarray(x, order="C")
    if is_float(x.dtype) and bool((nan := np.isnan(x)).any()):
        return np.where(nan, np.asarray(np.nan, np.float32).astype(x.dtype), x)
    return x


def extremes(x: Array) -> tuple[float, float] | None:
    """The least and the greatest element, NaN if there is one; None of nothing."""
    if x.size == 0:
        return None
    wide = _wide(x)
    return float(np.min(wide)), float(np.max(wide))
