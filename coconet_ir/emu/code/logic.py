"""Logic and shifts (PTX ISA, section 9.7.8)."""

from __future__ import annotations

from coconet_ir.emu.code.kinds import BITS, INTEGERS, take, typed, values
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer, is_signed
from coconet_ir.emu.ptx.syntax import Instruction, Integer, Pair, width

LOGIC = ("pred", *BITS)


@typed("and", "or", "xor", types=LOGIC)
def _two(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    a, b = values(w, i, m, type, 2)
    w.write(i.operands[0], type, w.let(f"{i.opcode} i{width(type)} {a}, {b}"), i)


@typed("not", types=LOGIC)
def _not(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = values(w, i, m, type, 1)
    w.write(i.operands[0], type, w.let(f"xor i{width(type)} {a}, -1"), i)


@typed("cnot", types=BITS)
def _cnot(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """1 for zero, else 0."""
    (a,) = values(w, i, m, type, 1)
    zero = w.let(f"icmp eq i{width(type)} {a}, 0")
    w.write(i.operands[0], type, w.let(f"zext i1 {zero} to i{width(type)}"), i)


@typed("lop3", types=("b32",))
def _lop3(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """Bit k of the table is the result where the bits of a, b, c are the binary digits of k.

    `lop3.or d|p, a, b, c, table, q` also tells whether the result is not zero, `or` or `and` q.
    """
    combine = m.one_of(("or", "and"))
    d, *read, table = take(i, m, 6 if combine else 5)[:5]
    if bool(combine) != isinstance(d, Pair):
        raise m.refuse("must have two results, d|p, with .or or .and and only then")
    if not isinstance(table, Integer) or not 0 <= table.value < 256:
        raise m.refuse("has no table of 8 bits")
    given = [w.value(operand, type, i) for operand in read]
    inverse = [w.let(f"xor i32 {value}, -1") for value in given]
    result = "0"
    for k in range(8):
        if table.value >> k & 1:
            a, b, c = (given[j] if k >> 2 - j & 1 else inverse[j] for j in range(3))
            term = w.let(f"and i32 {w.let(f'and i32 {a}, {b}')}, {c}")
            result = w.let(f"or i32 {result}, {term}")
    if isinstance(d, Pair):
        some = w.let(f"icmp ne i32 {result}, 0")
        q = w.value(i.operands[5], "pred", i)
        w.write(d.second, "pred", w.let(f"{combine} i1 {some}, {q}"), i)
        d = d.first
    w.write(d, type, result, i)


def shift(w: Writer, left: bool, type: str, a: str, amount: str) -> str:
    """A value shifted by an amount of 32 bits; one of the width or more leaves nothing, or only the sign."""
    n = width(type)
    inside = w.let(f"icmp ult i32 {amount}, {n}")
    signed = is_signed(type) and not left
    safe = w.let(f"select i1 {inside}, i32 {amount}, i32 {n - 1}")
    by = w.resize(safe, 32, n, False)
    moved = w.let(f"{'shl' if left else 'ashr' if signed else 'lshr'} i{n} {a}, {by}")
    return moved if signed else w.let(f"select i1 {inside}, i{n} {moved}, i{n} 0")


@typed("shl", types=BITS)
@typed("shr", types=(*BITS, *INTEGERS))
def _shift(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    d, a, b = take(i, m, 3)
    result = shift(w, i.opcode == "shl", type, w.value(a, type, i), w.value(b, "u32", i))
    w.write(d, type, result, i)


@typed("shf", types=("b32",))
def _funnel(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The high word of b:a shifted left, or the low word of it shifted right."""
    way = m.one_of(("l", "r"))
    if not way:
        raise m.refuse("does not say where it shifts: .l or .r")
    left = way == "l"
    mode = m.one_of(("clamp", "wrap"))
    if not mode:
        raise m.refuse("does not say what becomes of large amounts: .clamp or .wrap")
    a, b, c = values(w, i, m, type, 3)
    low, high = (w.let(f"zext i32 {value} to i64") for value in (a, b))
    both = w.let(f"or i64 {low}, {w.let(f'shl i64 {high}, 32')}")
    if mode == "clamp":
        amount = w.let(f"call i32 @llvm.umin.i32(i32 {c}, i32 32)")
    else:
        amount = w.let(f"and i32 {c}, 31")
    by = w.let(f"zext i32 {amount} to i64")
    moved = w.let(f"{'shl' if left else 'lshr'} i64 {both}, {by}")
    if left:
        moved = w.let(f"lshr i64 {moved}, 32")
    w.write(i.operands[0], type, w.let(f"trunc i64 {moved} to i32"), i)
