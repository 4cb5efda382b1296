"""Copies of `nvvm` that run beside the threads, and prefetches.

PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy" and "prefetch".
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import BoolAttr, IntAttr, IntegerAttr, UnitAttr, i16, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    LOCAL,
    SHARED,
    SHARED_CLUSTER,
    address_space,
    define,
    number_of,
    pointer,
    pointer_in,
)
from coconet_ir.dialects.nvvm_attributes import (
    CacheEvictionPriorityAttr,
    LoadCacheModifierAttr,
    PrefetchCacheLevelAttr,
)

FALSE = BoolAttr.from_bool(False)
BARRIER = pointer_in(GENERIC, SHARED)


@irdl_custom_directive
class Pointer(CustomDirective):
    """`!llvm.ptr<1>`, or `<1>` as upstream prints it where no other type can stand."""

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_punctuation("<") is None:
            self.type.set(state, (parser.parse_type(),))
            return
        space = IntAttr(parser.parse_integer())
        parser.parse_punctuation(">")
        self.type.set(state, (LLVMPointerType(space),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.type.print(printer, state, op)


@irdl_custom_directive
class Number(CustomDirective):
    """A number that is not negative, as i32."""

    number: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        value = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if value >= 1 << 31:
            parser.raise_error("expected a number of 31 bits", position, parser.pos)
        self.number.set(state, IntegerAttr(value, i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_int(number_of(self.number.get(op)))


@irdl_op_definition
class CpAsyncOp(IRDLOperation):
    """`nvvm.cp.async.shared.global %to, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>` (PTX `cp.async`).

    Copies 4, 8 or 16 bytes; `, %n` copies the first n and fills with zeros.
    """

    name = "nvvm.cp.async.shared.global"

    dst = operand_def(pointer_in(SHARED))
    src = operand_def(pointer_in(GLOBAL))
    cp_size = opt_operand_def(i32)
    size = prop_def(IntegerAttr)
    modifier = prop_def(LoadCacheModifierAttr)

    custom_directives = (Number,)
    assembly_format = (
        "$dst `,` $src `,` custom<Number>($size) `,` `cache` `=` $modifier "
        "(`,` $cp_size^)? attr-dict `:` type(operands)"
    )

    def __init__(
        self,
        dst: SSAValue | Operation,
        src: SSAValue | Operation,
        size: int,
        modifier: str,
        cp_size: SSAValue | Operation | None = None,
    ):
        super().__init__(
            operands=(dst, src, cp_size),
            properties={
                "size": IntegerAttr(size, i32),
                "modifier": LoadCacheModifierAttr(modifier),
            },
        )

    def verify_(self) -> None:
        size = number_of(self.size)
        if size not in (4, 8, 16):
            raise VerifyException(f"copies 4, 8 or 16 bytes, not {size}")
        if self.modifier.data == "cg" and size != 16:
            raise VerifyException("past L1, cg, goes a copy of 16 bytes")


class Plain(IRDLOperation, abc.ABC):
    """Says all by its name."""

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


CpAsyncCommitGroupOp = define(
    Plain,
    "nvvm.cp.async.commit.group",
    "`nvvm.cp.async.commit.group`: the copies since the last are a group (PTX `cp.async.commit_group`).",
)
CpAsyncBulkCommitGroupOp = define(
    Plain,
    "nvvm.cp.async.bulk.commit.group",
    "`nvvm.cp.async.bulk.commit.group`: the bulk copies since the last are a group.",
)


@irdl_op_definition
class CpAsyncWaitGroupOp(IRDLOperation):
    """`nvvm.cp.async.wait.group 1`: wait until at most so many groups are left (PTX `cp.async.wait_group`)."""

    name = "nvvm.cp.async.wait.group"

    n = prop_def(IntegerAttr)

    custom_directives = (Number,)
    assembly_format = "custom<Number>($n) attr-dict"

    def __init__(self, n: int):
        super().__init__(properties={"n": IntegerAttr(n, i32)})


@irdl_op_definition
class CpAsyncMBarrierArriveOp(IRDLOperation):
    """`nvvm.cp.async.mbarrier.arrive %b : !llvm.ptr<3>`: arrive when this thread's copies are done.

    With `{noinc = true}` the barrier counts this arrival among those it expects (PTX `cp.async.mbarrier.arrive`).
    """

    name = "nvvm.cp.async.mbarrier.arrive"

    addr = operand_def(BARRIER)
    noinc = prop_def(BoolAttr, default_value=FALSE)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$addr attr-dict `:` type(operands)"

    def __init__(self, addr: SSAValue | Operation, *, noinc: bool = False):
        super().__init__(operands=(addr,), properties={"noinc": BoolAttr.from_bool(noinc)})


@irdl_op_definition
class CpAsyncBulkWaitGroupOp(IRDLOperation):
    """`nvvm.cp.async.bulk.wait_group 0 {read}`: wait until at most so many groups are left, or are still read."""

    name = "nvvm.cp.async.bulk.wait_group"

    group = prop_def(IntegerAttr)
    read = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Number,)
    assembly_format = "custom<Number>($group) attr-dict"

    def __init__(self, group: int, *, read: bool = False):
        super().__init__(
            properties={"group": IntegerAttr(group, i32), "read": UnitAttr() if read else None}
        )


@irdl_op_definition
class CpAsyncBulkGlobalToSharedClusterOp(IRDLOperation):
    """`nvvm.cp.async.bulk.shared.cluster.global %to, %from, %b, %bytes : !llvm.ptr<7>, !llvm.ptr<1>`.

    Copies into shared memory and counts at the barrier (PTX `cp.async.bulk`).
    """

    name = "nvvm.cp.async.bulk.shared.cluster.global"

    dst = operand_def(pointer_in(SHARED_CLUSTER))
    src = operand_def(pointer_in(GLOBAL))
    mbar = operand_def(pointer(SHARED))
    size = operand_def(i32)
    multicast_mask = opt_operand_def(i16)
    l2_cache_hint = opt_operand_def(i64)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Pointer,)
    assembly_format = (
        "$dst `,` $src `,` $mbar `,` $size (`multicast_mask` `=` $multicast_mask^)? "
        "(`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:` "
        "custom<Pointer>(type($dst)) `,` custom<Pointer>(type($src))"
    )

    def __init__(
        self,
        dst: SSAValue | Operation,
        src: SSAValue | Operation,
        mbar: SSAValue | Operation,
        size: SSAValue | Operation,
    ):
        super().__init__(operands=(dst, src, mbar, size, None, None))


@irdl_op_definition
class CpAsyncBulkSharedCTAToGlobalOp(IRDLOperation):
    """`nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !llvm.ptr<1>, !llvm.ptr<3>`: copy out in a group."""

    name = "nvvm.cp.async.bulk.global.shared.cta"

    dst = operand_def(pointer_in(GLOBAL))
    src = operand_def(pointer_in(SHARED))
    size = operand_def(i32)
    l2_cache_hint = opt_operand_def(i64)
    byte_mask = opt_operand_def(i16)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Pointer,)
    assembly_format = (
        "$dst `,` $src `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)? "
        "(`byte_mask` `=` $byte_mask^)? attr-dict `:` "
        "custom<Pointer>(type($dst)) `,` custom<Pointer>(type($src))"
    )

    def __init__(
        self, dst: SSAValue | Operation, src: SSAValue | Operation, size: SSAValue | Operation
    ):
        super().__init__(operands=(dst, src, size, None, None))


@irdl_op_definition
class CpAsyncBulkPrefetchOp(IRDLOperation):
    """`nvvm.cp.async.bulk.prefetch %from, %bytes : !llvm.ptr<1>`: bring memory into L2."""

    name = "nvvm.cp.async.bulk.prefetch"

    src = operand_def(pointer_in(GLOBAL))
    size = operand_def(i32)
    l2_cache_hint = opt_operand_def(i64)

    custom_directives = (Pointer,)
    assembly_format = (
        "$src `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)? "
        "attr-dict `:` custom<Pointer>(type($src))"
    )

    def __init__(self, src: SSAValue | Operation, size: SSAValue | Operation):
        super().__init__(operands=(src, size, None))


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`nvvm.prefetch level = L2, evict_priority = evict_last, %p : !llvm.ptr<1>`: bring a line in (PTX `prefetch`)."""

    name = "nvvm.prefetch"

    addr = operand_def(pointer_in(GENERIC, GLOBAL, CONSTANT, LOCAL))
    level = prop_def(PrefetchCacheLevelAttr, prop_name="cacheLevel")
    evict_priority = opt_prop_def(CacheEvictionPriorityAttr, prop_name="evictPriority")
    uniform = opt_prop_def(UnitAttr)

    assembly_format = (
        "`level` `=` $cacheLevel (`uniform` $uniform^)? `,` (`evict_priority` `=` "
        "$evictPriority^ `,`)? $addr attr-dict `:` type(operands)"
    )

    def __init__(self, level: str, addr: SSAValue | Operation, evict_priority: str | None = None):
        super().__init__(
            operands=(addr,),
            properties={
                "cacheLevel": PrefetchCacheLevelAttr(level),
                "evictPriority": None
                if evict_priority is None
                else CacheEvictionPriorityAttr(evict_priority),
            },
        )

    def verify_(self) -> None:
        space = address_space(self.addr.type) if isinstance(self.addr.type, LLVMPointerType) else 0
        if self.evict_priority is not None and (self.level.data != "L2" or space != GLOBAL):
            raise VerifyException("a priority is for global memory in L2")
        if self.uniform is not None and (self.level.data != "L1" or space != GENERIC):
            raise VerifyException("a uniform prefetch takes a generic pointer into L1")
        if space == CONSTANT:
            raise VerifyException("constant memory is not fetched before its use")


COPIES: tuple[type[Operation], ...] = (
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkGlobalToSharedClusterOp,
    CpAsyncBulkPrefetchOp,
    CpAsyncBulkSharedCTAToGlobalOp,
    CpAsyncBulkWaitGroupOp,
    CpAsyncCommitGroupOp,
    CpAsyncMBarrierArriveOp,
    CpAsyncOp,
    CpAsyncWaitGroupOp,
    PrefetchOp,
)
