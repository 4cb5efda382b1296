"""What an installation offers: commands, the xDSL plug-in, one copy of each module.

That the wheel and the sdist hold the same is checked by `make package`, which builds both and takes
half a minute.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, requires
from pathlib import Path

import pytest
from xdsl.universe import XDSL_UNIVERSE, Universe

import coconet_ir
from coconet_ir.dialects import OWN
from coconet_ir.lowering import get_all_passes as get_lowering_passes
from coconet_ir.passes import get_all_passes
from coconet_ir.universe import UNIVERSE

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("dialects", "lowering", "passes", "tools")


def settings(tool: str, key: str) -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][tool][key]


@pytest.mark.parametrize("folder", LINKED)
def test_the_links_lead_to_the_folders(folder: str) -> None:
    link = ROOT / "coconet_ir" / folder
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.samefile(ROOT / folder)
    module = importlib.import_module(f"coconet_ir.{folder}")
    assert module.__file__ is not None
    assert Path(module.__file__).samefile(ROOT / folder / "__init__.py")


def test_every_package_is_listed() -> None:
    found = {
        ".".join(file.parent.relative_to(ROOT).parts)
        for depth in range(4)
        for file in (ROOT / "coconet_ir").glob("*/" * depth + "__init__.py")
    }
    assert found == set(settings("setuptools", "packages"))
    assert (ROOT / "coconet_ir" / "py.typed").exists()


def test_the_type_checker_sees_every_folder() -> None:
    assert {f"coconet_ir/{folder}" for folder in LINKED} <= set(settings("pyright", "include"))


def test_the_linter_bans_a_second_name() -> None:
    code = "".join(f"import {folder}\nfrom {folder}.x import y\n" for folder in LINKED)
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--select=TID251",
        "--output-format=concise",
        "-",
    ]
    result = subprocess.run(
        command, input=code, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.stdout.count("TID251") == 2 * len(LINKED)


@pytest.mark.parametrize("command", ["coconet-opt", "coconet-run"])
def test_the_commands_exist(command: str) -> None:
    (entry,) = entry_points(group="console_scripts", name=command)
    assert callable(entry.load())
    help = subprocess.run(
        [Path(sys.executable).with_name(command), "--help"], capture_output=True, check=False
    )
    assert help.returncode == 0
    assert help.stderr == b""


def test_xdsl_is_pinned() -> None:
    assert "xdsl==0.75.0" in (requires("coconet-ir") or ())


def test_the_universe() -> None:
    assert UNIVERSE.all_dialects.keys() == OWN.keys() == {"layout", "coll", "comp", "nccl"}
    assert UNIVERSE.all_passes.keys() == {
        name
        for name in (*get_all_passes(), *get_lowering_passes())
        if name not in XDSL_UNIVERSE.all_passes
    }
    assert "coconet-split" in UNIVERSE.all_passes
    everything = Universe.get_multiverse()  # raises on a clash of names
    assert UNIVERSE.all_dialects.keys() <= everything.all_dialects.keys()
    for load in UNIVERSE.all_passes.values():
        assert load().name in UNIVERSE.all_passes


def test_plain_xdsl_opt_reads_our_dialects_and_runs_our_passes(tmp_path: Path) -> None:
    program = tmp_path / "prog.mlir"
    program.write_text("""\
layout.mesh @mesh(dp = 4)
func.func @f(%x: tensor<8xf32, #layout.dist<dp = local>>) -> tensor<8xf32> {
  %sum = coll.all_reduce sum %x over [dp] : tensor<8xf32, #layout.dist<dp = local>> -> tensor<8xf32>
  func.return %sum : tensor<8xf32>
}
""")
    command = [Path(sys.executable).with_name("xdsl-opt"), program, "-p", "coconet-split{op=sum}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "coll.reduce_scatter sum %x over [dp] dim 0" in result.stdout
    assert "coll.all_gather" in result.stdout


def test_plain_xdsl_opt_rewrites_as_our_own_tool_does() -> None:
    adam = ROOT / "examples" / "adam.mlir"
    passes = "coconet-split{op=avg},coconet-reorder{op=avg_ag}"
    texts = [
        subprocess.run(
            [Path(sys.executable).with_name(tool), adam, "-p", passes, *options],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for tool, options in (("xdsl-opt", []), ("coconet-opt", ["--no-aliases"]))
    ]
    assert texts[0].rstrip() == texts[1].rstrip()
    assert texts[0].count("coll.all_gather") == 4


def test_the_optimizer_starts_without_what_it_does_not_need() -> None:
    code = """\
import sys
from coconet_ir.tools.opt import main
main(["-"])
unneeded = ("numpy", "networkx", "xdsl.dialects.transform")
print([name for name in sys.modules if name in unneeded], file=sys.stderr)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        input="%x = comp.what\n",  # loads the dialect
        capture_output=True,
        text=True,
        check=True,
    )
    assert "operation 'comp.what' is not registered" in result.stderr
    assert result.stderr.endswith("\n[]\n")


def test_the_package_is_the_one_of_this_checkout() -> None:
    assert coconet_ir.__file__ is not None
    assert Path(coconet_ir.__file__).parent.samefile(ROOT / "coconet_ir")
