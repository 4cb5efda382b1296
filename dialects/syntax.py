"""Pieces of custom syntax that several operations share: `over [tp]`, `sum`, `root 0`, `dims [0, 2]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import I64, DenseArrayBase, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.attributes import AxesAttr, KindAttr, axes_text, parse_kind, parse_natural


def integers(values: Sequence[int]) -> DenseArrayBase[I64]:
    """`array<i64: …>` of these numbers."""
    return DenseArrayBase.from_list(i64, values)


def numbers(attribute: Attribute) -> tuple[int, ...]:
    """The numbers of an `array<i64: …>`; none of any other attribute."""
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return cast(DenseArrayBase[I64], attribute).get_values()


def parse_axes(parser: Parser) -> AxesAttr:
    """Parse `[dp, tp]`."""
    position = parser.pos
    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
    try:
        return AxesAttr(tuple(names))
    except VerifyException as error:
        parser.raise_error(str(error), position)


def parse_integers(parser: Parser) -> DenseArrayBase[I64]:
    """Parse `[0, 2]` of non-negative numbers."""
    return integers(
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_natural(parser))
    )


def _word(printer: Printer, state: PrintingState, text: str) -> None:
    state.print_whitespace(printer)
    printer.print_string(text)
    state.last_was_punctuation = False
    state.should_emit_space = True


@irdl_custom_directive
class Over(CustomDirective):
    """`over [tp]`."""

    axes: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_keyword("over")
        self.axes.set(state, parse_axes(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        axes = self.axes.get(op)
        if isinstance(axes, AxesAttr):
            _word(printer, state, f"over {axes_text(axes.data)}")


@irdl_custom_directive
class KindWord(CustomDirective):
    """`sum`, `prod`, `max`, `min` or `avg`."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.kind.set(state, KindAttr(parse_kind(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        kind = self.kind.get(op)
        if isinstance(kind, KindAttr):
            _word(printer, state, kind.data)


@irdl_custom_directive
class Roots(CustomDirective):
    """`root 0`, or `root [0, 1]` for several axes."""

    roots: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_keyword("root")
        self.roots.set(state, _parse_roots(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_roots(self.roots, printer, state, op)


@irdl_custom_directive
class MaybeRoots(CustomDirective):
    """`root 0` or nothing."""

    roots: AttributeVariable

    def can_parse_empty(self) -> bool:
        return True

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("root") is not None:
            self.roots.set(state, _parse_roots(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_roots(self.roots, printer, state, op)


def _parse_roots(parser: Parser) -> DenseArrayBase[I64]:
    several = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_natural(parser)
    )
    return integers([parse_natural(parser)] if several is None else several)


def _print_roots(
    roots: AttributeVariable, printer: Printer, state: PrintingState, op: IRDLOperation
) -> None:
    if (value := roots.get(op)) is not None:
        found = numbers(value)
        text = str(found[0]) if len(found) == 1 else f"[{', '.join(map(str, found))}]"
        _word(printer, state, f"root {text}")


@irdl_custom_directive
class Dims(CustomDirective):
    """`dims [0, 2]`."""

    dims: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_keyword("dims")
        self.dims.set(state, parse_integers(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_list("dims", self.dims, printer, state, op)


@irdl_custom_directive
class MaybeDims(CustomDirective):
    """`dims [0, 2]`, or nothing for all dimensions."""

    dims: AttributeVariable

    def can_parse_empty(self) -> bool:
        return True

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("dims") is not None:
            self.dims.set(state, parse_integers(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_list("dims", self.dims, printer, state, op)


@irdl_custom_directive
class Permutation(CustomDirective):
    """`perm [0, 2, 1]`."""

    permutation: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_keyword("perm")
        self.permutation.set(state, parse_integers(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_list("perm", self.permutation, printer, state, op)


def _print_list(
    word: str, values: AttributeVariable, printer: Printer, state: PrintingState, op: IRDLOperation
) -> None:
    if (value := values.get(op)) is not None:
        _word(printer, state, f"{word} [{', '.join(map(str, numbers(value)))}]")
