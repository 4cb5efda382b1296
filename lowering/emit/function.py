"""The body of a function in LLVM IR: names of values and blocks, phis, lines; what entries of the tables write to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.llvm_branches import Terminator
from coconet_ir.dialects.llvm_functions import FuncOp, GlobalOp
from coconet_ir.lowering.emit.debug import DebugInfo, Metadata
from coconet_ir.lowering.emit.types import NoText, type_text
from coconet_ir.lowering.targets import Target

Entry: TypeAlias = Callable[["Writer", Any], None]
"""Writes an operation. Raises `NoText`."""

Constant: TypeAlias = Callable[["Writer", Any], str]
"""The text of the value of an operation that is no instruction. Raises `NoText`."""


class Typed(NamedTuple):
    """A value of LLVM IR and its type, as texts."""

    type: str
    text: str

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


class ModuleState:
    """What the functions of a module share while it is written."""

    def __init__(self, target: Target, symbols: dict[str, FuncOp | GlobalOp]) -> None:
        self.target = target
        self.symbols = symbols
        self.metadata = Metadata()
        self.debug = DebugInfo(self.metadata)
        self.declarations: dict[str, str] = {}
        """Of functions of LLVM, by name."""


class Writer:
    """Writes the body of one function."""

    def __init__(
        self, module: ModuleState, entries: dict[type, Entry], constants: dict[type, Constant]
    ) -> None:
        self.module = module
        self.target = module.target
        self._entries = entries
        self._constants = constants
        self._texts: dict[SSAValue, str] = {}
        self._labels: dict[Block, str] = {}
        self._targets: dict[Operation, list[str]] = {}
        self._incoming: dict[Block, list[tuple[str, tuple[SSAValue, ...]]]] = {}
        self._detours: dict[Block, list[tuple[str, str]]] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._lines: list[str] = []
        self._location = ""

    # For the entries

    def value(self, value: SSAValue) -> str:
        """A value without its type."""
        return self._texts[value]

    def typed(self, value: SSAValue) -> Typed:
        """A value with its type."""
        return Typed(type_text(value.type), self._texts[value])

    def listed(self, *values: SSAValue) -> str:
        """Values with their types, commas between them."""
        return ", ".join(f"{type_text(value.type)} {self._texts[value]}" for value in values)

    def line(self, text: str) -> None:
        """Write an instruction without a result."""
        self._lines.append(f"  {text}{self._location}")

    def assign(self, op: Operation, text: str) -> None:
        """Write the instruction whose result is that of `op`."""
        self.line(f"{self.value(op.results[0])} = {text}")

    def fresh(self, type: str, text: str) -> Typed:
        """Write an instruction whose result has no name in MLIR."""
        name = f"%{self._name(None, 'v')}"
        self.line(f"{name} = {text}")
        return Typed(type, name)

    def call(self, name: str, result: str, *arguments: Typed, words: str = "") -> str:
        """The text of a call of a function of LLVM, which it declares; `words` stand behind `call`."""
        types = ", ".join(argument.type for argument in arguments)
        self.module.declarations[name] = f"declare {result} @{name}({types})"
        return f"call {words}{result} @{name}({', '.join(map(str, arguments))})"

    def symbol(self, name: str) -> FuncOp | GlobalOp:
        """The function or global of this name. Raises `NoText`."""
        if (found := self.module.symbols.get(name)) is None:
            raise NoText(f"there is no function or global @{name} in its module")
        return found

    def require(self, capability: int, purpose: str = "") -> None:
        """Raise `NoText` unless the target has this compute capability, times ten."""
        require(self.target, capability, purpose)

    def targets(self, op: Terminator) -> list[str]:
        """The blocks of a branch as LLVM IR names them, in the order of its edges."""
        return [f"label %{label}" for label in self._targets[op]]

    # For a function

    def write(self, function: FuncOp) -> list[str]:
        """The lines of the body. Raises `IRError`."""
        blocks = _reachable(function)
        for block in blocks:
            self._labels[block] = self._name(block.name_hint, "b")
        for block in blocks:
            for value in (*block.args, *(r for op in block.ops for r in op.results)):
                self._define(value)
            self._connect(block)
        if blocks[0] in self._incoming:
            raise IRError(
                "branches back to its first block, which LLVM IR has no form for", function
            )
        for block in blocks:
            self._block(block)
        return self._lines

    def _define(self, value: SSAValue) -> None:
        owner = value.owner
        constant = self._constants.get(owner.__class__)
        if constant is None or isinstance(owner, Block):
            self._texts[value] = f"%{self._name(value.name_hint, 'v')}"
        else:
            with blame(owner):
                self._texts[value] = constant(self, owner)

    def _name(self, hint: str | None, otherwise: str) -> str:
        """A new name: the hint itself if nothing has it, else with a number."""
        base = hint or f"{otherwise}0"
        name, count = base, 0
        while name in self._taken:
            count = self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{hint}.{count}" if hint else f"{otherwise}{count}"
        self._taken.add(name)
        return name

    def _connect(self, block: Block) -> None:
        """Note where a block leads. Edges to one block with different values get blocks of their own."""
        last = block.last_op
        if not isinstance(last, Terminator):
            message = "has no way out of a block: a block ends in a branch of llvm"
            raise IRError(message, last or block.parent_op())
        label, edges = self._labels[block], last.edges()
        counts = Counter(dest for dest, _ in edges if dest.args)
        labels: list[str] = []
        for dest, values in edges:
            source = label
            labels.append(self._labels[dest])
            if counts[dest] > 1:
                source = labels[-1] = self._name(f"{label}.{self._labels[dest]}", "b")
                self._detours.setdefault(block, []).append((source, self._labels[dest]))
            self._incoming.setdefault(dest, []).append((source, values))
        self._targets[last] = labels

    def _block(self, block: Block) -> None:
        self._lines.append(f"{self._labels[block]}:")
        self._location = ""
        for index, argument in enumerate(block.args):
            if (incoming := self._incoming.get(block)) is not None:
                pairs = [f"[ {self.value(v[index])}, %{label} ]" for label, v in incoming]
                text = f"phi {type_text(argument.type)} {', '.join(pairs)}"
                self.line(f"{self.value(argument)} = {text}")
        for op in block.ops:
            if op.__class__ in self._constants:
                continue
            if (entry := self._entries.get(op.__class__)) is None:
                message = "has no text in LLVM IR: it is to be lowered to llvm or nvvm first"
                raise IRError(message, op)
            self._location = self.module.debug.at(op)
            try:
                entry(self, op)
            except NoText as error:
                raise IRError(str(error), op) from None
        for label, dest in self._detours.get(block, ()):
            self._lines.append(f"{label}:")
            self.line(f"br label %{dest}")


def require(target: Target, capability: int, purpose: str = "") -> None:
    """Raise `NoText` unless the target has a compute capability, times ten, which is needed for some purpose."""
    if target.capability < capability:
        words = f" for {purpose}" if purpose else ""
        raise NoText(
            f"needs compute capability {capability / 10}{words}, but {target.name} has {target.capability / 10}"
        )


@contextmanager
def blame(op: Operation) -> Generator[None]:
    """Make a `NoText` an error at the operation."""
    try:
        yield
    except NoText as error:
        raise IRError(str(error), op) from None


def _reachable(function: FuncOp) -> list[Block]:
    """The blocks that can be reached, in their order."""
    found: set[Block] = set()
    stack = list(function.body.blocks)[:1]
    while stack:
        block = stack.pop()
        if block not in found:
            found.add(block)
            stack += block.last_op.successors if block.last_op is not None else ()
    return [block for block in function.body.blocks if block in found]
