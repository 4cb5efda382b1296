"""Which buffers begin at one place of one memory."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.memref import CastOp, ReinterpretCastOp, ViewOp
from xdsl.ir import Attribute, SSAValue

Memory = tuple[SSAValue, SSAValue | Attribute | None]
"""A buffer that is no part of another, and where in it, None for its beginning."""


def memory_of(buffer: SSAValue) -> Memory:
    """The memory where a buffer begins. Views of one arena that begin at different values are taken as disjoint."""
    match buffer.owner:
        case CastOp(source=source) | ReinterpretCastOp(source=source):
            return memory_of(source)
        case ViewOp(source=source, byte_shift=shift):
            begin = shift.owner
            return memory_of(source)[0], begin.value if isinstance(begin, ConstantOp) else shift
        case _:
            return buffer, None
