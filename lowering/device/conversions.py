"""Conversions between numbers: floats rounded once, integers saturated, floats of 8 bits by their bits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E3M4Type,
    Float8E4M3FNType,
    Float8E4M3Type,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    VectorType,
    bf16,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.ir import Attribute

from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.dialects.llvm_values import ShuffleVectorOp
from coconet_ir.lowering.device.number import Number
from coconet_ir.lowering.device.types import NotLowered


@dataclass(frozen=True)
class Small:
    """A float of 8 bits: a sign, an exponent, `mantissa` bits."""

    mantissa: int
    finite: bool = False
    """Whether there is no infinity, and one NaN: all bits 1 but the sign."""

    @property
    def least_exponent(self) -> int:
        """The exponent of the least normal number."""
        return 2 - (1 << (6 - self.mantissa))

    @property
    def shift(self) -> int:
        """How far to the left its bits stand in an f32."""
        return 23 - self.mantissa

    @property
    def infinity(self) -> int:
        """The bits of infinity; of NaN if there is none."""
        return 0x7F if self.finite else 0x80 - (1 << self.mantissa)

    @property
    def nan(self) -> int:
        """The bits of a NaN."""
        return 0x7F if self.finite else self.infinity | 1 << (self.mantissa - 1)


SMALL: dict[type[Attribute], Small] = {
    Float8E3M4Type: Small(4),
    Float8E4M3FNType: Small(3, finite=True),
    Float8E4M3Type: Small(3),
    Float8E5M2Type: Small(2),
}
"""The floats of 8 bits that kernels convert."""


def small(type: Attribute) -> Small | None:
    """How a float of 8 bits is made, None for a wider one. Raises `NotLowered`."""
    if isinstance(type, Float64Type | Float32Type | Float16Type | BFloat16Type):
        return None
    if (found := SMALL.get(type.__class__)) is None:
        names = ", ".join(str(one.name) for one in SMALL)
        raise NotLowered(f"has {type}, which kernels do not convert; of 8 bits they do {names}")
    return found


def convert(x: Number, source: Attribute, to: Attribute) -> Number:
    """A float of the element type `source` as one of type `to`, rounded once."""
    if source == to:
        return x
    if (kind := small(source)) is not None:
        return convert(_unpack(x, kind), f32, to)
    if (kind := small(to)) is not None:
        return _pack(_rounded_to_odd(x) if source == f64 else x.widened(f32), kind)
    if bits(to) > bits(source):
        return _pairs_widened(x) if source == bf16 and to == f32 else x.widened(to)
    if bits(to) == 16 and source == f64:
        return _rounded_to_odd(x).rounded(to)
    if bits(to) == bits(source):
        return x.widened(f32).rounded(to)
    return x.rounded(to)


def _pairs_widened(x: Number) -> Number:
    """bf16 as f32, whose upper half it is: one operation a lane of pairs, where taking them apart costs one more."""
    if (lanes := x.lanes) % 2:
        return x.widened(f32)
    pairs = x.put(casts.BitcastOp(x.value, VectorType(i32, [lanes // 2])))
    low, high = (pairs << 16).as_float(f32), (pairs & -0x10000).as_float(f32)
    places = [half * lanes // 2 + pair for pair in range(lanes // 2) for half in range(2)]
    return x.put(ShuffleVectorOp(low.value, high.value, places))


def _rounded_to_odd(x: Number) -> Number:
    """An f64 as f32, rounded such that rounding again, to 22 bits or fewer, is as rounding once.

    Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums using proved algorithms", IEEE TC 2008.
    """
    near = x.rounded(f32)
    back = near.widened(f64)
    inexact = back.differs(x) & (x.magnitude() < float("inf"))
    away = inexact & (back.magnitude() > x.magnitude())
    found = near.as_bits() - away.zero_extended(i32)
    return (found | inexact.zero_extended(i32)).as_float(f32)


def _unpack(x: Number, kind: Small) -> Number:
    """A float of 8 bits as f32: its bits in the place of those of an f32, times a power of two."""
    wide = x.zero_extended(i32)
    size = wide & 0x7F
    scale = 2.0 ** (127 - 1 + kind.least_exponent)
    value = (size << kind.shift).as_float(f32) * scale
    value = (size.equals(kind.infinity)).choose(float("inf"), value)
    last = kind.infinity - 1 if kind.finite else kind.infinity
    value = (size > last).choose(float("nan"), value)
    sign = (wide & 0x80) << 24
    return (value.as_bits() | sign).as_float(f32)


def _pack(x: Number, kind: Small) -> Number:
    """An f32 as a float of 8 bits, rounded to nearest even."""
    size = x.magnitude()
    raw = size.as_bits()
    half = (raw >> kind.shift & 1) + ((1 << (kind.shift - 1)) - 1)
    offset = (126 + kind.least_exponent) << kind.mantissa
    normal = (raw + half >> kind.shift) - offset
    # Adding this power of two leaves a subnormal number, rounded, in the last bits.
    magic = 2.0 ** (kind.least_exponent - kind.mantissa + 23)
    subnormal = (size + magic).as_bits() - (size.code.number(magic, size.type)).as_bits()
    found = (size < 2.0**kind.least_exponent).choose(subnormal, normal)
    found = (found > kind.infinity).choose(kind.infinity, found)
    found = x.is_nan().choose(kind.nan, found)
    sign = x.as_bits() >> 24 & 0x80
    return (found | sign).low_bits(i8)


def from_float(x: Number, source: Attribute, to: IntegerType, *, signed: bool) -> Number:
    """A float as an integer, rounded towards 0; the nearest one if it does not fit, 0 for NaN."""
    if bits(source) < 32:
        x = convert(x, source, f32)
    width = bits(to)
    low = -(2.0 ** (width - 1)) if signed else 0.0
    high = 2.0 ** (width - 1) if signed else 2.0**width
    op = casts.FPToSIOp if signed else casts.FPToUIOp
    whole = x.cast(op, to if width >= 32 else i32).low_bits(to)
    return whole.otherwise_at([(x >= high, int(high) - 1), (x <= low, int(low)), (x.is_nan(), 0)])


def to_float(x: Number, to: AnyFloat, *, signed: bool) -> Number:
    """An integer as a float, rounded once."""
    if x.bits < 32:
        x = x.sign_extended(i32) if signed else x.zero_extended(i32)
        narrow = True
    else:
        narrow = False
    op = casts.SIToFPOp if signed else casts.UIToFPOp
    if bits(to) >= 32:
        return x.cast(op, to)
    if narrow:
        return convert(x.cast(op, f32), f32, to)
    if x.bits > 32:
        x = _sticky(x, signed)
    return convert(x.cast(op, f64), f64, to)


def _sticky(x: Number, signed: bool) -> Number:
    """An integer that an f64 holds, and that is rounded to 16 bits or fewer as the given one."""
    bound = 1 << 52
    large = (x > bound) | (x < -bound) if signed else ~x.below(bound + 1)
    rest = (x & 0xFFF).differs(0).choose(x.code.number(0x800, x.type), 0)
    return large.choose(x & ~0xFFF | rest, x)


def resized(x: Number, to: IntegerType, *, signed: bool) -> Number:
    """An integer with another number of bits."""
    if bits(to) == x.bits:
        return x
    if bits(to) < x.bits:
        return x.low_bits(to)
    return x.sign_extended(to) if signed else x.zero_extended(to)
