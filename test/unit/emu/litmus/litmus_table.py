"""The litmus tests. Each states what PTX's memory model says, which was derived from its text (PTX ISA, section 8) and
not from what the emulator does.

A result that PTX allows need not be `seen`: an emulator without load buffering, and one that orders writes to a
location as they are executed, shows fewer. A race ends a schedule, so results are those of schedules without one.
"""

from __future__ import annotations

from itertools import product

from litmus_form import UNSET, Litmus, Place, Result, results

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


def every(count: int) -> frozenset[Result]:
    """All results of so many zeros and ones."""
    return frozenset(product((0, 1), repeat=count))


# Message passing: x is the data, y the flag, z is not used. The data is weak and read only if the flag was seen.

GIVE = {
    "release": lambda scope: st("y", 1, f"release.{scope}"),
    "fence": lambda scope: fence(scope) + st("y", 1),
    "fence.release": lambda scope: fence(scope, "release") + st("y", 1),
    "fence.sc": lambda scope: fence(scope, "sc") + st("y", 1),
}
TAKE = {
    "acquire": lambda scope: ld("a", "y", f"acquire.{scope}"),
    "fence": lambda scope: ld("a", "y") + fence(scope),
    "fence.acquire": lambda scope: ld("a", "y") + fence(scope, "acquire"),
    "fence.sc": lambda scope: ld("a", "y") + fence(scope, "sc"),
}
SCOPES = ("cta", "gpu", "sys")
NEEDED: dict[Place, str] = {"block": "cta", "grid": "gpu", "ranks": "sys"}
"""The narrowest scope that includes the other thread (8.5); a rank is a device."""
PASSED = results(f"0{U} 11")


def reaches(scope: str, place: Place) -> bool:
    """Whether a scope includes the other thread."""
    return SCOPES.index(scope) >= SCOPES.index(NEEDED[place])


def message(
    name: str, place: Place, give: str, take: str, ordered: bool, section: str = "8.9.4, 8.10.6"
) -> Litmus:
    """Message passing; `ordered` if the release pattern synchronizes with the acquire pattern."""
    threads = (st("x", 1, "") + give, take + then("a", 1, ld("b", "x", "")))
    if ordered:
        return Litmus(name, section, place, threads, "1a 1b", PASSED, PASSED)
    return Litmus(name, section, place, threads, "1a 1b", results(f"0{U}"), frozenset(), RACE)


def scoped_messages() -> list[Litmus]:
    """Patterns synchronize if each end has a scope that includes the other thread (8.7, 8.9.4)."""
    found: list[Litmus] = []
    for give, scope, place in product((0, 1, 2, 3), SCOPES, NEEDED):
        giver, taker = list(GIVE)[give], list(TAKE)[give]
        name = f"MP {place}: {giver}.{scope}, {taker}.{scope}"
        code = GIVE[giver](scope), TAKE[taker](scope)
        found.append(message(name, place, *code, reaches(scope, place), "8.5, 8.7, 8.9.4"))
    for place, giver, taker in product(("grid", "ranks"), ("release", "fence"), TAKE):
        narrow = "cta" if place == "grid" else "gpu"
        for wide, other in (("sys", narrow), (narrow, "sys"), ("sys", "sys")):
            name = f"MP {place}: {giver}.{wide}, {taker}.{other}, mixed"
            if giver == taker and wide == other:
                continue  # above
            code = GIVE[giver](wide), TAKE[taker](other)
            ordered = reaches(wide, place) and reaches(other, place)
            found.append(message(name, place, *code, ordered, "8.5, 8.7, 8.9.4"))
    return found


def unordered_messages() -> list[Litmus]:
    """What is no pattern: an end is missing, or it does not cover the access (8.8)."""
    release, acquire = st("y", 1, "release.sys"), ld("a", "y", "acquire.sys")
    relaxed, read = st("y", 1), ld("a", "y")
    found: list[Litmus] = []
    for place in NEEDED:
        found += [
            message(f"MP {place}: relaxed, relaxed", place, relaxed, read, False, "8.8"),
            message(f"MP {place}: release, relaxed", place, release, read, False, "8.8"),
            message(f"MP {place}: relaxed, acquire", place, relaxed, acquire, False, "8.8"),
        ]
    found += [
        message("MP: weak flag", "ranks", fence() + st("y", 1, ""), read + fence(), False, "8.7.1"),
        message(
            "MP: flag read weakly", "ranks", release, ld("a", "y", "") + fence(), False, "8.7.1"
        ),
        message("MP: fence behind the flag", "ranks", relaxed + fence(), acquire, False, "8.8"),
        message("MP: fence before the read", "ranks", release, fence() + read, False, "8.8"),
        message(
            "MP: release of another location",
            "ranks",
            st("z", 1, "release.sys") + relaxed,
            acquire,
            False,
            "8.8",
        ),
        message(
            "MP: acquire of another location",
            "ranks",
            release,
            read + ld("c", "z", "acquire.sys"),
            False,
            "8.8",
        ),
        Litmus(
            "MP: data stored behind the fence",
            "8.8",
            "ranks",
            (fence() + st("x", 1, "") + relaxed, acquire + then("a", 1, ld("b", "x", ""))),
            "1a 1b",
            results(f"0{U}"),
            frozenset(),
            RACE,
        ),
        Litmus(
            "MP: data read before the fence",
            "8.8",
            "ranks",
            (st("x", 1, "") + release, read + then("a", 1, ld("b", "x", "")) + fence()),
            "1a 1b",
            results(f"0{U}"),
            frozenset(),
            RACE,
        ),
        Litmus(
            "MP: data stored behind the release, before another store to the flag",
            "8.8",
            "ranks",
            (
                st("y", 1, "release.sys") + st("x", 1, "") + st("y", 2),
                acquire + then("a", 2, ld("b", "x", "")),
            ),
            "1a 1b",
            results(f"0{U} 1{U}"),
            results(f"0{U} 1{U}"),
            RACE,
        ),
    ]
    return found


def other_messages() -> list[Litmus]:
    """Other patterns, and other ways to say the same (8.8)."""
    release, acquire = st("y", 1, "release.sys"), ld("a", "y", "acquire.sys")
    given = st("x", 1, "") + release
    volatile = st("y", 1, "volatile"), ld("a", "y", "volatile")
    membar = "membar.sys;\n"
    chain = frozenset(results(f"0{U} 1{U} 21"))
    return [
        message(
            "MP: volatile and fences", "ranks", fence() + volatile[0], volatile[1] + fence(), True
        ),
        message("MP: volatile alone", "ranks", *volatile, False, "8.4.2, 8.8"),
        message("MP: membar", "ranks", membar + st("y", 1), ld("a", "y") + membar, True),
        message(
            "MP: one fence for two flags", "ranks", fence() + st("z", 1) + st("y", 1), acquire, True
        ),
        Litmus(
            "MP: release before a relaxed store to the flag",
            "8.8",
            "ranks",
            (
                st("x", 1, "") + release + st("y", 2),
                acquire + then("a", 2, ld("b", "x", "")),
            ),
            "1a 1b",
            chain,
            chain,
        ),
        message(
            "MP: relaxed load before an acquire of the flag",
            "ranks",
            release,
            ld("a", "y") + ld("c", "y", "acquire.sys"),
            True,
            "8.8",
        ),
        message(
            "MP: atomic release and acquire",
            "ranks",
            "atom.release.sys.global.exch.b32 %c, [y], 1;\n",
            "atom.acquire.sys.global.or.b32 %a, [y], 0;\n",
            True,
        ),
        message(
            "MP: reduction as a release",
            "ranks",
            "red.release.sys.global.add.u32 [y], 1;\n",
            acquire,
            True,
        ),
        Litmus(
            "MP: through an atomic of a third thread",
            "8.9.2",
            "ranks",
            (given, add("a", "y"), ld("a", "y", "acquire.sys") + then("a", 2, ld("b", "x", ""))),
            "2a 2b",
            chain,
            chain,
        ),
        Litmus(
            "MP: not through a store of a third thread",
            "8.9.2",
            "ranks",
            (
                given,
                ld("a", "y") + then("a", 1, st("y", 2)),
                ld("a", "y", "acquire.sys") + then("a", 2, ld("b", "x", "")),
            ),
            "2a 2b",
            results(f"0{U} 1{U}"),
            results(f"0{U} 1{U}"),
            RACE,
        ),
        Litmus(
            "MP: the acquire of an atomic orders",
            "8.8, 8.11.1",
            "ranks",
            (
                st("x", 1) + st("y", 1, "release.sys"),
                "atom.relaxed.sys.global.add.u32 %a, [y], 1;\n"
                + fence("sys", "acquire")
                + ld("b", "x"),
            ),
            "1a 1b",
            results("00 01 11"),
            results("00 11"),
        ),
        Litmus(
            "MP: a reduction is no acquire",
            "8.11.1",
            "ranks",
            (
                st("x", 1) + st("y", 1, "release.sys"),
                "red.relaxed.sys.global.add.u32 [y], 1;\n" + fence("sys", "acquire") + ld("b", "x"),
            ),
            "1b y",
            results("01 11 02 12"),
            results("02 12"),
        ),
    ]


def strong_data() -> list[Litmus]:
    """Message passing of strong data, which is no race: what is read shows the order."""
    rows = {
        "nothing": ("", "", True),
        "fences": (fence(), fence(), False),
        "fences of a rank": (fence("gpu"), fence("gpu"), True),
        "one fence, of the writer": (fence(), "", True),
        "one fence, of the reader": ("", fence(), True),
    }
    found: list[Litmus] = []
    for name, (give, take, weak) in rows.items():
        allowed = every(2) if weak else results("00 01 11")
        threads = (st("x", 1) + give + st("y", 1), ld("a", "y") + take + ld("b", "x"))
        text = f"MP of strong data: {name}"
        found.append(Litmus(text, "8.10.6", "ranks", threads, "1a 1b", allowed, allowed))
    return found


def store_buffering() -> list[Litmus]:
    """Both threads store and then load what the other stores."""
    rows: list[tuple[str, Place, str, str, bool]] = [
        ("nothing", "ranks", "", "", True),
        ("fence.acq_rel", "ranks", fence(), fence(), True),
        ("fence.sc", "ranks", fence("sys", "sc"), fence("sys", "sc"), False),
        ("fence.sc.gpu on one rank", "grid", fence("gpu", "sc"), fence("gpu", "sc"), False),
        ("fence.sc.cta in one block", "block", fence("cta", "sc"), fence("cta", "sc"), False),
        (
            "fence.sc.sys and .gpu on one rank",
            "grid",
            fence("sys", "sc"),
            fence("gpu", "sc"),
            False,
        ),
        ("fence.sc.gpu between ranks", "ranks", fence("gpu", "sc"), fence("gpu", "sc"), True),
        ("fence.sc.cta between blocks", "grid", fence("cta", "sc"), fence("cta", "sc"), True),
        ("one fence.sc is narrow", "ranks", fence("sys", "sc"), fence("gpu", "sc"), True),
        ("one fence is acq_rel", "ranks", fence("sys", "sc"), fence(), True),
        ("membar", "ranks", "membar.sys;\n", "membar.sys;\n", False),
    ]
    found: list[Litmus] = []
    for name, place, first, second, weak in rows:
        allowed = every(2) if weak else results("01 10 11")
        threads = (st("x", 1) + first + ld("a", "y"), st("y", 1) + second + ld("a", "x"))
        section = "8.9.3, 8.10.6"
        found.append(Litmus(f"SB: {name}", section, place, threads, "0a 1a", allowed, allowed))
    ordered = st("x", 1, "release.sys") + ld("a", "y", "acquire.sys")
    other = st("y", 1, "release.sys") + ld("a", "x", "acquire.sys")
    sc = fence("sys", "sc")
    weak = (st("x", 1, "") + sc + ld("a", "y", ""), st("y", 1, "") + sc + ld("a", "x", ""))
    name = "SB: release and acquire"
    found += [
        Litmus(name, "8.10.6", "ranks", (ordered, other), "0a 1a", every(2), every(2)),
        Litmus(
            "SB: weak accesses race",
            "8.7.1",
            "ranks",
            weak,
            "0a 1a",
            frozenset(),
            frozenset(),
            RACE,
        ),
    ]
    return found


def more_threads() -> list[Litmus]:
    """Order through other threads: cumulativity, and whether all see stores in one order."""
    seen_x = ld("a", "x") + "{}" + ld("b", "y")
    seen_y = ld("a", "y") + "{}" + ld("b", "x")
    stores = (st("x", 1), st("y", 1))
    sc = fence("sys", "sc")
    split = results("1010")
    iriw = [
        ("nothing", "", every(4), split),
        ("fence.acq_rel", fence(), every(4), split),
        ("fence.sc", sc, every(4) - split, results("1011 1110")),
    ]
    found = [
        Litmus(
            f"IRIW: {name}",
            "8.9.3, 8.9.5, 8.10.6",
            "ranks",
            (*stores, seen_x.format(code), seen_y.format(code)),
            "2a 2b 3a 3b",
            allowed,
            seen,
        )
        for name, code, allowed, seen in iriw
    ]
    for name, code, weak in (("nothing", "", True), ("fences", fence(), False)):
        copied = ld("a", "x") + code + then("a", 1, st("y", 1))
        allowed = every(3) if weak else every(3) - results("110")
        found.append(
            Litmus(
                f"WRC: {name}",
                "8.9.5",
                "ranks",
                (st("x", 1), copied, ld("a", "y") + code + ld("b", "x")),
                "1a 2a 2b",
                allowed - results("010 011"),  # y is 1 only if thread 1 saw x
                results("110") if weak else results("111"),
            )
        )
    first = st("x", 1, "") + st("y", 1, "release.{}")
    acquired = ld("a", "y", "acquire.{}") + then("a", 1, "{}")
    through = acquired.replace("acquire.{}", "acquire.sys").format(st("z", 1, "release.sys"))
    last = ld("a", "z", "acquire.sys") + then("a", 1, ld("b", "x", ""))
    broken = through.replace("ld.acquire", "ld.relaxed")
    inner = through.replace("ld.acquire.sys", "ld.acquire.cta")
    found += [
        Litmus(
            "ISA2: three ranks",
            "8.9.5",
            "ranks",
            (first.format("sys"), through, last),
            "2a 2b",
            PASSED,
            PASSED,
        ),
        Litmus(
            "ISA2: a block, then a rank",
            "8.9.5",
            "pair",
            (first.format("cta"), inner, last),
            "2a 2b",
            PASSED,
            PASSED,
        ),
        Litmus(
            "ISA2: nothing acquired in the middle",
            "8.9.5",
            "ranks",
            (first.format("sys"), broken, last),
            "2a 2b",
            results(f"0{U}"),
            frozenset(),
            RACE,
        ),
    ]
    for name, barrier, kinds in (
        ("a barrier", "barrier.cta.sync 0;\n", ()),
        ("no barrier", "", RACE),
    ):
        found.append(
            Litmus(
                f"a release of what another thread of the block stored: {name}",
                "8.9.4, 8.9.5",
                "pair",
                (st("x", 1, "") + barrier, barrier + st("z", 1, "release.sys"), last),
                "2a 2b",
                results(f"0{U}") if kinds else PASSED,
                frozenset() if kinds else PASSED,
                kinds,
            )
        )
    return found


def coherence() -> list[Litmus]:
    """One location (8.10.5)."""
    two = ld("a", "x") + ld("b", "x")
    three = st("x", 1) + st("x", 2)
    ordered = frozenset((a, b) for a in range(3) for b in range(a, 3))
    return [
        Litmus(
            "CoRR",
            "8.10.5",
            "ranks",
            (st("x", 1), two),
            "1a 1b",
            results("00 01 11"),
            results("00 01 11"),
        ),
        Litmus(
            "CoWW",
            "8.10.1",
            "ranks",
            (three, two),
            "1a 1b x",
            *2 * (frozenset((*one, 2) for one in ordered),),
        ),
        Litmus(
            "CoWR",
            "8.10.5",
            "ranks",
            (st("x", 1) + ld("a", "x"), st("x", 2)),
            "0a x",
            results("11 12 22"),
            results("12 22"),
        ),
        Litmus(
            "CoRW, one thread",
            "8.10.5",
            "ranks",
            (ld("a", "x") + st("x", 1),),
            "0a x",
            *2 * (results("01"),),
        ),
        Litmus(
            "CoRW",
            "8.10.5",
            "ranks",
            (ld("a", "x") + st("x", 1), st("x", 2)),
            "0a x",
            results("01 02 21"),
            results("01 21"),
        ),
        Litmus(
            "2+2W",
            "8.10.1",
            "ranks",
            (st("x", 1) + st("y", 2), st("y", 1) + st("x", 2)),
            "x y",
            results("11 12 21 22"),
            results("21 12"),
        ),
        Litmus(
            "S with fences",
            "8.10.1",
            "ranks",
            (st("x", 2) + fence() + st("y", 1), ld("a", "y") + fence() + st("x", 1)),
            "1a x",
            results("01 02 11"),
            results("11 02"),
        ),
        Litmus(
            "LB",
            "8.10.4",
            "ranks",
            (ld("a", "x") + st("y", 1), ld("a", "y") + st("x", 1)),
            "0a 1a",
            every(2),
            results("00 01 10"),
        ),
        Litmus(
            "LB with dependences",
            "8.10.4",
            "ranks",
            (ld("a", "x") + st("y", "%a"), ld("a", "y") + st("x", "%a")),
            "0a 1a",
            results("00"),
            results("00"),
        ),
    ]


def observed() -> list[Litmus]:
    """What observes a write is behind it, and with it what follows in causality order (8.9.5, rule 2)."""
    read = ld("a", "x")
    store, load = st("x", 2, ""), ld("b", "x", "")
    seen = results(f"0{U} 11")
    return [
        Litmus(
            "a weak load behind a strong one that saw the write",
            "8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 1, load)),
            "1a 1b",
            seen,
            seen,
        ),
        Litmus(
            "a weak store behind a strong load that saw the write",
            "8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 1, store)),
            "1a x",
            results("01 12"),
            results("01 12"),
        ),
        Litmus(
            "a weak load behind a strong one that saw nothing",
            "8.7.1, 8.9.5",
            "ranks",
            (st("x", 1), read + then("a", 0, load)),
            "1a 1b",
            results(f"1{U}"),
            results(f"1{U}"),
            RACE,
        ),
    ]


def races() -> list[Litmus]:
    """Two accesses that nothing orders (8.7.1)."""
    weak, strong = st("x", 1, ""), st("x", 1)
    no: frozenset[Result] = frozenset()
    rows: list[tuple[str, Place, str, str, tuple[str, ...]]] = [
        ("two weak stores", "grid", weak, weak, RACE),
        ("a weak store and a weak load", "ranks", weak, ld("a", "x", ""), RACE),
        ("lanes of a warp are threads", "block", weak, ld("a", "x", ""), RACE),
        ("a weak store and a strong load", "ranks", weak, ld("a", "x"), RACE),
        ("a strong store and a weak load", "ranks", strong, ld("a", "x", ""), RACE),
        ("a weak store and an atomic", "grid", weak, add("a", "x"), RACE),
        ("a weak load and an atomic", "grid", ld("a", "x", ""), add("a", "x"), RACE),
        ("gpu and sys between ranks", "ranks", st("x", 1, "relaxed.gpu"), ld("a", "x"), RACE),
        ("sys and gpu between ranks", "ranks", strong, ld("a", "x", "relaxed.gpu"), RACE),
        ("cta and sys between blocks", "grid", st("x", 1, "relaxed.cta"), ld("a", "x"), RACE),
        ("sys and cta between blocks", "grid", strong, ld("a", "x", "relaxed.cta"), RACE),
        ("two stores of gpu between ranks", "ranks", *2 * (st("x", 1, "relaxed.gpu"),), RACE),
        ("gpu on one rank", "grid", st("x", 1, "relaxed.gpu"), ld("a", "x", "relaxed.gpu"), ()),
        ("cta in one block", "block", st("x", 1, "relaxed.cta"), ld("a", "x", "relaxed.cta"), ()),
        ("two strong stores", "ranks", strong, strong, ()),
        ("weak and strong loads", "ranks", ld("a", "x", ""), ld("a", "x"), ()),
        ("two locations", "ranks", weak, ld("a", "x+4", ""), ()),
    ]
    found: list[Litmus] = []
    for name, place, first, second, kinds in rows:
        if kinds:
            allowed = seen = no
        elif "two strong" in name:
            allowed = seen = results(f"{U}1")
        elif "loads" in name:
            allowed = seen = results("00")
        elif "locations" in name:
            allowed = seen = results("01")
        else:
            allowed = seen = results("01 11")
        found.append(
            Litmus(f"race: {name}", "8.7.1", place, (first, second), "1a x", allowed, seen, kinds)
        )
    return found


def atomics() -> list[Litmus]:
    """Read-modify-write (8.10.3)."""
    counted = (add("a", "x", "relaxed.gpu"), add("a", "x", "relaxed.gpu"))
    narrow = ("data race", "lost update")
    locked = (
        "TRY{0}:\n"
        "atom.acquire.sys.global.cas.b32 %a, [y], 0, 1;\n"
        "setp.ne.u32 %p, %a, 0;\n@%p bra TRY{0};\n"
        + ld("b", "x", "")
        + "add.u32 %c, %b, 1;\n"
        + st("x", "%c", "")
        + st("y", 0, "release.sys")
    )
    open_ = locked.replace("acquire", "relaxed")
    plain = ld("a", "x") + "add.u32 %b, %a, 1;\n" + st("x", "%b")
    return [
        Litmus("two additions", "8.10.3", "grid", counted, "0a 1a x", *2 * (results("012 102"),)),
        Litmus(
            "additions of too narrow a scope",
            "8.10.3",
            "grid",
            (add("a", "x", "relaxed.cta"), counted[1]),
            "x",
            frozenset(),
            frozenset(),
            narrow,
        ),
        Litmus(
            "additions of a rank on two ranks",
            "8.5, 8.10.3",
            "ranks",
            counted,
            "x",
            frozenset(),
            frozenset(),
            narrow,
        ),
        Litmus(
            "an addition and a store",
            "8.10.3",
            "ranks",
            (add("a", "x"), st("x", 5)),
            "0a x",
            results("05 56"),
            results("05 56"),
        ),
        Litmus(
            "an increment that is not atomic",
            "8.10.5",
            "ranks",
            (plain, plain),
            "x",
            results("1 2"),
            results("1 2"),
        ),
        Litmus(
            "a lock",
            "8.8, 8.9.4",
            "ranks",
            tuple(locked.format(i) for i in range(2)),
            "0b 1b x",
            *2 * (results("012 102"),),
        ),
        Litmus(
            "a lock that acquires nothing",
            "8.8",
            "ranks",
            tuple(open_.format(i) for i in range(2)),
            "x",
            frozenset(),
            frozenset(),
            RACE,
        ),
    ]


def barriers() -> list[Litmus]:
    """Barriers of a block (8.9.4, 9.7.13.1); unaligned ones where lanes of a warp execute different instructions."""
    store, load = st("x", 1, ""), ld("a", "x", "")
    lead_store, lead_load = f"@%lead {store}", f"@%lead {load}"
    one, no = results("1"), frozenset[Result]()
    here = "9.7.13.1, 8.9.4"
    sync = "barrier.cta.sync 0;\n"
    agree = "setp.eq.u32 %p, %a, 9;\nbarrier.cta.red.and.pred %p, 0, %p;\n"
    rows: list[tuple[str, Place, tuple[str, str], tuple[str, ...]]] = [
        ("sync", "block", (store + sync, sync + load), ()),
        ("sync, read before", "block", (store + sync, load + sync), RACE),
        ("red", "block", (store + agree, agree + load), ()),
        (
            "sync of two warps",
            "warps",
            (lead_store + "bar.sync 1, 64;\n", "bar.sync 1, 64;\n" + lead_load),
            (),
        ),
        (
            "arrive before sync",
            "warps",
            (lead_store + "bar.arrive 1, 64;\n", "bar.sync 1, 64;\n" + lead_load),
            (),
        ),
        (
            "what follows arrive is not before sync",
            "warps",
            ("bar.arrive 1, 64;\n" + lead_store, "bar.sync 1, 64;\n" + lead_load),
            RACE,
        ),
        (
            "arrive waits for nobody",
            "warps",
            ("bar.arrive 1, 64;\n" + lead_load, lead_store + "bar.sync 1, 64;\n"),
            RACE,
        ),
        (
            "two barriers",
            "warps",
            (lead_store + "bar.sync 1, 64;\n", "bar.sync 2, 64;\n" + lead_load),
            ("hang", "invalid"),
        ),
        (
            "bar.warp.sync",
            "block",
            (store + "bar.warp.sync 3;\n", "bar.warp.sync 3;\n" + load),
            (),
        ),
        ("sync in two blocks", "grid", (store + sync, sync + load), RACE),
    ]
    found: list[Litmus] = []
    for name, place, threads, kinds in rows:
        observe = "0a" if "nobody" in name else "1a"
        seen = no if kinds else one
        found.append(Litmus(f"barrier: {name}", here, place, threads, observe, seen, seen, kinds))
    shared = ("st.shared.u32 [s], 1;\n", "ld.shared.u32 %a, [s];\n")
    found += [
        Litmus(
            "barrier: shared memory",
            here,
            "block",
            (shared[0] + sync, sync + shared[1]),
            "1a",
            one,
            one,
        ),
        Litmus(
            "race: shared memory",
            "8.7.1",
            "block",
            shared,
            "1a",
            no,
            no,
            ("data race", "uninitialised read"),
        ),
    ]
    return found


def kernels() -> list[Litmus]:
    """Kernels of a stream (8.9.4, API synchronization; 9.7.13.13, griddepcontrol)."""
    store, load = st("x", 1, ""), ld("a", "x", "")
    one, no = results("1"), frozenset[Result]()
    early, wait = "griddepcontrol.launch_dependents;\n", "griddepcontrol.wait;\n"
    return [
        Litmus("kernels of a stream", "8.9.4", "stream", (store, load), "1a", one, one),
        Litmus(
            "a dependent waits",
            "9.7.13.13",
            "dependent",
            (early + store, wait + load),
            "1a",
            one,
            one,
        ),
        Litmus(
            "a dependent does not wait",
            "9.7.13.13",
            "dependent",
            (early + store, load),
            "1a",
            no,
            no,
            RACE,
        ),
    ]


def sizes() -> list[Litmus]:
    """Accesses that overlap in part, and vectors, which are separate scalars (8.2.4, 8.7.2)."""
    wide = "ld.relaxed.sys.global.u64 %l, [x];\nmov.b64 {%a, %b}, %l;\n"
    store64 = "mov.u32 %c, 1;\nmov.b64 %l, {%c, %c};\nst.relaxed.sys.global.u64 [x], %l;\n"
    pair = "st.relaxed.sys.global.v2.u32 [x], {1, 1};\n"
    halves = "ld.relaxed.sys.global.v2.u32 {%a, %b}, [x];\n"
    weak = "st.global.v2.u32 [x], {1, 1};\n"
    bytes_ = "st.relaxed.sys.global.u8 [x+1], %d;\n"
    flagged = fence() + st("y", 1)
    seen = ld("c", "y") + fence() + "setp.eq.u32 %p, %c, 1;\n"
    no: frozenset[Result] = frozenset()
    return [
        Litmus(
            "mixed sizes: u32 and u64",
            "8.7.2",
            "ranks",
            (st("x+4", 1), wide),
            "1a 1b",
            no,
            no,
            MIXED,
        ),
        Litmus(
            "mixed sizes: u8 and u32", "8.7.2", "ranks", (bytes_, ld("a", "x")), "1a", no, no, MIXED
        ),
        Litmus(
            "mixed sizes in order",
            "8.7.2",
            "ranks",
            (st("x", 0x10001, "") + flagged, seen + "@%p ld.global.u16 %a, [x+2];\n"),
            "1c 1a",
            results(f"0{U} 11"),
            results(f"0{U} 11"),
        ),
        Litmus(
            "one scalar of 64 bits",
            "8.10.3",
            "ranks",
            (store64, wide),
            "1a 1b",
            *2 * (results("00 11"),),
        ),
        Litmus(
            "a vector is two scalars",
            "8.2.4",
            "ranks",
            (pair, halves),
            "1a 1b",
            every(2),
            results("01 10"),
        ),
        Litmus(
            "a vector and a scalar",
            "8.2.4",
            "ranks",
            (pair, ld("a", "x+4")),
            "1a",
            *2 * (results("0 1"),),
        ),
        Litmus(
            "race: a weak vector and its second element",
            "8.2.4",
            "ranks",
            (weak, ld("a", "x+4", "")),
            "1a",
            no,
            no,
            RACE,
        ),
        Litmus(
            "a weak vector beside its neighbour",
            "8.2.4",
            "ranks",
            (weak, ld("a", "x+8", "")),
            "1a",
            *2 * (results("0"),),
        ),
        Litmus(
            "mixed sizes: a vector and u64",
            "8.2.4, 8.7.2",
            "ranks",
            (pair, wide),
            "1a 1b",
            no,
            no,
            MIXED,
        ),
    ]


TESTS = (
    *scoped_messages(),
    *unordered_messages(),
    *other_messages(),
    *strong_data(),
    *store_buffering(),
    *more_threads(),
    *coherence(),
    *observed(),
    *races(),
    *atomics(),
    *barriers(),
    *kernels(),
    *sizes(),
)
