"""Lost updates: what a thread stores is computed from a value that another thread has changed meanwhile."""

from __future__ import annotations

from litmus_code import add, clean, ld, st, wrong
from litmus_form import Litmus, Place

LOST = ("lost update",)
MORE = "add.u32 %a, %a, 1;\n"
SECTION = "9.7.13.5"
"""Atomic operations are there for it."""


def _locked(number: int) -> str:
    """An addition under a lock at y."""
    take = f"L{number}:\natom.acquire.sys.global.cas.b32 %b, [y], 0, 1;\n"
    wait = f"setp.ne.u32 %p, %b, 0;\n@%p bra L{number};\n"
    return take + wait + ld("a", "x") + MORE + st("x", "%a") + st("y", 0, "release.sys")


def _ticket(number: int) -> str:
    """The same, in the order of tickets; who is next stands at z."""
    take = add("b", "y")
    wait = f"L{number}:\n{ld('c', 'z', 'acquire.sys')}setp.ne.u32 %p, %c, %b;\n@%p bra L{number};\n"
    hand = "add.u32 %c, %c, 1;\n" + st("z", "%c", "release.sys")
    return take + wait + ld("a", "x") + MORE + st("x", "%a") + hand


def lost_updates() -> list[Litmus]:
    """Two threads that each add to a location, or seem to."""
    load, store = ld("a", "x"), st("x", "%a")
    exchange = "atom.relaxed.sys.global.exch.b32 %b, [x], 7;\n"
    select = (
        "setp.eq.u32 %p, %lane, 9;\nselp.u32 %b, 5, %a, %p;\nmov.u32 %c, %b;\nadd.u32 %c, %c, 1;\n"
    )
    chosen = "setp.eq.u32 %p, %a, 0;\nselp.u32 %b, 1, 2, %p;\n"
    volatile = ld("a", "x", "volatile") + MORE + st("x", "%a", "volatile")
    lost: list[tuple[str, Place, str, str, str]] = [
        ("add", "ranks", load + MORE + store, load + MORE + store, "2"),
        ("volatile", "grid", volatile, volatile, "2"),
        (
            "through other registers",
            "ranks",
            load + select + st("x", "%c"),
            load + MORE + store,
            "2",
        ),
        ("of an atomic", "ranks", load + MORE + store, exchange, "7 8"),
        ("of what an atomic found", "ranks", add("a", "x") + MORE + store, exchange, "7 8"),
    ]
    found = [
        wrong(f"lost update: {name}", SECTION, place, (first, second), LOST, "x", allowed)
        for name, place, first, second, allowed in lost
    ]
    other = ld("a", "y") + MORE + store
    kept: list[tuple[str, Place, str, str, str]] = [
        ("one writer", "ranks", load + MORE + store, ld("a", "x"), "1"),
        ("constants", "ranks", load + st("x", 1), load + st("x", 1), "1"),
        ("a choice of constants", "ranks", load + chosen + st("x", "%b"), st("x", 2), "1 2"),
        ("computed from another location", "ranks", other, other, "1"),
        ("atomics", "ranks", add("a", "x"), add("a", "x"), "2"),
        ("a lock", "ranks", _locked(0), _locked(1), "2"),
        ("tickets", "ranks", _ticket(0), _ticket(1), "2"),
        ("launches", "stream", load + MORE + store, load + MORE + store, "2"),
    ]
    return [
        *found,
        *(
            clean(f"kept update: {name}", SECTION, place, (first, second), "x", allowed)
            for name, place, first, second, allowed in kept
        ),
    ]
