"""What several operations of the `comp` dialect require of their operands and attributes."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.elements import (
    ARITHMETIC_FLOATS,
    element_of,
    precision_problem,
    reduction_problem,
)

_ALL = 1 - 2.0**-25
"""The least number that f32, in which a dropout takes its probability, rounds to 1 (a tie goes to even)."""


def require_floats(*values: SSAValue) -> None:
    """Raise `VerifyException` for tensors without arithmetic on floats."""
    for value in values:
        element = element_of(value.type)
        if not isinstance(element, ARITHMETIC_FLOATS):
            raise VerifyException(
                f"its elements must be f64, f32, f16 or bf16, not {element}: cast first"
            )


def check_precision(
    input: SSAValue, output: SSAValue, kind: Kind, accumulate: Attribute | None
) -> None:
    """Raise `VerifyException` when the elements cannot be reduced, or not in this precision."""
    element = element_of(input.type)
    if (problem := reduction_problem(element, kind)) is not None:
        raise VerifyException(problem)
    if problem := precision_problem(element, element_of(output.type), kind, accumulate, None):
        raise VerifyException(problem)


def check_dropout(input: SSAValue, p: FloatAttr, id: IntegerAttr) -> None:
    """Raise `VerifyException` for elements, a probability or an id that a dropout cannot have."""
    require_floats(input)
    if not 0 <= p.value.data < _ALL:
        raise VerifyException(
            f"p = {p.value.data} must be at least 0 and below 1, rounded to f32 too"
        )
    if not 0 <= id.value.data < 2**32:
        raise VerifyException(f"id = {id.value.data} must be at least 0 and below 2^32")


def check_offsets(offsets: SSAValue, segments: SSAValue) -> None:
    """Raise `VerifyException` unless offsets are i64 numbers, one more than there are segments."""
    if element_of(offsets.type) != i64:
        raise VerifyException(f"offsets must be i64, not {element_of(offsets.type)}")
    bounds, count = sizes_of(offsets.type)[0], sizes_of(segments.type)[0]
    if DYNAMIC_INDEX not in (bounds, count) and bounds != count + 1:
        raise VerifyException(f"{count} segments need {count + 1} offsets, but there are {bounds}")
