"""Loops that only wait: a turn of one does nothing but one strong load, and leaves nothing that is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Label,
    Not,
    Operand,
    Register,
    Symbol,
    scalars,
)

if TYPE_CHECKING:
    from coconet_ir.emu.code.compile import Code

_QUIET = frozenset(
    "add and bfe bfi bra cnot cvt ld lop3 mad max min mov mul nanosleep neg not or prmt selp set setp shf shl shr slct "
    "sub xor".split()
)
"""What does nothing but for its results, if `ld` is strong."""


def polls(code: Code) -> dict[int, int]:
    """The sites of the loads of such loops, with the lines of the branches that repeat the loops."""
    lines = {
        (name, load): branch
        for name, kernel in code.kernels.items()
        for load, branch in _loops(kernel.function)
    }
    keys = {number: (one.kernel, one.instruction.line) for number, one in enumerate(code.sites)}
    return {number: lines[key] for number, key in keys.items() if key in lines}


def _loops(function: Function) -> Iterator[tuple[int, int]]:
    """The lines of loads and branches."""
    labels = {item.name: at for at, item in enumerate(function.body) if isinstance(item, Label)}
    for end, item in enumerate(function.body):
        if isinstance(item, Instruction) and item.opcode == "bra":
            (target,) = item.operands
            start = labels[target.name] if isinstance(target, Symbol) else end
            loop = [one for one in function.body[start : end + 1] if isinstance(one, Instruction)]
            loads = [at for at, one in enumerate(loop) if one.opcode == "ld"]
            if len(loads) == 1 and _is_quiet(loop[loads[0] :] + loop[: loads[0]]):
                yield loop[loads[0]].line, item.line


def _is_quiet(turn: Sequence[Instruction]) -> bool:
    """Whether a turn, from the load on, leaves nothing: what it computes is computed again before it is read, also
    when the loop ends."""
    if any(one.opcode not in _QUIET for one in turn):
        return False
    results = {name for one in turn for name in _written(one)}
    known: set[str] = set()
    may_end = False
    for one in turn:
        written = set(_written(one))
        guarded = one.guard is not None and one.opcode != "bra"
        if guarded or (may_end and written):
            return False
        if not known.issuperset(results.intersection(_read(one))):
            return False
        known |= written
        may_end |= one.opcode == "bra" and one.guard is not None
    return True


def _written(one: Instruction) -> Iterator[str]:
    if one.opcode not in ("bra", "nanosleep"):
        yield from _registers(one.operands[0])


def _read(one: Instruction) -> Iterator[str]:
    if one.guard is not None:
        yield one.guard.register.name
    for operand in one.operands[0 if one.opcode in ("bra", "nanosleep") else 1 :]:
        yield from _registers(operand)


def _registers(operand: Operand) -> Iterator[str]:
    for one in scalars(operand):
        match one:
            case Register(name):
                yield name
            case Not(register) | Address(Register() as register):
                yield register.name
            case _:
                pass
