"""`coconet-check` as a user calls it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.api import Program, assert_clean, make_plan
from coconet_ir.tools.check import main

Capture = pytest.CaptureFixture[str]

PUSH = """.version 8.0
.target sm_90
.address_size 64
.file 1 "push.cu"

.visible .entry push(.param .u64 x, .param .u64 ys, .param .u64 flags, .param .u32 rank)
{
  .reg .pred %p<3>;
  .reg .b32 %r<7>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [ys];
  ld.param.u64 %rd2, [flags];
  ld.param.u32 %r0, [rank];
  xor.b32 %r1, %r0, 1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r1, 8;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u64 %rd5, [%rd4];
  mul.wide.u32 %rd6, %r2, 4;
  add.s64 %rd7, %rd0, %rd6;
  add.s64 %rd8, %rd5, %rd6;
  ld.global.b32 %r3, [%rd7];
  .loc 1 7 5
  st.global.b32 [%rd8], %r3;
  bar.sync 0;
  setp.ne.u32 %p0, %r2, 0;
  @%p0 bra MEET;
  add.s64 %rd9, %rd2, %rd3;
  ld.global.u64 %rd10, [%rd9];
  mov.u32 %r4, 1;
  st.release.sys.global.u32 [%rd10], %r4;
  mul.wide.u32 %rd3, %r0, 8;
  add.s64 %rd9, %rd2, %rd3;
  ld.global.u64 %rd11, [%rd9];
WAIT:
  ld.acquire.sys.global.u32 %r5, [%rd11];
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra WAIT;
MEET:
  bar.sync 0;
  mul.wide.u32 %rd3, %r0, 8;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u64 %rd5, [%rd4];
  add.s64 %rd8, %rd5, %rd6;
  .loc 1 12 3
  ld.global.b32 %r6, [%rd8];
  add.u32 %r6, %r6, %r6;
  st.global.b32 [%rd8], %r6;
  ret;
}
"""
RACY = PUSH.replace("ld.acquire.sys", "ld.relaxed.sys")
READ = 1 + PUSH[: PUSH.index("ld.global.b32 %r6")].count("\n")
WRITE = 1 + PUSH[: PUSH.index("st.global.b32 [%rd8], %r3")].count("\n")

PLAN: dict[str, Any] = {
    "ranks": 2,
    "buffers": {
        "x": {"type": "s32", "count": 33, "content": {"random": [-50, 50], "seed": 3}},
        "y": {"type": "s32", "count": 33},
        "flag": {"type": "u32", "count": 1, "content": 0},
        "ys": {"pointers": "y"},
        "flags": {"pointers": "flag"},
    },
    "steps": [
        {
            "kernel": "push",
            "grid": 1,
            "block": 33,
            "arguments": ["x", "ys", "flags", {"u32": "rank"}],
        }
    ],
}

SGD = """layout.mesh @mesh(dp = 4)
!local = tensor<?xf32, #layout.dist<dp = local>>
func.func @sgd(%grad: !local, %w: tensor<?xf32>, %lr: f32) {
  %avg = coll.all_reduce avg %grad over [dp] : !local -> tensor<?xf32>
  %step = comp.scale %avg by %lr : tensor<?xf32>
  %new = arith.subf %w, %step : tensor<?xf32>
  %stored = comp.update %w, %new : tensor<?xf32>
  func.return
}
"""
SPLIT = """builtin.module attributes {transform.with_named_sequence} {
  transform.named_sequence @main(%p: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %p
    %rs, %ag = transform.coconet.split %avg
    transform.yield
  }
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of these tests, where the tool runs."""
    monkeypatch.chdir(tmp_path)
    files = {"push.ptx": PUSH, "racy.ptx": RACY, "plan.json": json.dumps(PLAN)}
    for name, text in {**files, "sgd.mlir": SGD, "split.mlir": SPLIT}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


# PTX


def test_a_clean_kernel(capsys: Capture) -> None:
    assert main(["push.ptx", "--plan", "plan.json", "--schedules", "30"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("clean in 30 schedules (")
    assert found.err == ""


def test_all_schedules(capsys: Capture) -> None:
    given = ["--plan", "plan.json", "--exhaustive"]
    assert main(["push.ptx", *given]) == 0
    assert capsys.readouterr().out.startswith("clean in all 1 schedule (")
    assert main(["racy.ptx", *given, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["complete"] is True
    (found,) = report["findings"]
    assert (
        main(["racy.ptx", "--plan", "plan.json", "--seed", found["seed"], "--format", "json"]) == 1
    )
    (again,) = json.loads(capsys.readouterr().out)["findings"]
    assert (again["places"], again["notes"]) == (found["places"], found["notes"])
    assert main(["racy.ptx", *given, "--schedules", "1"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 finding in the first 1 schedule ")


@pytest.mark.parametrize("given", [["--seed", "x1=2,"], ["--exhaustive", "--seed", "3"]])
def test_wrong_schedules(given: list[str], capsys: Capture) -> None:
    assert main(["push.ptx", "--plan", "plan.json", *given]) == 2
    assert "seed" in capsys.readouterr().err


def test_all_schedules_in_a_test() -> None:
    case = make_plan(PLAN, PUSH)
    assert assert_clean(case, exhaustive=True).complete
    case = make_plan(PLAN, PUSH.replace("WAIT:\n", "WAIT:\nadd.u32 %r4, %r4, 1;\n"))
    with pytest.raises(AssertionError, match="more than 1 schedules"):
        assert_clean(case, schedules=1, exhaustive=True)


def test_a_race(capsys: Capture) -> None:
    assert main(["racy.ptx", "--plan", "plan.json", "--schedules", "30"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("push.cu:12:3: error: data race: ")
    assert lines[1].startswith("push.cu:12:3: note: rank ")
    assert lines[1].endswith(f"at racy.ptx:{READ}: ld.global.b32 %r6, [%rd8]")
    assert lines[2].startswith("push.cu:7:5: note: rank ")
    assert lines[2].endswith(f"at racy.ptx:{WRITE}: st.global.b32 [%rd8], %r3")
    assert lines[-1].startswith("1 finding in 30 schedules (")


def test_json_and_the_seed_that_shows_it_again(here: Path, capsys: Capture) -> None:
    command = ["racy.ptx", "--plan", "plan.json", "--format", "json"]
    assert main([*command, "--seed", "5", "--schedules", "20", "-o", "report.json"]) == 1
    assert capsys.readouterr().out == ""
    report = json.loads((here / "report.json").read_text())
    assert (report["clean"], report["schedules"]) == (False, 20)
    (found,) = report["findings"]
    assert found["kind"] == "data race"
    assert [place["line"] for place in found["places"]] == [READ, WRITE]
    assert [place["rank"] for place in found["places"]] in ([0, 1], [1, 0])
    assert main([*command, "--seed", str(found["seed"]), "--schedules", "1"]) == 1
    (again,) = json.loads(capsys.readouterr().out)["findings"]
    assert again == {**found, "count": 1}


def expecting(here: Path, value: Any) -> list[str]:
    plan = {**PLAN, "expect": {"y": {"value": value}}}
    (here / "expect.json").write_text(json.dumps(plan))
    return ["push.ptx", "--plan", "expect.json", "--schedules", "5"]


def test_values(here: Path, capsys: Capture) -> None:
    made = make_plan(PLAN, PUSH)
    x = [np.frombuffer(rank.memory[0].content or b"", np.int32) for rank in made.job.ranks]
    right = [(2 * x[1 - rank]).tolist() for rank in range(2)]
    assert main(expecting(here, {"per_rank": right})) == 0
    capsys.readouterr()
    right[1][32] += 1
    assert main(expecting(here, {"per_rank": right})) == 1
    first = capsys.readouterr().out.splitlines()[0]
    values = f"is {right[1][32] - 1}, not {right[1][32]}; 1 of 33 elements are wrong"
    assert first == f"error: wrong value: element 32 of y of rank 1 {values}"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RACY.encode())))
    assert main(["-", "--plan", "plan.json", "--schedules", "1"]) == 1
    assert f"at <stdin>:{READ}: " in capsys.readouterr().out


def test_the_source_of_what_is_refused(here: Path, capsys: Capture) -> None:
    """Of what was inlined it is the call."""
    place = ".loc 2 7 3\n.loc 2 2 5, function_name x, inlined_at 2 7 3\nmma"
    text = PUSH.replace(".visible", '.file 2 "k.cu"\n.visible', 1).replace("xor.b32", place)
    (here / "k.ptx").write_text(text)
    assert main(["k.ptx", "--plan", "plan.json"]) == 2
    assert "no entry for mma (k.cu:7:3)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ptx", "message"),
    [
        (PUSH.replace("xor.b32", "xor.b31"), "k.ptx:15: error: `xor.b31 %r1, %r0, 1` "),
        (PUSH.replace("xor.b32", "mma"), "k.ptx:15: error: `mma %r1, %r0, 1`: "),
        (
            PUSH.replace("push(", "pull("),
            "k.ptx: error: step 0 launches push, but there is no such kernel; there are: pull",
        ),
        (PUSH.replace(", 1;", ", 1", 1), "k.ptx:16:3: error: "),
        ("", "k.ptx:1:1: error: "),
        (
            "#include <cuda.h>",
            "k.ptx:1:1: error: `.version` is expected, not `#`: this is no PTX; `nvcc -ptx` ",
        ),
    ],
)
def test_ptx_that_is_not_run(here: Path, capsys: Capture, ptx: str, message: str) -> None:
    (here / "k.ptx").write_text(ptx)
    assert main(["k.ptx", "--plan", "plan.json"]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(message)


def test_a_plan_that_is_none(here: Path, capsys: Capture) -> None:
    (here / "wrong.json").write_text(json.dumps({**PLAN, "ranks": 0}))
    assert main(["push.ptx", "--plan", "wrong.json"]) == 2
    message = "error: wrong.json: ranks: expected an integer from 1 to 64, not 0\n"
    assert capsys.readouterr().err == message
    assert main(["push.ptx", "--plan", "no.json"]) == 2
    assert capsys.readouterr().err == "error: cannot read 'no.json': No such file or directory\n"


def test_files_of_a_plan_lie_beside_it(here: Path) -> None:
    (here / "folder").mkdir()
    np.save(here / "folder" / "x.npy", np.arange(33, dtype=np.int32))
    content = {"type": "s32", "count": 33, "content": {"file": "x.npy"}}
    plan = {**PLAN, "buffers": {**PLAN["buffers"], "x": content}}
    (here / "folder" / "plan.json").write_text(json.dumps(plan))
    assert main(["push.ptx", "--plan", "folder/plan.json", "--schedules", "1"]) == 0


# Programs


@pytest.mark.parametrize("mesh", ["dp=1", "dp=2", "dp=3"])
@pytest.mark.parametrize("options", [[], ["--schedule", "split.mlir"]])
def test_programs(mesh: str, options: list[str], capsys: Capture) -> None:
    command = ["sgd.mlir", "--mesh", mesh, "--shape", "w=7", "--schedules", "4", *options]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("clean in 4 schedules (")


def test_a_program_from_python() -> None:
    program = Program.parse(SGD)
    inputs = program.generate({"dp": 2}, shapes={"w": (5,)})
    report = program.check({"dp": 2}, inputs, schedules=3, repeat=2)
    assert report.clean, report
    assert report.schedules == 3


def test_a_kernel_from_python() -> None:
    assert assert_clean(make_plan(PLAN, PUSH), schedules=3).schedules == 3
    with pytest.raises(AssertionError, match=r"push\.cu:12:3: error: data race: "):
        assert_clean(make_plan(PLAN, RACY), schedules=3)


def test_programs_that_are_not_checked(here: Path, capsys: Capture) -> None:
    assert main(["sgd.mlir", "--mesh", "pp=2"]) == 2
    assert "error: " in capsys.readouterr().err
    assert main(["no.mlir"]) == 2
    assert capsys.readouterr().err == "error: cannot read 'no.mlir': No such file or directory\n"
    (here / "wrong.mlir").write_text("func.func @f(")
    assert main(["wrong.mlir"]) == 2
    assert capsys.readouterr().err.startswith("wrong.mlir:1:14: error: ")


# Usage


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required"),
        (["push.ptx"], "a PTX file needs --plan: what there is in memory, and what is launched"),
        (["push.ptx", "--plan", "p", "--mesh", "tp=2"], "--mesh is for programs"),
        (["push.ptx", "--plan", "p", "--repeat", "2"], "--repeat is for programs"),
        (["-", "--plan", "-"], "only one of the PTX file and the plan can be standard input"),
        (["sgd.mlir", "--schedules", "0"], "expected a number of at least 1, not '0'"),
        (["sgd.mlir", "--max-findings", "some"], "expected a number of at least 1, not 'some'"),
        (
            ["sgd.mlir", "--seed", "-1"],
            "a number of at least 0, or what a finding of --exhaustive has, such as x3=1, not '-1'",
        ),
        (["sgd.mlir", "--format", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_wrong_usage(args: list[str], message: str, capsys: Capture) -> None:
    assert main(args) == 2
    assert message in capsys.readouterr().err


def test_a_report_that_cannot_be_written(capsys: Capture) -> None:
    assert main(["push.ptx", "--plan", "plan.json", "--schedules", "1", "-o", "no/where"]) == 2
    assert capsys.readouterr().err.startswith("error: cannot write 'no/where'")


def test_opcodes_that_nobody_reads() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "coconet_ir.tools.check", "--list-opcodes"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "error: cannot write the output: No space left on device\n",
    )


@pytest.mark.parametrize("name", ["x1=99", "x4=1,7=2", "x0=0"])
def test_a_schedule_that_there_is_not(name: str, capsys: Capture) -> None:
    assert main(["push.ptx", "--plan", "plan.json", "--seed", name]) == 2
    assert "there is no such schedule" in capsys.readouterr().err


def test_the_opcodes_that_are_run(capsys: Capture) -> None:
    assert main(["--list-opcodes"]) == 0
    opcodes = capsys.readouterr().out.split()
    assert opcodes == sorted(opcodes)
    assert {"ld", "st", "fence", "bar", "fma"} < set(opcodes)
    assert "mma" not in opcodes
