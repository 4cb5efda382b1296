"""Make each kernel a function of `llvm` and `nvvm`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, UnitAttr, i32, i64
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.dialects.memref import GlobalOp as MemRefGlobalOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from coconet_ir.analysis.verifier import LEVEL
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.llvm_functions import FuncOp, GlobalOp
from coconet_ir.dialects.llvm_types import SHARED, array_i32, number_of
from coconet_ir.lowering.device.control import Body
from coconet_ir.lowering.device.number import Code
from coconet_ir.lowering.device.types import NotLowered, element_bytes, memory_type, register_type
from coconet_ir.lowering.kernels.kernel import KERNEL, THREADS
from coconet_ir.lowering.targets import TARGET, find_target

VECTOR_BYTES = 16
"""To how many bytes shared memory is aligned: those of the largest access."""


@dataclass(frozen=True)
class LowerKernelsPass(ModulePass):
    """Make each kernel a function of `llvm` and `nvvm`. Reads the level `kernel` and leaves the level `device`.

    Exact operations give the bits of the simulator; each function of `math` states how far it is from the true one.
    """

    name = "coconet-lower-kernels"

    target: str = field(default="sm_90a", metadata={"help": "the device, as ptxas names it"})

    def __post_init__(self) -> None:
        find_target(self.target)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if op.attributes.get(LEVEL) != StringAttr("kernel"):
            raise IRError("is not at the level kernel: run coconet-outline-kernels first", op)
        for inner in op.ops:
            if isinstance(inner, gpu.ModuleOp):
                for one in list(inner.body.block.ops):
                    _replace(one, _lowered(one))
                inner.attributes[TARGET] = StringAttr(self.target)
        op.attributes[LEVEL] = StringAttr("device")


def _replace(old: Operation, new: Operation) -> None:
    block = old.parent
    assert block is not None
    new.location = old.location
    block.insert_op_before(new, old)
    old.detach()
    old.erase()


def _lowered(op: Operation) -> Operation:
    try:
        match op:
            case gpu.FuncOp():
                return _function(op)
            case MemRefGlobalOp():
                return _shared(op)
            case _:
                raise IRError("cannot stand among kernels", op)
    except NotLowered as error:
        raise IRError(str(error), op) from None


def _shared(op: MemRefGlobalOp) -> GlobalOp:
    type = op.type
    assert isinstance(type, MemRefType)
    count = prod(type.get_shape())
    array = LLVMArrayType(count, memory_type(type.element_type))
    return GlobalOp(op.sym_name.data, array, "internal", addr_space=SHARED, alignment=VECTOR_BYTES)


def _function(op: gpu.FuncOp) -> FuncOp:
    if len(op.body.blocks) != 1 or not isinstance(op.body.blocks[0].last_op, gpu.ReturnOp):
        raise NotLowered("must be one block that ends in gpu.return")
    source = op.body.block
    types = [register_type(type) for type in source.arg_types]
    entry = Block(arg_types=types)
    region = Region(entry)
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, entry.args, strict=True))
    for old, new in values.items():
        new.name_hint = old.name_hint
    body = Body(Code(region, entry), values)
    body.block(source)
    body.finish()
    attributes: dict[str, Attribute] = {KERNEL: UnitAttr(), "nvvm.kernel": UnitAttr()}
    if (threads := number_of(op.attributes.get(THREADS))) > 0:
        attributes["nvvm.maxntid"] = array_i32([threads])
        # Else ptxas aims at an occupancy of its own choice, for which it spills registers.
        attributes["nvvm.minctasm"] = IntegerAttr(1, i32)
    marks = [_marks(type) for type in source.arg_types]
    name = op.sym_name.data
    return FuncOp(name, types, body=region, arg_attrs=marks, attributes=attributes)


def _marks(type: Attribute) -> dict[str, Attribute]:
    """What is known of an argument: buffers are aligned to their elements."""
    if type.__class__ is not MemRefType:
        return {}
    return {"llvm.align": IntegerAttr(element_bytes(type), i64)}
