"""Random straight-line programs, which the emulator runs and the axioms judge.

`python test/unit/emu/litmus/litmus_random.py FIRST END` compares the programs of these seeds.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass

from litmus_axioms import SCOPES, Event, Program
from litmus_form import Litmus, Place, Running

NEEDED: dict[Place, str] = {"block": "cta", "grid": "gpu", "ranks": "sys"}


@dataclass(frozen=True)
class Case:
    """A program."""

    litmus: Litmus
    program: Program


def make(seed: int) -> Case:
    """The program of a seed: two threads of at most four steps, or three of at most three."""
    rng = random.Random(seed)
    place = rng.choice(list(NEEDED))
    count = rng.choice((2, 2, 3))
    weak = rng.choice((0.0, 0.0, 0.15))
    threads: list[list[Event]] = []
    number = value = 0
    for thread in range(count):
        events: list[Event] = []
        for _ in range(rng.randint(2, 4 if count == 2 else 3)):
            kind = rng.choice(("st", "ld", "st", "ld", "fence"))
            scope = rng.choice(("sys", "sys", "sys", NEEDED[place], rng.choice(SCOPES)))
            where = "" if kind == "fence" else rng.choice("xy")
            orders = {
                "st": ("relaxed", "release"),
                "ld": ("relaxed", "acquire"),
                "fence": ("acq_rel", "sc", "release", "acquire"),
            }
            order = rng.choice(orders[kind])
            if kind != "fence" and rng.random() < weak:
                order = scope = ""
            value += kind == "st"
            stored = value if kind == "st" else 0
            events.append(Event(number, thread, kind, where, order, scope, stored))
            number += 1
        threads.append(events)
    codes = tuple("".join(_text(event, events) for event in events) for events in threads)
    registers = [
        f"{event.thread}{_register(event, events)}"
        for events in threads
        for event in events
        if event.kind == "ld"
    ]
    program = Program(threads, NEEDED[place])
    observe = " ".join((*registers, *program.locations))
    litmus = Litmus(f"random {seed}", "8", place, codes, observe, frozenset(), frozenset())
    return Case(litmus, program)


def _register(event: Event, events: list[Event]) -> str:
    return "abcd"[[e for e in events if e.kind == "ld"].index(event)]


def _text(event: Event, events: list[Event]) -> str:
    how = f".{event.order}.{event.scope}" if event.order else ""
    match event.kind:
        case "st":
            return f"st{how}.global.u32 [{event.where}], {event.value};\n"
        case "ld":
            return f"ld{how}.global.u32 %{_register(event, events)}, [{event.where}];\n"
        case _:
            return f"fence{how};\n"


def disagreements(case: Case, schedules: int | None = None) -> list[str]:
    """How the emulator differs from the axioms, in all schedules if no number is given."""
    executions = list(case.program.executions())
    allowed = {
        (*one.loads, *(value for _, value in one.final)) for one in executions if not one.race
    }
    running = Running(case.litmus)
    shown = running.all() if schedules is None else {running.run(n) for n in range(schedules)}
    results = {one for one in shown if not isinstance(one, str)}
    races = len(results) < len(shown)
    found: list[str] = []
    if wrong := results - allowed:
        found.append(f"shows {sorted(wrong)}")
    if races and not any(one.race for one in executions):
        found.append("reports a race that there is not")
    if not races and any(one.race and not one.buffered for one in executions):
        found.append("misses a race")
    return found


def main() -> None:
    """Compare programs."""
    first, end = (int(one) for one in sys.argv[1:3])
    for seed in range(first, end):
        case = make(seed)
        if found := disagreements(case, 100):
            print(seed, case.litmus.place, found, *case.litmus.threads, sep="\n")
    print(f"{end - first} programs")


if __name__ == "__main__":
    main()
