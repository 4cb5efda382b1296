"""What litmus tests are written with: the code of threads, and rows of the table."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from litmus_form import UNSET, Litmus, Place, Result

Results: TypeAlias = str | frozenset[Result]
"""Results, or their digits: `"01 10"`."""

RACE = ("data race",)
MIXED = ("mixed-size race",)
U = str(UNSET)


def st(where: str, value: int | str, how: str = "relaxed.sys") -> str:
    """A store; weak if `how` is empty."""
    return f"st{f'.{how}' if how else ''}.global.u32 [{where}], {value};\n"


def ld(register: str, where: str, how: str = "relaxed.sys") -> str:
    """A load; weak if `how` is empty."""
    return f"ld{f'.{how}' if how else ''}.global.u32 %{register}, [{where}];\n"


def then(register: str, value: int, code: str) -> str:
    """Code of one instruction that is executed if a register has a value."""
    return f"setp.eq.u32 %p, %{register}, {value};\n@%p {code}"


def fence(scope: str = "sys", order: str = "acq_rel") -> str:
    """A fence."""
    return f"fence.{order}.{scope};\n"


def add(register: str, where: str, how: str = "relaxed.sys") -> str:
    """An atomic addition of 1."""
    return f"atom.{how}.global.add.u32 %{register}, [{where}], 1;\n"


RELEASE = st("y", 1, "release.sys")
ACQUIRE = ld("a", "y", "acquire.sys")
SYNC = "barrier.cta.sync 0;\n"
"""Unaligned: threads of a test may be lanes of one warp, and execute different instructions."""


def every(count: int) -> frozenset[Result]:
    """All results of so many zeros and ones."""
    return frozenset(product((0, 1), repeat=count))


def results(given: Results) -> frozenset[Result]:
    """Results, also by their digits."""
    if isinstance(given, str):
        return frozenset(tuple(int(digit) for digit in one) for one in given.split())
    return given


def clean(
    name: str,
    section: str,
    place: Place,
    threads: tuple[str, ...],
    observe: str,
    allowed: Results,
    seen: Results | None = None,
) -> Litmus:
    """A test without findings; all that is allowed must be seen, unless `seen` says what."""
    shown = allowed if seen is None else seen
    return Litmus(name, section, place, threads, observe, results(allowed), results(shown))


def wrong(
    name: str,
    section: str,
    place: Place,
    threads: tuple[str, ...],
    kinds: tuple[str, ...] = RACE,
    observe: str = "1a",
    allowed: Results = "",
) -> Litmus:
    """A test with findings; `allowed` is what schedules show that have none, which there need not be."""
    return Litmus(name, section, place, threads, observe, results(allowed), frozenset(), kinds)
