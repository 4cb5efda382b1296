"""`comp.reshape`: dimensions split and merged by name, `[b, s, (h d)] -> [b, s, h, d]`."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
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
from xdsl.traits import Pure

from coconet_ir.analysis.notation import (
    ANY_REDUCTION,
    Pattern,
    Rule,
    RuleError,
    Shape,
    parse_pattern,
)
from coconet_ir.analysis.rules import OWN_RULE
from coconet_ir.dialects.attributes import RuleAttr, sizes_of
from coconet_ir.dialects.elements import require_same_elements

Sizes = tuple[int | None, ...]
"""The extents of a tensor, None where not static."""


@irdl_custom_directive
class Names(CustomDirective):
    """`[b, s, (h d)] -> [b, s, h, d]`."""

    pattern: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.pattern.set(state, RuleAttr(parse_pattern(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        pattern = self.pattern.get(op)
        if isinstance(pattern, RuleAttr):
            state.print_whitespace(printer)
            printer.print_string(str(pattern.data))
            state.last_was_punctuation = False
            state.should_emit_space = True


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements in the same row-major order under other dimensions, whose names say which belong together."""

    name = "comp.reshape"
    input = operand_def(TensorType)
    pattern = prop_def(RuleAttr)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Names,)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "$input custom<Names>($pattern) attr-dict `:` type($input) `->` type($output)"

    def rule(self) -> Rule:
        """Of each product only the first factor can be sliced, with the inner factors static."""
        return _reshape_rule(self.pattern.data, _sizes(self.input.type), _sizes(self.output.type))

    def verify_(self) -> None:
        require_same_elements(self.input, self.output)


def _sizes(type: Attribute) -> Sizes:
    return tuple(None if size == DYNAMIC_INDEX else size for size in sizes_of(type))


@lru_cache(maxsize=1024)
def _reshape_rule(pattern: Pattern, before: Sizes, after: Sizes) -> Rule:
    source, target = _one_shape(pattern.operands), _one_shape(pattern.results)
    if pattern.roles or pattern.linear or pattern.joint:
        raise RuleError("a reshape names dimensions only; it states no roles")
    for shape, sizes, which in ((source, before, "operand"), (target, after, "result")):
        if len(shape) != len(sizes):
            raise RuleError(
                f"the {which} has {len(sizes)} dimension(s), but {len(shape)} are named"
            )
    flat = [[name for factors in shape for name in factors] for shape in (source, target)]
    if flat[0] != flat[1] or len(set(flat[0])) != len(flat[0]):
        raise RuleError(
            "both sides must name the same factors in the same order, each once: a reshape moves nothing "
            "(use comp.transpose for that)"
        )
    known = _known_factors((source, before), (target, after))
    return Rule((source,), (target,), joint=ANY_REDUCTION, sizes=tuple(sorted(known.items())))


def _one_shape(shapes: tuple[Shape | None, ...]) -> Shape:
    if len(shapes) != 1 or shapes[0] is None:
        raise RuleError("a reshape names the dimensions of one operand and one result")
    if any(factors[0].startswith("*") for factors in shapes[0]):
        raise RuleError("a reshape names every dimension; `*` is not allowed")
    return shapes[0]


def _known_factors(*sides: tuple[Shape, Sizes]) -> dict[str, int]:
    """The static sizes of factors: those that stand alone, and the last unknown one of a static product."""
    known: dict[str, int] = {}
    for shape, sizes in sides:
        for factors, size in zip(shape, sizes, strict=True):
            if (
                len(factors) == 1
                and size is not None
                and known.setdefault(factors[0], size) != size
            ):
                raise RuleError(f"'{factors[0]}' is both {known[factors[0]]} and {size}")
    for shape, sizes in sides:
        for factors, size in zip(shape, sizes, strict=True):
            _solve(factors, size, known)
    for factors in sides[0][0]:
        if len(factors) > 1:
            _check_solvable(factors, known)
    return known


def _check_solvable(factors: tuple[str, ...], known: dict[str, int]) -> None:
    """A product of the operand must tell the size of each of its factors."""
    unknown = [name for name in factors if name not in known]
    if len(unknown) > 1:
        raise RuleError(
            f"the product ({' '.join(factors)}) has more than one factor of unknown size: make all but one "
            "static"
        )
    if unknown and 0 in (known.get(name) for name in factors):
        raise RuleError(
            f"the product ({' '.join(factors)}) is 0 whatever '{unknown[0]}' is: make that one static too"
        )


def _solve(factors: tuple[str, ...], size: int | None, known: dict[str, int]) -> None:
    """Check a product against its static size, and find its one unknown factor."""
    if len(factors) == 1 or size is None:
        return
    unknown = [name for name in factors if name not in known]
    product = 1
    for name in factors:
        product *= known.get(name, 1)
    if not unknown and product != size:
        raise RuleError(f"({' '.join(factors)}) is {product}, but its dimension is {size}")
    if len(unknown) == 1:
        if product == size == 0:
            return
        if product == 0 or size % product:
            raise RuleError(
                f"({' '.join(factors)}) is {size}, which the other factors ({product}) do not divide"
            )
        known[unknown[0]] = size // product
