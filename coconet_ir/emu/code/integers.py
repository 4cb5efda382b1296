"""Arithmetic of integers (PTX ISA, sections 9.7.1 and 9.7.2).

PTX leaves the quotient and the remainder by zero open: both are all ones here, as they are on NVIDIA's devices. The
least number divided by -1 is itself, without a remainder.
"""

from __future__ import annotations

from coconet_ir.emu.code.kinds import INTEGERS, SIGNED, take, typed, values
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.writer import Writer, is_signed
from coconet_ir.emu.ptx.syntax import Instruction, width

PAIRS = ("s16x2", "u16x2")


def _saturating(m: Modifiers, type: str) -> bool:
    """Take .sat, which s32 alone has."""
    return type == "s32" and m.flag("sat")


def _letter(type: str) -> str:
    return "s" if is_signed(type) else "u"


@typed("add", "sub", types=INTEGERS)
def _add(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    carry = width(type) >= 32 and m.flag("cc")
    sat = not carry and _saturating(m, type)
    a, b = values(w, i, m, type, 2)
    n = width(type)
    if carry:
        result = _with_carry(w, i.opcode, n, a, b, None, True, i)
    elif sat:
        result = w.let(f"call i{n} @llvm.s{i.opcode}.sat.i{n}(i{n} {a}, i{n} {b})")
    else:
        result = w.let(f"{i.opcode} i{n} {a}, {b}")
    w.write(i.operands[0], type, result, i)


@typed("addc", "subc", types=("u32", "s32", "u64", "s64"))
def _addc(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The carry is CC.CF: of a subtraction, whether it borrows."""
    keep = m.flag("cc")
    a, b = values(w, i, m, type, 2)
    carry = w.let(f"load i1, ptr {w.carry()}")
    result = _with_carry(w, i.opcode[:3], width(type), a, b, carry, keep, i)
    w.write(i.operands[0], type, result, i)


def _with_carry(
    w: Writer, what: str, n: int, a: str, b: str, carry: str | None, keep: bool, i: Instruction
) -> str:
    """The sum or difference of two integers and, if there is one, a carry; `keep` writes the new one."""
    wide = n + 8
    x, y = (w.let(f"zext i{n} {value} to i{wide}") for value in (a, b))
    result = w.let(f"{what} i{wide} {x}, {y}")
    if carry is not None:
        more = w.let(f"zext i1 {carry} to i{wide}")
        result = w.let(f"{what} i{wide} {result}, {more}")
    if keep:
        high = w.let(f"lshr i{wide} {result}, {n}")
        out = w.let(f"trunc i{wide} {high} to i1")
        w.emit(f"store i1 {out}, ptr {w.carry()}")
    return w.let(f"trunc i{wide} {result} to i{n}")


def product(w: Writer, m: Modifiers, type: str, a: str, b: str) -> tuple[str, str]:
    """The part of a product that .lo, .hi or .wide says, and its type."""
    n = width(type)
    part = m.one_of(("lo", "hi", "wide"))
    if part == "lo":
        return w.let(f"mul i{n} {a}, {b}"), type
    if not part or (part == "wide" and n == 64):
        raise m.refuse(
            "does not say which part of the product it is: .lo, .hi or .wide (to 64 bits)"
        )
    extend = "sext" if is_signed(type) else "zext"
    x, y = (w.let(f"{extend} i{n} {value} to i{2 * n}") for value in (a, b))
    whole = w.let(f"mul i{2 * n} {x}, {y}")
    if part == "wide":
        return whole, f"{type[0]}{2 * n}"
    high = w.let(f"lshr i{2 * n} {whole}, {n}")
    return w.let(f"trunc i{2 * n} {high} to i{n}"), type


@typed("mul", types=INTEGERS)
def _mul(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    a, b = values(w, i, m, type, 2)
    result, wide = product(w, m, type, a, b)
    w.write(i.operands[0], wide, result, i)


@typed("mad", types=INTEGERS)
def _mad(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    d, x, y, z = take(i, m, 4)
    keep = width(type) >= 32 and m.flag("cc")
    result, wide = product(w, m, type, w.value(x, type, i), w.value(y, type, i))
    if keep and wide != type:
        raise m.refuse("has .cc with .wide")
    c = w.value(z, wide, i)
    n = width(wide)
    if keep:
        result = _with_carry(w, "add", n, result, c, None, True, i)
    elif wide == type and "hi" in i.modifiers and _saturating(m, type):
        result = w.let(f"call i{n} @llvm.sadd.sat.i{n}(i{n} {result}, i{n} {c})")
    else:
        result = w.let(f"add i{n} {result}, {c}")
    w.write(d, wide, result, i)


@typed("madc", types=("u32", "s32", "u64", "s64"))
def _madc(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    a, b, c = values(w, i, m, type, 3)
    keep = m.flag("cc")
    result, wide = product(w, m, type, a, b)
    if wide != type:
        raise m.refuse("has .wide")
    carry = w.let(f"load i1, ptr {w.carry()}")
    w.write(i.operands[0], type, _with_carry(w, "add", width(type), result, c, carry, keep, i), i)


@typed("mul24", "mad24", types=("u32", "s32"))
def _mul24(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The low or the high 32 of the 48 bits of the product of the low 24 bits."""
    part = m.one_of(("lo", "hi"))
    if not part:
        raise m.refuse("does not say which part of the product it is: .lo or .hi")
    mad = i.opcode == "mad24"
    sat = mad and part == "hi" and _saturating(m, type)
    read = values(w, i, m, type, 3 if mad else 2)
    right = "ashr" if is_signed(type) else "lshr"
    low = [w.let(f"{right} i32 {w.let(f'shl i32 {value}, 8')}, 8") for value in read[:2]]
    extend = "sext" if is_signed(type) else "zext"
    x, y = (w.let(f"{extend} i32 {value} to i64") for value in low)
    whole = w.let(f"mul i64 {x}, {y}")
    if part == "hi":
        whole = w.let(f"lshr i64 {whole}, 16")
    result = w.let(f"trunc i64 {whole} to i32")
    if sat:
        result = w.let(f"call i32 @llvm.sadd.sat.i32(i32 {result}, i32 {read[2]})")
    elif mad:
        result = w.let(f"add i32 {result}, {read[2]}")
    w.write(i.operands[0], type, result, i)


@typed("div", "rem", types=INTEGERS)
def _div(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """By zero all bits are set: PTX leaves the value open (9.7.1.8), and lanes whose result nobody takes do divide."""
    a, b = values(w, i, m, type, 2)
    n = width(type)
    zero = unsafe = w.let(f"icmp eq i{n} {b}, 0")
    if is_signed(type):  # the least number by -1 has the quotient by 1, and its remainder
        least = w.let(f"icmp eq i{n} {a}, {-(1 << n - 1)}")
        minus = w.let(f"icmp eq i{n} {b}, -1")
        over = w.let(f"and i1 {least}, {minus}")
        unsafe = w.let(f"or i1 {zero}, {over}")
    divisor = w.let(f"select i1 {unsafe}, i{n} 1, i{n} {b}")
    result = w.let(f"{_letter(type)}{i.opcode} i{n} {a}, {divisor}")
    w.write(i.operands[0], type, w.let(f"select i1 {zero}, i{n} -1, i{n} {result}"), i)


@typed("abs", "neg", types=SIGNED)
def _negate(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = values(w, i, m, type, 1)
    n = width(type)
    result = w.let(
        f"sub i{n} 0, {a}" if i.opcode == "neg" else f"call i{n} @llvm.abs.i{n}(i{n} {a}, i1 false)"
    )
    w.write(i.operands[0], type, result, i)


@typed("min", "max", types=INTEGERS)
def _extreme(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    relu = type == "s32" and m.flag("relu")
    a, b = values(w, i, m, type, 2)
    n = width(type)
    result = w.let(f"call i{n} @llvm.{_letter(type)}{i.opcode}.i{n}(i{n} {a}, i{n} {b})")
    if relu:
        result = w.let(f"call i{n} @llvm.smax.i{n}(i{n} {result}, i{n} 0)")
    w.write(i.operands[0], type, result, i)


@typed("add", "min", "max", types=PAIRS)
def _pairs(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    relu = type == "s16x2" and i.opcode != "add" and m.flag("relu")
    a, b = (w.let(f"bitcast i32 {value} to <2 x i16>") for value in values(w, i, m, type, 2))
    if i.opcode == "add":
        result = w.let(f"add <2 x i16> {a}, {b}")
    else:
        name = f"@llvm.{_letter(type)}{i.opcode}.v2i16"
        result = w.let(f"call <2 x i16> {name}(<2 x i16> {a}, <2 x i16> {b})")
    if relu:
        zero = "<2 x i16> zeroinitializer"
        result = w.let(f"call <2 x i16> @llvm.smax.v2i16(<2 x i16> {result}, {zero})")
    w.write(i.operands[0], type, w.let(f"bitcast <2 x i16> {result} to i32"), i)


@typed("sad", types=INTEGERS)
def _sad(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The third operand and the distance of the first two."""
    a, b, c = values(w, i, m, type, 3)
    n, letter = width(type), _letter(type)
    low, high = (
        w.let(f"call i{n} @llvm.{letter}{which}.i{n}(i{n} {a}, i{n} {b})")
        for which in ("min", "max")
    )
    distance = w.let(f"sub i{n} {high}, {low}")
    w.write(i.operands[0], type, w.let(f"add i{n} {c}, {distance}"), i)


@opcode("dp4a", "dp2a")
def _dot(w: Writer, i: Instruction, m: Modifiers) -> None:
    """The third operand and the sum of products of four bytes, or of two 16-bit parts and two bytes."""
    types = [m.type(), m.type()][::-1]
    if not set(types) <= {"u32", "s32"}:
        raise m.refuse("has a type that is not .u32 or .s32")
    size, first = 8, 0
    if i.opcode == "dp2a":
        half = m.one_of(("lo", "hi"))
        if not half:
            raise m.refuse("does not say which bytes it takes: .lo or .hi")
        size, first = 16, 2 if half == "hi" else 0
    a, b, c = values(w, i, m, "b32", 3)
    for k in range(32 // size):
        x = _part(w, a, k * size, size, is_signed(types[0]))
        y = _part(w, b, (first + k) * 8, 8, is_signed(types[1]))
        c = w.let(f"add i32 {c}, {w.let(f'mul i32 {x}, {y}')}")
    w.write(i.operands[0], "b32", c, i)


def _part(w: Writer, value: str, low: int, size: int, signed: bool) -> str:
    """Some bits of an i32, extended to 32."""
    left = w.let(f"shl i32 {value}, {32 - size - low}")
    return w.let(f"{'ashr' if signed else 'lshr'} i32 {left}, {32 - size}")
