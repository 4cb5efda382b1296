"""coconet-opt as its users call it: exit codes, output files, diagnostics."""

from __future__ import annotations

import gc
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.passes import ModulePass

from coconet_ir.diagnostics import IRError
from coconet_ir.schedule.remarks import Reason, Remark, emit, location_of
from coconet_ir.tools import opt, pipeline
from coconet_ir.tools.expect import expectations, mismatches
from coconet_ir.tools.opt import main
from coconet_ir.xdsl_compat import set_type

GOOD = "func.func @f(%x: f32) -> f32 {\n  func.return %x : f32\n}\n"
BAD = 'func.func @f() {\n  "a.b"() : () -> ()\n}\n'


@dataclass(frozen=True)
class Probe(ModulePass):
    """Do what the option says.

    Not shown in the list.
    """

    name = "probe"
    what: str = field(default="nothing", metadata={"help": "what to do"})
    count: int | None = None
    names: tuple[str, ...] = ()
    mode: Literal["fast", "exact"] = "fast"
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = next(iter(op.ops))
        emit(Remark("probe", "f", location_of(function), "done"))
        emit(Remark("probe", "g", "-", "no", Reason.NO_RULE))
        match self.what:
            case "fail":
                raise IRError("cannot be probed", function, [("look", function)])
            case "crash":
                raise KeyError("lost")
            case "recurse":
                self.apply(ctx, op)
            case "break":
                set_type(function.regions[0].block.args[0], f64)
            case _:
                pass


@dataclass(frozen=True)
class Needy(ModulePass):
    name = "needy"
    size: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.size < 0:
            raise IRError("size is negative")


@pytest.fixture(autouse=True)
def _passes(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: pipeline.Passes = {"probe": lambda: Probe, "needy": lambda: Needy}
    monkeypatch.setattr(opt, "available_passes", lambda: passes)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.mlir"
    path.write_text(GOOD)
    return path


def test_success(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program)]) == 0
    out, err = capsys.readouterr()
    assert "func.func @f(%x: f32) -> f32" in out
    assert err == ""
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("prob", "unknown pass 'prob'; did you mean 'probe'? (the passes: needy, probe)"),
        ("probe,xyz", "unknown pass 'xyz' (the passes: needy, probe)"),
        ("probe{cuont=1}", "pass 'probe' has no option 'cuont'; did you mean 'count'? (its options: "
         "count, mode, names, require, what)"),
        ("probe{count=a}", "option 'count' of pass 'probe' takes int, not a"),
        ("probe{count=1,2}", "option 'count' of pass 'probe' takes one value (int), not several: 1,2"),
        ("probe{what=x,y}", "option 'what' of pass 'probe' takes one value (text), not several: x,y"),
        ("probe{count=1 require=true count=2}", "option 'count' of pass 'probe' is given twice"),
        ("probe{what=a.mlir:s}", "unexpected '.' at column 13: quote the value: what=\"a.mlir:s\""),
        ("probe{what= }", "unexpected ' ' at column 12: option 'what' has no value"),
        ("probe{names=a,}", "unexpected '}' at column 15: option 'names' lacks a value between or behind commas"),
        ("probe{names=a,,b}", "unexpected ',' at column 15: option 'names' lacks a value between or behind commas"),
        ("obe", "unknown pass 'obe'; did you mean 'probe'?"),
        ("probe{count=1.5}", "option 'count' of pass 'probe' takes int, not 1.5"),
        ("probe{mode=slow}", "option 'mode' of pass 'probe' takes fast|exact, not slow"),
        ("probe{require}", "option 'require' of pass 'probe' takes true|false, not an empty value "
         "(write option=value; a flag is option=true)"),
        ("probe{what=3}", 'option \'what\' of pass \'probe\' takes text, not 3 (quote it: what="3")'),
        ("needy", "pass 'needy' needs option 'size' (int)"),
        ("probe{", "pipeline 'probe{': unexpected end: expected argument name here"),
        ("probe{ ", "pipeline 'probe{ ': unexpected end: expected argument name here"),
        ("probe probe", "unexpected ' ' at column 6: expected a comma or pass arguments here"),
        ("?", "pipeline '?': unexpected '?' at column 1: unknown token"),
        ("probe{what=x, count=3}", "pipeline 'probe{what=x, count=3}': unexpected ',' at column 13: "
         "options are separated by spaces"),
        ("probe, probe{names=a,b,count=3}", "unexpected ',' at column 23: options are separated by spaces"),
        ("probe{names=a, b what==3}", "unexpected '=' at column 23: option 'what' has no value"),
        ("  probe{what=%x}", "unexpected '%' at column 14: names are written without %"),
        ("probe;probe", "unexpected ';' at column 6: commas separate passes, and spaces options"),
        ('probe{what="x}', "unexpected '\"' at column 12: the string does not end on its line"),
        ('probe{what="a, b"}}', "unexpected '}' at column 19: expected a comma after pass"),
        ('probe{what="\\f"}', "pipeline 'probe{what=\"\\f\"}': Invalid escape sequence: \\f"),
        ("probe{count=" + "1" * 5000 + "}", "Exceeds the limit"),
    ],
)  # fmt: skip
def test_pipelines(
    program: Path, capsys: pytest.CaptureFixture[str], spec: str, message: str
) -> None:
    assert main([str(program), "-p", spec]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_the_place_in_a_pipeline_of_several_lines() -> None:
    with pytest.raises(IRError, match=r"unexpected '%' at line 2, column 14: names"):
        pipeline.parse_passes("probe,\n  probe{what=%x}", {})


def test_forms_of_remarks(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "-p", "probe", "--remarks=text"]) == 0
    text = capsys.readouterr().err
    assert main([str(program), "-p", "probe", "--remarks"]) == 0
    assert capsys.readouterr().err == text
    assert main([str(program), "--remarks=xml"]) == 2
    assert "--remarks: invalid value 'xml' (choose from text, json)" in capsys.readouterr().err


def test_good_pipelines(program: Path) -> None:
    for spec in (
        "",
        "probe,needy{size=-0}",
        "probe{}",
        "probe{what=x count=3 names=a,b mode=exact require=true}",
        'probe{names="a,b" count}',
        "probe{names=a}",
    ):
        assert main([str(program), "-p", spec, "-o", os.devnull]) == 0, spec


def test_pipelines_run_one_after_the_other(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipelines = ["-p", "probe,needy{size=2}", "-p", "probe"]
    assert main([str(program), *pipelines, "--time-passes", "-o", os.devnull]) == 0
    lines = [line.split()[0] for line in capsys.readouterr().err.splitlines()]
    assert [line for line in lines if line in ("probe", "needy")] == ["probe", "needy"]
    assert main([str(program), "-p", "probe", "-p", "nothing"]) == 1


@pytest.mark.parametrize(
    ("what", "lines"),
    [
        ("fail", ["{}:1:1: error: 'func.func' op cannot be probed", "{}:1:1: note: look"]),
        ("recurse", ["error: the program is too deeply nested"]),
        ("break", ["{}:2:3: error: 'func.return' op ", "(after pass 'probe')"]),
        ("crash", ["error: internal error: KeyError: 'lost' at test_opt.py:"]),
    ],
)
def test_failures_leave_no_output(
    program: Path, capsys: pytest.CaptureFixture[str], what: str, lines: list[str]
) -> None:
    target = program.with_name("out.mlir")
    target.write_text("old")
    assert main([str(program), "-p", f"probe{{what={what}}}", "-o", str(target)]) == 1
    err = capsys.readouterr().err
    for line in lines:
        assert line.format(program) in err
    assert "Traceback" not in err
    assert target.read_text() == "old"
    assert sorted(p.name for p in program.parent.iterdir()) == ["out.mlir", "prog.mlir"]


def test_the_output_replaces_a_file_and_keeps_its_mode(program: Path) -> None:
    target = program.with_name("out.mlir")
    target.write_text("old")
    target.chmod(0o640)
    link = program.with_name("link.mlir")
    link.symlink_to(target)
    assert main([str(program), "-o", str(link)]) == 0
    assert "@f" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert len(list(program.parent.iterdir())) == 3


def test_the_output_can_be_the_input_or_a_device(program: Path) -> None:
    assert main([str(program), "-o", str(program)]) == 0
    assert program.read_text().startswith("builtin.module")
    assert main([str(program), "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["missing.mlir"], 1, "error: cannot read 'missing.mlir': No such file or directory"),
        (["."], 1, "error: cannot read '.': Is a directory"),
        (["PROG", "-o", "missing/out"], 1, "error: cannot write 'missing/out': No such file"),
        (["PROG", "--load", "missing.py"], 1, "error: cannot read 'missing.py': No such file"),
        (["PROG", "PROG"], 2, "unrecognized arguments"),
        (["--split"], 2, "unrecognized arguments: --split"),
        (["--remarks", "--remarks=json"], 2, "not allowed with argument"),
    ],
)
def test_wrong_usage(
    program: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(program.parent)
    assert main(["prog.mlir" if a == "PROG" else a for a in args]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"func.func @f()\n\xff", "is not UTF-8 (line 2)"),
        (b"", ":1:1: error: the input holds no operation"),
        (b"\0", ":1:1: error: Unexpected character: \\x00"),
        (BAD.encode(), ":2:3: error: operation 'a.b' is not registered"),
    ],
)
def test_bad_files(
    program: Path, capsys: pytest.CaptureFixture[str], data: bytes, message: str
) -> None:
    program.write_bytes(data)
    assert main([str(program)]) == 1
    assert message in capsys.readouterr().err


def test_a_byte_order_mark_is_no_error(program: Path) -> None:
    program.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert main([str(program), "-o", os.devnull]) == 0


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\nraise ValueError('no')\n", "custom.py:2: ValueError: no"),
        ("x =\n", "custom.py:1: SyntaxError: invalid syntax"),
        ("import no_such_module\n", "custom.py:1: ModuleNotFoundError: No module named"),
        ("def f():\n  open('/no/file')\nf()\n", "custom.py:2: FileNotFoundError"),
        ("raise SystemExit(3)\n", "custom.py:1: SystemExit: 3"),
    ],
)
def test_loaded_files_are_diagnosed(
    program: Path, capsys: pytest.CaptureFixture[str], code: str, message: str
) -> None:
    custom = program.with_name("custom.py")
    custom.write_text(code)
    assert main([str(program), "--load", str(custom)]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_remarks(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "-p", "probe"]) == 0
    assert capsys.readouterr().err == ""
    assert main([str(program), "-p", "probe", "--remarks"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"{program}:1:1: remark: probe 'f': applied: done",
        "-: remark: probe 'g': declined [no-rule]: no",
    ]
    assert main([str(program), "-p", "probe{what=fail}", "--remarks=json"]) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert json.loads(first)["location"] == f"{program}:1:1"
    assert json.loads(second)["reason"] == "no-rule"


def test_parts_are_handled_apart(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(f"{GOOD}// -----\n{BAD}// -----\n{GOOD}// -----\n{BAD}")
    assert main([str(program), "--split-input-file"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if "error" in line] == [
        f"{program}:6:3: error: operation 'a.b' is not registered",
        f"{program}:14:3: error: operation 'a.b' is not registered",
    ]
    program.write_text(f"{GOOD}// -----\n{GOOD}// ----- not a separator\n")
    assert main([str(program), "--split-input-file"]) == 0
    assert capsys.readouterr().out.count("// -----\n") == 1


def test_expected_diagnostics(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = BAD.replace("() {\n", "() {\n  // expected-error @+1 {{'a.b' is not}}\n")
    program.write_text(f"{GOOD}// -----\n{text}")
    assert main([str(program), "--split-input-file", "--verify-diagnostics"]) == 0
    out, err = capsys.readouterr()
    assert "@f" in out
    assert err == ""
    program.write_text(text.replace("is not", "was"))
    assert main([str(program), "--verify-diagnostics"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{program}:3:3: error: unexpected error: operation 'a.b' is not registered",
        f"{program}:2:3: error: expected error was not reported: 'a.b' was",
    ]


def test_expected_notes_and_remarks(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comments = (
        "// expected-error@below{{cannot be probed}} expected-note\n"
        "// expected-remark @+1 {{probe 'f'}} // expected-note@+1{{look}}\n"
    )
    program.write_text(comments + GOOD + "// expected-remark @unknown {{declined [no-rule]}}\n")
    args = [str(program), "--verify-diagnostics", "--remarks", "-p", "probe{what=fail}"]
    assert main(args) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{program}:3:1: error: unexpected error: 'func.func' op cannot be probed",
        f"{program}:1:1: error: expected error was not reported: cannot be probed",
    ]
    program.write_text(program.read_text().replace("@below", "@+2"))
    assert main(args) == 0


def test_a_comment_matches_one_diagnostic() -> None:
    expected = expectations("// expected-error {{a}} // expected-error {{b}}", "x")
    assert [e.position.column for e in expected] == [1, 25]
    missing = mismatches(expected, [])
    assert [d.message for d in missing] == [
        "expected error was not reported: a",
        "expected error was not reported: b",
    ]


def test_printing_between_passes_and_times(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [str(program), "-p", "probe{count=2},probe,probe", "--print-between-passes"]
    assert main([*args, "--time-passes"]) == 0
    err = capsys.readouterr().err
    assert err.count("func.func @f") == 2
    assert "// after probe{count=2}\n" in err
    table = [line.split() for line in err.splitlines()[-5:]]
    assert [row[0] for row in table] == ["parse", "probe", "verify", "print", "total"]


def test_the_list_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-passes"]) == 0
    assert (
        capsys.readouterr().out
        == """\
needy
      size: int (required)
probe
    Do what the option says.
      what: text = nothing  what to do
      count: int
      names: text,...
      mode: fast|exact = fast
      require: true|false = false
"""
    )


def test_forms_of_the_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(
        "layout.mesh @mesh(dp = 2)\n"
        "func.func @f(%x: tensor<4xf32, #layout.dist<dp = local>>)"
        " -> tensor<4xf32, #layout.dist<dp = local>> {\n"
        "  func.return %x : tensor<4xf32, #layout.dist<dp = local>>\n}\n"
    )
    alias = "!f32_dp_local = tensor<4xf32, #layout.dist<dp = local>>\n"

    def output(*args: str) -> str:
        assert main([str(program), *args]) == 0
        return capsys.readouterr().out

    assert output().startswith(alias)
    assert "!f32_dp_local" not in output("--no-aliases")
    assert '"func.return"(%x) : (!f32_dp_local)' in output("--print-op-generic")
    assert f'loc("{program}":3:3)' in output("--print-debuginfo")
    assert "-- " not in output()


def test_unregistered_operations(program: Path) -> None:
    program.write_text(BAD.replace("\n}", "\n  func.return\n}"))
    assert main([str(program), "-o", os.devnull]) == 1
    assert main([str(program), "-o", os.devnull, "--allow-unregistered-dialect"]) == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("coconet-opt 0.")
