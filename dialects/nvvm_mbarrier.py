"""Barriers in shared memory of `nvvm`, which count arrivals and bytes.

PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A barrier is 8 aligned bytes.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import BoolAttr, i1, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import (
    GENERIC,
    SHARED,
    SHARED_CLUSTER,
    address_space,
    define,
    one_of,
    pointer_in,
)
from coconet_ir.dialects.nvvm_attributes import MemScopeAttr

FALSE = BoolAttr.from_bool(False)
CTA = MemScopeAttr("cta")
BARRIER = pointer_in(GENERIC, SHARED)
ANY_BARRIER = pointer_in(GENERIC, SHARED, SHARED_CLUSTER)


def check_scope(scope: MemScopeAttr) -> None:
    """Raise unless the scope is one that barriers in shared memory have."""
    if scope.data not in ("cta", "cluster"):
        raise VerifyException(f"the scope is cta or cluster, not {scope.data}")


@irdl_op_definition
class MBarrierInitOp(IRDLOperation):
    """`nvvm.mbarrier.init %b, %n : !llvm.ptr<3>, i32`: a barrier of n arrivals (PTX `mbarrier.init`)."""

    name = "nvvm.mbarrier.init"

    addr = operand_def(BARRIER)
    count = operand_def(i32)

    assembly_format = "$addr `,` $count attr-dict `:` type(operands)"

    def __init__(self, addr: SSAValue | Operation, count: SSAValue | Operation):
        super().__init__(operands=(addr, count))


@irdl_op_definition
class MBarrierInvalOp(IRDLOperation):
    """`nvvm.mbarrier.inval %b : !llvm.ptr<3>`: the memory is no barrier any more (PTX `mbarrier.inval`)."""

    name = "nvvm.mbarrier.inval"

    addr = operand_def(BARRIER)

    assembly_format = "$addr attr-dict `:` type(operands)"

    def __init__(self, addr: SSAValue | Operation):
        super().__init__(operands=(addr,))


class Arrival(IRDLOperation, abc.ABC):
    """An arrival; its result is the phase before it, and there is none for the barrier of another block."""

    scope = prop_def(MemScopeAttr, default_value=CTA)
    relaxed = prop_def(BoolAttr, default_value=FALSE)

    irdl_options = (ParsePropInAttrDict(),)

    def check(self, addr: SSAValue, res: Attribute | None) -> None:
        """Raise unless a result is there where it can be."""
        check_scope(self.scope)
        remote = (
            isinstance(addr.type, LLVMPointerType) and address_space(addr.type) == SHARED_CLUSTER
        )

        if remote and res is not None:
            raise VerifyException("an arrival at another block's barrier has no result")


@irdl_op_definition
class MBarrierArriveOp(Arrival):
    """`nvvm.mbarrier.arrive %b, %n : !llvm.ptr<3> -> i64`: n arrivals, or one (PTX `mbarrier.arrive`)."""

    name = "nvvm.mbarrier.arrive"

    addr = operand_def(ANY_BARRIER)
    count = opt_operand_def(i32)
    res = opt_result_def(i64)

    assembly_format = "$addr (`,` $count^)? attr-dict `:` type($addr) (`->` type($res)^)?"

    def __init__(self, addr: SSAValue | Operation, count: SSAValue | Operation | None = None):
        super().__init__(operands=(addr, count), result_types=(_phase(SSAValue.get(addr)),))

    def verify_(self) -> None:
        self.check(self.addr, None if self.res is None else self.res.type)


@irdl_op_definition
class MBarrierArriveExpectTxOp(Arrival):
    """`nvvm.mbarrier.arrive.expect_tx %b, %bytes : !llvm.ptr<3>, i32 -> i64`: one arrival that waits for bytes too."""

    name = "nvvm.mbarrier.arrive.expect_tx"

    addr = operand_def(ANY_BARRIER)
    txcount = operand_def(i32)
    res = opt_result_def(i64)

    assembly_format = "$addr `,` $txcount attr-dict `:` type(operands) (`->` type($res)^)?"

    def __init__(self, addr: SSAValue | Operation, txcount: SSAValue | Operation):
        super().__init__(operands=(addr, txcount), result_types=(_phase(SSAValue.get(addr)),))

    def verify_(self) -> None:
        self.check(self.addr, None if self.res is None else self.res.type)


def _phase(addr: SSAValue) -> Attribute | None:
    type = addr.type
    remote = isinstance(type, LLVMPointerType) and address_space(type) == SHARED_CLUSTER
    return None if remote else i64


@irdl_op_definition
class MBarrierArriveNocompleteOp(IRDLOperation):
    """`nvvm.mbarrier.arrive.nocomplete %b, %n : !llvm.ptr<3>, i32 -> i64`: n arrivals that end no phase."""

    name = "nvvm.mbarrier.arrive.nocomplete"

    addr = operand_def(BARRIER)
    count = operand_def(i32)
    res = result_def(i64)

    assembly_format = "$addr `,` $count attr-dict `:` type(operands) `->` type($res)"

    def __init__(self, addr: SSAValue | Operation, count: SSAValue | Operation):
        super().__init__(operands=(addr, count), result_types=(i64,))


class ByteCount(IRDLOperation, abc.ABC):
    """Bytes that a barrier waits for, more or fewer."""

    addr = operand_def(pointer_in(SHARED, SHARED_CLUSTER))
    txcount = operand_def(i32)
    scope = prop_def(MemScopeAttr, default_value=CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$addr `,` $txcount attr-dict `:` type(operands)"

    def __init__(self, addr: SSAValue | Operation, txcount: SSAValue | Operation):
        super().__init__(operands=(addr, txcount))

    def verify_(self) -> None:
        check_scope(self.scope)


MBarrierExpectTxOp = define(
    ByteCount,
    "nvvm.mbarrier.expect_tx",
    "`nvvm.mbarrier.expect_tx %b, %bytes : !llvm.ptr<3>, i32`: wait for more (PTX `mbarrier.expect_tx`).",
)
MBarrierCompleteTxOp = define(
    ByteCount,
    "nvvm.mbarrier.complete_tx",
    "`nvvm.mbarrier.complete_tx %b, %bytes : !llvm.ptr<3>, i32`: they have come (PTX `mbarrier.complete_tx`).",
)


class Wait(IRDLOperation, abc.ABC):
    """Whether a phase is over, by the state an arrival gave (i64) or by its parity (i32)."""

    scope = prop_def(MemScopeAttr, default_value=CTA)
    relaxed = prop_def(BoolAttr, default_value=FALSE)

    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        check_scope(self.scope)


@irdl_op_definition
class MBarrierTestWaitOp(Wait):
    """`nvvm.mbarrier.test.wait %b, %state : !llvm.ptr<3>, i64 -> i1`: without waiting (PTX `mbarrier.test_wait`)."""

    name = "nvvm.mbarrier.test.wait"

    addr = operand_def(BARRIER)
    state = operand_def(one_of(i32, i64))
    res = result_def(i1)

    assembly_format = "$addr `,` $state attr-dict `:` type(operands) `->` type($res)"

    def __init__(self, addr: SSAValue | Operation, state: SSAValue | Operation):
        super().__init__(operands=(addr, state), result_types=(i1,))


@irdl_op_definition
class MBarrierTryWaitOp(Wait):
    """`nvvm.mbarrier.try_wait %b, %parity, %ns : !llvm.ptr<3>, i32, i32 -> i1`: wait a while (PTX `try_wait`)."""

    name = "nvvm.mbarrier.try_wait"

    addr = operand_def(BARRIER)
    state = operand_def(one_of(i32, i64))
    ticks = opt_operand_def(i32)
    res = result_def(i1)

    assembly_format = "$addr `,` $state (`,` $ticks^)? attr-dict `:` type(operands) `->` type($res)"

    def __init__(
        self,
        addr: SSAValue | Operation,
        state: SSAValue | Operation,
        ticks: SSAValue | Operation | None = None,
    ):
        super().__init__(operands=(addr, state, ticks), result_types=(i1,))


MBARRIERS: tuple[type[Operation], ...] = (
    MBarrierArriveExpectTxOp,
    MBarrierArriveNocompleteOp,
    MBarrierArriveOp,
    MBarrierCompleteTxOp,
    MBarrierExpectTxOp,
    MBarrierInitOp,
    MBarrierInvalOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitOp,
)
