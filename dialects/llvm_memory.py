"""Memory in upstream MLIR's `llvm` (as of release 22): pointers, loads and stores.

Address spaces are those of NVPTX: 0 generic, 1 global, 3 shared, 4 constant, 5 local, 7 the shared memory of a cluster.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_atomics import (
    ATOMIC,
    NOT_ATOMIC,
    ORDERINGS,
    MaybeAtomic,
    alignment_of,
    check_alignment,
)
from coconet_ir.dialects.llvm_types import (
    ONE_INTEGER,
    POINTER,
    VALUE,
    array_i32,
    array_numbers,
    check_word,
    element_at,
    number_of,
    pointer,
)

DYNAMIC = -(1 << 31)
"""Where an index of an address computation is an operand, and no number in the property."""

GEP_FLAGS = {"inbounds": 3, "nusw": 2, "nuw": 4}


class Access(IRDLOperation, abc.ABC):
    """A load or a store."""

    alignment = opt_prop_def(IntegerAttr)
    volatile = opt_prop_def(UnitAttr, prop_name="volatile_")
    nontemporal = opt_prop_def(UnitAttr)
    ordering = prop_def(IntegerAttr, default_value=NOT_ATOMIC)
    syncscope = opt_prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (MaybeAtomic,)

    FORBIDDEN: ClassVar[tuple[str, ...]]
    """The orderings that this access cannot have."""

    def check(self, type: Attribute) -> None:
        """Raise unless a value of this type can be accessed as the properties say."""
        check_alignment(self.alignment)
        if not number_of(self.ordering):
            if self.syncscope is not None:
                raise VerifyException("only an atomic access has a scope")
            return
        check_word(self.ordering, ORDERINGS, "ordering")
        if (word := ORDERINGS[number_of(self.ordering)]) in self.FORBIDDEN:
            raise VerifyException(f"an access of this kind cannot be {word}")
        if self.alignment is None:
            raise VerifyException("an atomic access states its alignment")
        if not ATOMIC.verifies(type):
            raise VerifyException(f"an atomic access takes {ATOMIC.what}, not {type}")


@irdl_op_definition
class LoadOp(Access):
    """`llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32`."""

    name = "llvm.load"
    FORBIDDEN: ClassVar[tuple[str, ...]] = ("release", "acq_rel")

    addr = operand_def(POINTER)
    invariant = opt_prop_def(UnitAttr)
    res = result_def(VALUE)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "(`volatile` $volatile_^)? $addr custom<MaybeAtomic>($syncscope, $ordering) "
        "(`invariant` $invariant^)? attr-dict `:` type($addr) `->` type($res)"
    )

    def __init__(
        self,
        addr: SSAValue | Operation,
        type: Attribute,
        alignment: int | None = None,
        *,
        ordering: str = "",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
        invariant: bool = False,
    ):
        super().__init__(
            operands=(addr,),
            result_types=(type,),
            properties={
                "alignment": alignment_of(alignment),
                "ordering": IntegerAttr(ORDERINGS.index(ordering), i64),
                "syncscope": None if syncscope is None else StringAttr(syncscope),
                "volatile_": UnitAttr() if volatile else None,
                "nontemporal": UnitAttr() if nontemporal else None,
                "invariant": UnitAttr() if invariant else None,
            },
        )

    def verify_(self) -> None:
        self.check(self.res.type)


@irdl_op_definition
class StoreOp(Access):
    """`llvm.store volatile %v, %p {alignment = 4 : i64} : f32, !llvm.ptr<1>`."""

    name = "llvm.store"
    FORBIDDEN: ClassVar[tuple[str, ...]] = ("acquire", "acq_rel")

    value = operand_def(VALUE)
    addr = operand_def(POINTER)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "(`volatile` $volatile_^)? $value `,` $addr custom<MaybeAtomic>($syncscope, "
        "$ordering) attr-dict `:` type($value) `,` type($addr)"
    )

    def __init__(
        self,
        value: SSAValue | Operation,
        addr: SSAValue | Operation,
        alignment: int | None = None,
        *,
        ordering: str = "",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
    ):
        super().__init__(
            operands=(value, addr),
            properties={
                "alignment": alignment_of(alignment),
                "ordering": IntegerAttr(ORDERINGS.index(ordering), i64),
                "syncscope": None if syncscope is None else StringAttr(syncscope),
                "volatile_": UnitAttr() if volatile else None,
                "nontemporal": UnitAttr() if nontemporal else None,
            },
        )

    def verify_(self) -> None:
        self.check(self.value.type)


class _Conversion(IRDLOperation, abc.ABC):
    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue | Operation, type: Attribute):
        super().__init__(operands=(arg,), result_types=(type,))


@irdl_op_definition
class AddrSpaceCastOp(_Conversion):
    """`llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr`: to or from a generic pointer (PTX `cvta`)."""

    name = "llvm.addrspacecast"
    arg = operand_def(POINTER)
    res = result_def(POINTER)

    def verify_(self) -> None:
        if self.arg.type == self.res.type:
            raise VerifyException("both pointers are of the same address space")


@irdl_op_definition
class PtrToIntOp(_Conversion):
    """`llvm.ptrtoint %p : !llvm.ptr<1> to i64`: the address as a number."""

    name = "llvm.ptrtoint"
    arg = operand_def(POINTER)
    res = result_def(ONE_INTEGER)


@irdl_op_definition
class IntToPtrOp(_Conversion):
    """`llvm.inttoptr %i : i64 to !llvm.ptr<1>`: the pointer to an address."""

    name = "llvm.inttoptr"
    arg = operand_def(ONE_INTEGER)
    res = result_def(POINTER)


@irdl_op_definition
class AllocaOp(IRDLOperation):
    """`llvm.alloca %n x f32 {alignment = 4 : i64} : (i32) -> !llvm.ptr`: memory of this thread until it returns."""

    name = "llvm.alloca"

    size = operand_def(ONE_INTEGER)
    alignment = opt_prop_def(IntegerAttr)
    elem_type = prop_def(VALUE)
    res = result_def(POINTER)

    def __init__(self, size: SSAValue | Operation, elem_type: Attribute, alignment: int):
        super().__init__(
            operands=(size,),
            result_types=(pointer(),),
            properties={"elem_type": elem_type, "alignment": IntegerAttr(alignment, i64)},
        )

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$size `x` $elem_type attr-dict `:` functional-type($size, $res)"

    def verify_(self) -> None:
        check_alignment(self.alignment)


@irdl_custom_directive
class GEPFlags(CustomDirective):
    """`inbounds|nuw`, or nothing."""

    flags: AttributeVariable

    def can_parse_empty(self) -> bool:
        return True

    def parse(self, parser: Parser, state: ParsingState) -> None:
        value = 0
        while (word := parser.parse_optional_keyword_in(GEP_FLAGS)) is not None:
            value |= GEP_FLAGS[word]
            if parser.parse_optional_punctuation("|") is None:
                break
        self.flags.set(state, IntegerAttr(value, i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if names := gep_flags(self.flags.get(op)):
            state.print_whitespace(printer)
            printer.print_string("|".join(names))


def gep_flags(flags: Attribute | None) -> list[str]:
    """The flags of an address computation; `inbounds` has `nusw` in it."""
    bits = number_of(flags)
    names = [name for name, mask in GEP_FLAGS.items() if bits & mask == mask]
    return [name for name in names if name != "nusw" or "inbounds" not in names]


@irdl_custom_directive
class Indices(CustomDirective):
    """`[0, %i]`: numbers in a property, values as operands."""

    dynamic: VariadicOperandVariable
    constant: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        values: list[UnresolvedOperand] = []

        def index() -> int:
            if (value := parser.parse_optional_unresolved_operand()) is not None:
                values.append(value)
                return DYNAMIC
            position = parser.pos
            number = parser.parse_integer(allow_boolean=False)
            if not DYNAMIC < number < -DYNAMIC:
                parser.raise_error("an index that is a number has 32 bits", position, parser.pos)
            return number

        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, index)
        self.dynamic.set(state, values)
        self.constant.set(state, array_i32(numbers))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        values = iter(self.dynamic.get(op))

        def index(number: int) -> None:
            if number == DYNAMIC:
                printer.print_ssa_value(next(values))
                return

            printer.print_int(number)

        with printer.in_square_brackets():
            printer.print_list(array_numbers(self.constant.get(op)), index)
        state.last_was_punctuation = False
        state.should_emit_space = True


@irdl_op_definition
class GEPOp(IRDLOperation):
    """`llvm.getelementptr inbounds %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32`: the address of an element.

    The first index counts whole `elem_type`s, each further one leads into it.
    """

    name = "llvm.getelementptr"

    base = operand_def(POINTER)
    dynamic_indices = var_operand_def(ONE_INTEGER)
    constant_indices = prop_def(DenseArrayBase, prop_name="rawConstantIndices")
    elem_type = prop_def(VALUE)
    flags = prop_def(IntegerAttr, prop_name="noWrapFlags", default_value=IntegerAttr(0, i32))
    res = result_def(POINTER)

    traits = traits_def(Pure())

    custom_directives = (GEPFlags, Indices)
    assembly_format = (
        "custom<GEPFlags>($noWrapFlags) $base "
        "custom<Indices>($dynamic_indices, $rawConstantIndices) "
        "attr-dict `:` functional-type(operands, $res) `,` $elem_type"
    )

    def __init__(
        self,
        base: SSAValue | Operation,
        indices: Sequence[int | SSAValue | Operation],
        elem_type: Attribute,
        *,
        inbounds: bool = True,
    ):
        numbers = [index if isinstance(index, int) else DYNAMIC for index in indices]
        super().__init__(
            operands=(base, [index for index in indices if not isinstance(index, int)]),
            result_types=(SSAValue.get(base).type,),
            properties={
                "rawConstantIndices": array_i32(numbers),
                "elem_type": elem_type,
                "noWrapFlags": IntegerAttr(GEP_FLAGS["inbounds"] if inbounds else 0, i32),
            },
        )

    def verify_(self) -> None:
        numbers = array_numbers(self.constant_indices)
        if numbers.count(DYNAMIC) != len(self.dynamic_indices) or not numbers:
            raise VerifyException("the indices do not match the operands")
        if self.base.type != self.res.type:
            raise VerifyException(f"{self.base.type} does not lead to {self.res.type}")
        type = self.elem_type
        for number in numbers[1:]:
            if number == DYNAMIC and isinstance(type, LLVMStructType):
                raise VerifyException("an index into a struct is a number")
            type = element_at(type, number)


@irdl_op_definition
class AddressOfOp(IRDLOperation):
    """`llvm.mlir.addressof @tile : !llvm.ptr<3>`: the address of a global."""

    name = "llvm.mlir.addressof"

    global_name = prop_def(SymbolRefAttr)
    res = result_def(POINTER)

    traits = traits_def(Pure())

    assembly_format = "$global_name attr-dict `:` type($res)"

    def __init__(self, global_name: str, space: int):
        super().__init__(
            properties={"global_name": SymbolRefAttr(global_name)}, result_types=(pointer(space),)
        )


MEMORY: tuple[type[Operation], ...] = (
    AddrSpaceCastOp,
    AddressOfOp,
    AllocaOp,
    GEPOp,
    IntToPtrOp,
    LoadOp,
    PtrToIntOp,
    StoreOp,
)
