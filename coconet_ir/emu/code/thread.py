"""The code of a device thread: a kernel as one coroutine that suspends wherever the scheduler must decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coconet_ir.emu.code import layout
from coconet_ir.emu.code.layout import Op, place
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.code.writer import Writer, llvm_type
from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Symbol,
    Targets,
    Variable,
    width,
)


@dataclass(frozen=True)
class Site:
    """An instruction that touches memory or waits: what findings name."""

    kernel: str
    instruction: Instruction


@dataclass(frozen=True)
class Layout:
    """Where variables lie: their first bytes, and how many bytes there are."""

    places: Mapping[str, int]
    bytes: int


def lay_out(variables: Sequence[Variable], start: int = 0, gap: int = 0) -> Layout:
    """Variables one behind the other, with gaps between them of at least `gap` bytes."""
    places: dict[str, int] = {}
    at = start
    for variable in variables:
        align = max(variable.align, width(variable.type) // 8, gap)
        at = -(-at // align) * align
        places[variable.name] = at
        at += variable.bytes + gap
    return Layout(places, at)


class ThreadWriter(Writer):
    """Writes the code of one kernel."""

    def __init__(
        self,
        function: Function,
        variables: Layout,
        shared: Sequence[Variable],
        sites: list[Site],
    ):
        """`variables` are the module's, `shared` those that blocks have; new sites are added to `sites`."""
        super().__init__(function)
        self.variables, self.sites = variables, sites
        self.own_parameters = {v.name: v for v in function.parameters}
        self.parameters = lay_out(function.parameters)
        """Where a kernel's parameters lie."""
        own = [v for v in function.variables if v.space == "shared"]
        self.shared = lay_out(sorted([*shared, *own], key=lambda v: v.external))
        """Those without a size lie behind the others: a launch says how many bytes are there."""
        self.local = lay_out([v for v in function.variables if v.space == "local"])
        self.passed = {v.name: v for v in function.variables if v.space == "param"}
        """The parameters of calls."""
        self.tables = {t.name: t.labels for t in function.body if isinstance(t, Targets)}
        self.labels = {
            label.name: f"l.{number}"
            for number, label in enumerate(x for x in function.body if isinstance(x, Label))
        }
        self._order = {x.name: x.line for x in function.body if isinstance(x, Label)}
        self.ended = False
        """Whether the last line ends a block."""

    # The record

    def field(self, name: str, index: int = 0, size: int = 8) -> str:
        """Where a field of the thread's record is."""
        return self.let(f"getelementptr i8, ptr %me, i64 {place(name) + index * size}")

    def load_field(self, name: str, type: str = "i64", index: int = 0) -> str:
        """The value of a field."""
        size = 4 if type == "i32" else 8
        return self.let(f"load {type}, ptr {self.field(name, index, size)}")

    def store_field(self, name: str, value: str, type: str = "i64", index: int = 0) -> None:
        """Store into a field."""
        self.emit(f"store {type} {value}, ptr {self.field(name, index, 4 if type == 'i32' else 8)}")

    def site(self, at: Instruction) -> int:
        """A number for an instruction. Raises `Refused` for a module with too many."""
        if len(self.sites) >= layout.MOST_SITES:
            raise Refused("the module has too many accesses to memory", at.line)
        self.sites.append(Site(self.function.name, at))
        return len(self.sites) - 1

    # Blocks

    def begin(self, label: str) -> None:
        """Begin a block, into which the one before falls."""
        if not self.ended:
            self.emit(f"br label %{label}")
        self.emit(f"{label}:")
        self.ended = False

    def end(self, text: str) -> None:
        """End a block."""
        self.emit(text)
        self.ended = True

    def label(self, name: str, at: Instruction) -> str:
        """The block of a label. Raises `Refused`."""
        if name not in self.labels:
            raise Refused(f"`{at.text}` branches to {name}, which is no label here", at.line)
        return self.labels[name]

    def is_backward(self, name: str, at: Instruction) -> bool:
        """Whether a branch to a label may make a loop."""
        return self._order[name] <= at.line

    def suspend(self, op: int, at: Instruction | None, **fields: str) -> None:
        """Hand over to the scheduler, with 64-bit fields of the record set."""
        number = self.fresh()[1:]
        for name, value in fields.items():
            self.store_field(name, value)
        if at is not None:
            self.store_field("site", str(self.site(at)), "i32")
        self.store_field("op", str(op), "i32")
        self.emit(f"%s.{number} = call i8 @llvm.coro.suspend(token none, i1 false)")
        self.emit(f"switch i8 %s.{number}, label %gone [i8 0, label %{number} i8 1, label %clean]")
        self.emit(f"{number}:")

    def take_turn(self, at: Instruction) -> None:
        """Count a turn of a loop, and let others run when there were many."""
        left = self.let(f"sub i64 {self.load_field('fuel')}, 1")
        self.store_field("fuel", left)
        self.store_field("turn", str(at.line), "i32")
        out = self.let(f"icmp slt i64 {left}, 0")
        turn, go = self.fresh()[1:], self.fresh()[1:]
        self.emit(f"br i1 {out}, label %{turn}, label %{go}")
        self.emit(f"{turn}:")
        self.suspend(Op.YIELD, at)
        self.emit(f"br label %{go}")
        self.emit(f"{go}:")

    # Operands

    def special(self, name: str, at: Instruction) -> tuple[int, str] | None:
        """A special register's bits and value."""
        if name in self.function.registers:
            return None
        from coconet_ir.emu.code.special import special_register  # it needs this class

        return special_register(self, name, at)

    def other(self, operand: Operand, type: str, at: Instruction) -> str:
        """The address of a variable."""
        if not isinstance(operand, Symbol) or llvm_type(type) not in ("i32", "i64"):
            return super().other(operand, type, at)
        return self.resize(self.symbol(operand, at), 64, width(type), False)

    def symbol(self, operand: Symbol, at: Instruction) -> str:
        """The address of a variable in its own space, with 64 bits."""
        name = operand.name
        for places in (self.shared.places, self.local.places):
            if name in places:
                return str(places[name] + operand.offset)
        if name in self.variables.places:
            return self.let(
                f"add i64 {self.load_field('variables')}, {self.variables.places[name] + operand.offset}"
            )
        raise Refused(
            f"`{at.text}` names {name}, which is no variable that is declared here", at.line
        )

    def address(self, operand: Operand, at: Instruction) -> str:
        """The address that an operand in brackets stands for, in its own space, with 64 bits."""
        if not isinstance(operand, Address):
            raise Refused(f"`{at.text}` has no address in brackets where one must be", at.line)
        match operand.base:
            case Integer(value):
                return str(value + operand.offset)
            case Symbol(name, offset):
                return self.symbol(Symbol(name, offset + operand.offset), at)
            case Register(name):
                bits = self.register_width(name, at.line)
                if bits not in (32, 64):
                    raise Refused(f"`{at.text}` has an address of {bits} bits", at.line)
                value = self.value(operand.base, f"b{bits}", at)
                wide = self.resize(value, bits, 64, False)
                return self.let(f"add i64 {wide}, {operand.offset}") if operand.offset else wide
