"""Where a GPU need not give the emulator's result: PTX leaves it open, or the device does not do what PTX says.

The emulator does what PTX says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Exemption:
    """Rows of some forms, in which at least one result does differ."""

    reason: str
    forms: str
    """What the beginning of a form matches."""

    rows: Callable[[Sequence[Array]], Array]
    """Which rows, by the columns of inputs."""

    def covers(self, text: str) -> bool:
        """Whether it is about a form."""
        return re.match(self.forms, text) is not None


def _all(columns: Sequence[Array]) -> Array:
    return np.ones(len(columns[0]), bool)


def _not_bytes(columns: Sequence[Array]) -> Array:
    """Position and length are the last two inputs."""
    return (columns[-2] > 255) | (columns[-1] > 255)


def _least_offset(columns: Sequence[Array]) -> Array:
    return columns[2] == 0x80000000


def _subnormal(columns: Sequence[Array]) -> Array:
    size = columns[0] & 0x7FFFFFFF
    return (size > 0) & (size < 0x00800000)


def _nan(columns: Sequence[Array]) -> Array:
    return columns[0] & 0x7FFFFFFF > 0x7F800000


EXEMPTIONS = (
    Exemption(
        "CC.CF of a subtraction is the borrow by PTX (9.7.2); a device keeps its inverse, as is seen if addc follows "
        "sub.cc, or subc add.cc",
        r"(?=.*\badd)(?=.*\bsub).*\.cc\.",
        _all,
    ),
    Exemption(
        "PTX restricts the position and the length to 0..255 (9.7.1)",
        r"bf[ei]\.[usb]64",
        _not_bytes,
    ),
    Exemption(
        "the magnitude of the least offset overflows in PTX's description of fns",
        r".*\bfns\.",
        _least_offset,
    ),
    Exemption(
        "cvt.ftz flushes subnormal f32 inputs by PTX (9.7.9); a device does not, if it rounds to f16 down or up",
        r"cvt\.r[mp]\.ftz.*\.f16\.f32",
        _subnormal,
    ),
    Exemption(
        "a NaN that .satfinite converts is NaN by PTX (9.7.9); a device gives a finite tf32 for some of them",
        r"cvt\.rna\.satfinite\.tf32",
        _nan,
    ),
)
