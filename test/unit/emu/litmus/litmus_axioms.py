"""PTX's memory model as its text states it (PTX ISA, 8.7 to 8.10), for straight-line programs without atomics.

An execution is given by what each load reads, by the order of the stores to each location, and by that of the
`fence.sc`. It is consistent if no axiom forbids it. The emulator is compared with all consistent executions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

SCOPES = ("cta", "gpu", "sys")


@dataclass(frozen=True)
class Event:
    """A memory operation or a fence of a thread; first contents have no thread."""

    number: int
    thread: int
    kind: str
    """`st`, `ld` or `fence`."""
    where: str = ""
    order: str = ""
    """`` for a weak access."""
    scope: str = ""
    value: int = 0

    @property
    def releases(self) -> bool:
        return self.order in ("release", "acq_rel", "sc")

    @property
    def acquires(self) -> bool:
        return self.order in ("acquire", "acq_rel", "sc")


@dataclass(frozen=True)
class Found:
    """A consistent execution."""

    loads: tuple[int, ...]
    """Values, in the order of the events."""
    final: tuple[tuple[str, int], ...]
    """What locations hold in the end."""
    race: bool
    buffered: bool
    """Whether program order and what is read form a cycle: load buffering, which the emulator does not show."""


class Program:
    """Threads of events, and which scopes include which other threads."""

    def __init__(self, threads: Sequence[Sequence[Event]], needed: str):
        self.events = [event for thread in threads for event in thread]
        self.needed = needed
        """The narrowest scope that includes another thread."""
        self.locations = sorted({e.where for e in self.events if e.where})
        self.count = len(self.events)
        self.loads = [e for e in self.events if e.kind == "ld"]
        self.stores = {
            w: [e for e in self.events if e.kind == "st" and e.where == w] for w in self.locations
        }
        self.program_order = {
            (a.number, b.number)
            for a in self.events
            for b in self.events
            if a.thread == b.thread and a.number < b.number
        }

    def strong_pair(self, a: Event, b: Event) -> bool:
        """Whether two operations are morally strong (8.7)."""
        if a.thread == b.thread:
            return True
        least = SCOPES.index(self.needed)
        return all(e.order and SCOPES.index(e.scope) >= least for e in (a, b))

    def executions(self) -> Iterator[Found]:
        """All that are consistent."""
        fences = [e for e in self.events if e.kind == "fence" and e.order == "sc"]
        choices = [[None, *self.stores[e.where]] for e in self.loads]
        orders = [list(permutations(self.stores[w])) for w in self.locations]
        for read in product(*choices):
            source = dict(zip((e.number for e in self.loads), read, strict=True))
            for sequence in permutations(fences):
                causes = self._causality(source, sequence)
                if causes is None:
                    continue
                for coherence in product(*orders):
                    if (found := self._judge(source, causes, coherence)) is not None:
                        yield found

    def _observed(self, source: dict[int, Event | None]) -> set[tuple[int, int]]:
        """Observation order (8.9.2)."""
        return {
            (store.number, load.number)
            for load in self.loads
            if (store := source[load.number]) is not None and self.strong_pair(store, load)
        }

    def _synchronizes(
        self, source: dict[int, Event | None], sequence: Sequence[Event]
    ) -> set[tuple[int, int]]:
        """Who synchronizes with whom (8.8, 8.9.4)."""
        found = {
            (a.number, b.number)
            for i, a in enumerate(sequence)
            for b in sequence[i + 1 :]
            if self.strong_pair(a, b)
        }
        for write, read in self._observed(source):
            store, load = self.events[write], self.events[read]
            for first in self._heads(store):
                for last in self._tails(load):
                    if first.thread != last.thread and self.strong_pair(first, last):
                        found.add((first.number, last.number))
        return found

    def _heads(self, store: Event) -> list[Event]:
        """The first operations of the release patterns that a strong store ends."""
        if not store.order:
            return []
        return [
            e
            for e in self.events
            if e.releases
            and (e is store or (e.number, store.number) in self.program_order)
            and (e.kind == "fence" or (e.kind == "st" and e.where == store.where))
        ]

    def _tails(self, load: Event) -> list[Event]:
        """The last operations of the acquire patterns that a strong load begins."""
        if not load.order:
            return []
        return [
            e
            for e in self.events
            if e.acquires
            and (e is load or (load.number, e.number) in self.program_order)
            and (e.kind == "fence" or (e.kind == "ld" and e.where == load.where))
        ]

    def _causality(
        self, source: dict[int, Event | None], sequence: Sequence[Event]
    ) -> set[tuple[int, int]] | None:
        """Causality order (8.9.5); None if it contradicts itself or the order of fences (8.10.2)."""
        base = _closed(self.program_order | self._synchronizes(source, sequence), self.count)
        if any((i, i) in base for i in range(self.count)):
            return None
        for i, a in enumerate(sequence):
            if any(
                (b.number, a.number) in base and self.strong_pair(a, b) for b in sequence[i + 1 :]
            ):
                return None
        seen = self._observed(source)
        return base | {(w, y) for w, r in seen for x, y in base if x == r}

    def _judge(
        self,
        source: dict[int, Event | None],
        causes: set[tuple[int, int]],
        coherence: Sequence[Sequence[Event]],
    ) -> Found | None:
        """The execution, if no axiom forbids it (8.10)."""
        place = {e.number: i for order in coherence for i, e in enumerate(order)}
        later = {
            (a.number, b.number)
            for order in coherence
            for a in order
            for b in order
            if place[a.number] < place[b.number]
        }
        if any((b, a) in causes for a, b in later):
            return None  # coherence
        reads = {(w.number, r) for r, w in source.items() if w is not None}
        before = {  # a load comes before what is later than the store that it reads
            (load.number, store.number)
            for load in self.loads
            for store in self.stores[load.where]
            if (read := source[load.number]) is None or (read.number, store.number) in later
        }
        if any((b, a) in causes for a, b in reads | before):
            return None  # causality
        local = {(a, b) for a, b in self.program_order if self._same_place(a, b)}
        strong = {
            (a, b)
            for a, b in reads | before | later
            if self.strong_pair(self.events[a], self.events[b])
        }
        cycle = _closed(local | strong, self.count)
        if any((i, i) in cycle for i in range(self.count)):
            return None  # sequential consistency of a location
        buffered = _closed(self.program_order | reads, self.count)
        return Found(
            tuple(0 if (w := source[e.number]) is None else w.value for e in self.loads),
            tuple(
                (w, order[-1].value if order else 0)
                for w, order in zip(self.locations, coherence, strict=True)
            ),
            self._races(causes, later),
            any((i, i) in buffered for i in range(self.count)),
        )

    def _same_place(self, a: int, b: int) -> bool:
        return bool(self.events[a].where) and self.events[a].where == self.events[b].where

    def _races(self, causes: set[tuple[int, int]], later: set[tuple[int, int]]) -> bool:
        """Whether two operations are in a data race (8.7.1).

        A store that was overwritten by one that comes before an operation is not counted: nobody can tell its race
        with that operation, and the emulator reports none.
        """

        def ordered(a: int, b: int) -> bool:
            past = {w for w in range(self.count) if (w, b) in causes and (a, w) in later}
            return (a, b) in causes or bool(past)

        return any(
            self._same_place(a.number, b.number)
            and "st" in (a.kind, b.kind)
            and not ordered(a.number, b.number)
            and not ordered(b.number, a.number)
            and not self.strong_pair(a, b)
            for i, a in enumerate(self.events)
            for b in self.events[i + 1 :]
        )


def _closed(pairs: set[tuple[int, int]], count: int) -> set[tuple[int, int]]:
    """The transitive closure."""
    reach = [0] * count
    for a, b in pairs:
        reach[a] |= 1 << b
    for k in range(count):
        for i in range(count):
            if reach[i] >> k & 1:
                reach[i] |= reach[k]
    return {(i, j) for i in range(count) for j in range(count) if reach[i] >> j & 1}
