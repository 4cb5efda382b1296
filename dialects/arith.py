"""Upstream MLIR's `arith` (as of release 22) on scalars, vectors and tensors with layouts.

xDSL's operations, with ours under the same names where xDSL's take no tensors, let a layout get
lost, or give up on some type. All are written as upstream writes them. Operands agree when shape
*and* encoding are equal; comparisons give i1 in the shape and encoding of their operands.
"""

from __future__ import annotations

import abc
from functools import cache
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import Float8E4M3FNType, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.notation import Rule
from coconet_ir.analysis.rules import HasRule, pointwise
from coconet_ir.dialects.arith_casts import (
    BitcastOp,
    ExtFOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    IndexCastUIOp,
    SIToFPOp,
    TruncFOp,
    TruncIOp,
    UIToFPOp,
)
from coconet_ir.dialects.elementwise import (
    FLOAT,
    INTEGER_OR_INDEX,
    NO_FASTMATH,
    BoolsLike,
    element,
    pointwise_rule,
    same_frame,
    with_element,
)

INTEGER_PREDICATES = tuple(arith.CMPI_COMPARISON_OPERATIONS)
FLOAT_PREDICATES = tuple(arith.CMPF_COMPARISON_OPERATIONS)


@cache
def predicate_attr(names: tuple[str, ...], name: str) -> IntegerAttr:
    """The property that holds the predicate `name`. Raises `ValueError` if `names` lacks it."""
    return IntegerAttr(names.index(name), i64)


class _PredicateName(CustomDirective, abc.ABC):
    """A predicate, a number in the property, by its name."""

    NAMES: ClassVar[tuple[str, ...]]

    def parse_name(self, parser: Parser) -> IntegerAttr:
        """Parse one of `NAMES`."""
        position = parser.pos
        name = parser.parse_identifier()
        if name not in self.NAMES:
            parser.raise_error(
                f"'{name}' is no predicate; there are {', '.join(self.NAMES)}",
                position,
                position + len(name),
            )
        return predicate_attr(self.NAMES, name)

    def print_name(self, printer: Printer, state: PrintingState, number: Attribute | None) -> None:
        """Print the name of a predicate that verifies."""
        state.print_whitespace(printer)
        if isinstance(number, IntegerAttr):
            printer.print_string(self.NAMES[number.value.data])


@irdl_custom_directive
class IntegerPredicate(_PredicateName):
    """The predicate of a comparison of integers."""

    NAMES: ClassVar[tuple[str, ...]] = INTEGER_PREDICATES
    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.predicate.set(state, self.parse_name(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_name(printer, state, self.predicate.get(op))


@irdl_custom_directive
class FloatPredicate(_PredicateName):
    """The predicate of a comparison of floats."""

    NAMES: ClassVar[tuple[str, ...]] = FLOAT_PREDICATES
    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.predicate.set(state, self.parse_name(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.print_name(printer, state, self.predicate.get(op))


def _check_predicate(predicate: IntegerAttr, names: tuple[str, ...]) -> None:
    if predicate.type != i64 or not 0 <= predicate.value.data < len(names):
        raise VerifyException(
            f"the predicate must be an i64 from 0 to {len(names) - 1}, but it is {predicate}"
        )


@irdl_op_definition
class CmpiOp(IRDLOperation):
    """`arith.cmpi slt, %a, %b : tensor<4xi32>`: compare integers, element by element."""

    name = "arith.cmpi"
    T: ClassVar = VarConstraint("T", INTEGER_OR_INDEX)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(BoolsLike("T"))

    traits = traits_def(Pure())

    custom_directives = (IntegerPredicate,)
    assembly_format = (
        "custom<IntegerPredicate>($predicate) `,` $lhs `,` $rhs attr-dict `:` type($lhs)"
    )

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, predicate: str):
        super().__init__(
            operands=(lhs, rhs),
            result_types=(with_element(SSAValue.get(lhs).type, i1),),
            properties={"predicate": predicate_attr(INTEGER_PREDICATES, predicate)},
        )

    def verify_(self) -> None:
        _check_predicate(self.predicate, INTEGER_PREDICATES)


@irdl_op_definition
class CmpfOp(IRDLOperation):
    """`arith.cmpf olt, %a, %b : tensor<4xf32>`: floats; with NaN `o..` is false, `u..` true."""

    name = "arith.cmpf"
    T: ClassVar = VarConstraint("T", FLOAT)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(BoolsLike("T"))

    traits = traits_def(Pure())

    custom_directives = (FloatPredicate,)
    assembly_format = (
        "custom<FloatPredicate>($predicate) `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? "
        "attr-dict `:` type($lhs)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        predicate: str,
        fastmath: FastMathFlagsAttr = NO_FASTMATH,
    ):
        number = predicate_attr(FLOAT_PREDICATES, predicate)
        super().__init__(
            operands=(lhs, rhs),
            result_types=(with_element(SSAValue.get(lhs).type, i1),),
            properties={"predicate": number, "fastmath": fastmath},
        )

    def verify_(self) -> None:
        _check_predicate(self.predicate, FLOAT_PREDICATES)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`arith.select %c, %a, %b : T` by one i1, `arith.select %c, %a, %b : C, T` by element."""

    name = "arith.select"
    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def()
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    def __init__(
        self,
        cond: SSAValue | Operation,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
    ):
        super().__init__(operands=(cond, lhs, rhs), result_types=(SSAValue.get(lhs).type,))

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        position = parser.pos
        values = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = [parser.parse_type()]
        if parser.parse_optional_punctuation(",") is not None:
            types.append(parser.parse_type())
        cond = i1 if len(types) == 1 else types[0]
        return cls.create(
            operands=parser.resolve_operands(values, (cond, types[-1], types[-1]), position),
            result_types=types[-1:],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        cond, result = self.cond.type, self.result.type
        if cond != i1 and not (element(cond) == i1 and same_frame(cond, result)):
            raise VerifyException(
                f"the condition must be i1, or i1 in the shape and layout of the result: "
                f"{with_element(result, i1)}, but it is {cond}"
            )


@irdl_op_definition
class AddUIExtendedOp(IRDLOperation):
    """`%s, %o = arith.addui_extended %a, %b : i32, i1`: unsigned sum and its carry."""

    name = "arith.addui_extended"
    T: ClassVar = VarConstraint("T", INTEGER_OR_INDEX)

    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def(BoolsLike("T"))

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        operand_type = SSAValue.get(lhs).type
        super().__init__(
            operands=(lhs, rhs), result_types=(operand_type, with_element(operand_type, i1))
        )


@irdl_op_definition
class RemUIOp(arith.SignlessIntegerBinaryOperation):
    """`arith.remui %a, %b : T`: the remainder of unsigned division; undefined if %b is 0."""

    name = "arith.remui"

    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """`arith.remf %a, %b : T`: the remainder of division rounded towards 0, with the sign of %a."""

    name = "arith.remf"

    traits = traits_def(Pure())


_OURS: tuple[type[Operation], ...] = (
    AddUIExtendedOp,
    BitcastOp,
    CmpfOp,
    CmpiOp,
    ExtFOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    IndexCastUIOp,
    RemFOp,
    RemUIOp,
    SelectOp,
    SIToFPOp,
    TruncFOp,
    TruncIOp,
    UIToFPOp,
)

_JOINT: dict[type[Operation], frozenset[Kind]] = {
    arith.AddfOp: frozenset({Kind.SUM}),
    arith.SubfOp: frozenset({Kind.SUM}),
    arith.NegfOp: frozenset({Kind.SUM}),
    arith.AddiOp: frozenset({Kind.SUM}),
    arith.SubiOp: frozenset({Kind.SUM}),
    arith.MulfOp: frozenset({Kind.PROD}),
    arith.MuliOp: frozenset({Kind.PROD}),
    arith.MaximumfOp: frozenset({Kind.MAX}),
    arith.MaxSIOp: frozenset({Kind.MAX}),
    arith.MinimumfOp: frozenset({Kind.MIN}),
    arith.MinSIOp: frozenset({Kind.MIN}),
    ExtFOp: frozenset({Kind.SUM, Kind.MAX, Kind.MIN}),
}
"""The reductions that an operation passes on when all its tensors are partial; all others: none."""


def _narrowing(op: Operation) -> Rule:
    """Rounding passes on sums, and extremes if the infinities of blocks without elements have a rounding."""
    bounded = isinstance(element(op.results[0].type), Float8E4M3FNType)
    extremes = frozenset[Kind]() if bounded else frozenset((Kind.MAX, Kind.MIN))
    return pointwise(op, frozenset((Kind.SUM,)) | extremes)


_NARROWING = HasRule(_narrowing, by_types=True)
"""The rule of `arith.truncf`."""


def _operations() -> list[type[Operation]]:
    ours = {operation.name: operation for operation in _OURS}
    for operation in (*arith.Arith.operations, *_OURS):
        # Those of xDSL that ours replace get the rule too: plain xdsl-opt parses into them.
        joint = _JOINT.get(ours.get(operation.name, operation), frozenset())
        narrows = operation.name == TruncFOp.name
        operation.traits.add_trait(_NARROWING if narrows else pointwise_rule(joint))
    return [*(op for op in arith.Arith.operations if op.name not in ours), *_OURS]


Arith = Dialect(
    "arith",
    _operations(),
    [*arith.Arith.attributes],
    [arith.ArithConstantMaterializationInterface()],
)
"""`arith` with dimension rules, which it adds to xDSL's own classes, for the whole process."""
