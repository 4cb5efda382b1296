"""Element types: which take part in reductions, and in which precision a reduction adds (design, section 5)."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    f32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.dialects.attributes import as_tensor

ARITHMETIC_FLOATS = (Float64Type, Float32Type, Float16Type, BFloat16Type)
"""Float elements with arithmetic."""

REDUCIBLE_FLOATS = (*ARITHMETIC_FLOATS, Float8E4M3FNType, Float8E5M2Type)
"""Float elements that can be reduced; 8-bit ones accumulate in f32."""

ARITHMETIC_WIDTHS = (32, 64)
"""Widths of the integers with arithmetic."""


def element_of(type: Attribute) -> Attribute:
    """The element type of a tensor, any other type as it is."""
    return type if (tensor := as_tensor(type)) is None else tensor.element_type


def is_float(element: Attribute) -> bool:
    """Whether this is a floating-point element."""
    return isinstance(element, AnyFloat)


def largest(element: Attribute) -> float:
    """The largest number of a float element: infinity, where it has one."""
    return 448 if isinstance(element, Float8E4M3FNType) else math.inf


def require_same_elements(*values: SSAValue) -> None:
    """Raises `VerifyException` when tensors differ in their elements."""
    elements = [element_of(value.type) for value in values]
    if len(set(elements)) > 1:
        raise VerifyException(
            f"its tensors must have one element type, not {' and '.join(map(str, elements))}: cast before or "
            "after"
        )


def default_accumulate(element: Attribute) -> Attribute:
    """The type in which reductions of this element add: f32 for floats of 16 bits or fewer, else its own."""
    if is_float(element) and not isinstance(element, Float64Type | Float32Type):
        return f32
    return element


def reduction_problem(element: Attribute, kind: Kind) -> str | None:
    """Why tensors of this element cannot be reduced by `kind`, or None."""
    if isinstance(element, REDUCIBLE_FLOATS):
        return None
    if isinstance(element, IntegerType) and element.bitwidth in ARITHMETIC_WIDTHS:
        if kind is Kind.AVG:
            return f"avg needs a floating-point element, not {element}: sum and divide explicitly"
        return None
    return (
        f"{element} elements cannot be reduced; f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64 and i32 can: "
        "cast first"
    )


def _integer_width(element: Attribute) -> int:
    """The bits of an integer, 0 for any other element."""
    return element.bitwidth if isinstance(element, IntegerType) else 0


def precision_problem(
    element: Attribute,
    result: Attribute,
    kind: Kind,
    accumulate: Attribute | None,
    wire: Attribute | None,
) -> str | None:
    """What is wrong with a reduction's `accumulate`, `wire` or result element type, or None."""
    for word, type in (("accumulate", accumulate), ("wire", wire)):
        if type is None:
            continue
        if (problem := reduction_problem(type, Kind.SUM)) is not None:
            return f"{word} = {type}: {problem}"
        if is_float(type) != is_float(element):
            return (
                f"{word} = {type} does not fit {element} elements: both must be floats or integers"
            )
        if _integer_width(type) < _integer_width(element):
            return f"{word} = {type} would wrap {element} elements: it must be at least as wide"
        if isinstance(type, Float8E4M3FNType) and element != type and kind in (Kind.MAX, Kind.MIN):
            return (
                f"{word} = {type} has no infinity, which a rank without elements contributes to a {kind}: use "
                "f8E5M2 or a wider type"
            )
    if result not in (element, accumulate):
        allowed = str(element) if accumulate is None else f"{element} or {accumulate}"
        return (
            f"the result's elements must be {allowed} (the operand's or `accumulate`), not {result}"
        )
    return None
