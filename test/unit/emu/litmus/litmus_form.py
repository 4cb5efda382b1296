"""What a litmus test is, and the kernel and plan that run it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from coconet_ir.emu.checks.plan import Plan, make_plan
from coconet_ir.emu.machine import Emulator, Outcome
from coconet_ir.emu.schedules.explore import explore
from coconet_ir.emu.schedules.schedule import Name, Schedule

Place: TypeAlias = Literal["block", "warps", "grid", "ranks", "pair", "stream", "dependent", "host"]
"""Where the threads are: in one block; each the first of a warp of one block; in blocks of their own on one rank; on
ranks of their own; the first two in a block of rank 0, the third on rank 1; in kernels of their own, one behind the
other in a stream, or each a programmatic dependent of the one before it; on rank 1, while rank 0 copies ones to its
memory."""

Result: TypeAlias = tuple[int, ...]
UNSET = 9
"""What a register holds that nothing was loaded into."""
LOCATIONS = {"x": 0, "y": 64, "z": 128}


@dataclass(frozen=True)
class Litmus:
    """A program, and what PTX says of it."""

    name: str
    section: str
    """Of the PTX ISA, where it follows from."""
    place: Place
    threads: tuple[str, ...]
    """Code of each, with `[x]`, `[y+4]` and so on in rank 0's memory, 64 bytes apart and zero before, with `[s]` in the
    block's shared memory, which nobody has written before, and registers %a to %d, which hold UNSET before."""
    observe: str
    """What a result consists of: `1a` is %a of thread 1, `x` the location in the end."""
    allowed: frozenset[Result]
    seen: frozenset[Result]
    """Those that some schedule must show."""
    kinds: tuple[str, ...] = ()
    """The findings one of which some schedule must have; if there are none, all schedules are clean."""

    def __str__(self) -> str:
        return self.name


_THREADS = (
    "mov.u32 %lane, %tid.x;",
    "add.u32 %me, %me, %lane;",
    "mov.u32 %lane, %ctaid.x;",
    "add.u32 %me, %me, %lane;",
    "setp.eq.u32 %lead, %me, %me;",
)
_WARPS = (
    "mov.u32 %lane, %tid.x;",
    "shr.u32 %me, %lane, 5;",
    "and.b32 %lane, %lane, 31;",
    "setp.eq.u32 %lead, %lane, 0;",
)


def _address(found: re.Match[str]) -> str:
    return f"[%x+{LOCATIONS[found[1]] + int(found[2] or 0)}]"


def kernel(test: Litmus) -> str:
    """The PTX of a test."""
    lines = [
        ".version 8.6",
        ".target sm_90",
        ".address_size 64",
        ".visible .entry litmus(.param .u64 table, .param .u64 results, .param .u32 first)",
        "{",
        ".reg .pred %p, %lead;",
        ".reg .u32 %a, %b, %c, %d, %me, %lane;",
        ".reg .b64 %l, %m, %x, %to, %offset;",
        ".shared .align 8 .u32 s[2];",
        "ld.param.u64 %x, [table];",
        "ld.global.u64 %x, [%x];",
        "ld.param.u32 %me, [first];",
        *(_WARPS if test.place == "warps" else _THREADS),
        *(f"mov.u32 %{register}, {UNSET};" for register in "abcd"),
    ]
    for number in range(1, len(test.threads)):
        lines += [f"setp.eq.u32 %p, %me, {number};", f"@%p bra T{number};"]
    for number, code in enumerate(test.threads):
        code = re.sub(r"\[([xyz])(?:\+(\d+))?\]", _address, code)
        lines += [f"T{number}:", *(line.strip() for line in code.splitlines()), "bra END;"]
    lines += [
        "END:",
        "@!%lead bra DONE;",
        "mul.wide.u32 %offset, %me, 16;",
        "ld.param.u64 %to, [results];",
        "add.u64 %to, %to, %offset;",
        "st.global.v4.u32 [%to], {%a, %b, %c, %d};",
        "DONE:",
        "ret;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def plan(test: Litmus) -> Plan:
    """The plan of a test."""
    count = len(test.threads)
    launch: dict[str, Any] = {"kernel": "litmus", "grid": 1, "block": 1}
    first: Any = 0
    ranks, steps = 1, 1
    found: list[dict[str, Any]] = []
    match test.place:
        case "block":
            launch["block"] = count
        case "warps":
            launch["block"] = 32 * count
        case "grid":
            launch["grid"] = count
        case "ranks":
            ranks, first = count, "rank"
        case "pair":
            ranks, first = 2, {"per_rank": [0, 2]}
            launch["block"] = {"per_rank": [2, 1]}
        case "stream" | "dependent":
            steps = count
        case "host":
            ranks = 2
            found.append({"copy": "ones", "to": "memory", "ranks": [0]})
            launch["ranks"] = [1]
    for number in range(steps):
        given = {"u32": number if steps > 1 else first}
        step = {**launch, "arguments": ["table", "results", given]}
        if test.place == "dependent" and number:
            step["dependent"] = True
        found.append(step)
    buffers = {
        "memory": {"type": "u32", "count": 64, "content": 0},
        "ones": {"type": "u32", "count": 64, "content": 1},
        "table": {"pointers": "memory"},
        "results": {"type": "u32", "count": 4 * count, "content": 0},
    }
    return make_plan({"ranks": ranks, "buffers": buffers, "steps": found}, kernel(test))


class Running:
    """A test that is ready to run."""

    def __init__(self, test: Litmus):
        self.test = test
        job = plan(test).job
        self.emulator = Emulator(job)
        self.owners = {memory.name: owner for owner, memory in job.ranks[0].memory.items()}

    def run(self, schedule: Schedule | Name) -> str | Result:
        """What a schedule shows: the kind of a finding, or a result."""
        return self._shown(self.emulator.run(schedule))

    def all(self) -> set[str | Result]:
        """What all schedules show."""
        outcomes = [tried.outcome for tried in explore(self.emulator)]
        return {self._shown(one) for one in outcomes if one is not None}

    def _shown(self, outcome: Outcome) -> str | Result:
        if outcome.findings:
            return outcome.findings[0].kind
        words = [self._words(rank, "results") for rank in outcome.memory]
        stored = [
            sum(one) for one in zip(*words, strict=True)
        ]  # a slot is zero where it is not written
        memory = self._words(outcome.memory[0], "memory")
        found: list[int] = []
        for what in self.test.observe.split():
            if what in LOCATIONS:
                found.append(memory[LOCATIONS[what] // 4])
            else:
                found.append(stored[4 * int(what[0]) + "abcd".index(what[1])])
        return tuple(found)

    def _words(self, rank: Mapping[int, bytes], name: str) -> list[int]:
        held: list[int] = np.frombuffer(rank[self.owners[name]], np.uint32).tolist()
        return held
