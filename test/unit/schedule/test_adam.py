"""The schedules of Adam: as a file, as calls in Python and as pipelines they are the same, and change no bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coconet_ir.program import Program, Schedule
from coconet_ir.sim.compare import compare
from coconet_ir.tools import opt

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAM = EXAMPLES / "adam.mlir"
FILE = EXAMPLES / "schedules" / "adam.mlir"


def ar_opt(schedule: Schedule) -> None:
    schedule.fuse("mu", "vu", "pu", named="opt", between=True)


def rs_opt_ag(schedule: Schedule) -> None:
    _, gather = schedule.split("avg")
    schedule.reorder(gather)
    schedule.slice_state()
    schedule.fuse("mu", "vu", "wu", "pnew", named="opt", between=True)


def fuse_rs_opt_ag(schedule: Schedule) -> None:
    schedule.split("avg")
    schedule.reorder("avg_ag")
    schedule.slice_state()
    schedule.fuse("avg_rs", "mu", "vu", "wu", "pu", named="opt", between=True)


CALLS: dict[str, Callable[[Schedule], None]] = {
    "ar_opt": ar_opt,
    "rs_opt_ag": rs_opt_ag,
    "fuse_rs_opt_ag": fuse_rs_opt_ag,
}
SLICED = "coconet-split{op=avg},coconet-reorder{op=avg_ag},coconet-slice-state"
PIPELINES = {
    "ar_opt": "coconet-fuse{ops=mu,vu,pu named=opt between=true}",
    "rs_opt_ag": f"{SLICED},coconet-fuse{{ops=mu,vu,wu,pnew named=opt between=true}}",
    "fuse_rs_opt_ag": f"{SLICED},coconet-fuse{{ops=avg_rs,mu,vu,wu,pu named=opt between=true}}",
}


@pytest.fixture(scope="module")
def adam() -> Program:
    return Program.load(str(PROGRAM))


def body(text: str) -> str:
    """What stands between the braces of a module."""
    return text.partition("\n")[2].rpartition("}")[0]


def test_the_calls_print_the_file(adam: Program, capsys: pytest.CaptureFixture[str]) -> None:
    texts: list[str] = []
    for name, call in CALLS.items():
        schedule = adam.schedule(name)
        call(schedule)
        texts.append(str(schedule))
        loaded = adam.load_schedule(f"{FILE}:{name}")
        assert str(loaded) == texts[-1]
        assert str(loaded.program) == str(schedule.program)
        assert loaded.remarks == schedule.remarks
    assert opt.main([str(FILE)]) == 0
    assert body(capsys.readouterr().out) == "".join(map(body, texts))


@pytest.mark.parametrize("name", CALLS)
def test_the_schedule_does_what_the_pipeline_does(
    name: str, adam: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt.main([str(PROGRAM), "-p", PIPELINES[name], "--remarks"]) == 0
    by_passes = capsys.readouterr()
    assert opt.main([str(PROGRAM), "--schedule", f"{FILE}:{name}", "--remarks"]) == 0
    assert capsys.readouterr() == by_passes
    assert by_passes.out == str(adam.load_schedule(f"{FILE}:{name}").program)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7, 8])
def test_no_bit_changes(ranks: int, adam: Program) -> None:
    scheduled = [adam.load_schedule(f"{FILE}:{name}").program for name in CALLS]
    for size in (0, 1, 23):
        given = adam.generate({"dp": ranks}, {"step": 3.0}, {"w": (size,)}, seed=ranks)
        want = adam.run({"dp": ranks}, given)
        for program in scheduled:
            rows = compare(want, program.run({"dp": ranks}, given))
            assert {row.name for row in rows} == {"m", "v", "w", "p"}
            assert all(row.equal for row in rows), rows


def test_what_is_saved_can_be_edited_and_applied_again(adam: Program, tmp_path: Path) -> None:
    schedule = adam.schedule()
    fuse_rs_opt_ag(schedule)
    path = tmp_path / "fast.mlir"
    schedule.save(str(path))
    assert path.read_text() == str(schedule)
    again = adam.load_schedule(str(path))
    assert str(again) == str(schedule)
    assert str(again.program) == str(schedule.program)
    # By hand: no sharded state, and another name for the kernel.
    lines = path.read_text().replace('"opt"', '"kernel"').splitlines()
    path.write_text("\n".join(line for line in lines if "slice_state" not in line))
    edited = adam.load_schedule(f"{path}:main")
    names = [remark.rewrite for remark in edited.remarks]
    assert names == ["split", "reorder", "fuse"]
    assert 'coconet.name = "kernel"' in str(edited.program)
    assert "coconet.resliced" not in str(edited.program)
    # And on from there in Python.
    edited.inline("kernel")
    edited.slice_state("m", "v")
    assert str(edited).splitlines()[-5:] == [
        "    transform.coconet.inline %opt",
        '    transform.coconet.slice_state %program {args = ["m", "v"]}',
        "    transform.yield",
        "  }",
        "}",
    ]
    want = adam.generate({"dp": 3}, {"step": 3.0}, {"w": (10,)})
    rows = compare(adam.run({"dp": 3}, want), edited.program.run({"dp": 3}, want))
    assert all(row.equal for row in rows)
