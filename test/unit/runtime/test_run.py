"""`coconet-run --backend cuda`: on the driver whose device is this process, and without any."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.program import Program
from coconet_ir.tools.run import main

ROOT = Path(__file__).parents[3]
ADAM = str(ROOT / "examples" / "adam.mlir")
RMSNORM = str(ROOT / "examples" / "rmsnorm.mlir")


def test_against_a_simulated_rank(
    device: Any, example: Callable[[str], Program], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same table as of the simulator, and how far both lie apart."""
    device.expect(example("adam"))
    command = [ADAM, "--mesh", "dp=1", "--shape", "w=1025", "--set", "step=3"]
    assert main([*command, "--backend", "cuda", "--against", "sim"]) == 0
    found = capsys.readouterr().out
    assert main(command) == 0
    wanted = capsys.readouterr().out
    assert found.startswith(wanted)
    assert found.count("same") == 4
    assert "compared with a simulated rank" in found


def test_outputs_have_the_shapes_of_the_simulator(
    device: Any, example: Callable[[str], Program], tmp_path: Path
) -> None:
    """Also results, and a dimension in front for a local one; a run compared with itself is the same."""
    device.expect(example("rmsnorm"))
    paths = [str(tmp_path / name) for name in ("cuda.npz", "sim.npz")]
    command = [RMSNORM, "--mesh", "tp=1", "--outputs"]
    assert main([*command, paths[0], "--backend", "cuda", "--compare", RMSNORM]) == 0
    assert main([*command, paths[1]]) == 0
    found, wanted = (np.load(path) for path in paths)
    assert found.files == wanted.files
    for name in wanted.files:
        assert (found[name].shape, found[name].dtype) == (wanted[name].shape, wanted[name].dtype)


def test_outputs_that_differ(
    device: Any,
    example: Callable[[str], Program],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A device that computes something else is found out."""
    device.expect(example("sgd"))
    real = device.machine.run_grid

    def wrong(module: Any, func: Any, arguments: list[Any], *rest: Any) -> None:
        real(module, func, arguments, *rest)
        for argument in arguments:
            if hasattr(argument, "elements"):
                argument.elements[:1] *= 1.0001

    monkeypatch.setattr(device.machine, "run_grid", wrong)
    command = [str(ROOT / "examples" / "sgd.mlir"), "--mesh", "dp=1", "--backend", "cuda"]
    assert main([*command, "--against", "sim"]) == 1
    captured = capsys.readouterr()
    assert "DIFFERS" in captured.out
    assert captured.err == "outputs differ by more than the rounding of their type\n"


def test_several_ranks(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused with what would do, also those of the program itself."""
    for mesh in ([], ["--mesh", "dp=2"]):
        assert main([ADAM, "--backend", "cuda", *mesh]) == 1
        assert "not executed on devices yet: --mesh dp=1 makes it one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--backend", "cuda", "--exact"], "--exact is for simulated ranks"),
        (["--against", "sim"], "it needs --backend emu or cuda"),
        (["--backend", "emu", "--exact"], "--exact is for simulated ranks"),
    ],
)
def test_wrong_usage(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not go together."""
    assert main([ADAM, *options]) == 2
    assert said in capsys.readouterr().err


PRESENT = {
    "cuda/__init__.py": "",
    "cuda/bindings/__init__.py": "",
    "cuda/bindings/driver.py": "def cuInit(flags): raise RuntimeError('no libcuda')",
    "cuda/core.py": "",
}
"""The packages of CUDA on a machine without a driver."""

ASK = """
import sys
from coconet_ir.tools.run import main
status = main(sys.argv[1:])
print("cuda.core" in sys.modules)
sys.exit(status)
"""


def ask(*options: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run the tool in a process that finds packages in a folder."""
    command = [sys.executable, "-c", ASK, ADAM, *options]
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


def test_without_packages_or_a_driver(tmp_path: Path) -> None:
    """One line says what is missing and how to get it; the status is 2."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "cuda.py").write_text("raise ImportError('no CUDA', name='cuda')")
    missing = ask("--backend", "cuda", path=tmp_path / "none")
    assert (missing.returncode, missing.stdout) == (2, "False\n")
    assert missing.stderr == (
        "error: CUDA needs packages that are missing (cuda): pip install 'coconet-ir[cuda]'\n"
    )
    for name, text in PRESENT.items():
        (tmp_path / "some" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "some" / name).write_text(text)
    missing = ask("--backend", "cuda", path=tmp_path / "some")
    assert missing.returncode == 2
    assert missing.stderr.startswith("error: CUDA needs NVIDIA's driver, and there is no libcuda")
    assert missing.stderr.count("\n") == 1


def test_other_backends_import_no_cuda(tmp_path: Path) -> None:
    """Not even where it is there."""
    for name, text in PRESENT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    ran = ask("--mesh", "dp=1", path=tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.endswith("\nFalse\n")
