"""Outputs are whole or not there, and what is no file is never replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.files import output_file
from coconet_ir.sim.inputs import load, save
from coconet_ir.tools.opt import main


def test_a_file_appears_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with output_file(str(target)) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")

    def fail() -> None:
        with output_file(str(target)) as file:
            file.write(b"half")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    target, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(target)
    with output_file(str(link)) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe, program = tmp_path / "pipe", tmp_path / "p.mlir"
    os.mkfifo(pipe)
    program.write_text("func.func @f() {\n  func.return\n}\n")
    arrays = {"x": np.arange(5, dtype=np.float32)}
    for write in (lambda: main([str(program), "-o", str(pipe)]), lambda: save(str(pipe), arrays)):
        read: list[bytes] = []
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        write()
        reader.join(timeout=30)
        assert read[0]
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    copy = tmp_path / "x.npz"
    copy.write_bytes(read[0])
    assert np.array_equal(load(str(copy))["x"], arrays["x"])


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "out")
    with (
        pytest.raises(IRError, match=r"cannot write '.*': No such file or directory"),
        output_file(path),
    ):
        pass


@pytest.mark.parametrize("tool", ["opt", "run"])
def test_output_that_takes_no_more_is_an_error(tool: str, tmp_path: Path) -> None:
    program = tmp_path / "p.mlir"
    program.write_text("func.func @f() {\n  func.return\n}\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", f"coconet_ir.tools.{tool}", str(program)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "error: cannot write the output: No space left on device\n",
    )


@pytest.mark.parametrize("tool", ["opt", "run"])
def test_standard_streams_that_are_closed_are_errors(tool: str, tmp_path: Path) -> None:
    program = tmp_path / "p.mlir"
    program.write_text("func.func @f() {\n  func.return\n}\n")
    for arguments, message in (
        (f"{program} >&-", "error: cannot write the output: Bad file descriptor"),
        ("- <&-", "error: there is no standard input to read"),
    ):
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m coconet_ir.tools.{tool} {arguments}"],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert message in done.stderr
