"""Comparison and selection (PTX ISA, sections 9.7.6 and 9.7.7)."""

from __future__ import annotations

from coconet_ir.emu.code.floats import flush
from coconet_ir.emu.code.halves import flush_half, join, lanes, widen
from coconet_ir.emu.code.kinds import BITS, FLOATS, HALVES, INTEGERS, take, typed
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer, is_signed, llvm_type
from coconet_ir.emu.ptx.syntax import Instruction, Operand, Pair, Sink, width

SAME = ("eq", "ne")
ORDER = ("lt", "le", "gt", "ge")
UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
NUMBERS = {
    **{name: f"o{name}" for name in ("eq", *ORDER)},
    "ne": "one",
    **{f"{name}u": f"u{name}" for name in (*SAME, *ORDER)},
    "num": "ord",
    "nan": "uno",
}
"""Comparisons of floats; those with u hold if an operand is NaN, the others do not."""


def compare(w: Writer, m: Modifiers, type: str, a: Operand, b: Operand) -> list[str]:
    """Compare two operands as the modifiers say: an i1, or one for each element."""
    at = m.instruction
    name = m.one_of({*SAME, *ORDER, *UNSIGNED, *NUMBERS})
    if not name:
        raise m.refuse("does not say how it compares")
    if type in FLOATS or type in HALVES:
        test = NUMBERS.get(name)
    elif name in SAME or type in BITS:
        test = name if name in SAME else None
    elif name in ORDER:
        test = ("s" if is_signed(type) else "u") + name
    else:
        test = UNSIGNED.get(name) if not is_signed(type) else None
    if test is None:
        raise m.refuse(f"has .{name}, which .{type} does not have")
    x, y = w.value(a, type, at), w.value(b, type, at)
    if type in HALVES:
        return _compare_halves(w, m, type, test, x, y)
    if type in FLOATS:
        if type == "f32" and m.flag("ftz"):
            x, y = flush(w, type, x), flush(w, type, y)
        return [w.let(f"fcmp {test} {llvm_type(type)} {x}, {y}")]
    return [w.let(f"icmp {test} i{width(type)} {x}, {y}")]


def _compare_halves(w: Writer, m: Modifiers, type: str, test: str, x: str, y: str) -> list[str]:
    ftz = type.startswith("f16") and m.flag("ftz")
    element = type.removesuffix("x2")
    results: list[str] = []
    for column in zip(lanes(w, type, x), lanes(w, type, y), strict=True):
        if ftz:
            column = [flush_half(w, element, value) for value in column]
        p, q = (widen(w, element, value) for value in column)
        results.append(w.let(f"fcmp {test} double {p}, {q}"))
    return results


def _combine(w: Writer, m: Modifiers, results: list[str]) -> tuple[list[str], str, str]:
    """Results `and`, `or`, `xor` the fourth operand, if the instruction has one; the operation and that value."""
    i = m.instruction
    combine = m.one_of(("and", "or", "xor"))
    if not combine:
        return results, "", ""
    c = w.value(take(i, m, 4)[3], "pred", i)
    return [w.let(f"{combine} i1 {result}, {c}") for result in results], combine, c


@typed("setp", types=(*BITS, *INTEGERS, *FLOATS, *HALVES))
def _setp(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """`setp d|e` writes the comparison into d and its inverse into e; of pairs, one comparison each."""
    if len(i.operands) not in (3, 4) or (len(i.operands) == 4) != bool(
        {"and", "or", "xor"} & set(i.modifiers)
    ):
        raise m.refuse("has operands that are not those of a comparison")
    d = i.operands[0]
    tests = compare(w, m, type, i.operands[1], i.operands[2])
    results, combine, c = _combine(w, m, tests)
    first, second = (d.first, d.second) if isinstance(d, Pair) else (d, Sink())
    w.write(first, "pred", results[0], i)
    if isinstance(second, Sink):
        return
    if len(results) == 1:
        other = w.let(f"xor i1 {tests[0]}, true")
        results.append(w.let(f"{combine} i1 {other}, {c}") if combine else other)
    w.write(second, "pred", results[1], i)


@typed("selp", types=(*BITS, *INTEGERS, *FLOATS))
def _selp(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    d, a, b, p = take(i, m, 4)
    llvm = llvm_type(type)
    x, y = w.value(a, type, i), w.value(b, type, i)
    result = w.let(f"select i1 {w.value(p, 'pred', i)}, {llvm} {x}, {llvm} {y}")
    w.write(d, type, result, i)


@typed("slct", types=("s32", "f32"))
def _slct(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """The first operand if the third is at least zero, else the second, also if it is NaN."""
    result_type = m.type()
    if result_type not in (*BITS, *INTEGERS, *FLOATS):
        raise m.refuse(f"has the type .{result_type}, which slct does not have")
    ftz = type == "f32" and m.flag("ftz")
    d, a, b, c = take(i, m, 4)
    x, y, z = w.value(a, result_type, i), w.value(b, result_type, i), w.value(c, type, i)
    if ftz:
        z = flush(w, type, z)
    test = w.let(f"fcmp oge float {z}, 0.0" if type == "f32" else f"icmp sge i32 {z}, 0")
    llvm = llvm_type(result_type)
    w.write(d, result_type, w.let(f"select i1 {test}, {llvm} {x}, {llvm} {y}"), i)


_ONE = {"f32": "1.0", "f16": "15360", "bf16": "16256"}


@typed("set", types=(*BITS, *INTEGERS, *FLOATS, *HALVES))
def _set(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """A comparison as a number: of integers all ones, of floats 1.0, else zero."""
    result_type = m.type()
    if result_type not in ("u16", "s16", "u32", "s32", "f32", *HALVES):
        raise m.refuse(f"has the type .{result_type}, which set does not have")
    combined = bool({"and", "or", "xor"} & set(i.modifiers))
    d, a, b = take(i, m, 4 if combined else 3)[:3]
    results, _, _ = _combine(w, m, compare(w, m, type, a, b))
    element = result_type.removesuffix("x2")
    if len(results) == 2 and result_type in ("u32", "s32"):
        element, result_type = "u16", "f16x2"
    llvm = llvm_type(element)
    one, zero = _ONE.get(element, "-1"), "0.0" if llvm == "float" else "0"
    parts = [w.let(f"select i1 {result}, {llvm} {one}, {llvm} {zero}") for result in results]
    if len(parts) != width(result_type) // width(element):
        raise m.refuse(f"compares .{type} and has the type .{result_type}")
    w.write(d, result_type, parts[0] if len(parts) == 1 else join(w, result_type, parts), i)
