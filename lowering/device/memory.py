"""What `memref` and `vector` become: pointers, loads and stores with their alignments, lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.dialects.elementwise import element
from coconet_ir.dialects.llvm_memory import AddressOfOp, GEPOp, LoadOp, PtrToIntOp, StoreOp
from coconet_ir.dialects.llvm_types import SHARED, array_numbers, number_of
from coconet_ir.dialects.llvm_values import ExtractElementOp, InsertElementOp
from coconet_ir.lowering.device.number import Code, Number
from coconet_ir.lowering.device.quotients import spread
from coconet_ir.lowering.device.types import (
    NotLowered,
    element_bytes,
    memory_type,
)

Values = Sequence[SSAValue]


def _place(code: Code, pointer: SSAValue, index: Values, type: Attribute) -> SSAValue:
    """The address of an element of a buffer."""
    if len(index) != 1:
        raise NotLowered("accesses a buffer of several dimensions: kernels have dense ones of one")
    return code.put(GEPOp(pointer, [index[0]], memory_type(element(type))))


def _read(code: Code, place: SSAValue, type: Attribute, alignment: int) -> SSAValue:
    found = Number(code, code.put(LoadOp(place, memory_type(type), alignment)))
    return found.differs(0).value if element(type) == i1 else found.value


def _write(code: Code, value: SSAValue, place: SSAValue, type: Attribute, alignment: int) -> None:
    stored = Number(code, value).zero_extended(element(memory_type(type)))
    code.do(StoreOp(stored.value if element(type) == i1 else value, place, alignment))


def _load(code: Code, op: memref.LoadOp, operands: Values) -> Values:
    pointer, *index = operands
    type = op.res.type
    return [_read(code, _place(code, pointer, index, type), type, element_bytes(type))]


def _store(code: Code, op: memref.StoreOp, operands: Values) -> Values:
    value, pointer, *index = operands
    type = op.value.type
    _write(code, value, _place(code, pointer, index, type), type, element_bytes(type))
    return []


def _alignment(op: Operation, type: Attribute) -> int:
    """To how many bytes an access of a vector is aligned: as it says, else as its elements."""
    return number_of(
        op.attributes.get("alignment", op.properties.get("alignment"))
    ) or element_bytes(type)


def _load_vector(code: Code, op: vector.LoadOp, operands: Values) -> Values:
    pointer, *index = operands
    type = op.result.type
    return [_read(code, _place(code, pointer, index, type), type, _alignment(op, type))]


def _store_vector(code: Code, op: vector.StoreOp, operands: Values) -> Values:
    value, pointer, *index = operands
    type = op.vector.type
    _write(code, value, _place(code, pointer, index, type), type, _alignment(op, type))
    return []


def _shared(code: Code, op: memref.GetGlobalOp, operands: Values) -> Values:
    return [code.put(AddressOfOp(op.name_.root_reference.data, SHARED))]


def _address(code: Code, op: memref.ExtractAlignedPointerAsIndexOp, operands: Values) -> Values:
    return [code.put(PtrToIntOp(operands[0], i64))]


def _broadcast(code: Code, op: vector.BroadcastOp, operands: Values) -> Values:
    """The same value in each lane."""
    (value,) = operands
    if isinstance(value.type, VectorType):
        raise NotLowered("repeats a vector, and kernels repeat numbers")
    return [spread(code, value, op.vector.type.get_shape()[0])]


def _lane(code: Code, op: vector.ExtractOp | vector.InsertOp) -> SSAValue:
    positions = array_numbers(op.static_position)
    if len(positions) != 1 or op.dynamic_position:
        raise NotLowered("takes a lane that is no constant")
    return code.constant(positions[0], i32)


def _extract(code: Code, op: vector.ExtractOp, operands: Values) -> Values:
    return [code.put(ExtractElementOp(operands[0], _lane(code, op)))]


def _insert(code: Code, op: vector.InsertOp, operands: Values) -> Values:
    value, into, *_ = operands
    return [code.put(InsertElementOp(into, value, _lane(code, op)))]


RULES: Mapping[type[Operation], Callable[[Code, Any, Values], Values]] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.GetGlobalOp: _shared,
    memref.ExtractAlignedPointerAsIndexOp: _address,
    vector.LoadOp: _load_vector,
    vector.StoreOp: _store_vector,
    vector.BroadcastOp: _broadcast,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
}
"""What each operation of `memref` and `vector` becomes."""
