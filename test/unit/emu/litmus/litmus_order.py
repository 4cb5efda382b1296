"""Several locations, several threads, and one location (PTX ISA, 8.9.3, 8.9.5 and 8.10)."""

from __future__ import annotations

from litmus_code import RACE, SYNC, U, add, clean, every, fence, ld, st, then, wrong
from litmus_form import Litmus, Place
from litmus_messages import PASSED


def store_buffering() -> list[Litmus]:
    """Both threads store and then load what the other stores."""
    sc = {scope: fence(scope, "sc") for scope in ("cta", "gpu", "sys")}
    rows: list[tuple[str, Place, str, str, bool]] = [
        ("nothing", "ranks", "", "", False),
        ("fence.acq_rel", "ranks", fence(), fence(), False),
        ("fence.sc", "ranks", sc["sys"], sc["sys"], True),
        ("fence.sc.gpu on one rank", "grid", sc["gpu"], sc["gpu"], True),
        ("fence.sc.cta in one block", "block", sc["cta"], sc["cta"], True),
        ("fence.sc.sys and .gpu on one rank", "grid", sc["sys"], sc["gpu"], True),
        ("fence.sc.gpu between ranks", "ranks", sc["gpu"], sc["gpu"], False),
        ("fence.sc.cta between blocks", "grid", sc["cta"], sc["cta"], False),
        ("one fence.sc is narrow", "ranks", sc["sys"], sc["gpu"], False),
        ("one fence is acq_rel", "ranks", sc["sys"], fence(), False),
        ("membar", "ranks", "membar.sys;\n", "membar.sys;\n", True),
    ]
    found: list[Litmus] = []
    for name, place, first, second, ordered in rows:
        threads = (st("x", 1) + first + ld("a", "y"), st("y", 1) + second + ld("a", "x"))
        allowed = "01 10 11" if ordered else every(2)
        found.append(clean(f"SB: {name}", "8.9.3, 8.10.6", place, threads, "0a 1a", allowed))
    one = st("x", 1, "release.sys") + ld("a", "y", "acquire.sys")
    other = st("y", 1, "release.sys") + ld("a", "x", "acquire.sys")
    weak = (
        st("x", 1, "") + sc["sys"] + ld("a", "y", ""),
        st("y", 1, "") + sc["sys"] + ld("a", "x", ""),
    )
    return [
        *found,
        clean("SB: release and acquire", "8.10.6", "ranks", (one, other), "0a 1a", every(2)),
        wrong("SB: weak accesses race", "8.7.1", "ranks", weak),
    ]


def independent_reads() -> list[Litmus]:
    """IRIW: whether two threads see two stores in one order; WRC: whether what one saw goes on to another."""
    split = every(4) - {(1, 0, 1, 0)}
    rows = {
        "nothing": ("", every(4), "1010"),
        "fence.acq_rel": (fence(), every(4), "1010"),
        "fence.sc": (fence("sys", "sc"), split, "1011 1110"),
    }
    found: list[Litmus] = []
    for name, (code, allowed, seen) in rows.items():
        readers = (ld("a", "x") + code + ld("b", "y"), ld("a", "y") + code + ld("b", "x"))
        threads = (st("x", 1), st("y", 1), *readers)
        section, observe = "8.9.3, 8.9.5, 8.10.6", "2a 2b 3a 3b"
        found.append(clean(f"IRIW: {name}", section, "ranks", threads, observe, allowed, seen))
    for name, code, allowed, seen in (
        ("nothing", "", "000 001 100 101 110 111", "110 111"),
        ("fences", fence(), "000 001 100 101 111", "111"),
    ):
        copied = ld("a", "x") + code + then("a", 1, st("y", 1))
        threads = (st("x", 1), copied, ld("a", "y") + code + ld("b", "x"))
        found.append(clean(f"WRC: {name}", "8.9.5", "ranks", threads, "1a 2a 2b", allowed, seen))
    return found


def cumulativity() -> list[Litmus]:
    """ISA2: weak data of a thread comes to a third one through a second one (8.9.5)."""
    data, read = st("x", 1, ""), then("a", 1, ld("b", "x", ""))
    last = ld("a", "z", "acquire.sys") + read
    release = st("z", 1, "release.sys")
    on = then("a", 1, release)
    fenced = ld("a", "y") + fence() + then("a", 1, st("z", 1))
    wide, narrow = (data + st("y", 1, f"release.{scope}") for scope in ("sys", "cta"))
    rows: list[tuple[str, Place, tuple[str, str, str], bool]] = [
        ("three ranks", "ranks", (wide, ld("a", "y", "acquire.sys") + on, last), True),
        ("a fence in the middle", "ranks", (wide, fenced, last), True),
        ("a block, then a rank", "pair", (narrow, ld("a", "y", "acquire.cta") + on, last), True),
        ("nothing acquired in the middle", "ranks", (wide, ld("a", "y") + on, last), False),
        ("a barrier, then a release", "pair", (data + SYNC, SYNC + release, last), True),
        ("a release without a barrier", "pair", (data, release, last), False),
    ]
    return [
        clean(f"ISA2: {name}", "8.9.4, 8.9.5", place, threads, "2a 2b", PASSED)
        if ordered
        else wrong(f"ISA2: {name}", "8.9.4, 8.9.5", place, threads, RACE, "2a 2b", f"0{U}")
        for name, place, threads, ordered in rows
    ]


def one_location() -> list[Litmus]:
    """Coherence (8.10.1, 8.10.5)."""
    two = ld("a", "x") + ld("b", "x")
    ordered = frozenset((a, b, 2) for a in range(3) for b in range(a, 3))
    seen_first = ld("a", "x") + st("y", 1, "release.sys")
    seen_then = ld("a", "y", "acquire.sys") + ld("b", "x")
    section = "8.10.5"
    return [
        clean("CoRR", section, "ranks", (st("x", 1), two), "1a 1b", "00 01 11"),
        clean("CoWW", section, "ranks", (st("x", 1) + st("x", 2), two), "1a 1b x", ordered),
        clean(
            "CoWR", section, "ranks", (st("x", 1) + ld("a", "x"), st("x", 2)), "0a x", "11 12 22"
        ),
        clean("CoRW, one thread", section, "ranks", (ld("a", "x") + st("x", 1),), "0a x", "01"),
        clean(
            "CoRW", section, "ranks", (ld("a", "x") + st("x", 1), st("x", 2)), "0a x", "01 02 21"
        ),
        clean(
            "CoRR of two threads in order",
            "8.10.6",
            "ranks",
            (st("x", 1), seen_first, seen_then),
            "1a 2a 2b",
            every(3) - {(1, 1, 0)},
            "010 111",
        ),
        clean(
            "CoRR across a barrier",
            "8.10.6",
            "block",
            (st("x", 1, "relaxed.cta") + SYNC, SYNC + ld("a", "x", "relaxed.cta")),
            "1a",
            "1",
        ),
        clean("CoRR across kernels", "8.10.6", "stream", (st("x", 1), ld("a", "x")), "1a", "1"),
    ]


def two_locations() -> list[Litmus]:
    """Stores and loads of two locations (8.10.1, 8.10.4)."""
    writers = (st("x", 1) + st("y", 2), st("y", 1) + st("x", 2))
    fenced = (st("x", 2) + fence() + st("y", 1), ld("a", "y") + fence() + st("x", 1))
    buffered = (ld("a", "x") + st("y", 1), ld("a", "y") + st("x", 1))
    thin_air = (ld("a", "x") + st("y", "%a"), ld("a", "y") + st("x", "%a"))
    return [
        clean("2+2W", "8.10.1", "ranks", writers, "x y", "11 12 21 22", "21 12"),
        clean("S with fences", "8.10.1", "ranks", fenced, "1a x", "01 02 11", "11 02"),
        clean("LB", "8.10.4", "ranks", buffered, "0a 1a", every(2), "00 01 10"),
        clean("LB with dependences", "8.10.4", "ranks", thin_air, "0a 1a", "00"),
    ]


def observed_writes() -> list[Litmus]:
    """What observes a write is behind it, and with it what follows in causality order (8.9.5, rule 2)."""
    read, load = ld("a", "x"), ld("b", "x", "")
    return [
        clean(
            "a weak load behind a strong one that saw the write",
            "8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 1, load)),
            "1a 1b",
            f"0{U} 11",
        ),
        clean(
            "a weak store behind a strong load that saw the write",
            "8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 1, st("x", 2, ""))),
            "1a x",
            "01 12",
        ),
        wrong(
            "a weak load behind a strong one that saw nothing",
            "8.7.1, 8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 0, load)),
            observe="1a 1b",
            allowed=f"1{U}",
        ),
    ]


def atomics() -> list[Litmus]:
    """Read-modify-write (8.10.3)."""
    counted = (add("a", "x", "relaxed.gpu"), add("a", "x", "relaxed.gpu"))
    mixed = (add("a", "x", "relaxed.cta"), counted[1])
    narrow = ("data race", "lost update")
    locked = (
        "TRY{0}:\natom.acquire.sys.global.cas.b32 %a, [y], 0, 1;\n"
        "setp.ne.u32 %p, %a, 0;\n@%p bra TRY{0};\n"
        + ld("b", "x", "")
        + "add.u32 %c, %b, 1;\n"
        + st("x", "%c", "")
        + st("y", 0, "release.sys")
    )
    locks = (locked.format(0), locked.format(1))
    unlocked = (locks[0].replace("acquire", "relaxed"), locks[1].replace("acquire", "relaxed"))
    stored = (add("a", "x"), st("x", 5))
    return [
        clean("two additions", "8.10.3", "grid", counted, "0a 1a x", "012 102"),
        wrong("additions of too narrow a scope", "8.10.3", "grid", mixed, narrow),
        wrong("additions of a rank on two ranks", "8.5, 8.10.3", "ranks", counted, narrow),
        clean("an addition and a store", "8.10.3", "ranks", stored, "0a x", "05 56"),
        clean("a lock", "8.8, 8.9.4", "ranks", locks, "0b 1b x", "012 102"),
        wrong("a lock that acquires nothing", "8.8", "ranks", unlocked),
    ]


ORDERS = (
    *store_buffering(),
    *independent_reads(),
    *cumulativity(),
    *one_location(),
    *two_locations(),
    *observed_writes(),
    *atomics(),
)
