"""Reports: what is said, and where; as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from coconet_ir.emu.ptx.syntax import Location
from coconet_ir.emu.reports.findings import Finding, Where
from coconet_ir.emu.reports.report import Found, Report

CALLER = Location("model.mlir", 30, 3)
READ = Where(
    1, "push", 2, (1, 0, 0), (3, 0, 0), 45, "ld.global.f32 %f1, [%rd4]", Location("push.mlir", 7, 5, CALLER)
)  # fmt: skip
WRITE = Where(0, "push", 1, (0, 2, 0), (4, 0, 1), 30, "st.global.f32 [%rd2], %f3")
HOST = Where(0, None, 3, text="copy of 'x' to 'y'")
RACE = Finding(
    "data race",
    "reads what another thread writes, in no order",
    (READ, WRITE),
    "y of rank 1",
    12,
    ("the store is weak", "no release follows it"),
    17,
)


def test_text() -> None:
    report = Report((Found(RACE, 3),), 100, 0.5, 1.0, {2: "step 0, time 2 of 3"})
    assert report.render("k.ptx").splitlines() == [
        "model.mlir:30:3: error: data race: reads what another thread writes, in no order",
        "model.mlir:30:3: note: rank 1, kernel 'push' (step 0, time 2 of 3), block 1, thread 3 at k.ptx:45: "
        "ld.global.f32 %f1, [%rd4]",
        "push.mlir:7:5: note: inlined from here",
        "k.ptx:30: note: rank 0, kernel 'push' (step 1), block (0, 2, 0), thread (4, 0, 1): st.global.f32 [%rd2], %f3",
        "note: the store is weak",
        "note: no release follows it",
        "note: shown by 3 of 100 schedules; --seed 17 --schedules 1 shows it again",
        "1 finding in 100 schedules (0.50 s to compile, 10 ms a schedule)",
    ]


def test_what_the_host_does_and_what_is_nowhere() -> None:
    wrong = Finding(
        "wrong value", "element 1 of y of rank 0 is 2, not 3", buffer="y of rank 0", offset=4
    )
    race = Finding("data race", "the copy writes what a kernel reads", (HOST,))
    lines = Report((Found(wrong, 1), Found(race, 1)), 1, 0, 0).render().splitlines()
    assert lines == [
        "error: wrong value: element 1 of y of rank 0 is 2, not 3",
        "note: shown by 1 of 1 schedule; --seed 0 --schedules 1 shows it again",
        "error: data race: the copy writes what a kernel reads",
        "note: rank 0: copy of 'x' to 'y'",
        "note: shown by 1 of 1 schedule; --seed 0 --schedules 1 shows it again",
        "2 findings in 1 schedule (0.00 s to compile, 0 ms a schedule)",
    ]


def test_clean() -> None:
    report = Report((), 1000, 0.3, 12.5)
    assert report.clean
    assert str(report) == "clean in 1000 schedules (0.30 s to compile, 12.5 ms a schedule)"
    assert report.to_json() == {
        "clean": True,
        "schedules": 1000,
        "compile_seconds": 0.3,
        "run_seconds": 12.5,
        "complete": None,
        "findings": [],
    }


def test_many_milliseconds() -> None:
    assert "(0.00 s to compile, 12346 ms a schedule)" in str(Report((), 1, 0, 12.3456))


def test_an_exhaustive_check() -> None:
    times = "(0.00 s to compile, 0 ms a schedule)"
    assert str(Report((), 5, 0, 0, complete=True)) == f"clean in all 5 schedules {times}"
    assert str(Report((), 5, 0, 0, complete=False)) == f"clean in the first 5 schedules {times}"
    found = Found(replace(RACE, schedule="x3=1"), 2)
    lines = Report((found,), 5, 0, 0, complete=True).render().splitlines()
    assert lines[-2] == "note: shown by 2 of 5 schedules; --seed x3=1 shows it again"


def test_json() -> None:
    report = Report((Found(RACE, 3),), 100, 0.5, 1.0, {2: "step 0, time 2 of 3"})
    (found,) = json.loads(json.dumps(report.to_json()))["findings"]
    read, write = found.pop("places")
    assert found == {
        "kind": "data race",
        "message": "reads what another thread writes, in no order",
        "buffer": "y of rank 1",
        "offset": 12,
        "notes": ["the store is weak", "no release follows it"],
        "seed": 17,
        "count": 3,
    }
    assert read == {
        "rank": 1,
        "kernel": "push",
        "step": 2,
        "label": "step 0, time 2 of 3",
        "block": [1, 0, 0],
        "thread": [3, 0, 0],
        "line": 45,
        "text": "ld.global.f32 %f1, [%rd4]",
        "location": {
            "file": "push.mlir",
            "line": 7,
            "column": 5,
            "within": {"file": "model.mlir", "line": 30, "column": 3, "within": None},
        },
    }
    assert (write["label"], write["location"]) == (None, None)
