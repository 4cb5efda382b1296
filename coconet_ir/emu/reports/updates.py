"""Which strong stores store what is computed from strong loads.

A slice backward through the registers of a kernel, whatever the order of its instructions: from what is stored to the
loads that it may come from. Loads end it, and so do predicates: which of two values is stored is no computation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from coconet_ir.emu.code.thread import Site
from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Operand,
    Register,
    Symbol,
    scalars,
)

STRONG = frozenset({"relaxed", "acquire", "release", "volatile", "mmio"})
"""Modifiers of strong loads and stores."""

_NO_RESULT = frozenset({"st", "red", "bra", "bar", "barrier", "fence", "membar", "ret", "exit"})


def is_strong(item: Instruction) -> bool:
    """Whether an instruction is a strong access to memory that threads share."""
    if item.opcode in ("atom", "red"):
        return True
    return item.opcode in ("ld", "st") and not STRONG.isdisjoint(item.modifiers)


def updates(function: Function, sites: Sequence[Site]) -> Mapping[int, frozenset[int]]:
    """For the sites of strong stores, the sites of the strong loads that what they store is computed from, if any."""
    items = [item for item in function.body if isinstance(item, Instruction)]
    numbers: dict[int, list[int]] = {}
    for number, site in enumerate(sites):
        numbers.setdefault(id(site.instruction), []).append(number)
    writers: dict[str, list[Instruction]] = {}
    for item in items:
        for name in _written(item):
            if function.registers.get(name) != "pred":
                writers.setdefault(name, []).append(item)
    found: dict[int, frozenset[int]] = {}
    for item in items:
        if item.opcode == "st" and is_strong(item):
            loads = _loads_behind(item, writers)
            if loads:
                behind = frozenset(n for load in loads for n in numbers[id(load)])
                found.update((number, behind) for number in numbers[id(item)])
    return found


def _loads_behind(
    store: Instruction, writers: Mapping[str, Sequence[Instruction]]
) -> list[Instruction]:
    """The strong loads whose values reach a store."""
    found: list[Instruction] = []
    known: set[str] = set()
    left = list(_names(store.operands[1]))
    while left:
        name = left.pop()
        if name in known:
            continue
        known.add(name)
        for item in writers.get(name, ()):
            if is_strong(item):
                found.append(item)
            elif item.opcode != "ld" or "param" in item.modifiers:
                left += (one for operand in item.operands[1:] for one in _names(operand))
    return found


def _written(item: Instruction) -> Iterator[str]:
    """The registers, and the parameters of calls, that an instruction writes."""
    if item.opcode not in _NO_RESULT or "param" in item.modifiers:
        yield from _names(item.operands[0]) if item.operands else ()


def _names(operand: Operand) -> Iterator[str]:
    """The registers of an operand, and the parameter of a call that it is."""
    for one in scalars(operand):
        match one:
            case Register(name) | Address(Symbol(name)):
                yield name
            case _:
                pass
