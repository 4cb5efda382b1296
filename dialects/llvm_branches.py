"""Control flow between the blocks of a function of upstream MLIR's `llvm` (as of release 22)."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i32,
)
from xdsl.dialects.llvm import LLVMVoidType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from coconet_ir.dialects.llvm_functions import FuncOp
from coconet_ir.dialects.llvm_types import ONE_INTEGER, array_i32, array_numbers

NO_COUNTS = DenseArrayBase.from_list(i32, ())


class Terminator(IRDLOperation, abc.ABC):
    """Where a block of a function goes on, and with what."""

    traits = traits_def(IsTerminator())

    def edges(self) -> list[tuple[Block, tuple[SSAValue, ...]]]:
        """The blocks that may be next, each with the values that its arguments take; repeated blocks are repeated."""
        return []

    def verify_(self) -> None:
        for block, values in self.edges():
            if tuple(value.type for value in values) != tuple(block.arg_types):
                raise VerifyException("passes a block other values than its arguments")


@irdl_op_definition
class BrOp(Terminator):
    """`llvm.br ^bb1(%a : i32)`: go on with a block."""

    name = "llvm.br"

    dest_operands = var_operand_def()
    dest = successor_def()

    assembly_format = "$dest (`(` $dest_operands^ `:` type($dest_operands) `)`)? attr-dict"

    def __init__(self, dest: Block, *operands: SSAValue | Operation):
        super().__init__(operands=(operands,), successors=(dest,))

    def edges(self) -> list[tuple[Block, tuple[SSAValue, ...]]]:
        return [(self.dest, tuple(self.dest_operands))]


@irdl_op_definition
class CondBrOp(Terminator):
    """`llvm.cond_br %c, ^bb1, ^bb2(%a : i32)`: go on with the first block if the condition is true."""

    name = "llvm.cond_br"

    condition = operand_def(i1)
    true_operands = var_operand_def()
    false_operands = var_operand_def()
    true_dest = successor_def()
    false_dest = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$condition `,` $true_dest (`(` $true_operands^ `:` "
        "type($true_operands) `)`)? `,` $false_dest (`(` $false_operands^ "
        "`:` type($false_operands) `)`)? attr-dict"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_dest: Block,
        true_operands: Sequence[SSAValue | Operation],
        false_dest: Block,
        false_operands: Sequence[SSAValue | Operation],
    ):
        super().__init__(
            operands=(condition, true_operands, false_operands), successors=(true_dest, false_dest)
        )

    def edges(self) -> list[tuple[Block, tuple[SSAValue, ...]]]:
        return [
            (self.true_dest, tuple(self.true_operands)),
            (self.false_dest, tuple(self.false_operands)),
        ]


@irdl_op_definition
class SwitchOp(Terminator):
    """`llvm.switch %i : i32, ^bb1 [0: ^bb2, 7: ^bb3(%a : i32)]`: go on with the block of a number, or the first."""

    name = "llvm.switch"

    value = operand_def(ONE_INTEGER)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = opt_prop_def(DenseIntOrFPElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase, default_value=NO_COUNTS)
    default_dest = successor_def()
    case_dests = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        value: SSAValue | Operation,
        default: tuple[Block, Sequence[SSAValue]],
        cases: Sequence[tuple[int, Block, Sequence[SSAValue]]],
    ):
        type = SSAValue.get(value).type
        super().__init__(
            operands=(value, default[1], [one for case in cases for one in case[2]]),
            properties=_case_properties(type, [(number, len(v)) for number, _, v in cases]),
            successors=(default[0], [block for _, block, _ in cases]),
        )

    def numbers(self) -> tuple[int, ...]:
        """The number of each case."""
        if self.case_values is None:
            return ()
        return tuple(cast(Sequence[int], self.case_values.get_values()))

    def edges(self) -> list[tuple[Block, tuple[SSAValue, ...]]]:
        found = [(self.default_dest, tuple(self.default_operands))]
        start = 0
        counts = array_numbers(self.case_operand_segments)
        for block, count in zip(self.case_dests, counts, strict=True):
            found.append((block, tuple(self.case_operands[start : start + count])))
            start += count
        return found

    def verify_(self) -> None:
        counts = array_numbers(self.case_operand_segments)
        if not len(counts) == len(self.numbers()) == len(self.case_dests):
            raise VerifyException("has other numbers of cases, blocks and operand counts")
        if sum(counts) != len(self.case_operands) or min(counts, default=0) < 0:
            raise VerifyException("the operand counts do not add up to the operands of its cases")
        if len(set(self.numbers())) != len(counts):
            raise VerifyException("has two cases for one number")
        super().verify_()

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        start = parser.pos
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_punctuation(",")
        default = _parse_target(parser)
        numbers: list[int] = []
        cases: list[tuple[Block, Sequence[SSAValue]]] = []

        def case() -> None:
            numbers.append(parser.parse_integer(allow_boolean=False))
            parser.parse_punctuation(":")
            cases.append(_parse_target(parser))

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, case)
        end = parser.pos
        attributes = parser.parse_optional_attr_dict()
        try:
            counted = [(n, len(values)) for n, (_, values) in zip(numbers, cases, strict=True)]
            properties = _case_properties(type, counted)
        except VerifyException as error:
            parser.raise_error(str(error), start, end)
        (operand,) = parser.resolve_operands((value,), (type,), start)
        inner = [one for _, values in cases for one in values]
        return cls.build(
            operands=(operand, default[1], inner),
            properties=properties,
            attributes=attributes,
            successors=(default[0], [block for block, _ in cases]),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        default, *cases = self.edges()
        _print_target(printer, *default)
        printer.print_string(" [")
        for index, (number, edge) in enumerate(zip(self.numbers(), cases, strict=True)):
            printer.print_string(f"{', ' if index else ''}{number}: ")
            _print_target(printer, *edge)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _case_properties(
    type: Attribute, cases: Sequence[tuple[int, int]]
) -> dict[str, Attribute | None]:
    """The properties for cases, each a number and how many operands its block takes. Raises `VerifyException`."""
    values = None
    if cases:
        if not isa(type, IntegerType):
            raise VerifyException(f"the value is an integer, not {type}")
        numbers = [IntegerAttr(number, type).value.data for number, _ in cases]
        values = DenseIntOrFPElementsAttr.from_list(VectorType(type, [len(cases)]), numbers)
    counts = array_i32([count for _, count in cases])
    return {"case_values": values, "case_operand_segments": counts}


def _parse_target(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    """Parse `^bb1(%a : i32)`."""
    block = parser.parse_successor()
    start = parser.pos
    operands: list[UnresolvedOperand] = []
    types: list[Attribute] = []
    if parser.parse_optional_punctuation("(") is not None:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
    return block, parser.resolve_operands(operands, types, start)


def _print_target(printer: Printer, block: Block, values: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if values:
        with printer.in_parens():
            printer.print_list(values, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list([value.type for value in values], printer.print_attribute)


@irdl_op_definition
class ReturnOp(Terminator):
    """`llvm.return %a : i32`: leave the function."""

    name = "llvm.return"

    arg = opt_operand_def()

    assembly_format = "($arg^ `:` type($arg))? attr-dict"

    def __init__(self, arg: SSAValue | Operation | None = None):
        super().__init__(operands=([] if arg is None else [arg],))

    def verify_(self) -> None:
        if not isinstance(function := self.parent_op(), FuncOp):
            raise VerifyException("leaves no llvm.func")
        output = function.function_type.output
        given = LLVMVoidType() if self.arg is None else self.arg.type
        if given != output:
            raise VerifyException(f"gives {given}, but its function returns {output}")


@irdl_op_definition
class UnreachableOp(Terminator):
    """`llvm.unreachable`: execution never gets here."""

    name = "llvm.unreachable"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


BRANCHES: tuple[type[Operation], ...] = (BrOp, CondBrOp, ReturnOp, SwitchOp, UnreachableOp)
