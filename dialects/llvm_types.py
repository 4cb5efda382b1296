"""What the operations of `llvm` share: types of one value or a vector of them, flags, and how both are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    InferenceContext,
    IntConstraint,
    IRDLOperation,
    VerificationContext,
    irdl_attr_definition,
    irdl_op_definition,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from coconet_ir.dialects.elementwise import with_element

GENERIC, GLOBAL, SHARED, CONSTANT, LOCAL, SHARED_CLUSTER = (0, 1, 3, 4, 5, 7)
ADDRESS_SPACES = (GENERIC, GLOBAL, SHARED, CONSTANT, LOCAL, SHARED_CLUSTER)
"""The spaces of NVPTX."""

_OpT = TypeVar("_OpT", bound=IRDLOperation)


def define(base: type[_OpT], name: str, doc: str) -> type[_OpT]:
    """The operation `name`, which differs from others that have `base` in its name and meaning alone."""
    words = name.partition(".")[2].replace("_", ".").split(".")
    title = "".join(word[:1].upper() + word[1:] for word in words)
    fields = {"name": name, "__doc__": doc, "__module__": base.__module__}
    made = type(base)(f"{title}Op", (base,), fields)
    return irdl_op_definition(cast(type[_OpT], made))


def fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result: Attribute,
    properties: Mapping[str, Attribute] | None = None,
) -> None:
    """Construct an operation of single operands and one result.

    IRDL's constructor does so too, in three times the time: it looks for groups of operands.
    """
    Operation.__init__(op, operands=operands, result_types=(result,), properties=properties or {})


def address_space(type: LLVMPointerType) -> int:
    """The address space of a pointer: `!llvm.ptr` is generic."""
    return type.addr_space.data if isinstance(type.addr_space, IntAttr) else GENERIC


def pointer(space: int = GENERIC) -> LLVMPointerType:
    """`!llvm.ptr<space>`, without a number where it is generic."""
    return LLVMPointerType(IntAttr(space)) if space else LLVMPointerType()


def lane(type: Attribute) -> Attribute:
    """The type of the elements of a vector of one dimension; any other type is its own."""
    return vector_lanes(type)[0]


def vector_lanes(type: Attribute) -> tuple[Attribute, int]:
    """The type and number of the elements of a vector of one dimension; any other type is its own, once."""
    if not isinstance(type, VectorType):
        return type, 1
    vector = cast("VectorType[Attribute]", type)
    if vector.get_num_dims() != 1 or vector.get_num_scalable_dims():
        return vector, 1
    return vector.get_element_type(), vector.get_shape()[0]


def is_integer(type: Attribute) -> bool:
    """Whether this is an integer without sign."""
    return SignlessIntegerConstraint.verifies(type)


def is_float(type: Attribute) -> bool:
    """Whether this is one of the floats that devices compute with."""
    return isinstance(type, BFloat16Type | Float16Type | Float32Type | Float64Type)


def is_pointer(type: Attribute) -> bool:
    """Whether this is a pointer."""
    return isinstance(type, LLVMPointerType)


def is_value(type: Attribute) -> bool:
    """Whether values of this type can be kept in memory."""
    if isinstance(type, LLVMStructType):
        return all(map(is_value, type.types))
    if isinstance(type, LLVMArrayType):
        return type.size.data >= 0 and is_value(type.type)
    single = lane(type)
    return is_integer(single) or is_float(single) or is_pointer(single)


@dataclass(frozen=True)
class Fits(AttrConstraint[Attribute]):
    """The types that `fits` admits; messages say `what` they are."""

    fits: Callable[[Attribute], bool]
    what: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.fits(attr):
            raise VerifyException(f"expected {self.what}, but got {attr}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> Fits:
        return self


INTEGER = Fits(lambda t: is_integer(lane(t)), "a signless integer or a vector of them")
FLOAT = Fits(lambda t: is_float(lane(t)), "f16, bf16, f32, f64 or a vector of them")
COMPARABLE = Fits(
    lambda t: is_integer(lane(t)) or is_pointer(lane(t)), "integers, pointers or vectors of them"
)
BITS = Fits(
    lambda t: is_integer(lane(t)) or is_float(lane(t)), "integers, floats or vectors of them"
)
ONE_INTEGER = Fits(is_integer, "a signless integer")
VALUE = Fits(is_value, "a type of llvm that memory can hold")
VECTOR = Fits(lambda t: lane(t) != t and is_value(t), "a vector of one dimension")
POINTER = Fits(is_pointer, "a pointer")
AGGREGATE = Fits(
    lambda t: isinstance(t, LLVMStructType | LLVMArrayType) and is_value(t), "a struct or array"
)


def one_of(*types: Attribute) -> Fits:
    """One of these types."""
    return Fits(lambda type: type in types, " or ".join(map(str, types)))


@dataclass(frozen=True)
class WithBool(AttrConstraint[Attribute]):
    """`!llvm.struct<(T, i1)>` for the type T that the variable `name` holds; a vector T has an i1 for each lane."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr != (expected := self.infer(constraint_context)):
            raise VerifyException(f"expected {expected}, but got {attr}")

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.name in var_constraint_names

    def infer(self, context: InferenceContext) -> Attribute:
        return with_bool(context.get_variable(self.name) or i1)

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> WithBool:
        return self


def with_bool(type: Attribute) -> LLVMStructType:
    """`!llvm.struct<(type, i1)>`, where a vector has an i1 for each lane."""
    return LLVMStructType.from_type_list((type, with_element(type, i1)))


def pointer_in(*spaces: int) -> Fits:
    """A pointer into one of these address spaces."""
    names = " or ".join(str(pointer(space)) for space in spaces)
    return Fits(lambda t: isinstance(t, LLVMPointerType) and address_space(t) in spaces, names)


def element_at(type: Attribute, index: int) -> Attribute:
    """The type of an element of an aggregate. Raises `VerifyException` where there is none."""
    match type:
        case LLVMArrayType():
            return type.type
        case LLVMStructType() if 0 <= index < len(type.types):
            return type.types.data[index]
        case _:
            raise VerifyException(f"index {index} leads to no element of {type}")


def parse_numbers(parser: Parser, limit: int) -> list[int]:
    """Parse `[0, 2]` of numbers from -1 to below `limit`."""

    def number() -> int:
        position = parser.pos
        found = parser.parse_integer(allow_boolean=False)
        if not -1 <= found < limit:
            parser.raise_error(f"expected a number below {limit}", position, parser.pos)
        return found

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, number)


def array_numbers(attribute: Attribute | None) -> tuple[int, ...]:
    """The numbers of an `array<i32: …>` or `array<i64: …>`; none of any other attribute."""
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return tuple(int(one) for one in cast("DenseArrayBase[IntegerType]", attribute).get_values())


def array_i32(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """`array<i32: …>` of these numbers."""
    return DenseArrayBase.from_list(i32, values)


def number_of(attribute: Attribute | None) -> int:
    """The number that an optional property holds, or 0."""
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 0


class Keyword(CustomDirective):
    """A number in a property that is written as the word at its index in `WORDS`."""

    WORDS: ClassVar[tuple[str, ...]]
    QUOTED: ClassVar[bool] = False

    def parse_word(self, parser: Parser) -> IntegerAttr:
        """Parse one of `WORDS`."""
        position = parser.pos
        word = parser.parse_str_literal() if self.QUOTED else parser.parse_identifier()
        if not word or word not in self.WORDS:
            listed = ", ".join(filter(None, self.WORDS))
            parser.raise_error(f"'{word}' is none of {listed}", position, parser.pos)
        return IntegerAttr(self.WORDS.index(word), i64)

    def print_word(self, printer: Printer, state: PrintingState, number: Attribute | None) -> None:
        """Print the word for a number that verifies."""
        state.print_whitespace(printer)
        word = self.WORDS[number_of(number)]
        printer.print_string(f'"{word}"' if self.QUOTED else word)


def check_word(number: Attribute | None, words: Sequence[str], what: str) -> None:
    """Raise unless `number` is the index of one of the words; the empty one stands for none."""
    index = number_of(number)
    if not 0 <= index < len(words) or not words[index]:
        raise VerifyException(f"{index} is no {what}: there are {', '.join(filter(None, words))}")


@irdl_attr_definition
class ConstantRangeAttr(ParametrizedAttribute):
    """`#llvm.constant_range<i32, 0, 1024>`: numbers from the first to below the second."""

    name = "llvm.constant_range"

    lower: IntegerAttr
    upper: IntegerAttr

    def __init__(self, lower: int, upper: int, type: IntegerType = i32):
        super().__init__(IntegerAttr(lower, type), IntegerAttr(upper, type))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            type = parser.parse_type()
            if not isa(type, IntegerType):
                parser.raise_error("expected an integer type", position, parser.pos)
            numbers: list[Attribute] = []
            for _ in range(2):
                parser.parse_punctuation(",")
                numbers.append(IntegerAttr(parser.parse_integer(), type))
        return numbers

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.lower.type)
            printer.print_string(f", {self.lower.value.data}, {self.upper.value.data}")

    def verify(self) -> None:
        if self.lower.type != self.upper.type or not isinstance(self.lower.type, IntegerType):
            raise VerifyException("both ends are integers of one type")


OVERFLOW_FLAGS = {"nsw": 1, "nuw": 2}


@irdl_custom_directive
class Overflow(CustomDirective):
    """`overflow<nsw, nuw>`: the result is poison if it wraps, as signed or unsigned; nothing for neither."""

    flags: AttributeVariable

    def can_parse_empty(self) -> bool:
        return True

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("overflow") is None:
            return
        position = parser.pos
        names = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier)
        if not names or not set(names) <= OVERFLOW_FLAGS.keys():
            parser.raise_error("expected nsw, nuw or both", position)
        value = sum(OVERFLOW_FLAGS[name] for name in set(names))
        self.flags.set(state, IntegerAttr(value, i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        names = overflow_names(self.flags.get(op))
        if names:
            state.print_whitespace(printer)
            printer.print_string(f"overflow<{', '.join(names)}>")


def overflow_names(flags: Attribute | None) -> list[str]:
    """The flags of an operation, `nsw` first."""
    bits = number_of(flags)
    return [name for name, bit in OVERFLOW_FLAGS.items() if bits & bit]
