"""What streams of plans do, run by the emulator: copies between ranks, collectives, launches in order, arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.checks.plan import Plan, make_plan
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.machine import Emulator, Outcome

KERNELS = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry set(.param .u64 x, .param .u32 value)
{
.reg .u64 %x;
.reg .u32 %v;
ld.param.u64 %x, [x];
ld.param.u32 %v, [value];
griddepcontrol.launch_dependents;
st.global.u32 [%x], %v;
ret;
}
.visible .entry nothing()
{
ret;
}
.visible .entry add(.param .align 8 .b8 both[20])
{
.reg .u64 %x, %y;
.reg .u32 %a, %b;
ld.param.u64 %x, [both];
ld.param.u64 %y, [both+8];
ld.param.u32 %b, [both+16];
ld.global.u32 %a, [%x];
add.u32 %a, %a, %b;
st.global.u32 [%y], %a;
ret;
}
.visible .entry cluster() .reqnctapercluster 2, 1, 1
{
ret;
}
"""


def run(plan: Mapping[str, Any], seeds: int = 10) -> list[Outcome]:
    """The outcomes of schedules; all are as expected."""
    made: Plan = make_plan(plan, KERNELS)
    emulator = Emulator(made.job)
    outcomes = [emulator.run(seed) for seed in range(seeds)]
    for one in outcomes:
        assert one.findings or list(made.differences(one.memory)) == []
    return outcomes


def kinds(plan: Mapping[str, Any]) -> set[str]:
    """The kinds of findings of schedules."""
    return {one.kind for outcome in run(plan) for one in outcome.findings}


def launch(kernel: str, *arguments: Any, **more: Any) -> dict[str, Any]:
    """A launch of one thread."""
    return {"kernel": kernel, "grid": 1, "block": 1, "arguments": list(arguments), **more}


def test_peers_and_structures() -> None:
    word = {"type": "u32", "count": 1}
    content = {"per_rank": [10, 20, 30]}
    next_rank = {"per_rank": [1, 2, 0]}
    peer = {"buffer": "x", "rank": next_rank}
    plan: dict[str, Any] = {
        "ranks": 3,
        "buffers": {"x": {**word, "content": content}, "y": word},
        "steps": [launch("add", [peer, "y", {"u32": "rank"}])],
        "expect": {"y": {"value": {"per_rank": [20, 31, 12]}}},
    }
    assert kinds(plan) == set()


def test_copies_between_ranks() -> None:
    peer = {"buffer": "x", "rank": {"per_rank": [1, 0]}}
    words = {"type": "u32", "count": 5}
    plan: dict[str, Any] = {
        "ranks": 2,
        "buffers": {"x": {**words, "content": {"random": [0, 99]}}, "y": words},
        "steps": [{"copy": peer, "to": "y"}],
        "expect": {
            "y": {"value": {"per_rank": [{"initial": "x", "rank": 1}, {"initial": "x", "rank": 0}]}}
        },
    }
    assert kinds(plan) == set()
    race: dict[str, Any] = {**plan, "steps": [*plan["steps"], {"clear": "x"}]}
    assert kinds(race) == {"data race"}


@pytest.mark.parametrize("reduction", ["sum", "prod", "max", "min"])
def test_reductions(reduction: str) -> None:
    floats = {"type": "f32", "count": 7, "content": {"random": "normal"}}
    step = {"collective": "all_reduce", "of": "x", "to": "y", "reduction": reduction}
    plan: dict[str, Any] = {
        "ranks": 3,
        "buffers": {"x": floats, "y": {"type": "f32", "count": 7}},
        "steps": [step],
        "expect": {"y": {"value": {reduction: "x"}}},
    }
    assert kinds(plan) == set()


def test_collectives_order() -> None:
    word = {"type": "u32", "count": 1}
    peer = {"buffer": "x", "rank": {"per_rank": [1, 0]}}
    gather = {"collective": "all_gather", "of": "x", "to": "all"}
    plan: dict[str, Any] = {
        "ranks": 2,
        "buffers": {"x": word, "y": word, "all": {"type": "u32", "count": 2}},
        "steps": [
            launch("set", "x", {"u32": "rank"}),
            gather,
            launch("add", [peer, "y", {"u32": 5}]),
        ],
        "expect": {
            "all": {"value": [0, 1]},
            "y": {"value": {"per_rank": [6, 5]}},
        },
    }
    assert kinds(plan) == set()
    without: dict[str, Any] = {**plan, "steps": [plan["steps"][0], plan["steps"][2]], "expect": {}}
    assert kinds(without) & {"data race", "uninitialised read"}


def test_a_launch_is_behind_all_before_a_dependent_one() -> None:
    word = {"type": "u32", "count": 1, "content": 3}
    plan: dict[str, Any] = {
        "ranks": 1,
        "buffers": {"x": word, "y": word},
        "steps": [
            launch("set", "x", {"u32": 7}),
            launch("nothing", dependent=True),
            launch("add", ["x", "y", {"u32": 1}]),
        ],
        "expect": {"y": {"value": 8}},
    }
    assert kinds(plan) == set()
    early = [plan["steps"][0], launch("add", ["x", "y", {"u32": 1}], dependent=True)]
    assert kinds({**plan, "steps": early}) == {"data race"}


def test_several_times_in_a_row() -> None:
    plan: dict[str, Any] = {
        "ranks": 1,
        "buffers": {"x": {"type": "u32", "count": 1, "content": 0}},
        "steps": [launch("add", ["x", "x", {"u32": 3}]), launch("add", ["x", "x", {"u32": 2}])],
        "repeat": 4,
    }
    for outcome in run(plan):
        assert outcome.findings == ()
        assert np.frombuffer(next(iter(outcome.memory[0].values())), np.uint32).tolist() == [20]


def test_clusters_are_refused() -> None:
    plan: dict[str, Any] = {"ranks": 1, "buffers": {}, "steps": [launch("cluster")]}
    with pytest.raises(Refused, match="clusters of several blocks"):
        run(plan)
