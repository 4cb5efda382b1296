"""Opcodes that mean something else for each type, as `add` of s32 and of bf16x2, and what their entries share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.ptx.syntax import Instruction, Operand

if TYPE_CHECKING:
    from coconet_ir.emu.code.writer import Writer

Typed: TypeAlias = "Callable[[Writer, Instruction, Modifiers, str], None]"

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")

_ENTRIES: dict[str, dict[str, Typed]] = {}


def typed(*names: str, types: Collection[str]) -> Callable[[Typed], Typed]:
    """Make a function the entry of these opcodes if the last modifier, which it is given, is one of these types."""

    def enter(entry: Typed) -> Typed:
        for name in names:
            if name not in _ENTRIES:
                _ENTRIES[name] = {}
                opcode(name)(_by_type)
            for type in types:
                assert type not in _ENTRIES[name], (name, type)
                _ENTRIES[name][type] = entry
        return entry

    return enter


def _by_type(w: Writer, i: Instruction, m: Modifiers) -> None:
    type = m.type()
    entry = _ENTRIES[i.opcode].get(type)
    if entry is None:
        raise m.refuse(f"has the type .{type}, which {i.opcode} does not have")
    entry(w, i, m, type)


def take(i: Instruction, m: Modifiers, count: int) -> tuple[Operand, ...]:
    """The operands, of which there must be so many. Raises `Refused`."""
    if len(i.operands) != count:
        raise m.refuse(f"has {len(i.operands)} operands where {count} are expected")
    return i.operands


def values(w: Writer, i: Instruction, m: Modifiers, type: str, count: int) -> list[str]:
    """The sources, of which there must be so many, as values of one type. Raises `Refused`."""
    return [w.value(operand, type, i) for operand in take(i, m, count + 1)[1:]]
