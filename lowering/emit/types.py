"""Types and constants of `llvm` as LLVM IR writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from coconet_ir.dialects.llvm_types import ADDRESS_SPACES, address_space, lane


class NoText(Exception):
    """LLVM IR, or what LLVM makes of it for a device, has no form for this; the message says what and what would do."""


_FLOATS: dict[type[Attribute], tuple[str, int]] = {
    BFloat16Type: ("bfloat", 2),
    Float16Type: ("half", 2),
    Float32Type: ("float", 4),
    Float64Type: ("double", 8),
}
"""Name and bytes of each type of floats."""


def type_text(type: Attribute) -> str:
    """The type in LLVM IR. Raises `NoText`."""
    match type:
        case IntegerType():
            return f"i{type.width.data}"
        case LLVMPointerType():
            if (space := address_space(type)) not in ADDRESS_SPACES:
                raise NoText(f"devices have no address space {space}")
            return f"ptr addrspace({space})" if space else "ptr"
        case LLVMVoidType():
            return "void"
        case LLVMArrayType():
            return f"[{type.size.data} x {type_text(type.type)}]"
        case LLVMStructType():
            return f"{{ {', '.join(map(type_text, type.types))} }}"
        case VectorType() if lane(type) != type:
            return f"<{type.get_shape()[0]} x {type_text(lane(type))}>"
        case _ if type.__class__ in _FLOATS:
            return _FLOATS[type.__class__][0]
        case _:
            raise NoText(f"LLVM IR has no type {type}; floats of 8 bits are i8 at this level")


def size_and_alignment(type: Attribute) -> tuple[int, int]:
    """The bytes that a value of this type takes in memory, and its natural alignment, by the data layout."""
    match type:
        case IntegerType():
            size = _power_of_two(-(-type.width.data // 8))
            return size, min(size, 32)
        case LLVMPointerType():
            return 8, 8
        case LLVMArrayType():
            size, alignment = size_and_alignment(type.type)
            return size * type.size.data, alignment
        case LLVMStructType():
            return _struct([size_and_alignment(member) for member in type.types])
        case VectorType() if lane(type) != type:
            size = _power_of_two(type.get_shape()[0] * size_and_alignment(lane(type))[0])
            return size, size
        case _:
            type_text(type)
            size = _FLOATS[type.__class__][1]
            return size, size


def _struct(members: Sequence[tuple[int, int]]) -> tuple[int, int]:
    total, alignment = 0, 1
    for size, each in members:
        total = -(-total // each) * each + size
        alignment = max(alignment, each)
    return -(-total // alignment) * alignment, alignment


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def constant_text(value: Attribute, type: Attribute) -> str:
    """A constant of this type, without the type in front. Raises `NoText`."""
    match value:
        case IntegerAttr():
            return _integer(value.value.data, type)
        case FloatAttr():
            return _float(value.value.data, type)
        case DenseIntOrFPElementsAttr():
            return _elements(list(value.get_values()), type)
        case _:
            raise NoText(f"{value} is no constant of LLVM IR")


def _integer(value: int, type: Attribute) -> str:
    if type == IntegerType(1):
        return "true" if value & 1 else "false"
    return str(value)


def _float(value: float, type: Attribute) -> str:
    bits = cast(AnyFloat, type).pack((value,))[::-1].hex().upper()
    match type:
        case Float16Type():
            return f"0xH{bits}"
        case BFloat16Type():
            return f"0xR{bits}"
        case Float32Type():  # LLVM IR writes a float as the double of the same value
            (single,) = type.unpack(type.pack((value,)), 1)
            return f"0x{Float64Type().pack((single,))[::-1].hex().upper()}"
        case _:
            return f"0x{bits}"


def _elements(values: list[object], type: Attribute) -> str:
    if not values:  # however many arrays of nothing there are
        return "zeroinitializer"
    if isinstance(type, LLVMArrayType):
        each = len(values) // type.size.data
        parts = [_elements(values[i : i + each], type.type) for i in range(0, len(values), each)]
        return f"[{', '.join(f'{type_text(type.type)} {part}' for part in parts)}]"
    single = lane(type)
    if single == type:
        (value,) = values
        return _integer(value, type) if isinstance(value, int) else _float(cast(float, value), type)
    parts = [
        _integer(v, single) if isinstance(v, int) else _float(cast(float, v), single)
        for v in values
    ]
    return f"<{', '.join(f'{type_text(single)} {part}' for part in parts)}>"


def quoted(text: str) -> str:
    """A string of LLVM IR, its special characters as two hexadecimal digits."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
    return f'"{"".join(plain)}"'
