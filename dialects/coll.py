"""The `coll` dialect: collectives, and the regions in which a schedule groups them (design, section 5).

Collectives are pure: a distributed program is straight-line, so all ranks do the same. The regions `fused`,
`overlap` and `group` mean their body inlined; they are decisions of a schedule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Dialect, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
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
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.inference import propagate
from coconet_ir.analysis.notation import (
    Broadcastable,
    Cuts,
    Everywhere,
    Gives,
    Loose,
    Reducible,
    Rooted,
    Rule,
    RuleError,
    Sliced,
)
from coconet_ir.analysis.rules import OWN_RULE, rank_of
from coconet_ir.dialects.attributes import (
    AxesAttr,
    KindAttr,
    Order,
    OrderAttr,
    axes_text,
    dist_of,
    with_dist,
    with_element,
)
from coconet_ir.dialects.elements import element_of, precision_problem, reduction_problem
from coconet_ir.dialects.layout import MovingOp, coordinates_for, cut, moving, optional_unit
from coconet_ir.dialects.regions import FusedOp, GroupOp, OverlapOp, YieldOp
from coconet_ir.dialects.syntax import KindWord, Over, Roots, integers, numbers, parse_integers


def _output_type(input: SSAValue, rule: Rule, element: Attribute | None = None) -> Attribute:
    """The type of a collective's result. Raises `Refused` when the rule does not take the operand."""
    type = with_dist(input.type, propagate(rule, (dist_of(input.type),))[0])
    return type if element is None else with_element(type, element)


class ReducingOp(IRDLOperation, ABC):
    """What all_reduce, reduce_scatter and reduce share: kind, axes and precision.

    `wire` is the type in which contributions travel, `accumulate` that in which they are added, `order` whether
    the order of the additions is free or that of the ranks (design, section 5, precision).
    """

    kind = prop_def(KindAttr)
    axes = prop_def(AxesAttr)
    wire = opt_prop_def(TypeAttribute)
    accumulate = opt_prop_def(TypeAttribute)
    order = opt_prop_def(OrderAttr)
    input = operand_def(TensorType)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)

    @property
    def by_rank(self) -> bool:
        """Whether the additions are in rank order, bit-exact everywhere."""
        return self.order is not None and self.order.data is Order.RANKS

    @abstractmethod
    def gives(self) -> Gives:
        """The layout that the result gets along the axes."""

    def rule(self) -> Rule:
        """Local or partial becomes what the operation gives; partial on other axes passes the same reduction."""
        return _reducing_rule(self.input, self.kind, self.axes, self.gives())

    def verify_(self) -> None:
        element = element_of(self.input.type)
        if (problem := reduction_problem(element, self.kind.data)) is not None:
            raise VerifyException(problem)
        result = element_of(self.output.type)
        if problem := precision_problem(
            element, result, self.kind.data, self.accumulate, self.wire
        ):
            raise VerifyException(problem)


def _reducing_rule(input: SSAValue, kind: KindAttr, axes: AxesAttr, gives: Gives) -> Rule:
    joint = frozenset[Kind]() if kind.data is Kind.AVG else frozenset((kind.data,))
    return moving(rank_of(input.type) or 0, axes.data, Reducible(kind.data), gives, joint)


def _reduction_properties(
    kind: Kind,
    axes: Sequence[str],
    wire: Attribute | None,
    accumulate: Attribute | None,
    order: OrderAttr | None,
) -> dict[str, Attribute | None]:
    return {
        "kind": KindAttr(kind),
        "axes": AxesAttr(tuple(axes)),
        "wire": wire,
        "accumulate": accumulate,
        "order": order,
    }


@irdl_op_definition
class AllReduceOp(ReducingOp):
    """Reduce over the axes; every rank gets the result."""

    name = "coll.all_reduce"
    custom_directives = (KindWord, Over)
    assembly_format = "custom<KindWord>($kind) $input custom<Over>($axes) attr-dict `:` type($input) `->` type($output)"

    def __init__(
        self,
        input: SSAValue,
        kind: Kind,
        axes: Sequence[str],
        *,
        wire: Attribute | None = None,
        accumulate: Attribute | None = None,
        order: OrderAttr | None = None,
        element: Attribute | None = None,
    ):
        """Raises `Refused` when the operand is neither local nor partial on an axis."""
        properties = _reduction_properties(kind, axes, wire, accumulate, order)
        rule = _reducing_rule(input, KindAttr(kind), AxesAttr(tuple(axes)), Everywhere())
        output = _output_type(input, rule, element)
        super().__init__(operands=[input], properties=properties, result_types=[output])

    def gives(self) -> Gives:
        return Everywhere()


@irdl_op_definition
class ReduceScatterOp(ReducingOp):
    """Reduce over the axes; each rank gets its block of dimension `dim`."""

    name = "coll.reduce_scatter"
    dim = prop_def(IntegerAttr.constr(i64))
    unit = opt_prop_def(IntegerAttr.constr(i64))
    custom_directives = (KindWord, Over)
    assembly_format = (
        "custom<KindWord>($kind) $input custom<Over>($axes) `dim` $dim attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def __init__(
        self,
        input: SSAValue,
        kind: Kind,
        axes: Sequence[str],
        dim: int,
        unit: int = 1,
        *,
        wire: Attribute | None = None,
        accumulate: Attribute | None = None,
        order: OrderAttr | None = None,
        element: Attribute | None = None,
    ):
        """Raises `Refused` when the operand is neither local nor partial on an axis, or the cut cannot be."""
        properties = _reduction_properties(kind, axes, wire, accumulate, order)
        properties |= {"dim": IntegerAttr(dim, i64), "unit": optional_unit(unit)}
        rule = _reducing_rule(input, KindAttr(kind), AxesAttr(tuple(axes)), Cuts(dim, unit))
        output = _output_type(input, rule, element)
        super().__init__(operands=[input], properties=properties, result_types=[output])

    def gives(self) -> Gives:
        return cut(self.input, self.dim, self.unit)


@irdl_op_definition
class ReduceOp(ReducingOp):
    """Reduce over the axes; the root gets the result, the other ranks have nothing defined."""

    name = "coll.reduce"
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (KindWord, Over, Roots)
    assembly_format = (
        "custom<KindWord>($kind) $input custom<Over>($axes) custom<Roots>($roots) attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def __init__(
        self,
        input: SSAValue,
        kind: Kind,
        axes: Sequence[str],
        roots: Sequence[int],
        *,
        wire: Attribute | None = None,
        accumulate: Attribute | None = None,
        order: OrderAttr | None = None,
        element: Attribute | None = None,
    ):
        """Raises `Refused` when the operand is neither local nor partial on an axis."""
        properties = _reduction_properties(kind, axes, wire, accumulate, order)
        properties["roots"] = integers(roots)
        rule = _reducing_rule(input, KindAttr(kind), AxesAttr(tuple(axes)), Rooted(tuple(roots)))
        output = _output_type(input, rule, element)
        super().__init__(operands=[input], properties=properties, result_types=[output])

    def gives(self) -> Gives:
        return Rooted(coordinates_for(self.axes, self.roots))


@irdl_op_definition
class BroadcastOp(MovingOp):
    """Every rank of the axes gets the root's value."""

    name = "coll.broadcast"
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (Over, Roots)
    assembly_format = "$input custom<Over>($axes) custom<Roots>($roots) attr-dict `:` type($input) `->` type($output)"

    def __init__(self, input: SSAValue, axes: Sequence[str], roots: Sequence[int]):
        """Raises `Refused` when the operand is neither local nor on these roots."""
        properties = {"axes": AxesAttr(tuple(axes)), "roots": integers(roots)}
        rule = _broadcast_rule(input, tuple(axes), tuple(roots))
        super().__init__(
            operands=[input], properties=properties, result_types=[_output_type(input, rule)]
        )

    def rule(self) -> Rule:
        """Local or rooted becomes replicated."""
        return _broadcast_rule(self.input, self.axes.data, coordinates_for(self.axes, self.roots))


def _broadcast_rule(input: SSAValue, axes: tuple[str, ...], roots: tuple[int, ...]) -> Rule:
    return moving(rank_of(input.type) or 0, axes, Broadcastable(roots), Everywhere())


class GatherFolds(HasCanonicalizationPatternsTrait):
    """all_gather(slice x) = x."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from coconet_ir.dialects.folds import GatherOfSlice

        return (GatherOfSlice(),)


@irdl_op_definition
class AllGatherOp(MovingOp):
    """Every rank of the axes, which are the innermost that slice one dimension, gets all their blocks."""

    name = "coll.all_gather"
    custom_directives = (Over,)
    assembly_format = "$input custom<Over>($axes) attr-dict `:` type($input) `->` type($output)"
    traits = traits_def(Pure(), OWN_RULE, GatherFolds())

    def __init__(self, input: SSAValue, axes: Sequence[str]):
        """Raises `Refused` when the axes are not the innermost that slice a dimension of the operand."""
        rule = _gather_rule(input, tuple(axes))
        super().__init__(
            operands=[input],
            properties={"axes": AxesAttr(tuple(axes))},
            result_types=[_output_type(input, rule)],
        )

    def rule(self) -> Rule:
        """Sliced by the axes, innermost, becomes replicated."""
        return _gather_rule(self.input, self.axes.data)


def _gather_rule(input: SSAValue, axes: tuple[str, ...]) -> Rule:
    return moving(rank_of(input.type) or 0, axes, Sliced(), Everywhere())


@irdl_op_definition
class AllToAllOp(MovingOp):
    """Ranks that hold blocks of dimension `source` exchange them for blocks of dimension `target`."""

    name = "coll.all_to_all"
    source = prop_def(IntegerAttr.constr(i64))
    target = prop_def(IntegerAttr.constr(i64))
    unit = opt_prop_def(IntegerAttr.constr(i64))
    custom_directives = (Over,)
    assembly_format = (
        "$input custom<Over>($axes) `from` $source `to` $target attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def rule(self) -> Rule:
        """Sliced on one dimension becomes sliced on another."""
        source = cut(self.input, self.source, None).dim
        target = cut(self.input, self.target, self.unit)
        if source == target.dim:
            raise RuleError(f"`from` and `to` are both dimension {source}; name two dimensions")
        return moving(rank_of(self.input.type) or 0, self.axes.data, Sliced(source), target)


@irdl_custom_directive
class Route(CustomDirective):
    """`shift 1`, or `pairs [[0, 1], [1, 2]]`."""

    shift: AttributeVariable
    pairs: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("shift") is not None:
            self.shift.set(state, IntegerAttr(parser.parse_integer(allow_boolean=False), i64))
            return
        if parser.parse_optional_keyword("pairs") is None:
            parser.raise_error("expected `shift N` or `pairs [[from, to], …]`")
        found = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_integers(parser)
        )
        self.pairs.set(state, ArrayAttr(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        shift, pairs = self.shift.get(op), self.pairs.get(op)
        state.print_whitespace(printer)
        if isinstance(shift, IntegerAttr):
            printer.print_string(f"shift {shift.value.data}")
        else:
            printer.print_string(f"pairs {[list(pair) for pair in routes_of(pairs)]}")
        state.last_was_punctuation = False
        state.should_emit_space = True


def routes_of(pairs: Attribute | None) -> tuple[tuple[int, ...], ...]:
    """The pairs (from, to) of a permute; none of a shift."""
    if not isinstance(pairs, ArrayAttr):
        return ()
    return tuple(numbers(pair) for pair in cast(ArrayAttr[Attribute], pairs))


def check_routes(shift: Attribute | None, pairs: Attribute | None) -> None:
    """Raise `VerifyException` unless a permute sends, and receives, at most once at each coordinate."""
    if (shift is None) == (pairs is None):
        raise VerifyException("a permute has either `shift` or `pairs`")
    routes = routes_of(pairs)
    if any(len(route) != 2 or min(route) < 0 for route in routes):
        raise VerifyException("each pair is [from, to] with coordinates of at least 0")
    for place, word in ((0, "sends"), (1, "receives")):
        ends = [route[place] for route in routes]
        if twice := sorted({end for end in ends if ends.count(end) > 1}):
            raise VerifyException(f"coordinate {twice[0]} {word} twice; each may do so once")


@irdl_op_definition
class PermuteOp(MovingOp):
    """Point-to-point along one axis: a cyclic shift, or pairs (from, to) with zeros where nothing arrives."""

    name = "coll.permute"
    shift = opt_prop_def(IntegerAttr.constr(i64))
    pairs = opt_prop_def(ArrayAttr.constr(DenseArrayBase.constr(i64)))
    custom_directives = (Over, Route)
    assembly_format = (
        "$input custom<Over>($axes) custom<Route>($shift, $pairs) attr-dict `:` "
        "type($input) `->` type($output)"
    )

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]:
        """The pairs (from, to); empty for a shift."""
        return routes_of(self.pairs)

    def rule(self) -> Rule:
        """Local along the one axis, before and after."""
        if len(self.axes.data) != 1:
            raise RuleError(f"a permute works over one axis, not {axes_text(self.axes.data)}")
        return moving(rank_of(self.input.type) or 0, self.axes.data, Loose(), Loose())

    def verify_(self) -> None:
        super().verify_()
        check_routes(self.shift, self.pairs)


Coll = Dialect(
    "coll",
    [
        AllReduceOp,
        ReduceScatterOp,
        ReduceOp,
        BroadcastOp,
        AllGatherOp,
        AllToAllOp,
        PermuteOp,
        FusedOp,
        OverlapOp,
        GroupOp,
        YieldOp,
    ],
    [AxesAttr, KindAttr, OrderAttr],
)
