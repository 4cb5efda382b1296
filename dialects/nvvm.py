"""Upstream MLIR's `nvvm`, as of release 22: what threads of an NVIDIA device can do besides computing.

Names, syntax and meaning are upstream's; what is left out (matrix units, tensor maps, tensor memory, `nvvm.inline_ptx`)
has no user yet. Here stand barriers of blocks and clusters, fences and launches (PTX ISA, "Parallel Synchronization and
Communication Instructions: barrier, barrier.cluster, membar, griddepcontrol"); the other files hold registers, warps,
barriers in shared memory, copies and conversions. Each has its LLVM intrinsic in `coconet_ir.lowering.emit.nvvm`, with
the first target that has it.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import (
    GENERIC,
    SHARED,
    SHARED_CLUSTER,
    address_space,
    define,
    pointer,
    pointer_in,
)
from coconet_ir.dialects.nvvm_attributes import (
    ATTRIBUTES,
    BarrierReductionAttr,
    GridDepActionAttr,
    MemScopeAttr,
    ProxyKindAttr,
    SharedSpaceAttr,
)
from coconet_ir.dialects.nvvm_convert import CONVERSIONS
from coconet_ir.dialects.nvvm_copies import COPIES
from coconet_ir.dialects.nvvm_mbarrier import MBARRIERS
from coconet_ir.dialects.nvvm_registers import REGISTERS
from coconet_ir.dialects.nvvm_warp import WARP, check_result


@irdl_op_definition
class Barrier0Op(IRDLOperation):
    """`nvvm.barrier0`: `nvvm.barrier` without operands."""

    name = "nvvm.barrier0"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """`nvvm.barrier id = %i number_of_threads = %n`: wait for the threads of a block (PTX `barrier.sync.aligned`).

    Without operands all wait at barrier 0. `nvvm.barrier #nvvm.reduction<popc> %v -> i32` counts the threads whose
    value is not 0, `and` and `or` combine them.
    """

    name = "nvvm.barrier"

    barrier_id = opt_operand_def(i32)
    number_of_threads = opt_operand_def(i32)
    reduction_predicate = opt_operand_def(i32)
    reduction_op = opt_prop_def(BarrierReductionAttr, prop_name="reductionOp")
    res = opt_result_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`id` `=` $barrier_id^)? (`number_of_threads` `=` $number_of_threads^)? "
        "(qualified($reductionOp)^ $reduction_predicate)? (`->` type($res)^)? attr-dict"
    )

    def __init__(
        self,
        barrier_id: SSAValue | Operation | None = None,
        number_of_threads: SSAValue | Operation | None = None,
    ):
        super().__init__(operands=(barrier_id, number_of_threads, None), result_types=(None,))

    def verify_(self) -> None:
        if self.number_of_threads is not None and self.barrier_id is None:
            raise VerifyException("a number of threads needs the id of a barrier")
        reduces = self.reduction_op is not None
        if reduces != (self.reduction_predicate is not None) or reduces != (self.res is not None):
            raise VerifyException("a reduction, its value and a result come together")
        if reduces and self.barrier_id is not None:
            raise VerifyException("only barrier 0 reduces, without an id")


class ClusterStep(IRDLOperation, abc.ABC):
    """A step of the barrier of a cluster; `{aligned}` promises that the threads of a warp take it together."""

    aligned = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, *, aligned: bool = False):
        super().__init__(properties={"aligned": UnitAttr() if aligned else None})


ClusterArriveOp = define(
    ClusterStep,
    "nvvm.cluster.arrive",
    "`nvvm.cluster.arrive {aligned}`: arrive, and release what was written (PTX `barrier.cluster.arrive`).",
)
ClusterArriveRelaxedOp = define(
    ClusterStep,
    "nvvm.cluster.arrive.relaxed",
    "`nvvm.cluster.arrive.relaxed {aligned}`: arrive without ordering memory.",
)
ClusterWaitOp = define(
    ClusterStep,
    "nvvm.cluster.wait",
    "`nvvm.cluster.wait {aligned}`: wait until all have arrived (PTX `barrier.cluster.wait`).",
)


@irdl_op_definition
class MapaOp(IRDLOperation):
    """`nvvm.mapa %p, %rank : !llvm.ptr<3> -> !llvm.ptr<7>`: its address in another block (PTX `mapa`)."""

    name = "nvvm.mapa"

    a = operand_def(pointer_in(GENERIC, SHARED))
    b = operand_def(i32)
    res = result_def(pointer_in(GENERIC, SHARED_CLUSTER))

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b attr-dict `:` type($a) `->` type($res)"

    def __init__(self, a: SSAValue | Operation, b: SSAValue | Operation):
        super().__init__(operands=(a, b), result_types=(_mapped(SSAValue.get(a).type),))

    def verify_(self) -> None:
        check_result(self.res.type, _mapped(self.a.type))


def _mapped(type: Attribute) -> LLVMPointerType:
    shared = isinstance(type, LLVMPointerType) and address_space(type) == SHARED
    return pointer(SHARED_CLUSTER if shared else GENERIC)


@irdl_op_definition
class GriddepcontrolOp(IRDLOperation):
    """`nvvm.griddepcontrol wait`: wait for the grids before this one; `launch_dependents`: let those after it start.

    PTX `griddepcontrol`, for launches with programmatic stream serialization.
    """

    name = "nvvm.griddepcontrol"

    kind = prop_def(GridDepActionAttr)

    assembly_format = "$kind attr-dict"

    def __init__(self, kind: str):
        super().__init__(properties={"kind": GridDepActionAttr(kind)})


@irdl_op_definition
class MembarOp(IRDLOperation):
    """`nvvm.memory.barrier <gpu>`: a sequentially consistent fence for these threads (PTX `membar`)."""

    name = "nvvm.memory.barrier"

    scope = prop_def(MemScopeAttr)

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: str):
        super().__init__(properties={"scope": MemScopeAttr(scope)})


class Plain(IRDLOperation, abc.ABC):
    """Says all by its name."""

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


FenceScClusterOp = define(
    Plain,
    "nvvm.fence.sc.cluster",
    "`nvvm.fence.sc.cluster`: a sequentially consistent fence for a cluster (PTX `fence.sc.cluster`).",
)
FenceMbarrierInitOp = define(
    Plain,
    "nvvm.fence.mbarrier.init",
    "`nvvm.fence.mbarrier.init`: show the cluster that barriers are initialised (PTX `fence.mbarrier_init`).",
)
ExitOp = define(Plain, "nvvm.exit", "`nvvm.exit`: end this thread (PTX `exit`).")


@irdl_op_definition
class FenceProxyOp(IRDLOperation):
    """`nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}`: order ways to memory (PTX `fence.proxy`).

    `async.shared` states whose shared memory: `space = #nvvm.shared_space<cta>`.
    """

    name = "nvvm.fence.proxy"

    kind = prop_def(ProxyKindAttr)
    space = opt_prop_def(SharedSpaceAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, kind: str, space: str | None = None):
        super().__init__(
            properties={
                "kind": ProxyKindAttr(kind),
                "space": None if space is None else SharedSpaceAttr(space),
            }
        )

    def verify_(self) -> None:
        if (self.kind.data == "async.shared") != (self.space is not None):
            raise VerifyException("async.shared, and no other kind, states a space")


@irdl_op_definition
class NanosleepOp(IRDLOperation):
    """`nvvm.nanosleep %ns`: do nothing for about this time, at most 1 ms (PTX `nanosleep`)."""

    name = "nvvm.nanosleep"

    duration = operand_def(i32)

    assembly_format = "attr-dict $duration"

    def __init__(self, duration: SSAValue | Operation):
        super().__init__(operands=(duration,))


NVVM = Dialect(
    "nvvm",
    [
        Barrier0Op,
        BarrierOp,
        ClusterArriveOp,
        ClusterArriveRelaxedOp,
        ClusterWaitOp,
        ExitOp,
        FenceMbarrierInitOp,
        FenceProxyOp,
        FenceScClusterOp,
        GriddepcontrolOp,
        MapaOp,
        MembarOp,
        NanosleepOp,
        *CONVERSIONS,
        *COPIES,
        *MBARRIERS,
        *REGISTERS,
        *WARP,
    ],
    [*ATTRIBUTES],
)
