"""Programs and schedules in Python: what calls return and print, and that one that fails changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.program import Program, Schedule
from coconet_ir.schedule.remarks import collect

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


FAILURES: dict[str, Callable[[Schedule], object]] = {
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
        lambda schedule: schedule.slice("x", ["tp"], dim="0")  # pyright: ignore[reportArgumentType]
    ),
    r"takes at least one handle|takes an operation, not the program": (
        lambda schedule: schedule.fuse()
    ),
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
    with pytest.raises(IRError, match="is not inferred yet: run coconet-infer first"):
        program.schedule().reorder("all")


def test_a_name_that_is_no_symbol(program: Program) -> None:
    schedule = program.schedule("a name, with a comma")
    assert '@"a name, with a comma"(' in str(schedule)
    assert str(program.parse_schedule(str(schedule))) == str(schedule)
