"""Conversions between types (PTX ISA, section 9.7.9): `cvt` and `cvt.pack`.

Floats are converted by way of double, which holds all of them exactly, and rounded once. An integer of 64 bits that is
rounded to a narrow float is rounded to odd first, to the 53 bits of a double.

PTX leaves the NaN of most conversions open. Here it is that of NVIDIA's devices: the canonical one, but from f64 the
quiet NaN of the same sign and upper payload; f32 and bf16 to f32 without any modifier move the bits, and to tf32 by
`.rna` the upper ones. What `.ftz` flushes is said in `floats.py`.

Refused: .rs (it takes random bits), f4, f6, f8x4, ue8m0 and s2f6 (all sm_100), types b8 to b64.
"""

from __future__ import annotations

from coconet_ir.emu.code.floats import (
    ROUNDINGS,
    canonical,
    flush,
    flush_tiny,
    rounding,
    saturate,
)
from coconet_ir.emu.code.halves import narrow, relu_bits, widen
from coconet_ir.emu.code.helpers import HELPERS
from coconet_ir.emu.code.helpers.formats import FORMATS
from coconet_ir.emu.code.kinds import FLOATS, INTEGERS, take
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.writer import Writer, is_signed, llvm_type
from coconet_ir.emu.ptx.syntax import Instruction, Operand, width

_INTEGERS = ("s8", "u8", *INTEGERS)
_NUMBERS = ("f16", "bf16", *FLOATS)
_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "e4m3x2": "e4m3", "e5m2x2": "e5m2"}


@opcode("cvt")
def _cvt(w: Writer, i: Instruction, m: Modifiers) -> None:
    if m.flag("pack"):
        return _pack(w, i, m)
    source, target = m.type(), m.type()
    if target in _PAIRS:
        return _to_pair(w, i, m, source, target)
    d, a = take(i, m, 2)
    if source in _INTEGERS and target in _INTEGERS:
        result = _between_integers(w, m, source, target, w.value(a, source, i))
    elif source in _INTEGERS and target in _NUMBERS:
        result = _from_integer(w, m, source, target, w.value(a, source, i))
    elif source in _NUMBERS and target in _INTEGERS:
        result = _to_integer(w, m, source, target, _double(w, m, source, a, i))
    elif source in _NUMBERS and target in (*_NUMBERS, "tf32"):
        result = _between_floats(w, m, source, target, a)
    else:
        raise m.refuse(f"converts .{source} to .{target}, which cvt does not")
    w.write(d, target, result, i)


def _between_integers(w: Writer, m: Modifiers, source: str, target: str, value: str) -> str:
    if not m.flag("sat"):
        return w.resize(value, width(source), width(target), is_signed(source))
    wide = w.resize(value, width(source), 128, is_signed(source))
    least, greatest = _range(target)
    low = w.let(f"call i128 @llvm.smax.i128(i128 {wide}, i128 {least})")
    return w.resize(
        w.let(f"call i128 @llvm.smin.i128(i128 {low}, i128 {greatest})"), 128, width(target), False
    )


def _range(type: str) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    n = width(type)
    return (-(1 << n - 1), (1 << n - 1) - 1) if is_signed(type) else (0, (1 << n) - 1)


def _from_integer(w: Writer, m: Modifiers, source: str, target: str, value: str) -> str:
    mode = rounding(m)
    sat = target != "bf16" and m.flag("sat")
    kind = "si" if is_signed(source) else "ui"
    if target in FLOATS and mode == "rn":
        llvm = llvm_type(target)
        result = w.let(f"{kind}tofp i{width(source)} {value} to {llvm}")
        return saturate(w, target, result) if sat else result
    if target == "f64" and width(source) == 64:
        result = w.call(f"{kind}tofp.f64.{mode}", "double", ("i64", value))
    elif width(source) == 64:
        odd = w.call(f"odd.{source}", "i64", ("i64", value))
        result = w.let(f"{kind}tofp i64 {odd} to double")
    else:
        result = w.let(f"{kind}tofp i{width(source)} {value} to double")
    result = saturate(w, "f64", result) if sat else result
    return _from_double(w, target, mode, result)


def _double(w: Writer, m: Modifiers, source: str, a: Operand, i: Instruction) -> str:
    """A float as a double, flushed if the instruction says so."""
    value = w.value(a, source, i)
    if source == "f64":
        return value
    if source != "f32":
        return widen(w, source, value)
    if "ftz" in i.modifiers:
        m.flag("ftz")
        value = flush(w, "f32", value)
    return w.let(f"fpext float {value} to double")


def _from_double(w: Writer, target: str, mode: str, value: str) -> str:
    """A double rounded to a type."""
    if target == "f64":
        return value
    if target != "f32":
        return narrow(w, target, mode, value)
    if mode == "rn":
        return canonical(w, "f32", w.let(f"fptrunc double {value} to float"))
    return w.cast(narrow(w, "f32", mode, value), "f32")


def _to_integer(w: Writer, m: Modifiers, source: str, target: str, value: str) -> str:
    """Rounded to an integer and clamped; NaN is 0, or 1 in the highest bit if a type has 64 bits."""
    mode = m.one_of(_TO_INTEGER)
    if not mode:
        raise m.refuse("does not say how it rounds")
    m.flag("sat")  # it is always so
    n = width(target)
    whole = w.let(f"call double @llvm.{_TO_INTEGER[mode]}.f64(double {value})")
    kind = "fptosi" if is_signed(target) else "fptoui"
    result = w.let(f"call i{n} @llvm.{kind}.sat.i{n}.f64(double {whole})")
    if source != "f64" and n != 64:
        return result
    nan = w.let(f"fcmp uno double {value}, {value}")
    return w.let(f"select i1 {nan}, i{n} {-(1 << n - 1)}, i{n} {result}")


def _between_floats(w: Writer, m: Modifiers, source: str, target: str, a: Operand) -> str:
    i = m.instruction
    if target == "f32" and source in ("f32", "bf16") and not m.left:
        value = w.value(a, source, i)
        return value if source == "f32" else w.call("widen.bf16", "float", ("i16", value))
    value = _double(w, m, source, a, i)
    whole = m.one_of(_TO_INTEGER) if source == target else ""
    exact = _exact(source, target)
    mode = "rn" if exact else _rounding(m, target)
    if whole:
        value = w.let(f"call double @llvm.{_TO_INTEGER[whole]}.f64(double {value})")
    if target in ("f16", *FLOATS) and m.flag("sat"):
        value = saturate(w, "f64", value)
    single = source == "f32" and target in ("f16", "bf16", "tf32")
    relu = single and mode != "rna" and m.flag("relu")
    if single and m.flag("satfinite"):
        mode += ".satfinite"
    if single and f"narrow.{target}.{mode}" not in HELPERS:
        raise m.refuse("has a rounding that .satfinite does not go with")
    result = _from_double(w, target, mode, value)
    if source == "f64" and target != "f64":
        result = _nan_of_double(w, target, value, result)
    if mode == "rna":
        given = w.value(a, source, i)
        nan = w.let(f"fcmp uno float {given}, {given}")
        upper = w.let(f"and i32 {w.uncast(given, source)}, {-(1 << FORMATS[target].low)}")
        result = w.let(f"select i1 {nan}, i32 {upper}, i32 {result}")
    if target == "f32" and ("ftz" in i.modifiers):
        m.flag("ftz")
        result = flush_tiny(w, FORMATS[target], mode, value, target, result)
    return relu_bits(w, width(target), result) if relu else result


def _nan_of_double(w: Writer, target: str, value: str, result: str) -> str:
    """A rounded double; if it is NaN, the quiet one that has its sign and its upper payload."""
    n, llvm, mantissa = width(target), llvm_type(target), FORMATS[target].mantissa
    bits = w.uncast(value, "f64")
    low = w.let(f"and i64 {w.let(f'lshr i64 {bits}, {52 - mantissa}')}, {(1 << n - 1) - 1}")
    quiet = w.let(f"or i64 {low}, {1 << mantissa - 1}")
    sign = w.let(f"and i64 {w.let(f'lshr i64 {bits}, {64 - n}')}, {1 << n - 1}")
    whole = w.let(f"trunc i64 {w.let(f'or i64 {quiet}, {sign}')} to i{n}")
    nan = w.let(f"fcmp uno double {value}, {value}")
    return w.let(f"select i1 {nan}, {llvm} {w.cast(whole, target)}, {llvm} {result}")


def _exact(source: str, target: str) -> bool:
    """Whether a float type has all the numbers of another."""
    return source == target or target == "f64" or (target == "f32" and source in ("f16", "bf16"))


def _rounding(m: Modifiers, target: str) -> str:
    mode = m.one_of(("rn", "rz", "rna") if target == "tf32" else ROUNDINGS)
    if not mode:
        raise m.refuse("does not say how it rounds")
    return mode


def _to_pair(w: Writer, i: Instruction, m: Modifiers, source: str, target: str) -> None:
    """Two numbers into a packed pair: the first of two operands goes high."""
    element = _PAIRS[target]
    mode = rounding(m)
    relu = m.flag("relu")
    if source == "f32":
        d, high, low = take(i, m, 3)
        values = [_double(w, m, source, operand, i) for operand in (low, high)]
    elif source in _PAIRS and source != target and 8 in (width(element), width(source) // 2):
        d, a = take(i, m, 2)
        size = width(source) // 2
        both = w.value(a, source, i)
        upper = w.let(f"lshr i{2 * size} {both}, {size}")
        parts = [w.let(f"trunc i{2 * size} {part} to i{size}") for part in (both, upper)]
        values = [widen(w, _PAIRS[source], part) for part in parts]
    else:
        raise m.refuse(f"converts .{source} to .{target}, which cvt does not")
    if m.flag("satfinite"):
        mode += ".satfinite"
    if f"narrow.{element}.{mode}" not in HELPERS:
        raise m.refuse("rounds to f8 other than by .rn.satfinite")
    n = width(element)
    results = [narrow(w, element, mode, value) for value in values]
    if relu:
        results = [relu_bits(w, n, result) for result in results]
    low, high = (w.let(f"zext i{n} {result} to i{2 * n}") for result in results)
    moved = w.let(f"shl i{2 * n} {high}, {n}")
    w.write(d, target, w.let(f"or i{2 * n} {low}, {moved}"), i)


def _pack(w: Writer, i: Instruction, m: Modifiers) -> None:
    """`cvt.pack.sat.u8.s32.b32 d, a, b, c`: two clamped integers, the second one lowest, below bits of the third."""
    below = m.one_of(("b32",))
    if m.type() != "s32":
        raise m.refuse("packs what is not .s32")
    names = ("u8", "s8", "u4", "s4", "u2", "s2") if below else ("u16", "s16")
    name = m.one_of(names)
    if not name or not m.flag("sat"):
        raise m.refuse("packs to a type that is not known, or without .sat")
    n = int(name[1:])
    least, greatest = (-(1 << n - 1), (1 << n - 1) - 1) if name[0] == "s" else (0, (1 << n) - 1)
    operands = take(i, m, 4 if below else 3)
    parts: list[str] = []
    for operand in operands[1:3]:
        value = w.value(operand, "s32", i)
        value = w.let(f"call i32 @llvm.smax.i32(i32 {value}, i32 {least})")
        value = w.let(f"call i32 @llvm.smin.i32(i32 {value}, i32 {greatest})")
        parts.append(w.let(f"and i32 {value}, {(1 << n) - 1}"))
    result = w.let(f"or i32 {parts[1]}, {w.let(f'shl i32 {parts[0]}, {n}')}")
    if below:
        rest = w.let(f"shl i32 {w.value(operands[3], 'b32', i)}, {2 * n}")
        result = w.let(f"or i32 {result}, {rest}")
    w.write(operands[0], "b32", result, i)
