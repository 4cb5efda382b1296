"""What may stand in the program of one rank once its tensors have memory."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coconet_ir.diagnostics import IRError, op_name
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.regions import FusedOp, YieldOp
from coconet_ir.lowering.ranks.reads import makes_tensor

HOST = (
    *("func.return", "layout.axis_size", "layout.coordinate", "coll.fused", "comp.matmul_into"),
    *("memref.alloc", "memref.view", "memref.dim", "memref.reinterpret_cast", "memref.cast"),
)
"""What may stand outside of kernels, beside arithmetic on scalars and calls."""


def check_buffers(func: FuncOp) -> None:
    """Raise `IRError` for tensors outside of kernels, and memory inside but to be read and to be stored into."""
    for op in func.body.block.ops:
        if isinstance(op, FusedOp):
            _check_kernel(op)
        if makes_tensor(op) or any(as_tensor(value.type) is not None for value in op.operands):
            raise IRError("works on tensors outside of a kernel: what the host has are buffers", op)
        dialect = op.name.split(".")[0]
        if op.name not in HOST and dialect not in ("arith", "math", "nccl"):
            raise IRError("cannot stand outside of a kernel here", op)


def _check_kernel(fused: FusedOp) -> None:
    *ops, last = fused.body.block.ops
    if fused.results or last.operands:
        raise IRError("gives values: a kernel on buffers stores what it computes", fused)
    is_stored = False
    for op in ops:
        match op:
            case ToTensorOp() if is_stored:
                raise IRError(
                    "reads a buffer behind what the kernel stores: read before you store, or in a kernel behind this "
                    "one",
                    op,
                )
            case MaterializeInDestinationOp(result=None):
                is_stored = True
            case ToTensorOp():
                pass
            case _ if op.regions or isinstance(op, YieldOp) or _has_buffers(op):
                raise IRError(f"holds '{op_name(op)}', which is no part of a kernel", fused)
            case _:
                pass


def _has_buffers(op: Operation) -> bool:
    return any(isinstance(value.type, MemRefType) for value in (*op.operands, *op.results))


def is_number_tensor_or_buffer(type: Attribute) -> bool:
    """Whether this is a number, or a tensor or a dense buffer of numbers."""
    tensor = as_tensor(type)
    if tensor is not None:
        return isinstance(tensor.encoding, NoneAttr) and _is_number(tensor.element_type)
    if type.__class__ is MemRefType:
        buffer = cast(MemRefType[Attribute], type)
        return isinstance(buffer.layout, NoneAttr) and _is_number(buffer.element_type)
    return _is_number(type)


def _is_number(type: Attribute) -> bool:
    return isinstance(type, AnyFloat | IntegerType | IndexType)
