"""Branches and ends (PTX ISA, 9.7.12)."""

from __future__ import annotations

from coconet_ir.emu.code.kinds import take
from coconet_ir.emu.code.layout import Op
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.thread import ThreadWriter
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction, Symbol


def thread(writer: Writer) -> ThreadWriter:
    """The writer of a whole kernel."""
    assert isinstance(writer, ThreadWriter)
    return writer


@opcode("bra")
def branch(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """A branch, to a label."""
    code = thread(writer)
    modifiers.flag("uni")
    (target,) = take(at, modifiers, 1)
    if not isinstance(target, Symbol):
        raise modifiers.refuse("branches to what is no label")
    label = code.label(target.name, at)
    if at.guard is None:
        if code.is_backward(target.name, at):
            code.take_turn(at)
        return code.end(f"br label %{label}")
    holds = code.value(at.guard.register, "pred", at)
    go, stay = code.fresh()[1:], code.fresh()[1:]
    first, second = (stay, go) if at.guard.negated else (go, stay)
    code.emit(f"br i1 {holds}, label %{first}, label %{second}")
    code.emit(f"{go}:")
    if code.is_backward(target.name, at):
        code.take_turn(at)
    code.emit(f"br label %{label}")
    code.emit(f"{stay}:")


@opcode("brx")
def branch_indexed(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`brx.idx index, table`."""
    code = thread(writer)
    modifiers.flag("idx")
    modifiers.flag("uni")
    index, table = take(at, modifiers, 2)
    labels = code.tables.get(table.name) if isinstance(table, Symbol) else None
    if labels is None:
        raise modifiers.refuse("has no table of branch targets that is declared here")
    stay = code.fresh()[1:]
    if at.guard is not None:
        holds, go = code.value(at.guard.register, "pred", at), code.fresh()[1:]
        first, second = (stay, go) if at.guard.negated else (go, stay)
        code.emit(f"br i1 {holds}, label %{first}, label %{second}")
        code.emit(f"{go}:")
    if any(code.is_backward(name, at) for name in labels):
        code.take_turn(at)
    number, outside = code.value(index, "b32", at), code.fresh()[1:]
    cases = " ".join(f"i32 {i}, label %{code.label(n, at)}" for i, n in enumerate(labels))
    code.emit(f"switch i32 {number}, label %{outside} [{cases}]")
    code.emit(f"{outside}:")
    code.suspend(Op.TRAP, at)
    code.emit("unreachable")
    code.emit(f"{stay}:")
    if at.guard is None:
        code.end("unreachable")


@opcode("ret", "exit")
def leave(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """The end of a thread: calls of functions were written out before."""
    modifiers.flag("uni")
    thread(writer).end("br label %end")


@opcode("trap", "brkpt")
def trap(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """A finding: the scheduler does not resume the thread."""
    code = thread(writer)
    code.suspend(Op.TRAP, at)
    code.end("unreachable")
