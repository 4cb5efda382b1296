"""Schedules that do not fit the program: each is an error at the step, which says why and points at the program."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.passes.split import SplitPass
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.rewriting import applied
from coconet_ir.tools import opt, run

PROGRAM = """\
layout.mesh @mesh(tp = 2)

!l = tensor<?xf32, #layout.dist<tp = local>>
!x = tensor<?xf32>

func.func @f(%g: !l, %w: !x, %s: tensor<f32, #layout.dist<tp = local>>) -> (!x, tensor<f32>, tensor<f32>) {
  %a = coll.all_reduce sum %g over [tp] : !l -> !x
  %small = coll.all_reduce sum %s over [tp] : tensor<f32, #layout.dist<tp = local>> -> tensor<f32>
  %x = arith.addf %a, %w : !x
  %y = arith.mulf %x, %x : !x
  %norm = comp.norm %x : !x -> tensor<f32>
  %first = arith.negf %y : !x
  %second = arith.negf %first {coconet.name = "first"} : !x
  %region = coll.fused {
    %inner = arith.negf %second : !x
    coll.yield %inner : !x
  }
  func.return %region, %small, %norm : !x, tensor<f32>, tensor<f32>
}

func.func @g(%v: !x) -> !x {
  %x = arith.addf %v, %v : !x
  %z = arith.mulf %x, %x : !x
  func.return %z : !x
}
"""

UNINFERRED = """\
layout.mesh @mesh(tp = 4)
func.func @f(%x: tensor<?xf32> {layout.of = #layout.dist<tp = sliced(0)>}) -> tensor<?xf32> {
  %a = coll.all_gather %x over [tp] : tensor<?xf32> -> tensor<?xf32>
  func.return %a : tensor<?xf32>
}
"""

NAMED = "finds nothing: the program p.mlir has "

ERRORS = {
    '%zz = named "zz" in %program': f"""\
s.mlir:3:1: error: 'transform.coconet.named' op {NAMED}no operation named 'zz' (op=zz); \
there are: a, first, norm, region, small, x, y, z
p.mlir:1:1: note: the program is here
""",
    '%x = named "x" in %program {func = "h"}': """\
s.mlir:3:1: error: 'transform.coconet.named' op does not fit the program: has no function named 'h'; \
there are: f, g
p.mlir:1:1: note: the program is here
""",
    '%y = named "y" in %program {func = "g"}': f"{NAMED}no operation named 'y' (op=y); there are: x, z\n",
    '%w = named "w" in %program': f"{NAMED}'w' (op=w) as an argument, not as an operation",
    '%first = named "first" in %program': """\
s.mlir:3:1: error: 'transform.coconet.named' op does not fit 'first' (arith.negf): is one of 2 operations named \
'first'; give it a name of its own with the attribute coconet.name
p.mlir:13:3: note: the operation is here
p.mlir:12:3: note: another one is here
""",
    '%x = named "x_1" in %program': (
        "'transform.coconet.named' op does not fit function 'f': 'x_1' cannot select an operation: a name that "
        "ends in _ and digits is rewritten"
    ),
    '%inner = named "inner" in %program': (
        "'transform.coconet.named' op does not fit 'inner' (arith.negf): stands in a region, whose operations are not "
        "targets: inline it first"
    ),
    """
    %a = named "a" in %program
    %a_rs, %a_ag = split %a
    %again = named "a" in %program
    """: f"{NAMED}no operation named 'a' (op=a) any more: split 'a' removed it; there are: a_ag, a_rs, first, ",
    """
    %a = named "a" in %program
    %a_rs, %a_ag = split %a
    %small = named "small" in %program
      %rs, %ag = split %small
    """: """\
s.mlir:7:7: error: 'transform.coconet.split' op declined [zero-dimensional]: a 0-d tensor has no dimension to \
scatter; into=reduce-broadcast splits it
p.mlir:8:3: note: 'small' is here
""",
    """
    %a = named "a" in %program
    %x = named "x" in %program {func = "f"}
    %y = named "y" in %program
    %o = overlap %a, %x, %y
    """: "'transform.coconet.overlap' op declined [no-chain]: ",
    """
    %x = named "x" in %program
    %rs, %ag = split %x
    """: """\
'transform.coconet.split' op does not fit 'x' (arith.addf): is no coll.all_reduce: only those can be split
p.mlir:9:3: note: the operation is here
""",
    """
    %a = named "a" in %program
    %rs, %ag = split %a {dim = 1}
    """: "op does not fit 'a' (coll.all_reduce): dim=1 is out of range: it has 1 dimension(s)\n",
    """
    %a = named "a" in %program
    %rs, %ag = split %a
    reorder %ag {ops = ["x", "zz"]}
    """: (
        "'transform.coconet.reorder' op does not fit function 'f': has no operation named 'zz' (ops=zz); there "
        "are: a_ag, a_rs, "
    ),
    """
    %x = named "x" in %program
    %y = named "y" in %program
    %f = fuse %x, %y
    """: """\
'transform.coconet.fuse' op takes %y, which stands for nothing in function 'g', where another of its handles stands \
for an operation; transform.coconet.named "…" in %program {func = "f"} names in that function alone
p.mlir:21:1: note: the function is here
""",
    """
    %first = named "a" in %program
    %second = named "a" in %program
    %rs, %ag = split %first
    %rs2, %ag2 = split %second
    """: "'transform.coconet.split' op takes %second, but 'a' is gone: split 'a' removed it\n",
    """
    %x = named "x" in %program {func = "f"}
    %y = named "y" in %program
    %again = named "x" in %program {func = "f"}
    %f = fuse %x, %y
    %s, %ag = slice %again {over = ["tp"]}
    """: """\
'transform.coconet.slice' op takes %again, but 'x' stands in a region, whose operations are not targets: inline it \
first
p.mlir:9:3: note: the region is here
""",
    """
    %norm = named "norm" in %program
    %a = named "a" in %program
    %rs, %ag = split %a
    reorder %ag
    %s, %g = slice %norm {over = ["tp"]}
    """: (
        "'transform.coconet.slice' op takes %norm, but 'norm' was made anew since: name it again with "
        "transform.coconet.named\n"
    ),
    '%s, %ag = slice %program {arg = "zz", over = ["tp"]}': (
        "'transform.coconet.slice' op does not fit the program: has no argument named 'zz' (arg=zz); there "
        "are: g, s, v, w\n"
    ),
    '%s, %ag = slice %program {arg = "s", over = ["tp"]}': (
        "'transform.coconet.slice' op declined [zero-dimensional]: a 0-d tensor has no dimension to slice\n"
        "p.mlir:6:30: note: 's' is here\n"
    ),
    "slice_state %program": (
        "'transform.coconet.slice_state' op does not fit the program: has no argument marked coconet.state"
    ),
    'slice_state %program {args = ["w"]}': (
        "s.mlir:3:1: error: 'transform.coconet.slice_state' op declined [read-whole]: 'x' reads %w whole"
    ),
    """
    %region = named "region" in %program
    inline %region
    inline %region
    """: "'transform.coconet.inline' op takes %region, which stands for nothing any more: inline made",
}
"""Steps, in which each operation stands without `transform.coconet.`, and a part of what is said of them."""


def schedule(steps: str) -> str:
    """A file with one schedule; its first step, or the line break before it, stands on line 3."""
    words = ("named", "split", "slice_state", "slice", "reorder", "fuse", "overlap", "inline")
    lines = steps.splitlines()
    for index, line in enumerate(lines):
        start = next((f"{word} " for word in words if f" {word} " in f" {line}"), None)
        if start is not None:
            lines[index] = line.replace(start, f"transform.coconet.{start}", 1)
    text = "\n".join(lines)
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @main(%program: !transform.any_op) {{\n{text}\ntransform.yield\n}}\n}}\n"
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)


@pytest.mark.parametrize("steps", ERRORS)
def test_error(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(schedule(steps))
    assert opt.main(["p.mlir", "--schedule", "s.mlir", "-o", "out.mlir"]) == 1
    captured = capsys.readouterr()
    assert ERRORS[steps] in captured.err
    assert captured.err.count("error: ") == 1
    assert captured.out == ""
    assert not Path("out.mlir").exists()


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert opt.main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_what_an_earlier_pass_removed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(schedule('%a = named "a" in %program'))
    text = error_of(capsys, "p.mlir", "-p", "coconet-split{op=a}", "--schedule", "s.mlir")
    assert "no operation named 'a' (op=a) any more: split 'a' removed it" in text


def test_what_an_earlier_schedule_removed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(schedule('%a = named "a" in %program\n%rs, %ag = split %a'))
    text = error_of(capsys, "p.mlir", "--schedule", "s.mlir", "--schedule", "s.mlir")
    assert text.startswith("s.mlir:3:1: error: ")
    assert "any more: split 'a' removed it" in text


MORE = """\
layout.mesh @mesh(tp = 2)
!part = tensor<?xf16, #layout.dist<tp = sliced(0)>>
func.func @f(%x: !part) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %all = coll.all_gather %x over [tp] : !part -> tensor<?xf16>
  %wide = arith.extf %all : tensor<?xf16> to tensor<?xf32>
  %exp = math.exp %wide : tensor<?xf32>
  %sqrt = math.sqrt %wide : tensor<?xf32>
  func.return %wide, %exp, %sqrt : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
"""


def test_what_would_lift_more_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """What moves is named in part, not at all, or there is nothing to choose from; both spellings are there."""
    last = "mark state that nobody needs whole; or allow it (allow-more-bytes=true, in a schedule allow_more_bytes)\n"
    cases = {
        "{}": f"which may be more: name with ops= what shall move; {last}",
        '{ops = ["wide"]}': (
            f"which may be more: name others with ops= too, or none, so that all move that can; {last}"
        ),
    }
    Path("m.mlir").write_text(MORE)
    for options, advice in cases.items():
        Path("s.mlir").write_text(schedule(f'%a = named "all" in %program\nreorder %a {options}'))
        assert advice in error_of(capsys, "m.mlir", "--schedule", "s.mlir")
    Path("s.mlir").write_text(
        schedule('%a = named "all" in %program\nreorder %a {allow_more_bytes}')
    )
    assert opt.main(["m.mlir", "--schedule", "s.mlir"]) == 0
    Path("m.mlir").write_text(
        "\n".join(
            line
            for line in MORE.replace("%exp, %sqrt", "%wide, %wide").splitlines()
            if " = math" not in line
        )
    )
    capsys.readouterr()
    Path("s.mlir").write_text(schedule('%a = named "all" in %program\nreorder %a'))
    assert f"which may be more: {last}" in error_of(capsys, "m.mlir", "--schedule", "s.mlir")


def test_what_earlier_readers_removed(capsys: pytest.CaptureFixture[str]) -> None:
    steps = '%a = named "a" in %program\n%rs, %ag = split %a\nreorder %ag {ops = ["a"]}'
    Path("s.mlir").write_text(schedule(steps))
    text = error_of(capsys, "p.mlir", "--schedule", "s.mlir")
    assert "has no operation named 'a' (ops=a) any more: split 'a' removed it" in text
    assert run.main(["p.mlir", "--func", "f", "--schedule", "s.mlir"]) == 1
    assert capsys.readouterr().err == text


def test_a_program_that_is_not_inferred(capsys: pytest.CaptureFixture[str]) -> None:
    Path("u.mlir").write_text(UNINFERRED)
    Path("s.mlir").write_text(schedule('%a = named "a" in %program\nreorder %a'))
    text = error_of(capsys, "u.mlir", "--schedule", "s.mlir")
    assert (
        "op does not fit function 'f': is not inferred yet: run coconet-infer first (infer() in Python)\n"
        "u.mlir:2:1: note" in text
    )
    text = error_of(capsys, "u.mlir", "-p", "coconet-infer", "--schedule", "s.mlir")
    assert "'transform.coconet.reorder' op declined [nothing-to-move]" in text


def test_a_step_that_breaks_the_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_it(self: SplitPass, func: FuncOp, target: Operation) -> Remark:
        target.detach()
        (last,) = (op for op in func.body.block.ops if isinstance(op, ReturnOp))
        func.body.block.insert_op_before(target, last)
        return applied("split", target, "")

    monkeypatch.setattr(SplitPass, "rewrite", break_it)
    Path("s.mlir").write_text(schedule('%a = named "a" in %program\n%rs, %ag = split %a'))
    text = error_of(capsys, "p.mlir", "--schedule", "s.mlir")
    assert text.startswith(
        "p.mlir:9:3: error: 'arith.addf' op operand #0 (%a) is used before its definition"
    )
    assert "(after 'transform.coconet.split')\n" in text
    assert text.endswith("s.mlir:4:1: note: the split is here\n")


SEVERAL = """\
module attributes {transform.with_named_sequence} {
  transform.named_sequence @one(%program: !transform.any_op) {
    transform.yield
  }
  transform.named_sequence @two(%program: !transform.any_op) {
    transform.yield
  }
}
"""
LISTED = "'builtin.module' op holds 2 schedules, so s.mlir:NAME says which; there are: one, two\n"

REFERENCES = {
    "none.mlir": "error: cannot read 'none.mlir': No such file or directory\n",
    "none.mlir:x": "error: cannot read 'none.mlir:x': there is no such file, and none named 'none.mlir'\n",
    "none:s.mlir": "error: cannot read 'none:s.mlir': there is no such file, and none named 'none'\n",
    ".": "error: cannot read '.': Is a directory\n",
    "": "error: cannot read '': Is a directory\n",
    "s.mlir": f"s.mlir:1:1: error: {LISTED}",
    "s.mlir:": "'builtin.module' op has no schedule named '' (there are: one, two)\n",
    "s.mlir:tow": "op has no schedule named 'tow'; did you mean 'two'? (there are: one, two)\n",
    "p.mlir": (
        "p.mlir:1:1: error: 'builtin.module' op is no schedule: a schedule is a module with the attribute "
        "transform.with_named_sequence\n"
    ),
    "p.mlir:f": "is no schedule: a schedule is a module with the attribute transform.with_named_sequence\n",
    "empty.mlir": "op holds no schedule: a schedule is a transform.named_sequence\n",
    "broken.mlir": "broken.mlir:2:1: error: operation 'what' is not registered\nwhat\n^^^^\n",
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_reference(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(SEVERAL)
    Path("empty.mlir").write_text("module attributes {transform.with_named_sequence} {}")
    Path("broken.mlir").write_text("module attributes {transform.with_named_sequence} {\nwhat\n}")
    text = error_of(capsys, "p.mlir", "--schedule", reference)
    assert text.endswith(REFERENCES[reference])
    assert run.main(["p.mlir", "--func", "f", "--schedule", reference]) == 1
    assert capsys.readouterr().err == text


def test_a_file_of_the_whole_name_goes_first(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(SEVERAL)
    Path("s.mlir:one").write_text(schedule('%zz = named "zz" in %program'))
    assert "s.mlir:one:3:1: error" in error_of(capsys, "p.mlir", "--schedule", "s.mlir:one")
    assert opt.main(["p.mlir", "--schedule", "s.mlir:two"]) == 0


def test_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given(SEVERAL)
    assert "<stdin>:1:1: error: " in error_of(capsys, "p.mlir", "--schedule", "-")
    given(SEVERAL)
    Path("parts.mlir").write_text(f"{PROGRAM}// -----\n{PROGRAM}")
    assert opt.main(["parts.mlir", "--split-input-file", "--schedule=-:two"]) == 0
    assert capsys.readouterr().out.count("layout.mesh") == 2
    message = "can be standard input"
    assert opt.main(["-", "--schedule", "-"]) == 2
    assert message in capsys.readouterr().err
    assert opt.main(["p.mlir", "--schedule=-:one", "--schedule=-:two"]) == 2
    assert message in capsys.readouterr().err
    assert run.main(["p.mlir", "--schedule", "-", "--compare", "-"]) == 2
    assert message in capsys.readouterr().err


def test_schedules_are_no_programs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(SEVERAL)
    message = (
        "s.mlir:1:1: error: 'builtin.module' op holds schedules, no program: apply one to a program with "
        "--schedule\n"
    )
    flags = (
        ["-p", "coconet-split{op=a}"],
        ["-p", "cse"],
        ["--schedule", "s.mlir:one"],
        ["--totals"],
        ["--explain", "op=a"],
        ["--show-dependences"],
    )
    for arguments in flags:
        assert error_of(capsys, "s.mlir", *arguments) == message
    assert run.main(["s.mlir"]) == 1
    assert capsys.readouterr().err == message
    with pytest.raises(IRError, match="holds schedules, no program"):
        Program.parse(SEVERAL)


def test_an_end_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.mlir").write_text(SEVERAL.replace("transform.yield", '"some.end"() : () -> ()'))
    text = error_of(capsys, "s.mlir", "--allow-unregistered-dialect")
    assert (
        text == "s.mlir:2:3: error: 'transform.named_sequence' op does not end in transform.yield\n"
    )
