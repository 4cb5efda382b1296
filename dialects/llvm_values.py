"""Constants, vectors and aggregates of upstream MLIR's `llvm` (as of release 22)."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    InferenceContext,
    IntConstraint,
    IRDLOperation,
    VarConstraint,
    VerificationContext,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import (
    AGGREGATE,
    ONE_INTEGER,
    VALUE,
    VECTOR,
    array_numbers,
    define,
    element_at,
    fill,
    is_integer,
    lane,
    parse_numbers,
    vector_lanes,
)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """`llvm.mlir.constant(1.0 : f32) : f32`; `dense<…>` for vectors and arrays."""

    name = "llvm.mlir.constant"

    value = prop_def(IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr)
    res = result_def(VALUE)

    traits = traits_def(Pure())

    assembly_format = "`(` $value `)` attr-dict `:` type($res)"

    def __init__(self, value: Attribute, type: Attribute):
        fill(self, (), type, {"value": value})

    def verify_(self) -> None:
        check_initial(self.value, self.res.type)


def check_initial(value: Attribute, type: Attribute) -> None:
    """Raise unless the attribute is a value of this type. An integer of type index fits every integer type."""
    match value:
        case IntegerAttr() if isinstance(value.type, IndexType):
            fits = is_integer(type)
        case IntegerAttr() | FloatAttr():
            fits = value.type == type
        case DenseIntOrFPElementsAttr():
            fits = elements_of(type) == (value.get_element_type(), len(value))
        case _:
            fits = False
    if not fits:
        raise VerifyException(f"{value} is no value of type {type}")


def elements_of(type: Attribute) -> tuple[Attribute, int]:
    """The type and number of the elements of a vector, or of an array of arrays; any other type is its own, once."""
    if isinstance(type, LLVMArrayType):
        element, count = elements_of(type.type)
        return element, count * type.size.data
    return vector_lanes(type)


class Nothing(IRDLOperation, abc.ABC):
    """A value that comes from nowhere."""

    res = result_def(VALUE)

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=(type,))


ZeroOp = define(Nothing, "llvm.mlir.zero", "`llvm.mlir.zero : !llvm.ptr`: all bits zero.")
UndefOp = define(
    Nothing, "llvm.mlir.undef", "`llvm.mlir.undef : f32`: any value, at each use another."
)
PoisonOp = define(
    Nothing, "llvm.mlir.poison", "`llvm.mlir.poison : vector<4xf32>`: must not matter."
)


@dataclass(frozen=True)
class LaneOf(AttrConstraint[Attribute]):
    """The type of the elements of the vector type that the variable `name` holds."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr != (expected := self.infer(constraint_context)):
            raise VerifyException(f"expected {expected}, but got {attr}")

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.name in var_constraint_names

    def infer(self, context: InferenceContext) -> Attribute:
        return lane(context.get_variable(self.name) or i32)

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> LaneOf:
        return self


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`llvm.extractelement %v[%i : i32] : vector<4xf32>`: one lane."""

    name = "llvm.extractelement"
    V: ClassVar = VarConstraint("V", VECTOR)

    vector = operand_def(V)
    position = operand_def(ONE_INTEGER)
    res = result_def(LaneOf("V"))

    traits = traits_def(Pure())

    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue | Operation, position: SSAValue | Operation):
        super().__init__(
            operands=(vector, position), result_types=(lane(SSAValue.get(vector).type),)
        )


@irdl_op_definition
class InsertElementOp(IRDLOperation):
    """`llvm.insertelement %x, %v[%i : i32] : vector<4xf32>`: the vector with one lane replaced."""

    name = "llvm.insertelement"
    V: ClassVar = VarConstraint("V", VECTOR)

    vector = operand_def(V)
    value = operand_def(LaneOf("V"))
    position = operand_def(ONE_INTEGER)
    res = result_def(V)

    traits = traits_def(Pure())

    assembly_format = (
        "$value `,` $vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"
    )

    def __init__(
        self,
        vector: SSAValue | Operation,
        value: SSAValue | Operation,
        position: SSAValue | Operation,
    ):
        super().__init__(
            operands=(vector, value, position), result_types=(SSAValue.get(vector).type,)
        )


@irdl_op_definition
class ShuffleVectorOp(IRDLOperation):
    """`llvm.shufflevector %a, %b [0, 5] : vector<4xf32>`: these lanes of `%a` and then `%b`; -1 for any value."""

    name = "llvm.shufflevector"
    V: ClassVar = VarConstraint("V", VECTOR)

    v1 = operand_def(V)
    v2 = operand_def(V)
    mask = prop_def(DenseArrayBase)
    res = result_def(VECTOR)

    traits = traits_def(Pure())

    def __init__(self, v1: SSAValue | Operation, v2: SSAValue | Operation, mask: Sequence[int]):
        super().__init__(
            operands=(v1, v2),
            properties={"mask": DenseArrayBase.from_list(i32, mask)},
            result_types=(VectorType(lane(SSAValue.get(v1).type), [len(mask)]),),
        )

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleVectorOp:
        position = parser.pos
        values = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        values.append(parser.parse_unresolved_operand())
        mask = parse_numbers(parser, 1 << 31)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(values, (type, type), position),
            properties={"mask": DenseArrayBase.from_list(i32, mask)},
            result_types=(VectorType(lane(type), [len(mask)]),),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(f" {_listed(self.mask)}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.v1.type)

    def verify_(self) -> None:
        element, count = vector_lanes(self.v1.type)
        lanes = array_numbers(self.mask)
        if not all(-1 <= number < 2 * count for number in lanes):
            raise VerifyException(f"the lanes are 0 to {2 * count - 1}, or -1 for any")
        if vector_lanes(self.res.type) != (element, len(lanes)):
            raise VerifyException(f"expected {len(lanes)} lanes, but the result is {self.res.type}")


def _listed(numbers: Attribute) -> str:
    return f"[{', '.join(map(str, array_numbers(numbers)))}]"


def _member(type: Attribute, position: Sequence[int]) -> Attribute:
    """The type of a part of an aggregate. Raises `VerifyException` if there is none."""
    for index in position:
        type = element_at(type, index)
    if not position:
        raise VerifyException("the position is empty")
    return type


def _parse_member(parser: Parser) -> tuple[list[int], dict[str, Attribute], Attribute, Attribute]:
    """Parse `[0] {…} : type`: the position, attributes, the type and that of the part."""
    start = parser.pos
    position = parse_numbers(parser, 1 << 31)
    end = parser.pos
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type = parser.parse_type()
    try:
        return position, attributes, type, _member(type, position)
    except VerifyException as error:
        parser.raise_error(str(error), start, end)


@irdl_op_definition
class ExtractValueOp(IRDLOperation):
    """`llvm.extractvalue %s[0] : !llvm.struct<(i32, i1)>`: a part of a struct or array."""

    name = "llvm.extractvalue"

    container = operand_def(AGGREGATE)
    position = prop_def(DenseArrayBase)
    res = result_def(VALUE)

    traits = traits_def(Pure())

    def __init__(self, container: SSAValue | Operation, *position: int):
        super().__init__(
            operands=(container,),
            properties={"position": DenseArrayBase.from_list(i64, position)},
            result_types=(_member(SSAValue.get(container).type, position),),
        )

    @classmethod
    def parse(cls, parser: Parser) -> ExtractValueOp:
        start = parser.pos
        container = parser.parse_unresolved_operand()
        position, attributes, type, member = _parse_member(parser)
        return cls.create(
            operands=parser.resolve_operands((container,), (type,), start),
            properties={"position": DenseArrayBase.from_list(i64, position)},
            result_types=(member,),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.container)
        printer.print_string(_listed(self.position))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.container.type)

    def verify_(self) -> None:
        member = _member(self.container.type, array_numbers(self.position))
        if self.res.type != member:
            raise VerifyException(f"the part is {member}, but the result {self.res.type}")


@irdl_op_definition
class InsertValueOp(IRDLOperation):
    """`llvm.insertvalue %x, %s[0] : !llvm.struct<(i32, i1)>`: the struct or array with a part replaced."""

    name = "llvm.insertvalue"

    container = operand_def(AGGREGATE)
    value = operand_def(VALUE)
    position = prop_def(DenseArrayBase)
    res = result_def(AGGREGATE)

    traits = traits_def(Pure())

    def __init__(
        self, container: SSAValue | Operation, value: SSAValue | Operation, *position: int
    ):
        super().__init__(
            operands=(container, value),
            properties={"position": DenseArrayBase.from_list(i64, position)},
            result_types=(SSAValue.get(container).type,),
        )

    @classmethod
    def parse(cls, parser: Parser) -> InsertValueOp:
        start = parser.pos
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        container = parser.parse_unresolved_operand()
        position, attributes, type, member = _parse_member(parser)
        return cls.create(
            operands=parser.resolve_operands((container, value), (type, member), start),
            properties={"position": DenseArrayBase.from_list(i64, position)},
            result_types=(type,),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        printer.print_operand(self.container)
        printer.print_string(_listed(self.position))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.container.type)

    def verify_(self) -> None:
        if self.res.type != self.container.type:
            raise VerifyException(f"expected the result {self.container.type}")
        member = _member(self.container.type, array_numbers(self.position))
        if self.value.type != member:
            raise VerifyException(f"the part is {member}, but the value {self.value.type}")


VALUES: tuple[type[Operation], ...] = (
    ConstantOp,
    ExtractElementOp,
    ExtractValueOp,
    InsertElementOp,
    InsertValueOp,
    PoisonOp,
    ShuffleVectorOp,
    UndefOp,
    ZeroOp,
)
