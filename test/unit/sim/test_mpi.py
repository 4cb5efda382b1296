"""The mpi backend against the simulator, and the loss of a process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from coconet_ir.sim.inputs import load

EXAMPLES = Path(__file__).parents[3] / "examples"

PROGRAM = """layout.mesh @mesh(dp = 2)
!l = tensor<?xbf16, #layout.dist<dp = local>>
!s = tensor<?xbf16, #layout.dist<dp = sliced(0)>>
!r = tensor<?xbf16, #layout.dist<dp = root(0)>>
!w = tensor<?xbf16>
func.func @f(%x: !l, %w: !w, %seed: i64) -> (!l, !s, !r, !w) {
  %a = coll.all_reduce avg %x over [dp] : !l -> !w
  %d = comp.dropout %x, %seed {p = 0.5 : f32, id = 1 : i64} : !l
  %p = coll.permute %d over [dp] shift 1 : !l -> !l
  %q = coll.reduce_scatter max %p over [dp] dim 0 : !l -> !s
  %r = coll.reduce sum %p over [dp] root 0 : !l -> !r
  %b = coll.broadcast %r over [dp] root 0 : !r -> !w
  %u = comp.update %w, %a : !w
  func.return %p, %q, %r, %b : !l, !s, !r, !w
}
"""

CUSTOM = """import os, signal, time
import numpy as np
from coconet_ir.analysis.customs import custom

def odd(x):
    if x.size == 1000 and os.environ["PMI_RANK"] == "2":
        {deed}
    return x.copy()

custom("odd", "[n] -> [n]", odd)
"""

CALLS = """layout.mesh @mesh(dp = 4)
!l = tensor<?xf32, #layout.dist<dp = local>>
func.func @f(%x: {type}) -> tensor<?xf32> {{
  %y = comp.custom @odd(%x) : ({type}) -> {type}
  {then}
  func.return %z : tensor<?xf32>
}}
"""


def _mpirun(ranks: int, *arguments: str, launcher: tuple[str, ...] = ()) -> list[str]:
    found = shutil.which("mpirun", path=sysconfig.get_path("scripts")) or shutil.which("mpirun")
    assert found is not None, "the tests need coconet-ir[dev], which has an MPI"
    tool = [sys.executable, "-W", "error", "-m", "coconet_ir.tools.run", "--backend", "mpi"]
    return [found, *launcher[:1], "-n", str(ranks), *launcher[1:], *tool, *arguments]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def _sim(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, "-W", "error", "-m", "coconet_ir.tools.run", *arguments])


def test_outputs_are_those_of_the_simulator(tmp_path: Path) -> None:
    ranks = 3  # the examples run on other numbers
    program, ours, theirs = (tmp_path / name for name in ("p.mlir", "mpi.npz", "sim.npz"))
    program.write_text(PROGRAM)
    shape = ("--shape", "x=37")
    found = _run(_mpirun(ranks, str(program), *shape, "--outputs", str(ours)))
    assert found.returncode == 0, found.stderr
    mesh = ("--mesh", f"dp={ranks}")
    expected = _sim(str(program), *shape, *mesh, "--outputs", str(theirs))
    assert found.stdout == expected.stdout
    one, other = load(str(ours)), load(str(theirs))
    assert one.keys() == other.keys() == {"w", "result0", "result1", "result2", "result3"}
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_two_axes_and_compare(tmp_path: Path) -> None:
    program = str(EXAMPLES / "two_axes.mlir")
    arguments = (
        "--mesh",
        "dp=2,tp=2",
        "--compare",
        str(EXAMPLES / "expected/two_axes.reorder.mlir"),
    )
    found = _run(_mpirun(4, program, *arguments))
    assert found.returncode == 0, found.stderr
    assert found.stdout == _sim(program, *arguments).stdout


def test_ranks_and_processes_must_be_as_many() -> None:
    program = str(EXAMPLES / "adam.mlir")
    found = _run(_mpirun(2, program, "--mesh", "dp=3"))
    assert found.returncode == 1
    assert found.stderr.count("has 3 rank(s), but MPI started 2 process(es)") == 1


def test_errors_are_told_once(tmp_path: Path) -> None:
    program = tmp_path / "p.mlir"
    program.write_text("func.func @f( {")
    found = _run(_mpirun(2, str(program)))
    assert found.returncode == 1
    assert found.stderr.count("error:") == 1


def _calls(tmp_path: Path, deed: str, replicated: bool = False) -> tuple[str, ...]:
    program, custom = tmp_path / "p.mlir", tmp_path / "odd.py"
    type = "tensor<?xf32>" if replicated else "!l"
    then = "%z = " + (
        "arith.negf %y : tensor<?xf32>"
        if replicated
        else "coll.all_reduce sum %y over [dp] : !l -> tensor<?xf32>"
    )
    program.write_text(CALLS.format(type=type, then=then))
    custom.write_text(CUSTOM.format(deed=deed))
    return str(program), "--load", str(custom), "--shape", "x=1000"


def test_the_error_of_one_rank_ends_all(tmp_path: Path) -> None:
    found = _run(_mpirun(4, *_calls(tmp_path, "raise ValueError('odd')")))
    assert found.returncode != 0
    assert "p.mlir:4:3: error: 'comp.custom' op runs a Python function that raised" in found.stderr


def test_replicated_values_are_compared(tmp_path: Path) -> None:
    found = _run(_mpirun(4, *_calls(tmp_path, "return x + np.float32(1)", replicated=True)))
    assert found.returncode != 0
    assert "rank(s) 2 differ from rank 0" in found.stderr


def _lose_rank_2(folder: Path) -> dict[int, str]:
    """Kill rank 2 of 4 without the launcher's clean-up; what each survivor wrote when all have ended.

    Each process writes to a file of its own: launchers may drop the last messages.
    """
    keep = folder / "keep.sh"
    keep.write_text('echo $$ > "$1/pid.$PMI_RANK"; exec "${@:2}" 2> "$1/errors.$PMI_RANK"\n')
    deed = "time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)"
    launcher = ("-disable-auto-cleanup", "bash", str(keep), str(folder))
    found = _run(_mpirun(4, *_calls(folder, deed), launcher=launcher))
    assert found.returncode != 0
    start = time.monotonic()
    for rank in range(4):
        pid = int((folder / f"pid.{rank}").read_text())
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() - start < 20, f"rank {rank} goes on"
            time.sleep(0.05)
    return {rank: (folder / f"errors.{rank}").read_text() for rank in (0, 1, 3)}


def test_a_lost_process_ends_the_others(tmp_path: Path) -> None:
    """MPICH's launcher sometimes kills the survivors all the same, before they can say anything."""
    for attempt in range(8):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        told = _lose_rank_2(folder)
        place = f"'coll.all_reduce' ({folder / 'p.mlir'}:5:3)"
        for rank, errors in told.items():
            assert errors in ("", f"error: rank 2 was lost; rank {rank} was at {place}\n")
        if all(told.values()):
            return
    pytest.fail("the launcher killed the survivors each time")
