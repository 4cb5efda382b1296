"""What read-modify-write operations compute (PTX ISA, 9.7.13.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

OPERATIONS = ("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
"""In the order of their numbers (`code/memory.py`)."""

_FLOATS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits


def _float_add(type: str, old: int, new: int) -> int:
    dtype = np.dtype(_FLOATS[type])
    raw = np.dtype(f"u{dtype.itemsize}")
    first, second = (np.array([x], raw).view(dtype) for x in (old, new))
    with np.errstate(all="ignore"):
        return int((first + second).astype(dtype).view(raw)[0])


def _packed_add(type: str, old: int, new: int) -> int:
    lanes = (_float_add(type, old >> s & 0xFFFF, new >> s & 0xFFFF) << s for s in (0, 16))
    return sum(lanes)


def apply(operation: str, type: str, bits: int, old: int, new: int, other: int) -> int:
    """The new value of a location, all values as bit patterns; `other` is the value that cas stores."""
    mask = (1 << bits) - 1
    pick: Callable[..., int]
    match operation:
        case "and":
            return old & new
        case "or":
            return old | new
        case "xor":
            return old ^ new
        case "cas":
            return other if old == new else old
        case "exch":
            return new
        case "add" if type in _FLOATS:
            return _float_add(type, old, new)
        case "add" if type in ("f16x2", "bf16x2"):
            return _packed_add(type.removesuffix("x2"), old, new)
        case "add":
            return old + new & mask
        case "inc":
            return 0 if old >= new else old + 1
        case "dec":
            return new if old == 0 or old > new else old - 1
        case _:
            pick = min if operation == "min" else max
            if type.startswith("s"):
                return pick(_signed(old, bits), _signed(new, bits)) & mask
            return pick(old, new)
