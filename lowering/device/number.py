"""Formulas: operations of `llvm` written as arithmetic of Python, on one value or on each lane of a vector.

    low = x - n * LN2        two operations, neither contracted with the other
    n.fma(-LN2, x)           one that rounds once

Numbers of Python are constants of the other operand's type. No operation here is approximate, so a formula has the
same bits on every device and on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnknownLoc,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coconet_ir.dialects import llvm_arith as arith
from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.dialects import llvm_intrinsics as intrinsics
from coconet_ir.dialects.elementwise import element, with_element
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.dialects.llvm_branches import BrOp, CondBrOp
from coconet_ir.dialects.llvm_functions import InlineAsmOp
from coconet_ir.dialects.llvm_types import is_float
from coconet_ir.dialects.llvm_values import ConstantOp, ExtractElementOp


@dataclass
class Code:
    """The end of a block of a function, where operations are put. Constants go to the first block, each once."""

    body: Region
    block: Block
    location: LocationAttr = field(default_factory=UnknownLoc)
    _constants: dict[tuple[Attribute, float | str], SSAValue] = field(
        default_factory=dict[tuple[Attribute, float | str], SSAValue]
    )
    _last_constant: Operation | None = None

    def put(self, op: Operation) -> SSAValue:
        """Add an operation; its first result."""
        self.do(op)
        return op.results[0]

    def do(self, op: Operation) -> None:
        """Add an operation."""
        op.location = self.location
        self.block.add_op(op)

    def enter(self, block: Block) -> None:
        """Go on in a new block, behind all others."""
        self.body.add_block(block)
        self.block = block

    def constant(self, value: float, type: Attribute) -> SSAValue:
        """A constant, in each lane if the type is a vector."""
        key = (type, value if value else str(value))  # -0.0 equals 0.0
        if key not in self._constants:
            op = ConstantOp(_constant(value, type), type)
            first = self.body.blocks[0]
            if self._last_constant is not None:
                first.insert_op_after(op, self._last_constant)
            elif first.first_op is not None:
                first.insert_op_before(op, first.first_op)
            else:
                first.add_op(op)
            self._last_constant = op
            self._constants[key] = op.res
        return self._constants[key]

    def unless(self, sure: Number, value: Number, other: Callable[[], Number]) -> Number:
        """A value if an i1 holds, else what `other` computes, in a block of its own.

        What was loaded before stays before: LLVM would move loads to where they are used, behind the branch.
        """
        self.do(InlineAsmOp("", "~{memory}", [], has_side_effects=True))
        apart, after = Block(), Block(arg_types=[value.type])
        self.do(CondBrOp(sure.value, after, (value.value,), apart, ()))
        self.enter(apart)
        self.do(BrOp(after, other().value))
        self.enter(after)
        return Number(self, after.args[0])

    def number(self, value: float, type: Attribute) -> Number:
        """A constant."""
        return Number(self, self.constant(value, type))

    def where(
        self, rare: Number, rarely: Callable[[], Sequence[Number]], usually: Sequence[Number]
    ) -> list[Number]:
        """`rarely()` in the lanes where an i1 is true, else `usually`; a branch skips the former where no lane is."""
        found, after = Block(), Block(arg_types=[number.type for number in usually])
        self.do(CondBrOp(rare.any_lane(), found, (), after, [number.value for number in usually]))
        self.enter(found)
        pairs = zip(rarely(), usually, strict=True)
        self.do(BrOp(after, *(rare.choose(yes, no).value for yes, no in pairs)))
        self.enter(after)
        return [Number(self, argument) for argument in after.args]


def _constant(value: float, type: Attribute) -> Attribute:
    single = element(type)
    if is_float(single):
        float_ = FloatAttr(value, cast(AnyFloat, single))
        if type == single:
            return float_
        vector = cast("VectorType[AnyFloat]", type)
        return DenseIntOrFPElementsAttr.from_list(vector, [float_.value.data])
    integer = IntegerAttr(int(value), cast(IntegerType, single))
    if type == single:
        return integer
    vector = cast("VectorType[IntegerType]", type)
    return DenseIntOrFPElementsAttr.from_list(vector, [integer.value.data])


@dataclass(frozen=True, eq=False)
class Number:
    """A value of `llvm` that formulas take: an integer, a float, or a vector of them."""

    code: Code
    value: SSAValue

    @property
    def type(self) -> Attribute:
        """The type of the value."""
        return self.value.type

    @property
    def bits(self) -> int:
        """The bits of the value, of one lane of a vector."""
        return bits(self.type)

    @property
    def lanes(self) -> int:
        """The lanes of a vector, 1 for a scalar."""
        type = self.type
        return (
            cast(VectorType[Attribute], type).get_shape()[0] if type.__class__ is VectorType else 1
        )

    @property
    def is_float(self) -> bool:
        """Whether this is a float."""
        return is_float(element(self.type))

    def like(self, value: Number | float) -> SSAValue:
        """An operand beside this one."""
        return value.value if isinstance(value, Number) else self.code.constant(value, self.type)

    def put(self, op: Operation) -> Number:
        """Add an operation; its first result."""
        return Number(self.code, self.code.put(op))

    def _binary(
        self,
        other: Number | float,
        float_op: type[arith.FloatBinary],
        integer_op: type[arith.IntegerBinary],
    ) -> Number:
        return self.put((float_op if self.is_float else integer_op)(self.value, self.like(other)))

    def __add__(self, other: Number | float) -> Number:
        return self._binary(other, arith.FAddOp, arith.AddOp)

    def __sub__(self, other: Number | float) -> Number:
        return self._binary(other, arith.FSubOp, arith.SubOp)

    def __mul__(self, other: Number | float) -> Number:
        return self._binary(other, arith.FMulOp, arith.MulOp)

    def __rsub__(self, other: float) -> Number:
        return self.code.number(other, self.type) - self

    def __rtruediv__(self, other: float) -> Number:
        return self.code.number(other, self.type) / self

    def __truediv__(self, other: Number | float) -> Number:
        return self.put(arith.FDivOp(self.value, self.like(other)))

    def __neg__(self) -> Number:
        return self.put(arith.FNegOp(self.value)) if self.is_float else 0 - self

    def fma(self, factor: Number | float, term: Number | float) -> Number:
        """`self * factor + term`, rounded once."""
        return self.put(intrinsics.FMAOp(self.value, self.like(factor), self.like(term)))

    def polynomial(self, *coefficients: float) -> Number:
        """The polynomial with these coefficients, the highest power first, by Horner's rule."""
        total: Number | None = None
        for coefficient in coefficients:
            if total is None:
                total = self.code.number(coefficient, self.type)
            else:
                total = total.fma(self, coefficient)
        assert total is not None
        return total

    # Integers

    def integer(self, op: type[arith.IntegerBinary], other: Number | float) -> Number:
        """An operation on this integer and another."""
        return self.put(op(self.value, self.like(other)))

    def __and__(self, other: Number | float) -> Number:
        return self.integer(arith.AndOp, other)

    def __or__(self, other: Number | float) -> Number:
        return self.put(arith.OrOp(self.value, self.like(other)))

    def __xor__(self, other: Number | float) -> Number:
        return self.integer(arith.XOrOp, other)

    def __lshift__(self, other: Number | float) -> Number:
        return self.integer(arith.ShlOp, other)

    def __rshift__(self, other: Number | float) -> Number:
        """Shift to the right; zeros come in."""
        return self.integer(arith.LShrOp, other)

    def shift_signed(self, other: Number | float) -> Number:
        """Shift to the right; the sign comes in."""
        return self.integer(arith.AShrOp, other)

    def __invert__(self) -> Number:
        return self ^ (1 if self.bits == 1 else -1)

    # Comparisons; of floats they are false where one is NaN

    def compare(self, ordered: str, signed: str, other: Number | float) -> Number:
        """An i1, by the predicate for floats or for integers."""
        if self.is_float:
            return self.put(arith.FCmpOp(ordered, self.value, self.like(other)))
        return self.put(arith.ICmpOp(signed, self.value, self.like(other)))

    def __lt__(self, other: Number | float) -> Number:
        return self.compare("olt", "slt", other)

    def __le__(self, other: Number | float) -> Number:
        return self.compare("ole", "sle", other)

    def __gt__(self, other: Number | float) -> Number:
        return self.compare("ogt", "sgt", other)

    def __ge__(self, other: Number | float) -> Number:
        return self.compare("oge", "sge", other)

    def equals(self, other: Number | float) -> Number:
        """Whether both are equal."""
        return self.compare("oeq", "eq", other)

    def differs(self, other: Number | float) -> Number:
        """Whether they are not equal; true with NaN."""
        return self.compare("une", "ne", other)

    def below(self, other: Number | float) -> Number:
        """Whether this unsigned integer is less."""
        return self.put(arith.ICmpOp("ult", self.value, self.like(other)))

    def is_nan(self) -> Number:
        """Whether this float is NaN."""
        return self.put(arith.FCmpOp("uno", self.value, self.value))

    def choose(self, yes: Number | float, no: Number | float) -> Number:
        """`yes` where this i1 is true, else `no`; one of them is no constant."""
        typed = yes if isinstance(yes, Number) else no
        assert isinstance(typed, Number)
        return self.put(arith.SelectOp(self.value, typed.like(yes), typed.like(no)))

    def any_lane(self) -> SSAValue:
        """Whether this i1 is true, in any lane of a vector."""
        if element(self.type) == self.type:
            return self.value
        lanes = cast("VectorType[IntegerType]", self.type).element_count()
        first, *others = (
            self.put(ExtractElementOp(self.value, self.code.constant(lane, i32)))
            for lane in range(lanes)
        )
        for lane in others:
            first |= lane
        return first.value

    # Conversions

    def cast(self, op: type[casts.Cast], to: Attribute) -> Number:
        """Convert to elements `to`; as it is if it has them."""
        if element(self.type) == to:
            return self
        return self.put(op(self.value, with_element(self.type, to)))

    def as_bits(self) -> Number:
        """The bits of a float as an integer."""
        return self.cast(casts.BitcastOp, IntegerType(self.bits))

    def as_float(self, to: Attribute) -> Number:
        """The float of these bits."""
        return self.cast(casts.BitcastOp, to)

    def widened(self, to: Attribute) -> Number:
        """This float with more bits, exactly."""
        return self.cast(casts.FPExtOp, to)

    def rounded(self, to: Attribute) -> Number:
        """This float with fewer bits, rounded once."""
        return self.cast(casts.FPTruncOp, to)

    def zero_extended(self, to: Attribute) -> Number:
        """This unsigned integer with more bits."""
        return self.cast(casts.ZExtOp, to)

    def sign_extended(self, to: Attribute) -> Number:
        """This integer with more bits."""
        return self.cast(casts.SExtOp, to)

    def low_bits(self, to: Attribute) -> Number:
        """The low bits of this integer."""
        return self.cast(casts.TruncOp, to)

    # Functions

    def function(self, op: type[intrinsics.FloatFunction]) -> Number:
        """A function of this float."""
        return self.put(op(self.value))

    def smaller(self, other: Number) -> Number:
        """The smaller of two floats; NaN if one is."""
        return self.put(intrinsics.MinimumOp(self.value, other.value))

    def larger(self, other: Number) -> Number:
        """The larger of two floats; NaN if one is."""
        return self.put(intrinsics.MaximumOp(self.value, other.value))

    def magnitude(self) -> Number:
        """The float without its sign."""
        return self.function(intrinsics.FAbsOp)

    def root(self) -> Number:
        """The square root, rounded once."""
        return self.function(intrinsics.SqrtOp)

    def signed_as(self, other: Number) -> Number:
        """The float with the sign of another one."""
        return self.put(intrinsics.CopySignOp(self.value, other.value))

    def otherwise_at(self, cases: Sequence[tuple[Number, Number | float]]) -> Number:
        """This number, but another one where a condition holds; the last condition that does counts."""
        result = self
        for condition, value in cases:
            result = condition.choose(value, result)
        return result
