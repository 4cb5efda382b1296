"""Instructions on the bits of integers (PTX ISA, sections 9.7.1 and 9.7.9)."""

from __future__ import annotations

from coconet_ir.emu.code.kinds import take, typed, values
from coconet_ir.emu.code.logic import shift
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.writer import Writer, is_signed
from coconet_ir.emu.ptx.syntax import Instruction, width

_WORDS = ("b32", "b64")
_SIGNS = ("u32", "s32", "u64", "s64")


def _count(w: Writer, n: int, name: str, value: str) -> str:
    """What an intrinsic counts in a value, as i32."""
    extra = ", i1 false" if name == "ctlz" else ""
    return w.resize(w.let(f"call i{n} @llvm.{name}.i{n}(i{n} {value}{extra})"), n, 32, False)


@typed("popc", "clz", types=_WORDS)
def _counts(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = values(w, i, m, type, 1)
    name = "ctlz" if i.opcode == "clz" else "ctpop"
    w.write(i.operands[0], "u32", _count(w, width(type), name, a), i)


@typed("brev", types=_WORDS)
def _brev(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = values(w, i, m, type, 1)
    n = width(type)
    w.write(i.operands[0], type, w.let(f"call i{n} @llvm.bitreverse.i{n}(i{n} {a})"), i)


@typed("bfind", types=_SIGNS)
def _bfind(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The place of the highest bit that is no sign, or how far it is from the top; all ones if there is none."""
    amount = m.flag("shiftamt")
    (a,) = values(w, i, m, type, 1)
    n = width(type)
    if is_signed(type):
        a = w.let(f"xor i{n} {a}, {w.let(f'ashr i{n} {a}, {n - 1}')}")
    zeros = _count(w, n, "ctlz", a)
    found = zeros if amount else w.let(f"sub i32 {n - 1}, {zeros}")
    none = w.let(f"icmp eq i{n} {a}, 0")
    w.write(i.operands[0], "u32", w.let(f"select i1 {none}, i32 -1, i32 {found}"), i)


@typed("fns", types=("b32",))
def _fns(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    read = values(w, i, m, type, 3)
    w.write(i.operands[0], type, w.call("fns.b32", "i32", *(("i32", x) for x in read)), i)


def _byte(w: Writer, i: Instruction, index: int) -> str:
    """An operand of which the low 8 bits count."""
    return w.let(f"and i32 {w.value(i.operands[index], 'u32', i)}, 255")


def _ones(w: Writer, n: int, count: str) -> str:
    """So many low bits, all of them for n or more."""
    return w.let(f"xor i{n} {shift(w, True, f'b{n}', '-1', count)}, -1")


@typed("bfe", types=_SIGNS)
def _bfe(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """A field of bits; what lies above the highest bit has the sign's value."""
    d, a, *_ = take(i, m, 4)
    n = width(type)
    place, length = _byte(w, i, 2), _byte(w, i, 3)
    field = shift(w, False, type, w.value(a, type, i), place)
    if is_signed(type):
        most = w.let(f"call i32 @llvm.umin.i32(i32 {length}, i32 {n})")
        room = w.let(f"sub i32 {n}, {most}")
        top = shift(w, True, type, field, room)
        result = shift(w, False, type, top, room)
        empty = w.let(f"icmp eq i32 {length}, 0")
        result = w.let(f"select i1 {empty}, i{n} 0, i{n} {result}")
    else:
        result = w.let(f"and i{n} {field}, {_ones(w, n, length)}")
    w.write(d, type, result, i)


@typed("bfi", types=_WORDS)
def _bfi(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    d, a, b, *_ = take(i, m, 5)
    n = width(type)
    place, length = _byte(w, i, 3), _byte(w, i, 4)
    mask = shift(w, True, type, _ones(w, n, length), place)
    moved = shift(w, True, type, w.value(a, type, i), place)
    inserted = w.let(f"and i{n} {moved}, {mask}")
    kept = w.let(f"and i{n} {w.value(b, type, i)}, {w.let(f'xor i{n} {mask}, -1')}")
    w.write(d, type, w.let(f"or i{n} {inserted}, {kept}"), i)


def _large(m: Modifiers) -> str:
    mode = m.one_of(("clamp", "wrap"))
    if not mode:
        raise m.refuse("does not say what becomes of large amounts: .clamp or .wrap")
    return mode


@typed("szext", types=("u32", "s32"))
def _szext(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """A number of so many bits, extended to 32."""
    mode = _large(m)
    a, b = values(w, i, m, type, 2)
    if mode == "wrap":
        length = w.let(f"and i32 {b}, 31")
    else:
        length = w.let(f"call i32 @llvm.umin.i32(i32 {b}, i32 32)")
    room = w.let(f"sub i32 32, {length}")
    top = shift(w, True, "b32", a, room)
    result = shift(w, False, type, top, room)
    w.write(i.operands[0], type, result, i)


@typed("bmsk", types=("b32",))
def _bmsk(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """So many ones from a bit on."""
    mode = _large(m)
    place, length = values(w, i, m, type, 2)
    if mode == "wrap":
        place, length = (w.let(f"and i32 {value}, 31") for value in (place, length))
    w.write(i.operands[0], type, shift(w, True, type, _ones(w, 32, length), place), i)


_CHOICES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The modes of `prmt`: what the two low bits of c choose, each as the c of a `prmt` without a mode."""


@opcode("prmt")
def _prmt(w: Writer, i: Instruction, m: Modifiers) -> None:
    """Each 4 bits of c choose one of the 8 bytes of b:a, or its sign eight times."""
    mode = m.one_of(_CHOICES)
    if m.type() != "b32":
        raise m.refuse("has a type that is not .b32")
    a, b, c = values(w, i, m, "b32", 3)
    if mode:
        table = sum(choice << 16 * k for k, choice in enumerate(_CHOICES[mode]))
        index = w.let(f"shl i32 {w.let(f'and i32 {c}, 3')}, 4")
        chosen = w.let(f"lshr i64 {table}, {w.let(f'zext i32 {index} to i64')}")
        c = w.let(f"and i32 {w.let(f'trunc i64 {chosen} to i32')}, 65535")
    low, high = (w.let(f"zext i32 {value} to i64") for value in (a, b))
    both = w.let(f"or i64 {low}, {w.let(f'shl i64 {high}, 32')}")
    result = "0"
    for k in range(4):
        choice = w.let(f"lshr i32 {c}, {4 * k}")
        index = w.let(f"and i32 {choice}, 7")
        place = w.let(f"zext i32 {w.let(f'shl i32 {index}, 3')} to i64")
        byte = w.let(f"trunc i64 {w.let(f'lshr i64 {both}, {place}')} to i8")
        signs = w.let(f"ashr i8 {byte}, 7")
        whole = w.let(f"trunc i32 {w.let(f'lshr i32 {choice}, 3')} to i1")
        byte = w.let(f"select i1 {whole}, i8 {signs}, i8 {byte}")
        part = w.let(f"shl i32 {w.let(f'zext i8 {byte} to i32')}, {8 * k}")
        result = w.let(f"or i32 {result}, {part}")
    w.write(i.operands[0], "b32", result, i)
