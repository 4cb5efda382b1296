"""The `comp` dialect: computation on tensors beyond `arith` and `math` (design, section 5).

Each operation states one dimension rule; everything else about how it may be sliced follows from that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.inference import propagate
from coconet_ir.analysis.notation import (
    ANY_REDUCTION,
    Pattern,
    Reduction,
    Role,
    Rule,
    RuleError,
    Whole,
    pattern,
)
from coconet_ir.analysis.rules import OWN_RULE, OWN_RULE_OF_TYPES, by_pattern, pointwise, rank_of
from coconet_ir.dialects.attributes import KindAttr, RuleAttr, dist_of, sizes_of, with_dist
from coconet_ir.dialects.blocks import DropoutBlockOp, SegmentBroadcastBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.calls import MatmulIntoOp
from coconet_ir.dialects.checks import (
    check_dropout,
    check_offsets,
    check_precision,
    require_floats,
)
from coconet_ir.dialects.custom import CustomOp, DefineOp, YieldOp
from coconet_ir.dialects.elements import element_of, reduction_problem, require_same_elements
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import (
    Dims,
    KindWord,
    MaybeDims,
    Permutation,
    integers,
    numbers,
)

MATMUL = pattern("[*b, m, k] [k, n] -> [*b, m, n], k = reduction(sum), linear(0, 1)")
BATCHED_MATMUL = pattern("[*b, m, k] [*b, k, n] -> [*b, m, n], k = reduction(sum), linear(0, 1)")
CONV2D = pattern(
    "[n, h, w, c] [kh, kw, c, f] -> [n, oh, ow, f], h = whole, w = whole, kh = whole, kw = whole, "
    "oh = whole, ow = whole, c = reduction(sum), linear(0, 1)"
)
RMS_NORM = pattern("[*b, n] [n] -> [*b, n], n = whole")
SEGMENT_BROADCAST = pattern("[t] [o] [n] -> [n], t = whole, o = whole, linear(0)")


class ProductOp(IRDLOperation, ABC):
    """What matmul and conv2d share: two operands of one element type, products summed in `accumulate`."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        require_same_elements(self.lhs, self.rhs)
        check_precision(self.lhs, self.output, Kind.SUM, self.accumulate)


@irdl_op_definition
class MatmulOp(ProductOp):
    """`[*b, m, k] x [k, n]`, or batched `[*b, m, k] x [*b, k, n]`."""

    name = "comp.matmul"

    def rule(self) -> Rule:
        """k is summed; linear in each operand."""
        if (rank_of(self.lhs.type) or 0) < 2 or (rank_of(self.rhs.type) or 0) < 2:
            raise RuleError("a matmul needs operands of at least two dimensions")
        return by_pattern(self, MATMUL if rank_of(self.rhs.type) == 2 else BATCHED_MATMUL)


@irdl_op_definition
class Conv2dOp(ProductOp):
    """Two-dimensional convolution, NHWC by HWCF to NHWF, with strides and zero padding on both sides."""

    name = "comp.conv2d"
    strides = opt_prop_def(DenseArrayBase.constr(i64))
    padding = opt_prop_def(DenseArrayBase.constr(i64))

    def rule(self) -> Rule:
        """Images and filters are parallel, channels summed, positions whole."""
        return by_pattern(self, CONV2D)

    @property
    def steps(self) -> tuple[int, int]:
        """Strides along height and width."""
        return _pair(self.strides, 1)

    @property
    def pads(self) -> tuple[int, int]:
        """Zeros added before and after height and width."""
        return _pair(self.padding, 0)

    def verify_(self) -> None:
        super().verify_()
        for word, attribute, least in (("strides", self.strides, 1), ("padding", self.padding, 0)):
            values = (least, least) if attribute is None else numbers(attribute)
            if len(values) != 2 or min(values) < least:
                raise VerifyException(
                    f"{word} = {list(values)} must be two numbers of at least {least}"
                )
        for place, word in ((0, "height"), (1, "width")):
            self._check_extent(place, word)

    def _check_extent(self, place: int, word: str) -> None:
        size = sizes_of(self.lhs.type)[1 + place]
        window = sizes_of(self.rhs.type)[place]
        found = sizes_of(self.output.type)[1 + place]
        if DYNAMIC_INDEX in (size, window, found):
            return
        expected = max(0, (size + 2 * self.pads[place] - window) // self.steps[place] + 1)
        if found != expected:
            raise VerifyException(f"the result's {word} must be {expected}, not {found}")


def _pair(attribute: DenseArrayBase | None, default: int) -> tuple[int, int]:
    if attribute is None:
        return default, default
    first, second = numbers(attribute)
    return first, second


@lru_cache(maxsize=1024)
def _reduction_rule(rank: int, dims: tuple[int, ...], role: Role, joint: frozenset[Kind]) -> Rule:
    for dim in dims:
        if not 0 <= dim < rank:
            raise RuleError(f"dim {dim} is out of range: the operand has {rank} dimension(s)")
    if len(set(dims)) != len(dims):
        raise RuleError(f"a dimension is named twice in {list(dims)}")
    names = tuple((f"d{i}",) for i in range(rank))
    kept = tuple(name for i, name in enumerate(names) if i not in dims)
    roles = tuple((f"d{i}", role) for i in sorted(dims))
    return Rule((names,), (kept,), roles, joint=joint)


class ReductionOp(IRDLOperation, ABC):
    """What reduce, norm and mean share: the dimensions `dims` vanish from the result."""

    input = operand_def(TensorType)
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)

    @property
    @abstractmethod
    def reduced(self) -> tuple[int, ...]:
        """The dimensions that vanish, in increasing order."""

    def _reduction(self, role: Role, joint: frozenset[Kind]) -> Rule:
        rank = rank_of(self.input.type) or 0
        found = _reduction_rule(rank, self.reduced, role, joint)
        left = rank - len(self.reduced)
        if rank_of(self.output.type) != left:
            raise RuleError(f"the result must have {left} dimension(s): those reduced vanish")
        return found


@irdl_op_definition
class ReduceOp(ReductionOp):
    """Reduce dimensions by sum, prod, max or min, in increasing row-major order, in `accumulate`."""

    name = "comp.reduce"
    kind = prop_def(KindAttr)
    dims = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (KindWord, Dims)
    assembly_format = "custom<KindWord>($kind) $input custom<Dims>($dims) attr-dict `:` type($input) `->` type($output)"

    def __init__(
        self,
        input: SSAValue,
        kind: Kind,
        dims: Sequence[int],
        *,
        accumulate: Attribute | None = None,
        element: Attribute | None = None,
    ):
        """The result's elements are `element`, by default those of `input`.

        Raises `Refused` when the layout of `input` does not allow it.
        """
        shape = [size for dim, size in enumerate(sizes_of(input.type)) if dim not in dims]
        joint = frozenset((kind,))
        found = _reduction_rule(
            rank_of(input.type) or 0, tuple(sorted(dims)), Reduction(kind), joint
        )
        dist = propagate(found, (dist_of(input.type),))[0]
        super().__init__(
            operands=[input],
            properties={"kind": KindAttr(kind), "dims": integers(dims), "accumulate": accumulate},
            result_types=[with_dist(TensorType(element or element_of(input.type), shape), dist)],
        )

    @property
    def reduced(self) -> tuple[int, ...]:
        return tuple(sorted(numbers(self.dims)))

    def rule(self) -> Rule:
        """Each reduced dimension is a reduction; partial values of the same reduction pass through."""
        return self._reduction(Reduction(self.kind.data), frozenset((self.kind.data,)))

    def verify_(self) -> None:
        if self.kind.data is Kind.AVG:
            raise VerifyException("avg exists on collectives only: use comp.mean")
        check_precision(self.input, self.output, self.kind.data, self.accumulate)


class WholeReductionOp(ReductionOp, ABC):
    """A reduction that needs its dimensions whole, all of them if `dims` is not given; it has a decomposition."""

    dims = opt_prop_def(DenseArrayBase.constr(i64))
    custom_directives = (MaybeDims,)
    assembly_format = (
        "$input custom<MaybeDims>($dims) attr-dict `:` type($input) `->` type($output)"
    )

    @property
    def reduced(self) -> tuple[int, ...]:
        if self.dims is None:
            return tuple(range(rank_of(self.input.type) or 0))
        return tuple(sorted(numbers(self.dims)))

    def verify_(self) -> None:
        require_floats(self.input)
        check_precision(self.input, self.output, Kind.SUM, self.accumulate)


@irdl_op_definition
class NormOp(WholeReductionOp):
    """The L2 norm: the square root of the sum of squares; 0 of nothing."""

    name = "comp.norm"

    def rule(self) -> Rule:
        """The reduced dimensions are whole; its decomposition slices them."""
        return self._reduction(Whole(), frozenset())


@irdl_op_definition
class MeanOp(WholeReductionOp):
    """The mean: the sum divided by the number of elements; 0 of nothing."""

    name = "comp.mean"

    def rule(self) -> Rule:
        """The reduced dimensions are whole, since blocks differ in size; linear."""
        return self._reduction(Whole(), frozenset((Kind.SUM,)))


@lru_cache(maxsize=256)
def _softmax_rule(rank: int, dim: int) -> Rule:
    if not 0 <= dim < rank:
        raise RuleError(f"dim {dim} is out of range: the operand has {rank} dimension(s)")
    names = tuple((f"d{i}",) for i in range(rank))
    return Rule((names,), (names,), ((f"d{dim}", Whole()),))


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """exp(x - max x) / sum exp(x - max x) along `dim`."""

    name = "comp.softmax"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    dim = prop_def(IntegerAttr.constr(i64))
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "$input `dim` $dim attr-dict `:` type($input)"

    def rule(self) -> Rule:
        """`dim` is whole; its decomposition slices it."""
        return _softmax_rule(rank_of(self.input.type) or 0, self.dim.value.data)

    def verify_(self) -> None:
        require_floats(self.input)
        check_precision(self.input, self.output, Kind.SUM, self.accumulate)


@irdl_op_definition
class RmsNormOp(IRDLOperation):
    """x / sqrt(mean of x*x over the last dimension + eps) * weight."""

    name = "comp.rms_norm"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    eps = prop_def(FloatAttr)
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "$input `,` $weight attr-dict `:` functional-type(operands, results)"

    def rule(self) -> Rule:
        """The last dimension is whole; its decomposition slices it."""
        return by_pattern(self, RMS_NORM)

    def verify_(self) -> None:
        require_floats(self.input)
        require_same_elements(self.input, self.weight, self.output)
        check_precision(self.input, self.output, Kind.SUM, self.accumulate)
        if not self.eps.value.data >= 0:
            raise VerifyException(f"eps = {self.eps.value.data} must be at least 0")


@irdl_op_definition
class DropoutOp(IRDLOperation):
    """Drop elements with probability p and scale the others by 1/(1-p), by Philox4x32-10 on the global index.

    `id` tells the dropouts of a function apart; with it and the seed, every schedule drops the same elements.
    """

    name = "comp.dropout"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    seed = operand_def(i64)
    p = prop_def(FloatAttr)
    id = prop_def(IntegerAttr.constr(i64))
    output = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE_OF_TYPES)
    assembly_format = "$input `,` $seed attr-dict `:` type($input)"

    def rule(self) -> Rule:
        """Element by element."""
        return pointwise(self)

    def verify_(self) -> None:
        check_dropout(self.input, self.p, self.id)


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """Multiply each element by a scalar; linear, so a partial value can be scaled before its reduction."""

    name = "comp.scale"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    factor = operand_def()
    output = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE_OF_TYPES)

    @classmethod
    def parse(cls, parser: Parser) -> ScaleOp:
        input = parser.parse_unresolved_operand()
        parser.parse_keyword("by")
        factor = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = [
            parser.resolve_operand(input, type),
            parser.resolve_operand(factor, element_of(type)),
        ]
        return cls.create(operands=operands, attributes=attributes, result_types=[type])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        printer.print_string(" by ")
        printer.print_ssa_value(self.factor)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.input.type)

    def rule(self) -> Rule:
        """Element by element, linear."""
        return pointwise(self, frozenset((Kind.SUM,)))

    def verify_(self) -> None:
        if (problem := reduction_problem(element_of(self.input.type), Kind.SUM)) is not None:
            raise VerifyException(problem)
        if self.factor.type != element_of(self.input.type):
            raise VerifyException(
                f"the factor must have the type of the elements, {element_of(self.input.type)}, "
                f"not {self.factor.type}"
            )


@lru_cache(maxsize=1024)
def _broadcast_rule(rank: int, result: int, dims: tuple[int, ...], like: bool) -> Rule:
    if len(dims) != rank:
        raise RuleError(f"dims must say where each of the operand's {rank} dimension(s) goes")
    if any(not 0 <= dim < result for dim in dims):
        raise RuleError(f"dims {list(dims)} are out of range: the result has {result} dimension(s)")
    if len(set(dims)) != len(dims):
        raise RuleError(f"a dimension is named twice in {list(dims)}")
    names = tuple((f"r{i}",) for i in range(result))
    operand = tuple(names[dim] for dim in dims)
    if not like:
        return Rule((operand,), (names,), joint=ANY_REDUCTION)
    return Rule((operand, names), (names,), joint=ANY_REDUCTION, shape_only=frozenset((1,)))


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Repeat a tensor along new dimensions; `dims` says where its own go, `like` gives sizes that are not static."""

    name = "comp.broadcast"
    input = operand_def(TensorType)
    like = opt_operand_def(TensorType)
    dims = prop_def(DenseArrayBase.constr(i64))
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Dims,)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = (
        "$input custom<Dims>($dims) (`like` $like^)? attr-dict `:` "
        "type($input) (`,` type($like)^)? `->` type($output)"
    )

    def __init__(
        self, input: SSAValue, dims: Sequence[int], *, type: Attribute, like: SSAValue | None = None
    ):
        super().__init__(
            operands=[input, like], properties={"dims": integers(dims)}, result_types=[type]
        )

    def rule(self) -> Rule:
        """The operand's dimensions keep their names; the new ones stand in the result only."""
        return _broadcast_rule(
            rank_of(self.input.type) or 0,
            rank_of(self.output.type) or 0,
            numbers(self.dims),
            self.like is not None,
        )

    def verify_(self) -> None:
        require_same_elements(self.input, self.output)
        if self.like is None:
            given = numbers(self.dims)
            for dim, size in enumerate(sizes_of(self.output.type)):
                if size == DYNAMIC_INDEX and dim not in given:
                    raise VerifyException(
                        f"the size of dimension {dim} is not known: add `like %x` with a tensor of the "
                        "result's shape"
                    )


@lru_cache(maxsize=1024)
def _transpose_rule(rank: int, permutation: tuple[int, ...]) -> Rule:
    if sorted(permutation) != list(range(rank)):
        raise RuleError(
            f"perm must name each of the {rank} dimension(s) once, but is {list(permutation)}"
        )
    names = tuple((f"d{i}",) for i in range(rank))
    return Rule((names,), (tuple(names[i] for i in permutation),), joint=ANY_REDUCTION)


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """Dimension i of the result is dimension `perm[i]` of the operand."""

    name = "comp.transpose"
    input = operand_def(TensorType)
    permutation = prop_def(DenseArrayBase.constr(i64))
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Permutation,)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = (
        "$input custom<Permutation>($permutation) attr-dict `:` type($input) `->` type($output)"
    )

    def rule(self) -> Rule:
        """Names in another order."""
        return _transpose_rule(rank_of(self.input.type) or 0, numbers(self.permutation))

    def verify_(self) -> None:
        require_same_elements(self.input, self.output)


@irdl_op_definition
class UpdateOp(IRDLOperation):
    """Store a value into an argument, in place; the result is the value.

    The target is an entry argument, updated once; data reads of it come before (checked for the whole program).
    """

    name = "comp.update"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    target = operand_def(T)
    value = operand_def(T)
    output = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OWN_RULE_OF_TYPES)
    assembly_format = "$target `,` $value attr-dict `:` type($target)"

    def rule(self) -> Rule:
        """Element by element; the target's old data is not read."""
        return pointwise(self)


def is_target(op: Operation, index: int) -> bool:
    """Whether an operand is what an update stores into, which reads no data."""
    return isinstance(op, UpdateOp) and index == 0


@irdl_op_definition
class SegmentReduceOp(IRDLOperation):
    """Reduce the segments [offsets[t], offsets[t+1]) of one flat tensor, in increasing order."""

    name = "comp.segment_reduce"
    kind = prop_def(KindAttr)
    input = operand_def(TensorType)
    offsets = operand_def(TensorType)
    accumulate = opt_prop_def(TypeAttribute)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (KindWord,)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "custom<KindWord>($kind) $input `,` $offsets attr-dict `:` functional-type(operands, results)"

    def rule(self) -> Rule:
        """A slice of the flat dimension gives partial results for every segment."""
        if self.kind.data is Kind.AVG:
            raise RuleError("avg exists on collectives only: sum and divide")
        return by_pattern(self, _segment_reduce(self.kind.data))

    def verify_(self) -> None:
        check_precision(self.input, self.output, self.kind.data, self.accumulate)
        check_offsets(self.offsets, self.output)


def _segment_reduce(kind: Kind) -> Pattern:
    linear = ", linear(0)" if kind is Kind.SUM else ""
    return pattern(f"[n] [o] -> [t], n = reduction({kind}), o = whole, t = whole{linear}")


@irdl_op_definition
class SegmentBroadcastOp(IRDLOperation):
    """Repeat the value of each segment over its elements; elements of no segment get 0."""

    name = "comp.segment_broadcast"
    input = operand_def(TensorType)
    offsets = operand_def(TensorType)
    like = operand_def(TensorType)
    output = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = (
        "$input `,` $offsets `like` $like attr-dict `:` functional-type(operands, results)"
    )

    def rule(self) -> Rule:
        """The flat dimension stands in the result only."""
        return by_pattern(self, SEGMENT_BROADCAST, shape_only=frozenset((2,)))

    def verify_(self) -> None:
        require_same_elements(self.input, self.output)
        check_offsets(self.offsets, self.input)


Comp = Dialect(
    "comp",
    [
        MatmulOp,
        Conv2dOp,
        ReduceOp,
        NormOp,
        MeanOp,
        SoftmaxOp,
        RmsNormOp,
        DropoutOp,
        ScaleOp,
        BroadcastOp,
        ReshapeOp,
        TransposeOp,
        UpdateOp,
        SegmentReduceOp,
        SegmentBroadcastOp,
        DropoutBlockOp,
        SegmentReduceBlockOp,
        SegmentBroadcastBlockOp,
        MatmulIntoOp,
        CustomOp,
        DefineOp,
        YieldOp,
    ],
    [RuleAttr],
)
