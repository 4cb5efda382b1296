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


_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
"""What a sum is that is no number."""


def _float_add(type: str, old: int, new: int, flush: bool) -> int:
    dtype = np.dtype(_FLOATS[type])
    raw = np.dtype(f"u{dtype.itemsize}")
    first, second = (_flushed(np.array([x], raw).view(dtype), flush) for x in (old, new))
    with np.errstate(all="ignore"):
        found = _flushed((first + second).astype(dtype), flush)
    if found[0] != found[0] and type in _NAN:
        return _NAN[type]
    return int(found.view(raw)[0])


def _flushed(number: Any, flush: bool) -> Any:
    """A number; with `flush` zero of its sign in place of a subnormal one."""
    return number * 0 if flush and abs(number[0]) < np.finfo(np.float32).tiny else number


def _packed_add(type: str, old: int, new: int) -> int:
    lanes = (_float_add(type, old >> s & 0xFFFF, new >> s & 0xFFFF, False) << s for s in (0, 16))
    return sum(lanes)


def apply(
    operation: str, type: str, bits: int, old: int, new: int, other: int, *, flush: bool = False
) -> int:
    """The new value of a location, all values as bit patterns; `other` is the value that cas stores.

    With `flush` sums of f32 take subnormal numbers for zero, as they do in global memory.
    """
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
            return _float_add(type, old, new, flush and type == "f32")
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
