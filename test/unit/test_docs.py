"""The documents do what they say: their programs and commands run, and print what is shown.

In README.md and docs/*.md, a fenced block of a language and a NAME is a file, `mlir` alone a whole program,
`python` alone a script, and `console` holds commands after `$` and what they print; `...` stands for any text, on a
line of its own for any lines. The blocks of one document share a folder, in which `examples` are those of the project.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir import api
from coconet_ir.analysis.rules import rule_of
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.tools import check, opt, run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)?(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
TOOLS = {"coconet-check": check.main, "coconet-opt": opt.main, "coconet-run": run.main}


@dataclass(frozen=True)
class Command:
    """One line after `$`, and what it prints."""

    line: str
    output: str


def commands(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, output = part.replace("\\\n", "").partition("\n")
        yield Command(line, output)


def execute(line: str) -> tuple[int, str]:
    """Exit status and all output of a command; our tools run in this process, which is faster."""
    words = shlex.split(line)
    if words[0] in TOOLS and "--load" not in words and not set(words) & {"|", ">", "<"}:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = TOOLS[words[0]](words[1:])
        return status, out.getvalue()
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path},
        timeout=120,
    )
    return done.returncode, done.stdout


def matches(shown: str, printed: str) -> bool:
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in lines
    )
    text = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


def test_matching() -> None:
    assert matches("a...c\n...\nd\n", "abbc\nx\ny\nd")
    assert matches("a\n...\n", "a\n")
    assert not matches("a\nd\n", "a\nx\nd\n")
    assert not matches("", "a")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_document(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for language, name, block in FENCE.findall(document.read_text()):
        if name:
            Path(name).write_text(block)
        elif language == "mlir":
            api.Program.parse(block, document.name)
        elif language == "python":
            subprocess.run([sys.executable, "-W", "error", "-c", block], check=True)
        for command in commands(block) if language == "console" else ():
            status, printed = execute(command.line)
            shown = f"$ {command.line}\n{printed}"
            assert matches(command.output, printed), shown
            if command.line.startswith("coconet-"):
                fails = "error:" in command.output or "DIFFERS" in command.output
                assert (status != 0) == fails, shown


def test_what_the_readme_adds_works() -> None:
    blocks = [
        block for language, _, block in FENCE.findall(README.read_text()) if language == "python"
    ]
    added: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), added)
    program = api.Program.parse(
        """
        layout.mesh @mesh(dp = 4)
        func.func @f(%x: tensor<8x4xf32, #layout.dist<dp = local>>) {
          %y = coll.all_reduce sum %x over [dp] : tensor<8x4xf32, #layout.dist<dp = local>> -> tensor<8x4xf32>
          func.return
        }"""
    )
    with api.collect() as remarks:
        added["CountPass"]().apply(make_context(), program.module)
    assert [remark.message for remark in remarks] == ["over dp"]
    square = added["SquareOp"]
    ctx = make_context()
    ctx.load_op(square)
    squares = parse_program(
        ctx,
        """
        !x = tensor<?xf32, #layout.dist<dp = sliced(0)>>
        layout.mesh @mesh(dp = 3)
        func.func @f(%x: !x) -> !x {
          %y = comp.square %x : !x -> !x
          func.return %y : !x
        }""",
        "squares.mlir",
    )
    (op,) = (op for op in squares.walk() if isinstance(op, square))
    assert str(rule_of(op)) == "[d0] -> [d0]"
    x = np.arange(7, dtype=np.float32)
    found = api.Program(squares).run({}, {"x": x})
    assert found.outputs["result0"].array.tolist() == [0, 1, 4, 9, 16, 25, 36]


def test_the_guide_lists_what_programs_import() -> None:
    _, section = (ROOT / "docs" / "guide.md").read_text().split("## From Python\n")
    assert [name for name in api.__all__ if f"`{name}`" not in section] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(FENCE.sub("", document.read_text())):
        assert (document.parent / target).exists(), target


def test_the_reference_is_up_to_date() -> None:
    found = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
