"""The text of a thread's function while it is written: registers, names, and what instructions read and write.

A register is a slot of its width in bits, whatever its type; LLVM's mem2reg takes the slots away. Values have the LLVM
type of the PTX type that an instruction reads them as: f32 is float, f64 double, pred i1, all else an integer of its
width, f16, bf16 and packed types too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.ptx.syntax import (
    Float,
    Function,
    Instruction,
    Integer,
    Not,
    Operand,
    Register,
    Sink,
    width,
)

CARRY = "CC.CF"
"""The carry flag among the slots; `add.cc` and `mad.cc` write it, also to tell a borrow (PTX ISA, section 9.7.2)."""


def llvm_type(type: str) -> str:
    """The LLVM type of values of a PTX type."""
    return {"f32": "float", "f64": "double"}.get(type) or f"i{width(type)}"


def is_signed(type: str) -> bool:
    """Whether it is an integer with a sign."""
    return type.startswith("s")


class Writer:
    """Writes one function."""

    def __init__(self, function: Function):
        self.function = function
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        """The functions of `helpers` that the code calls."""
        self._count = 0
        self.slots: dict[str, str] = {}
        """From registers to their slots."""

    # Text

    def emit(self, text: str) -> None:
        """Write lines."""
        self.lines.append(text)

    def fresh(self) -> str:
        """A name that nothing has, with its `%`."""
        self._count += 1
        return f"%v{self._count}"

    def let(self, text: str) -> str:
        """Write `%new = text` and give the name."""
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return name

    def call(self, helper: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call a function of the helpers with (LLVM type, value) arguments; its result."""
        self.helpers.add(helper)
        passed = ", ".join(f"{type} {value}" for type, value in arguments)
        return self.let(f"call {result} @{helper}({passed})")

    # Registers

    def register_width(self, name: str, line: int) -> int:
        """The bits of a register. Raises `Refused`."""
        if name == CARRY:
            return 1
        try:
            return width(self.function.registers[name])
        except KeyError:
            raise Refused(
                f"{name} is no register that is declared, and none that the emulator knows", line
            ) from None

    def slot(self, name: str, line: int) -> str:
        """The slot of a register."""
        self.register_width(name, line)
        if name not in self.slots:
            self.slots[name] = f"%r.{len(self.slots)}"
        return self.slots[name]

    def carry(self) -> str:
        """The slot of the carry flag, of one bit."""
        return self.slots.setdefault(CARRY, "%r.cc")

    # Operands

    def value(self, operand: Operand, type: str, at: Instruction) -> str:
        """An operand as a value of a PTX type. Raises `Refused`."""
        match operand:
            case Integer(value):
                return self._constant(value, type)
            case Float(bits, size):
                return self._float(bits, size, type, at)
            case Not(register):
                inner = self.value(register, "pred", at)
                return self.let(f"xor i1 {inner}, true")
            case Register(name):
                special = self.special(name, at)
                if special is not None:
                    have, raw = special
                else:
                    have = self.register_width(name, at.line)
                    raw = self.let(f"load i{have}, ptr {self.slot(name, at.line)}")
                return self.cast(self.resize(raw, have, width(type), False), type)
            case _:
                return self.other(operand, type, at)

    def write(self, operand: Operand, type: str, value: str, at: Instruction) -> None:
        """Store a value of a PTX type into a register, which may be wider: it is extended by the type's sign."""
        match operand:
            case Sink():
                return
            case Register(name):
                bits = self.uncast(value, type)
                have = self.register_width(name, at.line)
                slot = self.slot(name, at.line)
                wide = self.resize(bits, width(type), have, is_signed(type))
                self.emit(f"store i{have} {wide}, ptr {slot}")
            case _:
                raise Refused(f"`{at.text}` writes into what is no register", at.line)

    def resize(self, value: str, have: int, want: int, signed: bool) -> str:
        """An integer of other bits."""
        if have == want:
            return value
        what = "trunc" if have > want else "sext" if signed else "zext"
        return self.let(f"{what} i{have} {value} to i{want}")

    def cast(self, bits: str, type: str) -> str:
        """Bits as a value of a type."""
        to = llvm_type(type)
        return bits if to.startswith("i") else self.let(f"bitcast i{width(type)} {bits} to {to}")

    def uncast(self, value: str, type: str) -> str:
        """The bits of a value."""
        have = llvm_type(type)
        return (
            value if have.startswith("i") else self.let(f"bitcast {have} {value} to i{width(type)}")
        )

    # What memory and threads know (see `thread.py`)

    def special(self, name: str, at: Instruction) -> tuple[int, str] | None:
        """The bits and the value of a special register; None for an ordinary one."""
        return None

    def other(self, operand: Operand, type: str, at: Instruction) -> str:
        """The value of an operand that names memory. Raises `Refused`."""
        raise Refused(f"`{at.text}` has an operand that the emulator does not know here", at.line)

    # Constants

    def _constant(self, value: int, type: str) -> str:
        if type in ("f32", "f64"):
            return self.cast(str(value & (1 << width(type)) - 1), type)
        if type == "pred":
            return "true" if value else "false"
        bits = width(type)
        low = value & (1 << bits) - 1
        return str(low - (1 << bits) if low >> bits - 1 else low)

    def _float(self, bits: int, size: int, type: str, at: Instruction) -> str:
        if width(type) != size and type != "f32":
            raise Refused(f"`{at.text}` has a constant of another width", at.line)
        if width(type) != size:  # a decimal constant for f32
            with np.errstate(over="ignore"):
                bits = int(np.uint64(bits).view(np.float64).astype(np.float32).view(np.uint32))
        return self.cast(str(bits), type)


Helpers = Mapping[str, str]
