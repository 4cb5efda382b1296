"""Attributes that the dialects share: layouts of tensors, axes, reductions, rules.

Each prints inside `<…>`, so that upstream's parser reads it as an attribute of a dialect it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import (
    REPLICATED,
    Cut,
    Dist,
    Kind,
    LayoutError,
    Local,
    Partial,
    Root,
    State,
)
from coconet_ir.analysis.notation import Pattern, parse_pattern


class Order(StrEnum):
    """In which order a reducing collective adds (design, section 5)."""

    ANY = "any"
    RANKS = "ranks"


@irdl_attr_definition
class DistAttr(Data[Dist]):
    """`#layout.dist<tp = sliced(1), pp = local>`: the encoding of a tensor that is not replicated."""

    name = "layout.dist"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Dist:
        position = parser.pos
        cuts: list[Cut] = []
        states: list[tuple[str, State]] = []
        order: list[str] = []

        def entry() -> None:
            axes = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_identifier
            )
            if axes is not None and len(axes) < 2:
                parser.raise_error("one axis is written without brackets: `tp = sliced(0)`")
            names = axes or [parser.parse_identifier()]
            parser.parse_punctuation("=", " after the axis of a layout")
            state = _parse_state(parser, tuple(names))
            if isinstance(state, Cut):
                cuts.append(state)
            elif len(names) > 1:
                parser.raise_error("a list of axes is only for `sliced`; write one entry an axis")
            else:
                states.append((names[0], state))
            order.append(names[0])

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        if not order:
            parser.raise_error("an empty layout is written by leaving the encoding out", position)
        try:
            dist = Dist.of(cuts, states)
        except LayoutError as error:
            parser.raise_error(str(error), position)
        if order != sorted(order):
            parser.raise_error(f"entries are sorted by axis: write #layout.dist{dist}", position)
        return dist

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))

    def verify(self) -> None:
        if not self.data:
            raise VerifyException("an empty layout is written by leaving the encoding out")
        if (problem := self.data.problem()) is not None:
            raise VerifyException(problem)
        if Dist.of(self.data.cuts, self.data.states) != self.data:
            raise VerifyException(f"layout {self.data} is not in canonical order")

    def verify_rank(self, rank: int) -> str | None:
        """What is wrong with this layout for a tensor of `rank` dimensions, or None."""
        return self.data.problem(rank)


def _parse_state(parser: AttrParser, axes: tuple[str, ...]) -> Cut | State:
    word = parser.parse_identifier()
    if word == "local":
        return Local()
    if word not in ("sliced", "partial", "root"):
        parser.raise_error(
            f"'{word}' is no state of an axis: expected sliced(dim), local, partial(sum|prod|max|min) or "
            "root(coordinate); a replicated axis is not named"
        )
    with parser.in_parens():
        if word == "partial":
            return Partial(parse_kind(parser))
        number = parse_natural(parser)
        if word == "root":
            return Root(number)
        unit = 1
        if parser.parse_optional_punctuation(",") is not None:
            unit = parse_natural(parser)
            if unit == 1:
                parser.raise_error(f"unit 1 is not written: `sliced({number})`")
        return Cut(axes, number, unit)


def parse_natural(parser: AttrParser) -> int:
    """Parse a number of at least 0."""
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is None:
        parser.raise_error("expected a number of at least 0")
    return number


def parse_kind(parser: AttrParser) -> Kind:
    """Parse a reduction by its word. Raises a parse error that lists them."""
    word = parser.parse_optional_identifier()
    if word is None or word not in Kind.__members__.values():
        parser.raise_error(f"expected a reduction: {', '.join(Kind)}")
    return Kind(word)


def as_tensor(type: Attribute) -> TensorType[Attribute] | None:
    """The type if it is a tensor's, else None."""
    # Not isinstance: its answer for other types is slow, since attributes are abstract base classes.
    return cast(TensorType[Attribute], type) if type.__class__ is TensorType else None


def dist_of(type: Attribute) -> Dist:
    """The layout of a value of this type; that of a scalar or an un-encoded tensor is replicated."""
    if (tensor := as_tensor(type)) is not None and tensor.encoding.__class__ is DistAttr:
        return cast(DistAttr, tensor.encoding).data
    return REPLICATED


def sizes_of(type: Attribute) -> tuple[int, ...]:
    """The extents of a tensor type, `DYNAMIC_INDEX` where not static; none for any other type."""
    return () if (tensor := as_tensor(type)) is None else tensor.get_shape()


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """The same tensor type with another element type; `element` itself for a scalar."""
    if (tensor := as_tensor(type)) is None:
        return element
    return TensorType(element, tensor.shape, tensor.encoding)


@lru_cache(maxsize=4096)
def with_dist(type: Attribute, dist: Dist) -> Attribute:
    """The same tensor type with another layout; a type that is no tensor is returned as it is."""
    if (tensor := as_tensor(type)) is None:
        return type
    encoding = DistAttr(dist) if dist else NoneAttr()
    return TensorType(tensor.element_type, tensor.shape, encoding)


@irdl_attr_definition
class AxesAttr(Data[tuple[str, ...]]):
    """`#coll.axes<dp, tp>`: the mesh axes an operation works over, outer first."""

    name = "coll.axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        names = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier)
        return tuple(names)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(self.data)}>")

    def verify(self) -> None:
        if not self.data:
            raise VerifyException("the list of axes is empty: name at least one axis of the mesh")
        if len(set(self.data)) != len(self.data):
            raise VerifyException(f"an axis is named twice in [{', '.join(self.data)}]")


@irdl_attr_definition
class KindAttr(Data[Kind]):
    """`#coll.kind<sum>`: a reduction."""

    name = "coll.kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Kind:
        with parser.in_angle_brackets():
            return parse_kind(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class OrderAttr(Data[Order]):
    """`#coll.order<ranks>`: the order of a collective's additions."""

    name = "coll.order"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Order:
        with parser.in_angle_brackets():
            word = parser.parse_identifier()
            if word not in Order.__members__.values():
                parser.raise_error(f"expected an order: {', '.join(Order)}")
            return Order(word)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class RuleAttr(Data[Pattern]):
    """`#comp.rule<[m, k] [k, n] -> [m, n], k = reduction(sum)>`: a dimension rule as written."""

    name = "comp.rule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Pattern:
        with parser.in_angle_brackets():
            return parse_pattern(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def axes_text(axes: Sequence[str]) -> str:
    """`[dp, tp]`, as the text of an operation names its axes."""
    return f"[{', '.join(axes)}]"
