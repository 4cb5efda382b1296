"""Compiled programs and the cache of them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.program import Program
from coconet_ir.runtime import cache, compile

TEXT = """
func.func @f(%x: tensor<?xf32>, %a: f32, %b: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %q = arith.divf %a, %b : f32
  %s = tensor.splat %q[%n] : tensor<?xf32>
  %y = arith.addf %x, %s : tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that programs were lowered for, one each time."""
    found: list[str] = []

    def counted(target: str) -> LowerPass:
        found.append(target)
        return LowerPass(target)

    monkeypatch.setattr(compile, "LowerPass", counted)
    return found


def test_a_program_is_compiled_once(lowered: list[str], own_cache: Path) -> None:
    """A hit has the same kernels and the same plan, and lowers nothing."""
    program = Program.parse(TEXT, "a.mlir")
    first, second = program.compile(), program.compile()
    assert lowered == ["sm_90a"]
    assert first.ptx == second.ptx
    assert ".target sm_90a" in second.ptx
    given = {"x": (5,)}, {"a": 1.0, "b": 2.0}
    assert first.plan.bind(*given).steps == second.plan.bind(*given).steps
    assert len(list(own_cache.iterdir())) == 1


def test_what_decides_an_entry(lowered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The text, where it stands (lines are in the kernels), the target, and versions."""
    Program.parse(TEXT, "a.mlir").compile()
    Program.parse(TEXT, "b.mlir").compile()
    Program.parse("\n" + TEXT, "a.mlir").compile()
    Program.parse(TEXT.replace("addf", "mulf"), "a.mlir").compile()
    Program.parse(TEXT, "a.mlir").compile("sm_80")
    assert len(lowered) == 5
    Program.parse(TEXT, "a.mlir").compile()
    assert len(lowered) == 5
    monkeypatch.setattr(cache, "_versions", lambda: ("another",))
    Program.parse(TEXT, "a.mlir").compile()
    assert len(lowered) == 6


def halved(data: bytes) -> bytes:
    """The first half."""
    return data[: len(data) // 2]


def changed(data: bytes) -> bytes:
    """One letter is another."""
    return data.replace(b".visible", b".vIsible")


def emptied(data: bytes) -> bytes:
    """Nothing."""
    return data[:0]


def garbled(data: bytes) -> bytes:
    """What is no text."""
    return b"\xff\xfe" + data


@pytest.mark.parametrize("harm", [halved, changed, emptied, garbled])
def test_a_broken_entry_is_compiled_again(
    harm: Callable[[bytes], bytes], lowered: list[str], own_cache: Path
) -> None:
    """As if there were none."""
    program = Program.parse(TEXT)
    whole = program.compile().ptx
    (entry,) = own_cache.iterdir()
    data = entry.read_bytes()
    entry.write_bytes(harm(data))
    assert program.compile().ptx == whole
    assert len(lowered) == 2
    assert entry.read_bytes() == data


@pytest.mark.parametrize(
    "text", ["{}", '{"ptx": ""}', '{"ptx": "", "host": 3}', "[]", '["ptx", "host"]', "3", "{", ""]
)
def test_an_entry_of_other_parts_is_compiled_again(
    text: str, lowered: list[str], own_cache: Path
) -> None:
    """Even with the right checksum."""
    program = Program.parse(TEXT)
    whole = program.compile().ptx
    (entry,) = own_cache.iterdir()
    entry.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
    assert program.compile().ptx == whole
    assert len(lowered) == 2


def test_turned_off(lowered: list[str], own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an argument, or by the variable."""
    program = Program.parse(TEXT)
    program.compile(cache=False)
    assert not list(own_cache.iterdir())
    monkeypatch.setenv("COCONET_CACHE", "")
    program.compile()
    program.compile()
    assert len(lowered) == 3


def test_a_folder_that_cannot_be_written(
    lowered: list[str], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not kept is compiled again."""
    (own_cache / "file").write_text("")
    monkeypatch.setenv("COCONET_CACHE", str(own_cache / "file" / "folder"))
    program = Program.parse(TEXT)
    assert program.compile().ptx == program.compile().ptx
    assert len(lowered) == 2


def test_where_entries_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable, else the user's folder of caches."""
    monkeypatch.setenv("COCONET_CACHE", "/some/where")
    assert cache.folder() == Path("/some/where")
    monkeypatch.delenv("COCONET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.folder() == Path("/caches/coconet-ir")
    monkeypatch.setenv("XDG_CACHE_HOME", "no/absolute/path")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.folder() == Path("/home/someone/.cache/coconet-ir")


WRITER = """
from coconet_ir.runtime import cache
for _ in range(300):
    cache.write("entry", {"ptx": "x" * 100_000})
"""


def test_processes_share_the_folder() -> None:
    """While others write an entry over and over, it is there, and whole."""
    cache.write("entry", {"ptx": "x" * 100_000})
    writers = [subprocess.Popen([sys.executable, "-c", WRITER]) for _ in range(2)]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        assert cache.read("entry", ["ptx"]) == {"ptx": "x" * 100_000}
        reads += 1
    assert reads > 100
    assert [writer.returncode for writer in writers] == [0, 0]


def test_errors_keep_their_place() -> None:
    """What the host refuses is shown at the line of the program, also from the cache."""
    text = TEXT.replace("f32", "i32").replace("divf", "divsi").replace("addf", "addi")
    program = Program.parse(text, "prog.mlir")
    for _ in range(2):
        plan = program.compile().plan
        with pytest.raises(IRError) as caught:
            plan.bind({"x": (5,)}, {"a": 1, "b": 0})
        assert caught.value.render() == "prog.mlir:5:3: error: 'arith.divsi' op divides by zero"


def test_one_function_of_several() -> None:
    """The kernels of the others are not compiled."""
    program = Program.parse(TEXT + TEXT.replace("@f", "@g").replace("%y", "%other"))
    compiled = program.compile(func="g")
    assert "other" in compiled.ptx
    assert ".entry y(" not in compiled.ptx
    with pytest.raises(IRError, match="several functions; choose one: f, g"):
        program.compile()


def test_no_kernels() -> None:
    """A function that only the host has work for."""
    text = "func.func @f(%a: f32) -> f32 { func.return %a : f32 }"
    compiled = Program.parse(text).compile()
    assert compiled.ptx == ""
    (result,) = compiled.plan.bind({}, {"a": 0.5}).results
    assert result == 0.5


def test_unknown_target() -> None:
    """With the targets that there are."""
    with pytest.raises(IRError, match="no target 'sm_70': there are sm_80, sm_90a, sm_100a"):
        Program.parse(TEXT).compile("sm_70")
