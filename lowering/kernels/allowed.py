"""What may stand in the kernels of the level `kernel`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import GlobalOp
from xdsl.ir import Attribute, Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.lowering.kernels.kernel import KERNEL, MODULE, SHARED, THREADS

OPERATIONS = frozenset(
    (
        *("gpu.return", "gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.barrier"),
        *("gpu.shuffle", "scf.if", "scf.for", "scf.while", "scf.condition", "scf.yield"),
        *("memref.load", "memref.store", "memref.get_global"),
        "memref.extract_aligned_pointer_as_index",
        *("vector.load", "vector.store", "vector.broadcast", "vector.extract", "vector.insert"),
    )
)
"""The operations of a kernel beside those of `arith` and `math`, which may all stand there."""

MOST_THREADS = 1024
"""The threads that a block has at most, on every device."""


def check_kernels(module: gpu.ModuleOp) -> None:
    """Raise `IRError` for anything but kernels, and the memory that their blocks share."""
    if module.sym_name.data != MODULE:
        raise IRError(f"must be named @{MODULE}: all kernels stand in one module", module)
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp):
            _check_shared(op)
        elif isinstance(op, gpu.FuncOp):
            _check_kernel(op)
        else:
            raise IRError("cannot stand among kernels", op)


def _check_shared(op: GlobalOp) -> None:
    if op.type.memory_space != SHARED or not isinstance(op.initial_value, UnitAttr):
        raise IRError("must be memory of a block, in space 3, without a value to start with", op)


def _check_kernel(func: gpu.FuncOp) -> None:
    if not isinstance(func.attributes.get(KERNEL), UnitAttr):
        raise IRError(f"must be a kernel, marked {KERNEL}", func)
    match func.attributes.get(THREADS):
        case IntegerAttr(value=number) if 1 <= number.data <= MOST_THREADS:
            pass
        case _:
            raise IRError(
                f"must state how many threads a block of it has at most, 1 to {MOST_THREADS}, as in {THREADS} = 128 : "
                "i64",
                func,
            )
    for type in func.function_type.inputs:
        _check_type(type, func)
    for op in func.body.walk():
        if op.name not in OPERATIONS and not op.name.startswith(("arith.", "math.")):
            raise IRError("cannot stand in a kernel at level 'kernel'", op)
        for result in op.results:
            _check_type(result.type, op)


def _check_type(type: Attribute, op: Operation) -> None:
    """Numbers, vectors of them, and buffers of one dimension."""
    scalar, dense = type, True
    if type.__class__ is VectorType:
        vector = cast(VectorType[Attribute], type)
        shape = vector.get_shape()
        scalar, dense = vector.element_type, len(shape) == 1 and shape[0] > 0
    elif type.__class__ is MemRefType:
        buffer = cast(MemRefType[Attribute], type)
        scalar = buffer.element_type
        dense = len(buffer.get_shape()) == 1 and isinstance(buffer.layout, NoneAttr)
    if not dense or not isinstance(scalar, AnyFloat | IntegerType | IndexType):
        raise IRError(
            f"has the type {type}: kernels have numbers, and vectors and dense buffers of these, of one dimension",
            op,
        )


def launched(op: gpu.LaunchFuncOp) -> str:
    """The name of the kernel that is launched. Raises `IRError` for one that is not `@kernels::@name`."""
    match op.kernel:
        case SymbolRefAttr(root_reference=StringAttr(data=root), nested_references=nested):
            if root == MODULE and len(nested) == 1:
                return nested.data[0].data
    raise IRError(
        f"launches {op.kernel}: kernels stand in @{MODULE}, and are named @{MODULE}::@name", op
    )


def check_launches(func: FuncOp) -> None:
    """Raise `IRError` for a launch of what is no kernel of the module, or with other arguments than it takes."""
    top = func.parent_op()
    modules = [op for op in top.regions[0].block.ops if isinstance(op, gpu.ModuleOp)] if top else []
    kernels = {
        op.sym_name.data: op
        for module in modules
        for op in module.body.block.ops
        if isinstance(op, gpu.FuncOp)
    }
    for op in func.walk():
        if not isinstance(op, gpu.LaunchFuncOp):
            continue
        name = launched(op)
        if (kernel := kernels.get(name)) is None:
            raise IRError(f"launches {op.kernel}, which is no kernel here", op)
        wanted = list(kernel.function_type.inputs)
        if (given := [value.type for value in op.kernelOperands]) != wanted:
            raise IRError(
                f"gives @{name} {', '.join(map(str, given))}, but it takes {', '.join(map(str, wanted))}",
                op,
            )
