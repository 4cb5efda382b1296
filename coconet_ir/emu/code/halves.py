"""Arithmetic of f16, bf16 and pairs of them (PTX ISA, sections 9.7.4 and 9.7.5), but for approximations.

Operands become doubles, in which sums and products of two are exact or round as the exact ones would; the sum of `fma`
is rounded to odd. One rounding to the format follows. NaN is 0x7fff, also of `neg` and `abs`: PTX leaves it open, and
NVIDIA's devices do so. What `.ftz` flushes is said in `floats.py`.

Refused: `.oob` (sm_100), `.ftz` and `.sat` of bf16, which PTX does not have.
"""

from __future__ import annotations

from collections.abc import Callable

from coconet_ir.emu.code.floats import (
    ROUNDINGS,
    extreme,
    finish,
    flush_tiny,
    rounded,
    rounding,
    saturate,
)
from coconet_ir.emu.code.helpers.formats import FORMATS
from coconet_ir.emu.code.kinds import HALVES, take, typed, values
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction, width


def lanes(w: Writer, type: str, value: str) -> list[str]:
    """The one or two elements of a value as i16, the low one first."""
    if width(type) == 16:
        return [value]
    high = w.let(f"lshr i32 {value}, 16")
    return [w.let(f"trunc i32 {part} to i16") for part in (value, high)]


def join(w: Writer, type: str, parts: list[str]) -> str:
    """A value of one or two elements."""
    if width(type) == 16:
        return parts[0]
    low, high = (w.let(f"zext i16 {part} to i32") for part in parts)
    moved = w.let(f"shl i32 {high}, 16")
    return w.let(f"or i32 {low}, {moved}")


def by_lane(
    w: Writer, type: str, sources: list[str], operation: Callable[[str, list[str]], str]
) -> str:
    """What an operation on elements makes of values; it is given the type of an element."""
    element = type.removesuffix("x2")
    columns = zip(*(lanes(w, type, source) for source in sources), strict=True)
    return join(w, type, [operation(element, list(column)) for column in columns])


def widen(w: Writer, element: str, value: str) -> str:
    """An element as a double."""
    single = w.call(f"widen.{element}", "float", (f"i{width(element)}", value))
    return w.let(f"fpext float {single} to double")


def narrow(w: Writer, element: str, mode: str, value: str) -> str:
    """A double rounded to an element."""
    return w.call(f"narrow.{element}.{mode}", f"i{width(element)}", ("double", value))


def flush_half(w: Writer, element: str, value: str) -> str:
    """An element, with a zero of its sign in place of a subnormal number."""
    size = w.let(f"and i16 {value}, 32767")
    small = w.let(f"icmp ult i16 {size}, {1 << FORMATS[element].mantissa}")
    sign = w.let(f"and i16 {value}, -32768")
    return w.let(f"select i1 {small}, i16 {sign}, i16 {value}")


def relu_bits(w: Writer, bits: int, value: str) -> str:
    """A number, with +0 in place of a negative one; `value` is a NaN only if that is canonical."""
    negative = w.let(f"icmp slt i{bits} {value}, 0")
    return w.let(f"select i1 {negative}, i{bits} 0, i{bits} {value}")


def _takes(m: Modifiers, type: str, name: str) -> bool:
    """Take a modifier that f16 has and bf16 has not."""
    return type.startswith("f16") and m.flag(name)


@typed("add", "sub", "mul", "fma", types=HALVES)
def _arithmetic(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    fused = i.opcode == "fma"
    if type in ("f16", "bf16") and i.opcode != "mul" and m.flag("f32"):
        return _mixed(w, i, m, type)
    if not m.flag("rn") and fused:
        raise m.refuse("does not say how it rounds")
    ftz, sat = _takes(m, type, "ftz"), _takes(m, type, "sat")
    relu = fused and not sat and m.flag("relu")

    def operation(element: str, column: list[str]) -> str:
        if ftz:
            column = [flush_half(w, element, value) for value in column]
        wide = [widen(w, element, value) for value in column]
        if fused:
            result = w.call("fma.odd", "double", *(("double", value) for value in wide))
        else:
            result = w.let(f"f{i.opcode} double {', '.join(wide)}")
        if ftz:
            result = flush_tiny(w, FORMATS[element], "rn", result, "f64", result)
        result = narrow(w, element, "rn", saturate(w, "f64", result) if sat else result)
        return relu_bits(w, 16, result) if relu else result

    read = values(w, i, m, type, 3 if fused else 2)
    w.write(i.operands[0], type, by_lane(w, type, read, operation), i)


def _mixed(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """`add.f32.f16 d, a, c`, `fma.rn.f32.f16 d, a, b, c`: operands but the last are halves, all else is f32."""
    mode = rounding(m) if i.opcode == "fma" else m.one_of(ROUNDINGS, "rn")
    sat = m.flag("sat")
    d, *halves, c = take(i, m, 4 if i.opcode == "fma" else 3)
    wide = [
        w.call(f"widen.{type}", "float", ("i16", w.value(operand, type, i))) for operand in halves
    ]
    result = rounded(w, i.opcode, "f32", mode, [*wide, w.value(c, "f32", i)])
    w.write(d, "f32", finish(w, "f32", result, sat=sat), i)


@typed("neg", "abs", types=HALVES)
def _sign(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    ftz = _takes(m, type, "ftz")

    def operation(element: str, column: list[str]) -> str:
        value = flush_half(w, element, column[0]) if ftz else column[0]
        size = w.let(f"and i16 {value}, 32767")
        nan = w.let(f"icmp ugt i16 {size}, {FORMATS[element].infinity}")
        result = w.let(f"xor i16 {value}, -32768") if i.opcode == "neg" else size
        return w.let(f"select i1 {nan}, i16 {FORMATS[element].nan}, i16 {result}")

    w.write(i.operands[0], type, by_lane(w, type, values(w, i, m, type, 1), operation), i)


@typed("min", "max", types=HALVES)
def _extreme(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    ftz, nan, xor = _takes(m, type, "ftz"), m.flag("NaN"), m.flag("xorsign")
    if xor and not m.flag("abs"):
        raise m.refuse("has .xorsign without .abs")

    def operation(element: str, column: list[str]) -> str:
        if ftz:
            column = [flush_half(w, element, value) for value in column]
        signs = w.let(f"xor i16 {column[0]}, {column[1]}")
        if xor:
            column = [w.let(f"and i16 {value}, 32767") for value in column]
        a, b = (widen(w, element, value) for value in column)
        result = extreme(w, i.opcode, "f64", a, b, nan)
        if xor:
            sign = w.let(f"sitofp i16 {signs} to double")
            result = w.let(f"call double @llvm.copysign.f64(double {result}, double {sign})")
        return narrow(w, element, "rn", result)

    read = values(w, i, m, type, 2)
    w.write(i.operands[0], type, by_lane(w, type, read, operation), i)
