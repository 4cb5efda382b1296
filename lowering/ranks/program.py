"""The program of one rank while it is made: its values, what is known of their sizes, and where operations go."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, UNKNOWN_LOC, LocationAttr, TensorType
from xdsl.dialects.tensor import EmptyOp, ExtractSliceOp, SplatOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coconet_ir.analysis.dist import Dist
from coconet_ir.analysis.notation import Dim, Shape
from coconet_ir.analysis.rules import rule_of
from coconet_ir.dialects.attributes import as_tensor, dist_of, sizes_of
from coconet_ir.lowering.ranks.geometry import Arithmetic, Geometry, Index, Range, known
from coconet_ir.schedule.selection import name_of


@dataclass(frozen=True)
class Local:
    """One rank's part of a tensor: its value, and the global sizes and the layout of the tensor."""

    value: SSAValue
    sizes: tuple[Index, ...]
    dist: Dist


@lru_cache(maxsize=4096)
def local_type(type: Attribute) -> Attribute:
    """The type of one rank's part: without layout, the size of a dimension that is cut unknown; a scalar's as it is."""
    if (tensor := as_tensor(type)) is None:
        return type
    cuts = dist_of(type).by_dim
    sizes = [DYNAMIC_INDEX if d in cuts else size for d, size in enumerate(tensor.get_shape())]
    return TensorType(tensor.element_type, sizes)


class RankProgram:
    """The program of one rank, made operation by operation.

    Scalars that follow from arguments alone are the host's and stand in the function's own block, `host`; what reads
    or makes tensors goes to `target`, which is the same or the body of a region.
    """

    def __init__(self, host: Block, mesh_axes: Sequence[str]):
        self.host = self.target = host
        self.mesh_axes = mesh_axes
        self.arithmetic = Arithmetic(self._emit_on_host)
        self.geometry = Geometry(self.arithmetic)
        self.tensors: dict[SSAValue, Local] = {}
        self.scalars: dict[SSAValue, SSAValue] = {}
        self.from_data = set[SSAValue]()
        """The scalars, in the program of one rank, that follow from the data of tensors."""
        self._op: Operation | None = None
        self._place: LocationAttr = UNKNOWN_LOC

    @contextmanager
    def lowering(self, op: Operation) -> Generator[None]:
        """What is emitted within stands for `op`."""
        before = self._op, self._place
        self._op = op
        if op.location != UNKNOWN_LOC:
            self._place = op.location
        try:
            yield
        finally:
            self._op, self._place = before

    @contextmanager
    def emitting(self, target: Block) -> Generator[None]:
        """What works on tensors goes to `target` within."""
        before, self.target = self.target, target
        try:
            yield
        finally:
            self.target = before

    def emit(self, op: Operation, what: str | None = None) -> SSAValue:
        """Put an operation at the end of the target: the one lowered, or `what` goes with it, as its name says."""
        op.location = self._place
        if self._op is not None and what is None:
            op.attributes.update(self._op.attributes)
        elif self._op is not None and (name := name_of(self._op)) is not None:
            op.results[0].name_hint = f"{name}_{what}"
        self.target.add_op(op)
        return op.results[0]

    def emit_scalar(self, op: Operation) -> None:
        """Put an operation on scalars with the host's, unless it needs what follows from data."""
        op.location = self._place
        if any(operand in self.from_data for operand in op.operands):
            self.from_data.update(op.results)
            self.target.add_op(op)
        else:
            self.host.add_op(op)

    def _emit_on_host(self, op: Operation) -> None:
        op.location = self._place
        self.host.add_op(op)

    # Values

    def value(self, value: SSAValue) -> SSAValue:
        """What a value of the distributed program is on this rank."""
        return self.tensors[value].value if value in self.tensors else self.scalars[value]

    def define(self, op: Operation, values: Sequence[SSAValue | Local]) -> None:
        """Note the results of an operation; sizes not given are those that its rule says."""
        for index, (result, value) in enumerate(zip(op.results, values, strict=True)):
            if not isinstance(value, Local) and as_tensor(result.type) is None:
                self.scalars[result] = value
            else:
                made = value if isinstance(value, Local) else self.made(op, value, index)
                self.tensors[result], value = made, made.value
            if value.name_hint is None:
                value.name_hint = result.name_hint

    def made(self, op: Operation, value: SSAValue, index: int = 0) -> Local:
        """A value as the result of an operation, whose rule says its sizes."""
        return Local(value, self.sizes(op, index), dist_of(op.results[index].type))

    def sizes(
        self, op: Operation, index: int = 0, inner: Sequence[Index] = ()
    ) -> tuple[Index, ...]:
        """The global sizes of a result, carried by the operation's rule; `inner` where that does not know them."""
        rule = rule_of(op)
        if rule is None:
            raise TypeError(f"{op.name} has no rule to carry sizes")
        names = _Names(self.arithmetic, dict(rule.sizes))
        for shape, operand in zip(rule.operands, op.operands, strict=True):
            if shape is not None:
                names.bind(shape, self.tensors[operand].sizes)
        for shape, result in zip(rule.results, op.results, strict=True):
            names.bind(shape or (), _static(result.type))
        wanted = rule.results[index] or ()
        if isinstance(op, SplatOp):
            given = iter([known(self.scalars[size]) for size in op.dynamicSizes])
            static = _static(op.results[index].type)
            names.bind(wanted, [next(given) if size is None else size for size in static])
        if inner:
            names.complete(wanted, inner)
        return tuple(names.size(factors) for factors in wanted)

    # Blocks

    def region(self, tensor: Local) -> list[Range]:
        """The part of the tensor that this rank owns."""
        return self.geometry.region(tensor.sizes, tensor.dist)

    def extents(self, tensor: Local) -> list[Index]:
        """The sizes of this rank's part."""
        return [part.extent for part in self.region(tensor)]

    def open_sizes(self, type: Attribute, extents: Sequence[Index]) -> list[SSAValue]:
        """The extents of the dimensions that the type leaves open, as values."""
        pairs = zip(sizes_of(type), extents, strict=True)
        return [self.arithmetic.value(n) for size, n in pairs if size == DYNAMIC_INDEX]

    def shape(self, type: Attribute, extents: Sequence[Index]) -> SSAValue:
        """A tensor of which only the shape counts."""
        return self.emit(EmptyOp(self.open_sizes(type, extents), type), "shape")

    def splat(self, scalar: SSAValue, type: Attribute, extents: Sequence[Index]) -> SSAValue:
        """The scalar in every element."""
        if (tensor := as_tensor(type)) is None:
            raise TypeError(f"a splat is a tensor, not {type}")
        return self.emit(SplatOp(scalar, self.open_sizes(type, extents), tensor), "splat")

    def slice(
        self,
        value: SSAValue,
        starts: Sequence[Index],
        extents: Sequence[Index],
        type: Attribute,
        what: str | None = None,
    ) -> SSAValue:
        """The part of one rank's tensor from `starts`, `extents` long; open sizes are values, as in the type."""
        fixed = zip(sizes_of(type), extents, strict=True)
        sizes = [self.arithmetic.value(n) if s == DYNAMIC_INDEX else s for s, n in fixed]
        op = ExtractSliceOp(value, list(starts), sizes, [1] * len(sizes), type)
        return self.emit(op, what)


class _Names:
    """The sizes of the names of one rule; where a number is known, it stands for the value."""

    def __init__(self, arithmetic: Arithmetic, sizes: dict[str, Index]):
        self._arithmetic = arithmetic
        self._sizes = sizes

    def bind(self, shape: Shape, sizes: Sequence[Index | None]) -> None:
        for factors, size in zip(shape, sizes, strict=True):
            if size is not None:
                self._bind(factors, size)

    def _bind(self, factors: Dim, size: Index) -> None:
        if len(factors) == 1:
            if not isinstance(self._sizes.get(factors[0]), int):
                self._sizes[factors[0]] = size
            return
        unknown = [name for name in factors if name not in self._sizes]
        others = self.size([name for name in factors if name in self._sizes])
        if len(unknown) == 1 and isinstance(others, int) and others > 0:
            self._sizes[unknown[0]] = self._arithmetic.divide(size, others)

    def complete(self, shape: Shape, sizes: Sequence[Index]) -> None:
        """Give names that are still unknown the sizes of a tensor."""
        for factors, size in zip(shape, sizes, strict=True):
            if len(factors) == 1:
                self._sizes.setdefault(factors[0], size)

    def size(self, factors: Sequence[str]) -> Index:
        product: Index = 1
        for name in factors:
            product = self._arithmetic.multiply(product, self._sizes[name])
        return product


def _static(type: Attribute) -> list[int | None]:
    return [None if size == DYNAMIC_INDEX else size for size in sizes_of(type)]
