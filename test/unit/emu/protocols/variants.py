"""Correct variants of a kernel of this folder: other notations, stronger orders, more synchronisation, other orders of
what is independent. Edits are composed at random and leave the kernel correct by themselves and together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Lines = list[str]
RELEASE = re.compile(r"(\s*)st\.(release|relaxed)\.sys\.(\S+) (.*)")
ACQUIRE = re.compile(r"(\s*)ld\.(acquire|relaxed)\.sys\.(\S+) (.*)")
SIMPLE = re.compile(r"\s+(?:ld|st|add|sub|mul|mad|mov|rem|div|min|max|and)\.[\w.]+ .*;")


def _each(lines: Lines, rng: random.Random, change: Callable[[str], str | None]) -> Lines:
    """The lines, some of those that can be changed changed, at least one if there is one."""
    places = [i for i, line in enumerate(lines) if change(line) not in (None, line)]
    if not places:
        return lines
    chosen = rng.sample(places, rng.randint(1, len(places)))
    return [(change(line) or line) if i in chosen else line for i, line in enumerate(lines)]


def _replaced(old: str, new: str) -> Callable[[Lines, random.Random], Lines]:
    """An edit that writes `new` for `old` in some lines."""

    def edit(lines: Lines, rng: random.Random) -> Lines:
        return _each(lines, rng, lambda line: line.replace(old, new) if old in line else None)

    return edit


def _release_by_fence(lines: Lines, rng: random.Random) -> Lines:
    """A release is a fence and a relaxed store."""

    def change(line: str) -> str | None:
        found = RELEASE.fullmatch(line)
        if found is None or found[2] != "release":
            return None
        space, _, rest, operands = found.groups()
        return f"{space}fence.acq_rel.sys;\n{space}st.relaxed.sys.{rest} {operands}"

    return _each(lines, rng, change)


def _acquire_by_fence(lines: Lines, rng: random.Random) -> Lines:
    """An acquire is a relaxed load and a fence, here at each turn of the wait."""

    def change(line: str) -> str | None:
        found = ACQUIRE.fullmatch(line)
        if found is None or found[2] != "acquire":
            return None
        space, _, rest, operands = found.groups()
        return f"{space}ld.relaxed.sys.{rest} {operands}\n{space}fence.acq_rel.sys;"

    return _each(lines, rng, change)


def _fence_into_access(lines: Lines, rng: random.Random) -> Lines:
    """A fence and a relaxed store are a release; a relaxed load and a fence behind the wait are an acquire."""
    new = list(lines)
    for i, line in enumerate(lines):
        if line.strip() != "fence.acq_rel.sys;" or rng.random() < 0.3:
            continue
        load = _load_of_wait(lines, i)
        if "st.relaxed.sys" in lines[i + 1]:
            new[i], new[i + 1] = "", lines[i + 1].replace(".relaxed", ".release")
        elif load is not None and "ld.relaxed.sys" in lines[load]:
            new[i], new[load] = "", lines[load].replace(".relaxed", ".acquire")
    return new


def _load_of_wait(lines: Lines, at: int) -> int | None:
    """The load of the wait that ends right before a line."""
    found = re.search(r"bra (WAIT\w*);", lines[at - 1])
    if found is None:
        return None
    return next(i for i in range(lines.index(f"{found[1]}:"), at) if " ld." in lines[i])


def _half_fences(lines: Lines, rng: random.Random) -> Lines:
    """A fence before a signal need only release, one behind a wait only acquire."""
    new = list(lines)
    for i, line in enumerate(lines):
        if line.strip() != "fence.acq_rel.sys;" or rng.random() < 0.3:
            continue
        if lines[i + 1].strip().startswith(("st.", "atom.")):
            new[i] = line.replace("acq_rel", "release")
        elif _load_of_wait(lines, i) is not None:
            new[i] = line.replace("acq_rel", "acquire")
    return new


def _more_barriers(lines: Lines, rng: random.Random) -> Lines:
    """A barrier more, beside one that is there or where all threads come by."""

    def change(line: str) -> str | None:
        if line.strip().startswith("bar"):
            return f"{line}\n    bar.sync 1;"
        if line.startswith("DONE:"):
            return f"{line}\n    bar.sync 2;"
        if re.match(r"\s*mov\.u32 %threads", line):
            return f"    bar.sync 3;\n{line}"
        return None

    return _each(lines, rng, change)


def _more_fences(lines: Lines, rng: random.Random) -> Lines:
    """A fence more, anywhere."""
    fence = f"    fence.{rng.choice(('acq_rel', 'sc'))}.{rng.choice(('cta', 'gpu', 'sys'))};"

    def change(line: str) -> str | None:
        return f"{fence}\n{line}" if SIMPLE.fullmatch(line) or "bar.sync" in line else None

    return _each(lines, rng, lambda line: change(line) if rng.random() < 0.2 else None)


def _exchanged(lines: Lines, rng: random.Random) -> Lines:
    """A signal is an exchange, whose result nobody needs."""

    def change(line: str) -> str | None:
        found = RELEASE.fullmatch(line)
        if found is None or "u32" not in found[3]:
            return None
        space, order, _, operands = found.groups()
        place, value = operands.split(", ")
        return f"{space}atom.{order}.sys.global.exch.b32 %seen, {place}, {value}"

    return _each(lines, rng, change)


def _permuted(lines: Lines, rng: random.Random) -> Lines:
    """Neighbours that do not depend on each other change places."""
    new = list(lines)
    for i in range(len(new) - 1):
        if rng.random() < 0.5 and _independent(new[i], new[i + 1]):
            new[i], new[i + 1] = new[i + 1], new[i]
    return new


def _independent(first: str, second: str) -> bool:
    if not (SIMPLE.fullmatch(first) and SIMPLE.fullmatch(second)):
        return False
    for one in (first, second):
        if ".relaxed" in one or ".acquire" in one or ".release" in one:
            return False
    if first.strip().startswith("st.") or second.strip().startswith("st."):
        return False
    target, other = (re.findall(r"%\w+", one)[0] for one in (first, second))
    return not re.search(rf"{target}\b", second) and not re.search(rf"{other}\b", first)


def _last_store_first(lines: Lines, rng: random.Random) -> Lines:
    """The number of the call is kept before the signal behind the last wait, where the two are neighbours."""
    new = list(lines)
    for i in range(1, len(new)):
        if "st.global.u32 [%epochs]" in new[i] and "[%previous_credit]" in new[i - 1]:
            new[i - 1], new[i] = new[i], new[i - 1]
    return new


EDITS: dict[str, Callable[[Lines, random.Random], Lines]] = {
    "release -> fence + relaxed": _release_by_fence,
    "acquire -> relaxed + fence": _acquire_by_fence,
    "fence + relaxed -> release or acquire": _fence_into_access,
    "half a fence": _half_fences,
    "fence.acq_rel -> fence.sc": _replaced("fence.acq_rel.sys", "fence.sc.sys"),
    "fence -> membar": _replaced("fence.acq_rel.sys", "membar.sys"),
    "relaxed store -> release": _replaced("st.relaxed.sys", "st.release.sys"),
    "relaxed load -> acquire": _replaced("ld.relaxed.sys", "ld.acquire.sys"),
    "relaxed store -> volatile": _replaced("st.relaxed.sys", "st.volatile"),
    "relaxed load -> volatile": _replaced("ld.relaxed.sys", "ld.volatile"),
    "signal -> exchange": _exchanged,
    "weak store -> strong": _replaced("st.global.f32", "st.relaxed.sys.global.f32"),
    "weak load -> strong": _replaced("ld.global.f32", "ld.relaxed.gpu.global.f32"),
    "more barriers": _more_barriers,
    "more fences": _more_fences,
    "another barrier": _replaced("bar.sync 0;", "barrier.cta.sync.aligned 0;"),
    "permuted": _permuted,
    "permuted stores": _last_store_first,
}
"""From what is done to the function that does it."""


@dataclass(frozen=True)
class Variant:
    """A changed kernel, and the setting in which it is run."""

    protocol: str
    edits: tuple[str, ...]
    text: str
    setting: Any

    def __str__(self) -> str:
        return f"{self.protocol}: {', '.join(self.edits)}"


def variants(protocols: Any, count: int) -> list[Variant]:
    """Variants of all protocols, no two alike, in settings of their own: other grids, sizes, and numbers of ranks."""
    rng = random.Random(count)
    names = list(protocols.PROTOCOLS)
    found: dict[str, Variant] = {}
    while len(found) < count:
        name = names[len(found) % len(names)]
        edits, text = _changed(protocols.source(name), rng)
        setting = protocols.Setting(
            ranks=rng.randint(2, 4),
            blocks=rng.randint(1, 3),
            threads=rng.randint(4, 9),
            sizes=tuple(rng.randint(0, 20) for _ in range(3)),
            epoch=rng.choice((0, 0xFFFFFFFD)),
        )
        found[text] = Variant(name, edits, text, setting)
    return list(found.values())


def _changed(text: str, rng: random.Random) -> tuple[tuple[str, ...], str]:
    """What was done, and the kernel after it: one to four edits, each of which changes something."""
    names: list[str] = []
    lines, most = text.splitlines(), rng.randint(1, 4)
    for name in rng.sample(list(EDITS), len(EDITS)):
        new = "\n".join(EDITS[name](lines, rng)).splitlines()
        if new != lines and len(names) < most:
            lines = new
            names.append(name)
    return tuple(names), "\n".join(lines) + "\n"
