"""Writing operations one behind the other: arithmetic of indices, branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import reduce

from xdsl.dialects.arith import AddiOp, AndIOp, ConstantOp, DivUIOp, MuliOp, OrIOp, SubiOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, UnknownLoc, i1, i32
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coconet_ir.dialects.arith import CmpiOp, IndexCastOp, IndexCastUIOp, RemUIOp, SelectOp
from coconet_ir.lowering.kernels.indices import ONE, Size
from coconet_ir.lowering.kernels.nodes import ConstantAttr

Values = Sequence[SSAValue]
INDEX = IndexType()


class Code:
    """The end of a block, or the place before an operation, where operations are put.

    Constants go to the top of the outermost block, each once; so do sizes, computed from the values of `unknown`.
    """

    def __init__(
        self,
        block: Block,
        unknown: Callable[[int], SSAValue],
        *,
        before: Operation | None = None,
        top: Code | None = None,
    ):
        self.block, self._unknown, self._before = block, unknown, before
        self.location: LocationAttr = UnknownLoc() if top is None else top.location
        self.top = self if top is None else top
        self._constants: dict[ConstantAttr, SSAValue] = {}
        self._numbers: dict[int, SSAValue] = {}
        self._sizes: dict[Size, SSAValue] = {}
        self._divisors: dict[Size, SSAValue] = {}

    def put(self, op: Operation) -> SSAValue:
        """Add an operation; its first result."""
        self.do(op)
        return op.results[0]

    def do(self, op: Operation) -> None:
        """Add an operation."""
        op.location = self.location
        if self._before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._before)

    @contextmanager
    def standing_for(self, op: Operation | None) -> Generator[None]:
        """What is put here stands for an operation of the source, in messages and when debugging."""
        before = self.location
        if op is not None:
            self.location = op.location
        try:
            yield
        finally:
            self.location = before

    def inner(self) -> Code:
        """A new block, for the region of an operation to come."""
        code = Code(Block(), self._unknown, top=self.top)
        code.location = self.location
        return code

    def constant(self, value: ConstantAttr) -> SSAValue:
        """A constant."""
        if value not in self.top._constants:
            self.top._constants[value] = self.top.put(ConstantOp(value))
        return self.top._constants[value]

    def number(self, value: int) -> SSAValue:
        """A constant index."""
        if (known := self.top._numbers.get(value)) is None:
            known = self.top._numbers[value] = self.constant(IntegerAttr(value, INDEX))
        return known

    def no(self) -> SSAValue:
        """What is not so."""
        return self.constant(IntegerAttr(0, i1))

    def size(self, size: Size) -> SSAValue:
        """A size, computed at the top."""
        top = self.top
        if size not in top._sizes:
            top._sizes[size] = top.sum([top._term(*term) for term in size.terms])
        return top._sizes[size]

    def _term(self, factors: tuple[int, ...], value: int) -> SSAValue:
        unknown = [self._unknown(factor) for factor in factors]
        return self.product(([self.number(value)] if value != 1 else []) + unknown)

    def sum(self, values: Values) -> SSAValue:
        """The sum of values, 0 of none."""
        total = values[0] if values else self.number(0)
        for value in values[1:]:
            total = self.add(total, value)
        return total

    def product(self, values: Values) -> SSAValue:
        """The product of values, 1 of none."""
        total = values[0] if values else self.number(1)
        for value in values[1:]:
            total = self.mul(total, value)
        return total

    def divisor(self, size: Size) -> SSAValue:
        """A size to divide by; 1 instead of 0, where there is nothing to divide."""
        top = self.top
        if size.value is not None:
            return self.number(max(1, size.value))
        if size not in top._divisors:
            top._divisors[size] = top.larger(top.size(size), top.number(1))
        return top._divisors[size]

    def scaled(self, value: SSAValue, size: Size) -> SSAValue:
        """A value times a size."""
        return value if size == ONE else self.mul(value, self.size(size))

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Add an operation on two values of one type."""
        return self.put(
            kind.create(operands=(a, b), result_types=(a.type,))
        )  # faster than kind(a, b)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a + b`."""
        one, other = _known(a), _known(b)
        if one is not None and other is not None:
            return self.number(one + other)
        return b if one == 0 else a if other == 0 else self.binary(AddiOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a - b`."""
        return self.binary(SubiOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a * b`."""
        one, other = _known(a), _known(b)
        if one is not None and other is not None:
            return self.number(one * other)
        return b if one == 1 else a if other == 1 else self.binary(MuliOp, a, b)

    def quotient(self, a: SSAValue, b: Size) -> SSAValue:
        """`a // b`."""
        if (known := _known(a)) is not None and b.value:
            return self.number(known // b.value)
        return a if b == ONE else self.binary(DivUIOp, a, self.divisor(b))

    def divided(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a // b`, of values that are at least 0 and 1."""
        return self.binary(DivUIOp, a, b)

    def remainder(self, a: SSAValue, b: Size) -> SSAValue:
        """`a % b`."""
        return self.number(0) if b == ONE else self.binary(RemUIOp, a, self.divisor(b))

    def divided_short(self, a: SSAValue, b: Size) -> tuple[SSAValue, SSAValue]:
        """`a // b` and `a % b`, of values that 32 bits hold."""
        number, divisor = (self.put(IndexCastOp(one, i32)) for one in (a, self.divisor(b)))
        quotient = self.put(DivUIOp(number, divisor))
        rest = self.put(SubiOp(number, self.put(MuliOp(quotient, divisor))))
        long, short = (self.put(IndexCastUIOp(one, INDEX)) for one in (quotient, rest))
        return long, short

    def blocks(self, a: SSAValue, size: int) -> SSAValue:
        """How many blocks of a static size hold `a` elements, at least 1."""
        count = self.quotient(self.add(a, self.number(size - 1)), Size.of(size))
        return self.larger(count, self.number(1))

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether `a < b`, of values that are at least 0."""
        return self.put(CmpiOp(a, b, "ult"))

    def at_least(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether `a >= b`, of values that may be negative."""
        return self.put(CmpiOp(a, b, "sge"))

    def at_most(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether `a <= b`, of values that are at least 0."""
        return self.put(CmpiOp(a, b, "ule"))

    def equal(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether `a == b`."""
        return self.put(CmpiOp(a, b, "eq"))

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether both hold."""
        return self.binary(AndIOp, a, b)

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether one holds."""
        return self.binary(OrIOp, a, b)

    def all(self, *conditions: SSAValue | None) -> SSAValue:
        """Whether all of at least one hold; None always does."""
        return reduce(self.both, [one for one in conditions if one is not None])

    def choose(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` if the condition holds, else `no`."""
        return self.put(SelectOp(condition, yes, no))

    def smaller(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The smaller."""
        if (one := _known(a)) is not None and (other := _known(b)) is not None:
            return self.number(min(one, other))
        return self.choose(self.less(a, b), a, b)

    def larger(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The larger."""
        if (one := _known(a)) is not None and (other := _known(b)) is not None:
            return self.number(max(one, other))
        return self.choose(self.less(a, b), b, a)

    def branch(
        self,
        condition: SSAValue,
        yes: Callable[[Code], Values],
        no: Callable[[Code], Values] | None = None,
    ) -> Values:
        """Run one of two bodies, which give values of equal types; without `no` there are none."""
        first = self.inner()
        values = yes(first)
        first.do(YieldOp(*values))
        otherwise = None
        if no is not None:
            second = self.inner()
            second.do(YieldOp(*no(second)))
            otherwise = Region(second.block)
        op = IfOp(condition, [value.type for value in values], Region(first.block), otherwise)
        self.do(op)
        return op.results

    def when(self, condition: SSAValue, body: Callable[[Code], None]) -> None:
        """Run a body if the condition holds."""

        def run(code: Code) -> Values:
            body(code)
            return ()

        self.branch(condition, run)

    def loop(
        self,
        start: SSAValue,
        stop: SSAValue,
        step: SSAValue,
        carried: Values,
        body: Callable[[Code, SSAValue, Values], Values],
    ) -> Values:
        """Run a body from `start` to `stop`; it gives the carried values anew each time."""
        inner = self.inner()
        types: list[Attribute] = [start.type, *(value.type for value in carried)]
        at, *values = [inner.block.insert_arg(type, i) for i, type in enumerate(types)]
        inner.do(YieldOp(*body(inner, at, values)))
        op = ForOp(start, stop, step, carried, Region(inner.block))
        self.do(op)
        return op.results

    def each(
        self,
        start: SSAValue,
        stop: SSAValue,
        step: SSAValue,
        body: Callable[[Code, SSAValue], None],
    ) -> None:
        """Run a body from `start` to `stop`."""

        def run(code: Code, at: SSAValue, carried: Values) -> Values:
            body(code, at)
            return ()

        self.loop(start, stop, step, (), run)


def _known(value: SSAValue) -> int | None:
    """The number that a constant index is, None for anything else."""
    match value.owner:
        case ConstantOp(value=IntegerAttr(value=number)) if value.type == INDEX:
            return number.data
        case _:
            return None
