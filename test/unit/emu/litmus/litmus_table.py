"""The litmus tests. Each states what PTX's memory model says, which was derived from its text (PTX ISA, section 8) and
not from what the emulator does.

A result that PTX allows need not be `seen`: an emulator without load buffering, and one that orders writes to a
location as they are executed, shows fewer. A race ends a schedule, so results are those of schedules without one.
"""

from __future__ import annotations

from litmus_code import MIXED, RACE, SYNC, U, add, clean, every, fence, ld, st, then, wrong
from litmus_form import Litmus, Place
from litmus_messages import MESSAGES
from litmus_order import ORDERS
from litmus_updates import lost_updates


def observed() -> list[Litmus]:
    """Who has read what an atomic operation wrote, also through others, comes behind all of it (8.9.2, 8.9.5)."""
    count, wide = add("b", "x"), "atom.relaxed.sys.global.add.u64 %l, [x], 1;\n"
    low = "mov.b64 {%a, %b}, %l;\n"
    reset, last = (add("a", "x") + then("a", n, st("x", 0, "")) for n in (1, 2))
    wide_last = wide + low + then("a", 2, "st.global.u64 [x], 0;\n")
    tried = "atom.relaxed.sys.global.cas.b32 %b, [x], 7, 8;\n"
    section, early = "8.9.2, 8.9.5", "0 1 3"
    return [
        clean("the last one resets", section, "ranks", (count, count, last), "2a", "0 1 2"),
        clean("64 bits are reset", section, "ranks", (wide, wide, wide_last), "2a", "0 1 2"),
        wrong(
            "race: too early a reset", section, "ranks", (count,) * 3 + (last,), RACE, "3a", early
        ),
        wrong(
            "race: a reset and a cas in vain",
            section,
            "ranks",
            (tried, count, reset),
            RACE,
            "2a",
            "0",
        ),
    ]


def races() -> list[Litmus]:
    """Two accesses that nothing orders (8.7.1)."""
    weak, strong, load = st("x", 1, ""), st("x", 1), ld("a", "x", "")
    gpu, cta = st("x", 1, "relaxed.gpu"), st("x", 1, "relaxed.cta")
    rows: list[tuple[str, Place, str, str]] = [
        ("two weak stores", "grid", weak, weak.replace("1;", "2;")),
        ("a weak store and a weak load", "ranks", weak, load),
        ("lanes of a warp are threads", "block", weak, load),
        ("a weak store and a strong load", "ranks", weak, ld("a", "x")),
        ("a strong store and a weak load", "ranks", strong, load),
        ("a weak store and an atomic", "grid", weak, add("a", "x")),
        ("a weak load and an atomic", "grid", load, add("a", "x")),
        ("gpu and sys between ranks", "ranks", gpu, ld("a", "x")),
        ("sys and gpu between ranks", "ranks", strong, ld("a", "x", "relaxed.gpu")),
        ("cta and sys between blocks", "grid", cta, ld("a", "x")),
        ("sys and cta between blocks", "grid", strong, ld("a", "x", "relaxed.cta")),
        ("two stores of gpu between ranks", "ranks", gpu, gpu),
        (
            "a narrow load, then a wide one",
            "ranks",
            strong,
            ld("a", "x", "relaxed.gpu") + ld("a", "x"),
        ),
    ]
    found = [wrong(f"race: {name}", "8.7.1", place, (a, b)) for name, place, a, b in rows]
    section, observe = "8.7.1", "1a x"
    return [
        *found,
        *observed(),
        clean(
            "gpu on one rank", section, "grid", (gpu, ld("a", "x", "relaxed.gpu")), observe, "01 11"
        ),
        clean(
            "cta in one block",
            section,
            "block",
            (cta, ld("a", "x", "relaxed.cta")),
            observe,
            "01 11",
        ),
        clean("two strong stores", section, "ranks", (strong, strong), observe, f"{U}1"),
        clean("weak and strong loads", section, "ranks", (load, ld("a", "x")), observe, "00"),
        clean("two locations", section, "ranks", (weak, ld("a", "x+4", "")), observe, "01"),
    ]


def barriers() -> list[Litmus]:
    """Barriers of a block (8.9.4, 9.7.13.1)."""
    store, load = st("x", 1, ""), ld("a", "x", "")
    first, second = f"@%lead {store}", f"@%lead {load}"
    sync, arrive, other = (f"bar.{what}, 64;\n" for what in ("sync 1", "arrive 1", "sync 2"))
    agree = "setp.eq.u32 %p, %a, 9;\nbarrier.cta.red.and.pred %p, 0, %p;\n"
    warp = "bar.warp.sync 3;\n"
    shared = ("st.shared.u32 [s], 1;\n", "ld.shared.u32 %a, [s];\n")
    ordered: list[tuple[str, Place, str, str]] = [
        ("sync", "block", store + SYNC, SYNC + load),
        ("red", "block", store + agree, agree + load),
        ("sync of two warps", "warps", first + sync, sync + second),
        ("arrive before sync", "warps", first + arrive, sync + second),
        ("all threads, in number and by default", "warps", first + sync, "bar.sync 1;\n" + second),
        ("a warp", "block", store + warp, warp + load),
        ("shared memory", "block", shared[0] + SYNC, SYNC + shared[1]),
    ]
    unordered: list[tuple[str, Place, str, str]] = [
        ("read before it", "block", store + SYNC, load + SYNC),
        ("what follows arrive is not before sync", "warps", arrive + first, sync + second),
        ("arrive waits for nobody", "warps", arrive + second, first + sync),
        ("two blocks have two", "grid", store + SYNC, SYNC + load),
    ]
    here, alone = "8.9.4, 9.7.13.1", (first + sync, other + second)
    return [
        *(clean(f"barrier: {n}", here, p, (a, b), "1a", "1") for n, p, a, b in ordered),
        *(wrong(f"barrier: {n}", here, p, (a, b)) for n, p, a, b in unordered),
        wrong("barrier: others wait at another", here, "warps", alone, ("hang", "invalid")),
        wrong("race: shared memory", "8.7.1", "block", shared, ("data race", "uninitialised read")),
    ]


def kernels() -> list[Litmus]:
    """Kernels and copies of a stream (8.9.4, API synchronization; 9.7.13.13, griddepcontrol)."""
    store, load = st("x", 1, ""), ld("a", "x", "")
    early = "griddepcontrol.launch_dependents;\n" + store
    waits = "griddepcontrol.wait;\n" + load
    here = "9.7.13.13"
    return [
        clean("kernels of a stream", "8.9.4", "stream", (store, load), "1a", "1"),
        clean("a dependent waits", here, "dependent", (early, waits), "1a", "1"),
        wrong("a dependent does not wait", here, "dependent", (early, load)),
        wrong("a copy of another rank, and a load", "8.9.4", "host", (load,)),
        wrong("a copy of another rank, and a strong load", "8.9.4", "host", (ld("a", "x"),)),
        wrong("a copy of another rank, and a strong store", "8.9.4", "host", (st("x", 1),)),
    ]


def sizes() -> list[Litmus]:
    """Accesses that overlap in part, and vectors, which are separate scalars (8.2.4, 8.7.2)."""
    wide = "ld.relaxed.sys.global.u64 %l, [x];\nmov.b64 {%a, %b}, %l;\n"
    stored = "mov.u32 %c, 1;\nmov.b64 %l, {%c, %c};\nst.relaxed.sys.global.u64 [x], %l;\n"
    pair = "st.relaxed.sys.global.v2.u32 [x], {1, 1};\n"
    halves = "ld.relaxed.sys.global.v2.u32 {%a, %b}, [x];\n"
    weak = "st.global.v2.u32 [x], {1, 1};\n"
    byte = "st.relaxed.sys.global.u8 [x+1], %d;\n"
    given = st("x", 0x10001, "") + fence() + st("y", 1)
    half = ld("c", "y") + fence() + "setp.eq.u32 %p, %c, 1;\n@%p ld.global.u16 %a, [x+2];\n"
    byte_too, whole = byte.replace("x+1", "x+2"), ld("a", "x")
    first = wide + st("y", 1, "release.sys")
    second = ld("c", "y", "acquire.sys") + then("c", 1, ld("a", "x"))
    halved, either = (first, second, st("x+4", 1, "")), ("mixed-size race", "data race")
    vector, ranks = "8.2.4", "ranks"
    return [
        wrong("mixed sizes: u32 and u64", "8.7.2", ranks, (st("x+4", 1), wide), MIXED),
        wrong("mixed sizes: u8 and u32", "8.7.2", ranks, (byte, ld("a", "x")), MIXED),
        wrong("mixed sizes: a vector and u64", "8.2.4, 8.7.2", ranks, (pair, wide), MIXED),
        wrong("mixed sizes: two bytes and u32", "8.7.2", ranks, (byte, byte_too, whole), MIXED),
        wrong("mixed sizes: both halves read, then one", "8.7.2", ranks, halved, either),
        clean("mixed sizes: two loads", "8.7.2", ranks, (wide, ld("a", "x")), "0a 1a", "00"),
        clean("mixed sizes in order", "8.7.2", ranks, (given, half), "1c 1a", f"0{U} 11"),
        clean("one scalar of 64 bits", "8.10.3", ranks, (stored, wide), "1a 1b", "00 11"),
        clean("a vector is two scalars", vector, ranks, (pair, halves), "1a 1b", every(2), "01 10"),
        clean("a vector and a scalar", vector, ranks, (pair, ld("a", "x+4")), "1a", "0 1"),
        wrong("race: a vector's second element", vector, ranks, (weak, ld("a", "x+4", "")), RACE),
        clean("a vector's neighbour", vector, ranks, (weak, ld("a", "x+8", "")), "1a", "0"),
    ]


TESTS = (*MESSAGES, *ORDERS, *races(), *barriers(), *kernels(), *sizes(), *lost_updates())
