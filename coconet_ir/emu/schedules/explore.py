"""All schedules of a job that may differ: what each strong read finds, and in which order threads go on.

This is dynamic partial-order reduction with source sets and sleep sets (Abdulla et al., POPL 2014). Schedules run one
after the other, depth first. A *step* of a thread is a strong access or a `fence.sc`, with all that follows up to the
next one: only the order of steps can matter, as weak accesses are ordered by them, or race whatever the order. Of
schedules that differ by the order of independent steps one runs. Steps are dependent if both write a location, or are
fences. A read that finds an older message is independent of the writes of newer ones; for it to find one of these, the
write is tried before it. A turn in vain of a loop that only waits (`polls.py`) is as if the thread had not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from coconet_ir.emu.code.layout import Op, Order
from coconet_ir.emu.schedules.schedule import Schedule

if TYPE_CHECKING:
    from coconet_ir.emu.execution.run import Item, Run
    from coconet_ir.emu.machine import Emulator, Outcome
    from coconet_ir.emu.memory.clocks import Clock


class Repeated(Exception):
    """What is left of a schedule differs from none that has run, or its name is of none."""


class Step(NamedTuple):
    """What a thread is about to do."""

    slot: int
    op: int
    site: int
    offset: int
    size: int
    scalars: int

    @property
    def places(self) -> range:
        """Where its scalars are."""
        return range(self.offset, self.offset + self.size * self.scalars, self.size or 1)

    @property
    def keys(self) -> range:
        """Steps that may be dependent have one in common."""
        if self.op == Op.FENCE:
            return range(-1, 0)
        return range(self.offset // 8, (self.offset + self.size * self.scalars - 1) // 8 + 1)

    def overlaps(self, other: Step) -> bool:
        """Whether it accesses bytes that another one accesses."""
        return (
            self.offset < other.offset + other.size * other.scalars
            and other.offset < self.offset + self.size * self.scalars
        )


@dataclass(slots=True)
class _Pick:
    """Who goes on. Those `wanted` are tried one after the other, but not those that are asleep: what they would do has
    been tried before, and nothing has changed since that they depend on."""

    steps: dict[int, Step]
    """Of the threads that can go on."""
    newest: dict[int, int]
    """The newest messages there, of what these may load."""
    asleep: dict[int, tuple[Step, int]]
    """Steps that were tried before, with the newest message then. A load is asleep until there is a newer one, and then
    finds no older one."""
    slot: int
    wanted: set[int]

    def sleeps(self, slot: int) -> bool:
        """Whether all that a thread may do was tried."""
        if slot not in self.asleep:
            return False
        step, newest = self.asleep[slot]
        return not _is_simple_load(step) or newest == self.newest[slot]

    def advance(self) -> bool:
        """Turn to the next thread; False if there is none."""
        self.asleep[self.slot] = self.steps[self.slot], self.newest[self.slot]
        for slot in self.steps:
            if slot in self.wanted and not self.sleeps(slot):
                self.slot = slot
                return True
        return False


@dataclass(slots=True)
class _Choice:
    """One of `count` alternatives."""

    count: int
    index: int = 0

    def advance(self) -> bool:
        """Turn to the next one; False if there is none."""
        self.index += 1
        return self.index < self.count


_Decision: TypeAlias = _Pick | _Choice
Known: TypeAlias = dict[int, int]
"""The last event of each slot that comes before in every schedule that is the same but for independent steps."""


@dataclass(slots=True)
class _Event:
    """A step that was done."""

    step: Step
    number: int
    pick: _Pick
    epoch: int
    before: Clock
    """What its thread knew by synchronisation."""
    newest: list[int]
    """The newest message at each of its places, before."""
    found: list[int] = field(default_factory=list[int])
    """The message that it read at each."""
    wrote: bool = False
    known: Known = field(default_factory=dict[int, int])

    def knows(self, other: _Event) -> bool:
        """Whether another event came before in every schedule that is the same but for independent steps."""
        return self.known.get(other.step.slot, -1) >= other.number


def _is_simple_load(step: Step) -> bool:
    return step.op == Op.LOAD and step.scalars == 1


class Search(Schedule):
    """The schedules of a search, one after the other: `begin` makes it ready for a run, `advance` for the next."""

    def __init__(self, name: str = "x"):
        """The first run is that of a name."""
        self.looks = 64  # each is a step of the search
        self.is_holding = False
        self._path: list[_Decision] = []
        self._given = dict(
            (int(at), int(index))
            for at, index in (one.split("=") for one in name[1:].split(",") if one)
        )

    def begin(self, run: Run) -> None:
        self._run = run
        self._depth = 0
        self._taken: list[int] = []
        """The decisions of this run that had alternatives, as numbers of these."""
        self._events: list[_Event] = []
        self._by_slot: dict[int, list[_Event]] = {}
        self._at: dict[int, list[int]] = {}
        """The numbers of events, by what they access."""
        self._asleep: dict[int, tuple[Step, int]] = {}
        self._steps: dict[int, Step | None] = {}
        self._event: _Event | None = None

    @property
    def name(self) -> str:
        return "x" + ",".join(f"{at}={index}" for at, index in enumerate(self._taken) if index)

    def advance(self) -> bool:
        """Turn to the next schedule; False if all have run."""
        self._given = {}
        self._settle()
        if (
            self._run.findings
        ):  # what would have come behind it is not known, and a read in vain may race
            for decision in self._path:
                if isinstance(decision, _Pick):
                    decision.wanted.update(decision.steps)
        while self._path and not self._path[-1].advance():
            self._path.pop()
        return bool(self._path)

    # Decisions

    def pick(self, ready: Sequence[Item]) -> int:
        self._settle()
        steps: dict[int, Step] = {}
        for index, item in enumerate(ready):
            step = self._step(item) if isinstance(item, int) else None
            if step is None:
                if isinstance(item, int):
                    del self._steps[item]
                return index
            steps[step.slot] = step
        pick = self._next(steps)
        self._take(list(steps).index(pick.slot), len(steps))
        self._begin(steps[pick.slot], pick)
        slots: list[Item] = list(steps)
        return slots.index(pick.slot)

    def read(self, count: int) -> int:
        event = self._event
        assert event is not None
        newest = event.newest[len(event.found)]
        choices = count
        if event.step.slot in event.pick.asleep and _is_simple_load(event.step):
            choices = min(count, newest - event.pick.asleep[event.step.slot][1])
        choice = self._choose(choices)
        event.found.append(newest - choice)
        return count - 1 - choice

    def order(self, blocks: int, room: int) -> list[int]:
        left, found = list(range(blocks)), list[int]()
        while left:
            choices, missing = left, min(room, blocks) - len(found)
            if missing > 0:  # they begin at once: in which order does not matter
                choices = [one for one in left if not found or one > found[-1]]
                choices = choices[: len(choices) - missing + 1]
            found.append(choices[self._choose(len(choices))])
            left.remove(found[-1])
        return found

    def waits(self) -> None:
        if self._event is not None:
            self._asleep = self._event.pick.asleep.copy()
            self._event = None

    def holds(self, rank: int, block: int, slot: int) -> bool:
        return False

    def let_go(self) -> None:
        pass

    def _next(self, steps: dict[int, Step]) -> _Pick:
        """The decision about who goes on."""
        if self._depth < len(self._path):
            pick = self._path[self._depth]
            assert isinstance(pick, _Pick)
        else:
            newest = {slot: self._run.strong.last(s.offset, s.size) for slot, s in steps.items()}
            pick = _Pick(steps, newest, self._asleep, -1, set())
            given = self._given.get(len(self._taken), -1)
            awake = [slot for slot in steps if not pick.sleeps(slot)]
            if not awake:
                raise Repeated
            pick.slot = list(steps)[given] if 0 <= given < len(steps) else awake[0]
            pick.wanted.add(pick.slot)
            self._path.append(pick)
        self._depth += 1
        return pick

    def _choose(self, count: int) -> int:
        if count == 1:
            return 0
        if self._depth == len(self._path):
            given = self._given.get(len(self._taken), 0)
            self._path.append(_Choice(count, min(given, count - 1)))
        choice = self._path[self._depth]
        assert isinstance(choice, _Choice)
        self._depth += 1
        self._take(choice.index, count)
        return choice.index

    def _take(self, index: int, count: int) -> None:
        if count > 1:
            self._taken.append(index)

    # Events

    def _step(self, slot: int) -> Step | None:
        """What a thread is about to do; None if its order does not matter."""
        if slot not in self._steps:
            op, asked = self._run.requests.peek(slot)
            step = None
            if op in (Op.LOAD, Op.STORE, Op.ATOMIC):
                step = Step(slot, op, asked.site, asked.offset, asked.size, asked.scalars)
            elif op == Op.FENCE and asked.order & Order.SC:
                step = Step(slot, op, 0, 0, 0, 0)
            self._steps[slot] = step
        return self._steps[slot]

    def _begin(self, step: Step, pick: _Pick) -> None:
        run, slot = self._run, step.slot
        del self._steps[slot]
        newest = [run.strong.last(place, step.size) for place in step.places]
        epoch, before = int(run.epochs[slot]), run.clocks[slot]
        run.records["turn"][slot] = 0
        self._event = _Event(step, len(self._events), pick, epoch, before, newest)

    def _settle(self) -> None:
        """See what the last step has done, and which earlier ones it might have come before."""
        event, self._event = self._event, None
        if event is None:
            return
        step = event.step
        if self._run.emulator.polls.get(step.site) == self._run.records["turn"][step.slot]:
            if event.found != event.newest:  # the newer one is tried beside it
                raise Repeated
            self._asleep = event.pick.asleep.copy()
            return
        if step.op == Op.ATOMIC:
            event.found = event.newest
        newest = self._run.strong.last(step.offset, step.size)
        event.wrote = step.op == Op.STORE or (step.op == Op.ATOMIC and newest > event.newest[0])
        event.known = self._told(event)
        turned: list[_Event] = []
        for number in sorted({n for key in step.keys for n in self._at.get(key, ())}, reverse=True):
            other = self._events[number]
            turns, follows = _relation(other, event)
            if turns and not event.knows(other):
                turned.append(other)
            if follows:
                _join(event.known, other.known)
        event.known[step.slot] = event.number
        for key in step.keys:
            self._at.setdefault(key, []).append(event.number)
        self._by_slot.setdefault(step.slot, []).append(event)
        self._events.append(event)
        for other in turned:
            self._want(other, event)
        self._asleep = {
            slot: (sleeper, newest)
            for slot, (sleeper, newest) in event.pick.asleep.items()
            if slot != step.slot and not _wakes(event, sleeper)
        }

    def _told(self, event: _Event) -> Known:
        """What came before an event in its own thread, and by synchronisation."""
        before = self._by_slot.get(event.step.slot)
        known = dict(before[-1].known) if before else {}
        if not before or before[-1].before.row is not event.before.row:
            for slot, events in self._by_slot.items():
                for other in reversed(events):
                    if known.get(slot, -1) >= other.number:
                        break
                    if event.before.knows(slot, other.epoch):
                        _join(known, other.known)
                        break
        return known

    def _want(self, first: _Event, second: _Event) -> None:
        """Try what leads to the second of two events without the first."""
        rest = self._events[first.number + 1 : second.number]
        rest = [event for event in rest if not event.knows(first)] + [second]
        leading = {
            event.step.slot: None
            for at, event in enumerate(rest)
            if not any(event.knows(other) for other in rest[:at])
        }
        ready = [slot for slot in leading if slot in first.pick.steps]
        if first.pick.wanted.isdisjoint(ready):
            first.pick.wanted.update(ready[:1] or first.pick.steps)


def _relation(first: _Event, second: _Event) -> tuple[bool, bool]:
    """Of events of two threads: whether the other order must be tried, and whether this one leads to the second."""
    one, two = first.step, second.step
    if one.slot == two.slot:
        return False, False
    if one.op == Op.FENCE or two.op == Op.FENCE:
        return one.op == two.op, one.op == two.op
    if not one.overlaps(two):
        return False, False
    if two.op == Op.LOAD:  # an older message is found in the other order too
        messages = dict(zip(one.places, first.newest, strict=True))
        read = zip(two.places, second.found, strict=True)
        return False, first.wrote and any(messages.get(at, found) < found for at, found in read)
    turns = first.wrote or second.wrote
    return turns, turns and one.op != Op.LOAD


def _wakes(event: _Event, sleeper: Step) -> bool:
    """Whether a step that has been tried may do something else behind an event."""
    step = event.step
    if step.op == Op.FENCE or sleeper.op == Op.FENCE:
        return step.op == sleeper.op
    if step.op == Op.LOAD or not step.overlaps(sleeper):
        return False
    return not _is_simple_load(sleeper)  # which finds what is new in any case


def _join(known: Known, other: Known) -> None:
    for slot, number in other.items():
        known[slot] = max(number, known.get(slot, -1))


@dataclass(frozen=True)
class Tried:
    """A schedule of a search."""

    name: str
    outcome: Outcome | None
    """None if it was given up."""
    more: bool
    """Whether there are others."""


def explore(emulator: Emulator) -> Iterator[Tried]:
    """Run all schedules that may differ, one after the other."""
    search, more = Search(), True
    while more:
        try:
            outcome = emulator.run(search)
        except Repeated:
            outcome = None
        name, more = search.name, search.advance()
        yield Tried(name, outcome, more)
