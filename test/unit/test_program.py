"""Programs and schedules in Python: what calls return and print, and that one that fails changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.transform import Step
from coconet_ir.passes.slice import SlicePass
from coconet_ir.program import Program, Schedule
from coconet_ir.schedule.apply import Application
from coconet_ir.schedule.remarks import Remark, collect
from coconet_ir.schedule.rewriting import applied
from coconet_ir.tools import opt

TEXT = """\
layout.mesh @mesh(tp = 4)

!l = tensor<?xf32, #layout.dist<tp = local>>
!x = tensor<?xf32>

func.func @first(%g: !l, %h: !l, %w: !x) -> (!x, !x) {
  %a = coll.all_reduce sum %g over [tp] : !l -> !x
  %b = coll.all_reduce sum %h over [tp] : !l -> !x
  %x = arith.addf %a, %w : !x
  %y = arith.mulf %x, %b : !x
  func.return %x, %y : !x, !x
}

func.func @second(%s: tensor<f32, #layout.dist<tp = local>>) -> tensor<f32> {
  %a = coll.all_reduce sum %s over [tp] : tensor<f32, #layout.dist<tp = local>> -> tensor<f32>
  func.return %a : tensor<f32>
}
"""

STAGES = """\
layout.mesh @mesh(tp = 4)

!a = tensor<?x?xf32, #layout.dist<tp = sliced(1)>>
!b = tensor<?x?xf32, #layout.dist<tp = sliced(0)>>
!part = tensor<?x?xf32, #layout.dist<tp = partial(sum)>>

func.func @f(%a: !a, %b: !b) -> tensor<?x?xf32> {
  %part = comp.matmul %a, %b : (!a, !b) -> !part
  %sum = coll.all_reduce sum %part over [tp] : !part -> tensor<?x?xf32>
  func.return %sum : tensor<?x?xf32>
}
"""

UNINFERRED = """\
layout.mesh @mesh(tp = 4)
func.func @f(%x: tensor<?xf32> {layout.of = #layout.dist<tp = sliced(0)>}) -> tensor<?xf32> {
  %all = coll.all_gather %x over [tp] : tensor<?xf32> -> tensor<?xf32>
  func.return %all : tensor<?xf32>
}
"""


@pytest.fixture
def program() -> Program:
    return Program.parse(TEXT, "p.mlir")


def lines(schedule: Schedule) -> list[str]:
    """The steps, without indentation and `transform.coconet.`."""
    return [
        line.strip().replace("transform.coconet.", "") for line in str(schedule).splitlines()[2:-3]
    ]


def test_a_new_schedule(program: Program) -> None:
    schedule = program.schedule("nothing")
    assert str(schedule) == (
        "builtin.module attributes {transform.with_named_sequence} {\n"
        "  transform.named_sequence @nothing(%program: !transform.any_op) {\n"
        "    transform.yield\n"
        "  }\n"
        "}\n"
    )
    assert str(schedule.program) == str(program)
    assert schedule.remarks == ()


def test_names_become_handles_where_they_are_used(program: Program) -> None:
    schedule = program.schedule()
    b = schedule.named("b")
    x_slice, x_ag = schedule.slice("x", ["tp"], dim=0)
    b_rs, b_ag = schedule.split(b, dim=0, unit=2)
    assert [str(handle) for handle in (b, x_slice, x_ag, b_rs, b_ag)] == [
        "%b",
        "%x_slice",
        "%x_ag",
        "%b_rs",
        "%b_ag",
    ]
    schedule.slice_argument("w", ("tp",))
    schedule.reorder("x_ag", allow_more_bytes=True, ops=("y",))
    schedule.fuse("x", x_slice, named="f")
    schedule.inline("f")
    schedule.named("x", func="first")
    assert lines(schedule) == [
        '%b = named "b" in %program',
        '%x = named "x" in %program',
        '%x_slice, %x_ag = slice %x {over = ["tp"], dim = 0}',
        "%b_rs, %b_ag = split %b {dim = 0, unit = 2}",
        '%w_slice, %w_ag = slice %program {over = ["tp"], arg = "w"}',
        'reorder %x_ag {ops = ["y"], allow_more_bytes}',
        '%f = fuse %x, %x_slice as "f"',
        "inline %f",
        '%x_1 = named "x" in %program {func = "first"}',
    ]
    again = program.parse_schedule(str(schedule))
    assert str(again) == str(schedule)
    assert str(again.program) == str(schedule.program)
    assert [remark.rewrite for remark in again.remarks] == [
        "slice",
        "split",
        "slice",
        "reorder",
        "fuse",
        "inline-schedule",
    ]


def test_groups(program: Program) -> None:
    schedule = program.schedule()
    group = schedule.combine(schedule.named("a", func="first"), "b", named="both")
    schedule.inline(group)
    assert lines(schedule) == [
        '%a = named "a" in %program {func = "first"}',
        '%b = named "b" in %program',
        '%both = combine %a, %b as "both"',
        "inline %both",
    ]


def test_stages() -> None:
    schedule = Program.parse(STAGES).schedule()
    sum_rs, sum_ag = schedule.split("sum", dim=1)
    stages = schedule.overlap("part", sum_rs, sum_ag, dim=1, chunks=2, named="o")
    assert lines(schedule) == [
        '%sum = named "sum" in %program',
        "%sum_rs, %sum_ag = split %sum {dim = 1}",
        '%part = named "part" in %program',
        '%o = overlap %part, %sum_rs, %sum_ag as "o" {dim = 1, chunks = 2}',
    ]
    assert "coll.overlap {" in str(schedule.program)
    schedule.inline(stages)
    assert "coll.overlap {" not in str(schedule.program)


Wrong = Any
"""Values that the types of calls do not allow."""

FAILURES: dict[str, Callable[[Wrong], object]] = {
    # It applies to one function before the other declines.
    r"declined \[zero-dimensional\]": lambda schedule: schedule.split("a"),
    r"no operation named 'zz' \(op=zz\)": lambda schedule: schedule.fuse("x", "zz"),
    r"declined \[nothing-to-move\]|\[no-rule\]|does not fit": lambda schedule: schedule.reorder(
        "x"
    ),
    r"option 'over' takes names, as in \[\"x\", \"y\"\], not \"tp\"": (
        lambda schedule: schedule.slice("x", "tp")
    ),
    r"option 'over' takes names, as in \[\"x\", \"y\"\], not \[\]": (
        lambda schedule: schedule.slice("x", [])
    ),
    r"option 'dim' takes a number of at most 2\^62 as i64, not \"0\"": (
        lambda schedule: schedule.slice("x", ["tp"], dim="0")
    ),
    r"fuse takes at least one operation": lambda schedule: schedule.fuse(),
    r"overlap takes at least one operation": lambda schedule: schedule.overlap(dim=0),
    r"'dim' takes a number of .*, not \"1\"": lambda schedule: schedule.split("y", dim="1"),
    r"'dim' takes a number of .*, not True": lambda schedule: schedule.split("y", dim=True),
    r"'dim' takes a number of .*, not False": lambda schedule: schedule.split("y", dim=False),
    r"'dim' takes a number of .*, not 1\.0": lambda schedule: schedule.split("y", dim=1.0),
    r"'into' takes \"rs-ag\" or .*, not \"foo\"": lambda schedule: schedule.split("y", into="foo"),
    r"'axes' takes names, .*, not \{'tp'\}": lambda schedule: schedule.split("y", axes={"tp"}),
    r"'root' takes numbers, .*, not \[0\.5\]": lambda schedule: schedule.split("y", root=[0.5]),
    r"'named' takes a name, .*, not \"\"": lambda schedule: schedule.fuse("x", "y", named=""),
    r"'between' takes True or False, not \"all\"": (
        lambda schedule: schedule.fuse("x", "y", between="all")
    ),
    r"'args' takes names, .*, not \[3\]": lambda schedule: schedule.slice_state(3),
    r"'func' takes a name, .*, not 3": lambda schedule: schedule.named("x", func=3),
    r"'ops' takes names, .*, not \"y\"": lambda schedule: schedule.reorder("x", ops="y"),
    r"needs the option over": lambda schedule: schedule.slice("x", None),
    r"takes operations one by one, each by its name or a handle, not \['x', 'y'\]": (
        lambda schedule: schedule.fuse(["x", "y"])
    ),
    r"each by its name or a handle, not 3": lambda schedule: schedule.split(3),
    r"each by its name or a handle, not None": lambda schedule: schedule.reorder("x", ops=[None]),
    r"'func' goes with the program": lambda schedule: schedule.combine("x", "y", func="first"),
    r"leave the name out": lambda schedule: schedule.combine(named="g"),
    r"1208925819614629174706176": lambda schedule: schedule.slice("x", ["tp"], dim=2**80),
    r"option 'op' takes a name, as in \"x\", not \"\"": lambda schedule: schedule.split(""),
    r"cannot be sliced over 'pp': the mesh has tp": (
        lambda schedule: schedule.slice_argument("w", ["pp"])
    ),
}


@pytest.mark.parametrize("message", FAILURES)
def test_a_call_that_fails_changes_nothing(message: str, program: Program) -> None:
    schedule = program.schedule()
    schedule.split("b")
    handle = schedule.named("x")
    before = str(schedule), str(schedule.program), schedule.remarks
    with collect() as remarks, pytest.raises(IRError, match=message):
        FAILURES[message](schedule)
    assert (str(schedule), str(schedule.program), schedule.remarks) == before
    assert remarks == []
    schedule.slice(handle, ["tp"])
    schedule.reorder("b_ag")
    assert lines(schedule) == [
        '%b = named "b" in %program',
        "%b_rs, %b_ag = split %b",
        '%x = named "x" in %program',
        '%x_slice, %x_ag = slice %x {over = ["tp"]}',
        "reorder %b_ag",
    ]


def test_handles_that_do_not_do(program: Program) -> None:
    schedule, other = program.schedule(), program.schedule()
    b = schedule.named("b")
    with pytest.raises(IRError, match="handle %b belongs to another schedule"):
        other.split(b)
    schedule.split(b)
    with pytest.raises(IRError, match="takes %b, which stands for nothing any more: split made"):
        schedule.slice(b, ["tp"])
    with pytest.raises(IRError, match=r"no operation named 'b' .*any more: split 'b' removed it"):
        schedule.split("b")
    assert len(lines(schedule)) == 2


def test_the_baseline_stays_as_it_is(program: Program) -> None:
    before = str(program)
    schedule = program.schedule()
    schedule.split("b")
    halfway = schedule.program
    text = str(halfway)
    schedule.reorder("b_ag")
    assert str(program) == before
    assert str(halfway) == text != before
    assert str(schedule.program) != text


def test_remarks_go_to_whoever_collects(program: Program) -> None:
    with collect() as remarks:
        schedule = program.schedule()
        schedule.split("b")
        schedule.reorder("b_ag")
        again = program.parse_schedule(str(schedule))
    assert tuple(remarks) == (*schedule.remarks, *again.remarks)
    assert [remark.operation for remark in remarks] == ["b", "b_ag"] * 2


def test_errors_of_a_file_point_into_it(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "s.mlir"
    schedule = program.schedule("here")
    schedule.split("b")
    schedule.save(str(path))
    path.write_text(path.read_text().replace('"b"', '"a"'))
    with pytest.raises(IRError) as error:
        program.load_schedule(f"{path}:here")
    rendered = error.value.render()
    assert rendered.startswith(f"{path}:4:5: error: 'transform.coconet.split' op declined [zero-")
    assert rendered.endswith("p.mlir:15:3: note: 'a' is here")
    with pytest.raises(IRError, match="has no schedule named 'there'"):
        program.load_schedule(f"{path}:there")


def test_a_program_is_given_as_handles_or_names_where_options_take_names(program: Program) -> None:
    schedule = program.schedule()
    _, gather = schedule.split("b")
    y = schedule.named("y")
    schedule.reorder(gather, ops=[y], allow_more_bytes=True)
    assert lines(schedule)[-1] == 'reorder %b_ag {ops = ["y"], allow_more_bytes}'
    schedule.split(schedule.named("a", func="first"), dim=0)
    other = program.schedule()
    with pytest.raises(IRError, match="handle %y belongs to another schedule"):
        other.reorder("a", ops=[y])


def test_all_that_can_be_combined_and_inlined(program: Program) -> None:
    schedule = program.schedule()
    with pytest.raises(
        IRError, match=r"declined \[nothing-to-combine\]: no two of its collectives"
    ):
        schedule.combine()  # in the second function
    assert schedule.combine(func="first") is None
    assert str(schedule.program).count("coll.group") == 1
    schedule.inline()
    assert "coll.group" not in str(schedule.program)
    schedule.combine(func="first")
    schedule.inline(func="second")
    assert str(schedule.program).count("coll.group") == 1
    assert lines(schedule) == [
        'combine %program {func = "first"}',
        "inline %program",
        'combine %program {func = "first"}',
        'inline %program {func = "second"}',
    ]
    again = program.parse_schedule(str(schedule))
    assert str(again) == str(schedule)
    assert str(again.program) == str(schedule.program)
    assert again.remarks == schedule.remarks


def test_a_step_that_breaks_the_program(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = program.schedule()
    schedule.split("b")

    def break_it(self: SlicePass, func: FuncOp, target: Operation) -> Remark:
        target.detach()
        last = func.body.block.last_op
        assert last is not None
        func.body.block.insert_op_before(target, last)
        return applied("slice", target, "", (target, target))

    with monkeypatch.context() as patch:
        patch.setattr(SlicePass, "rewrite", break_it)
        schedule.slice("x", ["tp"])
        schedule.reorder("b_ag", ops=["y"])
        with pytest.raises(IRError, match=r"used before .* \(after 'transform.coconet.slice'\)"):
            str(schedule.program)


def test_what_is_not_touched_is_not_applied_again(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed: list[Step] = []
    perform = Application.perform

    def counted(self: Application, step: Step) -> None:
        performed.append(step)
        perform(self, step)

    monkeypatch.setattr(Application, "perform", counted)
    schedule = program.schedule()
    schedule.split("b")
    count = len(performed)
    with pytest.raises(IRError, match="no operation named 'zz'"):
        schedule.fuse("x", "zz")
    assert len(performed) == count + 1  # the name of x
    assert lines(schedule)[-1] == "%b_rs, %b_ag = split %b"
    assert [str(schedule.named(name)) for name in ("x", "y")] == ["%x", "%y"]


def test_other_schedules_are_not_overwritten(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "s.mlir"
    one, two = program.schedule("one"), program.schedule("two")
    one.split("b")
    path.write_text("\n")
    one.save(str(path))
    one.reorder("b_ag")
    one.save(str(path))  # again
    assert path.read_text() == str(one)
    with pytest.raises(
        IRError, match=r"it holds other schedules, which would be lost: one; save to another$"
    ):
        two.save(str(path))
    assert path.read_text() == str(one)
    both = str(one).rstrip("}\n") + "  }\n" + str(two).partition("\n")[2]
    path.write_text(both)
    with pytest.raises(IRError, match=r"would be lost: two; save to another$"):
        one.save(str(path))
    for text in (TEXT, "not MLIR", both + both):
        path.write_text(text)
        with pytest.raises(
            IRError, match="holds something else than schedules, which would be lost"
        ):
            one.save(str(path))
        assert path.read_text() == text


@pytest.mark.parametrize("name", ["a:b", ""])
def test_names_that_cannot_be_selected(name: str, program: Program) -> None:
    with pytest.raises(IRError, match=r"FILE:NAME cannot select: a name has no ':'"):
        program.schedule(name)
    text = str(program.schedule()).replace("@main", f'@"{name}"')
    with pytest.raises(IRError, match=r"FILE:NAME cannot select"):
        program.parse_schedule(text)


def test_a_name_that_is_no_text(program: Program) -> None:
    wrong: Wrong = 5
    with pytest.raises(IRError, match="a schedule has a text for a name, not 5"):
        program.schedule(wrong)


def test_what_is_shown(program: Program) -> None:
    schedule = program.schedule("fast")
    first, _ = schedule.split("b")
    assert repr(program) == "<program of @first, @second>"
    assert repr(schedule) == "<schedule 'fast' of 2 step(s)>"
    assert repr(first) == "<handle %b_rs of <schedule 'fast' of 2 step(s)>>"


def test_what_the_tools_print_instead_of_the_program(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)

    def printed(*flags: str) -> str:
        assert opt.main([str(path), *flags]) == 0
        return capsys.readouterr().out.replace(str(path), "p.mlir")

    assert program.explain("b") == printed("--explain", "op=b")
    assert program.explain(arg="w", steps=True) == printed("--explain", "arg=w", "--steps")
    assert program.dependences() == printed("--show-dependences")
    rows = [
        line.split(maxsplit=0)[0] for line in printed("--totals").splitlines() if line[0] != "@"
    ]
    found = [row for name in ("first", "second") for row in program.totals(name).rows()]
    assert [re.sub(" +", " ", line.strip()) for line in rows] == [" ".join(row) for row in found]
    with pytest.raises(IRError, match="several functions"):
        program.totals()
    for op, arg in ((None, None), ("b", "w")):
        with pytest.raises(IRError, match="either an operation or arg="):
            program.explain(op, arg=arg)


def test_a_file_that_cannot_be_written(program: Program, tmp_path: Path) -> None:
    with pytest.raises(IRError, match="cannot write"):
        program.schedule().save(str(tmp_path / "none" / "s.mlir"))


def test_running(program: Program) -> None:
    mesh = {"tp": 3}
    schedule = program.schedule()
    schedule.split("b")
    schedule.reorder("b_ag")
    with pytest.raises(IRError, match="several functions; choose one: first, second"):
        program.generate(mesh)
    given = program.generate(mesh, {"w": np.ones(5, np.float32)}, func="first")
    want = program.run(mesh, given, func="first")
    found = schedule.program.run(mesh, given, func="first")
    exact = program.run(mesh, given, func="first", exact=True)
    sums = np.asarray(given["g"]).sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(exact.outputs["result0"].array, sums + 1, rtol=1e-12)
    for name, output in want.outputs.items():
        np.testing.assert_array_equal(output.array, found.outputs[name].array)


def test_inference() -> None:
    program = Program.parse(UNINFERRED)
    inferred = program.infer()
    assert "layout.of" in str(program)
    assert "layout.of" not in str(inferred)
    assert inferred.function().sym_name.data == "f"
    message = r"is not inferred yet: run coconet-infer first \(infer\(\) in Python\)"
    for refused in (
        lambda: program.schedule().reorder("all"),
        program.totals,
        lambda: program.explain("all"),
    ):
        with pytest.raises(IRError, match=message):
            refused()
    # What waits for what does not depend on layouts.
    assert program.dependences().count(" -> ") == inferred.dependences().count(" -> ")
    # A run infers, as coconet-run does.
    given = program.generate({"tp": 3}, shapes={"x": (5,)})
    found = program.run({"tp": 3}, given).outputs["result0"].array
    want = inferred.run({"tp": 3}, given).outputs["result0"].array
    np.testing.assert_array_equal(found, want)
    assert "layout.of" in str(program)


def test_a_name_that_is_no_symbol(program: Program) -> None:
    schedule = program.schedule("a name, with a comma")
    assert '@"a name, with a comma"(' in str(schedule)
    assert str(program.parse_schedule(str(schedule))) == str(schedule)
