"""The `layout` dialect: the mesh, and changes of layout that send nothing (design, section 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i64,
)
from xdsl.ir import Dialect, SSAValue
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
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.inference import propagate
from coconet_ir.analysis.notation import (
    ANY_REDUCTION,
    Cuts,
    Everywhere,
    Gives,
    Loose,
    Relaxable,
    Rooted,
    Rule,
    RuleError,
    Takes,
    Transition,
)
from coconet_ir.analysis.rules import OWN_RULE, OneRank, pointwise, rank_of
from coconet_ir.dialects.attributes import (
    AxesAttr,
    DistAttr,
    axes_text,
    dist_of,
    parse_natural,
    with_dist,
)
from coconet_ir.dialects.elements import require_same_elements
from coconet_ir.dialects.syntax import MaybeRoots, Over, integers, numbers


@lru_cache(maxsize=1024)
def moving(
    rank: int,
    axes: tuple[str, ...],
    takes: Takes,
    gives: Gives,
    joint: frozenset[Kind] = ANY_REDUCTION,
) -> Rule:
    """The rule of an operation on one tensor that changes its layout along `axes` and keeps every dimension.

    Along other axes it works element by element, and on a partial operand if the reduction is in `joint`.
    """
    shape = tuple((f"d{i}",) for i in range(rank))
    return Rule((shape,), (shape,), joint=joint, transition=Transition(axes, takes, gives))


def cut(input: SSAValue, dim: IntegerAttr, unit: IntegerAttr | None) -> Cuts:
    """`dim d {unit = u}` as the rule says it. Raises `RuleError` when either is out of range."""
    rank = rank_of(input.type) or 0
    if not 0 <= dim.value.data < rank:
        raise RuleError(
            f"dim {dim.value.data} is out of range: the operand has {rank} dimension(s)"
        )
    size = 1 if unit is None else unit.value.data
    if size < 1:
        raise RuleError(f"unit {size} is out of range: a unit is at least 1 element")
    return Cuts(dim.value.data, size)


def coordinates_for(axes: AxesAttr, roots: DenseArrayBase) -> tuple[int, ...]:
    """The coordinates of `root`, one an axis. Raises `RuleError` when their number differs."""
    found = numbers(roots)
    if len(found) != len(axes.data):
        raise RuleError(
            f"root {list(found)} does not fit {axes_text(axes.data)}: give one coordinate an axis"
        )
    if min(found) < 0:
        raise RuleError(f"root {min(found)} is out of range: coordinates start at 0")
    return found


def optional_unit(unit: int) -> IntegerAttr | None:
    """The property `unit`, which is left out when it is 1."""
    return None if unit == 1 else IntegerAttr(unit, i64)


@irdl_op_definition
class MeshOp(IRDLOperation):
    """The one mesh of a module: its axes, outermost first, and how many ranks each has unless bound otherwise."""

    name = "layout.mesh"
    sym_name = prop_def(SymbolNameConstraint())
    axes = prop_def(AxesAttr)
    sizes = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, axes: Mapping[str, int]):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "axes": AxesAttr(tuple(axes)),
                "sizes": integers(tuple(axes.values())),
            }
        )

    @property
    def shape(self) -> dict[str, int]:
        """Ranks along each axis, in mesh order."""
        return dict(zip(self.axes.data, numbers(self.sizes), strict=True))

    @classmethod
    def parse(cls, parser: Parser) -> MeshOp:
        name = parser.parse_symbol_name()
        sizes: dict[str, int] = {}

        def axis() -> None:
            word = parser.parse_identifier()
            if word in sizes:
                parser.raise_error(f"axis '{word}' is named twice")
            parser.parse_punctuation("=", " after the name of an axis")
            sizes[word] = parse_natural(parser)

        position = parser.pos
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, axis)
        if not sizes:
            parser.raise_error("a mesh needs at least one axis, for example (dp = 8)", position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, sizes)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        axes = ", ".join(f"{axis} = {size}" for axis, size in self.shape.items())
        printer.print_string(f"({axes})")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    def verify_(self) -> None:
        if len(self.axes.data) != len(numbers(self.sizes)):
            raise VerifyException("every axis of the mesh needs one size")
        for axis, size in self.shape.items():
            if size < 1:
                raise VerifyException(f"axis '{axis}' has {size} ranks; it must have at least 1")


class MovingOp(IRDLOperation, ABC):
    """What operations share that only move or keep the elements of one tensor, over some axes."""

    axes = prop_def(AxesAttr)
    input = operand_def(TensorType)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)

    @abstractmethod
    def rule(self) -> Rule:
        """What happens to the layout along the axes. Raises `RuleError` when an attribute is out of range."""

    def verify_(self) -> None:
        require_same_elements(self.input, self.output)


class SliceFolds(HasCanonicalizationPatternsTrait):
    """slice(all_gather x) = x; slices of splats, constants and broadcasts."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from coconet_ir.dialects.folds import SliceOfGather, SliceOfMade

        return (SliceOfGather(), SliceOfMade())


@irdl_op_definition
class SliceOp(MovingOp):
    """Keep of a replicated tensor the block that each rank of the axes owns; nothing is sent."""

    name = "layout.slice"
    dim = prop_def(IntegerAttr.constr(i64))
    unit = opt_prop_def(IntegerAttr.constr(i64))
    custom_directives = (Over,)
    assembly_format = (
        "$input custom<Over>($axes) `dim` $dim attr-dict `:` type($input) `->` type($output)"
    )
    traits = traits_def(Pure(), OWN_RULE, SliceFolds())

    def __init__(self, input: SSAValue, axes: Sequence[str], dim: int, unit: int = 1):
        """Raises `LayoutError` when the axes do not replicate `input`."""
        output = with_dist(input.type, dist_of(input.type).append_cut(axes, dim, unit))
        super().__init__(
            operands=[input],
            properties={
                "axes": AxesAttr(tuple(axes)),
                "dim": IntegerAttr(dim, i64),
                "unit": optional_unit(unit),
            },
            result_types=[output],
        )

    def rule(self) -> Rule:
        """Replicated becomes sliced along the axes."""
        cuts = cut(self.input, self.dim, self.unit)
        return moving(rank_of(self.input.type) or 0, self.axes.data, Everywhere(), cuts)


@irdl_op_definition
class RelaxOp(MovingOp):
    """Forget that ranks agree: a replicated tensor becomes local or rooted, a partial one local; nothing is sent."""

    name = "layout.relax"
    roots = opt_prop_def(DenseArrayBase.constr(i64))
    custom_directives = (Over, MaybeRoots)
    assembly_format = (
        "$input custom<Over>($axes) custom<MaybeRoots>($roots) attr-dict `:` "
        "type($input) `->` type($output)"
    )

    def __init__(self, input: SSAValue, axes: Sequence[str], roots: Sequence[int] | None = None):
        """Raises `Refused` when an axis cannot be relaxed."""
        rule = _relax_rule(input, tuple(axes), None if roots is None else tuple(roots))
        output = propagate(rule, (dist_of(input.type),))[0]
        super().__init__(
            operands=[input],
            properties={
                "axes": AxesAttr(tuple(axes)),
                "roots": None if roots is None else integers(roots),
            },
            result_types=[with_dist(input.type, output)],
        )

    def rule(self) -> Rule:
        """Replicated or partial becomes local, replicated becomes rooted."""
        roots = None if self.roots is None else coordinates_for(self.axes, self.roots)
        return _relax_rule(self.input, self.axes.data, roots)


def _relax_rule(input: SSAValue, axes: tuple[str, ...], roots: tuple[int, ...] | None) -> Rule:
    rank = rank_of(input.type) or 0
    if roots is None:
        return moving(rank, axes, Relaxable(to_local=True), Loose())
    return moving(rank, axes, Relaxable(to_local=False), Rooted(roots))


@irdl_op_definition
class AxisSizeOp(IRDLOperation):
    """The number of ranks of the axes together, known once the mesh is bound."""

    name = "layout.axis_size"
    axes = prop_def(AxesAttr)
    size = result_def(IndexType())
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Over,)
    assembly_format = "custom<Over>($axes) attr-dict `:` type($size)"
    traits = traits_def(Pure(), OWN_RULE)

    def __init__(self, axes: Sequence[str]):
        super().__init__(properties={"axes": AxesAttr(tuple(axes))}, result_types=[IndexType()])

    def rule(self) -> Rule:
        """It reads no tensor."""
        return pointwise(self)


@irdl_op_definition
class CoordinateOp(IRDLOperation):
    """Where this rank stands along the axes together: a row-major number, the first axis outermost."""

    name = "layout.coordinate"
    axes = prop_def(AxesAttr)
    coordinate = result_def(IndexType())
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Over,)
    assembly_format = "custom<Over>($axes) attr-dict `:` type($coordinate)"
    traits = traits_def(Pure(), OneRank())

    def __init__(self, axes: Sequence[str]):
        super().__init__(properties={"axes": AxesAttr(tuple(axes))}, result_types=[IndexType()])


Layout = Dialect("layout", [MeshOp, SliceOp, RelaxOp, AxisSizeOp, CoordinateOp], [DistAttr])
