"""What the tools' flags do with a schedule is what they do with passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coconet_ir.tools import opt, run

PROGRAM = """\
layout.mesh @mesh(tp = 2)
!l = tensor<?xf32, #layout.dist<tp = local>>
!x = tensor<?xf32>
func.func @f(%g: !l, %w: !x) -> !x {
  // expected-remark @+1 {{split 'a': applied}}
  %a = coll.all_reduce sum %g over [tp] : !l -> !x
  %x = arith.addf %a, %w : !x
  func.return %x : !x
}
"""

SCHEDULE = """\
module attributes {transform.with_named_sequence} {
  transform.named_sequence @split(%program: !transform.any_op) {
    %a = transform.coconet.named "a" in %program
    %a_rs, %a_ag = transform.coconet.split %a
    transform.yield
  }
  transform.named_sequence @wrong(%program: !transform.any_op) {
    %b = transform.coconet.named "b" in %program
    transform.yield
  }
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)
    Path("s.mlir").write_text(SCHEDULE)


def test_remarks_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main(["p.mlir", "--schedule", "s.mlir:split", "--remarks=json"]) == 0
    (remark,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (remark["rewrite"], remark["operation"], remark["location"], remark["applied"]) == (
        "split",
        "a",
        "p.mlir:6:3",
        True,
    )


def test_expected_diagnostics(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--verify-diagnostics", "--remarks"]
    assert opt.main(["p.mlir", "--schedule", "s.mlir:split", *flags]) == 0
    # The error of a schedule stands in another file, though on a line of this number.
    text = "\n\n\n\n\n\n// expected-error @+1 {{finds nothing}}\n"
    Path("q.mlir").write_text(text + PROGRAM.replace("  // expected-remark", "  //"))
    capsys.readouterr()
    assert opt.main(["q.mlir", "--schedule", "s.mlir:wrong", *flags]) == 1
    errors = capsys.readouterr().err
    assert (
        "s.mlir:8:5: error: unexpected error: 'transform.coconet.named' op finds nothing" in errors
    )
    assert "q.mlir:7:1: error: expected error was not reported: finds nothing" in errors


def test_schedules_come_after_passes_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.mlir").write_text(
        SCHEDULE.replace('"a"', '"a_ag"').replace(
            "%a_rs, %a_ag = transform.coconet.split %a", "transform.coconet.reorder %a"
        )
    )
    schedules = ["--schedule", "s.mlir:split", "--schedule", "t.mlir:split"]
    assert (
        opt.main(["p.mlir", *schedules, "-p", "cse", "--time-passes", "--print-between-passes"])
        == 0
    )
    captured = capsys.readouterr()
    assert "%x_ag = coll.all_gather %x over [tp]" in captured.out
    between = [line for line in captured.err.splitlines() if line.startswith("// after")]
    assert between == ["// after cse", '// after coconet-schedule{file="s.mlir:split"}']
    assert captured.err.count("coconet-schedule  ") == 1  # one line of the table
    assert (
        run.main(["p.mlir", *schedules, "--compare", "p.mlir", "--mesh", "tp=3", "--shape", "w=7"])
        == 0
    )
    assert capsys.readouterr().out.startswith(
        "p.mlir + s.mlir:split + t.mlir:split: @f on 3 rank(s)"
    )


def test_the_pass_is_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main(["p.mlir", "-p", 'coconet-schedule{file="s.mlir:split"}']) == 0
    by_pass = capsys.readouterr().out
    assert opt.main(["p.mlir", "--schedule", "s.mlir:split"]) == 0
    assert capsys.readouterr().out == by_pass


def test_a_program_is_checked_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    monkeypatch.setattr("coconet_ir.schedule.apply.check", checked.append)
    Path("t.mlir").write_text(
        SCHEDULE.replace("split %a\n", "split %a\n    transform.coconet.reorder %a_ag\n")
    )
    assert opt.main(["p.mlir", "--schedule", "t.mlir:split"]) == 0
    assert len(checked) == 1


def test_a_run_infers_layouts_first(capsys: pytest.CaptureFixture[str]) -> None:
    text = PROGRAM.replace("%g: !l", "%g: !x {layout.of = #layout.dist<tp = local>}")
    Path("u.mlir").write_text(text.replace(": !l -> !x", ": !x -> !x"))
    assert run.main(["u.mlir", "--schedule", "s.mlir:split", "--compare", "u.mlir"]) == 0
    assert "result0  equal" in capsys.readouterr().out
