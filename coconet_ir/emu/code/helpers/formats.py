"""Conversions between double and the narrow formats, by integers alone.

LLVM's own half and bfloat types call library functions that the host may lack. All values of the narrow formats are
doubles, so an operation on them is one on doubles that is exact or rounded to odd, and one rounding here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A format that a double is rounded to."""

    name: str
    bits: int
    exponent: int
    mantissa: int
    greatest: int
    """The greatest finite number, as bits."""
    infinity: int
    """The bits of infinity; of a format without one, any above `greatest`."""
    nan: int
    """The canonical NaN."""
    low: int = 0
    """The bits below the mantissa that are zero: tf32 lies in the upper 19 of 32."""


FORMATS = {
    format.name: format
    for format in (
        Format("f16", 16, 5, 10, 0x7BFF, 0x7C00, 0x7FFF),
        Format("bf16", 16, 8, 7, 0x7F7F, 0x7F80, 0x7FFF),
        Format("tf32", 32, 8, 10, 0x3FBFF, 0x3FC00, 0x3FFFF, low=13),
        Format("f32", 32, 8, 23, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF),
        Format("e4m3", 8, 4, 3, 0x7E, 0x7F, 0x7F),
        Format("e5m2", 8, 5, 2, 0x7B, 0x7C, 0x7F),
    )
}

_UP = {
    "rn": "%above = icmp ugt i64 %rest, %half\n"
    "%tie = icmp eq i64 %rest, %half\n%odd = trunc i64 %kept to i1\n"
    "%even = and i1 %tie, %odd\n%up = or i1 %above, %even",
    "rna": "%up = icmp uge i64 %rest, %half",
    "rz": "%up = or i1 false, false",
    "rm": "%inexact = icmp ne i64 %rest, 0\n%up = and i1 %negative, %inexact",
    "rp": "%inexact = icmp ne i64 %rest, 0\n%up = icmp ugt i1 %inexact, %negative",
}
"""Whether the magnitude is rounded up, from the bits that are cut off."""


def _narrow(format: Format, mode: str, finite: bool) -> str:
    """Round a double to a format. `finite`: infinities and what is too great become the greatest number.

    `kept` are the bits of the significand that the format has room for, with the leading one; a carry out of them moves
    into the exponent by itself.
    """
    least = 1023 + 2 - (1 << format.exponent - 1)  # the exponent of the least normal number
    greatest, infinity = format.greatest, format.greatest if finite else format.infinity
    beyond = {"rz": (greatest, greatest), "rm": (infinity, greatest), "rp": (greatest, infinity)}
    if_negative, if_positive = beyond.get(mode, (infinity, infinity))
    name = f"narrow.{format.name}.{mode}" + ".satfinite" * finite
    return f"""define internal i{format.bits} @{name}(double %x) {{
%bits = bitcast double %x to i64
%negative = icmp slt i64 %bits, 0
%size = and i64 %bits, {(1 << 63) - 1}
%e = lshr i64 %size, 52
%tiny = icmp eq i64 %e, 0
%lead = select i1 %tiny, i64 0, i64 {1 << 52}
%fraction = and i64 %size, {(1 << 52) - 1}
%significand = or i64 %fraction, %lead
%above.least = sub i64 %e, {least}
%below.least = sub i64 0, %above.least
%field = call i64 @llvm.smax.i64(i64 %above.least, i64 0)
%lost = call i64 @llvm.smax.i64(i64 %below.least, i64 0)
%cut.all = add i64 %lost, {52 - format.mantissa}
%cut = call i64 @llvm.umin.i64(i64 %cut.all, i64 63)
%kept = lshr i64 %significand, %cut
%kept.back = shl i64 %kept, %cut
%rest = sub i64 %significand, %kept.back
%before = sub i64 %cut, 1
%half = shl i64 1, %before
{_UP[mode]}
%carry = zext i1 %up to i64
%rounded = add i64 %kept, %carry
%exponent = shl i64 %field, {format.mantissa}
%number = add i64 %exponent, %rounded
%great = icmp ugt i64 %number, {greatest}
%beyond = select i1 %negative, i64 {if_negative}, i64 {if_positive}
%clamped = select i1 %great, i64 %beyond, i64 %number
%infinite = icmp eq i64 %size, {0x7FF << 52}
%ordered = select i1 %infinite, i64 {infinity}, i64 %clamped
%sign = select i1 %negative, i64 {1 << format.bits - 1 - format.low}, i64 0
%signed = or i64 %ordered, %sign
%nan = icmp ugt i64 %size, {0x7FF << 52}
%result = select i1 %nan, i64 {format.nan}, i64 %signed
%placed = shl i64 %result, {format.low}
%bits.out = trunc i64 %placed to i{format.bits}
ret i{format.bits} %bits.out
}}"""


_WIDEN = {
    # The exponent is put right by an exact multiplication, which also takes subnormal numbers.
    "widen.f16": """define internal float @widen.f16(i16 %x) {
%bits = zext i16 %x to i32
%size = and i32 %bits, 32767
%moved = shl i32 %size, 13
%small = bitcast i32 %moved to float
%scaled = fmul float %small, 0x46F0000000000000
%scaled.bits = bitcast float %scaled to i32
%special = icmp uge i32 %size, 31744
%all = select i1 %special, i32 2139095040, i32 0
%number = or i32 %scaled.bits, %all
%negative = icmp slt i16 %x, 0
%sign = select i1 %negative, i32 -2147483648, i32 0
%signed = or i32 %number, %sign
%nan = icmp ugt i32 %size, 31744
%result = select i1 %nan, i32 2147483647, i32 %signed
%float = bitcast i32 %result to float
ret float %float
}""",
    "widen.bf16": """define internal float @widen.bf16(i16 %x) {
%bits = zext i16 %x to i32
%moved = shl i32 %bits, 16
%float = bitcast i32 %moved to float
ret float %float
}""",
    "widen.e5m2": """define internal float @widen.e5m2(i8 %x) {
%bits = zext i8 %x to i16
%moved = shl i16 %bits, 8
%float = call float @widen.f16(i16 %moved)
ret float %float
}""",
    "widen.e4m3": """define internal float @widen.e4m3(i8 %x) {
%bits = zext i8 %x to i32
%size = and i32 %bits, 127
%moved = shl i32 %size, 20
%small = bitcast i32 %moved to float
%scaled = fmul float %small, 0x4770000000000000
%number = bitcast float %scaled to i32
%negative = icmp slt i8 %x, 0
%sign = select i1 %negative, i32 -2147483648, i32 0
%signed = or i32 %number, %sign
%nan = icmp eq i32 %size, 127
%result = select i1 %nan, i32 2147483647, i32 %signed
%float = bitcast i32 %result to float
ret float %float
}""",
}

_ODD = {
    # Of an integer that a double does not hold, the 53 highest bits, the last of which is set if others were.
    **{
        f"odd.{type}": f"""define internal i64 @odd.{type}(i64 %x) {{
%size = {size}
%great = icmp ugt i64 %size, {1 << 53}
%low = and i64 %x, 2047
%carry = add i64 %low, 2047
%sticky = or i64 %x, %carry
%cut = and i64 %sticky, -2048
%result = select i1 %great, i64 %cut, i64 %x
ret i64 %result
}}"""
        for type, size in (
            ("s64", "call i64 @llvm.abs.i64(i64 %x, i1 false)"),
            ("u64", "or i64 %x, 0"),
        )
    },
    # Knuth's exact error of a sum; if it is not zero, an even sum moves to its odd neighbour towards the exact value.
    # Rounding that to fewer than 51 bits gives what rounding the exact value once gives.
    "fma.odd": """define internal double @fma.odd(double %a, double %b, double %c) {
%p = fmul double %a, %b
%s = fadd double %p, %c
%c.seen = fsub double %s, %p
%p.seen = fsub double %s, %c.seen
%p.rest = fsub double %p, %p.seen
%c.rest = fsub double %c, %c.seen
%rest = fadd double %p.rest, %c.rest
%inexact = fcmp one double %rest, 0.0
%bits = bitcast double %s to i64
%odd = trunc i64 %bits to i1
%settled = xor i1 %inexact, true
%keep = or i1 %settled, %odd
%rest.bits = bitcast double %rest to i64
%signs = xor i64 %bits, %rest.bits
%inward = icmp slt i64 %signs, 0
%step = select i1 %inward, i64 -1, i64 1
%moved = add i64 %bits, %step
%result = select i1 %keep, i64 %bits, i64 %moved
%double = bitcast i64 %result to double
ret double %double
}""",
}

MODES = {
    "f16": ("rn", "rz", "rm", "rp"),
    "bf16": ("rn", "rz", "rm", "rp"),
    "f32": ("rz", "rm", "rp"),
    "tf32": ("rn", "rz", "rna"),
}
"""How `narrow` rounds to a format; besides, it rounds to f8 by rn.satfinite."""

HELPERS: Mapping[str, str] = {
    **_WIDEN,
    **_ODD,
    **{
        f"narrow.{name}.{mode}": _narrow(FORMATS[name], mode, False)
        for name, modes in MODES.items()
        for mode in modes
    },
    **{
        f"narrow.{name}.{mode}.satfinite": _narrow(FORMATS[name], mode, True)
        for name, modes in {**MODES, "e4m3": ("rn",), "e5m2": ("rn",)}.items()
        for mode in modes
        if mode in ("rn", "rz", "rna")
    },
}
