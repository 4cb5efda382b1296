"""Everything that leans on what xDSL may change between releases.

The rest of the project uses xDSL's documented classes. What this file adds or mends in xDSL 0.75:

- the lexer is linear (a stray quote made the stock one backtrack exponentially) and bounds numbers;
- the parser gives every operation and block argument its `file:line:col` and turns what used to be
  Python exceptions (absurd constants, endless nesting, bytes that are no text, and those that only xDSL's
  own code raises) into `ParseError`s;
- the printer writes type aliases for tensor types that carry a layout;
- `set_type` changes the type of a value in place.
"""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from io import StringIO
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyDenseElement,
    AnyFloat,
    Builtin,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NoneAttr,
    RankedStructure,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.parser.generic_parser import ParserState
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from coconet_ir.diagnostics import said_by_xdsl
from coconet_ir.meant import meant

MAX_DENSE_ELEMENTS = 1 << 20
"""Most elements of a `dense` constant: xDSL keeps and prints each, splats too (4 Mi take 1 s)."""

MAX_DIGITS = 1000
"""Most characters of a number; Python refuses to convert integers of more than 4,300 digits."""

MAX_INTEGER_WIDTH = 1024
"""Widest integer type in bits."""

MAX_ALIAS_SIZE = 1000
"""Most aliases that an alias may stand for, through others: each level could double its text."""

MAX_DIMENSION = (1 << 63) - 1
"""Largest extent of a dimension, as in MLIR."""

_ValueT = TypeVar("_ValueT")


def set_type(value: SSAValue, type: Attribute) -> None:
    """Change the type of `value` in place; its uses see the new type at once."""
    value._type = type  # pyright: ignore[reportPrivateUsage]


class LinearLexer(MLIRLexer):
    """xDSL's lexer without its exponential string rule, with bounded numbers, and faster."""

    # The frequent tokens in one match; all others are left to the stock lexer.
    _frequent_regex = re.compile(
        r"(?:\s++|//[^\n]*+)*+"
        r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*+)"
        r"|((?!#-})[%!#^](?:[0-9]++|[a-zA-Z$._-][a-zA-Z0-9$._-]*+)|[:,()}\[\]<>=+/*?|]))",
        re.ASCII,
    )
    _kinds_by_first_character = MappingProxyType(
        {
            "%": MLIRTokenKind.PERCENT_IDENT,
            "!": MLIRTokenKind.EXCLAMATION_IDENT,
            "#": MLIRTokenKind.HASH_IDENT,
            "^": MLIRTokenKind.CARET_IDENT,
            **{spelling: MLIRTokenKind(spelling) for spelling in ":,()}[]<>=+/*?|"},
        }
    )

    def lex(self) -> MLIRToken:
        match = self._frequent_regex.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex or 0
        start, self.pos = match.span(group)
        if group == 1:
            kind = MLIRTokenKind.BARE_IDENT
        else:
            kind = self._kinds_by_first_character[self.input.content[start]]
        return Token(kind, Span(start, self.pos, self.input))

    # Possessive, so that a literal that is not closed fails at once.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        if self._unescaped_characters_regex.match(self.input.content, start_pos) is None:
            raise ParseError(
                Span(start_pos, start_pos + 1, self.input),
                "string literal is not closed on its line or has an escape other than "
                '\\n, \\t, \\\\, \\" and two hexadecimal digits',
            )
        token = super()._lex_string_literal(start_pos)
        if token.kind == MLIRTokenKind.BYTES_LIT and _is_utf8(StringLiteral.from_span(token.span)):
            return Token(
                MLIRTokenKind.STRING_LIT, token.span
            )  # the printer escapes what is not ASCII
        return token

    def _lex_bare_identifier(self, start_pos: Position) -> MLIRToken:
        letter = self.input.content[self.pos - 1]
        if not letter.isascii():  # the printer would quote it, and the parser not read that
            span = Span(self.pos - 1, self.pos, self.input)
            raise ParseError(span, f"Unexpected character: {letter}")
        return super()._lex_bare_identifier(start_pos)

    def _lex_prefixed_ident(self, start_pos: Position) -> MLIRToken:
        if self._suffix_id.match(self.input.content, self.pos) is None:
            span = Span(start_pos, start_pos + 1, self.input)
            raise ParseError(span, f"expected a name or number after '{span.text}'")
        return super()._lex_prefixed_ident(start_pos)

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_number(start_pos)
        if not token.text.isascii():  # Python calls digits such as '²' numeric
            raise ParseError(token.span, f"Unexpected character: {token.text[0]}")
        if len(token.text) > MAX_DIGITS:
            raise ParseError(
                Span(start_pos, start_pos + 1, self.input),
                f"number of {len(token.text)} characters; the limit is {MAX_DIGITS}",
            )
        return token


def _is_utf8(literal: StringLiteral) -> bool:
    try:
        literal.bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True


class BitsElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a `dense` constant in hexadecimal: for floats its bits, as in MLIR, not a number."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        if self.value.bit_length() > type.bitwidth:
            parser.raise_error("hexadecimal float out of range for its type", self.span)
        return next(type.iter_unpack(self.value.to_bytes(type.compile_time_size, "little")))


class LocatedParser(Parser):
    """xDSL's parser with source locations, and with a `ParseError` for every bad input.

    Operations and block arguments without an explicit `loc(...)` get the `FileLineColLoc` of their
    first token. Lines and columns count from 1, columns in code points.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, "", name)  # the stock lexer must not see the text
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._file = StringAttr(name)
        self._forward_uses: dict[str, Span] = {}
        self._op_names: list[str] = []  # of the operations being parsed, outermost first
        self._alias_sizes: dict[str, int] = {}
        self._aliases_seen = 0
        self._parser_state = ParserState(LinearLexer(Input(text, name)))

    # Locations

    def _location(self, pos: Position) -> FileLineColLoc:
        line = bisect_right(self._line_starts, pos)
        column = pos - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def parse_operation(self) -> Operation:
        start = self._current_token.span
        depth = len(self._op_names)
        try:
            op = super().parse_operation()
        except VerifyException as error:  # a format checks the types it infers others from
            self.raise_error(f"'{self._op_names[depth]}' op {error}", start)
        except Exception as error:
            self._refuse(error, start)
        del self._op_names[depth:]
        if op.location is UNKNOWN_LOC:
            op.location = self._location(start.start)
        return op

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument) and value.location is UNKNOWN_LOC:
                value.location = self._location(span.start)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            module = super().parse_module(allow_implicit_module)
        except RecursionError:
            self.raise_error("too deeply nested to be parsed")
        except ParseError as error:
            raise self._explain(error) from None
        if module.location is UNKNOWN_LOC:
            module.location = self._location(0)
        return module

    # Messages that name what is wrong, at the place where it is

    def _explain(self, error: ParseError) -> ParseError:
        if error.msg == "Could not parse entire input!":
            at_end = self._current_token.kind == MLIRTokenKind.EOF
            found = "the input holds no operation" if at_end else self._found("an operation")
            return ParseError(error.span, found)
        if error.msg.startswith("values used but not defined"):
            name = next(iter(self.forward_ssa_references))
            return ParseError(self._forward_uses[name], f"%{name} is used but never defined")
        return error

    def _found(self, expected: str) -> str:
        token = self._current_token
        if token.kind == MLIRTokenKind.EOF:
            return f"expected {expected}, found the end of the input"
        return f"expected {expected}, found '{token.text[:40]}'"

    def _just_parsed(self, text: str) -> Span:
        """The span of `text`, the last token before the current one, in quotes or not."""
        content = self.lexer.input.content
        start = content.rfind(text, 0, self.pos)
        quotes = int(content[start - 1 : start] == '"')
        return Span(start - quotes, start + len(text) + quotes, self.lexer.input)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            self._op_names.append(op_type.name)
            return op_type
        known = [op.name for op in self.ctx.loaded_ops] if len(name) < 100 else []
        hint = "".join(f"; did you mean '{n}'?" for n in meant(name, known))
        self.raise_error(f"operation '{name}' is not registered{hint}", self._just_parsed(name))

    def _parse_block(self) -> Block:
        if self._current_token.kind != MLIRTokenKind.CARET_IDENT:
            self.raise_error(self._found("an operation, a block label or '}'"))
        self._check_label()
        label = self._current_token.span
        block = super()._parse_block()
        self.blocks[label.text[1:]] = (block, label)  # stock xDSL forgets where it stands
        return block

    def parse_optional_successor(self) -> Block | None:
        self._check_label()
        return super().parse_optional_successor()

    def _check_label(self) -> None:
        """Refuse the labels that xDSL cannot keep, if the current token is one."""
        token = self._current_token
        if token.kind == MLIRTokenKind.CARET_IDENT and not Block.is_valid_name(token.text[1:]):
            self.raise_error(f"block label '{token.text}' must not start with a digit", token.span)

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._forward_uses.setdefault(operand.operand_name, operand.span)
        return value

    # What a value or attribute cannot hold

    def _guarded(self, parse: Callable[[], _ValueT]) -> _ValueT:
        """Run `parse`; what is wrong with the attribute it reads is an error at its first token."""
        start = self._current_token.span
        try:
            return parse()
        except VerifyException as error:
            self.raise_error(str(error), start)
        except (OverflowError, struct.error):
            self.raise_error("number out of range for its type", start)
        except UnicodeDecodeError:
            self.raise_error("string is not valid UTF-8", start)
        except ZeroDivisionError:
            self.raise_error("affine expression divides by zero", start)
        except ParseError as error:
            # Stock xDSL points at the token after an unknown name.
            unknown = error.msg.endswith("is not registered") or "undefined symbol" in error.msg
            if unknown and error.span.start == self.pos:
                self.raise_error(error.msg, start)
            raise
        except Exception as error:
            self._refuse(error, start)

    def _refuse(self, error: Exception, span: Span) -> NoReturn:
        """Raise what reading the text at `span` raised, as a `ParseError` if it is a plain exception of xDSL's."""
        if (said := said_by_xdsl(error)) is None:
            raise error
        raise ParseError(span, said) from error

    def parse_optional_attribute(self) -> Attribute | None:
        return self._guarded(super().parse_optional_attribute)

    def parse_optional_type(self) -> TypeAttribute | None:
        return self._guarded(super().parse_optional_type)

    def _parse_alias_def(self) -> None:
        token = self._current_token
        before = self._aliases_seen
        super()._parse_alias_def()
        size = 1 + self._aliases_seen - before
        if size > MAX_ALIAS_SIZE:
            self.raise_error(f"alias expands to more than {MAX_ALIAS_SIZE} aliases", token.span)
        self._alias_sizes[token.text] = size

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        alias = ("!" if is_type else "#") + attr_or_dialect_name
        self._aliases_seen += self._alias_sizes.get(alias, 0)
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}

        def entry() -> None:
            span = self._current_token.span
            name, attribute = self._parse_attribute_entry()
            if name in found:  # stock xDSL points at the token behind the dictionary
                self.raise_error(f"'{name}' is given twice", span)
            found[name] = attribute

        self.parse_optional_comma_separated_list(self.Delimiter.BRACES, entry)
        return found

    def parse_optional_symbol_name(self) -> StringAttr | None:
        return self._guarded(super().parse_optional_symbol_name)

    def parse_optional_integer(
        self, allow_boolean: bool = True, allow_negative: bool = True
    ) -> int | None:
        span = self._current_token.span
        value = super().parse_optional_integer(allow_boolean, allow_negative)
        if value is not None and not -(1 << 63) <= value < 1 << 64:
            self.raise_error("integer does not fit into 64 bits", span)
        return value

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        span = self._current_token.span
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MAX_DIMENSION:
            self.raise_error(f"dimension is larger than {MAX_DIMENSION}", span)
        return size

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        match = self._builtin_integer_type_regex.match(token.text)
        if match is not None and not (
            len(match[1]) <= 4 and 1 <= int(match[1]) <= MAX_INTEGER_WIDTH
        ):
            self.raise_error(f"integer types are 1 to {MAX_INTEGER_WIDTH} bits wide", token.span)
        return super()._parse_optional_integer_or_float_type()

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        hexadecimal = self._current_token.text[:2] in ("0x", "0X")
        element = super()._parse_tensor_literal_element()
        if not hexadecimal:
            return element
        return BitsElement(element.is_negative, element.value, element.span)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        if type is not None:
            self._check_dense_size(type, self._current_token.span)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_dense_literal_type(self) -> RankedStructure[Any]:
        start = self._current_token.span
        type = super()._parse_dense_literal_type()
        self._check_dense_size(type, start)
        return type

    def _check_dense_size(self, type: RankedStructure[Any], span: Span) -> None:
        if isinstance(type.element_type, ComplexType):
            self.raise_error("dense constants of complex numbers are not supported", span)
        elements = math.prod(type.get_shape())
        if elements > MAX_DENSE_ELEMENTS:
            count = f"{elements:,}" if elements <= MAX_DIMENSION else f"more than {MAX_DIMENSION:,}"
            self.raise_error(
                f"dense constant of {count} elements; the limit is {MAX_DENSE_ELEMENTS:,} "
                "(spread a scalar constant with tensor.splat instead)",
                span,
            )

    def _parse_external_resources(self) -> NoReturn:
        self.raise_error("external resources are not supported, only dialect resources")


class AliasPrinter(Printer):
    """xDSL's printer with aliases for tensor types that have an encoding and occur more than once.

    An alias is named after the element type and the encoding (`!f32_dp_sliced_0`); types that would
    share a name carry their shape too (`!t8xf32_dp_sliced_0`, `n` for `?`), so that a name depends
    on the types in the module alone, not on their order.
    """

    def __init__(self, *, generic: bool, debuginfo: bool) -> None:
        super().__init__(StringIO(), print_generic_format=generic, print_debuginfo=debuginfo)
        self._pieces: list[str] = []
        self._slots: dict[TensorType, list[int]] = {}  # where each type goes in the pieces

    def _write(self, content: str) -> None:
        self._pieces.append(content)

    def print_attribute(self, attribute: Attribute) -> None:
        if _has_encoding(attribute):
            self._slots.setdefault(cast(TensorType, attribute), []).append(len(self._pieces))
            self._pieces.append("")
        else:
            super().print_attribute(attribute)

    def text(self) -> str:
        """What was printed, with the definitions of its aliases first."""
        spelling = {type: str(type) for type in self._slots}
        aliases = _alias_names([type for type, slots in self._slots.items() if len(slots) > 1])
        for type, slots in self._slots.items():
            for slot in slots:
                self._pieces[slot] = aliases.get(type, spelling[type])
        header = [f"{name} = {spelling[type]}\n" for type, name in aliases.items()]
        return "".join((*header, *self._pieces))


def _has_encoding(attribute: Attribute) -> bool:
    return isinstance(attribute, TensorType) and not isinstance(attribute.encoding, NoneAttr)


def _alias_names(types: Sequence[TensorType]) -> dict[TensorType, str]:
    """A distinct alias for each of the types, in their order."""
    short = {type: f"{_words(type.element_type)}_{_words(type.encoding)}" for type in types}
    shared = Counter(short.values())
    names: dict[TensorType, str] = {}
    taken: set[str] = set()
    for type, name in short.items():
        if shared[name] > 1:
            shape = "x".join("n" if size < 0 else str(size) for size in type.get_shape())
            name = f"t{shape}x{name}" if shape else f"t{name}"
        while name in taken:  # only where words drop what tells two encodings apart
            name += "_"
        taken.add(name)
        names[type] = f"!{name}"
    return names


def _words(attribute: Attribute) -> str:
    """The words in an attribute's text: `#layout.dist<dp = sliced(0)>` is `dp_sliced_0`."""
    text = re.sub(r"^[!#][\w.]*<(.*)>$", r"\1", str(attribute))
    return "_".join(re.findall(r"[A-Za-z0-9]+", text)) or "none"


def print_module(
    module: ModuleOp, *, generic: bool = False, aliases: bool = True, debuginfo: bool = False
) -> str:
    """The module as text, ending in a newline.

    `generic` prints every operation in MLIR's generic form, `aliases` names repeated tensor types
    that carry a layout, `debuginfo` prints locations.
    """
    if aliases:
        printer = AliasPrinter(generic=generic, debuginfo=debuginfo)
        _print(printer, module)
        return printer.text()
    stream = StringIO()
    _print(Printer(stream, print_generic_format=generic, print_debuginfo=debuginfo), module)
    return stream.getvalue()


def _print(printer: Printer, module: ModuleOp) -> None:
    printer.print_op(module)
    printer.print_metadata([Builtin])
    printer.print_string("\n")
