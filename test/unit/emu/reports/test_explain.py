"""What reports of races say is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coconet_ir.emu.checks.plan import make_plan
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.runtime.steps import Launch

GALLERY = Path(__file__).parents[3] / "gallery"
PUSH = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry push(.param .u64 datas, .param .u64 flags, .param .u64 out, .param .u32 rank)
{
.reg .pred %p, %q;
.reg .u32 %r, %t, %v, %f;
.reg .u64 %datas, %flags, %out, %at, %mine, %other, %data, %flag;
ld.param.u64 %datas, [datas];
ld.param.u64 %flags, [flags];
ld.param.u64 %out, [out];
ld.param.u32 %r, [rank];
mov.u32 %t, %tid.x;
setp.ne.u32 %q, %t, 0;
ld.global.u64 %data, [%datas+8];
ld.global.u64 %flag, [%flags+8];
mul.wide.u32 %at, %t, 4;
add.u64 %data, %data, %at;
add.u64 %out, %out, %at;
setp.eq.u32 %p, %r, 1;
@%p bra TAKE;
st.global.u32 [%data], %t;
bar.sync 0;
@%q bra END;
fence.acq_rel.sys;
st.relaxed.sys.global.u32 [%flag], 1;
bra END;
TAKE:
@%q bra MET;
WAIT:
ld.relaxed.sys.global.u32 %f, [%flag];
setp.ne.u32 %p, %f, 1;
@%p bra WAIT;
fence.acq_rel.sys;
MET:
bar.sync 0;
ld.global.u32 %v, [%data];
st.global.u32 [%out], %v;
END:
ret;
}
"""
"""Rank 0 stores into rank 1's data and says so."""

STORE, TELL, SIGNAL, WAIT, LEARN, LOAD = 22, 25, 26, 31, 34, 37
"""The lines of what the ranks do."""


def push(edits: dict[int, str], repeat: int = 1, *, kind: str = "race") -> Finding:
    """The first finding of the kernel with other text in some lines, and what is missing."""
    lines: list[str] = [*PUSH.splitlines()]
    for number, text in edits.items():
        lines[number - 1] = text
    step = {
        "kernel": "push",
        "grid": 1,
        "block": 33,
        "arguments": ["datas", "flags", "out", {"u32": "rank"}],
    }
    words = {"type": "u32", "count": 33}
    plan = {
        "ranks": 2,
        "buffers": {
            "data": {**words, "content": 0} if kind == "race" else words,
            "flag": {"type": "u32", "count": 1, "content": 0},
            "out": words,
            "datas": {"pointers": "data"},
            "flags": {"pointers": "flag"},
        },
        "steps": [step],
        "repeat": repeat,
    }
    return first("\n".join(lines) + "\n", plan, kind)


def first(ptx: str, plan: dict[str, Any], kind: str = "race") -> Finding:
    """The first finding of a kind in a plan's schedules, and what is missing; a trace changes nothing but the notes."""
    emulator = Emulator(make_plan(plan, ptx).job)
    for seed in range(30):
        plain = emulator.run(seed).findings
        if plain and kind in plain[0].kind:
            (found,) = emulator.run(seed, traced=True).findings
            assert (found.kind, found.message, found.places) == (
                plain[0].kind,
                plain[0].message,
                plain[0].places,
            )
            return found
    raise AssertionError(f"no schedule has a {kind}")


def test_lines() -> None:
    lines = PUSH.splitlines()
    for number, start in (
        (STORE, "st.global.u32 [%data]"),
        (TELL, "fence"),
        (SIGNAL, "st.relaxed"),
        (WAIT, "ld.relaxed"),
        (LEARN, "fence"),
        (LOAD, "ld.global.u32 %v"),
    ):
        assert lines[number - 1].startswith(start)


def test_whole_is_clean() -> None:
    with pytest.raises(AssertionError, match="no schedule"):
        push({})


LINK = rf"rank 0 block 0 thread 0 stored 0x1 in byte 0 of flag of rank 1 by .* at line {SIGNAL}, and rank 1 block 0 .*"
NO_RELEASE = rf"at line {SIGNAL} does not release what came before it"
NO_ACQUIRE = rf"at line {WAIT} does not acquire"


@pytest.mark.parametrize(
    ("edits", "notes"),
    [
        (
            {TELL: ""},
            [LINK, rf"{NO_RELEASE}: `fence.acq_rel.sys` before it or `st.release.sys` is"],
        ),
        ({TELL: "fence.acquire.sys;"}, [LINK, rf"{NO_RELEASE}, nor does .* at line {TELL}: "]),
        (
            {STORE: f"fence.acq_rel.sys;{PUSH.splitlines()[STORE - 1]}", TELL: ""},
            [LINK, rf"{NO_RELEASE}, and .* at line {STORE} is too early: "],
        ),
        ({LEARN: ""}, [LINK, rf"{NO_ACQUIRE}, and no fence follows in time: `fence.acq_rel.sys` "]),
        ({LEARN: "fence.release.sys;"}, [LINK, rf"{NO_ACQUIRE}, nor does .* at line {LEARN}: "]),
        ({TELL: "", LEARN: ""}, [LINK, NO_RELEASE, NO_ACQUIRE]),
        (
            {TELL: "fence.acq_rel.gpu;"},
            [LINK, rf"at line {TELL} is .gpu, which does not include rank 1: .sys is needed"],
        ),
        (
            {LEARN: "fence.acq_rel.cta;"},
            [LINK, rf"at line {LEARN} is .cta, which does not include rank 0: .sys is needed"],
        ),
        (
            {STORE + 1: ""},
            [LINK, rf"no barrier .*at line {STORE} .* and `fence.acq_rel.sys` at line {TELL} "],
        ),
        (
            {STORE + 1: "bar.warp.sync 0xffffffff;"},
            [LINK, rf"no barrier of the block .* line {STORE} .*thread 32\) .* line {TELL} "],
        ),
    ],
    ids=lambda given: "" if isinstance(given, list) else str(given),
)
def test_gap_of_a_link(edits: dict[int, str], notes: list[str]) -> None:
    found = push(edits)
    assert found.kind == "data race"
    assert {place.line for place in found.places} == {STORE, LOAD}
    assert len(found.notes) == len(notes)
    for have, want in zip(found.notes, notes, strict=True):
        assert re.search(want, have), have


def test_barrier_behind_the_wait() -> None:
    notes = " ".join(push({LOAD - 1: ""}).notes)
    assert "no barrier" in notes
    assert f"at line {WAIT}" in notes
    assert f"at line {LOAD}" in notes


def test_scope_of_strong_accesses() -> None:
    found = push({SIGNAL: "st.relaxed.gpu.global.u32 [%flag], 1;"})
    text = f"the scope of `st.relaxed.gpu.global.u32 [%flag], 1` at line {SIGNAL} is .gpu, which does not include"
    assert found.notes == (f"{text} rank 1: .sys is needed",)
    assert found.message.endswith("of rank 1, and the scope of one does not include the other")


def test_weak_signal() -> None:
    found = push({SIGNAL: "st.global.u32 [%flag], 1;"})
    (note,) = found.notes
    assert found.message.endswith("and nothing orders them")
    assert f"at line {SIGNAL} is weak" in note
    assert f"at line {WAIT} is strong" in note


def test_sizes() -> None:
    found = push({WAIT: "ld.relaxed.sys.global.u16 %f, [%flag];"})
    assert found.kind == "mixed-size race"
    assert f"at line {WAIT}" in found.notes[0]
    assert "different sizes" in found.notes[0]


def test_no_wait() -> None:
    notes = push({WAIT: "mov.u32 %f, 1;"}).notes
    assert any("has waited for nothing" in note and f"line {LOAD}" in note for note in notes)
    assert re.fullmatch(rf"or, if `.*` at line ({LOAD}|{STORE}) came too early:", notes[-2])


def test_signal_of_the_call_before() -> None:
    found = push({}, repeat=2)
    stored = "0x1 from byte 0 of flag of rank 1, stored by rank 0 block 0 thread 0 in step 0"
    assert any(stored in note and f"at line {WAIT}" in note for note in found.notes)


STREAM = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry first(.param .u64 x)
{
.reg .u64 %x;
ld.param.u64 %x, [x];
griddepcontrol.launch_dependents;
st.global.u32 [%x], 1;
ret;
}
.visible .entry second(.param .u64 x)
{
.reg .u64 %x;
.reg .u32 %a, %t;
ld.param.u64 %x, [x];
LINE
ret;
}
"""


def stream(code: str, block: int = 1, **launch: Any) -> Finding:
    """The finding of a launch behind another."""
    plan = {
        "ranks": 1,
        "buffers": {"x": {"type": "u32", "count": 1, "content": 0}},
        "steps": [
            {"kernel": "first", "grid": 1, "block": 1, "arguments": ["x"]},
            {"kernel": "second", "grid": 1, "block": block, "arguments": ["x"], **launch},
        ],
    }
    return first(STREAM.replace("LINE", code), plan)


def test_dependent_launch() -> None:
    found = stream("ld.global.u32 %a, [%x];", dependent=True)
    assert len(found.notes) == 1
    assert "second (step 1) does not wait for first (step 0)" in found.notes[0]
    assert "`griddepcontrol.wait` is missing" in found.notes[0]


def test_launches_that_are_not_ordered() -> None:
    plan = {
        "ranks": 1,
        "buffers": {"x": {"type": "u32", "count": 1, "content": 0}},
        "steps": [{"kernel": "first", "grid": 1, "block": 1, "arguments": ["x"]}] * 2,
    }
    job = make_plan(plan, STREAM.replace("LINE", "")).job
    (rank,) = job.ranks
    steps = [replace(one, after=()) for one in rank.steps if isinstance(one, Launch)]
    emulator = Emulator(replace(job, ranks=(replace(rank, steps=tuple(steps)),)))
    notes = [
        note
        for seed in range(20)
        for one in emulator.run(seed, traced=True).findings
        for note in one.notes
    ]
    assert notes
    for note in notes:
        assert re.fullmatch(
            r"first \(step \d\) does not wait for first \(step \d\): the launches are not ordered",
            note,
        )


def test_constant_load() -> None:
    found = stream("st.global.u32 [%x], 2;\nld.global.nc.u32 %a, [%x];")
    must = "must find what was there when its kernel began: use an `ld` without .nc"
    assert found.notes == (f"`ld.global.nc.u32 %a, [%x]` at line 18 {must}",)


def test_lanes() -> None:
    (note,) = stream("mov.u32 %t, %tid.x;\nst.global.u32 [%x], %t;", block=2).notes
    assert note.startswith("no barrier (or bar.warp.sync) of the block is between `st.global.u32")


def test_what_is_read_too_early() -> None:
    found = push({WAIT: "mov.u32 %f, 1;"}, kind="uninitialised read")
    assert found.notes[0].startswith("rank 1 block 0 thread")
    assert (
        f"has waited for nothing before `ld.global.u32 %v, [%data]` at line {LOAD}"
        in found.notes[0]
    )


@pytest.mark.parametrize(
    ("bug", "texts"),
    [
        (
            "stage_fence",
            [
                r"stored 0x1 in byte \d of word of rank \d by `st.volatile",
                r"`st.volatile.* does not release what came before it: `fence.acq_rel.sys` before it",
                r"`ld.volatile.* does not acquire, and no fence follows in time",
            ],
        ),
        (
            "replayed_epoch",
            [
                r"read 0x2 from byte \d of word of rank \d, stored by .* in step 1, time 1 of 3",
                "that message is too old: the later one tells of step 0, a copy, time 2 of 3: rank 0 ",
                "or, if step 0, a copy, time 2 of 3 came too early:",
                "waited for last",
            ],
        ),
        ("byte_flags", [r"have different sizes: what nothing orders must have one size"]),
    ],
)
def test_gallery(bug: str, texts: list[str]) -> None:
    ptx, plan = GALLERY / f"{bug}.ptx", GALLERY / f"{bug}.json"
    found = first(ptx.read_text(), json.loads(plan.read_text()))
    assert len(found.notes) == len(texts)
    for have, want in zip(found.notes, texts, strict=True):
        assert re.search(want, have), have
