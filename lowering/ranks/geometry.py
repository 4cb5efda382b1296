"""Where one rank's block of a tensor lies, as arithmetic on indices (design, section 4, the rule of blocks).

A number that is known while the program is lowered is an `int`; any other is a value of the program. All of it runs
on the host: it stands in front of what uses it, in the function's own block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import (
    AddiOp,
    CeilDivUIOp,
    ConstantOp,
    DivUIOp,
    MaxUIOp,
    MinUIOp,
    MuliOp,
    SubiOp,
)
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.dist import Cut, Dist
from coconet_ir.dialects.layout import AxisSizeOp, CoordinateOp

Index = int | SSAValue
"""A number of elements, ranks or blocks."""


def known(value: SSAValue) -> Index:
    """The number if the value is a constant, else the value."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
        if isinstance(number := value.op.value, IntegerAttr):
            return number.value.data
    return value


class Arithmetic:
    """Arithmetic on indices: what is known is folded, and the same is computed once."""

    def __init__(self, emit: Callable[[Operation], object]):
        self._emit = emit
        self._made: dict[tuple[object, ...], SSAValue] = {}

    def value(self, index: Index) -> SSAValue:
        """The number as a value."""
        if isinstance(index, SSAValue):
            return index
        constant = lambda: ConstantOp(IntegerAttr(index, IndexType()))  # noqa: E731
        return self._once(("constant", index), f"c{index}", constant)

    def add(self, a: Index, b: Index, hint: str | None = None) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if 0 in (a, b):
            return b if a == 0 else a
        return self._binary(AddiOp, a, b, hint)

    def subtract(self, a: Index, b: Index, hint: str | None = None) -> Index:
        """a - b, which is at least 0."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._binary(SubiOp, a, b, hint)

    def multiply(self, a: Index, b: Index, hint: str | None = None) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        if 1 in (a, b):
            return b if a == 1 else a
        return self._binary(MuliOp, a, b, hint)

    def divide(self, a: Index, b: int, hint: str | None = None) -> Index:
        """a / b, which has no remainder."""
        if isinstance(a, int):
            return a // b
        if isinstance(a, OpResult) and isinstance(a.op, MuliOp):
            factors = [known(operand) for operand in a.op.operands]
            if b in factors:
                return factors[1 - factors.index(b)]
        return a if b == 1 else self._binary(DivUIOp, a, b, hint)

    def divide_up(self, a: Index, b: Index, hint: str | None = None) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return -(-a // b)
        if b == 1 or a == 0:
            return a
        return self._binary(CeilDivUIOp, a, b, hint)

    def least(self, a: Index, b: Index, hint: str | None = None) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        if 0 in (a, b):
            return 0
        return a if a is b else self._binary(MinUIOp, a, b, hint)

    def most(self, a: Index, b: Index, hint: str | None = None) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        if 0 in (a, b):
            return b if a == 0 else a
        return a if a is b else self._binary(MaxUIOp, a, b, hint)

    def ranks(self, axes: tuple[str, ...]) -> SSAValue:
        """The number of ranks of the axes together."""
        return self._once(("ranks", axes), f"{'_'.join(axes)}_ranks", lambda: AxisSizeOp(axes))

    def coordinate(self, axes: tuple[str, ...]) -> SSAValue:
        """Where this rank stands along the axes together."""
        return self._once(("coordinate", axes), "_".join(axes), lambda: CoordinateOp(axes))

    def _binary(
        self, kind: Callable[[SSAValue, SSAValue], Operation], a: Index, b: Index, hint: str | None
    ) -> SSAValue:
        operands = self.value(a), self.value(b)
        return self._once((kind, *operands), hint, lambda: kind(*operands))

    def _once(
        self, key: tuple[object, ...], hint: str | None, make: Callable[[], Operation]
    ) -> SSAValue:
        if key not in self._made:
            op = make()
            self._emit(op)
            (self._made[key],) = op.results
            op.results[0].name_hint = hint
        return self._made[key]


@dataclass(frozen=True)
class Range:
    """The part of a dimension that a rank owns: elements from `start`, `extent` of them; a full block has `nominal`."""

    start: Index
    extent: Index
    nominal: Index
    end: Index


class Geometry:
    """The blocks of the tensors of one function."""

    def __init__(self, arithmetic: Arithmetic):
        self.arithmetic = arithmetic
        self._names: dict[Index, str] = {}

    def call(self, size: Index, name: str) -> None:
        """Name what is derived from a size."""
        self._names.setdefault(size, name)

    def region(self, sizes: Sequence[Index], dist: Dist) -> list[Range]:
        """The part of a tensor of these global sizes that this rank owns."""
        return [self.range(size, dist.by_dim.get(dim)) for dim, size in enumerate(sizes)]

    def range(self, size: Index, cut: Cut | None) -> Range:
        """The part of a dimension of `size` elements that this rank owns."""
        return self.block(size, () if cut is None else cut.axes, 1 if cut is None else cut.unit)

    def block(self, size: Index, axes: tuple[str, ...], unit: int) -> Range:
        """The same, by the axes that cut it, outer first: each cuts the nominal block of the level above."""
        if not axes:
            return Range(0, size, size, size)
        do, name = self.arithmetic, f"{self._names.get(size, 'size')}_{'_'.join(axes)}"
        outer = self.block(size, axes[:-1], unit)
        units = do.divide_up(outer.nominal, unit)
        blocks = do.divide_up(units, do.ranks(axes[-1:]), f"{name}_block")
        nominal = do.multiply(blocks, unit, f"{name}_block")
        offset = do.multiply(do.coordinate(axes[-1:]), nominal)
        start = do.least(do.add(outer.start, offset), outer.end, f"{name}_start")
        end = do.least(do.add(start, nominal), outer.end, f"{name}_end")
        return Range(start, do.subtract(end, start, f"{name}_extent"), nominal, end)
