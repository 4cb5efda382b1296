"""Message passing: x is the data, which is weak and read only where the flag y was seen (PTX ISA, 8.8 and 8.9)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from litmus_code import (
    ACQUIRE,
    RELEASE,
    SYNC,
    U,
    add,
    clean,
    every,
    fence,
    ld,
    st,
    then,
    wrong,
)
from litmus_form import Litmus, Place

Ends = tuple[Callable[[str], str], Callable[[str], str]]
PATTERNS: dict[str, Ends] = {
    "release, acquire": (
        lambda scope: st("y", 1, f"release.{scope}"),
        lambda scope: ld("a", "y", f"acquire.{scope}"),
    ),
    "fence, fence": (
        lambda scope: fence(scope) + st("y", 1),
        lambda scope: ld("a", "y") + fence(scope),
    ),
    "fence.release, fence.acquire": (
        lambda scope: fence(scope, "release") + st("y", 1),
        lambda scope: ld("a", "y") + fence(scope, "acquire"),
    ),
    "fence.sc, fence.sc": (
        lambda scope: fence(scope, "sc") + st("y", 1),
        lambda scope: ld("a", "y") + fence(scope, "sc"),
    ),
}
"""Release patterns and acquire patterns, of a scope."""

SCOPES = ("cta", "gpu", "sys")
NEEDED: dict[Place, str] = {"block": "cta", "grid": "gpu", "ranks": "sys"}
"""The narrowest scope that includes the other thread (8.5); a rank is a device."""
PASSED = f"0{U} 11"
DATA = st("x", 1, "")
READ = then("a", 1, ld("b", "x", ""))


def reaches(scope: str, place: Place) -> bool:
    """Whether a scope includes the other thread."""
    return SCOPES.index(scope) >= SCOPES.index(NEEDED[place])


def message(name: str, section: str, place: Place, give: str, take: str, ordered: bool) -> Litmus:
    """Message passing; `ordered` if the release pattern synchronizes with the acquire pattern."""
    threads = (DATA + give, take + READ)
    if ordered:
        return clean(f"MP: {name}", section, place, threads, "1a 1b", PASSED)
    return wrong(f"MP: {name}", section, place, threads, observe="1a 1b", allowed=f"0{U}")


def scopes() -> list[Litmus]:
    """Patterns synchronize if each end has a scope that includes the other thread (8.7, 8.9.4)."""
    found: list[Litmus] = []
    for (name, (give, take)), scope, place in product(PATTERNS.items(), SCOPES, NEEDED):
        text = f"{name} of {scope}, {place}"
        ordered = reaches(scope, place)
        found.append(message(text, "8.5, 8.7, 8.9.4", place, give(scope), take(scope), ordered))
    for (first, (give, _)), (second, (_, take)) in product(PATTERNS.items(), repeat=2):
        for scope, other in (("sys", "gpu"), ("gpu", "sys"), ("sys", "sys")):
            if first == second and scope == other:
                continue  # above
            text = f"{first.split(', ')[0]}.{scope}, {second.split(', ')[1]}.{other}"
            ordered = scope == other
            code = give(scope), take(other)
            found.append(message(text, "8.5, 8.7, 8.9.4", "ranks", *code, ordered))
    return found


def no_patterns() -> list[Litmus]:
    """An end is missing, or it does not cover the access (8.8)."""
    relaxed, read = st("y", 1), ld("a", "y")
    rows = {
        "weak flag": (fence() + st("y", 1, ""), read + fence()),
        "flag read weakly": (RELEASE, ld("a", "y", "") + fence()),
        "fence behind the flag": (relaxed + fence(), ACQUIRE),
        "fence before the read": (RELEASE, fence() + read),
        "release of another location": (st("z", 1, "release.sys") + relaxed, ACQUIRE),
        "acquire of another location": (RELEASE, read + ld("c", "z", "acquire.sys")),
        "volatile alone": (st("y", 1, "volatile"), ld("a", "y", "volatile")),
        "fence of the wrong half, before": (fence("sys", "acquire") + relaxed, ACQUIRE),
        "fence of the wrong half, behind": (RELEASE, read + fence("sys", "release")),
    }
    found = [message(name, "8.8", "ranks", *code, False) for name, code in rows.items()]
    for place in NEEDED:
        found += [
            message(f"relaxed, relaxed, {place}", "8.8", place, relaxed, read, False),
            message(f"release, relaxed, {place}", "8.8", place, RELEASE, read, False),
            message(f"relaxed, acquire, {place}", "8.8", place, relaxed, ACQUIRE, False),
        ]
    return found


def not_covered() -> list[Litmus]:
    """What lies between the two operations of a pattern is not ordered by it (8.8)."""
    narrow = DATA + fence() + st("z", 1, "") + fence("gpu") + st("y", 1)
    again = RELEASE + DATA + st("y", 2)
    return [
        wrong(
            "MP: data stored behind the fence",
            "8.8",
            "ranks",
            (fence() + DATA + st("y", 1), ACQUIRE + READ),
            observe="1a 1b",
            allowed=f"0{U}",
        ),
        wrong(
            "MP: data read before the fence",
            "8.8",
            "ranks",
            (DATA + RELEASE, ld("a", "y") + READ + fence()),
            observe="1a 1b",
            allowed=f"0{U}",
        ),
        wrong(
            "MP: data stored behind the release, before another store to the flag",
            "8.8",
            "ranks",
            (again, ACQUIRE + then("a", 2, ld("b", "x", ""))),
            observe="1a 1b",
            allowed=f"0{U} 1{U}",
        ),
        clean(
            "MP: a narrow fence behind a wide one, data before both",
            "8.8",
            "ranks",
            (narrow, ACQUIRE + READ),
            "1a 1b",
            PASSED,
        ),
        wrong(
            "MP: a narrow fence behind a wide one, data between them",
            "8.8",
            "ranks",
            (narrow, ACQUIRE + then("a", 1, ld("b", "z", ""))),
            observe="1a 1b",
            allowed=f"0{U}",
        ),
        clean(
            "MP: a narrow fence before a wide one acquires nothing, the wide one does",
            "8.8",
            "ranks",
            (DATA + RELEASE, ld("a", "y") + fence("gpu") + fence() + READ),
            "1a 1b",
            PASSED,
        ),
    ]


def other_patterns() -> list[Litmus]:
    """Other patterns, and other ways to say the same (8.8)."""
    volatile = fence() + st("y", 1, "volatile"), ld("a", "y", "volatile") + fence()
    membar = "membar.sys;\n"
    exchange = "atom.release.sys.global.exch.b32 %c, [y], 1;\n"
    look = "atom.acquire.sys.global.or.b32 %a, [y], 0;\n"
    fails = "atom.acquire.sys.global.cas.b32 %a, [y], 7, 8;\n"
    reduction = "red.release.sys.global.add.u32 [y], 1;\n"
    rows = {
        "volatile and fences": volatile,
        "membar": (membar + st("y", 1), ld("a", "y") + membar),
        "one fence for two flags": (fence() + st("z", 1) + st("y", 1), ACQUIRE),
        "relaxed load before an acquire": (RELEASE, ld("a", "y") + ld("c", "y", "acquire.sys")),
        "atomic release and acquire": (exchange, look),
        "a cas that fails acquires": (RELEASE, fails),
        "a reduction that releases": (reduction, ACQUIRE),
    }
    found = [message(name, "8.8", "ranks", *code, True) for name, code in rows.items()]
    again = DATA + RELEASE + st("y", 2), ACQUIRE + then("a", 2, ld("b", "x", ""))
    name = "MP: release before a relaxed store to the flag"
    return [*found, clean(name, "8.8", "ranks", again, "1a 1b", f"0{U} 1{U} 21")]


def other_threads() -> list[Litmus]:
    """The flag goes on through a third thread (8.9.2), or ends are shared among threads of a block (8.9.1)."""
    given, last = DATA + RELEASE, ld("a", "y", "acquire.sys") + then("a", 2, ld("b", "x", ""))
    copied = ld("a", "y") + then("a", 1, st("y", 2))
    both = st("z", 1, "") + add("a", "y", "release.sys")
    third = ld("a", "y", "acquire.sys") + then("a", 2, ld("b", "z", ""))
    stored = "st.shared.u32 [s], %a;\n"
    loaded = "ld.shared.u32 %a, [s];\n"
    return [
        clean(
            "MP: through an atomic of a third thread",
            "8.9.2",
            "ranks",
            (given, add("a", "y"), last),
            "2a 2b",
            f"0{U} 1{U} 21",
        ),
        wrong(
            "MP: not through a store of a third thread",
            "8.9.2",
            "ranks",
            (given, copied, last),
            observe="2a 2b",
            allowed=f"0{U} 1{U}",
        ),
        clean(
            "MP: a releasing atomic of a third thread brings its own, too",
            "8.9.2",
            "ranks",
            (RELEASE, both, third),
            "2a 2b",
            f"0{U} 1{U} 21",
        ),
        wrong(
            "MP: the fence of another thread of the block releases nothing",
            "8.8, 8.9.1",
            "pair",
            (DATA + fence() + SYNC, SYNC + st("y", 1), ACQUIRE + READ),
            observe="2a 2b",
            allowed=f"0{U}",
        ),
        wrong(
            "MP: the fence of another thread of the block acquires nothing",
            "8.8, 8.9.1",
            "pair",
            (ld("a", "y") + stored + SYNC, SYNC + loaded + fence() + READ, DATA + RELEASE),
            observe="1a 1b",
            allowed=f"0{U}",
        ),
    ]


def strong_data() -> list[Litmus]:
    """Strong data is no race: what is read shows the order (8.10.6)."""
    rows = {
        "nothing": ("", "", False),
        "fences": (fence(), fence(), True),
        "fences of a rank": (fence("gpu"), fence("gpu"), False),
        "one fence, of the writer": (fence(), "", False),
        "one fence, of the reader": ("", fence(), False),
    }
    found: list[Litmus] = []
    for name, (give, take, ordered) in rows.items():
        threads = (st("x", 1) + give + st("y", 1), ld("a", "y") + take + ld("b", "x"))
        allowed = "00 01 11" if ordered else every(2)
        text = f"MP of strong data: {name}"
        found.append(clean(text, "8.10.6", "ranks", threads, "1a 1b", allowed))
    acquired = fence("sys", "acquire") + ld("b", "x")
    atomic = add("a", "y") + acquired
    reduced = "red.relaxed.sys.global.add.u32 [y], 1;\n" + acquired
    stored = st("x", 1) + RELEASE
    counted = add("c", "x") + RELEASE, ACQUIRE + ld("b", "x")
    return [
        *found,
        clean("MP of counted data", "8.10.6", "ranks", counted, "1a 1b", "00 01 11"),
        clean(
            "MP: an atomic and a fence acquire",
            "8.8",
            "ranks",
            (stored, atomic),
            "1a 1b",
            "00 01 11",
            "00 11",
        ),
        clean(
            "MP: a reduction and a fence do not",
            "8.11.1",
            "ranks",
            (stored, reduced),
            "1b y",
            "01 11 02 12",
            "02 12",
        ),
    ]


MESSAGES = (
    *scopes(),
    *no_patterns(),
    *not_covered(),
    *other_patterns(),
    *other_threads(),
    *strong_data(),
)
