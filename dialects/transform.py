"""Upstream MLIR's `transform` with the steps of a schedule, whose operands are handles to operations of a program.

A handle stands for at most one operation of each function. xDSL's operations and ours, `transform.coconet.*`;
of these `transform.named_sequence`, `transform.yield` and ours make a schedule (`coconet_ir.schedule.script`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self, cast

from typing_extensions import TypeVar
from xdsl.dialects import transform
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.transform import AnyOpType
from xdsl.ir import Attribute, BlockArgument, Dialect, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IntConstraint,
    IRDLOperation,
    VerificationContext,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from coconet_ir.schedule import MAX_NUMBER

PREFIX = "transform.coconet."
"""What the names of steps begin with."""

HANDLE = AnyOpType()
"""The type of every handle."""


@dataclass(frozen=True)
class Option(AttrConstraint[Attribute]):
    """What an option takes, for xDSL, whose own constraints do not know the name of what they are about."""

    option: str
    takes: str
    fits: Callable[[Attribute], bool]
    called: str | None = None
    """What it takes in Python, where that differs."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.fits(attr):
            raise VerifyException(f"option '{self.option}' takes {self.takes}, not {_shown(attr)}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttrConstraint[Attribute]:
        return self


def _number(option: str) -> Option:
    return Option(option, "a number of at most 2^62 as i64", _is_number)


def _numbers(option: str) -> Option:
    return Option(option, "numbers, as in [0, 1]", lambda attr: _is_list(attr, _is_number))


def _name(option: str) -> Option:
    return Option(option, 'a name, as in "x"', _is_name)


def _names(option: str) -> Option:
    return Option(option, 'names, as in ["x", "y"]', lambda attr: _is_list(attr, _is_name))


def _flag(option: str) -> Option:
    takes = "no value: write it alone, or leave it out"
    return Option(option, takes, lambda attr: attr == UnitAttr(), "True or False")


def _word(option: str, *words: str) -> Option:
    listed = " or ".join(f'"{word}"' for word in words)
    return Option(option, listed, lambda attr: isinstance(attr, StringAttr) and attr.data in words)


def _is_number(attr: Attribute) -> bool:
    return isa(attr, IntegerAttr) and attr.type == i64 and abs(attr.value.data) <= MAX_NUMBER


def _is_name(attr: Attribute) -> bool:
    return isinstance(attr, StringAttr) and attr.data != ""


def _is_list(attr: Attribute, fits: Callable[[Attribute], bool]) -> bool:
    return isa(attr, ArrayAttr) and len(attr.data) > 0 and all(map(fits, attr.data))


def option_value(attr: Attribute) -> Any:
    """The value of an option in Python: a number, a text, a tuple of these, or True for a flag."""
    match attr:
        case IntegerAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case ArrayAttr():
            return tuple(map(option_value, attr.data))
        case _:
            return True


def option_attribute(value: object) -> Attribute:
    """The attribute for the value of an option, the inverse of `option_value`. Raises `TypeError`."""
    match value:
        case True:
            return UnitAttr()
        case int() if value is not False:
            return IntegerAttr(value, i64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            return ArrayAttr([option_attribute(one) for one in cast(Sequence[object], value)])
        case _:
            raise TypeError(
                f"an option takes numbers, texts, lists of these or True, not {value!r}"
            )


def _spelled(value: object) -> str:
    """A value from Python in a message, texts as schedules have them."""
    try:
        return repr(value) if isinstance(value, bool) else _shown(option_attribute(value))
    except (TypeError, VerifyException):
        return repr(value)


def _shown(attr: Attribute) -> str:
    """The attribute as the text of a schedule has it: numbers without their type."""
    if isa(attr, IntegerAttr) and attr.type == i64:
        return str(attr.value.data)
    if isa(attr, ArrayAttr):
        return f"[{', '.join(map(_shown, attr.data))}]"
    return str(attr)


class Step(IRDLOperation, ABC):
    """Something a schedule does: `%a, %b as "name" {option = 1}`. Its properties are its options.

    They have the names of the options of the pass that does the same.
    """

    @property
    def options(self) -> dict[str, Any]:
        """The options that are given, as Python values."""
        return {name: option_value(attr) for name, attr in self.properties.items()}

    @classmethod
    def word(cls) -> str:
        """What the step does, in a word: `split`."""
        return cls.name.removeprefix(PREFIX)

    @property
    def is_on_program(self) -> bool:
        """Whether the operand is the program, the argument of the schedule, not handles to operations."""
        return any(isinstance(operand, BlockArgument) for operand in self.operands)

    @classmethod
    def given(cls, options: Mapping[str, object]) -> dict[str, Attribute]:
        """The properties for options in Python, of which None, and False for a flag, say nothing.

        Raises `VerifyException` for a value that an option does not take.
        """
        found: dict[str, Attribute] = {}
        for name, value in options.items():
            constraint = cast(Option, cls.get_irdl_definition().properties[name].constr)
            if value is None or (value is False and constraint.fits(UnitAttr())):
                continue
            try:
                attribute = option_attribute(value)
            except (TypeError, VerifyException):  # of another kind, or a number beyond i64
                attribute = None
            if attribute is None or not constraint.fits(attribute):
                takes = constraint.called or constraint.takes
                raise VerifyException(f"option '{name}' takes {takes}, not {_spelled(value)}")
            found[name] = attribute
        return found

    @classmethod
    def count_results(cls, operands: Sequence[SSAValue]) -> int:
        """How many handles the step gives for these operands."""
        return len(cls.get_irdl_definition().results)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if (first := parser.parse_optional_unresolved_operand()) is None:
            _fail_behind(parser, cls.name, f"expected a handle, as in {cls.name} %a")
        handles = [first]
        while parser.parse_optional_punctuation(",") is not None:
            handles.append(parser.parse_unresolved_operand())
        named = parser.parse_str_literal() if parser.parse_optional_keyword("as") else None
        return cls._with_options(parser, handles, "named", named)

    @classmethod
    def _with_options(
        cls, parser: Parser, handles: Sequence[UnresolvedOperand], option: str, value: str | None
    ) -> Self:
        """The step with the options that follow in braces, and one that stood before them unless it is None."""
        definition, position = cls.get_irdl_definition(), parser.pos
        given = parser.parse_optional_attr_dict()
        if value is not None:
            if option in given:
                parser.raise_error(f"option '{option}' is given twice", position)
            given = {option: StringAttr(value), **given}
        known = definition.properties
        cls._check_end(parser)
        operands = [parser.resolve_operand(handle, HANDLE) for handle in handles]
        return cls.create(
            operands=operands,
            result_types=[HANDLE] * cls.count_results(operands),
            properties={name: attr for name, attr in given.items() if name in known},
            attributes={name: attr for name, attr in given.items() if name not in known},
        )

    @classmethod
    def _check_end(cls, parser: Parser) -> None:
        """Say what is wrong with what stands behind a step where others would stand."""
        position = parser.pos
        if parser.parse_optional_punctuation("(") is not None:
            parser.raise_error("options stand in braces: {dim = 0}", position, position + 1)
        if parser.parse_optional_punctuation(":") is not None:
            parser.raise_error("handles have one type, which is left out", position, position + 1)
        for name in cls.get_irdl_definition().properties:
            if parser.parse_optional_keyword(name) is not None:
                end = position + len(name)
                parser.raise_error(f"options stand in braces: {{{name}}}", position, end)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        if (named := self.properties.get("named")) is not None:
            printer.print_string(" as ")
            printer.print_attribute(named)
        self._print_options(printer, "named")

    def _print_options(self, printer: Printer, printed: str) -> None:
        """Print the options but the one that stands before the braces."""
        order = [*self.get_irdl_definition().properties, *self.attributes]
        given = {**self.properties, **self.attributes}
        shown = [(name, given[name]) for name in order if name in given and name != printed]
        if shown:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(shown, lambda option: _print_option(printer, *option))

    def verify_(self) -> None:
        if not self.operands:
            raise VerifyException("takes at least one handle")
        for name in self.attributes:
            if "." not in name:
                known = ", ".join(self.get_irdl_definition().properties) or "none"
                raise VerifyException(f"has no option '{name}'; it has {known}")


def _fail_behind(parser: Parser, text: str, message: str) -> NoReturn:
    """Raise `ParseError` at `text`, which was just parsed: what should follow may be missing at the end of a line."""
    start = parser.lexer.input.content.rfind(text, 0, parser.pos)
    if start < 0:  # written in another way
        parser.raise_error(message)
    parser.raise_error(message, start, start + len(text))


def _print_option(printer: Printer, name: str, attr: Attribute) -> None:
    printer.print_identifier_or_string_literal(name)
    if attr != UnitAttr():
        printer.print_string(f" = {_shown(attr)}")


@irdl_op_definition
class NamedOp(Step):
    """`%a = transform.coconet.named "avg" in %program {func = "adam"}`: the operation of that name in every
    function that has one, or in one function.
    """

    name = "transform.coconet.named"

    program = operand_def(HANDLE)
    op = prop_def(_name("op"))
    func = opt_prop_def(_name("func"))
    result = result_def(HANDLE)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = parser.parse_str_literal()
        if parser.parse_optional_keyword("in") is None:
            _fail_behind(
                parser, f'"{op}"', f'expected the program behind the name: "{op}" in %program'
            )
        return cls._with_options(parser, [parser.parse_unresolved_operand()], "op", op)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.op)
        printer.print_string(" in ")
        printer.print_operand(self.program)
        self._print_options(printer, "op")


@irdl_op_definition
class SplitOp(Step):
    """`%a_rs, %a_ag = transform.coconet.split %a {dim = 0}`: what `coconet-split` does; the results stand for the
    halves, the handle `%a` for nothing any more.
    """

    name = "transform.coconet.split"

    target = operand_def(HANDLE)
    dim = opt_prop_def(_number("dim"))
    unit = opt_prop_def(_number("unit"))
    axes = opt_prop_def(_names("axes"))
    into = opt_prop_def(_word("into", "rs-ag", "reduce-broadcast"))
    root = opt_prop_def(_numbers("root"))
    first = result_def(HANDLE)
    last = result_def(HANDLE)


@irdl_op_definition
class SliceOp(Step):
    """`%a_slice, %a_ag = transform.coconet.slice %a {over = ["dp"], dim = 0}`: what `coconet-slice` does; the
    results stand for the slice and the gather of it, and `%a` still for the operation. Of an argument:
    `slice %program {arg = "w", over = ["dp"]}`.
    """

    name = "transform.coconet.slice"

    target = operand_def(HANDLE)
    over = opt_prop_def(_names("over"))
    arg = opt_prop_def(_name("arg"))
    dim = opt_prop_def(_number("dim"))
    unit = opt_prop_def(_number("unit"))
    func = opt_prop_def(_name("func"))
    part = result_def(HANDLE)
    gather = result_def(HANDLE)

    def verify_(self) -> None:
        super().verify_()
        if self.over is None:
            raise VerifyException('needs the option over, the axes to slice over: over = ["dp"]')
        if self.func is not None and self.arg is None:
            raise VerifyException(
                "option 'func' goes with 'arg': handles stand for operations of their functions"
            )


@irdl_op_definition
class ReorderOp(Step):
    """`transform.coconet.reorder %a_ag {ops = ["x", "y"], allow_more_bytes}`: what `coconet-reorder` does; the
    handle stands for nothing any more.
    """

    name = "transform.coconet.reorder"

    target = operand_def(HANDLE)
    ops = opt_prop_def(_names("ops"))
    allow_more_bytes = opt_prop_def(_flag("allow_more_bytes"))


@irdl_op_definition
class SliceStateOp(Step):
    """`transform.coconet.slice_state %program {args = ["m", "v"]}`: what `coconet-slice-state` does."""

    name = "transform.coconet.slice_state"

    program = operand_def(HANDLE)
    args = opt_prop_def(_names("args"))
    func = opt_prop_def(_name("func"))


class RegionStep(Step, ABC):
    """A step that puts operations into a region, for which its result stands."""

    targets = var_operand_def(HANDLE)
    named = opt_prop_def(_name("named"))


@irdl_op_definition
class FuseOp(RegionStep):
    """`%f = transform.coconet.fuse %a, %b as "f" {between}`: what `coconet-fuse` does; the result stands for the
    `coll.fused`, and `%a` and `%b` for nothing any more.
    """

    name = "transform.coconet.fuse"

    between = opt_prop_def(_flag("between"))
    region = result_def(HANDLE)


@irdl_op_definition
class OverlapOp(RegionStep):
    """`%o = transform.coconet.overlap %a, %b as "o" {dim = 1, chunks = 8}`: what `coconet-overlap` does; the
    result stands for the `coll.overlap`, and `%a` and `%b` for nothing any more.
    """

    name = "transform.coconet.overlap"

    dim = opt_prop_def(_number("dim"))
    chunks = opt_prop_def(_number("chunks"))
    between = opt_prop_def(_flag("between"))
    region = result_def(HANDLE)


@irdl_op_definition
class CombineOp(RegionStep):
    """`%g = transform.coconet.combine %a, %b as "g"`: what `coconet-combine` does; the result stands for the
    `coll.group`, and `%a` and `%b` for nothing any more. `combine %program` combines all that can be and gives no
    handle; with `{func = "f"}` in one function.
    """

    name = "transform.coconet.combine"

    func = opt_prop_def(_name("func"))
    region = opt_result_def(HANDLE)

    @classmethod
    def count_results(cls, operands: Sequence[SSAValue]) -> int:
        return 0 if any(isinstance(operand, BlockArgument) for operand in operands) else 1

    def verify_(self) -> None:
        super().verify_()
        if len(self.results) != self.count_results(self.operands):
            raise VerifyException(
                "gives a handle to the group of what it takes, and none where it takes the program"
            )
        if self.is_on_program and self.named is not None:
            raise VerifyException("makes any number of groups: leave the name out")
        _check_func(self)


@irdl_op_definition
class InlineOp(Step):
    """`transform.coconet.inline %f`: what `coconet-inline-schedule` does; the handle stands for nothing any more.
    `inline %program` inlines all regions; with `{func = "f"}` those of one function.
    """

    name = "transform.coconet.inline"

    target = operand_def(HANDLE)
    func = opt_prop_def(_name("func"))

    def verify_(self) -> None:
        super().verify_()
        _check_func(self)


def _check_func(step: CombineOp | InlineOp) -> None:
    """Raise `VerifyException` for a function that is named beside handles."""
    if step.func is not None and not step.is_on_program:
        raise VerifyException(
            "option 'func' goes with the program: handles stand for operations of their functions"
        )


STEPS: tuple[type[Step], ...] = (
    NamedOp,
    SplitOp,
    SliceOp,
    ReorderOp,
    SliceStateOp,
    FuseOp,
    OverlapOp,
    CombineOp,
    InlineOp,
)
"""What a schedule is made of."""

CONSUMING = (SplitOp, ReorderOp, FuseOp, OverlapOp, CombineOp, InlineOp)
"""The steps whose handles to operations stand for nothing any more."""

Transform = Dialect(
    "transform",
    [*transform.Transform.operations, *STEPS],
    [*transform.Transform.attributes],
)
"""`transform` with the steps of schedules."""
