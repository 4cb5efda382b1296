"""Atomic memory operations of upstream MLIR's `llvm` (as of release 22), and what loads and stores share with them.

Scopes are LLVM's names for PTX's: "block" is .cta, "cluster" .cluster, "device" .gpu, and no scope .sys.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.elementwise import width
from coconet_ir.dialects.llvm_types import (
    POINTER,
    VALUE,
    Fits,
    Keyword,
    WithBool,
    check_word,
    is_float,
    is_integer,
    is_pointer,
    lane,
    number_of,
    with_bool,
)

ORDERINGS = ("", "unordered", "monotonic", "", "acquire", "release", "acq_rel", "seq_cst")
"""The words for orderings, each at its number in a property; LLVM has nothing at 3."""

NOT_ATOMIC = IntegerAttr(0, i64)

BIN_OPS = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin", "fadd",
    "fsub", "fmax", "fmin", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum",
    "fminimum",
)  # fmt: skip
"""Likewise, for what `atomicrmw` does."""

ATOMIC = Fits(
    lambda t: (is_integer(t) and width(t) in (8, 16, 32, 64)) or is_float(t) or is_pointer(t),
    "an integer of 8, 16, 32 or 64 bits, a float or a pointer",
)


@irdl_custom_directive
class Ordering(Keyword):
    """`acquire`."""

    WORDS: ClassVar[tuple[str, ...]] = ORDERINGS
    ordering: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.ordering.set(state, self.parse_word(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_word(printer, state, self.ordering.get(op))


@irdl_custom_directive
class MaybeAtomic(Keyword):
    """`atomic syncscope("device") acquire`, or nothing."""

    WORDS: ClassVar[tuple[str, ...]] = ORDERINGS
    syncscope: AttributeVariable
    ordering: AttributeVariable

    def can_parse_empty(self) -> bool:
        return True

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("atomic") is None:
            return
        if parser.parse_optional_keyword("syncscope") is not None:
            with parser.in_parens():
                self.syncscope.set(state, StringAttr(parser.parse_str_literal()))
        self.ordering.set(state, self.parse_word(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        ordering, scope = self.ordering.get(op), self.syncscope.get(op)
        if not number_of(ordering):
            return
        state.print_whitespace(printer)
        printer.print_string("atomic")
        if isinstance(scope, StringAttr):
            printer.print_string(" syncscope(")
            printer.print_attribute(scope)
            printer.print_string(")")
        self.print_word(printer, state, ordering)


@irdl_custom_directive
class BinOp(Keyword):
    """`add`."""

    WORDS: ClassVar[tuple[str, ...]] = BIN_OPS
    bin_op: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.bin_op.set(state, self.parse_word(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_word(printer, state, self.bin_op.get(op))


def alignment_of(bytes: int | None) -> IntegerAttr | None:
    """The attribute of an alignment in bytes, absent for None."""
    return None if bytes is None else IntegerAttr(bytes, i64)


def check_alignment(alignment: IntegerAttr | None) -> None:
    """Raise unless it is a power of two as i64, or absent."""
    if alignment is None:
        return
    value = alignment.value.data
    if alignment.type != i64 or value < 1 or value & (value - 1):
        raise VerifyException(f"an alignment is a power of two as i64, not {alignment}")


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """`llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr<1>, i32`: update memory; the value before.

    LLVM 22 emits PTX's default, relaxed at the scope of the GPU, whatever the program says; what that would weaken does
    not become PTX.
    """

    name = "llvm.atomicrmw"
    T: ClassVar = VarConstraint("T", VALUE)

    bin_op = prop_def(IntegerAttr)
    ptr = operand_def(POINTER)
    val = operand_def(T)
    ordering = prop_def(IntegerAttr)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr)
    volatile = opt_prop_def(UnitAttr, prop_name="volatile_")
    res = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (BinOp, Ordering)
    assembly_format = (
        "(`volatile` $volatile_^)? custom<BinOp>($bin_op) $ptr `,` $val "
        "(`syncscope` `(` $syncscope^ `)`)? custom<Ordering>($ordering) "
        "attr-dict `:` type($ptr) `,` type($val)"
    )

    def __init__(
        self,
        bin_op: str,
        ptr: SSAValue | Operation,
        val: SSAValue | Operation,
        ordering: str,
        syncscope: str | None = None,
        alignment: int | None = None,
    ):
        super().__init__(
            operands=(ptr, val),
            result_types=(SSAValue.get(val).type,),
            properties={
                "bin_op": IntegerAttr(BIN_OPS.index(bin_op), i64),
                "ordering": IntegerAttr(ORDERINGS.index(ordering), i64),
                "syncscope": None if syncscope is None else StringAttr(syncscope),
                "alignment": alignment_of(alignment),
            },
        )

    def verify_(self) -> None:
        check_word(self.bin_op, BIN_OPS, "operation")
        check_word(self.ordering, ORDERINGS, "ordering")
        check_alignment(self.alignment)
        word, type = BIN_OPS[number_of(self.bin_op)], self.val.type
        floats = is_float(lane(type)) if word[0] == "f" else is_float(type) and word == "xchg"
        if not (floats or (word[0] != "f" and ATOMIC.verifies(type) and not is_float(type))):
            raise VerifyException(f"cannot {word.strip('_')} a value of type {type}")


@irdl_op_definition
class CmpXchgOp(IRDLOperation):
    """`llvm.cmpxchg %p, %cmp, %new acq_rel monotonic : !llvm.ptr<1>, i32`: store `%new` where memory holds `%cmp`.

    The result is what was there, and whether it was stored.
    """

    name = "llvm.cmpxchg"
    T: ClassVar = VarConstraint(
        "T", Fits(lambda t: ATOMIC.verifies(t) and not is_float(t), "an integer or a pointer")
    )

    ptr = operand_def(POINTER)
    cmp = operand_def(T)
    val = operand_def(T)
    success_ordering = prop_def(IntegerAttr)
    failure_ordering = prop_def(IntegerAttr)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr)
    weak = opt_prop_def(UnitAttr)
    volatile = opt_prop_def(UnitAttr, prop_name="volatile_")
    res = result_def(WithBool("T"))

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Ordering,)
    assembly_format = (
        "(`weak` $weak^)? (`volatile` $volatile_^)? $ptr `,` $cmp `,` $val (`syncscope` `(` "
        "$syncscope^ `)`)? custom<Ordering>($success_ordering) "
        "custom<Ordering>($failure_ordering) attr-dict `:` type($ptr) `,` type($val)"
    )

    def __init__(
        self,
        ptr: SSAValue | Operation,
        cmp: SSAValue | Operation,
        val: SSAValue | Operation,
        success: str,
        failure: str,
        syncscope: str | None = None,
        alignment: int | None = None,
    ):
        super().__init__(
            operands=(ptr, cmp, val),
            result_types=(with_bool(SSAValue.get(val).type),),
            properties={
                "success_ordering": IntegerAttr(ORDERINGS.index(success), i64),
                "failure_ordering": IntegerAttr(ORDERINGS.index(failure), i64),
                "syncscope": None if syncscope is None else StringAttr(syncscope),
                "alignment": alignment_of(alignment),
            },
        )

    def verify_(self) -> None:
        for ordering in (self.success_ordering, self.failure_ordering):
            check_word(ordering, ORDERINGS, "ordering")
            if ORDERINGS[number_of(ordering)] == "unordered":
                raise VerifyException("an exchange is at least monotonic")
        if (failure := ORDERINGS[number_of(self.failure_ordering)]) in ("release", "acq_rel"):
            raise VerifyException(f"a failed exchange stores nothing, so it cannot be {failure}")
        check_alignment(self.alignment)


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`llvm.fence syncscope("device") acq_rel`: order what this thread does before and after (PTX `fence`)."""

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr)
    syncscope = opt_prop_def(StringAttr)

    custom_directives = (Ordering,)
    assembly_format = "(`syncscope` `(` $syncscope^ `)`)? custom<Ordering>($ordering) attr-dict"

    def __init__(self, ordering: str, syncscope: str | None = None):
        super().__init__(
            properties={
                "ordering": IntegerAttr(ORDERINGS.index(ordering), i64),
                "syncscope": None if syncscope is None else StringAttr(syncscope),
            }
        )

    def verify_(self) -> None:
        if number_of(self.ordering) not in range(4, len(ORDERINGS)):
            raise VerifyException("a fence is acquire, release, acq_rel or seq_cst")


ATOMICS: tuple[type[Operation], ...] = (AtomicRMWOp, CmpXchgOp, FenceOp)
