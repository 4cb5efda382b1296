"""What may be fused with an update stores the same however the threads of the kernel take turns.

The model knows nothing of the rule. Its tasks, one an element of each result and of each update, run in any order. A
task computes what it needs again, from memory as it is then, but for three things: the owner reads its own element
before it stores; what the store of an element makes of that element is kept; a reduction to one number, or one a
segment, is done once. Values are terms, so that two are equal only if they are made alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

import pytest
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.fusion import check_fused
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Refused

V, M, G, Z, OFFSETS = (f"tensor<{of}>" for of in ("4xf32", "2x2xf32", "2xf32", "f32", "3xi64"))
TYPES = {"v": V, "m": M, "g": G, "z": Z, "s": "f32"}
SEGMENTS = {"o": (0, 1, 1, 1), "p": (0, 0, 0, 1)}
POINTWISE = ("math.exp", "arith.addf", "comp.scale")
MAKES = [
    *(("v", f"math.exp {{v}} : {V}"), ("v", f"arith.addf {{v}}, {{v}} : {V}")) * 2,
    ("v", f"comp.scale {{v}} by {{s}} : {V}"),
    ("v", f"comp.softmax {{v}} dim 0 : {V}"),
    ("v", f"comp.segment_broadcast {{g}}, {{o}} like %w : ({G}, {OFFSETS}, {V}) -> {V}"),
    ("v", f"comp.reshape {{m}} [a, b] -> [(a b)] : {M} -> {V}"),
    ("v", f"tensor.splat {{s}} : {V}"),
    ("m", f"comp.reshape {{v}} [(a b)] -> [a, b] : {V} -> {M}"),
    ("m", f"comp.transpose {{m}} perm [1, 0] : {M} -> {M}"),
    *(("g", f"comp.segment_reduce sum {{v}}, {{o}} : ({V}, {OFFSETS}) -> {G}"),) * 2,
    ("g", f"math.exp {{g}} : {G}"),
    ("g", f"comp.softmax {{g}} dim 0 : {G}"),
    *(("z", f"comp.norm {{v}} : {V} -> {Z}"), ("z", f"comp.norm {{g}} : {G} -> {Z}")),
    ("z", f"tensor.splat {{s}} : {Z}"),
    *(("s", f"tensor.extract {{z}}[] : {Z}"), ("s", f"tensor.extract {{v}}[%c1] : {V}")),
]


def program(random: Random) -> str:
    """A function that reads and updates `w` and `u`, and returns two of its values."""
    known = {"v": ["%w", "%w", "%u", "%x"], "m": ["%y"], "g": ["%h"], "z": ["%n"], "s": ["%s"]}
    lines = ["%c1 = arith.constant 1 : index"]

    def add(kind: str, text: str) -> None:
        # What was made last is read most.
        names = {k: random.choice(v[-2:] if random.random() < 0.6 else v) for k, v in known.items()}
        lines.append(
            f"%t{len(lines)} = {text.format(**names, o=random.choice(('%o', '%o', '%p')))}"
        )
        known[kind].append(f"%t{len(lines) - 1}")

    for target in ("%w", "%u"):
        for _ in range(random.randint(2, 6)):
            add(*random.choice(MAKES))
        add("v", f"comp.update {target}, {{v}} : {V}")
        known["v"] = [name for name in known["v"] if name != target]
    kinds = [random.choice("vvmgz"), random.choice("vvmgz")]
    returned = [random.choice(known[kind][-2:]) for kind in kinds]
    types = ", ".join(TYPES[kind] for kind in kinds)
    args = f"%w: {V}, %u: {V}, %x: {V}, %y: {M}, %h: {G}, %n: {Z}, %s: f32, %o: {OFFSETS}, %p: {OFFSETS}"
    body = "\n  ".join([*lines, f"func.return {', '.join(returned)} : {types}"])
    return f"func.func @f({args}) -> ({types}) {{\n  {body}\n}}"


def elements(value: SSAValue) -> range:
    """The places of a tensor's elements, none for a scalar."""
    return range(0 if rank_of(value.type) is None else prod(sizes_of(value.type)))


class Kernel:
    """One run of the operations as a kernel whose threads take turns as `random` says; None stores nothing."""

    def __init__(self, operations: list[Operation], random: Random | None):
        self.memory: dict[tuple[SSAValue, int], object] = {}
        self.kept: dict[tuple[SSAValue, int], object] = {}
        self.found: dict[tuple[int, int], object] = {}
        sinks: list[tuple[SSAValue, SSAValue | None]] = [
            (op.operands[1], op.operands[0]) for op in operations if op.name == "comp.update"
        ]
        sinks += [(value, None) for value in operations[-1].operands]
        tasks = [
            (number, value, target, at)
            for number, (value, target) in enumerate(sinks)
            for at in elements(value)
        ]
        if random is not None:
            random.shuffle(tasks)
        for number, value, target, at in tasks:
            term = self.found[number, at] = self.own(value, at, target is not None)
            if target is not None and random is not None:
                self.memory[target, at] = ("stored", term)

    def own(self, value: SSAValue, at: int, keeps: bool) -> object:
        """What the owner of an element has of a value at that element."""
        if (value, at) in self.kept:
            return self.kept[value, at]
        if not isinstance(value, OpResult):
            return (value.name_hint, at)
        if value.op.name == "comp.update":
            return self.own(value.op.operands[1], at, keeps)
        if value.op.name not in POINTWISE:
            return self.anew(value, at)
        term = (
            value.op.name,
            at,
            *(
                self.own(x, at, keeps) if elements(x) else self.anew(x, 0)
                for x in value.op.operands
            ),
        )
        if keeps:
            self.kept[value, at] = term
        return term

    def anew(self, value: SSAValue, at: int) -> object:
        """What somebody gets who computes an element of a value again."""
        if (value, at) in self.kept:
            return self.kept[value, at]
        if not isinstance(value, OpResult):
            return self.memory.get((value, at), (value.name_hint, at))
        name, first, *rest = value.op.name, *value.op.operands
        match name.split(".")[1]:
            case "update":
                return self.anew(rest[0], at)
            case "reshape" | "transpose":
                return self.anew(first, (0, 2, 1, 3)[at] if name == "comp.transpose" else at)
            case "splat" | "extract":
                return self.anew(first, len(rest))
            case "segment_broadcast":
                return self.anew(first, SEGMENTS[rest[0].name_hint or ""][at])
            case "segment_reduce":
                places = SEGMENTS[rest[0].name_hint or ""]
                parts = [(first, i) for i, segment in enumerate(places) if segment == at]
            case "norm" | "softmax":
                parts = [(first, i) for i in elements(first)]
            case _:
                parts = [(x, at if elements(x) else 0) for x in value.op.operands]
        term = (name, at, *(self.anew(*part) for part in parts))
        if name in ("comp.norm", "comp.segment_reduce"):
            self.kept[value, at] = term
        return term


def fused(seeds: range) -> Iterator[tuple[str, bool, bool]]:
    """Random programs: whether each may be one kernel, and whether some turns of its threads go wrong."""
    for seed in seeds:
        text = program(Random(seed))
        try:
            operations = list(Program.parse(text).function().body.block.ops)
        except IRError:  # it reads a view of what is updated before
            continue
        try:
            check_fused(operations[1:-1])
            legal = True
        except Refused:
            legal = False
        meant = Kernel(operations[1:], None).found
        wrong = any(Kernel(operations[1:], Random(turn)).found != meant for turn in range(20))
        yield text, legal, wrong


@pytest.mark.parametrize("first", range(0, 800, 400))
def test_fused_updates_store_the_same_in_any_order(first: int) -> None:
    rows = list(fused(range(first, first + 400)))
    for text, legal, wrong in rows:
        assert not (legal and wrong), text
    assert sum(legal for _, legal, _ in rows) > 50
    assert sum(wrong for _, _, wrong in rows) > 50
