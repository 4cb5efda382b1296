"""What takes distributed programs refuses what is lowered, and each stage what is at another level than it reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.lowering.ptx import compile_ptx
from coconet_ir.lowering.targets import TARGETS, device_module, translate
from coconet_ir.program import Program
from coconet_ir.tools import opt, run
from coconet_ir.tools.pipeline import available_passes, parse_passes
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
LEVELS = {"rank": 1, "buffer": 3, "kernel": 4, "device": 5}
"""The levels below the distributed one, and how many stages lead to them."""

REWRITES = (
    *("coconet-infer", "coconet-split{op=avg}", "coconet-slice{op=avg over=dp}"),
    *("coconet-slice{arg=m over=dp}", "coconet-reorder{op=avg}", "coconet-slice-state"),
    *("coconet-fuse{ops=avg,mu}", "coconet-overlap{ops=avg,mu}", "coconet-combine"),
    *("coconet-combine{ops=avg,mu}", "coconet-inline-schedule", "coconet-inline-schedule{op=avg}"),
)
CLEANING = ("canonicalize", "cse", "dce")
READS = {
    "coconet-lower-to-ranks": "the distributed level",
    "coconet-form-kernels": 'level "rank"',
    "coconet-bufferize": 'level "rank"',
    "coconet-outline-kernels": 'level "buffer"',
    "coconet-lower-kernels": 'level "kernel"',
}
CALLS: list[Callable[[Program], object]] = [
    lambda program: program.run({}, {}),
    lambda program: program.generate({}),
    lambda program: program.totals(),
    lambda program: program.explain("avg"),
    lambda program: program.explain(arg="m"),
    lambda program: program.dependences(),
    lambda program: program.infer(),
    lambda program: program.schedule(),
    lambda program: program.load_schedule(str(SCHEDULE)),
]
SCHEDULE = EXAMPLES / "schedules" / "adam.mlir:ar_opt"


@cache
def at_levels() -> dict[str | None, Program]:
    """An example at each level, None being the distributed one."""
    program = Program.load(str(EXAMPLES / "adam.mlir"))
    ctx, found, module = make_context(), dict[str | None, Program]({None: program}), program.module
    for stage in LowerPass("sm_80").stages():
        module = module.clone()
        stage.apply(ctx, module)
        check(module)
        level = str(module.attributes["coconet.level"]).strip('"')
        found[level] = Program(module)
    return found


def refusal(level: str | None, spec: str) -> str:
    (one,) = parse_passes(spec, available_passes())
    module = at_levels()[level].module.clone()
    with pytest.raises(IRError) as caught:
        one.apply(make_context(), module)
    assert print_module(module) == str(at_levels()[level])
    return caught.value.message


def distributed_only(level: str) -> str:
    return f'is at level "{level}", and rewrites, schedules, explanations and runs take a distributed program'


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("spec", [*REWRITES, f'coconet-schedule{{file="{SCHEDULE}"}}'])
def test_rewrites(level: str, spec: str) -> None:
    assert refusal(level, spec).startswith(distributed_only(level))


@pytest.mark.parametrize("level", [None, *LEVELS])
@pytest.mark.parametrize("stage", READS)
def test_stages(level: str | None, stage: str) -> None:
    reads, order = READS[stage], list(at_levels())
    if reads == ("the distributed level" if level is None else f'level "{level}"'):
        return
    at = "distributed" if level is None else f'at level "{level}"'
    message = refusal(level, stage)
    assert message.startswith(f"is {at}, and {stage} reads {reads}: ")
    wanted = reads.partition('"')[2].rstrip('"') or None
    further = order.index(level) > order.index(wanted)
    assert message.endswith("it is lowered further already") == further
    assert (": run coconet-" in message and message.endswith(" first")) == (not further)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("call", CALLS)
def test_programs(level: str, call: Callable[[Program], object]) -> None:
    with pytest.raises(IRError) as caught:
        call(at_levels()[level])
    assert caught.value.message.startswith(distributed_only(level))


@pytest.mark.parametrize("level", LEVELS)
def test_tools(level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lowered.mlir"
    path.write_text(str(at_levels()[level]))
    for arguments in (
        ("--explain", "op=avg"),
        ("--totals",),
        ("--show-dependences",),
        ("--schedule", str(SCHEDULE)),
    ):
        assert opt.main([str(path), *arguments]) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"lowered.mlir:1:1: error: 'builtin.module' op {distributed_only(level)}" in err
    assert run.main([str(path)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert distributed_only(level) in err


@pytest.mark.parametrize("form", ["ptx", "nvptx-llvm"])
def test_translation(form: str) -> None:
    def refused(level: str | None) -> str:
        with pytest.raises(IRError) as caught:
            translate(at_levels()[level].module, form, "sm_80")
        return caught.value.message

    made = f'{form} is made of the level "device": run'
    assert refused(None) == f"is distributed, and {made} coconet-lower first"
    for level in ("rank", "buffer", "kernel"):
        stages = "the stages down to coconet-lower-kernels"
        assert refused(level) == f'is at level "{level}", and {made} {stages} first'
    assert "avg_f32" in translate(at_levels()["device"].module, form)


def test_a_program_without_kernels() -> None:
    program = Program.parse("""
    func.func @f(%a: f32) -> f32 {
      %b = arith.addf %a, %a : f32
      func.return %b : f32
    }""")
    module = program.module.clone()
    LowerPass().apply(make_context(), module)
    with pytest.raises(IRError, match="has no kernels: all that it computes is the host's"):
        translate(module, "ptx")


CODE = "llvm.func @k() attributes {nvvm.kernel} {\n  llvm.return\n}\n"
ALONE = {
    "functions": CODE,
    "functions of the level": f'module attributes {{coconet.level = "device"}} {{\n{CODE}}}\n',
    "a module": f'"gpu.module"() <{{sym_name = "any"}}> ({{\n{CODE}}}) : () -> ()\n',
}


@pytest.mark.parametrize("text", ALONE.values(), ids=ALONE)
def test_device_code_alone(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "code.mlir"
    path.write_text(text)
    assert opt.main([str(path), "-p", "canonicalize"]) == 0
    printed = capsys.readouterr().out
    path.write_text(printed)
    assert opt.main([str(path)]) == 0
    assert capsys.readouterr().out == printed
    assert opt.main([str(path), "-t", "ptx", "--target", "sm_100a"]) == 0
    assert ".visible .entry k()" in capsys.readouterr().out
    for arguments in (["-p", "coconet-infer"], ["--totals"]):
        assert opt.main([str(path), *arguments]) == 1
        assert distributed_only("device") in capsys.readouterr().err
    assert opt.main([str(path), "-p", "coconet-lower-kernels"]) == 1
    assert "it is lowered further already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ALONE["a module"] + ALONE["a module"].replace("any", "other"),
            "must stand alone: device code is one module",
        ),
        (ALONE["a module"] + CODE, "must stand alone: device code is one module"),
        (
            CODE.replace("llvm.return", "%0 = arith.constant 1 : i32\nllvm.return"),
            "lowered to llvm",
        ),
        (
            '"gpu.module"() <{sym_name = "any"}> ({\n"gpu.func"() <{function_type = () -> ()}> ({\n'
            '"gpu.return"() : () -> ()\n}) {sym_name = "k", gpu.kernel} : () -> ()\n}) : () -> ()',
            "cannot stand among device code, which is functions and memory of llvm",
        ),
        (CODE + "func.func @f() {\nfunc.return\n}", "has a region: at the top stand layout.mesh"),
    ],
)
def test_what_is_no_device_code(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        Program.parse(text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("spec", CLEANING)
def test_cleaning_leaves_a_program_of_the_level_that_goes_down(level: str, spec: str) -> None:
    (one,) = parse_passes(spec, available_passes())
    module = at_levels()[level].module.clone()
    one.apply(make_context(), module)
    check(module)
    for stage in LowerPass("sm_80").stages()[LEVELS[level] :]:
        stage.apply(make_context(), module)
        check(module)
    assert ".visible .entry" in compile_ptx(device_module(module), TARGETS["sm_80"])
