"""--explain: what it prints is what the passes do, and it changes nothing; flags that print instead of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from coconet_ir import api
from coconet_ir.analysis.totals import totals
from coconet_ir.frontend import check, make_context
from coconet_ir.passes import get_all_passes
from coconet_ir.passes.split import SplitPass
from coconet_ir.program import Program
from coconet_ir.schedule.explain import explain
from coconet_ir.schedule.selection import argument_names, by_name, functions, name_of
from coconet_ir.schedule.variants import Variant
from coconet_ir.tools.opt import main
from coconet_ir.tools.pipeline import available_passes, parse_passes
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
LINE = re.compile(
    r"  (?P<passes>coconet-[a-z-]+(?:\{.*?\})?): (?:applies: (?P<did>.*); in all (?P<changes>.*)"
    r"|declines \[(?P<reason>[a-z-]+)\]: (?P<why>.*))"
)
PASSES = available_passes()

REGIONS = """
layout.mesh @mesh(dp = 2, tp = 2)
!local = tensor<?x6xf32, #layout.dist<dp = local>>
!rows = tensor<?x6xf32, #layout.dist<dp = sliced(0, 2)>>
!x = tensor<?x6xf32>
func.func @f(%x: !local, %y: !rows, %w: !x) -> (!x, !x) {
  %rs = coll.reduce_scatter sum %x over [dp] dim 0 {unit = 2 : i64} : !local -> !rows
  %k = coll.fused {
    %in = arith.addf %rs, %y : !rows
    %twice = arith.addf %in, %in : !rows
    coll.yield %twice : !rows
  }
  %ag = coll.all_gather %k over [dp] : !rows -> !x
  %other = coll.all_gather %y over [dp] : !rows -> !x
  %n = comp.norm %ag : !x -> tensor<f32>
  coll.fused {
    %a = arith.mulf %ag, %other : !x
    %b = comp.update %w, %a : !x
    coll.yield
  }
  func.return %ag, %other : !x, !x
}
"""


@dataclass(frozen=True)
class Line:
    """One rewrite of an explanation."""

    passes: str
    did: str | None
    changes: str | None
    reason: str | None
    why: str | None


def lines(text: str) -> Iterator[Line]:
    """The rewrites that were tried; every line is a head, the totals, a rewrite or what does not concern."""
    for line in text.splitlines():
        if line.startswith("  coconet-"):
            match = LINE.fullmatch(line)
            assert match is not None, line
            yield Line(**match.groupdict())
        else:
            assert (
                not line
                or line.startswith(("  now: ", "  does not concern it: "))
                or "' in @" in line
            )


def run_passes(module: ModuleOp, pipeline: str) -> list[api.Remark]:
    """Run a pipeline as coconet-opt does."""
    with api.collect() as remarks:
        for one in parse_passes(pipeline, PASSES):
            one.apply(make_context(), module)
            check(module)
    return remarks


def hold(module: ModuleOp, option: str, name: str, seen: set[tuple[str, str | None]]) -> None:
    """Explain something, and run each line as a pipeline: it must apply or decline as said, with those totals."""
    text = print_module(module)
    with api.collect() as emitted:
        explained = explain(make_context(), module, "op" if option == "op" else "arg", name)
    assert not emitted
    assert print_module(module) == text
    for line in lines(explained):
        after = module.clone()
        remarks = run_passes(after, line.passes)
        seen.add((line.passes.partition("{")[0], line.reason))
        assert {remark.reason for remark in remarks} == {line.reason}
        said = "; ".join(remark.message for remark in remarks)
        assert said == (line.why if line.did is None else line.did)
        before = [dict(totals(func).rows()) for func in functions(module, None)]
        now = [
            dict(totals(func, old).rows())
            for func, old in zip(functions(after, None), functions(module, None), strict=True)
        ]
        changes = [
            f"{word} {was} -> {new[word]}"
            for old, new in zip(before, now, strict=True)
            for word, was in old.items()
            if was != new[word]
        ]
        if line.did is None:
            assert changes == []
        else:
            assert line.changes == (", ".join(changes) or "as before")
    hold_steps(module, "op" if option == "op" else "arg", name, list(lines(explained)))


def hold_steps(
    module: ModuleOp, option: Literal["op", "arg"], name: str, found: list[Line]
) -> None:
    """The steps of an explanation are those lines that apply, in their order, and do what they do."""
    blocks: list[list[str]] = []
    for line in explain(make_context(), module, option, name, steps=True).splitlines():
        if line.startswith("// applies: "):
            blocks.append([])
        elif line.startswith("    "):
            blocks[-1].append(line)
        else:
            assert not line or line.startswith("// ")
    pipelines = [line.passes for line in found if line.did is not None]
    assert len(blocks) == len(pipelines)
    empty = str(Program(module).schedule())
    for steps, pipeline in zip(blocks, pipelines, strict=True):
        assert steps
        text = empty.replace("    transform.yield", "\n".join([*steps, "    transform.yield"]))
        after = module.clone()
        run_passes(after, pipeline)
        assert str(Program(module).parse_schedule(text).program) == print_module(after)


def every_name(func: FuncOp) -> list[tuple[str, str]]:
    """What can be asked for: operations, also those in regions, and arguments."""
    inner = (name for op in func.body.walk() if (name := name_of(op)) is not None)
    names = dict.fromkeys([*by_name(func), *inner])
    return [*(("op", n) for n in names), *(("arg", n) for n in argument_names(func))]


@pytest.mark.parametrize("example", ["sgd", "attention", "rmsnorm", "pipeline", "moe"])
def test_every_line_does_what_it_says(example: str) -> None:
    module = Program.load(str(EXAMPLES / f"{example}.mlir")).module
    for option, name in every_name(Program(module).function()):
        hold(module, option, name, set())


def test_every_rewrite_and_regions() -> None:
    seen: set[tuple[str, str | None]] = set()
    module = Program.load(str(EXAMPLES / "adam.mlir")).module
    run_passes(module, "coconet-split{op=avg},coconet-reorder{op=avg_ag}")
    for option, name in (("op", "avg_rs"), ("op", "mnew_ag"), ("arg", "m"), ("op", "mold")):
        hold(module, option, name, seen)
    module = Program.parse(REGIONS).module
    for option, name in every_name(Program(module).function()):
        hold(module, option, name, seen)
    hold(Program.load(str(EXAMPLES / "hierarchical.mlir")).module, "op", "avg", seen)
    applied = {kind for kind, reason in seen if reason is None}
    assert applied == get_all_passes().keys() - {"coconet-infer", "coconet-schedule"}
    assert {reason for _, reason in seen} >= {"nested-region", "unit-conflict"}


TWICE = """
layout.mesh @mesh(dp = 2)
!local = tensor<4xf32, #layout.dist<dp = local>>
!x = tensor<4xf32>
func.func @f(%w: !local) -> !x {
  %a = coll.all_reduce sum %w over [dp] : !local -> !x
  %b = math.exp %a : !x
  func.return %b : !x
}
func.func @g(%w: !local) -> !x {
  %a = coll.all_reduce sum %w over [dp] : !local -> !x
  func.return %a : !x
}
"""


def test_functions_are_told_apart() -> None:
    module = Program.parse(TWICE).module
    text = explain(make_context(), module, "op", "a")
    assert re.findall(r"in @(.):", text) == ["f", "g"]
    assert "coconet-split{op=a dim=0 func=f}: applies: " in text
    assert "coconet-split{op=a dim=0 func=g}: applies: " in text
    assert "coconet-fuse{ops=a,b between=true func=f}: applies: " in text
    hold(module, "op", "b", set())
    hold(module, "arg", "w", set())


@pytest.mark.parametrize("name", ["2nd", "true", 'a "b"', "a b,c", "back\\slash", "x}y", "a=b"])
def test_any_name_can_be_pasted(name: str) -> None:
    variant = Variant(SplitPass, {"op": name, "axes": (name, "dp"), "dim": 0, "require": False})
    assert parse_passes(str(variant), PASSES) == (variant.make(),)
    variant = Variant(SplitPass, {"op": f"{name}\n"})
    assert parse_passes(str(variant), PASSES) == (variant.make(),)


@pytest.mark.parametrize("name", ["true", "-a", "$.", "_"])
def test_any_name_can_be_explained(name: str) -> None:
    module = Program.parse(TWICE.partition("func.func @g")[0]).module
    op = next(op for op in Program(module).function().walk() if name_of(op) == "a")
    op.attributes["coconet.name"] = StringAttr(name)
    assert explain(make_context(), module, "op", name).count("applies") == 4
    hold(module, "op", name, set())


def test_a_region_without_a_name() -> None:
    module = Program.parse(REGIONS).module
    text = explain(make_context(), module, "op", "a")
    assert "\n  coconet-inline-schedule: applies: " in text
    assert "'a' in @f: arith.mulf : tensor<?x6xf32>" in text
    assert (
        "it stands in a coll.fused without a name, and what stands in a region is no target" in text
    )
    hold(module, "op", "a", set())


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "prog.mlir"
    path.write_text(TWICE)
    return str(path)


def test_after_a_pipeline_and_into_a_file(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.txt"
    split = ["-p", "coconet-split{op=a func=f}"]
    assert main([program, *split, "--explain", "op=a_ag", "--remarks", "-o", str(out)]) == 0
    printed, err = capsys.readouterr()
    assert printed == ""
    assert re.findall(r"remark: (.*?):", err) == ["split 'a'"]
    assert f"{program}:6:3: 'a_ag' in @f: coll.all_gather : tensor<4xf32>\n" in out.read_text()
    assert main([program, "-p", "coconet-split{op=a}", "--explain=op=a"]) == 1
    assert "any more: split 'a' removed it" in capsys.readouterr().err


def test_parts_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "parts.mlir"
    path.write_text(f"{TWICE}// -----\n{TWICE}")
    for flags in (["--explain", "op=b"], ["--totals"], ["--show-dependences"]):
        assert main([str(path), "--split-input-file", *flags]) == 0
        first, second = capsys.readouterr().out.split("// -----\n")
        assert re.sub(r":\d+:", "", first) == re.sub(r":\d+:", "", second) != ""


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--explain", "avg"], "argument --explain: expected op=NAME or arg=NAME, not 'avg'"),
        (["--explain", "op="], "argument --explain: expected op=NAME or arg=NAME, not 'op='"),
        (["--explain", "ops=a"], "argument --explain: expected op=NAME or arg=NAME, not 'ops=a'"),
        (["--explain"], "argument --explain: expected one argument"),
        (["--steps"], "argument --steps: goes with --explain"),
        (["--totals", "--steps"], "argument --steps: goes with --explain"),
        (["--explain", "op=a", "--totals"], "--totals: not allowed with argument --explain"),
        (["--show-dependences", "--explain", "op=a"], "--explain: not allowed with argument --show-dependences"),
        (["--show-dependences=png"], "argument --show-dependences: invalid value 'png' (choose from dot, svg)"),
        (["--totals", "--no-aliases"], "argument --no-aliases: not allowed with argument --totals"),
        (["--explain", "op=a", "--print-op-generic"], "--print-op-generic: not allowed with argument --explain"),
        (["--show-dependences", "--print-debuginfo"], "not allowed with argument --show-dependences"),
        (["--show-dependences=svg", "--split-input-file"], "argument --split-input-file: not allowed"),
    ],
)  # fmt: skip
def test_wrong_usage(
    program: str, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([program, *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]


def test_flags_of_programs_still_serve_between_passes(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([program, "-p", "cse,cse", "--print-between-passes", "--no-aliases", "--totals"]) == 0
    )
    out, err = capsys.readouterr()
    assert "#layout.dist<dp = local>" in err
    assert out.startswith("@f\n")


UNINFERRED = """
layout.mesh @mesh(dp = 2)
func.func @f(%x: tensor<?xf32> {layout.of = #layout.dist<dp = sliced(0)>}) -> tensor<?xf32> {
  %a = coll.all_gather %x over [dp] : tensor<?xf32> -> tensor<?xf32>
  func.return %a : tensor<?xf32>
}
"""


def test_what_is_not_inferred_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "u.mlir"
    path.write_text(UNINFERRED)
    for flags in (["--totals"], ["--explain", "op=a"], ["--explain", "op=a", "--steps"]):
        assert main([str(path), *flags]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "'func.func' op is not inferred yet: run coconet-infer first" in err
    assert main([str(path), "-p", "coconet-infer", "--totals"]) == 0
    assert "4*x.0*(1 - 1/dp)" in capsys.readouterr().out
    # What waits for what is the same without layouts.
    assert main([str(path), "--show-dependences"]) == 0
    assert "all_gather" in capsys.readouterr().out


def test_an_argument_that_is_nowhere_replicated() -> None:
    module = Program.parse(TWICE).module
    text = explain(make_context(), module, "arg", "w")
    assert "slice-state (only an argument that is replicated on an axis, and there is none)" in text
    assert "applies" not in text
    assert "declines" not in text


def test_totals(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "--totals", "-p", "coconet-split{op=a func=g}"]) == 0
    assert capsys.readouterr().out == (
        "@f\n"
        "  bytes sent         32*(1 - 1/dp)\n"
        "  bytes of state     0\n"
        "  bytes of arguments 16\n"
        "  launches           2\n"
        "@g\n"
        "  bytes sent         32*(1 - 1/dp)\n"
        "  bytes of state     0\n"
        "  bytes of arguments 16\n"
        "  launches           2\n"
    )
