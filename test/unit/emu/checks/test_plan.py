"""Plans: what each rank has and does, what is expected of memory, and what is refused with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from coconet_ir.diagnostics import IRError
from coconet_ir.emu.checks import plan as plan_module
from coconet_ir.emu.checks.plan import Plan, make_plan, read_plan
from coconet_ir.emu.job import Job
from coconet_ir.runtime.steps import Clear, Collective, Copy, Launch, Place

CHECKER = Path(__file__).parents[4] / "docs" / "checker.md"


def plan(
    ranks: int = 2,
    buffers: dict[str, Any] | None = None,
    steps: list[Any] | None = None,
    **others: Any,
) -> dict[str, Any]:
    return {"ranks": ranks, "buffers": buffers or {}, "steps": steps or [], **others}


def launch(**members: Any) -> dict[str, Any]:
    return {"kernel": "k", "grid": 1, "block": 32, "arguments": [], **members}


def values(made: Plan, rank: int, owner: int, dtype: Any) -> Any:
    content = made.job.ranks[rank].memory[owner].content
    assert content is not None
    return np.frombuffer(content, dtype)


def only_launch(made: Plan, rank: int = 0) -> Launch:
    (step,) = made.job.ranks[rank].steps
    assert isinstance(step, Launch)
    return step


def test_the_plan_that_the_documentation_shows() -> None:
    _, section = CHECKER.read_text().split("\n## Plans\n")
    made = read_plan(section.split("```")[1].removeprefix("json"), "ptx")
    assert made.job.ptx == "ptx"
    assert made.job.sms == 132
    for rank, held in enumerate(made.job.ranks):
        assert [one.name for one in held.memory.values()] == ["x", "y", "flags", "peers"]
        assert [one.bytes for one in held.memory.values()] == [4096, 4096, 8, 16]
        assert held.memory[1].content is None
        assert held.memory[2].content == bytes(8)
        assert held.memory[3].pointers == (Place(2, 0, 0), Place(2, 0, 1))
        once = (
            Launch("push", (2, 1, 1), (64, 1, 1), (Place(0), Place(3), bytes([rank, 0, 0, 0]))),
            Clear(Place(2), 8),
            Copy(Place(0), Place(1), 4096),
        )
        assert held.steps == once * 3
    x = [values(made, rank, 0, np.float32) for rank in range(2)]
    assert [one.array.tolist() for one in made.expected] == [(x[0] + x[1]).tolist()] * 2
    assert {one.tolerance for one in made.expected} == {1e-6}
    assert made.job.labels[3] == "step 0, time 2 of 3"
    assert made.job.labels[8] == "step 2, a copy, time 3 of 3"


def test_defaults() -> None:
    made = make_plan(plan(1), "ptx")
    assert made.job == Job("ptx", made.job.ranks)
    assert make_plan(plan(1, steps=[launch()]), "").job.labels == {0: "step 0"}
    assert made.expected == ()


def test_launches_of_one_stream_wait_for_one_another() -> None:
    steps = [launch(), launch(), {"clear": "x"}, launch()]
    made = make_plan(plan(1, {"x": {"type": "u8", "count": 1}}, steps, repeat=2), "")
    waits = [one.after for one in made.job.ranks[0].steps if isinstance(one, Launch)]
    assert waits == [(), (0,), (), (3,), (4,), ()]


def test_launches_wait_also_for_those_beside_a_dependent_one() -> None:
    steps = [launch(), launch(dependent=True), launch(dependent=True), launch(), launch()]
    made = make_plan(plan(1, steps=steps), "")
    waits = [one.after for one in made.job.ranks[0].steps if isinstance(one, Launch)]
    assert waits == [(), (0,), (0, 1), (0, 1, 2), (3,)]


def test_what_a_launch_may_have() -> None:
    step = launch(grid=[2, 3], block=[4, 5, 6], shared=1024, cooperative=True, dependent=True)
    made = only_launch(make_plan(plan(1, steps=[step]), ""))
    assert (made.grid, made.block) == ((2, 3, 1), (4, 5, 6))
    assert (made.shared, made.cooperative, made.dependent) == (1024, True, True)


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        ({"u8": 255}, b"\xff"),
        ({"s16": -2}, b"\xfe\xff"),
        ({"u32": "0xfffffffd"}, b"\xfd\xff\xff\xff"),
        ({"u64": 2**64 - 1}, b"\xff" * 8),
        ({"f32": 1}, np.float32(1).tobytes()),
        ({"f32": -0.0}, b"\0\0\0\x80"),
        ({"f32": "0x80000001"}, b"\1\0\0\x80"),
        ({"f16": 0.1}, np.float16(0.1).tobytes()),
        ({"bf16": 0.1}, np.array(0.1, bfloat16).tobytes()),
        ({"f64": 0.1}, np.float64(0.1).tobytes()),
        ({"u32": "ranks"}, b"\3\0\0\0"),
        ({"s64": "rank"}, b"\2" + bytes(7)),
        ({"u32": {"per_rank": [7, 8, 9]}}, b"\x09\0\0\0"),
        ({"per_rank": [{"u8": 0}, {"u8": 1}, {"u16": 2}]}, b"\2\0"),
    ],
)
def test_scalars(scalar: dict[str, Any], expected: bytes) -> None:
    made = make_plan(plan(3, steps=[launch(arguments=[scalar])]), "")
    assert only_launch(made, 2).arguments == (expected,)


def test_ranks_may_differ() -> None:
    buffers = {
        "x": {
            "type": "s32",
            "count": {"per_rank": [2, 3]},
            "content": {"per_rank": [5, [1, 2, 3]]},
        },
        "only": {"type": "u8", "count": 1, "ranks": [1]},
    }
    steps = [
        launch(grid={"per_rank": [4, [5, 6]]}, arguments=[{"per_rank": ["x", "only"]}]),
        {"clear": "only", "ranks": [1]},
    ]
    made = make_plan(plan(2, buffers, steps, repeat=2), "")
    first, second = made.job.ranks
    assert list(first.memory) == [0]
    assert list(second.memory) == [0, 1]
    assert values(made, 0, 0, np.int32).tolist() == [5, 5]
    assert values(made, 1, 0, np.int32).tolist() == [1, 2, 3]
    launches = [one for one in first.steps if isinstance(one, Launch)]
    assert [one.grid for one in launches] == [(4, 1, 1)] * 2
    assert launches[0].arguments == (Place(0),)
    assert second.steps[0] == Launch("k", (5, 6, 1), (32, 1, 1), (Place(1),))
    assert second.steps[1] == Clear(Place(1), 1)
    times = [f", time {time} of 2" for time in (1, 2)]
    names = {0: f"step 0{times[0]}", 2: f"step 0{times[1]}", 3: f"step 1, a clear{times[1]}"}
    assert made.job.labels == names


def test_places() -> None:
    buffers = {name: {"type": "u32", "count": 8} for name in "xy"}
    steps = [
        {"copy": {"buffer": "x", "offset": 8}, "to": {"buffer": "y", "offset": 4}},
        {"copy": "x", "to": "y", "bytes": 12},
        {"clear": {"buffer": "y", "offset": {"per_rank": [16]}}},
        {"clear": "y", "bytes": 0},
        launch(arguments=[{"buffer": "x", "offset": 32}]),
    ]
    assert make_plan(plan(1, buffers, steps), "").job.ranks[0].steps == (
        Copy(Place(0, 8), Place(1, 4), 24),
        Copy(Place(0), Place(1), 12),
        Clear(Place(1, 16), 16),
        Clear(Place(1), 0),
        Launch("k", (1, 1, 1), (32, 1, 1), (Place(0, 32),)),
    )


def test_places_of_other_ranks() -> None:
    buffers = {"x": {"type": "u32", "count": {"per_rank": [8, 4]}}}
    other = {"buffer": "x", "rank": {"per_rank": [1, 0]}, "offset": 4}
    steps = [launch(arguments=[other]), {"copy": other, "to": "x", "bytes": 8}]
    first, second = make_plan(plan(2, buffers, steps), "").job.ranks
    assert [
        step.arguments for step in (first.steps[0], second.steps[0]) if isinstance(step, Launch)
    ] == [
        (Place(0, 4, 1),),
        (Place(0, 4, 0),),
    ]
    assert second.steps[1] == Copy(Place(0, 4, 0), Place(0), 8)


def test_structures() -> None:
    buffers = {"x": {"type": "u32", "count": 1}}
    members = [{"buffer": "x", "rank": 0}, {"u32": "rank"}, {"per_rank": [{"u8": 1}, {"u8": 2}]}]
    made = make_plan(plan(2, buffers, [launch(arguments=[members, "x"])]), "")
    assert only_launch(made, 1).arguments == ((Place(0, 0, 0), b"\1\0\0\0", b"\2"), Place(0))


def test_collectives() -> None:
    buffers = {
        "x": {"type": "f16", "count": 12, "content": 1},
        "y": {"type": "f16", "count": 36},
        "n": {"type": "u32", "count": 4, "content": 1},
    }
    steps = [
        {"collective": "all_reduce", "of": "x", "to": "y", "reduction": "max"},
        {"collective": "all_gather", "of": {"buffer": "x", "offset": 4}, "to": "y", "count": 5},
        {"collective": "broadcast", "of": "n", "to": "n", "root": 1, "ranks": [2, 0]},
        {"collective": "permute", "of": "x", "to": "y", "pairs": [[0, 1], [1, 2]]},
    ]
    made = make_plan(plan(3, buffers, steps), "")
    assert made.job.ranks[2].steps == (
        Collective("all_reduce", (0, 1, 2), Place(0), Place(1), 12, "f16", "max"),
        Collective("all_gather", (0, 1, 2), Place(0, 4), Place(1), 5, "f16"),
        Collective("broadcast", (2, 0), Place(2), Place(2), 4, "i32", root=1),
        Collective("permute", (0, 1, 2), Place(0), Place(1), 12, "f16", pairs=((0, 1), (1, 2))),
    )
    assert len(made.job.ranks[1].steps) == 3
    assert made.job.labels[1] == "step 1, all_gather"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"collective": "all_reduce"}, "needs 'reduction': sum, prod, max, min, avg"),
        ({"collective": "all_reduce", "reduction": "avg"}, "averages are of floats"),
        ({"collective": "reduce", "reduction": "max"}, "is not there for unsigned integers"),
        ({"collective": "all_gather", "reduction": "sum"}, "all_gather reduces nothing"),
        ({"collective": "all_gather", "root": 0}, "all_gather has no root"),
        ({"collective": "all_gather"}, "steps[0].to: has 16 bytes for 32"),
        ({"collective": "permute"}, "'pairs' are what permute takes"),
        ({"collective": "permute", "pairs": [[0, 2]]}, "expected an integer from 0 to 1, not 2"),
        ({"collective": "permute", "pairs": [[0, 1], [1, 1]]}, "has two who give to one"),
        ({"collective": "all_to_all", "ranks": [0, 0]}, "steps[0].ranks: has a rank twice"),
        ({"collective": "permute", "pairs": [[0]]}, "two positions in the group"),
        ({"collective": "all_to_all", "count": 3}, "3 elements are no 2 parts of one size"),
        ({"collective": "all_gather", "to": "f"}, "holds elements of another type"),
        ({"collective": "scan"}, "'scan' is not a collective"),
        (
            {"collective": "all_to_all", "of": {"buffer": "x", "rank": 1}},
            "a collective takes and gives buffers of the rank itself",
        ),
    ],
)
def test_collectives_that_are_refused(members: dict[str, Any], message: str) -> None:
    buffers = {
        "x": {"type": "u32", "count": 4},
        "y": {"type": "u32", "count": 4},
        "f": {"type": "f32", "count": 4},
    }
    step = {"of": "x", "to": "y", **members}
    with pytest.raises(IRError) as raised:
        make_plan(plan(2, buffers, [step]), "")
    assert message in raised.value.message


def test_tables_of_pointers() -> None:
    buffers = {
        "tables": {"pointers": "peers"},
        "peers": {"pointers": "x", "offset": 8, "ranks": [0, 1, 2]},
        "x": {"type": "u32", "count": {"per_rank": [4, 3, 2]}},
    }
    made = make_plan(plan(3, buffers), "")
    for held in made.job.ranks:
        assert held.memory[0].pointers == (Place(1, 0, 0), Place(1, 0, 1), Place(1, 0, 2))
        assert held.memory[1].pointers == (Place(2, 8, 0), Place(2, 8, 1), Place(2, 8, 2))
        assert held.memory[1].bytes == 24


def test_random_contents() -> None:
    def content(name: str, seed: int, rank: int, **more: Any) -> list[float]:
        one = {"type": "f32", "count": 1000, "content": {"random": "normal", "seed": seed, **more}}
        return values(make_plan(plan(2, {name: one}), ""), rank, 0, np.float32).tolist()

    numbers = content("x", 1, 0)
    assert abs(np.mean(numbers)) < 0.2
    assert 0.8 < np.std(numbers) < 1.2
    assert content("x", 1, 0) == numbers
    others = [content("x", 1, 1), content("x", 2, 0), content("y", 1, 0)]
    assert all(one != numbers for one in others)
    assert content("x", 1, 0, same=True) == content("x", 1, 1, same=True)


@pytest.mark.parametrize("type", ["s8", "u64", "bf16", "f64", "e5m2"])
def test_random_integers(type: str) -> None:
    one = {"type": type, "count": 500, "content": {"random": [-3 if type[0] != "u" else 0, 4]}}
    found = values(make_plan(plan(1, {"x": one}), ""), 0, 0, plan_module.TYPES[type])
    low = 0 if type == "u64" else -3
    assert {float(x) for x in found} == set(range(low, 4))


def test_contents_of_files(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    short = np.arange(6).astype(bfloat16)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "short.npy", short.view("V2"))
    buffers = {
        "x": {"type": "f32", "count": 6, "content": {"file": "x.npy"}},
        "y": {"type": "bf16", "count": 6, "content": {"file": "short.npy"}},
    }
    made = make_plan(plan(1, buffers), "", str(tmp_path))
    assert values(made, 0, 0, np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert values(made, 0, 1, bfloat16).tolist() == [0, 1, 2, 3, 4, 5]


def test_expected_values() -> None:
    buffers = {
        "x": {"type": "s32", "count": 2, "content": {"per_rank": [[1, 2], [30, 4], [5, 600]]}},
        "y": {"type": "s32", "count": 2},
        "all": {"type": "s32", "count": 6},
    }

    def expected(name: str, value: Any, **more: Any) -> list[tuple[int, list[int]]]:
        made = make_plan(plan(3, buffers, expect={name: {"value": value, **more}}), "")
        return [(one.rank, one.array.tolist()) for one in made.expected]

    def everywhere(numbers: list[int]) -> list[tuple[int, list[int]]]:
        return [(rank, numbers) for rank in range(3)]

    assert expected("y", 7) == everywhere([7, 7])
    assert expected("y", [8, 9], ranks=[2]) == [(2, [8, 9])]
    assert expected("y", {"sum": "x"}) == everywhere([36, 606])
    assert expected("y", {"prod": "x"}) == everywhere([150, 4800])
    assert expected("y", {"max": "x"}) == everywhere([30, 600])
    assert expected("y", {"min": "x"}) == everywhere([1, 2])
    assert expected("y", {"initial": "x"}) == [(0, [1, 2]), (1, [30, 4]), (2, [5, 600])]
    assert expected("y", {"initial": "x", "rank": 1}) == everywhere([30, 4])
    assert expected("all", {"gather": "x"}) == everywhere([1, 2, 30, 4, 5, 600])
    assert expected("y", {"per_rank": [1, 2, {"sum": "x"}]})[2] == (2, [36, 606])


def test_short_floats_are_added_in_f32_in_the_order_of_ranks() -> None:
    content = {"per_rank": [256.0, 1.0, 1.0, 1.0]}
    buffers = {
        "x": {"type": "bf16", "count": 1, "content": content},
        "y": {"type": "bf16", "count": 1},
    }
    made = make_plan(plan(4, buffers, expect={"y": {"value": {"sum": "x"}}}), "")
    assert float(made.expected[0].array[0]) == 260.0  # 259 rounded once; in bf16 it stays 256


X = {"x": {"type": "f32", "count": 2, "content": 1}}


def bytes_of(content: Any, count: int = 1) -> dict[str, Any]:
    return plan(buffers={"x": {"type": "u8", "count": count, "content": content}})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"ranks": 0, "buffers": {}, "steps": []},
            "plan: ranks: expected an integer from 1 to 64, not 0",
        ),
        ({"ranks": 1, "steps": []}, "plan: needs 'buffers'"),
        (
            plan(kernels=1),
            "plan: 'kernels' is not known here; what is: ranks, buffers, steps, sms, repeat, expect",
        ),
        (plan(repeat=True), "plan: repeat: expected an integer from 1 to 10000, not true"),
        (
            plan(buffers={"x": {"type": "float", "count": 1}}),
            "buffers.x.type: 'float' is not a type of elements; there are: u8,",
        ),
        (plan(buffers={"x": {"type": "f32"}}), "buffers.x: needs 'count'"),
        (
            plan(buffers={"x": {"type": "f32", "count": 1.5}}),
            "buffers.x.count: expected an integer of at least 0, not 1.5",
        ),
        (
            plan(buffers={"x": {"type": "f32", "count": 1 << 28}}),
            "buffers.x.count: buffers are larger than 1024 MiB in all",
        ),
        (bytes_of(256), "content: expected an integer from 0 to 255, not 256"),
        (bytes_of(1.0), "content: expected an integer, not 1.0"),
        (bytes_of("0x100"), 'content: expected a number, or 8 bits as "0x0", not "0x100"'),
        (bytes_of("zeros"), 'content: expected a number, or 8 bits as "0x0", not "zeros"'),
        (bytes_of(None), "content: expected a number, a list of them, or an object"),
        (bytes_of([1, 2], 3), "content: has 2 elements for 3 of 'x'"),
        (
            plan(buffers={"x": {"type": "f32", "count": 1, "content": 10**400}}),
            "content: is too large",
        ),
        (bytes_of({"random": "normal"}), "random: normal numbers are for floats"),
        (bytes_of({"random": "uniform"}), "random: 'uniform' is not a distribution"),
        (bytes_of({"random": [0, 300]}), "random: expected an integer from 0 to 255, not 299"),
        (bytes_of({"random": [3, 3]}), "random: the second integer must be above the first"),
        (bytes_of({"random": [3]}), "random: expected two integers"),
        (bytes_of({"file": "no.npy"}), "file: cannot read 'no.npy': No such file"),
        (
            plan(buffers={"x": {"type": "u8", "count": {"per_rank": [1]}}}),
            "count.per_rank: has 1 value, but needs one for each rank: 2",
        ),
        (
            plan(buffers={"p": {"pointers": "x"}}),
            "buffers.p.pointers: 'x' is not a buffer; there are: p",
        ),
        (
            plan(buffers={**X, "p": {"pointers": "x", "offset": 9}}),
            "buffers.p.offset: expected an integer from 0 to 8, not 9",
        ),
        (
            plan(buffers={"x": {"type": "u8", "count": 1, "ranks": [1]}, "p": {"pointers": "x"}}),
            "rank 0 has no buffer 'x' to point to",
        ),
        (
            plan(buffers={"x": {"type": "u8", "count": 1, "ranks": [2]}}),
            "buffers.x.ranks[0]: expected an integer from 0 to 1, not 2",
        ),
        (
            plan(steps=[{"launch": "k"}]),
            "steps[0]: expected an object with 'kernel', 'collective', 'copy' or 'clear', not",
        ),
        (plan(steps=[launch(grid=[])]), "steps[0].grid: expected one to three numbers, not []"),
        (
            plan(steps=[launch(grid=[1, 65536])]),
            "steps[0].grid[1]: expected an integer from 1 to 65535, not 65536",
        ),
        (
            plan(steps=[launch(block=1025)]),
            "steps[0].block: expected an integer from 1 to 1024, not 1025",
        ),
        (
            plan(steps=[launch(cooperative=1)]),
            "steps[0].cooperative: expected true or false, not 1",
        ),
        (
            plan(steps=[launch(arguments=["x"])]),
            "steps[0].arguments[0]: 'x' is not a buffer of rank 0; there are: none",
        ),
        (
            plan(steps=[launch(arguments=[{"i32": 1}])]),
            "arguments[0]: expected a buffer, or a scalar with its type",
        ),
        (
            plan(steps=[launch(arguments=[5])]),
            'arguments[0]: expected a buffer, or a scalar with its type, as {"s32": 70}, not 5',
        ),
        (
            plan(steps=[launch(arguments=[{"u32": -1}])]),
            "arguments[0].u32: expected an integer from 0 to 4294967295, not -1",
        ),
        (
            plan(buffers=X, steps=[{"clear": "x", "bytes": 9}]),
            "steps[0].bytes: expected an integer from 0 to 8, not 9",
        ),
        (
            plan(buffers=X, steps=[{"copy": "x", "to": {"buffer": "x", "offset": 4}}]),
            "steps[0].to: has 4 bytes for 8",
        ),
        (
            plan(buffers=X, expect={"x": {"value": 1, "tolerance": -1}}),
            "tolerance: expected a number of at least 0",
        ),
        (
            plan(buffers=X, expect={"y": {"value": 1}}),
            "expect.y: 'y' is not a buffer of rank 0; there are: x",
        ),
        (
            plan(
                buffers={**X, "y": {"type": "f32", "count": 3}},
                expect={"y": {"value": {"sum": "x"}}},
            ),
            "gives 2 x float32 for 'y', which has 3 x float32",
        ),
        (
            plan(buffers={"y": {"type": "f32", "count": 3}}, expect={"y": {"value": {"sum": "y"}}}),
            "'y' has no content on rank 0 before the first step",
        ),
        (
            plan(
                buffers={"y": {"type": "u8", "count": 1}},
                expect={"y": {"value": 1, "tolerance": 0.1}},
            ),
            "'y' holds integers, which are equal or not",
        ),
        (
            plan(buffers={**X, "p": {"pointers": "x"}}, expect={"p": {"value": {"initial": "p"}}}),
            "'p' has no content on rank 0",
        ),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(IRError) as raised:
        make_plan(wrong, "")
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "p.json: line 1, column 2: this is not JSON"),
        ('{"ranks": 1, "ranks": 2}', "p.json: an object has 'ranks' twice"),
        ("[1]", "p.json: expected an object, not [1]"),
        ("[" * 100_000, "p.json: is too deeply nested"),
        ("9" * 5000, "p.json: Exceeds the limit"),
    ],
)
def test_texts_that_are_no_plan(text: str, message: str) -> None:
    with pytest.raises(IRError) as raised:
        read_plan(text, "", "p.json")
    assert message in raised.value.message


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    np.save(tmp_path / "ints.npy", np.arange(2))
    np.savez(tmp_path / "many.npz", x=np.arange(2))
    (tmp_path / "text.npy").write_text("no array")
    for name, message in {
        "ints.npy": "holds int64, not float32",
        "many.npz": "holds several arrays",
        "text.npy": "is no .npy file of a plain array",
    }.items():
        buffers = {"x": {"type": "f32", "count": 2, "content": {"file": name}}}
        with pytest.raises(IRError, match=message):
            read_plan(json.dumps(plan(1, buffers)), "", folder=str(tmp_path))
