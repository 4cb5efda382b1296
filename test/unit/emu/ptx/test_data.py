"""Files by nvcc and Triton: the tree against what regular expressions find in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from coconet_ir.emu.ptx.calls import inline_calls
from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Label,
    Location,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Targets,
    Variable,
    Vector,
)

NAMES = (
    "calls",
    "calls.debug",
    "library",
    "refused",
    "triton_softmax",
    "triton_product",
    "triton_one_shot",
)
STATEMENT = re.compile(
    r"\s*(?:(@!?)(%?\w+)\s+)?([a-z][^:;{}]*(?:::[^;{}]*)?(?:\{[^}]*\}[^;{}]*)*);"
)
SPECIAL = re.compile(r"%(n?tid|n?ctaid)\.[xyz]|%laneid|%globaltimer")


def plain(text: str) -> str:
    """The text without comments and sections, with its lines where they were."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"\.section\s+\S+\s*\{[^}]*\}", lambda m: "\n" * m[0].count("\n"), text)


def instructions(functions: list[Function]) -> list[Instruction]:
    """All instructions by their lines."""
    found = [i for f in functions for i in f.body if isinstance(i, Instruction)]
    return sorted(found, key=lambda i: i.line)


def names(operand: Operand | None) -> Iterator[Register | Symbol]:
    match operand:
        case Register() | Symbol():
            yield operand
        case Address(base, _, items) | Vector((base, *items)):
            for item in (base, *items):
                yield from names(item)
        case Not(register):
            yield register
        case Pair(first, second):
            yield from (one for one in (first, second) if not isinstance(one, Sink))
        case _:
            return


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_is_there(data: dict[str, str], name: str) -> None:
    """All stand on one line, but for calls, which nvcc lays out over many."""
    text = plain(data[name])
    wanted = [
        (number, " ".join(found[3].split()), found[1] and found[1] + found[2])
        for number, line in enumerate(text.split("\n"), 1)
        for part in re.findall(r"[^;]+;", line)
        if (found := STATEMENT.fullmatch(part))
    ]
    everything = instructions(list(parse_ptx(data[name]).functions.values()))
    calls = [i for i in everything if i.opcode == "call"]
    assert len(calls) == len(re.findall(r"^\s*call(?:\.uni)?\s", text, re.M))
    assert [
        (
            i.line,
            i.text,
            i.guard and "@" + "!" * i.guard.negated + i.guard.register.name.split(".")[0],
        )
        for i in everything
        if i not in calls
    ] == wanted


@pytest.mark.parametrize("name", NAMES)
def test_locations(data: dict[str, str], name: str) -> None:
    """Each instruction has the `.loc` before it in its function."""
    text = data[name].split("\n")
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"(.*)"', data[name], re.M))
    for function in parse_ptx(data[name]).functions.values():
        wanted: tuple[str, int, int] | None = None
        at = function.line
        for item in function.body:
            if not isinstance(item, Instruction):
                continue
            for line in text[at - 1 : item.line - 1]:
                if loc := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", line):
                    wanted = files[loc[1]], int(loc[2]), int(loc[3])
            at = item.line
            place = item.location
            assert (place and (place.file, place.line, place.column)) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_declared(data: dict[str, str], name: str) -> None:
    """Also when calls are replaced: labels once, and registers, variables and targets of branches at all."""
    module = parse_ptx(data[name])
    bodies = [f for f in module.functions.values() if not f.declared]
    if name != "refused":
        bodies += [inline_calls(f, module) for f in bodies if f.kernel]
    for function in bodies:
        labels = [item.name for item in function.body if not isinstance(item, Instruction)]
        assert len(labels) == len(set(labels))
        variables: list[Variable] = [*function.parameters, *function.results, *function.variables]
        known = (
            {v.name for v in variables}
            | set(labels)
            | module.variables.keys()
            | module.functions.keys()
        )
        assert len({v.name for v in variables}) == len(variables)
        for item in function.body:
            if isinstance(item, Label):
                continue
            if isinstance(item, Targets):
                assert known.issuperset(item.labels)
                continue
            if isinstance(item, Instruction):
                used = [one for operand in item.operands for one in names(operand)]
                used += [item.guard.register] if item.guard else []
                for one in used:
                    if isinstance(one, Symbol):
                        assert one.name in known
                    else:
                        assert one.name in function.registers or SPECIAL.fullmatch(one.name)


def test_what_was_inlined_by_nvcc_knows_where(data: dict[str, str]) -> None:
    found = [
        i.location
        for i in instructions(list(parse_ptx(data["library"]).functions.values()))
        if i.location and i.location.within
    ]
    source = data["library"]
    assert found
    for place in found:
        within = place.within
        assert within
        call = f"{within.line} {within.column}"
        pattern = rf"\.loc\s+\d+ {place.line} {place.column}, .*, inlined_at \d+ {call}\n"
        assert re.search(pattern, source)


def test_what_was_inlined_twice_by_triton_knows_where(data: dict[str, str]) -> None:
    module = parse_ptx(data["triton_one_shot"])
    stores = [i for i in instructions(list(module.functions.values())) if "release" in i.modifiers]
    assert {lines(i.location) for i in stores} == {(163, 191, 203), (163, 191, 210)}


def lines(place: Location | None) -> tuple[int, ...]:
    """The line of a place and of the calls that it was inlined by."""
    return () if place is None else (place.line, *lines(place.within))


def test_asserts_trap_and_nothing_is_printed(data: dict[str, str]) -> None:
    module = parse_ptx(data["calls"])
    before = [i.opcode for i in instructions([module.functions["checked"]])]
    after = [i.opcode for i in instructions([inline_calls(module.functions["checked"], module)])]
    assert before.count("call") == 2
    assert "call" not in after
    assert after.count("trap") == before.count("trap") + 1
