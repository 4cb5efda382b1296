"""What `gpu` becomes: registers that say which thread this is, barriers, and exchange within a warp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import gpu
from xdsl.dialects.builtin import IntegerType, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from coconet_ir.dialects.gpu import ShuffleMode, ShuffleOp
from coconet_ir.dialects.llvm_types import ConstantRangeAttr, number_of
from coconet_ir.dialects.llvm_values import ConstantOp
from coconet_ir.dialects.nvvm import BarrierOp
from coconet_ir.dialects.nvvm_registers import (
    BlockDimXOp,
    BlockDimYOp,
    BlockDimZOp,
    BlockIdXOp,
    BlockIdYOp,
    BlockIdZOp,
    BoundedRegister,
    ThreadIdXOp,
    ThreadIdYOp,
    ThreadIdZOp,
)
from coconet_ir.dialects.nvvm_warp import ShflOp
from coconet_ir.lowering.device.number import Code, Number
from coconet_ir.lowering.device.types import NotLowered

WARP = 32
"""The threads of a warp."""

ALL = -1
"""The mask of all threads of a warp."""

_BLOCK = {"x": 1024, "y": 1024, "z": 64}
"""The most threads of a block in each direction (CUDA Programming Guide, "Compute Capabilities")."""

_GRID = {"x": (1 << 31) - 1, "y": (1 << 16) - 1, "z": (1 << 16) - 1}
"""The most blocks of a grid in each direction."""

_REGISTERS: dict[tuple[type[Operation], str], type[BoundedRegister]] = {
    (gpu.ThreadIdOp, "x"): ThreadIdXOp,
    (gpu.ThreadIdOp, "y"): ThreadIdYOp,
    (gpu.ThreadIdOp, "z"): ThreadIdZOp,
    (gpu.BlockIdOp, "x"): BlockIdXOp,
    (gpu.BlockIdOp, "y"): BlockIdYOp,
    (gpu.BlockIdOp, "z"): BlockIdZOp,
    (gpu.BlockDimOp, "x"): BlockDimXOp,
    (gpu.BlockDimOp, "y"): BlockDimYOp,
    (gpu.BlockDimOp, "z"): BlockDimZOp,
}


def _register(
    code: Code, op: gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp, operands: Sequence[SSAValue]
) -> list[SSAValue]:
    direction = str(op.dimension.data)
    limit = (_GRID if isinstance(op, gpu.BlockIdOp) else _BLOCK)[direction]
    bounds = (
        ConstantRangeAttr(1, limit + 1)
        if isinstance(op, gpu.BlockDimOp)
        else ConstantRangeAttr(0, limit)
    )
    register = Number(code, code.put(_REGISTERS[type(op), direction](bounds)))
    return [register.zero_extended(i64).value]


def _barrier(code: Code, op: gpu.BarrierOp, operands: Sequence[SSAValue]) -> list[SSAValue]:
    code.do(BarrierOp())
    return []


def _shuffle(code: Code, op: ShuffleOp, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The value of the lane whose number differs in the bits of the offset; 32 bits at a time."""
    value, offset, width = (Number(code, one) for one in operands)
    if op.mode.data != ShuffleMode.Xor or not _is_warp(width.value):
        raise NotLowered(f"is no exchange of all {WARP} lanes of a warp by xor")
    raw = value.as_bits() if value.is_float else value
    if raw.bits <= WARP:
        word = raw if raw.bits == WARP else raw.zero_extended(i32)
        found = _exchange(word, offset).low_bits(IntegerType(raw.bits))
    else:
        low = _exchange(raw.low_bits(i32), offset).zero_extended(i64)
        high = _exchange((raw >> WARP).low_bits(i32), offset).zero_extended(i64)
        found = high << WARP | low
    result = found.as_float(value.type) if value.is_float else found
    return [result.value, code.constant(1, i1)]


def _exchange(word: Number, offset: Number) -> Number:
    code = word.code
    mask, clamp = code.constant(ALL, i32), code.constant(WARP - 1, i32)
    return word.put(ShflOp("bfly", mask, word.value, offset.value, clamp))


def _is_warp(width: SSAValue) -> bool:
    return isinstance(width.owner, ConstantOp) and number_of(width.owner.value) == WARP


RULES: Mapping[type[Operation], Callable[[Code, Any, Sequence[SSAValue]], Sequence[SSAValue]]] = {
    gpu.ThreadIdOp: _register,
    gpu.BlockIdOp: _register,
    gpu.BlockDimOp: _register,
    gpu.BarrierOp: _barrier,
    ShuffleOp: _shuffle,
}
"""What each operation of `gpu` becomes."""
