"""The protocol kernels of this folder, and plans that run them: several calls back to back, of mixed sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from coconet_ir.emu.checks.plan import Plan, make_plan
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.reports.findings import Finding

HERE = Path(__file__).parent
Data: TypeAlias = dict[str, Any]
"""What is JSON in a plan."""


@dataclass(frozen=True)
class Setting:
    """How a protocol is run."""

    ranks: int
    blocks: int
    threads: int
    sizes: tuple[int, ...]
    """The elements of each call."""
    epoch: int = 0
    """The number that was reached before the first call."""


def _inputs(setting: Setting) -> Data:
    """An input and an output for each call."""
    buffers: Data = {}
    for call, size in enumerate(setting.sizes):
        content = {"random": "normal", "seed": call}
        buffers[f"input{call}"] = {"type": "f32", "count": size, "content": content}
        buffers[f"output{call}"] = {"type": "f32", "count": size}
    return buffers


def _poisoned(count: int) -> Data:
    """Memory that ranks share, with something in it: reading it too early is a race, as on a device."""
    return {"type": "f32", "count": count, "content": "0x7fc00000"}


def _words(setting: Setting, count: int) -> Data:
    return {"type": "u32", "count": count, "content": setting.epoch}


def _launch(kernel: str, setting: Setting, *arguments: str | Data) -> Data:
    grid = {"grid": setting.blocks, "block": setting.threads}
    return {"kernel": kernel, **grid, "arguments": list(arguments)}


def _whole(setting: Setting, buffers: Data, steps: list[Data], values: list[Data]) -> Data:
    expect = {f"output{call}": {"value": value} for call, value in enumerate(values)}
    return {"ranks": setting.ranks, "buffers": buffers, "steps": steps, "expect": expect}


def push(setting: Setting) -> Data:
    """Each rank gets what the rank before it has."""
    buffers = _inputs(setting)
    buffers["staging"] = _poisoned(max(setting.sizes))
    for name in ("arrival", "credit", "epochs"):
        buffers[name] = _words(setting, setting.blocks)
    for name in ("staging", "arrival", "credit"):
        buffers[f"{name}s"] = {"pointers": name}
    tables = ("stagings", "arrivals", "credits", "epochs")
    numbers = ({"u32": "rank"}, {"u32": "ranks"})
    steps = [
        _launch("push", setting, *tables, f"input{i}", f"output{i}", *numbers, {"u32": size})
        for i, size in enumerate(setting.sizes)
    ]
    before = [(rank - 1) % setting.ranks for rank in range(setting.ranks)]
    values = [
        {"per_rank": [{"initial": f"input{call}", "rank": rank} for rank in before]}
        for call in range(len(setting.sizes))
    ]
    return _whole(setting, buffers, steps, values)


def two_shot(setting: Setting) -> Data:
    """The sum, in buffers that the stream fills and empties around the kernel."""
    buffers = _inputs(setting)
    most = max(setting.sizes)
    for name in ("in", "out"):
        buffers[name] = _poisoned(most)
    buffers["word"] = _words(setting, setting.blocks * setting.ranks)
    buffers["epochs"] = _words(setting, setting.blocks)
    for name in ("in", "out", "word"):
        buffers[f"{name}s"] = {"pointers": name}
    steps: list[Data] = []
    for call, size in enumerate(setting.sizes):
        numbers = ({"u32": "rank"}, {"u32": "ranks"}, {"u32": size})
        steps += [
            {"copy": f"input{call}", "to": "in", "bytes": 4 * size},
            _launch("two_shot", setting, "ins", "outs", "words", "epochs", *numbers),
            {"copy": "out", "to": f"output{call}", "bytes": 4 * size},
        ]
    values = [{"sum": f"input{call}"} for call in range(len(setting.sizes))]
    return _whole(setting, buffers, steps, values)


def one_shot(setting: Setting) -> Data:
    """The sum."""
    buffers = _inputs(setting)
    capacity = max(1, *setting.sizes)
    buffers["packets"] = {
        "type": "u64",
        "count": 2 * setting.ranks * capacity,
        "content": f"0x{setting.epoch << 32 | 0x7FC00000:x}",
    }
    buffers["inboxes"] = {"pointers": "packets"}
    buffers["epochs"] = _words(setting, setting.blocks)
    numbers = ({"u32": "rank"}, {"u32": "ranks"})
    steps = [
        _launch(
            "one_shot",
            setting,
            *("inboxes", "epochs", f"input{call}", f"output{call}"),
            *(*numbers, {"u32": size}, {"u32": capacity}),
        )
        for call, size in enumerate(setting.sizes)
    ]
    values = [{"sum": f"input{call}"} for call in range(len(setting.sizes))]
    return _whole(setting, buffers, steps, values)


PROTOCOLS: dict[str, Callable[[Setting], Data]] = {
    "push": push,
    "two_shot": two_shot,
    "one_shot": one_shot,
}
"""Plans by the names of kernels."""


def source(name: str) -> str:
    """The PTX of a protocol."""
    return (HERE / f"{name}.ptx").read_text()


def plan(name: str, setting: Setting, ptx: str) -> Plan:
    """A protocol, or what was made of it."""
    return make_plan(PROTOCOLS[name](setting), ptx)


def first_finding(plan: Plan, seeds: Iterable[int]) -> tuple[int, Finding] | None:
    """The first schedule that shows something wrong, and what it shows."""
    emulator = Emulator(plan.job)
    for seed in seeds:
        outcome = emulator.run(seed)
        for finding in outcome.findings or plan.differences(outcome.memory):
            return seed, finding
    return None
