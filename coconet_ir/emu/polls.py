"""Loops that only wait: their turns do nothing but one strong load, so that turns in vain leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coconet_ir.emu.ptx.syntax import Function, Instruction, Label, Symbol

if TYPE_CHECKING:
    from coconet_ir.emu.code.compile import Code

_QUIET = frozenset(
    "add and bfe bfi bra cnot cvt fence ld lop3 mad max membar min mov mul nanosleep neg not or prmt selp set setp shf "
    "shl shr slct sub xor".split()
)
"""What does nothing that another thread notices, but for `ld`."""


def polls(code: Code) -> frozenset[int]:
    """The sites of loads in loops that only wait."""
    lines = {
        (name, line)
        for name, kernel in code.kernels.items()
        for line in _lines(kernel.function)
    }
    return frozenset(
        number
        for number, site in enumerate(code.sites)
        if (site.kernel, site.instruction.line) in lines
    )


def _lines(function: Function) -> Iterator[int]:
    """The lines of the loads."""
    labels = {item.name: at for at, item in enumerate(function.body) if isinstance(item, Label)}
    for end, item in enumerate(function.body):
        if not isinstance(item, Instruction) or item.opcode != "bra":
            continue
        (target,) = item.operands
        assert isinstance(target, Symbol)
        loop = function.body[labels.get(target.name, end) : end]
        inside = [one for one in loop if isinstance(one, Instruction)]
        loads = [one.line for one in inside if one.opcode == "ld"]
        if len(loads) == 1 and all(one.opcode in _QUIET for one in inside):
            yield from loads
