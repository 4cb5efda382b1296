"""What the types of kernels become in `llvm`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    i8,
    i64,
)
from xdsl.ir import Attribute

from coconet_ir.dialects.elementwise import element, with_element
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.dialects.llvm_types import GLOBAL, SHARED, number_of, pointer

_FLOATS = BFloat16Type | Float16Type | Float32Type | Float64Type
"""The floats that devices compute with."""

_WIDTHS = (1, 8, 16, 32, 64)
"""The bits of integers that devices compute with."""


class NotLowered(Exception):
    """Kernels have no form for this on devices; the message says what, and what would do."""


def register_type(type: Attribute) -> Attribute:
    """The type of a value: an index has 64 bits, a float of 8 bits is an i8, a buffer a pointer."""
    if type.__class__ is MemRefType:
        buffer = cast(MemRefType[Attribute], type)
        return pointer(SHARED if number_of(buffer.memory_space) == SHARED else GLOBAL)
    return with_element(type, _scalar(element(type)))


def memory_type(type: Attribute) -> Attribute:
    """The type of a value in memory: as in a register, but for an i1, which is a byte there."""
    if element(type) == IntegerType(1):
        return with_element(type, i8)
    return register_type(type)


def element_bytes(type: Attribute) -> int:
    """How many bytes an element of a buffer or vector, or a number, takes in memory."""
    if type.__class__ is MemRefType:
        type = cast(MemRefType[Attribute], type).element_type
    return bits(memory_type(element(type))) // 8


def _scalar(type: Attribute) -> Attribute:
    if isinstance(type, IndexType):
        return i64
    if type.__class__ is IntegerType and bits(type) in _WIDTHS:
        return type
    if isinstance(type, AnyFloat) and not is_small(type):
        return type
    if isinstance(type, AnyFloat) and bits(type) == 8:
        return i8
    raise NotLowered(f"has the type {type}, which devices have no registers for")


def is_small(type: Attribute) -> bool:
    """Whether this is a float, or a vector of floats, that is an i8 in a register."""
    single = element(type)
    return isinstance(single, AnyFloat) and not isinstance(single, _FLOATS)
