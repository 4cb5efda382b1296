"""`mov` between registers, constants and vectors of them (PTX ISA, section 9.7.9)."""

from __future__ import annotations

from coconet_ir.emu.code.kinds import BITS, FLOATS, INTEGERS, take, typed
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction, Operand, Sink, Vector, width


@typed("mov", types=("pred", *BITS, "b128", *INTEGERS, *FLOATS))
def _mov(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    d, a = take(i, m, 2)
    value = _pack(w, a, type, m) if isinstance(a, Vector) else w.value(a, type, i)
    if isinstance(d, Vector):
        _unpack(w, d, type, value, m)
    else:
        w.write(d, type, value, i)


def _element(vector: Vector, type: str, m: Modifiers) -> str:
    """The type of the elements of a vector that together are a value of a type."""
    bits, odd = divmod(width(type), len(vector.items))
    if not type.startswith("b") or odd or bits not in (8, 16, 32, 64):
        raise m.refuse(f"has a vector of {len(vector.items)} for .{type}")
    return f"b{bits}"


def _pack(w: Writer, vector: Vector, type: str, m: Modifiers) -> str:
    """The elements of a vector as one value, the first one lowest."""
    element, n = _element(vector, type, m), width(type)
    whole = "0"
    for k, item in enumerate(vector.items):
        part = w.value(item, element, m.instruction)
        wide = w.let(f"zext i{width(element)} {part} to i{n}")
        moved = w.let(f"shl i{n} {wide}, {k * width(element)}")
        whole = w.let(f"or i{n} {whole}, {moved}")
    return whole


def _unpack(w: Writer, vector: Vector, type: str, value: str, m: Modifiers) -> None:
    """Write the parts of a value into the elements of a vector."""
    element, n = _element(vector, type, m), width(type)
    for k, item in enumerate(vector.items):
        if not isinstance(item, Sink):
            _write_part(w, item, element, value, n, k * width(element), m)


def _write_part(
    w: Writer, item: Operand, element: str, value: str, n: int, low: int, m: Modifiers
) -> None:
    moved = w.let(f"lshr i{n} {value}, {low}")
    part = w.let(f"trunc i{n} {moved} to i{width(element)}")
    w.write(item, element, part, m.instruction)
