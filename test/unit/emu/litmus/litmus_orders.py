"""Random programs with atomic operations, vectors and waits, run in every order of all requests of threads: what the
exhaustive search shows must be the same, though it leaves out orders that make no difference.

`python test/unit/emu/litmus/litmus_orders.py FIRST END` compares the programs of these seeds.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from litmus_form import Litmus, Place, Running

from coconet_ir.emu.machine import Emulator, Outcome
from coconet_ir.emu.schedules.explore import explore

PLACES: tuple[Place, ...] = ("ranks", "grid", "block")
MOST = 300
"""Orders of a program that is compared."""


class Orders:
    """A schedule that takes every alternative of each decision in turn."""

    name = 0
    is_holding = False
    looks = 64

    def __init__(self) -> None:
        self._path: list[list[int]] = []

    def begin(self, run: Any) -> None:
        self._depth = 0

    def _choose(self, count: int) -> int:
        if self._depth == len(self._path):
            self._path.append([0, count])
        self._depth += 1
        return self._path[self._depth - 1][0]

    def pick(self, ready: Sequence[Any]) -> int:
        for index, item in enumerate(ready):
            if not isinstance(item, int):  # it asks for nothing
                return index
        return self._choose(len(ready))

    def read(self, count: int) -> int:
        return self._choose(count)

    def order(self, blocks: int, room: int) -> list[int]:
        return list(range(blocks))

    def waits(self) -> None:
        pass

    def holds(self, rank: int, block: int, slot: int) -> bool:
        return False

    def let_go(self) -> None:
        pass

    def advance(self) -> bool:
        """Turn to the next one; False if there is none."""
        while self._path:
            self._path[-1][0] += 1
            if self._path[-1][0] < self._path[-1][1]:
                return True
            self._path.pop()
        return False


def make(seed: int) -> Litmus:
    """The program of a seed."""
    rng = random.Random(seed)
    count = rng.choice((2, 2, 3))
    threads = tuple(
        "".join(_text(rng, f"{t}_{n}") for n in range(rng.randint(1, 4 if count == 2 else 3)))
        for t in range(count)
    )
    return Litmus(str(seed), "8", rng.choice(PLACES), threads, "", frozenset(), frozenset())


def _text(rng: random.Random, label: str) -> str:
    where, register = rng.choice("xy"), f"%{rng.choice('abcd')}"
    scope = rng.choice(("sys", "sys", "sys", "sys", "sys", "gpu"))
    load = f"ld.{rng.choice(('relaxed', 'acquire'))}.{scope}.global.u32 {register}, [{where}];\n"
    store = f"st.{rng.choice(('relaxed', 'release'))}.{scope}.global.u32"
    test = f"setp.eq.u32 %p, {register}, {rng.choice((0, 0, 1))};\n"
    again = f"@%p bra L{label};\n"
    lines = {
        "load": load,
        "store": f"{store} [{where}], {rng.choice((1, 2, '%a'))};\n",
        "fence": f"fence.{rng.choice(('sc', 'sc', 'acq_rel'))}.sys;\n",
        "add": f"atom.acq_rel.sys.global.add.u32 {register}, [{where}], 1;\n",
        "swap": f"atom.relaxed.sys.global.cas.b32 {register}, [{where}], {rng.randint(0, 1)}, 2;\n",
        "vector": f"ld.relaxed.sys.global.v2.u32 {{%a, %b}}, [{where}];\n",
        "two": f"st.relaxed.sys.global.v2.u32 [{where}], {{1, 2}};\n",
        "wait": f"L{label}:\n{load}{test}{again}",
        "count": f"mov.u32 %d, 0;\nL{label}:\n{load}add.u32 %d, %d, 1;\n{test}{again}",
        "lock": f"L{label}:\natom.acquire.sys.global.cas.b32 %b, [{where}], 0, 1;\n"
        f"setp.ne.u32 %p, %b, 0;\n{again}",
        "if": f"setp.eq.u32 %p, {register}, 1;\n@%p {store} [{where}], 3;\n",
        "weak": "st.global.u32 [z], 1;\n",
        "read": "setp.eq.u32 %p, %a, 1;\n@%p ld.global.u32 %c, [z];\n",
    }
    weights = (6, 7, 3, 2, 2, 1, 1, 3, 1, 1, 1, 1, 1)
    return rng.choices(list(lines.values()), weights)[0]


def _shown(outcome: Outcome) -> Hashable:
    """A finding by its kind and lines, or what memory holds."""
    for one in outcome.findings:
        return one.kind, frozenset(place.line for place in one.places)
    return tuple(tuple(buffers.values()) for buffers in outcome.memory)


def _every(emulator: Emulator) -> Iterator[Outcome]:
    orders = Orders()
    yield emulator.run(orders)
    while orders.advance():
        yield emulator.run(orders)


def compare(litmus: Litmus) -> tuple[set[Hashable], set[Hashable]] | None:
    """What the search and all orders show; None if there are too many orders."""
    emulator = Running(litmus).emulator
    every: set[Hashable] = set()
    for number, outcome in enumerate(_every(emulator)):
        if number == MOST:
            return None
        every.add(_shown(outcome))
    tried = [one.outcome for one in explore(emulator)]
    return {_shown(one) for one in tried if one is not None}, every


def main() -> None:
    """Compare programs."""
    first, end = (int(one) for one in sys.argv[1:3])
    compared = 0
    for seed in range(first, end):
        litmus = make(seed)
        found = compare(litmus)
        compared += found is not None
        if found is not None and found[0] != found[1]:
            print(seed, litmus.place, found[1] ^ found[0], *litmus.threads, sep="\n", flush=True)
    print(f"{compared} programs")


if __name__ == "__main__":
    main()
