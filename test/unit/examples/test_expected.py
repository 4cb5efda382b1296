"""What passes and schedules make of the examples, against examples/expected/, names and order included."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from coconet_ir.tools.opt import main

ROOT = Path(__file__).parents[3]
EXPECTED = sorted((ROOT / "examples" / "expected").glob("*.mlir"))
FROM = re.compile(r"// From: coconet-opt (.+)\n")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `coconet-opt` prints for these arguments."""
    code = main(arguments)
    found = capsys.readouterr()
    assert code == 0, found.err
    return found.out


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_rewrites_give_the_expected_program(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = FROM.match(path.read_text())
    assert command is not None, "the first line says what makes the program"
    want = printed(capsys, str(path))
    assert printed(capsys, *shlex.split(command[1])) == want


def test_every_example_has_its_expected_programs() -> None:
    examples = {path.stem for path in (ROOT / "examples").glob("*.mlir")}
    without = {"moe", "buckets"}  # one has no all_reduce, one several
    assert {path.name for path in EXPECTED} >= {
        f"{name}.{stage}.mlir" for name in examples - without for stage in ("split", "reorder")
    }


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.mlir")), ids=lambda p: p.stem)
def test_printed_text_is_the_program(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    once = printed(capsys, str(path))
    again = tmp_path / "again.mlir"
    for text in (once, printed(capsys, str(path), "--print-op-generic")):
        again.write_text(text)
        assert printed(capsys, str(again)) == once
