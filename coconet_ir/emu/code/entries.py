"""All entries, and the code of an instruction by its entry."""

from __future__ import annotations

from coconet_ir.emu.code import (
    approximations,
    barriers,
    bits,
    comparisons,
    control,
    conversions,
    floats,
    halves,
    integers,
    logic,
    memory,
    moves,
    warps,
)
from coconet_ir.emu.code.table import TABLE, Modifiers, refused
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction

__all__ = [
    "approximations",
    "barriers",
    "bits",
    "comparisons",
    "control",
    "conversions",
    "floats",
    "halves",
    "integers",
    "logic",
    "memory",
    "moves",
    "warps",
    "write_instruction",
]


def write_instruction(writer: Writer, instruction: Instruction) -> None:
    """Write the code of an instruction whose guard holds. Raises `Refused`."""
    entry = TABLE.get(instruction.opcode)
    if entry is None:
        what = f"`{instruction.text}`: the emulator has no entry for {instruction.opcode}"
        raise refused(instruction, what)
    modifiers = Modifiers(instruction)
    entry(writer, instruction, modifiers)
    modifiers.done()
