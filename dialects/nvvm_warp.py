"""What the threads of a warp of `nvvm` exchange, and single instructions on 32 bits.

PTX ISA, "Data Movement and Conversion Instructions: shfl.sync, prmt" and "Parallel Synchronization and Communication
Instructions: vote.sync, match.sync, redux.sync, elect.sync, bar.warp.sync".
"""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, UnitAttr, f32, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import one_of, with_bool
from coconet_ir.dialects.nvvm_attributes import (
    MatchSyncKindAttr,
    PermuteModeAttr,
    ReduxKindAttr,
    ShflKindAttr,
    VoteSyncKindAttr,
)

FALSE = BoolAttr.from_bool(False)


def check_result(given: Attribute, expected: Attribute) -> None:
    """Raise unless a result has the type that the operands give it."""
    if given != expected:
        raise VerifyException(f"expected the result {expected}, but it is {given}")


@irdl_op_definition
class ShflOp(IRDLOperation):
    """`nvvm.shfl.sync bfly %mask, %v, %offset, %clamp : f32 -> f32`: the value of another lane (PTX `shfl.sync`).

    With `{return_value_and_is_valid}` the result is a struct of it and of whether there is such a lane.
    """

    name = "nvvm.shfl.sync"

    thread_mask = operand_def(i32)
    val = operand_def(one_of(i32, f32))
    offset = operand_def(i32)
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ShflKindAttr)
    with_valid = opt_prop_def(UnitAttr, prop_name="return_value_and_is_valid")
    res = result_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $thread_mask `,` $val `,` $offset `,` $mask_and_clamp "
        "attr-dict `:` type($val) `->` type($res)"
    )

    def __init__(
        self,
        kind: str,
        thread_mask: SSAValue | Operation,
        val: SSAValue | Operation,
        offset: SSAValue | Operation,
        mask_and_clamp: SSAValue | Operation,
        *,
        with_valid: bool = False,
    ):
        type = SSAValue.get(val).type
        super().__init__(
            operands=(thread_mask, val, offset, mask_and_clamp),
            properties={
                "kind": ShflKindAttr(kind),
                "return_value_and_is_valid": UnitAttr() if with_valid else None,
            },
            result_types=(with_bool(type) if with_valid else type,),
        )

    def verify_(self) -> None:
        type = self.val.type
        check_result(self.res.type, type if self.with_valid is None else with_bool(type))


@irdl_op_definition
class VoteSyncOp(IRDLOperation):
    """`nvvm.vote.sync ballot %mask, %p -> i32`: which lanes, or whether some or all, have it true (PTX `vote.sync`)."""

    name = "nvvm.vote.sync"

    mask = operand_def(i32)
    pred = operand_def(i1)
    kind = prop_def(VoteSyncKindAttr)
    res = result_def()

    assembly_format = "$kind $mask `,` $pred attr-dict `->` type($res)"

    def __init__(self, kind: str, mask: SSAValue | Operation, pred: SSAValue | Operation):
        super().__init__(
            operands=(mask, pred),
            properties={"kind": VoteSyncKindAttr(kind)},
            result_types=(i32 if kind == "ballot" else i1,),
        )

    def verify_(self) -> None:
        check_result(self.res.type, i32 if self.kind.data == "ballot" else i1)


@irdl_op_definition
class ReduxOp(IRDLOperation):
    """`nvvm.redux.sync add %v, %mask : i32 -> i32`: reduce over a warp (PTX `redux.sync`); f32 from sm_100a on."""

    name = "nvvm.redux.sync"

    val = operand_def(one_of(i32, f32))
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ReduxKindAttr)
    abs = prop_def(BoolAttr, default_value=FALSE)
    nan = prop_def(BoolAttr, default_value=FALSE)
    res = result_def(one_of(i32, f32))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind $val `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"

    def __init__(self, kind: str, val: SSAValue | Operation, mask: SSAValue | Operation):
        super().__init__(
            operands=(val, mask),
            properties={"kind": ReduxKindAttr(kind)},
            result_types=(SSAValue.get(val).type,),
        )

    def verify_(self) -> None:
        expected = f32 if self.kind.data in ("fmin", "fmax") else i32
        if self.val.type != expected:
            raise VerifyException(f"{self.kind.data} takes {expected}, not {self.val.type}")
        check_result(self.res.type, expected)
        if expected == i32 and (self.abs.value.data or self.nan.value.data):
            raise VerifyException("abs and nan are for floats")


@irdl_op_definition
class MatchSyncOp(IRDLOperation):
    """`nvvm.match.sync any %mask, %v : i32 -> i32`: the lanes with an equal value (PTX `match.sync`).

    `all` gives a struct of them, or of 0, and of whether all are equal.
    """

    name = "nvvm.match.sync"

    thread_mask = operand_def(i32)
    val = operand_def(one_of(i32, i64))
    kind = prop_def(MatchSyncKindAttr)
    res = result_def()

    assembly_format = "$kind $thread_mask `,` $val attr-dict `:` type($val) `->` type($res)"

    def __init__(self, kind: str, thread_mask: SSAValue | Operation, val: SSAValue | Operation):
        super().__init__(
            operands=(thread_mask, val),
            properties={"kind": MatchSyncKindAttr(kind)},
            result_types=(i32 if kind == "any" else with_bool(i32),),
        )

    def verify_(self) -> None:
        check_result(self.res.type, i32 if self.kind.data == "any" else with_bool(i32))


@irdl_op_definition
class ElectSyncOp(IRDLOperation):
    """`nvvm.elect.sync -> i1`: true in one of the lanes (PTX `elect.sync`); all of them unless a mask is given."""

    name = "nvvm.elect.sync"

    membermask = opt_operand_def(i32)
    pred = result_def(i1)

    assembly_format = "($membermask^)? attr-dict `->` type(results)"

    def __init__(self, membermask: SSAValue | Operation | None = None):
        super().__init__(operands=(membermask,), result_types=(i1,))


@irdl_op_definition
class SyncWarpOp(IRDLOperation):
    """`nvvm.bar.warp.sync %mask : i32`: wait for these lanes, and order memory among them (PTX `bar.warp.sync`)."""

    name = "nvvm.bar.warp.sync"

    mask = operand_def(i32)

    assembly_format = "$mask attr-dict `:` type($mask)"

    def __init__(self, mask: SSAValue | Operation):
        super().__init__(operands=(mask,))


@irdl_op_definition
class PermuteOp(IRDLOperation):
    """`nvvm.prmt <default> %selector, %lo, %hi : i32`: bytes of two registers, each picked by four bits (PTX `prmt`).

    The modes rc8, ecl, ecr and rc16 take one register.
    """

    name = "nvvm.prmt"

    lo = operand_def(i32)
    hi = opt_operand_def(i32)
    selector = operand_def(i32)
    mode = prop_def(PermuteModeAttr)
    res = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$mode $selector `,` $lo (`,` $hi^)? attr-dict `:` type($res)"

    def __init__(
        self,
        mode: str,
        selector: SSAValue | Operation,
        lo: SSAValue | Operation,
        hi: SSAValue | Operation | None = None,
    ):
        super().__init__(
            operands=(lo, hi, selector),
            properties={"mode": PermuteModeAttr(mode)},
            result_types=(i32,),
        )

    def verify_(self) -> None:
        two = self.mode.data in ("default", "f4e", "b4e")
        if two != (self.hi is not None):
            raise VerifyException(f"{self.mode.data} takes {'two registers' if two else 'one'}")


@irdl_op_definition
class RcpApproxFtzOp(IRDLOperation):
    """`nvvm.rcp.approx.ftz.f %a : f32`: the reciprocal, to 1 ulp, subnormals as 0 (PTX `rcp.approx.ftz.f32`)."""

    name = "nvvm.rcp.approx.ftz.f"

    arg = operand_def(f32)
    res = result_def(f32)

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($res)"

    def __init__(self, arg: SSAValue | Operation):
        super().__init__(operands=(arg,), result_types=(f32,))


WARP: tuple[type[Operation], ...] = (
    ElectSyncOp,
    MatchSyncOp,
    PermuteOp,
    RcpApproxFtzOp,
    ReduxOp,
    ShflOp,
    SyncWarpOp,
    VoteSyncOp,
)
