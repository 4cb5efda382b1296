"""Which slots the threads of launches have, and which launches come before which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from coconet_ir.runtime.steps import Launch, Step


@dataclass(frozen=True)
class Slots:
    """The first slots of a rank's launches, by the numbers of their steps."""

    first: Mapping[int, int]
    end: int
    """Behind all of them."""


def before(steps: Sequence[Step], number: int) -> list[int]:
    """The steps that a step waits for: of a launch those of `after`, and the last one that is no launch."""
    step = steps[number]
    if not isinstance(step, Launch):
        return list(range(number))
    found = [one for one in range(number) if not isinstance(steps[one], Launch)][-1:]
    return [*found, *step.after]


def place_launches(steps: Sequence[Step], start: int) -> Slots:
    """Slots for launches, from `start`: two that are not ordered have none in common."""
    ancestors: dict[int, set[int]] = {}
    ranges: list[tuple[int, int, int]] = []
    first: dict[int, int] = {}
    end = start
    for number, step in enumerate(steps):
        parents = before(steps, number)
        ancestors[number] = set(parents).union(*(ancestors[one] for one in parents))
        if not isinstance(step, Launch):
            continue
        count = prod(step.grid) * prod(step.block)
        for index, (at, size, last) in enumerate(ranges):
            if size >= count and last in ancestors[number] and not step.dependent:
                ranges[index] = (at, size, number)
                first[number] = at
                break
        else:
            ranges.append((end, count, number))
            first[number] = end
            end += count
    return Slots(first, end)
