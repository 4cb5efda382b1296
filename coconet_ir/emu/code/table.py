"""From the name of an instruction to the function that writes its code. What has no entry is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from coconet_ir.emu.ptx.syntax import Instruction, width

if TYPE_CHECKING:
    from coconet_ir.emu.code.writer import Writer

Entry: TypeAlias = "Callable[[Writer, Instruction, Modifiers], None]"


class Refused(Exception):
    """PTX that the emulator does not run: what it is, and its line."""

    def __init__(self, what: str, line: int):
        super().__init__(f"line {line}: {what}")
        self.what, self.line = what, line


def refused(instruction: Instruction, what: str) -> Refused:
    """An error about an instruction; says where in the source it comes from."""
    source = instruction.location
    return Refused(what if source is None else f"{what} ({source.outermost})", instruction.line)


@dataclass
class Modifiers:
    """The modifiers of an instruction, taken from left to right in any order. Those that nobody took are refused."""

    instruction: Instruction
    left: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.left = list(self.instruction.modifiers)

    def flag(self, name: str) -> bool:
        """Take a modifier if it is there."""
        if name in self.left:
            self.left.remove(name)
            return True
        return False

    def one_of(self, names: Collection[str], default: str = "") -> str:
        """Take the first modifier of these; if there is none, `default`."""
        for name in self.left:
            if name in names:
                self.left.remove(name)
                return name
        return default

    def type(self) -> str:
        """Take the last modifier, which is a type. Raises `Refused`."""
        if not self.left:
            raise self.refuse("has no type")
        name = self.left.pop()
        try:
            width(name)
        except KeyError:
            raise self.refuse(f"has the type .{name}, which is not known") from None
        return name

    def refuse(self, what: str) -> Refused:
        """An error about this instruction."""
        return refused(self.instruction, f"`{self.instruction.text}` {what}")

    def done(self) -> None:
        """Raise `Refused` for modifiers that nobody took."""
        if self.left:
            names = " ".join(f".{name}" for name in self.left)
            raise self.refuse(f"has {names}, which the emulator does not know")


TABLE: dict[str, Entry] = {}


def opcode(*names: str) -> Callable[[Entry], Entry]:
    """Make a function the entry of these opcodes."""

    def enter(entry: Entry) -> Entry:
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = entry
        return entry

    return enter
